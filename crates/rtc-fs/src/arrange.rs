//! Making folders, and moving and removing what is there. Each file that leaves its place is kept for an undo.

use std::ffi::OsString;
use std::io;

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use tokio_util::sync::CancellationToken;

use crate::atomic::sync_folder;
use crate::attributes;
use crate::change::{MAX_CHANGED_BYTES, temporary_name};
use crate::exchange::{Exchanged, Held, Names, rename_to_nothing_in};
use crate::preimage::{Kept, Left, PreImage, There};
use crate::project::{Project, open_leaf};
use crate::read::read_all;
use crate::resolve::{Place, Target, locate};
use crate::stat::Metadata;
use crate::{Error, Hash, Kind, VPath, Witness};

/// Files and folders that one removal or move may be about: each file of them is copied for the undo.
pub const MAX_ARRANGED: usize = 1000;

/// What is going to be moved or removed: permissions are decided on every path of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gathered {
    /// Each folder before what is in it; the first is the one that was asked for. None of them is a link.
    entries: Vec<(VPath, Kind)>,
    /// See [`crate::Resolved::note`].
    note: Option<String>,
}

impl Gathered {
    /// What was asked for, without links on the way.
    pub fn path(&self) -> &VPath {
        &self.entries[0].0
    }

    /// Everything that is there, the path itself first.
    pub fn paths(&self) -> impl Iterator<Item = &VPath> {
        self.entries.iter().map(|(path, _)| path)
    }

    /// Whether it is a folder with something in it.
    pub fn has_content(&self) -> bool {
        self.entries.len() > 1
    }

    /// What to tell about the name, see [`crate::Resolved::note`].
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }
}

impl Project {
    /// Makes a folder and those on the way to it, each with a pre-image. `false` if it is there already.
    ///
    /// # Errors
    /// As [`Project::resolve_new`], and [`Error::Exists`] for a file, [`Error::Full`], the error of `witness`.
    pub fn make_folder(&self, path: &VPath, witness: &mut dyn Witness) -> Result<bool, Error> {
        let place = locate(self, path)?;
        match &place.target {
            Target::Folder => Ok(false),
            Target::Leaf { .. } => Err(Error::Exists { path: place.path() }),
            Target::Missing { names } => {
                make_folders(&place, names, &mut |folder, make| {
                    witness.keep(folder_image(folder.clone(), There::Nothing, There::Folder))?;
                    if make()? {
                        witness.made(folder);
                    }
                    Ok(())
                })?;
                Ok(true)
            }
        }
    }

    /// Looks at everything that a move or removal of `path` would be about. Changes nothing.
    ///
    /// # Errors
    /// As [`Project::resolve`], and [`Error::IsLink`] for a link at or below the path, [`Error::NotRegular`],
    /// [`Error::TooMany`] above [`MAX_ARRANGED`], [`Error::InvalidPath`] for the root.
    pub fn gather(&self, path: &VPath, cancel: &CancellationToken) -> Result<Gathered, Error> {
        let (Some(parent), Some(name)) = (path.parent(), path.native_name()) else {
            return Err(Error::InvalidPath {
                given: path.to_string(),
                reason: "it is the project folder itself".to_owned(),
            });
        };
        // A link would lead to what it points at, and that was not asked for.
        if let Ok(outer) = locate(self, &parent)
            && matches!(outer.target, Target::Folder)
            && outer
                .folder
                .symlink_metadata(&name)
                .is_ok_and(|metadata| metadata.is_symlink())
        {
            return Err(Error::IsLink {
                path: outer.path().child(name),
            });
        }
        let place = locate(self, path)?;
        let real = place.path();
        let mut entries = Vec::new();
        match &place.target {
            Target::Missing { .. } => {
                return Err(Error::NotFound {
                    path: path.clone(),
                    nearest: place.folder_path.clone(),
                });
            }
            Target::Leaf { metadata, .. } => add(&mut entries, &real, real.clone(), metadata.kind)?,
            Target::Folder => {
                add(&mut entries, &real, real.clone(), Kind::Folder)?;
                gather_below(self, &place.folder, &real, &real, &mut entries, cancel)?;
            }
        }
        Ok(Gathered {
            entries,
            note: place.note,
        })
    }

    /// Removes what was gathered, the innermost first. `tag` names the call: a file has a temporary name before it is gone.
    ///
    /// # Errors
    /// [`Error::ChangedSince`] where something is not as it was gathered, [`Error::TooLarge`], [`Error::Denied`],
    /// [`Error::Cancelled`], the error of `witness`. What had been removed until then stays removed.
    pub fn remove(
        &self,
        gathered: &Gathered,
        tag: &str,
        witness: &mut dyn Witness,
        cancel: &CancellationToken,
    ) -> Result<(), Error> {
        for (path, kind) in gathered.entries.iter().rev() {
            if cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            if *kind == Kind::File {
                self.remove_file(path, None, tag, witness, cancel)?;
            } else {
                self.remove_folder(path, witness)?;
            }
        }
        Ok(())
    }

    /// Removes one file; `expected`: if it has this content.
    pub(crate) fn remove_file(
        &self,
        path: &VPath,
        expected: Option<Hash>,
        tag: &str,
        witness: &mut dyn Witness,
        cancel: &CancellationToken,
    ) -> Result<(), Error> {
        let file = self.kept_file(path, MAX_CHANGED_BYTES, cancel)?;
        if expected.is_some_and(|expected| expected != file.hash) {
            return Err(Error::ChangedSince { path: path.clone() });
        }
        witness.keep(file.leaves())?;
        let names = Names {
            folder: &file.folder,
            name: file.name.as_ref(),
            temporary: &temporary_name(path, tag),
            path,
        };
        if names.remove(&file.held())? == Exchanged::Changed {
            return Err(Error::ChangedSince { path: path.clone() });
        }
        witness.made(path);
        sync_folder(&file.folder, path)
    }

    /// Removes one folder that has nothing in it.
    pub(crate) fn remove_folder(&self, path: &VPath, witness: &mut dyn Witness) -> Result<(), Error> {
        let (outer, name) = self.outer(path)?;
        witness.keep(folder_image(path.clone(), There::Folder, There::Nothing))?;
        outer.remove_dir(&name).map_err(|source| match source.kind() {
            io::ErrorKind::DirectoryNotEmpty => Error::ChangedSince { path: path.clone() },
            _ => Error::from_io(path, source),
        })?;
        witness.made(path);
        sync_folder(&outer, path)
    }

    /// Where what was gathered would be after a move to `to`: each path with its new one.
    ///
    /// # Errors
    /// As [`Project::resolve_new`], and [`Error::Exists`], [`Error::InvalidPath`] for a folder into itself.
    pub fn destinations(&self, gathered: &Gathered, to: &VPath) -> Result<Vec<VPath>, Error> {
        let place = locate(self, to)?;
        let real = place.path();
        if !matches!(place.target, Target::Missing { .. }) {
            return Err(Error::Exists { path: real });
        }
        let from = gathered.path();
        if real.starts_with(from) {
            return Err(Error::InvalidPath {
                given: to.to_string(),
                reason: format!("it is inside of `{from}`, which is to be moved there"),
            });
        }
        Ok(gathered.paths().map(|path| path.moved(from, &real)).collect())
    }

    /// Moves what was gathered to `to`, where nothing may be; folders on the way are made.
    ///
    /// # Errors
    /// As [`Project::destinations`] and [`Project::remove`]; after each everything is where it was.
    pub fn rename(
        &self,
        gathered: &Gathered,
        to: &VPath,
        witness: &mut dyn Witness,
        cancel: &CancellationToken,
    ) -> Result<VPath, Error> {
        let destinations = self.destinations(gathered, to)?;
        let missing = match locate(self, to)?.target {
            Target::Missing { names } => u32::try_from(names.len().saturating_sub(1)).unwrap_or(u32::MAX),
            Target::Leaf { .. } | Target::Folder => 0,
        };
        let mut room = MAX_CHANGED_BYTES;
        for (at, ((path, kind), destination)) in gathered.entries.iter().zip(&destinations).enumerate() {
            // Those above it are made for what was asked for; what is in it comes with it.
            let made_folders = if at == 0 { missing } else { 0 };
            if *kind == Kind::Folder {
                witness.keep(PreImage {
                    made_folders,
                    ..folder_image(destination.clone(), There::Nothing, There::Folder)
                })?;
                witness.keep(folder_image(path.clone(), There::Folder, There::Nothing))?;
                continue;
            }
            let file = self.kept_file(path, room, cancel)?;
            room -= (file.bytes.len() as u64).min(room);
            witness.keep(PreImage {
                path: destination.clone(),
                before: There::Nothing,
                after: There::File(file.hash),
                kept: Kept::Absent,
                left: Left::between(&[], &file.bytes),
                made_folders,
                mode: None,
            })?;
            witness.keep(file.leaves())?;
            file.check()?;
        }
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let from = gathered.path();
        let place = locate(self, to)?;
        let Target::Missing { names } = &place.target else {
            return Err(Error::Exists { path: place.path() });
        };
        let (last, missing) = names
            .split_last()
            .ok_or_else(|| Error::Exists { path: place.path() })?;
        let (source, name) = self.outer(from)?;
        let mut made = Vec::new();
        let on_the_way = make_folders(&place, missing, &mut |folder, make| {
            if make()? {
                made.push(folder.clone());
            }
            Ok(())
        });
        let moved = on_the_way.and_then(|target| {
            rename_to_nothing_in(&source, name.as_ref(), &target, last.as_ref()).map_err(
                |error| match error.kind() {
                    io::ErrorKind::AlreadyExists => Error::Exists { path: place.path() },
                    _ => Error::from_io(from, error),
                },
            )?;
            Ok(target)
        });
        if moved.is_err() {
            for folder in made.iter().rev() {
                // One that something else was put in stays.
                let _ = self.outer(folder).map(|(outer, name)| outer.remove_dir(name));
            }
        }
        let target = moved?;
        witness.made(from);
        witness.made(&place.path());
        sync_folder(&target, to)?;
        sync_folder(&source, from)?;
        Ok(place.path())
    }

    /// The open folder of something that was gathered, and its name in it.
    fn outer(&self, path: &VPath) -> Result<(Dir, OsString), Error> {
        let changed = || Error::ChangedSince { path: path.clone() };
        let (parent, name) = path.parent().zip(path.native_name()).ok_or_else(changed)?;
        let place = locate(self, &parent)?;
        // A link on the way by now would mean another place than the one that was permitted.
        if place.path() != parent || !matches!(place.target, Target::Folder) {
            return Err(changed());
        }
        Ok((place.folder, name))
    }

    fn kept_file(&self, path: &VPath, limit: u64, cancel: &CancellationToken) -> Result<KeptFile, Error> {
        let (folder, name) = self.outer(path)?;
        let (mut file, metadata) = open_leaf(&folder, &name, path)?;
        let bytes = read_all(&mut file, metadata.identity.size, limit, path, cancel)?;
        Ok(KeptFile {
            path: path.clone(),
            hash: Hash::of(&bytes),
            mode: attributes::mode(&file).map_err(|source| Error::from_io(path, source))?,
            folder,
            name,
            metadata,
            bytes,
        })
    }
}

/// A file that leaves its place.
struct KeptFile {
    path: VPath,
    folder: Dir,
    name: OsString,
    metadata: Metadata,
    bytes: Vec<u8>,
    hash: Hash,
    mode: Option<u32>,
}

impl KeptFile {
    fn leaves(&self) -> PreImage {
        PreImage {
            path: self.path.clone(),
            before: There::File(self.hash),
            after: There::Nothing,
            kept: Kept::Whole(self.bytes.clone()),
            left: None,
            made_folders: 0,
            mode: self.mode,
        }
    }

    fn held(&self) -> Held {
        Held {
            metadata: self.metadata,
            hash: Some(self.hash),
        }
    }

    /// Whether it still is what was kept.
    fn check(&self) -> Result<(), Error> {
        let now = self
            .folder
            .symlink_metadata(&self.name)
            .map(|metadata| Metadata::of(&metadata));
        match now {
            Ok(now) if now.kind == Kind::File && now.identity.same_content(&self.metadata.identity) => Ok(()),
            _ => Err(Error::ChangedSince {
                path: self.path.clone(),
            }),
        }
    }
}

fn add(entries: &mut Vec<(VPath, Kind)>, asked: &VPath, path: VPath, kind: Kind) -> Result<(), Error> {
    match kind {
        Kind::Link => return Err(Error::IsLink { path }),
        Kind::Other => return Err(Error::NotRegular { path }),
        Kind::File | Kind::Folder => {}
    }
    if entries.len() >= MAX_ARRANGED {
        return Err(Error::TooMany {
            path: asked.clone(),
            limit: MAX_ARRANGED,
        });
    }
    entries.push((path, kind));
    Ok(())
}

fn gather_below(
    project: &Project,
    folder: &Dir,
    path: &VPath,
    asked: &VPath,
    entries: &mut Vec<(VPath, Kind)>,
    cancel: &CancellationToken,
) -> Result<(), Error> {
    let failed = |source| Error::from_io(path, source);
    let mut names = Vec::new();
    for entry in folder.entries().map_err(failed)? {
        if names.len() > MAX_ARRANGED {
            break;
        }
        names.push(entry.map_err(failed)?.file_name());
    }
    names.sort();
    for name in names {
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let inner = path.child(&name);
        let metadata = Metadata::of(&folder.symlink_metadata(&name).map_err(failed)?);
        if project.is_own_data(&metadata.identity) {
            return Err(Error::OwnData { path: inner });
        }
        let kind = metadata.kind;
        add(entries, asked, inner.clone(), kind)?;
        if kind == Kind::Folder {
            let below = folder.open_dir_nofollow(&name).map_err(failed)?;
            gather_below(project, &below, &inner, asked, entries, cancel)?;
        }
    }
    Ok(())
}

/// The pre-image of a folder that comes or goes.
fn folder_image(path: VPath, before: There, after: There) -> PreImage {
    PreImage {
        path,
        before,
        after,
        kept: Kept::Absent,
        left: None,
        made_folders: 0,
        mode: None,
    }
}

/// Makes a folder; `false` if somebody else has made it since.
type Make<'m> = dyn FnMut() -> Result<bool, Error> + 'm;

/// Makes the folders that are missing below a place, each by what `each` is given with its path, and gives the last one.
fn make_folders(
    place: &Place,
    names: &[OsString],
    each: &mut dyn FnMut(&VPath, &mut Make<'_>) -> Result<(), Error>,
) -> Result<Dir, Error> {
    let path = place.path();
    let failed = |source| Error::from_io(&path, source);
    let mut folder = place.folder.try_clone().map_err(failed)?;
    let mut inner = place.folder_path.clone();
    for name in names {
        inner = inner.child(name);
        each(&inner, &mut || match folder.create_dir(name) {
            Ok(()) => Ok(true),
            // Made by someone else since: as good, unless it is no folder, which opening it tells.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(failed(error)),
        })?;
        sync_folder(&folder, &path)?;
        folder = folder.open_dir_nofollow(name).map_err(failed)?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests;
