//! The data folder and who this installation is.

#![allow(clippy::disallowed_methods, reason = "the data folder is the app's own")]

use std::io::Write;
use std::path::{Path, PathBuf};

use rtc_types::{DeviceId, UserId};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Error;

/// The store's folder within the data folder.
pub(crate) const STORE: &str = "store";

/// The file within the data folder that says who this installation is.
const IDENTITY: &str = "identity.json";

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

/// What the system itself puts into an empty file system.
const OF_THE_SYSTEM: &str = "lost+found";

/// Whether a folder holds data of this program; not if it does not exist or is empty. A folder with anything else is
/// an error: it was named by mistake, and nothing is put into it.
pub(crate) fn is_used(path: &Path) -> Result<bool, Error> {
    let failed = |reason: String| Error::Data {
        path: path.to_owned(),
        reason,
    };
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(failed(error.to_string())),
        Ok(found) if !found.is_dir() => return Err(failed("it is a file".into())),
        Ok(_) => {}
    }
    // The first of these is made first, so that there is one however early a process ended.
    if [STORE, IDENTITY].iter().any(|name| path.join(name).exists()) {
        return Ok(true);
    }
    let entries = std::fs::read_dir(path).map_err(|error| failed(error.to_string()))?;
    for entry in entries {
        let entry = entry.map_err(|error| failed(error.to_string()))?;
        if entry.file_name() != OF_THE_SYSTEM {
            return Err(Error::NotData(path.to_owned()));
        }
    }
    Ok(false)
}

/// Makes the folder, for its owner only.
pub(crate) fn make(path: &Path) -> Result<(), Error> {
    let failed = |error: std::io::Error| Error::Data {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(failed)
}

/// Reads who this installation is, or makes it up once. Called while the store's lock is held.
pub(crate) fn identity(folder: &Path) -> Result<Identity, Error> {
    let path = folder.join(IDENTITY);
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
    fn only_a_new_an_empty_or_an_own_folder_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for made in ["empty", "disk/lost+found", "ours/store", "named", "theirs/sub"] {
            std::fs::create_dir_all(at(made)).unwrap();
        }
        for (file, content) in [
            ("named/identity.json", "{}"),
            ("file", ""),
            ("theirs/notes.txt", ""),
        ] {
            std::fs::write(at(file), content).unwrap();
        }
        let told = |name: &str| match is_used(&at(name)) {
            Ok(used) => used.to_string(),
            Err(error) => error
                .to_string()
                .replace(&folder.path().display().to_string(), "DIR"),
        };
        let names = ["new", "empty", "disk", "ours", "named", "theirs", "file"];
        let told: Vec<String> = names
            .iter()
            .map(|name| format!("{name}: {}", told(name)))
            .collect();
        insta::assert_snapshot!(told.join("\n"), @"
        new: false
        empty: false
        disk: false
        ours: true
        named: true
        theirs: the folder DIR/theirs is not empty and holds no data of this program; name an empty or new folder with --data
        file: the data folder DIR/file cannot be used: it is a file; name another one with --data
        ");
    }

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
