//! `Project`: an open project folder and what can be asked of it without changing it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirEntry, OpenOptions};
use tokio_util::sync::CancellationToken;

use crate::children::{LOOKED_AT, first_entries};
use crate::resolve::{Place, Target, locate};
use crate::spelling::spelled;
use crate::stat::Metadata;
use crate::{Error, Identity, Kind, Resolved, Stat, VPath};

/// Entries that a listing of a folder should show at most; the total is always told.
pub const MAX_LISTED_ENTRIES: usize = 1000;

/// An open project folder. Clones share the same handle.
///
/// Everything is opened relative to the handle, so renaming the folder or swapping something in it for a link
/// never leads out of it.
#[derive(Clone)]
pub struct Project {
    inner: Arc<Inner>,
    users_excludes: Option<Arc<Path>>,
}

struct Inner {
    dir: Dir,
    /// As it was given.
    root: PathBuf,
    /// Without links, to recognise absolute links that stay inside.
    canonical: PathBuf,
    /// The folder that nothing beneath this project reaches: its device and number there.
    own_data: Option<(u64, u64)>,
}

/// An open file beneath a project.
#[derive(Debug)]
pub struct Opened {
    /// Where it really is; compare it with what was permitted.
    pub path: VPath,
    /// The file, open for reading.
    pub file: fs::File,
    /// Its identity when it was opened.
    pub identity: Identity,
    /// See [`Resolved::note`].
    pub note: Option<String>,
}

/// The children of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// Where the folder really is.
    pub path: VPath,
    /// The first children by name.
    pub entries: Vec<Entry>,
    /// How many children there are.
    pub total: usize,
    /// See [`Resolved::note`].
    pub note: Option<String>,
}

/// One child of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name, as it is spelled in a [`VPath`].
    pub name: String,
    /// What it is; a link is not followed.
    pub kind: Kind,
    /// What a link contains.
    pub target: Option<String>,
}

impl Project {
    /// Opens the folder `root` of this machine.
    ///
    /// # Errors
    /// [`Error::RootMissing`], [`Error::RootNotFolder`], [`Error::RootUnreadable`].
    pub fn open(root: &Path) -> Result<Self, Error> {
        Self::open_with(root, None)
    }

    /// The same, for a folder that may contain the program's own data: that is out of reach then, by whatever path.
    ///
    /// # Errors
    /// As [`Project::open`], and [`Error::OwnDataRoot`] for a folder in the program's own data, [`Error::Io`] if it cannot
    /// be told where that is.
    pub fn open_apart(root: &Path, own_data: &Path) -> Result<Self, Error> {
        let failed = |folder: &Path, source| Error::Io {
            path: folder.display().to_string(),
            source,
        };
        let own_number = match number(own_data) {
            Ok(number) => number,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Self::open(root),
            Err(error) => return Err(failed(own_data, error)),
        };
        let project = Self::open_with(root, Some(own_number))?;
        for outer in project.real_root().ancestors() {
            if number(outer).map_err(|error| failed(outer, error))? == own_number {
                return Err(Error::OwnDataRoot {
                    root: root.to_owned(),
                });
            }
        }
        Ok(project)
    }

    fn open_with(root: &Path, own_data: Option<(u64, u64)>) -> Result<Self, Error> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Error::RootMissing {
                root: root.to_owned(),
            },
            io::ErrorKind::PermissionDenied => Error::RootUnreadable {
                root: root.to_owned(),
                reason: "permission denied".to_owned(),
            },
            _ => Error::RootUnreadable {
                root: root.to_owned(),
                reason: error.to_string(),
            },
        };
        if !fs::metadata(root).map_err(failed)?.is_dir() {
            return Err(Error::RootNotFolder {
                root: root.to_owned(),
            });
        }
        let canonical = fs::canonicalize(root).map_err(failed)?;
        let dir = Dir::open_ambient_dir(&canonical, ambient_authority()).map_err(failed)?;
        // A handle can be had without the right to read; better told now than at the first listing.
        dir.entries().map_err(failed)?;
        Ok(Self {
            inner: Arc::new(Inner {
                dir,
                root: root.to_owned(),
                canonical,
                own_data,
            }),
            users_excludes: None,
        })
    }

    /// The same folder, where searches also leave out what `file` says: the one that the user has git read everywhere
    /// ([`users_excludes`]). It is the only file outside of the folder that is read, and need not exist.
    #[must_use]
    pub fn with_users_excludes(self, file: Option<PathBuf>) -> Self {
        Self {
            users_excludes: file.map(Arc::from),
            ..self
        }
    }

    /// See [`Project::with_users_excludes`].
    pub(crate) fn users_excludes(&self) -> Option<&Path> {
        self.users_excludes.as_deref()
    }

    /// The folder on this machine, as it was given to [`Project::open`].
    pub fn root(&self) -> &Path {
        &self.inner.root
    }

    /// The folder on this machine, without links.
    pub fn real_root(&self) -> &Path {
        &self.inner.canonical
    }

    /// Whether this is the folder that nothing beneath this project reaches.
    pub(crate) fn is_own_data(&self, identity: &Identity) -> bool {
        self.inner.own_data == Some((identity.dev, identity.ino))
    }

    /// Whether there is such a folder.
    pub(crate) fn has_own_data(&self) -> bool {
        self.inner.own_data.is_some()
    }

    /// The handle of the folder.
    pub(crate) fn dir(&self) -> &Dir {
        &self.inner.dir
    }

    /// What an absolute path of this machine is relative to the folder, if it is spelled as being inside.
    pub(crate) fn inside(&self, target: &Path) -> Option<PathBuf> {
        let inside = target
            .strip_prefix(&self.inner.canonical)
            .or_else(|_| target.strip_prefix(&self.inner.root));
        inside.ok().map(Path::to_owned)
    }

    /// Where `path` really is, links inside the project followed. Nothing is opened for reading.
    ///
    /// # Errors
    /// [`Error::NotFound`] with the nearest folder; [`Error::Outside`], [`Error::DanglingLink`] and
    /// [`Error::LinkLoop`] for links; [`Error::SeveralNames`]; [`Error::Denied`].
    pub fn resolve(&self, path: &VPath) -> Result<Resolved, Error> {
        let place = locate(self, path)?;
        not_missing(path, &place)?;
        Ok(place.resolved())
    }

    /// Like [`Project::resolve`], for something that is about to be written and need not exist: then `kind` is
    /// `None` and `path` is where it would be made.
    ///
    /// # Errors
    /// As [`Project::resolve`], without [`Error::NotFound`].
    pub fn resolve_new(&self, path: &VPath) -> Result<Resolved, Error> {
        locate(self, path).map(|place| place.resolved())
    }

    /// What is at `path`.
    ///
    /// # Errors
    /// As [`Project::resolve`].
    pub fn stat(&self, path: &VPath) -> Result<Stat, Error> {
        let place = locate(self, path)?;
        not_missing(path, &place)?;
        let metadata = match place.target {
            Target::Leaf { metadata, .. } => metadata,
            Target::Folder | Target::Missing { .. } => {
                let metadata = place
                    .folder
                    .dir_metadata()
                    .map_err(|source| Error::from_io(path, source))?;
                Metadata::of(&metadata)
            }
        };
        Ok(Stat {
            path: place.path(),
            kind: metadata.kind,
            size: metadata.identity.size,
            identity: metadata.identity,
        })
    }

    /// Opens the file at `path` for reading.
    ///
    /// # Errors
    /// As [`Project::resolve`], and [`Error::IsFolder`], [`Error::NotRegular`].
    pub fn open_file(&self, path: &VPath) -> Result<Opened, Error> {
        let place = locate(self, path)?;
        not_missing(path, &place)?;
        let real = place.path();
        let Target::Leaf { name, metadata, .. } = &place.target else {
            return Err(Error::IsFolder { path: real });
        };
        if metadata.kind != Kind::File {
            return Err(Error::NotRegular { path: real });
        }
        let (file, metadata) = open_leaf(&place.folder, name, &real)?;
        Ok(Opened {
            path: real,
            file,
            identity: metadata.identity,
            note: place.note,
        })
    }

    /// The children of the folder at `path`, sorted by name, at most `limit` of them. What is kept in memory is as large as
    /// that, however large the folder is.
    ///
    /// # Errors
    /// As [`Project::resolve`], and [`Error::NotFolder`], [`Error::Cancelled`].
    pub fn list(&self, path: &VPath, limit: usize, cancel: &CancellationToken) -> Result<Listing, Error> {
        let place = locate(self, path)?;
        not_missing(path, &place)?;
        let real = place.path();
        if !matches!(place.target, Target::Folder) {
            return Err(Error::NotFolder { path: real });
        }
        let key = |entry: DirEntry| {
            let kind = entry.file_type().map_or(Kind::Other, Kind::of);
            Some((entry.file_name(), kind))
        };
        let (found, total) = first_entries(&place.folder, &real, limit, cancel, key)?;
        let mut entries = Vec::with_capacity(found.len());
        for (number, (name, kind)) in found.into_iter().enumerate() {
            if number % LOOKED_AT == 0 && cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let target = (kind == Kind::Link)
                .then(|| place.folder.read_link_contents(&name).ok())
                .flatten();
            entries.push(Entry {
                name: spelled(&name).into_owned(),
                kind,
                target: target.map(|target| spelled(target.as_os_str()).into_owned()),
            });
        }
        Ok(Listing {
            path: real,
            entries,
            total,
            note: place.note,
        })
    }
}

/// The file of rules that this user has git read in all projects: `core.excludesFile` of git's settings, or
/// `git/ignore` in the folder of the user's settings. It need not exist.
pub fn users_excludes() -> Option<PathBuf> {
    ignore::gitignore::gitconfig_excludes_path()
}

impl std::fmt::Debug for Project {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Project")
            .field("root", &self.inner.root)
            .finish_non_exhaustive()
    }
}

/// The device of a folder and its number there. It need not be one that may be opened.
fn number(folder: &Path) -> io::Result<(u64, u64)> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        fs::metadata(folder).map(|found| (found.dev(), found.ino()))
    }
    #[cfg(not(unix))]
    {
        let folder = Dir::open_ambient_dir(folder, ambient_authority())?;
        let identity = Metadata::of(&folder.dir_metadata()?).identity;
        Ok((identity.dev, identity.ino))
    }
}

/// An error if nothing is at the place.
fn not_missing(asked: &VPath, place: &Place) -> Result<(), Error> {
    match place.target {
        Target::Missing { .. } => Err(Error::NotFound {
            path: asked.clone(),
            nearest: place.folder_path.clone(),
        }),
        Target::Folder | Target::Leaf { .. } => Ok(()),
    }
}

/// Opens a file of an open folder for reading: never through a link, never waiting for a pipe.
pub(crate) fn open_leaf(
    folder: &Dir,
    name: impl AsRef<Path>,
    path: &VPath,
) -> Result<(fs::File, Metadata), Error> {
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let file = folder.open_with(name, &options).map_err(|source| {
        // It was there a moment ago: removed, or swapped for a link.
        if was_swapped(&source) {
            Error::ChangedSince { path: path.clone() }
        } else {
            Error::from_io(path, source)
        }
    })?;
    let file = file.into_std();
    let metadata = Metadata::of_file(&file).map_err(|source| Error::from_io(path, source))?;
    match metadata.kind {
        Kind::File => Ok((file, metadata)),
        Kind::Folder => Err(Error::IsFolder { path: path.clone() }),
        Kind::Link | Kind::Other => Err(Error::NotRegular { path: path.clone() }),
    }
}

/// Whether opening something that was just looked at failed because something else is there now.
pub(crate) fn was_swapped(error: &io::Error) -> bool {
    #[cfg(unix)]
    if rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::LOOP) {
        return true;
    }
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

#[cfg(test)]
mod tests;
