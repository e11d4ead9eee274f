//! The names in a folder.

use std::ffi::{OsStr, OsString};
use std::io;

use cap_std::fs::Dir;
use tokio_util::sync::CancellationToken;

use super::WalkKind;
use super::rules::Present;

/// Entries that are read between two looks at the cancellation.
const LOOKED_AT: usize = 1_024;

/// Room for what the system tells at a time of a folder, 64 KiB; each thread of a walk has it once.
#[cfg(target_os = "linux")]
const BUFFER_BYTES: usize = 64 << 10;

/// One name in a folder.
#[derive(Debug)]
pub(super) struct Name {
    pub(super) name: OsString,
    pub(super) kind: WalkKind,
    pub(super) hidden: bool,
}

/// What is in a folder.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) names: Vec<Name>,
    pub(super) present: Present,
    /// Why there may be more.
    pub(super) fault: Option<io::Error>,
}

impl Listing {
    fn add(&mut self, name: &OsStr, kind: WalkKind, hidden: bool) {
        self.present.note(name.as_encoded_bytes());
        // Git's own folder is left out whatever the rules say.
        if name != ".git" {
            self.names.push(Name {
                name: name.to_owned(),
                kind,
                hidden,
            });
        }
    }

    fn is_cancelled(&self, cancel: &CancellationToken) -> bool {
        self.names.len().is_multiple_of(LOOKED_AT) && cancel.is_cancelled()
    }
}

fn begins_with_dot(name: &OsStr) -> bool {
    name.as_encoded_bytes().first() == Some(&b'.')
}

/// Reads folders, one after the other.
#[derive(Debug, Default)]
pub(super) struct Lister {
    #[cfg(target_os = "linux")]
    buffer: Vec<u8>,
}

impl Lister {
    /// Everything in `folder`; after a cancellation, any part of it.
    #[cfg(target_os = "linux")]
    pub(super) fn list(&mut self, folder: &Dir, cancel: &CancellationToken) -> Listing {
        use std::os::fd::AsFd as _;
        use std::os::unix::ffi::OsStrExt as _;

        use rustix::fs::{AtFlags, FileType, RawDir};

        let of = |kind| match kind {
            FileType::RegularFile => WalkKind::File,
            FileType::Directory => WalkKind::Folder,
            FileType::Symlink => WalkKind::Link,
            _ => WalkKind::Other,
        };
        self.buffer.reserve(BUFFER_BYTES);
        let mut listing = Listing::default();
        let mut entries = RawDir::new(folder.as_fd(), self.buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    listing.fault = Some(error.into());
                    break;
                }
            };
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            if listing.is_cancelled(cancel) {
                break;
            }
            let kind = match entry.file_type() {
                // Some file systems do not tell it here.
                FileType::Unknown => match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(found) => of(FileType::from_raw_mode(found.st_mode)),
                    Err(_) => WalkKind::Other,
                },
                known => of(known),
            };
            let name = OsStr::from_bytes(name.to_bytes());
            listing.add(name, kind, begins_with_dot(name));
        }
        listing
    }

    /// Everything in `folder`; after a cancellation, any part of it.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn list(&mut self, folder: &Dir, cancel: &CancellationToken) -> Listing {
        use crate::Kind;

        let mut listing = Listing::default();
        let entries = match folder.entries() {
            Ok(entries) => entries,
            Err(error) => {
                listing.fault = Some(error);
                return listing;
            }
        };
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    listing.fault = Some(error);
                    break;
                }
            };
            if listing.is_cancelled(cancel) {
                break;
            }
            let kind = match entry.file_type().map(Kind::of) {
                Ok(Kind::File) => WalkKind::File,
                Ok(Kind::Folder) => WalkKind::Folder,
                Ok(Kind::Link) => WalkKind::Link,
                Ok(Kind::Other) | Err(_) => WalkKind::Other,
            };
            #[cfg(windows)]
            let marked = {
                use cap_std::fs::MetadataExt as _;
                /// `FILE_ATTRIBUTE_HIDDEN`
                const HIDDEN: u32 = 2;
                entry
                    .metadata()
                    .is_ok_and(|found| found.file_attributes() & HIDDEN != 0)
            };
            #[cfg(not(windows))]
            let marked = false;
            let name = entry.file_name();
            listing.add(&name, kind, marked || begins_with_dot(&name));
        }
        listing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walk::tests::project;

    /// Told by a count of names.
    #[test]
    fn a_folder_is_not_read_on_after_a_cancellation() {
        let files: Vec<String> = (0..2 * LOOKED_AT).map(|number| format!("f{number}")).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|name| (name.as_str(), "")).collect();
        let (_folder, project) = project(&files);
        let folder = super::super::open_folder(&project, &crate::VPath::root()).unwrap();
        let cancel = CancellationToken::new();
        assert_eq!(
            Lister::default().list(&folder, &cancel).names.len(),
            2 * LOOKED_AT
        );
        cancel.cancel();
        let again = super::super::open_folder(&project, &crate::VPath::root()).unwrap();
        assert!(Lister::default().list(&again, &cancel).names.is_empty());
        let listed = project.list(&crate::VPath::root(), 10, &cancel);
        assert!(matches!(listed, Err(crate::Error::Cancelled)));
    }
}
