//! Values over 64 KiB: files named by the BLAKE3 hash of their content.
//!
//! A blob is written and synced under a temporary name by whoever commits it; the committing thread then
//! gives it its name, and syncs that, before the batch that refers to it. Only that thread removes blobs.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::files;
use super::layout::Hash;
use crate::Error;

#[derive(Debug)]
pub(super) struct Blobs {
    folder: PathBuf,
    /// Where blobs are written before they have their name.
    staging: PathBuf,
    staged: AtomicU64,
}

/// A blob on the device, under a temporary name; the file is removed with it unless it was installed.
#[derive(Debug)]
pub(super) struct StagedBlob {
    pub(super) hash: Hash,
    pub(super) len: u64,
    path: PathBuf,
}

impl Drop for StagedBlob {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %self.path.display(), %error, "a temporary file could not be removed");
        }
    }
}

impl Blobs {
    /// The blobs below the folder of a store; what an earlier run left under temporary names is removed. The name of the
    /// folder itself may not be on the device yet.
    pub(super) fn open(folder: &Path) -> Result<Self, Error> {
        let folder = folder.join("blobs");
        let staging = folder.join("staging");
        // Not made anew if it is there: on a full disk that would fail.
        files::create_folder(&staging).map_err(|error| Error::file("prepare the folder", &staging, error))?;
        let blobs = Blobs {
            folder,
            staging,
            staged: AtomicU64::new(0),
        };
        for left in blobs.list(&blobs.staging)? {
            fs::remove_file(&left).map_err(|error| Error::file("remove the file", &left, error))?;
        }
        // A run that was killed may have made folders in it, which are taken for durable from now on.
        files::sync_folder(&blobs.folder)
            .map_err(|error| Error::file("sync the folder", &blobs.folder, error))?;
        Ok(blobs)
    }

    /// Writes a blob under a temporary name and waits until it is on the device.
    pub(super) fn stage(&self, content: &[u8]) -> Result<StagedBlob, Error> {
        let number = self.staged.fetch_add(1, Ordering::Relaxed);
        let path = self.staging.join(number.to_string());
        let hash = *blake3::hash(content).as_bytes();
        let staged = StagedBlob {
            hash,
            len: content.len() as u64,
            path,
        };
        files::write_synced(&staged.path, content)
            .map_err(|error| Error::file("write the file", &staged.path, error))?;
        Ok(staged)
    }

    /// Gives a staged blob its name, in place of one with the same content: that may not be on the device, if
    /// a crash came between its writing and its batch. The folder is noted in `unsynced`.
    pub(super) fn install(&self, staged: &StagedBlob, unsynced: &mut BTreeSet<PathBuf>) -> Result<(), Error> {
        let path = self.path(&staged.hash);
        let shard = path.parent().unwrap_or(&self.folder);
        if !shard.exists() {
            files::create_folder(shard).map_err(|error| Error::file("create the folder", shard, error))?;
            unsynced.insert(self.folder.clone());
        }
        fs::rename(&staged.path, &path).map_err(|error| Error::file("name the file", &path, error))?;
        unsynced.insert(shard.to_owned());
        Ok(())
    }

    /// Gives a blob of another store, in its folder `blobs`, a name here as well: neither store ever writes into one.
    /// Whether it is there. Its name is on the device after [`Blobs::sync`].
    pub(super) fn share(&self, hash: &Hash, others: &Path) -> Result<bool, Error> {
        let (theirs, ours) = (blob_path(others, hash), self.path(hash));
        let shard = ours.parent().unwrap_or(&self.folder);
        files::create_folder(shard).map_err(|error| Error::file("create the folder", shard, error))?;
        // Where there are no second names it is copied.
        let shared = fs::hard_link(&theirs, &ours).or_else(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Ok(()),
            io::ErrorKind::NotFound => Err(error),
            _ => fs::read(&theirs).and_then(|content| files::write_synced(&ours, &content)),
        });
        match shared {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::file("name the file", &ours, error)),
        }
    }

    /// Waits until all names are on the device.
    pub(super) fn sync(&self) -> Result<(), Error> {
        let folders = self.list(&self.folder)?;
        for folder in folders.iter().chain([&self.folder]).filter(|path| path.is_dir()) {
            files::sync_folder(folder).map_err(|error| Error::file("sync the folder", folder, error))?;
        }
        Ok(())
    }

    /// The content of a blob, checked against its name.
    pub(super) fn read(&self, hash: &Hash, len: u64) -> Result<Vec<u8>, Error> {
        let path = self.path(hash);
        let content = fs::read(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::damaged(&path, "the file is missing"),
            _ => Error::file("read the file", &path, error),
        })?;
        if content.len() as u64 != len || blake3::hash(&content).as_bytes() != hash {
            return Err(Error::damaged(&path, "the content is not what was written"));
        }
        Ok(content)
    }

    /// Removes a blob that nothing names; one that is not there is no error.
    pub(super) fn remove(&self, hash: &Hash) {
        let path = self.path(hash);
        if let Err(error) = fs::remove_file(&path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(path = %path.display(), %error, "an unused file could not be removed");
        }
    }

    /// Removes every blob that nothing names. Files with other names are left alone.
    pub(super) fn sweep(&self, named: impl Fn(&Hash) -> Result<bool, Error>) -> Result<(), Error> {
        for shard in self.list(&self.folder)? {
            let first = file_name(&shard);
            if first.len() != 2 || !shard.is_dir() {
                continue;
            }
            for path in self.list(&shard)? {
                let name = format!("{first}{}", file_name(&path));
                let Ok(hash) = blake3::Hash::from_hex(name) else {
                    continue;
                };
                if !named(hash.as_bytes())? {
                    self.remove(hash.as_bytes());
                }
            }
        }
        Ok(())
    }

    fn list(&self, folder: &Path) -> Result<Vec<PathBuf>, Error> {
        let entries = fs::read_dir(folder).and_then(|entries| entries.collect::<io::Result<Vec<_>>>());
        let entries = entries.map_err(|error| Error::file("list the folder", folder, error))?;
        Ok(entries.into_iter().map(|entry| entry.path()).collect())
    }

    fn path(&self, hash: &Hash) -> PathBuf {
        blob_path(&self.folder, hash)
    }
}

fn blob_path(folder: &Path, hash: &Hash) -> PathBuf {
    let hex = blake3::Hash::from_bytes(*hash).to_hex();
    let (shard, rest) = hex.split_at(2);
    folder.join(shard).join(rest)
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}
