//! A copy of the database from before it was opened: sled writes over the end of a log that it cannot read, and a
//! database that turns out to be damaged is to be kept as it was found.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::files;

/// What is copied at most, in bytes: opening must not take long. Of a larger database sled keeps what it can read.
const MOST_BYTES: u64 = 32 * 1024 * 1024;

/// The room that has to be left beside a copy, in bytes.
const ROOM_BYTES: u64 = 64 * 1024 * 1024;

/// The copy, and what it is of.
#[derive(Debug)]
pub(super) struct Original {
    database: PathBuf,
    copy: PathBuf,
    /// What the database is called that was opened, while the copy takes its place.
    opened: PathBuf,
    /// Whether it was made now. One that is there already was made before an opening that was cut short, and what it is
    /// worth after a power cut is not known: it is not put back.
    is_of_now: bool,
}

impl Original {
    /// Finishes a putting back that was cut short: in the middle of it the database has another name.
    pub(super) fn finish(folder: &Path) -> io::Result<()> {
        let [database, copy, opened] = names(folder);
        if !opened.try_exists()? {
            return Ok(());
        }
        if !database.try_exists()? {
            let back = if copy.try_exists()? { &copy } else { &opened };
            fs::rename(back, &database)?;
            files::sync_folder(folder)?;
        }
        files::remove_folder(&opened)
    }

    /// Copies the database in `folder`, if there is one of moderate size and there is room. That it cannot is no reason
    /// not to open it.
    pub(super) fn of(folder: &Path) -> Option<Self> {
        let [database, copy, opened] = names(folder);
        let original = Self {
            is_of_now: !copy.exists(),
            database,
            copy,
            opened,
        };
        if !original.is_of_now {
            return Some(original);
        }
        match original.make() {
            Ok(true) => Some(original),
            Ok(false) => None,
            Err(error) => {
                tracing::warn!(path = %original.copy.display(), %error, "the database is opened without a copy");
                original.remove();
                None
            }
        }
    }

    fn make(&self) -> io::Result<bool> {
        let files = match files_in(&self.database) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            files => files?,
        };
        let bytes = files.iter().map(|(_, bytes)| bytes).sum::<u64>();
        let room = files::free_bytes(&self.database).unwrap_or(u64::MAX);
        if bytes > MOST_BYTES || room < bytes + ROOM_BYTES {
            return Ok(false);
        }
        // sled makes this folder, and nothing in it.
        files::create_folder(&self.copy.join("blobs"))?;
        for (file, _) in &files {
            if let Some(name) = file.file_name() {
                fs::copy(file, self.copy.join(name))?;
            }
        }
        Ok(true)
    }

    /// Puts the database back as it was, which must be closed. Gives whether it is.
    pub(super) fn put_back(&self) -> bool {
        if !self.is_of_now {
            return false;
        }
        let put = self
            .sync()
            .and_then(|()| fs::rename(&self.database, &self.opened))
            .and_then(|()| fs::rename(&self.copy, &self.database))
            .and_then(|()| match self.database.parent() {
                Some(folder) => files::sync_folder(folder),
                None => Ok(()),
            })
            .and_then(|()| files::remove_folder(&self.opened));
        if let Err(error) = &put {
            tracing::warn!(path = %self.copy.display(), %error, "the copy of the database is left beside it");
        }
        put.is_ok()
    }

    /// Waits until the copy is on the device.
    fn sync(&self) -> io::Result<()> {
        for (file, _) in files_in(&self.copy)? {
            fs::File::open(file)?.sync_all()?;
        }
        files::sync_folder(&self.copy)
    }

    /// Removes the copy.
    pub(super) fn remove(&self) {
        if let Err(error) = fs::remove_dir_all(&self.copy)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %self.copy.display(), %error, "a copy of the database could not be removed");
        }
    }
}

/// The database in the folder of a store, the copy of it, and what it is called while the copy takes its place.
fn names(folder: &Path) -> [PathBuf; 3] {
    ["db", "db.original", "db.opened"].map(|name| folder.join(name))
}

/// The files in a folder, without those in folders below, with their bytes.
fn files_in(folder: &Path) -> io::Result<Vec<(PathBuf, u64)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        if metadata.is_file() {
            files.push((entry.path(), metadata.len()));
        }
    }
    Ok(files)
}
