//! Making a planned change: complete and durable, or not at all.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Seek as _, Write};

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, OpenOptions};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::attributes::{self, Keeping};
use crate::change::{Applied, Before, Mark, Planned, temporary_name};
use crate::exchange::{self, Exchanged, Held};
use crate::hard_links::Names;
use crate::in_place::{self, Journal};
use crate::preimage::PreImage;
use crate::project::{Project, open_leaf};
use crate::resolve::{Place, Target, locate};
use crate::stat::{CHUNK_BYTES, Metadata};
use crate::{Error, Hash, Kind, VPath, Witness, step};

/// How often what is written into a file that is open elsewhere is taken over while it is replaced.
const MAX_WRITES: usize = 100;

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
    /// is replaced as a whole by a synced copy with the same mode, owner and extended attributes. A file whose several
    /// names are all in the project, or whose owner cannot be kept, is written in place instead; if the process ends
    /// meanwhile, [`Project::recover`] writes on. One with names elsewhere is parted from them.
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
            self.tidy_up_removal(image, &temporary_name(&image.path, tag))?;
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

    /// Finishes the removal of a file that was moved away for it. If that is not what was to be removed, it goes back.
    fn tidy_up_removal(&self, image: &PreImage, temporary: &str) -> Result<(), Error> {
        let path = &image.path;
        let (Some(before), Some(folder), Some(name)) =
            (image.before.hash(), path.parent(), path.native_name())
        else {
            return Ok(());
        };
        let folder = match locate(self, &folder) {
            Ok(place) if place.path() == folder && matches!(place.target, Target::Folder) => place.folder,
            Err(error @ (Error::Denied { .. } | Error::Io { .. })) => return Err(error),
            Ok(_) | Err(_) => return Ok(()),
        };
        let names = exchange::Names {
            folder: &folder,
            name: &name,
            temporary,
            path,
        };
        match folder.symlink_metadata(temporary) {
            Ok(left) if left.is_file() => {}
            _ => return Ok(()),
        }
        if names.held(temporary.as_ref())?.hash == Some(before) {
            remove(&folder, temporary, path)?;
        } else {
            names.give_back()?;
        }
        sync_folder(&folder, path)
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
            let now = now.map(|(name, _)| name.to_owned());
            recovery = tidy_up(&place.folder, mark, now.as_deref(), recovery)?;
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
    missing: Vec<OsString>,
    /// Folders that were made for the change, outermost first, each with its parent.
    made: Vec<(Dir, OsString)>,
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
            Target::Folder | Target::Missing { .. } => mark.path.native_name().ok_or_else(changed)?,
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

    fn make_folder(&mut self, name: &OsStr) -> Result<(), Error> {
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
        step::at("begin");
        let current = if self.missing.is_empty() {
            self.verify(&planned.mark.before, cancel)?
        } else {
            None
        };
        step::at("verified");
        // Only if it has the names that it was planned with: another one may be elsewhere.
        if current
            .as_ref()
            .is_some_and(|(_, metadata)| planned.names == Names::Inside(metadata.links))
        {
            return self.write_in_place(planned, witness, cancel);
        }
        // First of all: whoever finds a temporary file or a folder that a crash left knows from this whose it is.
        witness.keep(planned.pre_image())?;
        self.make_folders()?;
        let mut temporary = self.create_temporary(current.is_some())?;
        let filled = self.fill(
            &mut temporary,
            planned.new_content(),
            current.as_ref(),
            planned.mode,
            cancel,
        );
        match filled {
            Ok(Keeping::All) => self.put(planned, current, temporary, witness),
            Ok(Keeping::NotOwner) => {
                self.remove_temporary();
                self.write_in_place(planned, witness, cancel)
            }
            Err(error) => {
                self.remove_temporary();
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
                let size_differs = metadata.identity.size != identity.size;
                if size_differs || Hash::of_file(&mut file, &self.path, cancel)? != hash {
                    return Err(self.changed());
                }
                Ok(Some((file, metadata)))
            }
        }
    }

    /// For a file of ours only: with it goes what nobody else has. One that is left behind is found by `recover`.
    fn remove_temporary(&self) {
        let _ = self.folder.remove_file(&self.temporary);
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

    /// Writes the temporary file, to the device.
    fn fill(
        &self,
        temporary: &mut fs::File,
        content: impl Iterator<Item = impl AsRef<[u8]>>,
        current: Option<&(fs::File, Metadata)>,
        mode: Option<u32>,
        cancel: &CancellationToken,
    ) -> Result<Keeping, Error> {
        if let Some((file, _)) = current {
            let keeping = attributes::keep(file, temporary).map_err(|source| self.failed(source))?;
            if keeping == Keeping::NotOwner {
                return Ok(keeping);
            }
        }
        write_pieces(temporary, content, &self.path, cancel)?;
        attributes::give_mode(temporary, mode).map_err(|source| self.failed(source))?;
        temporary.sync_all().map_err(|source| self.failed(source))?;
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        step::at("filled");
        Ok(Keeping::All)
    }

    /// Puts the finished file in place.
    fn put(
        &self,
        planned: &Planned,
        current: Option<(fs::File, Metadata)>,
        temporary: fs::File,
        witness: &mut dyn Witness,
    ) -> Result<Metadata, Error> {
        let held = |metadata, hash| Held {
            metadata,
            hash: Some(hash),
        };
        let metadata = match Metadata::of_file(&temporary) {
            Ok(metadata) => metadata,
            Err(source) => {
                self.remove_temporary();
                return Err(self.failed(source));
            }
        };
        let new = held(metadata, planned.mark.intended);
        let (mut displaced, expected) = match (current, planned.mark.before) {
            (Some((file, metadata)), Before::Present { hash, .. }) => {
                (Some(file), Some(held(metadata, hash)))
            }
            _ => (None, None),
        };
        let names = exchange::Names {
            folder: &self.folder,
            name: &self.name,
            temporary: &self.temporary,
            path: &self.path,
        };
        if names.put(&new, expected.as_ref())? == Exchanged::Changed {
            return Err(self.changed());
        }
        witness.made(&self.path);
        self.sync()?;
        step::at("synced");
        if let Some((file, expected)) = displaced.as_mut().zip(expected) {
            self.take_back_what_was_written(file, expected, new, &names)?;
        }
        // Only now: taking its place may have changed the file's times.
        Metadata::of_file(&temporary).map_err(|source| self.failed(source))
    }

    /// Whoever had opened the file before the exchange may have written into it after it was looked at. It has no name any
    /// more, but it is still open here: what was written gets the name back.
    fn take_back_what_was_written(
        &self,
        file: &mut fs::File,
        mut expected: Held,
        new: Held,
        names: &exchange::Names<'_>,
    ) -> Result<(), Error> {
        let failed = |source| Error::from_io(&self.path, source);
        let never = CancellationToken::new();
        let mut is_changed = false;
        for _ in 0..MAX_WRITES {
            let now = Metadata::of_file(file).map_err(failed)?;
            file.rewind().map_err(failed)?;
            if expected.is(&now, || Hash::of_file(file, &self.path, &never)) {
                return if is_changed { Err(self.changed()) } else { Ok(()) };
            }
            is_changed = true;
            let mut copy = self.create_temporary(true)?;
            file.rewind().map_err(failed)?;
            io::copy(file, &mut copy).map_err(failed)?;
            file.rewind().map_err(failed)?;
            let hash = Some(Hash::of_file(file, &self.path, &never)?);
            attributes::keep(file, &copy).map_err(failed)?;
            copy.sync_all().map_err(failed)?;
            names.put_back(new.clone())?;
            self.sync()?;
            expected = Held { metadata: now, hash };
        }
        Err(self.changed())
    }

    /// Writes the content into the file that is there, with both contents in a journal beside it until it is done. After a
    /// failure the old content is written back.
    fn write_in_place(
        &self,
        planned: &Planned,
        witness: &mut dyn Witness,
        cancel: &CancellationToken,
    ) -> Result<Metadata, Error> {
        witness.keep(planned.pre_image())?;
        let new = planned.new_content().collect::<Vec<_>>().concat();
        let journal = Journal::new(planned.old.clone(), new);
        let (mut file, opened) = match self.ready_in_place(planned, &journal, cancel) {
            Ok(ready) => ready,
            Err(error) => {
                self.remove_temporary();
                return Err(error);
            }
        };
        let written = match journal.write(&mut file) {
            // Somebody has saved by another file: that one is theirs, and the names of this one keep what they had.
            Ok(()) if !self.is_at_name(&opened) => Err(self.changed()),
            Ok(()) => Ok(()),
            Err(error) => Err(self.failed(error)),
        };
        if let Err(error) = written {
            if let Err(error) = journal.write_back(&mut file) {
                // Whoever recovers finds the journal and writes on.
                witness.made(&self.path);
                return Err(self.failed(error));
            }
            self.remove_temporary();
            return Err(error);
        }
        witness.made(&self.path);
        self.remove_temporary();
        Metadata::of_file(&file).map_err(|source| self.failed(source))
    }

    /// Brings the journal to the device and opens the file, if it still is what the change was planned for.
    fn ready_in_place(
        &self,
        planned: &Planned,
        journal: &Journal,
        cancel: &CancellationToken,
    ) -> Result<(fs::File, Metadata), Error> {
        let mut temporary = self.create_temporary(true)?;
        self.fill(&mut temporary, journal.pieces().into_iter(), None, None, cancel)?;
        sync_folder(&self.folder, &self.path)?;
        step::at("journal");
        let (mut file, opened) = in_place::open(&self.folder, &self.name, &self.path)?;
        // By the handle that is written, and right before: what somebody saves into the same file from now on is not seen.
        let found = Hash::of_file(&mut file, &self.path, cancel)?;
        let is_as_planned = matches!(planned.mark.before, Before::Present { hash, .. } if hash == found);
        // A name that came in the meantime may be elsewhere.
        let has_its_names = opened.links <= 1 || planned.names == Names::Inside(opened.links);
        if is_as_planned && has_its_names {
            Ok((file, opened))
        } else {
            Err(self.changed())
        }
    }

    /// Whether the name still stands for a file.
    fn is_at_name(&self, file: &Metadata) -> bool {
        let now = self.folder.symlink_metadata(&self.name);
        now.map(|now| Metadata::of(&now).identity)
            .is_ok_and(|now| (now.dev, now.ino) == (file.identity.dev, file.identity.ino))
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

/// Removes what a change that was cut short has left under its temporary name, and finishes or undoes what that tells of.
fn tidy_up(
    folder: &Dir,
    mark: &Interrupted<'_>,
    name: Option<&OsStr>,
    found: Recovery,
) -> Result<Recovery, Error> {
    let failed = |error| Error::from_io(mark.path, error);
    let (mut left, _) = open_leaf(folder, mark.temporary, mark.path)?;
    let journal = match mark.before {
        Some(before) => Journal::read(&mut left, before, mark.intended).map_err(failed)?,
        None => None,
    };
    let mut recovery = found;
    if let Some(journal) = journal {
        if let (Recovery::Neither, Some(name)) = (found, name) {
            let (mut file, _) = in_place::open(folder, name, mark.path)?;
            if journal.is_what_is_left_in(&mut file).map_err(failed)? {
                journal.write(&mut file).map_err(failed)?;
                recovery = Recovery::Applied;
            }
        }
    } else if let (Recovery::Applied, Some(name), Some(before)) = (found, name, mark.before) {
        let names = exchange::Names {
            folder,
            name,
            temporary: mark.temporary,
            path: mark.path,
        };
        let displaced = names.held(mark.temporary.as_ref())?;
        if displaced.hash != Some(before) && displaced.hash != Some(mark.intended) {
            // Another program's content was exchanged with ours in the last moment: it goes back.
            let ours = names.held(name)?;
            names.put_back(ours)?;
            return Ok(Recovery::Neither);
        }
    }
    remove(folder, mark.temporary, mark.path)?;
    Ok(recovery)
}

fn write_pieces(
    file: &mut fs::File,
    pieces: impl Iterator<Item = impl AsRef<[u8]>>,
    path: &VPath,
    cancel: &CancellationToken,
) -> Result<(), Error> {
    for piece in pieces {
        let piece = piece.as_ref();
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
mod meanwhile;
#[cfg(test)]
mod tests;
