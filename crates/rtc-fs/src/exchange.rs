//! Putting a finished file in the place of another one without losing what a third program puts there meanwhile.
//!
//! The two change places in one step, so that nothing is decided on what was there a moment before: what came out is looked
//! at, and if it is not what was expected, it goes back. While it does, somebody may save again; then that is the newest,
//! and what it took the place of is of no more use.

use std::ffi::OsStr;
use std::fs;
use std::io;

use cap_std::fs::Dir;
use tokio_util::sync::CancellationToken;

use crate::project::open_leaf;
use crate::stat::{Metadata, changed_lately};
use crate::{Error, Hash, Kind, VPath, step};

/// Saves of others that one change gives way to. Each needs one in the moment between two system calls.
const MAX_SAVES: usize = 100;

/// What has a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) metadata: Metadata,
    /// Hash of its content; `None` if it is no file.
    pub(crate) hash: Option<Hash>,
}

impl Held {
    /// Whether what is `now` there is the same, where `hash` gives the hash of its content.
    pub(crate) fn is(&self, now: &Metadata, hash: impl FnOnce() -> Result<Hash, Error>) -> bool {
        let then = &self.metadata;
        if now.kind != then.kind || now.identity.size != then.identity.size {
            return false;
        }
        let is_same = now.identity.same_content(&then.identity);
        let Some(held) = self.hash else { return is_same };
        // Within one tick of the clock of the file system a file can be saved twice with nothing to show for it.
        (is_same && !changed_lately(&then.identity)) || hash().is_ok_and(|now| now == held)
    }
}

/// How it ended. Whatever it is, only what nobody else has is left under the temporary name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Exchanged {
    /// It is done, and nothing has the temporary name.
    Done,
    /// Something else than expected was there; it still is.
    Changed,
}

/// A name in a folder, and the temporary name beside it.
pub(crate) struct Names<'a> {
    pub(crate) folder: &'a Dir,
    pub(crate) name: &'a OsStr,
    pub(crate) temporary: &'a str,
    /// For what is told of an error.
    pub(crate) path: &'a VPath,
}

impl Names<'_> {
    /// Gives the file `new`, which has the temporary name, the name that `expected` should have.
    ///
    /// # Errors
    /// Those of the system; nothing is changed then.
    pub(crate) fn put(&self, new: &Held, expected: Option<&Held>) -> Result<Exchanged, Error> {
        let put = match expected {
            None => self.put_new(),
            Some(expected) => self.put_over(new, expected),
        };
        match put {
            // Ours still has the temporary name.
            Err(Failure::Nothing(Error::ChangedSince { .. })) => {
                self.remove_temporary();
                Ok(Exchanged::Changed)
            }
            Err(Failure::Nothing(error)) => {
                self.remove_temporary();
                Err(error)
            }
            Err(Failure::Kept(error)) => Err(error),
            Ok(exchanged) => Ok(exchanged),
        }
    }

    fn put_new(&self) -> Result<Exchanged, Failure> {
        match rename_to_nothing(self.folder, self.temporary.as_ref(), self.name) {
            Ok(()) => Ok(Exchanged::Done),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(Failure::Nothing(self.changed()))
            }
            Err(error) => Err(Failure::Nothing(Error::from_io(self.path, error))),
        }
    }

    fn put_over(&self, new: &Held, expected: &Held) -> Result<Exchanged, Failure> {
        match exchange(self.folder, self.temporary, self.name) {
            Ok(()) => {}
            // Not every file system can; then the moment between looking and renaming stays.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                if !self.is(self.name, expected) {
                    return Err(Failure::Nothing(self.changed()));
                }
                self.folder
                    .rename(self.temporary, self.folder, self.name)
                    .map_err(|error| Failure::Nothing(Error::from_io(self.path, error)))?;
                return Ok(Exchanged::Done);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(Failure::Nothing(self.changed()));
            }
            Err(error) => return Err(Failure::Nothing(Error::from_io(self.path, error))),
        }
        step::at("exchanged");
        if self.is(self.temporary.as_ref(), expected) {
            // What is left under the temporary name is found by `recover`; the change itself is made.
            self.remove_temporary();
            return Ok(Exchanged::Done);
        }
        self.put_back(new.clone()).map_err(Failure::Kept)?;
        Ok(Exchanged::Changed)
    }

    /// Removes the file `expected`. The names of the folder are not synced.
    ///
    /// # Errors
    /// Those of the system; nothing is changed then.
    pub(crate) fn remove(&self, expected: &Held) -> Result<Exchanged, Error> {
        let failed = |error| Error::from_io(self.path, error);
        // Away from its name first: what has the name is only known for certain when nobody else can give it another one.
        match rename_to_nothing(self.folder, self.name, self.temporary.as_ref()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Exchanged::Changed),
            other => other.map_err(failed)?,
        }
        step::at("moved away");
        if self.is(self.temporary.as_ref(), expected) {
            self.remove_temporary();
            return Ok(Exchanged::Done);
        }
        self.give_back()?;
        Ok(Exchanged::Changed)
    }

    /// Gives what was moved away for a removal its name back, unless somebody has saved once more, over where it was.
    ///
    /// # Errors
    /// Those of the system; what has the temporary name then is left there.
    pub(crate) fn give_back(&self) -> Result<(), Error> {
        match rename_to_nothing(self.folder, self.temporary.as_ref(), self.name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.remove_temporary();
                Ok(())
            }
            other => other.map_err(|error| Error::from_io(self.path, error)),
        }
    }

    /// Gives what has the temporary name its own one back, which `under` has taken; that is of no use to anybody. If
    /// somebody has saved over it by now, the last save has the name in the end, unless the process ends right here.
    ///
    /// # Errors
    /// Those of the system; what has the temporary name then is left there.
    pub(crate) fn put_back(&self, mut under: Held) -> Result<(), Error> {
        let failed = |error| Error::from_io(self.path, error);
        for _ in 0..MAX_SAVES {
            let held = self.held(self.temporary.as_ref())?;
            step::at("put back");
            match exchange(self.folder, self.temporary, self.name) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    match rename_to_nothing(self.folder, self.temporary.as_ref(), self.name) {
                        Ok(()) => return Ok(()),
                        // Somebody has just made it.
                        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                        Err(error) => return Err(failed(error)),
                    }
                }
                Err(error) => return Err(failed(error)),
            }
            step::at("put back, to be looked at");
            if self.is(self.temporary.as_ref(), &under) {
                self.remove_temporary();
                return Ok(());
            }
            under = held;
        }
        Err(failed(io::Error::other("another program saves it without end")))
    }

    /// What has a name now.
    ///
    /// # Errors
    /// If it cannot be looked at.
    pub(crate) fn held(&self, name: &OsStr) -> Result<Held, Error> {
        let metadata = self.folder.symlink_metadata(name);
        let metadata = metadata.map_err(|error| Error::from_io(self.path, error))?;
        let metadata = Metadata::of(&metadata);
        if metadata.kind != Kind::File {
            return Ok(Held { metadata, hash: None });
        }
        let (mut file, metadata) = open_leaf(self.folder, name, self.path)?;
        Ok(Held {
            metadata,
            hash: Some(self.hash(&mut file)?),
        })
    }

    /// Whether a name has what was held; what cannot be looked at is taken for something else.
    fn is(&self, name: &OsStr, held: &Held) -> bool {
        let Ok(now) = self.folder.symlink_metadata(name) else {
            return false;
        };
        held.is(&Metadata::of(&now), || {
            let (mut file, _) = open_leaf(self.folder, name, self.path)?;
            self.hash(&mut file)
        })
    }

    /// Not to be cancelled: what was begun has to come to an end.
    fn hash(&self, file: &mut fs::File) -> Result<Hash, Error> {
        Hash::of_file(file, self.path, &CancellationToken::new())
    }

    fn remove_temporary(&self) {
        let _ = self.folder.remove_file(self.temporary);
    }

    fn changed(&self) -> Error {
        Error::ChangedSince {
            path: self.path.clone(),
        }
    }
}

/// Why a new file is not in its place.
enum Failure {
    /// Nothing was done: the new file has the temporary name.
    Nothing(Error),
    /// What has the temporary name has to stay.
    Kept(Error),
}

/// Lets two names change what they stand for. [`io::ErrorKind::Unsupported`] where the system cannot.
fn exchange(folder: &Dir, one: &str, other: &OsStr) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    {
        use rustix::fs::{RenameFlags, renameat_with};
        use rustix::io::Errno;

        match renameat_with(folder, one, folder, other, RenameFlags::EXCHANGE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => Err(io::ErrorKind::Unsupported.into()),
            other => other.map_err(io::Error::from),
        }
    }
    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    {
        let _ = (folder, one, other);
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Renames something to a name that nothing has; [`io::ErrorKind::AlreadyExists`] if something has.
fn rename_to_nothing(folder: &Dir, from: &OsStr, to: &OsStr) -> io::Result<()> {
    rename_to_nothing_in(folder, from, folder, to)
}

/// The same into another folder.
pub(crate) fn rename_to_nothing_in(folder: &Dir, from: &OsStr, target: &Dir, to: &OsStr) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    {
        use rustix::fs::{RenameFlags, renameat_with};
        use rustix::io::Errno;

        match renameat_with(folder, from, target, to, RenameFlags::NOREPLACE) {
            // Not every file system can; then the moment between looking and renaming stays.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            other => return other.map_err(io::Error::from),
        }
    }
    if target.symlink_metadata(to).is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    folder.rename(from, target, to)
}
