//! The data folder and who this installation is.

#![allow(clippy::disallowed_methods, reason = "the data folder is the app's own")]

use std::io::Write;
use std::path::{Path, PathBuf};

use rtc_types::{DeviceId, Timestamp, UserId};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::Error;

/// The store's folder within the data folder.
pub(crate) const STORE: &str = "store";

/// The folder within the data folder of what pages of a window keep.
pub(crate) const PAGES: &str = "pages";

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
    if [STORE, IDENTITY, PAGES]
        .iter()
        .any(|name| path.join(name).exists())
    {
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

/// Makes the folder, for its owner only; the names of what it made are durable.
pub(crate) fn make(path: &Path) -> Result<(), Error> {
    let failed = |error: std::io::Error| Error::Data {
        path: path.to_owned(),
        reason: error.to_string(),
    };
    let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(failed)?;
    let mut made = missing.into_iter();
    made.try_for_each(sync_name).map_err(failed)
}

/// A path within a folder that nothing has: a name, the time, and a number if need be.
pub(crate) fn unused(folder: &Path, name: &str, now: Timestamp) -> PathBuf {
    let name = format!("{name}-{}", now.strftime("%Y%m%d-%H%M%S"));
    let mut path = folder.join(&name);
    let mut number = 1;
    while path.symlink_metadata().is_ok() {
        number += 1;
        path = folder.join(format!("{name}-{number}"));
    }
    path
}

/// A folder by its path without links, by which it is the same whatever it was called.
pub(crate) fn real(path: &Path) -> Result<PathBuf, Error> {
    std::fs::canonicalize(path).map_err(|error| Error::Data {
        path: path.to_owned(),
        reason: error.to_string(),
    })
}

/// Reads who this installation is, or makes it up once. It is durable then, as are the names of everything that was made
/// in the folder before.
pub(crate) fn identity(folder: &Path) -> Result<Identity, Error> {
    let path = folder.join(IDENTITY);
    let damaged = |error: serde_json::Error| Error::Identity {
        path: path.clone(),
        reason: error.to_string(),
    };
    let made_up = Identity {
        user_id: UserId::new(Uuid::new_v4()),
        device_id: DeviceId::new(Uuid::new_v4()),
    };
    let failed = |error: std::io::Error| Error::Data {
        path: path.clone(),
        reason: error.to_string(),
    };
    if !path.exists() {
        // Whoever made the folder, and those above, may have ended before their names were on the device.
        folder.ancestors().try_for_each(sync_name).map_err(failed)?;
    }
    let made_up = serde_json::to_vec_pretty(&made_up).map_err(damaged)?;
    let bytes = made_once(folder, IDENTITY, &made_up).map_err(failed)?;
    // A run that was killed may have made it, or something else that is there.
    sync_folder(folder).map_err(failed)?;
    serde_json::from_slice(&bytes).map_err(damaged)
}

/// What a file of the data folder holds. If it is not there yet it is made with this content, for its owner only, whole
/// and durable or not at all; of two processes that make it at once, one does, and both get the same.
pub(crate) fn made_once(folder: &Path, name: &str, content: &[u8]) -> std::io::Result<Vec<u8>> {
    let path = folder.join(name);
    match std::fs::read(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        other => return other,
    }
    let temporary = write_beside(folder, name, content)?;
    match std::fs::hard_link(&temporary, &path) {
        Ok(()) => std::fs::remove_file(&temporary)?,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => std::fs::remove_file(&temporary)?,
        // A file system without links.
        Err(_) => std::fs::rename(&temporary, &path)?,
    }
    sync_folder(folder)?;
    std::fs::read(&path)
}

/// Writes a file of the data folder, for its owner only, whole and durable or not at all.
pub(crate) fn replace(folder: &Path, name: &str, content: &[u8]) -> std::io::Result<()> {
    let temporary = write_beside(folder, name, content)?;
    std::fs::rename(temporary, folder.join(name))?;
    sync_folder(folder)
}

/// What was made, renamed or removed in the folder stays so.
pub(crate) fn sync_folder(folder: &Path) -> std::io::Result<()> {
    if cfg!(unix) {
        std::fs::File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// The name of a folder stays in the one above. A folder that may be entered and not read cannot be asked for it.
fn sync_name(folder: &Path) -> std::io::Result<()> {
    let synced = match folder.parent() {
        // That of a single relative name is written as nothing.
        Some(above) if above.as_os_str().is_empty() => sync_folder(Path::new(".")),
        Some(above) => sync_folder(above),
        None => Ok(()),
    };
    match synced {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Ok(()),
        synced => synced,
    }
}

fn write_beside(folder: &Path, name: &str, content: &[u8]) -> std::io::Result<PathBuf> {
    let temporary = folder.join(format!("{name}.{}.new", std::process::id()));
    let mut options = for_its_owner();
    let mut file = options.write(true).create(true).truncate(true).open(&temporary)?;
    file.write_all(content)?;
    file.sync_all()?;
    Ok(temporary)
}

/// How files are made that nobody else may read.
pub(crate) fn for_its_owner() -> std::fs::OpenOptions {
    let mut options = std::fs::OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
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

    #[test]
    fn a_file_is_made_once_and_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(made_once(folder.path(), "key", b"first").unwrap(), b"first");
        assert_eq!(made_once(folder.path(), "key", b"second").unwrap(), b"first");
        replace(folder.path(), "key", b"third").unwrap();
        assert_eq!(made_once(folder.path(), "key", b"fourth").unwrap(), b"third");
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 1, "nothing temporary is left");
    }
}
