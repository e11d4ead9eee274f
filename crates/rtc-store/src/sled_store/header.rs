//! `store.json`: what can be told of a store without opening its database.
//!
//! It allows refusing a newer store before anything of it is touched, and noticing that the database has lost
//! its content: sled takes a log it cannot read for a log that ends there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{files, layout};
use crate::{Epoch, Error};

/// The file.
pub(super) const NAME: &str = "store.json";

/// Who may read a store; the row `m:schema` of the database says the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Schema {
    pub(super) schema: u32,
    pub(super) oldest_reader: u32,
    pub(super) epoch: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    #[serde(flatten)]
    pub(super) schema: Schema,
    /// At least these commits are in the database.
    pub(super) revision: u64,
}

impl Schema {
    pub(super) fn created() -> Self {
        Schema {
            schema: layout::SCHEMA,
            oldest_reader: layout::SCHEMA,
            epoch: uuid::Uuid::new_v4().to_string(),
        }
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        if self.oldest_reader > layout::SCHEMA {
            return Err(Error::NewerSchema {
                found: self.oldest_reader,
                supported: layout::SCHEMA,
            });
        }
        Ok(())
    }

    pub(super) fn epoch(&self) -> Epoch {
        Epoch(self.epoch.clone())
    }
}

impl Header {
    /// The header of a store; `None` if there is none, as in a store that was never completely created. One of a version
    /// that this one may not read is [`Error::NewerSchema`], whatever else is in it.
    pub(super) fn read(folder: &Path) -> Result<Option<Header>, Error> {
        let path = header_path(folder);
        match fs::read(&path) {
            Ok(bytes) => {
                // Only the part that every version understands decides whether the rest may be looked at.
                let damaged = |error: serde_json::Error| Error::damaged(&path, error.to_string());
                serde_json::from_slice::<Schema>(&bytes)
                    .map_err(damaged)?
                    .check()?;
                serde_json::from_slice(&bytes).map(Some).map_err(damaged)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::file("read the header", &path, error)),
        }
    }

    pub(super) fn write(&self, folder: &Path) -> Result<(), Error> {
        let path = header_path(folder);
        let bytes = serde_json::to_vec(self).map_err(io::Error::other);
        bytes
            .and_then(|bytes| files::replace(&path, &bytes))
            .map_err(|error| Error::file("write the header", &path, error))
    }
}

fn header_path(folder: &Path) -> PathBuf {
    folder.join(NAME)
}
