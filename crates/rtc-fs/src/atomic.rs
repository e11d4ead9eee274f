//! Making a planned change: complete and durable, or not at all.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Seek, SeekFrom, Write};

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, OpenOptions};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::attributes::{self, Keeping};
use crate::change::{Applied, Before, Mark, Planned, temporary_name};
use crate::exchange::{self, Exchanged};
use crate::preimage::PreImage;
use crate::project::{Project, open_leaf};
use crate::resolve::{Place, Target, locate};
use crate::stat::{CHUNK_BYTES, Metadata};
use crate::{Error, Hash, Kind, VPath, Witness};

/// Files up to this size are hashed again right before they are replaced; larger ones only if their identity
/// changed. 1 MiB.
///
/// Two writes within one tick of the file system's clock can leave the same identity.
const ALWAYS_HASHED_BYTES: u64 = 1 << 20;

/// What became of a change that was interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// It is made.
    Applied,
    /// It is not made; the file is as before.
    NotApplied,
    /// The file is neither as before nor as intended.
    Neither,
}

impl Project {
    /// Makes a planned change.
    ///
    /// `witness` is given what an undo needs, before anything visible changes; its error ends the change. The file
    /// is replaced as a whole by a synced copy with the same mode, owner and extended attributes. A file that
    /// has several names, or whose owner cannot be kept, is written in place instead.
    ///
    /// # Errors
    /// [`Error::ChangedSince`] if the file is not as it was planned for, [`Error::Full`], [`Error::Denied`],
    /// [`Error::Cancelled`], the error of `witness`. After each the file is as it was, and nothing is left behind,
    /// unless the change was told as made.
    pub fn apply(
        &self,
        planned: Planned,
        witness: &mut dyn Witness,
        cancel: &CancellationToken,
    ) -> Result<Applied, Error> {
        let mut site = Site::open(self, &planned.mark)?;
        let identity = site.change(&planned, witness, cancel);
        if identity.is_err() {
            site.remove_made_folders();
        }
        identity.map(|metadata| planned.applied(metadata.identity))
    }

    /// Says whether the change of `mark` was made before it was interrupted, and removes its temporary file. What
    /// was found is durable when this returns.
    ///
    /// # Errors
    /// [`Error::Denied`], [`Error::Io`] and [`Error::Cancelled`]; links that appeared meanwhile are
    /// [`Recovery::Neither`].
    pub fn recover(&self, mark: &Mark, cancel: &CancellationToken) -> Result<Recovery, Error> {
        let before = match mark.before {
            Before::Absent => None,
            Before::Present { hash, .. } => Some(hash),
        };
        let interrupted = Interrupted {
            path: &mark.path,
            before,
            intended: mark.intended,
            temporary: &mark.temporary,
        };
        self.recover_interrupted(&interrupted, cancel)
    }

    /// The same for a change without a mark: `image` is what it kept, `tag` what it was planned with.
    ///
    /// # Errors
    /// As [`Project::recover`].
    pub fn recover_kept(
        &self,
        image: &PreImage,
        tag: &str,
        cancel: &CancellationToken,
    ) -> Result<Recovery, Error> {
        let Some(intended) = image.after.hash() else {
            return self.recover_without_content(image, cancel);
        };
        let interrupted = Interrupted {
            path: &image.path,
            before: image.before.hash(),
            intended,
            temporary: &temporary_name(&image.path, tag),
        };
        self.recover_interrupted(&interrupted, cancel)
    }

    fn recover_interrupted(
        &self,
        mark: &Interrupted<'_>,
        cancel: &CancellationToken,
    ) -> Result<Recovery, Error> {
        let place = match locate(self, mark.path) {
            Ok(place) if place.path() == *mark.path => place,
            Err(error @ (Error::Denied { .. } | Error::Io { .. })) => return Err(error),
            Ok(_) | Err(_) => return Ok(Recovery::Neither),
        };
        let hash_of = |name: &OsStr| -> Result<Hash, Error> {
            let (mut file, _) = open_leaf(&place.folder, name, mark.path)?;
            Hash::of_file(&mut file, mark.path, cancel)
        };
        let now = match &place.target {
            Target::Folder => return Ok(Recovery::Neither),
            Target::Missing { .. } => None,
            Target::Leaf { metadata, .. } if metadata.kind != Kind::File => return Ok(Recovery::Neither),
            Target::Leaf { name, .. } => Some((name.as_os_str(), hash_of(name)?)),
        };
        let before = mark.before;
        let mut recovery = match now {
            Some((_, hash)) if hash == mark.intended => Recovery::Applied,
            now if now.map(|(_, hash)| hash) == before => Recovery::NotApplied,
            _ => Recovery::Neither,
        };
        let left = place
            .folder
            .symlink_metadata(mark.temporary)
            .map(|metadata| Metadata::of(&metadata));
        if left.is_ok_and(|left| left.kind == Kind::File) {
            let displaced = hash_of(mark.temporary.as_ref())?;
            let foreign = recovery == Recovery::Applied && before.is_some_and(|hash| hash != displaced);
            match now {
                // Another program's content was exchanged with ours in the last moment: it goes back.
                Some((name, _)) if foreign && displaced != mark.intended => {
                    place
                        .folder
                        .rename(mark.temporary, &place.folder, name)
                        .map_err(|e| Error::from_io(mark.path, e))?;
                    recovery = Recovery::Neither;
                }
                _ => remove(&place.folder, mark.temporary, mark.path)?,
            }
            sync_folder(&place.folder, mark.path)?;
        }
        match recovery {
            Recovery::Applied => self.sync_applied(&place, mark)?,
            // Folders may have been made for it already.
            Recovery::NotApplied if mark.before.is_none() => self.sync_folders(mark.path)?,
            Recovery::NotApplied | Recovery::Neither => {}
        }
        Ok(recovery)
    }

    /// Whoever made the change may have ended before it was on the device.
    fn sync_applied(&self, place: &Place, mark: &Interrupted<'_>) -> Result<(), Error> {
        // Elsewhere only a file that is open for writing can be synced.
        if cfg!(unix)
            && let Target::Leaf { name, .. } = &place.target
        {
            let (file, _) = open_leaf(&place.folder, name, mark.path)?;
            file.sync_all()
                .map_err(|source| Error::from_io(mark.path, source))?;
        }
        match mark.before {
            None => self.sync_folders(mark.path),
            Some(_) => sync_folder(&place.folder, mark.path),
        }
    }

    /// Syncs the folders on the way to a path, as far as they are there.
    fn sync_folders(&self, path: &VPath) -> Result<(), Error> {
        path.ancestors()
            .try_for_each(|folder| match locate(self, &folder) {
                Ok(Place {
                    folder,
                    target: Target::Folder,
                    ..
                }) => sync_folder(&folder, path),
                Ok(_) | Err(_) => Ok(()),
            })
    }
}

/// A change that may have been cut short.
struct Interrupted<'a> {
    path: &'a VPath,
    /// Hash of the content before; `None` if there was no file.
    before: Option<Hash>,
    intended: Hash,
    temporary: &'a str,
}

/// The folder in which a change is made.
struct Site {
    /// As long as some are missing, the innermost that is there.
    folder: Dir,
    name: OsString,
    path: VPath,
    temporary: String,
    /// Folders that are missing on the way, outermost first.
    missing: Vec<String>,
    /// Folders that were made for the change, outermost first, each with its parent.
    made: Vec<(Dir, String)>,
}

impl Site {
    /// Finds the folder of the change again.
    fn open(project: &Project, mark: &Mark) -> Result<Self, Error> {
        let changed = || Error::ChangedSince {
            path: mark.path.clone(),
        };
        let place = locate(project, &mark.path).map_err(|error| match error {
            Error::Denied { .. } | Error::Io { .. } => error,
            _ => changed(),
        })?;
        // A link on the way would mean another place than the one that was permitted.
        if place.path() != mark.path {
            return Err(changed());
        }
        let name = match &place.target {
            Target::Leaf { name, .. } => name.clone(),
            Target::Folder | Target::Missing { .. } => mark.path.file_name().ok_or_else(changed)?.into(),
        };
        let missing = match (&place.target, mark.before) {
            (Target::Missing { names }, Before::Absent) => &names[..names.len() - 1],
            (Target::Leaf { .. }, Before::Present { .. }) => &[],
            _ => return Err(changed()),
        };
        let missing = missing.to_vec();
        Ok(Self {
            folder: place.folder,
            name,
            path: mark.path.clone(),
            temporary: mark.temporary.clone(),
            missing,
            made: Vec::new(),
        })
    }

    /// Makes the folders that are missing.
    fn make_folders(&mut self) -> Result<(), Error> {
        let missing = std::mem::take(&mut self.missing);
        missing.iter().try_for_each(|name| self.make_folder(name))
    }

    fn make_folder(&mut self, name: &str) -> Result<(), Error> {
        let failed = |source| Error::from_io(&self.path, source);
        match self.folder.create_dir(name) {
            Ok(()) => {}
            // Made by someone else since: as good, unless it is no folder.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.folder = self.folder.open_dir_nofollow(name).map_err(failed)?;
                return Ok(());
            }
            Err(error) => return Err(failed(error)),
        }
        let inner = self.folder.open_dir_nofollow(name).map_err(failed)?;
        let outer = std::mem::replace(&mut self.folder, inner);
        self.made.push((outer, name.to_owned()));
        Ok(())
    }

    /// Undoes [`Site::make_folder`]; a folder that something else was put in stays.
    fn remove_made_folders(&mut self) {
        while let Some((outer, name)) = self.made.pop() {
            if outer.remove_dir(name).is_err() {
                return;
            }
        }
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::from_io(&self.path, source)
    }

    fn changed(&self) -> Error {
        Error::ChangedSince {
            path: self.path.clone(),
        }
    }

    fn change(
        &mut self,
        planned: &Planned,
        witness: &mut dyn Witness,
        cancel: &CancellationToken,
    ) -> Result<Metadata, Error> {
        let current = if self.missing.is_empty() {
            self.verify(&planned.mark.before, cancel)?
        } else {
            None
        };
        if current.as_ref().is_some_and(|(_, metadata)| metadata.links > 1) {
            return self.write_in_place(planned, witness, cancel);
        }
        // First of all: whoever finds a temporary file or a folder that a crash left knows from this whose it is.
        witness.keep(planned.pre_image())?;
        self.make_folders()?;
        let mut temporary = self.create_temporary(current.is_some())?;
        let result = self.replace(planned, current, &mut temporary, witness, cancel);
        drop(temporary);
        match result {
            Ok(Some(metadata)) => Ok(metadata),
            Ok(None) => {
                remove(&self.folder, &self.temporary, &self.path)?;
                self.write_in_place(planned, witness, cancel)
            }
            Err(error) => {
                // The reason for the failure is what matters; a file left behind is found by `recover`.
                let _ = self.folder.remove_file(&self.temporary);
                Err(error)
            }
        }
    }

    /// The file as it is, if it still is what the change was planned for.
    fn verify(
        &self,
        before: &Before,
        cancel: &CancellationToken,
    ) -> Result<Option<(fs::File, Metadata)>, Error> {
        match *before {
            Before::Absent => match self.folder.symlink_metadata(&self.name) {
                Ok(_) => Err(self.changed()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(self.failed(error)),
            },
            Before::Present { hash, identity } => {
                let (mut file, metadata) = open_leaf(&self.folder, &self.name, &self.path)?;
                let trusted = metadata.identity == identity && identity.size > ALWAYS_HASHED_BYTES;
                if !trusted {
                    let size_differs = metadata.identity.size != identity.size;
                    if size_differs || Hash::of_file(&mut file, &self.path, cancel)? != hash {
                        return Err(self.changed());
                    }
                }
                Ok(Some((file, metadata)))
            }
        }
    }

    fn create_temporary(&self, private: bool) -> Result<fs::File, Error> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).follow(FollowSymlinks::No);
        #[cfg(unix)]
        if private {
            use cap_std::fs::OpenOptionsExt as _;
            // Until it has the mode of the file that it replaces, nobody else may read it.
            options.mode(0o600);
        }
        #[cfg(not(unix))]
        let _ = private;
        let file = match self.folder.open_with(&self.temporary, &options) {
            // Left behind by a crash of the same change.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                remove(&self.folder, &self.temporary, &self.path)?;
                self.folder.open_with(&self.temporary, &options)
            }
            other => other,
        };
        file.map(cap_std::fs::File::into_std)
            .map_err(|source| self.failed(source))
    }

    /// Writes the temporary file and puts it in place; `None` if that would lose the owner.
    fn replace(
        &self,
        planned: &Planned,
        current: Option<(fs::File, Metadata)>,
        temporary: &mut fs::File,
        witness: &mut dyn Witness,
        cancel: &CancellationToken,
    ) -> Result<Option<Metadata>, Error> {
        if let Some((file, _)) = &current {
            match attributes::keep(file, temporary).map_err(|source| self.failed(source))? {
                Keeping::All => {}
                Keeping::NotOwner => return Ok(None),
            }
        }
        write_pieces(temporary, planned.new_content(), &self.path, cancel)?;
        attributes::give_mode(temporary, planned.mode).map_err(|source| self.failed(source))?;
        temporary.sync_all().map_err(|source| self.failed(source))?;
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let expected = current.map(|(_, metadata)| metadata);
        match exchange::put(&self.folder, &self.temporary, &self.name, expected.as_ref()) {
            Ok(Exchanged::Done) => {}
            Ok(Exchanged::Changed) => return Err(self.changed()),
            Err(error) => return Err(self.failed(error)),
        }
        witness.made(&self.path);
        self.sync()?;
        // Only now: taking its place may have changed the file's times.
        let metadata = Metadata::of_file(temporary).map_err(|source| self.failed(source))?;
        Ok(Some(metadata))
    }

    /// Writes the content into the file that is there. Room is taken first, so that a full disk changes nothing;
    /// after any other failure the old content is written back.
    fn write_in_place(
        &self,
        planned: &Planned,
        witness: &mut dyn Witness,
        cancel: &CancellationToken,
    ) -> Result<Metadata, Error> {
        self.verify(&planned.mark.before, cancel)?;
        let mut options = OpenOptions::new();
        options.write(true).follow(FollowSymlinks::No);
        let mut file = self
            .folder
            .open_with(&self.name, &options)
            .map_err(|source| self.failed(source))?
            .into_std();
        witness.keep(planned.pre_image())?;
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let content = planned.new_content().collect::<Vec<_>>().concat();
        let old = &planned.old;
        let shared = old
            .iter()
            .zip(&content)
            .take_while(|(one, other)| one == other)
            .count();
        let overlap = old.len().min(content.len());
        let grown = file
            .seek(SeekFrom::Start(overlap as u64))
            .and_then(|_| file.write_all(&content[overlap..]));
        let written = grown
            .and_then(|()| file.sync_data())
            .and_then(|()| file.seek(SeekFrom::Start(shared as u64)))
            .and_then(|_| file.write_all(&content[shared..overlap.max(shared)]))
            .and_then(|()| file.set_len(content.len() as u64))
            .and_then(|()| file.sync_all());
        if let Err(error) = written {
            let restored = file
                .seek(SeekFrom::Start(shared as u64))
                .and_then(|_| file.write_all(&old[shared..]))
                .and_then(|()| file.set_len(old.len() as u64))
                .and_then(|()| file.sync_all());
            if restored.is_err() {
                witness.made(&self.path);
            }
            return Err(self.failed(restored.err().unwrap_or(error)));
        }
        witness.made(&self.path);
        Metadata::of_file(&file).map_err(|source| self.failed(source))
    }

    /// Makes the new name durable, and the folders that were made for it.
    fn sync(&self) -> Result<(), Error> {
        sync_folder(&self.folder, &self.path)?;
        self.made
            .iter()
            .rev()
            .try_for_each(|(outer, _)| sync_folder(outer, &self.path))
    }
}

fn write_pieces<'a>(
    file: &mut fs::File,
    pieces: impl Iterator<Item = &'a [u8]>,
    path: &VPath,
    cancel: &CancellationToken,
) -> Result<(), Error> {
    for piece in pieces {
        for chunk in piece.chunks(CHUNK_BYTES) {
            if cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            file.write_all(chunk)
                .map_err(|source| Error::from_io(path, source))?;
        }
    }
    Ok(())
}

fn remove(folder: &Dir, name: &str, path: &VPath) -> Result<(), Error> {
    folder
        .remove_file(name)
        .map_err(|source| Error::from_io(path, source))
}

/// Syncs the names in a folder. Not every file system can, and those that cannot keep names in order anyway.
pub(crate) fn sync_folder(folder: &Dir, path: &VPath) -> Result<(), Error> {
    #[cfg(unix)]
    {
        let mut options = OpenOptions::new();
        options.read(true);
        // The handle that is held may be one that only names the folder.
        let synced = folder.open_with(".", &options).and_then(|file| file.sync_all());
        match synced {
            Err(error)
                if !matches!(
                    error.kind(),
                    io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
                ) =>
            {
                Err(Error::from_io(path, error))
            }
            _ => Ok(()),
        }
    }
    #[cfg(not(unix))]
    {
        let _ = (folder, path);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
