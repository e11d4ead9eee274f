//! What a running engine tells other processes of its user: a file in the data folder.

#![allow(clippy::disallowed_methods, reason = "the data folder is the app's own")]

use std::path::{Path, PathBuf};

use rtc_store::SledStore;
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

impl Instance {
    /// The engine that runs on a data folder, the platform's by default, and can be reached. Nothing if none does, or if
    /// the one that does has no port; nothing is made or changed.
    ///
    /// What a process left behind that has ended, killed perhaps, is never taken for one: only the process that has the
    /// store open counts, and only if the file is its own. So the token goes nowhere else, whoever has the address or
    /// the number of the process by now.
    pub async fn find(folder: Option<PathBuf>) -> Result<Option<Self>, Error> {
        in_folder(folder, |folder| {
            // One that cannot be read is none: what else there is to say is said when the folder is opened.
            let text = std::fs::read(folder.join(INSTANCE)).ok()?;
            let told: Self = serde_json::from_slice(&text).ok()?;
            (holder(folder) == Some(told.pid)).then_some(told)
        })
        .await
    }

    /// The process that has a data folder open, the platform's by default, whether or not it can be reached; nothing if
    /// none has, or it does not say who it is.
    pub async fn holder(folder: Option<PathBuf>) -> Result<Option<u32>, Error> {
        in_folder(folder, holder).await
    }
}

fn holder(folder: &Path) -> Option<u32> {
    SledStore::holder(&folder.join(data::STORE))
}

/// Looks into a data folder.
async fn in_folder<T: Send + 'static>(
    named: Option<PathBuf>,
    look: impl FnOnce(&Path) -> Option<T> + Send + 'static,
) -> Result<Option<T>, Error> {
    let folder = data::folder(named)?;
    let path = folder.clone();
    let looking = tokio::task::spawn_blocking(move || look(&folder)).await;
    looking.map_err(|error| Error::Data {
        path,
        reason: error.to_string(),
    })
}

/// The file within the data folder that names the port which was open last, for pages that are still open on it.
const LAST_PORT: &str = "port";

/// The port that the last process which was reached had, if that is known.
pub(crate) fn last_port(folder: &Path) -> Option<u16> {
    std::fs::read_to_string(folder.join(LAST_PORT))
        .ok()?
        .trim()
        .parse()
        .ok()
}

/// Keeps that for the next one.
pub(crate) fn keep_port(folder: &Path, port: u16) -> Result<(), Error> {
    if last_port(folder) == Some(port) {
        return Ok(());
    }
    data::replace(folder, LAST_PORT, port.to_string().as_bytes()).map_err(|error| Error::Data {
        path: folder.join(LAST_PORT),
        reason: error.to_string(),
    })
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
