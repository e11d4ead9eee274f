//! Opening a store: in which nothing that was stored is ever changed or deleted because it cannot be read.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, RwLock};
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc;

use super::acknowledged::Acknowledged;
use super::blobs::Blobs;
use super::committer::{Committer, QUEUE_BATCHES, Request, is_named};
use super::header::{Header, Schema};
use super::original::Original;
use super::recent::Recent;
use super::reserve::Reserve;
use super::snapshot::{Undo, database_failure};
use super::sum::Sum;
use super::{Database, Shared, SledOptions, SledStore, acknowledged, files, header, layout, set_aside};
use crate::{Error, Revision};

/// How often a lock is tried that may be free in a moment: sled's own of a database just closed in this process, and ours
/// of a process that is gone.
const LOCK_TRIES: u32 = 100;

/// The wait between two tries.
const LOCK_WAIT: Duration = Duration::from_millis(20);

/// How often sled's background thread writes what is lazy and takes back space, in milliseconds. Only that
/// thread takes space back: with longer waits the files grow to several times their content.
const BACKGROUND_MILLISECONDS: u64 = 50;

/// A database of at most this many bytes is read once when it is opened; for a larger one that takes too long, and its pages stay in memory.
const MOST_READ_THROUGH: u64 = 16 * 1024 * 1024;

pub(super) fn open(folder: &Path, options: &SledOptions) -> Result<SledStore, Error> {
    let (committer, requests) = prepare(folder, options)?;
    start(committer, requests)
}

/// Refuses to take a store for damaged where it may be the system that fails: sled panics where it can have no thread, and
/// takes an end that it cannot read for the end.
pub(super) fn check_system(folder: &Path) -> Result<(), Error> {
    thread::Builder::new()
        .spawn(|| ())
        .map_err(|error| Error::file("start a thread for", folder, error))?
        .join()
        .map_err(|_| Error::file("start a thread for", folder, io::Error::other("it ended")))?;
    let database = folder.join("db");
    let list = |error| Error::file("list the folder", &database, error);
    let entries = match fs::read_dir(&database) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(list)?,
    };
    for entry in entries {
        let path = entry.map_err(list)?.path();
        if path.is_file() {
            let read = File::open(&path).and_then(|mut file| io::copy(&mut file, &mut io::sink()));
            read.map_err(|error| Error::file("read the file", &path, error))?;
        }
    }
    Ok(())
}

/// Starts the committing thread.
pub(super) fn start(committer: Committer, requests: mpsc::Sender<Request>) -> Result<SledStore, Error> {
    let shared = Arc::clone(&committer.shared);
    let thread = thread::Builder::new()
        .name("store".to_owned())
        .spawn(move || committer.run());
    let thread =
        thread.map_err(|error| Error::file("start the committing thread of", &shared.folder, error))?;
    Ok(SledStore {
        shared,
        requests: Some(requests),
        committer: Some(thread),
    })
}

/// Opens everything, and leaves starting the thread.
pub(super) fn prepare(
    folder: &Path,
    options: &SledOptions,
) -> Result<(Committer, mpsc::Sender<Request>), Error> {
    let lock = lock_folder(folder)?;
    Ok(load(folder, options)?.locked(folder, lock))
}

/// Makes the folder if need be, and takes its lock.
pub(super) fn lock_folder(folder: &Path) -> Result<File, Error> {
    let mut tries = 0;
    loop {
        let lock = {
            let _alone = set_aside::alone(folder)?;
            set_aside::finish(folder)?;
            files::create_folder(folder).map_err(|error| Error::file("create the folder", folder, error))?;
            open_lock(folder)?
        };
        let lock = take_lock(folder, lock)?;
        tries += 1;
        if files::is_at(&lock, &folder.join("lock")) {
            return Ok(lock);
        }
        // The folder was set aside while its lock was waited for.
        if tries == LOCK_TRIES {
            return Err(Error::Busy {
                folder: folder.to_owned(),
            });
        }
    }
}

/// What is in the folder of a store, which is locked.
pub(super) struct Loaded {
    pub(super) database: Database,
    pub(super) blobs: Blobs,
    reserve: Reserve,
    pub(super) device: File,
    schema: Schema,
    pub(super) revision: Revision,
    pub(super) sum: Option<Sum>,
    pub(super) acknowledged: Acknowledged,
    header_revision: Revision,
    /// See [`set_aside::NOTE`].
    note: Option<String>,
}

impl Loaded {
    pub(super) fn locked(self, folder: &Path, lock: File) -> (Committer, mpsc::Sender<Request>) {
        let shared = Arc::new(Shared {
            database: self.database,
            blobs: self.blobs,
            reserve: self.reserve,
            undo: RwLock::new(Undo::new()),
            recent: Recent::new(),
            reading: RwLock::new(()),
            folder: folder.to_owned(),
            epoch: self.schema.epoch(),
            note: self.note,
            _lock: lock,
        });
        let (sender, requests) = mpsc::channel(QUEUE_BATCHES);
        let committer = Committer {
            shared,
            requests,
            device: self.device,
            schema: self.schema,
            revision: self.revision,
            sum: self.sum,
            acknowledged: self.acknowledged,
            header_revision: self.header_revision,
            stopped: None,
            unnamed: Vec::new(),
            unflushed: false,
        };
        (committer, sender)
    }
}

/// Reads the store. One that is damaged is left as it was found.
pub(super) fn load(folder: &Path, options: &SledOptions) -> Result<Loaded, Error> {
    load_once(folder, options).0
}

/// The same, before a damaged store is given up.
pub(super) fn load_for_certain(folder: &Path, options: &SledOptions) -> Result<Loaded, Error> {
    if_not_twice(folder, || load_once(folder, options))
}

/// Reads the store, and gives whether its database is as it was found, as far as a copy of it tells.
fn load_once(folder: &Path, options: &SledOptions) -> (Result<Loaded, Error>, bool) {
    let header = match header_with_content(folder) {
        Ok(header) => header,
        Err(error) => return (Err(error), false),
    };
    let original = Original::of(folder);
    let loaded = load_database(folder, header.as_ref(), options);
    let is_as_it_was = match (&original, &loaded) {
        (None, _) => false,
        // Nobody has written.
        (Some(original), Ok(_) | Err(Error::Busy { .. })) => {
            original.remove();
            true
        }
        (Some(original), Err(_)) => original.put_back(),
    };
    (loaded, is_as_it_was)
}

/// The header of a store, whose database is where it was.
fn header_with_content(folder: &Path) -> Result<Option<Header>, Error> {
    let header = Header::read(folder)?;
    let database = folder.join("db");
    Original::finish(folder).map_err(|error| Error::file("put back the database", &database, error))?;
    if header.is_some() {
        let content = database.join("db");
        let is_there = content.try_exists();
        if !is_there.map_err(|error| Error::file("look for the file", &content, error))? {
            // sled would make another one.
            return Err(Error::damaged(&database, "its content is gone"));
        }
    }
    Ok(header)
}

/// Whether a store was ever whole, so that somebody may know of something in it: its header comes before its first commit.
pub(super) fn was_made(folder: &Path) -> Result<bool, Error> {
    let bytes = |name: &str| {
        let path = folder.join(name);
        match fs::metadata(&path) {
            Ok(metadata) => Ok(Some(metadata.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::file("look at the file", &path, error)),
        }
    };
    Ok(bytes(header::NAME)?.is_some() || bytes(acknowledged::NAME)?.is_some_and(|bytes| bytes > 0))
}

/// Loads what seems to be damaged once more if it is as it was: the system may have failed to read it, for a moment, and
/// the database takes that for damage.
fn if_not_twice<T>(folder: &Path, mut load: impl FnMut() -> (Result<T, Error>, bool)) -> Result<T, Error> {
    match load() {
        (Err(Error::Damaged { .. }), true) => {
            check_system(folder)?;
            load().0
        }
        (loaded, _) => loaded,
    }
}

fn load_database(folder: &Path, header: Option<&Header>, options: &SledOptions) -> Result<Loaded, Error> {
    let file_error = |action, path: &Path| {
        let path = path.to_owned();
        move |error| Error::file(action, &path, error)
    };
    // Before the database: if the disk is full, the reserve gives it the room it needs to open.
    let reserve = Reserve::new(folder);
    let path = folder.join("db");
    if header.is_none() {
        reserve.make_room_for_creation()?;
        remove_half_settings(&path)?;
    }
    let database = open_database(&path, options)?;
    let tree = database.tree();
    let device = File::options().write(true).open(path.join("db"));
    let device = device.map_err(file_error("open the file", &path))?;

    let length = device
        .metadata()
        .map_err(file_error("look at the file", &path))?
        .len();
    let counted = if length <= MOST_READ_THROUGH {
        Some(read_through(tree, &path)?)
    } else {
        None
    };

    let (schema, revision) = match (read_schema(tree, &path)?, header) {
        (Some(schema), _) => {
            schema.check()?;
            let revision = read_revision(tree, &path)?;
            let header_revision = header.map_or(Revision(0), |header| Revision(header.revision));
            if revision < header_revision {
                return Err(ends_early(&path, revision, header_revision));
            }
            (schema, revision)
        }
        (None, Some(_)) => return Err(Error::damaged(&path, "its content is gone")),
        (None, None) if !tree.is_empty() => return Err(Error::damaged(&path, "it does not say what it is")),
        (None, None) => (create(&path, tree)?, Revision(0)),
    };
    let (acknowledged, noted) = Acknowledged::open(folder, &schema);
    if revision < noted {
        return Err(ends_early(&path, revision, noted));
    }
    let sum = match (read_sum(tree, &path, revision)?, counted) {
        (Some(noted), Some(counted)) if noted != counted => {
            return Err(Error::damaged(&path, "some of its rows are gone"));
        }
        (Some(noted), _) => Some(noted),
        // The version that wrote last kept none.
        (None, counted) => counted,
    };
    let blobs = Blobs::open(folder)?;
    settle(folder, &path, &device, header.is_some()).map_err(file_error("sync the database", &path))?;
    let header_revision = match header {
        Some(header) => Revision(header.revision),
        None => {
            Header {
                schema: schema.clone(),
                revision: revision.0,
            }
            .write(folder)?;
            revision
        }
    };

    blobs.sweep(|hash| {
        is_named(tree, hash).map_err(|error| database_failure("read the database", &path, error))
    })?;
    // Now that the database has what it needs.
    reserve.room();

    Ok(Loaded {
        database,
        blobs,
        reserve,
        device,
        schema,
        revision,
        sum,
        acknowledged,
        header_revision,
        note: fs::read_to_string(folder.join(set_aside::NOTE))
            .ok()
            .filter(|note| !note.is_empty()),
    })
}

/// Reads every page once, so that one which cannot be read is told before anything has begun, and gives the sum over all
/// rows.
fn read_through(tree: &sled::Tree, path: &Path) -> Result<Sum, Error> {
    // sled panics on some damages.
    let read = catch_unwind(AssertUnwindSafe(|| {
        let mut sum = Sum::default();
        for row in tree.iter() {
            let (key, row) = row?;
            if Sum::counts(&key) {
                sum.add(&key, &row);
            }
        }
        Ok(sum)
    }));
    match read {
        Ok(read) => read.map_err(|error| database_failure("read the database", path, error)),
        Err(_) => Err(Error::damaged(path, "the database panicked on it")),
    }
}

/// A database that has lost commits which were acknowledged.
fn ends_early(path: &Path, revision: Revision, acknowledged: Revision) -> Error {
    let detail = format!("it ends at commit {} of {}", revision.0, acknowledged.0);
    Error::damaged(path, detail)
}

pub(super) fn open_lock(folder: &Path) -> Result<File, Error> {
    let path = folder.join("lock");
    files::open_private(&path, false).map_err(|error| Error::file("open the lock", &path, error))
}

pub(super) fn take_lock(folder: &Path, mut lock: File) -> Result<File, Error> {
    let path = folder.join("lock");
    let mut tries = 0;
    loop {
        tries += 1;
        match lock.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if tries < LOCK_TRIES && !is_of_another(&path) => {
                thread::sleep(LOCK_WAIT);
            }
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Busy {
                    folder: folder.to_owned(),
                });
            }
            Err(TryLockError::Error(error)) => return Err(Error::file("take the lock", &path, error)),
        }
    }
    // For whoever wants to know; on a full disk it may stay empty.
    let _ = lock
        .set_len(0)
        .and_then(|()| writeln!(lock, "{}", std::process::id()));
    Ok(lock)
}

/// Whether the process that a lock names is there, and another one. Who was killed while it started a process may hold
/// its lock a moment longer: that process has it until it runs its own program.
fn is_of_another(lock: &Path) -> bool {
    named(lock).is_some_and(|process| process != std::process::id() && is_alive(process))
}

/// The process that a lock names.
fn named(lock: &Path) -> Option<u32> {
    fs::read_to_string(lock).ok()?.trim().parse().ok()
}

/// See [`SledStore::holder`](super::SledStore::holder).
pub(super) fn holder(folder: &Path) -> Option<u32> {
    let path = folder.join("lock");
    let process = named(&path)?;
    // The lock is looked at by trying it, in which somebody who opens the store would be in the way: not where it is
    // clear already that nobody holds it.
    if !is_alive(process) {
        return None;
    }
    match File::open(&path).ok()?.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(process),
        Ok(()) | Err(TryLockError::Error(_)) => None,
    }
}

/// Whether there is a process of this number.
#[cfg(unix)]
fn is_alive(process: u32) -> bool {
    let process = i32::try_from(process)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    let found = process.map(rustix::process::test_kill_process);
    // One of another user is there, too.
    found.is_some_and(|found| !matches!(found, Err(error) if error != rustix::io::Errno::PERM))
}

/// Whether there is a process of this number: there may be.
#[cfg(not(unix))]
fn is_alive(_process: u32) -> bool {
    true
}

pub(super) fn open_database(path: &Path, options: &SledOptions) -> Result<Database, Error> {
    let config = || {
        sled::Config::new()
            .path(path)
            .cache_capacity(options.cache_bytes)
            .flush_every_ms(Some(BACKGROUND_MILLISECONDS))
    };
    remove_half_snapshots(path)?;
    let mut tries = 0;
    let opened = loop {
        // sled panics on some damages.
        let opened = catch_unwind(AssertUnwindSafe(|| config().open()))
            .map_err(|_| Error::damaged(path, "the database panicked on it"))?;
        tries += 1;
        match opened {
            Err(sled::Error::Io(error)) if is_lock_failure(&error) && tries < LOCK_TRIES => {
                thread::sleep(LOCK_WAIT);
            }
            opened => break opened,
        }
    };
    let database = opened.map_err(|error| match error {
        sled::Error::Io(error) if is_lock_failure(&error) => Error::Busy {
            folder: path.to_owned(),
        },
        sled::Error::Io(error) => Error::file("open the database", path, error),
        // Damaged settings among them: sled takes those for another version's.
        other => Error::damaged(path, other.to_string()),
    })?;
    for created in [path, &path.join("db"), &path.join("conf"), &path.join("blobs")] {
        files::make_private(created);
    }
    Ok(Database(Some(database)))
}

/// Removes snapshots whose writing was cut short: sled takes them for whole ones, and itself for corrupt. It
/// writes one each time it opens, and does not need them.
fn remove_half_snapshots(path: &Path) -> Result<(), Error> {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::file("list the folder", path, error)),
    };
    for entry in entries {
        let file = entry
            .map_err(|error| Error::file("list the folder", path, error))?
            .path();
        if file
            .extension()
            .is_some_and(|extension| extension == "generating")
        {
            tracing::warn!(path = %file.display(), "a snapshot was cut short; it is written anew");
            fs::remove_file(&file).map_err(|error| Error::file("remove the file", &file, error))?;
        }
    }
    Ok(())
}

/// Removes settings of a database that was never made: sled writes them first, in two parts, and takes one part for
/// a corrupt database.
fn remove_half_settings(path: &Path) -> Result<(), Error> {
    let (database, settings) = (path.join("db"), path.join("conf"));
    let found = database.try_exists();
    if found.map_err(|error| Error::file("look for the file", &database, error))? {
        return Ok(());
    }
    match fs::remove_file(&settings) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::file("remove the file", &settings, error))
        }
        _ => Ok(()),
    }
}

/// sled has no error of its own for it.
fn is_lock_failure(error: &io::Error) -> bool {
    error.to_string().contains("could not acquire lock")
}

pub(super) fn read_schema(tree: &sled::Tree, path: &Path) -> Result<Option<Schema>, Error> {
    let row = tree.get(layout::SCHEMA_KEY);
    let row = row.map_err(|error| database_failure("read the database", path, error))?;
    let schema = row.map(|row| serde_json::from_slice(&row)).transpose();
    schema.map_err(|error| Error::damaged(path, error.to_string()))
}

pub(super) fn read_revision(tree: &sled::Tree, path: &Path) -> Result<Revision, Error> {
    let row = tree.get(layout::REVISION_KEY);
    let row = row.map_err(|error| database_failure("read the database", path, error))?;
    match row {
        Some(row) => match layout::number(&row) {
            Some(revision) => Ok(Revision(revision)),
            None => Err(Error::damaged(path, "the last revision is no number")),
        },
        None => Ok(Revision(0)),
    }
}

/// The sum that was written with the last commit, if one was.
fn read_sum(tree: &sled::Tree, path: &Path, revision: Revision) -> Result<Option<Sum>, Error> {
    let row = tree.get(layout::SUM_KEY);
    let row = row.map_err(|error| database_failure("read the database", path, error))?;
    Ok(row.and_then(|row| Sum::decode(&row, revision)))
}

/// Makes an empty store of an empty database.
fn create(path: &Path, tree: &sled::Tree) -> Result<Schema, Error> {
    let schema = Schema::created();
    let row = serde_json::to_vec(&schema)
        .map_err(|error| Error::file("describe the database", path, io::Error::other(error)))?;
    tree.insert(layout::SCHEMA_KEY, row)
        .and_then(|_| tree.flush())
        .map_err(|error| database_failure("create the database", path, error))?;
    Ok(schema)
}

/// Waits until everything that was found is on the device: a run that was killed may have left it, and what is told from
/// now on follows from it. A store has its header when all of it was there once.
fn settle(folder: &Path, path: &Path, device: &File, has_header: bool) -> io::Result<()> {
    device.sync_all()?;
    if !has_header {
        // sled does not sync its settings, and cannot be opened with damaged ones.
        let settings = File::options().write(true).open(path.join("conf"))?;
        settings.sync_all()?;
        files::sync_folder(path)?;
        files::sync_parent(folder)?;
    }
    files::sync_folder(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_for_a_moment_is_no_damage() {
        let folder = tempfile::tempdir().unwrap();
        let damaged = || Err(Error::damaged(folder.path(), "it cannot be read"));
        let busy = || {
            Err(Error::Busy {
                folder: folder.path().to_owned(),
            })
        };
        type Loads<'l> = [(&'l str, Vec<(Result<u32, Error>, bool)>, usize, bool); 5];
        let table: Loads<'_> = [
            ("a good one", vec![(Ok(1), true)], 1, true),
            ("a moment", vec![(damaged(), true), (Ok(1), true)], 2, true),
            ("damage", vec![(damaged(), true), (damaged(), true)], 2, false),
            ("it was changed meanwhile", vec![(damaged(), false)], 1, false),
            ("of another process", vec![(busy(), true)], 1, false),
        ];
        for (name, loads, expected, is_loaded) in table {
            let (mut loads, mut count) = (loads.into_iter(), 0);
            let loaded = if_not_twice(folder.path(), || {
                count += 1;
                loads.next().unwrap()
            });
            assert_eq!((count, loaded.is_ok()), (expected, is_loaded), "{name}");
        }
    }
}
