//! Putting a finished file in the place of another one without losing what a third program put there meanwhile.

use std::ffi::OsStr;
use std::io;

use cap_std::fs::Dir;

use crate::stat::Metadata;

/// How it ended.
pub(crate) enum Exchanged {
    /// The new file has the name, and its temporary name is gone.
    Done,
    /// Something else than expected was there; it still is.
    Changed,
}

/// Gives the file `temporary` the name `name` in `folder`, where `expected` should be.
pub(crate) fn put(
    folder: &Dir,
    temporary: &str,
    name: &OsStr,
    expected: Option<&Metadata>,
) -> io::Result<Exchanged> {
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    match system::put(folder, temporary, name, expected) {
        // Not every file system can; then the moment between looking and renaming stays.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::NOTSUP) => {}
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::EXIST) => return Ok(Exchanged::Changed),
        Err(other) => return Err(other.into()),
        Ok(exchanged) => return Ok(exchanged),
    }
    let now = match folder.symlink_metadata(name) {
        Ok(metadata) => Some(Metadata::of(&metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if !same(now.as_ref(), expected) {
        return Ok(Exchanged::Changed);
    }
    folder.rename(temporary, folder, name)?;
    Ok(Exchanged::Done)
}

/// Whether what is there is what was expected; a rename changes no more than the time of the last metadata change.
fn same(now: Option<&Metadata>, expected: Option<&Metadata>) -> bool {
    match (now, expected) {
        (None, None) => true,
        (Some(now), Some(expected)) => {
            now.kind == expected.kind && now.identity.same_content(&expected.identity)
        }
        _ => false,
    }
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
mod system {
    use std::ffi::OsStr;

    use cap_std::fs::Dir;
    use rustix::fs::{RenameFlags, renameat_with};
    use rustix::io::Errno;

    use super::{Exchanged, same};
    use crate::stat::Metadata;

    pub(super) fn put(
        folder: &Dir,
        temporary: &str,
        name: &OsStr,
        expected: Option<&Metadata>,
    ) -> Result<Exchanged, Errno> {
        if expected.is_none() {
            renameat_with(folder, temporary, folder, name, RenameFlags::NOREPLACE)?;
            return Ok(Exchanged::Done);
        }
        renameat_with(folder, temporary, folder, name, RenameFlags::EXCHANGE)?;
        let displaced = folder
            .symlink_metadata(temporary)
            .ok()
            .map(|metadata| Metadata::of(&metadata));
        if same(displaced.as_ref(), expected) {
            // What is left under the temporary name is found by `recover`; the change itself is made.
            let _ = folder.remove_file(temporary);
            return Ok(Exchanged::Done);
        }
        renameat_with(folder, temporary, folder, name, RenameFlags::EXCHANGE)?;
        Ok(Exchanged::Changed)
    }
}
