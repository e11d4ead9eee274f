//! How many of a file's names are in the project.

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use tokio_util::sync::CancellationToken;

use crate::stat::Metadata;
use crate::{Error, Identity, Kind, Project};

/// Names that are looked at while the others of a file are searched for.
const MAX_SEARCHED: usize = 300_000;

/// Folders within one another that are searched.
const MAX_DEPTH: usize = 200;

/// How many names the file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    /// One, or there is no file.
    One,
    /// So many, and all of them were found in the project.
    Inside(u64),
    /// So many, and not all of them were found.
    Elsewhere { links: u64, found: u64 },
}

impl Names {
    /// Looks for all names of a file in the project.
    ///
    /// # Errors
    /// [`Error::Cancelled`]. A folder that cannot be read has none of them.
    pub(crate) fn search(
        project: &Project,
        file: &Metadata,
        cancel: &CancellationToken,
    ) -> Result<Self, Error> {
        let links = file.links;
        if links <= 1 {
            return Ok(Self::One);
        }
        let mut search = Search {
            project,
            identity: &file.identity,
            links,
            found: 0,
            left: MAX_SEARCHED,
            cancel,
        };
        search.folder(project.dir(), 0)?;
        let found = search.found;
        Ok(if found == links {
            Self::Inside(links)
        } else {
            Self::Elsewhere { links, found }
        })
    }

    /// What to tell of a file that a change will part from its other names.
    pub(crate) fn note(self) -> Option<String> {
        match self {
            Self::One | Self::Inside(_) => None,
            Self::Elsewhere { links, found } => Some(format!(
                "the file has {links} names (hard links), of which {found} {} in the project; it is parted from the others, \
                 which keep the old content",
                if found == 1 { "is" } else { "are" }
            )),
        }
    }
}

struct Search<'a> {
    project: &'a Project,
    identity: &'a Identity,
    links: u64,
    found: u64,
    left: usize,
    cancel: &'a CancellationToken,
}

impl Search<'_> {
    fn folder(&mut self, folder: &Dir, depth: usize) -> Result<(), Error> {
        let Ok(entries) = folder.entries() else {
            return Ok(());
        };
        let mut folders = Vec::new();
        for entry in entries.flatten() {
            if self.cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            if self.left == 0 || self.found == self.links {
                return Ok(());
            }
            self.left -= 1;
            match entry.file_type().map(Kind::of) {
                Ok(Kind::Folder) => folders.push(entry.file_name()),
                Ok(Kind::File) if self.may_be(&entry) => {
                    let found = folder.symlink_metadata(entry.file_name());
                    let found = found.map(|metadata| Metadata::of(&metadata).identity);
                    self.found += u64::from(found.is_ok_and(|found| self.is(&found)));
                }
                _ => {}
            }
        }
        if depth == MAX_DEPTH {
            return Ok(());
        }
        for name in folders {
            let Ok(inner) = folder.open_dir_nofollow(&name) else {
                continue;
            };
            let identity = inner
                .dir_metadata()
                .map(|metadata| Metadata::of(&metadata).identity);
            if identity.is_ok_and(|identity| {
                identity.dev == self.identity.dev && !self.project.is_own_data(&identity)
            }) {
                self.folder(&inner, depth + 1)?;
            }
        }
        Ok(())
    }

    fn is(&self, found: &Identity) -> bool {
        (found.dev, found.ino) == (self.identity.dev, self.identity.ino)
    }

    /// By what comes with its name.
    fn may_be(&self, entry: &cap_std::fs::DirEntry) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::DirEntryExt as _;
            entry.ino() == self.identity.ino
        }
        #[cfg(not(unix))]
        {
            let _ = entry;
            true
        }
    }
}
