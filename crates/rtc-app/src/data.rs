//! The data folder and who this installation is.

#![allow(clippy::disallowed_methods, reason = "the data folder is the app's own")]

use std::io::Write;
use std::path::{Path, PathBuf};

use rtc_types::{DeviceId, UserId};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Error;

/// The one user and device of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(crate) user_id: UserId,
    pub(crate) device_id: DeviceId,
}

/// The data folder that was named, else the platform's.
pub(crate) fn folder(named: Option<PathBuf>) -> Result<PathBuf, Error> {
    named
        .or_else(|| {
            let dirs = directories::ProjectDirs::from("", "", "rtc-desktop")?;
            Some(dirs.data_local_dir().to_owned())
        })
        .ok_or(Error::NoDataFolder)
}

/// Makes the folder, for its owner only.
pub(crate) fn make(path: &Path) -> Result<(), Error> {
    let failed = |error: std::io::Error| Error::Data {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    if std::fs::metadata(path).is_ok_and(|found| !found.is_dir()) {
        return Err(Error::Data {
            path: path.to_owned(),
            reason: "it is a file".into(),
        });
    }
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(failed)
}

/// Reads who this installation is, or makes it up once. Called while the store's lock is held.
pub(crate) fn identity(folder: &Path) -> Result<Identity, Error> {
    let path = folder.join("identity.json");
    let failed = |error: std::io::Error| Error::Data {
        path: path.clone(),
        reason: error.to_string(),
    };
    match std::fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| Error::Identity {
            path: path.clone(),
            reason: error.to_string(),
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let identity = Identity {
                user_id: UserId::new(Uuid::new_v4()),
                device_id: DeviceId::new(Uuid::new_v4()),
            };
            write(folder, &path, &identity).map_err(failed)?;
            Ok(identity)
        }
        Err(error) => Err(failed(error)),
    }
}

/// All or nothing: an installation that forgot who it is would not find its sessions again.
fn write(folder: &Path, path: &Path, identity: &Identity) -> std::io::Result<()> {
    let temporary = folder.join("identity.json.new");
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&temporary)?;
    file.write_all(serde_json::to_string_pretty(identity)?.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)?;
    #[cfg(unix)]
    std::fs::File::open(folder)?.sync_all()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installation_stays_who_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("a/b");
        make(&data).unwrap();
        let first = identity(&data).unwrap();
        assert_eq!(identity(&data).unwrap(), first);
        std::fs::write(data.join("identity.json"), "{").unwrap();
        assert!(identity(&data).is_err(), "a damaged one is told, never replaced");
    }
}
