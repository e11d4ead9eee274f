//! A store that cannot be read is set aside, and another one takes its place, with what can be saved.
//!
//! The other one is made whole in a folder beside it. Then there are two renames, and whoever finds the first one done
//! does the second. So a store that is there is never a part of one, and nothing is saved twice.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::open::{self, Loaded};
use super::{SledOptions, SledStore, files, salvage};
use crate::{Error, Store, Taken};

/// The file with what was noted of the store whose place this one took. It is written last: a store in the making is whole
/// when it has it.
pub(super) const NOTE: &str = "set-aside";

/// What has become of a store that could not be read.
#[derive(Debug, Clone)]
pub struct SetAside {
    /// Why it could not be.
    pub found: Error,
    /// What was taken over into the one in its place, or why nothing was.
    pub taken: Result<Taken, Error>,
}

/// Makes whole what was taken over into a store, and gives what is to be noted of it. It must let go of the store before it
/// returns. An error of the store is given as it is: by that it is known whether another start may do better.
pub type Mend<'a> =
    &'a dyn Fn(Arc<dyn Store>, &SetAside) -> Result<String, Box<dyn std::error::Error + Send + Sync>>;

/// See [`SledStore::open_or_set_aside`].
pub(super) fn open(
    folder: &Path,
    aside: &Path,
    options: &SledOptions,
    mend: Mend<'_>,
) -> Result<(SledStore, Option<SetAside>), Error> {
    let lock = open::lock_folder(folder)?;
    let beside = beside(folder);
    let found = match open::load_for_certain(folder, options) {
        Ok(loaded) => {
            clear(&beside, aside);
            return Ok((start(loaded, folder, lock)?, None));
        }
        Err(error @ Error::Damaged { .. }) => error,
        Err(error) => return Err(error),
    };
    open::check_system(folder)?;
    let was_made = open::was_made(folder)?;
    let of_none: Mend<'_> = &|_, _| Ok(String::new());
    let mend_empty = if was_made { mend } else { of_none };
    let (its_lock, set_aside) =
        make(folder, &beside, options, &found, mend, mend_empty).map_err(|error| {
            let told = format!("{found}; no other one can be made in its place: {error}");
            Error::damaged(folder, told)
        })?;
    exchange(folder, &beside, aside).map_err(|error| {
        let told = format!("{found}; moving it to {} failed: {error}", aside.display());
        Error::damaged(folder, told)
    })?;
    let store = start(open::load(folder, options)?, folder, its_lock)?;
    // Until now, so that nobody has looked at the folder in between.
    drop(lock);
    let is_told = was_made || set_aside.taken.is_ok();
    if !is_told {
        tracing::warn!(path = %aside.display(), "a store was moved there whose making was cut short");
    }
    Ok((store, is_told.then_some(set_aside)))
}

/// Beside a store that can be read there may be the rest of one in the making, which is removed, or a whole one: another
/// program has made a store where there was none between two renames. That has what was saved, so it is kept.
fn clear(beside: &Path, aside: &Path) {
    let cleared = if beside.join(NOTE).exists() {
        tracing::warn!(path = %aside.display(), "what was saved of an earlier store is moved there");
        fs::rename(beside, aside)
    } else {
        files::remove_folder(beside)
    };
    if let Err(error) = cleared {
        tracing::warn!(path = %beside.display(), %error, "a folder could not be moved away");
    }
}

/// Whether it is the system that fails: what it refuses now it may give at another start.
fn is_of_the_system(error: &Error) -> bool {
    match error {
        Error::Full | Error::Busy { .. } | Error::NewerSchema { .. } => true,
        Error::Io { source, .. } => source.raw_os_error().is_some(),
        _ => false,
    }
}

fn start(loaded: Loaded, folder: &Path, lock: File) -> Result<SledStore, Error> {
    let (committer, requests) = loaded.locked(folder, lock);
    open::start(committer, requests)
}

/// Makes the other store beside it, whole and closed; if that fails with what can be saved, and not because of the system,
/// then without. Its lock is given back.
fn make(
    folder: &Path,
    beside: &Path,
    options: &SledOptions,
    found: &Error,
    mend: Mend<'_>,
    mend_empty: Mend<'_>,
) -> Result<(File, SetAside), Error> {
    let made = make_one(folder, beside, options, found, None, mend).or_else(|error| {
        if is_of_the_system(&error) {
            return Err(error);
        }
        tracing::error!(%error, "nothing is taken over from the damaged store");
        make_one(folder, beside, options, found, Some(error), mend_empty)
    });
    if made.is_err()
        && let Err(error) = files::remove_folder(beside)
    {
        tracing::warn!(path = %beside.display(), %error, "a folder could not be removed");
    }
    made
}

/// Makes it; nothing is taken over if there is a reason.
fn make_one(
    folder: &Path,
    beside: &Path,
    options: &SledOptions,
    found: &Error,
    reason: Option<Error>,
    mend: Mend<'_>,
) -> Result<(File, SetAside), Error> {
    files::remove_folder(beside).map_err(|error| Error::file("remove the folder", beside, error))?;
    files::create_folder(beside).map_err(|error| Error::file("create the folder", beside, error))?;
    let lock = open::take_lock(beside, open::open_lock(beside)?)?;
    let mut loaded = open::load(beside, options)?;
    let taken = match reason {
        Some(reason) => Err(reason),
        None => Ok(salvage::take_over(folder, beside, &mut loaded, options)?),
    };
    let set_aside = SetAside {
        found: found.clone(),
        taken,
    };
    let failed = |error| Error::file("mend the store", beside, error);
    let store = Arc::new(start(loaded, beside, lock.try_clone().map_err(failed)?)?);
    let note = mend(store.clone(), &set_aside).map_err(|error| match error.downcast::<Error>() {
        Ok(of_the_store) => *of_the_store,
        Err(other) => failed(io::Error::other(other)),
    })?;
    let store = Arc::into_inner(store).ok_or_else(|| failed(io::Error::other("it is still in use")))?;
    // Closed.
    drop(store);
    let path = beside.join(NOTE);
    files::replace(&path, note.as_bytes()).map_err(|error| Error::file("write the file", &path, error))?;
    Ok((lock, set_aside))
}

/// Puts the store that is beside into the place of the one that is set aside.
fn exchange(folder: &Path, beside: &Path, aside: &Path) -> io::Result<()> {
    let _alone = alone(folder).map_err(io::Error::other)?;
    let moved = fs::rename(folder, aside);
    if let Err(error) = moved {
        files::remove_folder(beside)?;
        return Err(error);
    }
    if let Err(error) = fs::rename(beside, folder) {
        fs::rename(aside, folder)?;
        return Err(error);
    }
    // Both are done; after a power cut the next start finds them so, or does them.
    if let Err(error) = files::sync_parent(folder) {
        tracing::warn!(path = %folder.display(), %error, "a rename is not known to be on the device");
    }
    Ok(())
}

/// Finishes an exchange that was cut short. Nobody else may be in the middle of one.
pub(super) fn finish(folder: &Path) -> Result<(), Error> {
    let beside = beside(folder);
    let is_there = |path: &Path| {
        path.try_exists()
            .map_err(|error| Error::file("look for the folder", path, error))
    };
    if is_there(folder)? || !is_there(&beside.join(NOTE))? {
        return Ok(());
    }
    fs::rename(&beside, folder)
        .and_then(|()| files::sync_parent(folder))
        .map_err(|error| Error::file("rename the folder", &beside, error))
}

/// Held for a moment by whoever exchanges the folder or looks whether it is there.
pub(super) fn alone(folder: &Path) -> Result<Option<File>, Error> {
    let parent = files::parent(folder);
    files::create_folder(parent).map_err(|error| Error::file("create the folder", parent, error))?;
    // Elsewhere a folder with an open file cannot be renamed.
    if cfg!(not(unix)) {
        return Ok(None);
    }
    let lock = File::open(parent).and_then(|parent| parent.lock().map(|()| parent));
    match lock {
        Ok(lock) => Ok(Some(lock)),
        // A file system that locks no folders.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(None),
        Err(error) => Err(Error::file("lock the folder", parent, error)),
    }
}

/// Where the store is made that takes the place of this one.
fn beside(folder: &Path) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_owned();
    name.push(".salvage");
    folder.with_file_name(name)
}
