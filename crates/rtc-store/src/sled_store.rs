//! The store on the device, over sled.
//!
//! | in the folder | what it is |
//! |---|---|
//! | `lock` | held while the store is open; contains the process id |
//! | `store.json` | schema, oldest reader, epoch, and the revision at the last clean close ([`header`]) |
//! | `acknowledged` | the revision of the last commit that was flushed ([`acknowledged`]) |
//! | `db/` | the database, one tree ([`layout`]) |
//! | `db.original/` | the database as it was, while it is being opened ([`original`]) |
//! | `set-aside` | what its caller noted when this store took the place of one that was set aside ([`set_aside`]) |
//! | `blobs/ab/cdef…` | values over 64 KiB, by their BLAKE3 hash ([`blobs`]) |
//! | `reserve`, `reserve-opening` | room that is given up when the disk fills ([`reserve`]) |
//!
//! `store.salvage` beside it is the folder of a store in the making that is to take its place.
//!
//! One thread commits ([`committer`]); any thread reads ([`snapshot`]). Reads run on tokio's blocking
//! threads: sled holds back readers while its own thread writes to the disk, and a page that is not cached is
//! read from it. Only what was written or read lately is there at once ([`recent`]).
#![allow(clippy::disallowed_methods)] // This crate is one of those that touch files.

mod acknowledged;
mod blobs;
mod committer;
mod files;
mod group;
mod header;
mod layout;
mod open;
mod original;
mod recent;
mod reserve;
mod salvage;
mod set_aside;
mod snapshot;
mod sum;

use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};

use crate::key::Span;
use crate::{
    Batch, Durability, Entry, Epoch, Error, INLINE_BYTES, Key, Offset, Position, Receipt, Room, Store,
};
use blobs::{Blobs, StagedBlob};
use committer::Request;
use recent::Recent;
use reserve::Reserve;
use snapshot::{Snapshot, Undo, Value};

pub use salvage::Taken;
pub use set_aside::{Mend, SetAside};

/// How a store is opened.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SledOptions {
    /// What sled may use to cache pages, in bytes.
    pub cache_bytes: u64,
}

impl Default for SledOptions {
    fn default() -> Self {
        SledOptions {
            cache_bytes: 32 * 1024 * 1024,
        }
    }
}

/// A [`Store`] in a folder on the device. Its methods have to be called within a tokio runtime.
///
/// Dropping it waits for what is being committed, closes the database and gives up the lock.
#[derive(Debug)]
pub struct SledStore {
    shared: Arc<Shared>,
    /// `None` only while dropping: without a sender the committer ends.
    requests: Option<mpsc::Sender<Request>>,
    committer: Option<JoinHandle<()>>,
}

/// What the committer and the readers share. The fields are dropped in order: the lock goes last.
#[derive(Debug)]
struct Shared {
    database: Database,
    blobs: Blobs,
    reserve: Reserve,
    /// What readers see instead of the rows of the group that is on its way to the device.
    undo: RwLock<Undo>,
    /// Changed only with `undo` locked, for writing by the committer and for reading by readers.
    recent: Recent,
    /// Readers hold it while they resolve blobs; the committer removes blob files only when it gets it at
    /// once.
    reading: RwLock<()>,
    folder: PathBuf,
    epoch: Epoch,
    note: Option<String>,
    _lock: File,
}

/// How long the closing of the database is waited for. What is stored is on the device before.
const CLOSING: Duration = Duration::from_secs(1);

/// The database; closing it never panics, and ends.
#[derive(Debug)]
struct Database(Option<sled::Db>);

impl Database {
    fn tree(&self) -> &sled::Tree {
        self.0
            .as_ref()
            .expect("the database is there until it is dropped")
    }
}

impl Drop for Database {
    /// Waits until it is closed, but not for ever: where sled's background thread has failed on a damage, its closing waits
    /// for that thread and never ends. Then nothing of it runs any more.
    fn drop(&mut self) {
        let Some(database) = self.0.take() else { return };
        let (told, closed) = std::sync::mpsc::channel();
        let closing = std::thread::Builder::new().name("store-closing".to_owned());
        let close = move || {
            let is_closed = catch_unwind(AssertUnwindSafe(|| drop(database))).is_ok();
            // Whoever has stopped waiting is not told.
            let _ = told.send(is_closed);
        };
        // Where no thread can be had, the database goes with the closure, here.
        let closing = catch_unwind(AssertUnwindSafe(|| closing.spawn(close)));
        let is_closed = matches!(closing, Ok(Ok(_))) && closed.recv_timeout(CLOSING).unwrap_or(false);
        if !is_closed {
            tracing::error!("the database failed while it was closed");
        }
    }
}

impl Shared {
    fn snapshot(&self) -> Snapshot<'_> {
        let undo = self.undo.read().unwrap_or_else(PoisonError::into_inner);
        Snapshot::new(self.database.tree(), undo, &self.folder)
    }
}

/// A checked batch on its way to the committer.
#[derive(Debug)]
struct Change {
    requires: Vec<(Key, crate::Expect)>,
    writes: Vec<(Key, Option<Content>)>,
    appends: Vec<(Key, Vec<u8>)>,
    lazy: bool,
    /// What it brings into the database, in bytes.
    bytes: usize,
}

#[derive(Debug)]
enum Content {
    Bytes(Vec<u8>),
    Blob(StagedBlob),
}

impl SledStore {
    /// Opens the store in `folder`, and creates both if need be. It blocks while the database is read.
    ///
    /// # Errors
    /// [`Error::Busy`], [`Error::NewerSchema`], [`Error::Damaged`], [`Error::Full`] if there is no room even
    /// for an empty store, or [`Error::Io`]. In all cases what was stored stays as it was.
    pub fn open(folder: &Path, options: &SledOptions) -> Result<Self, Error> {
        open::open(folder, options)
    }

    /// Opens the store in `folder`. If that cannot be read, another one takes its place, with all values that can still be
    /// read, and the folder is renamed to `aside` as it is. What has become of it is given back, too.
    ///
    /// `mend` is given the new store before it takes that place, to make whole what was taken over, and gives what is to be
    /// noted: [`SledStore::note`] of this and every later opening. If it fails, and not with an error of the system, it is
    /// called once more, with an empty store.
    /// Streams begin anew, in another epoch. Wherever the process ends in between, the next opening
    /// finds the store as it was, or the new one whole.
    ///
    /// The store is locked from beginning to end, so that of two processes one does it. It blocks.
    ///
    /// # Errors
    /// Those of [`SledStore::open`]; [`Error::Damaged`] if the folder cannot be renamed, or another store cannot be made: on a
    /// full disk, for instance.
    /// The folder is then as it was.
    pub fn open_or_set_aside(
        folder: &Path,
        aside: &Path,
        options: &SledOptions,
        mend: Mend<'_>,
    ) -> Result<(Self, Option<SetAside>), Error> {
        set_aside::open(folder, aside, options, mend)
    }

    /// What was noted when this store took the place of one that was set aside.
    pub fn note(&self) -> Option<&str> {
        self.shared.note.as_deref()
    }

    /// The process that has the store in `folder` open, by its number; nothing if none has, or it does not say who it
    /// is. It blocks, for a moment. Where no store was opened there is none, and nothing is made.
    pub fn holder(folder: &Path) -> Option<u32> {
        open::holder(folder)
    }

    /// The folder of the store.
    pub fn folder(&self) -> &Path {
        &self.shared.folder
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        // Weak, so that a read nobody waits for any more does not keep a closed store open.
        let shared = Arc::downgrade(&self.shared);
        let done = tokio::task::spawn_blocking(move || match shared.upgrade() {
            Some(shared) => work(&shared),
            None => Err(Error::Closed),
        });
        match done.await {
            Ok(result) => result,
            Err(error) if error.is_panic() => Err(Error::damaged(
                &self.shared.folder,
                "the database failed while reading",
            )),
            Err(_) => Err(Error::Closed),
        }
    }

    async fn stage(&self, batch: Batch, bytes: usize) -> Result<Change, Error> {
        let large = batch
            .writes
            .iter()
            .any(|(_, value)| value.as_deref().is_some_and(is_large));
        if large {
            self.read(move |shared| change(batch, bytes, Some(shared))).await
        } else {
            change(batch, bytes, None)
        }
    }

    async fn scan_span(
        &self,
        span: Option<Span>,
        backwards: bool,
        limit: usize,
    ) -> Result<Vec<(Key, Entry)>, Error> {
        let Some(span) = span else { return Ok(Vec::new()) };
        self.read(move |shared| {
            let _reading = shared.reading.read().unwrap_or_else(PoisonError::into_inner);
            let found = shared.snapshot().values(&span, backwards, limit)?;
            found
                .into_iter()
                .map(|(key, value)| {
                    let entry = value.resolve_among_others(&key, &shared.blobs)?;
                    Ok((key, entry))
                })
                .collect()
        })
        .await
    }
}

fn is_large(value: &[u8]) -> bool {
    value.len() > INLINE_BYTES
}

/// Turns a batch into a change; its large values are written and synced under temporary names.
fn change(batch: Batch, bytes: usize, shared: Option<&Shared>) -> Result<Change, Error> {
    let mut writes = Vec::with_capacity(batch.writes.len());
    for (key, value) in batch.writes {
        let content = match (value, shared) {
            (Some(value), Some(shared)) if is_large(&value) => {
                shared.reserve.make_room_for_blob(value.len() as u64)?;
                Some(Content::Blob(shared.blobs.stage(&value)?))
            }
            (value, _) => value.map(Content::Bytes),
        };
        writes.push((key, content));
    }
    let lazy = batch.durability == Durability::Lazy;
    Ok(Change {
        requires: batch.requires,
        writes,
        appends: batch.appends,
        lazy,
        bytes,
    })
}

#[async_trait]
impl Store for SledStore {
    async fn commit(&self, batch: Batch) -> Result<Receipt, Error> {
        let bytes = batch.check()?;
        let change = self.stage(batch, bytes).await?;
        let (answer, answered) = oneshot::channel();
        let requests = self.requests.as_ref().ok_or(Error::Closed)?;
        requests
            .send(Request { change, answer })
            .await
            .map_err(|_| Error::Closed)?;
        answered.await.unwrap_or_else(|_| {
            let source = io::Error::other("the committing thread ended");
            Err(Error::unknown("commit a batch", &self.shared.folder, source))
        })
    }

    async fn get(&self, key: &Key) -> Result<Option<Entry>, Error> {
        if let Some(known) = self.shared.recent.get(key) {
            return Ok(known);
        }
        let key = key.clone();
        self.read(move |shared| {
            let _reading = shared.reading.read().unwrap_or_else(PoisonError::into_inner);
            let snapshot = shared.snapshot();
            let found = snapshot.value(&key)?;
            let is_blob = found.as_ref().is_some_and(Value::is_blob);
            let entry = found.map(|value| value.resolve(&shared.blobs)).transpose()?;
            if !is_blob {
                shared.recent.found(key, &entry);
            }
            // What was found is what is visible until here.
            drop(snapshot);
            Ok(entry)
        })
        .await
    }

    async fn scan(
        &self,
        prefix: &Key,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Vec<(Key, Entry)>, Error> {
        let span = layout::value_span(prefix, after, None);
        self.scan_span(span, false, limit).await
    }

    async fn scan_back(
        &self,
        prefix: &Key,
        before: Option<&Key>,
        limit: usize,
    ) -> Result<Vec<(Key, Entry)>, Error> {
        let span = layout::value_span(prefix, None, before);
        self.scan_span(span, true, limit).await
    }

    async fn read_stream(
        &self,
        stream: &Key,
        after: Offset,
        limit: usize,
    ) -> Result<Vec<(Offset, Vec<u8>)>, Error> {
        let Some(span) = layout::stream_span(stream, after) else {
            return Ok(Vec::new());
        };
        self.read(move |shared| shared.snapshot().rows_of_stream(&span, limit))
            .await
    }

    async fn position(&self, stream: &Key) -> Result<Position, Error> {
        let counter = layout::counter_key(stream);
        self.read(move |shared| {
            let offset = Offset(shared.snapshot().number(&counter)?);
            Ok(Position {
                epoch: shared.epoch.clone(),
                offset,
            })
        })
        .await
    }

    async fn room(&self) -> Room {
        self.read(|shared| Ok(shared.reserve.room()))
            .await
            .unwrap_or(Room::Low)
    }
}

impl Drop for SledStore {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(committer) = self.committer.take()
            && committer.join().is_err()
        {
            tracing::error!("the committing thread failed");
        }
    }
}
