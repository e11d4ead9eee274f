//! What a running engine tells other processes of its user: a file in the data folder.

#![allow(clippy::disallowed_methods, reason = "the data folder is the app's own")]

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{Error, data};

/// The file within the data folder.
const INSTANCE: &str = "instance.json";

/// How a running engine is reached.
#[derive(Clone, Serialize, Deserialize)]
pub struct Instance {
    /// `HOST:PORT` of its port.
    pub address: String,
    /// A token to connect with.
    pub token: String,
    /// The number of its process.
    pub pid: u32,
}

/// Tells how this process is reached; a file that an earlier one left is replaced.
pub(crate) fn announce(folder: &Path, instance: &Instance) -> Result<(), Error> {
    let failed = |reason: String| Error::Data {
        path: folder.join(INSTANCE),
        reason,
    };
    let text = serde_json::to_vec_pretty(instance).map_err(|error| failed(error.to_string()))?;
    data::replace(folder, INSTANCE, &text).map_err(|error| failed(error.to_string()))
}

/// Tells that nobody can be reached any more.
pub(crate) fn withdraw(folder: &Path) -> Result<(), Error> {
    match std::fs::remove_file(folder.join(INSTANCE)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::Data {
            path: folder.join(INSTANCE),
            reason: error.to_string(),
        }),
        _ => Ok(()),
    }
}
