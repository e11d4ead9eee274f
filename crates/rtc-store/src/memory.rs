//! A store in memory, for tests and simulations, with faults that can be injected.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use crate::key::Span;
use crate::{
    Batch, Durability, Entry, Epoch, Error, Expect, Key, Offset, Position, Receipt, Revision, Room, Store,
};

/// How many lazy batches may wait for a flush; beyond it the oldest counts as flushed, as the disk store's
/// own background flush does it by time.
pub const UNFLUSHED_BATCHES: usize = 1024;

/// How a commit fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Before anything is applied.
    BeforeApply,
    /// After the batch is applied, before it is answered.
    AfterApply,
}

/// A [`Store`] in memory. The caller of a commit that was made to fail sees [`Error::Io`] either way: the
/// outcome is unknown to it.
#[derive(Debug)]
pub struct MemoryStore {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    epoch: Epoch,
    state: State,
    /// One for each lazy batch since the last flush, the oldest first.
    unflushed: VecDeque<Undo>,
    commits: u64,
    faults: BTreeMap<u64, Fault>,
    full: bool,
    closed: bool,
}

#[derive(Debug, Clone, Default)]
struct State {
    values: BTreeMap<Arc<[u8]>, Stored>,
    streams: BTreeMap<Vec<u8>, Vec<Arc<[u8]>>>,
    revision: u64,
}

#[derive(Debug, Clone)]
struct Stored {
    value: Arc<[u8]>,
    revision: Revision,
}

/// What a lazy batch replaced.
#[derive(Debug)]
struct Undo {
    revision: u64,
    values: Vec<(Arc<[u8]>, Option<Stored>)>,
}

impl MemoryStore {
    /// An empty store. Its epoch is always the same, so that runs can be compared.
    pub fn new() -> Self {
        MemoryStore::with_epoch(Epoch("memory".to_owned()))
    }

    /// An empty store with an epoch of its own.
    pub fn with_epoch(epoch: Epoch) -> Self {
        MemoryStore::from_state(epoch, State::default(), 0)
    }

    fn from_state(epoch: Epoch, state: State, commits: u64) -> Self {
        MemoryStore {
            inner: Mutex::new(Inner {
                epoch,
                state,
                unflushed: VecDeque::new(),
                commits,
                faults: BTreeMap::new(),
                full: false,
                closed: false,
            }),
        }
    }

    /// How many commits have been asked for, with those before a crash and those refused.
    pub fn commits(&self) -> u64 {
        self.inner().commits
    }

    /// Makes a later commit fail: the next one if `nth` is 1.
    pub fn fail_commit(&self, nth: u64, fault: Fault) {
        let mut inner = self.inner();
        let at = inner.commits + nth;
        inner.faults.insert(at, fault);
    }

    /// Fills the disk, or makes room again. A full one answers every commit with [`Error::Full`].
    pub fn set_full(&self, full: bool) {
        self.inner().full = full;
    }

    /// How many lazy batches a power cut could lose.
    pub fn unflushed(&self) -> usize {
        self.inner().unflushed.len()
    }

    /// Ends this store as a power cut would, and gives what is then found on the device: everything flushed,
    /// and the first `kept` of the lazy batches since (more than there are keeps all). Faults and a full disk
    /// do not carry over; whoever still holds this store is answered [`Error::Closed`].
    pub fn crash(&self, kept: usize) -> MemoryStore {
        let found = self.image(kept);
        self.inner().closed = true;
        found
    }

    /// What a power cut at this moment would leave on the device, as [`MemoryStore::crash`] gives it; this store goes
    /// on.
    pub fn image(&self, kept: usize) -> MemoryStore {
        let inner = self.inner();
        let mut state = inner.state.clone();
        for undo in inner.unflushed.iter().skip(kept).rev() {
            state.revision = undo.revision;
            for (key, before) in undo.values.iter().rev() {
                match before {
                    Some(stored) => state.values.insert(key.clone(), stored.clone()),
                    None => state.values.remove(key),
                };
            }
        }
        MemoryStore::from_state(inner.epoch.clone(), state, inner.commits)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self) -> Result<MutexGuard<'_, Inner>, Error> {
        let inner = self.inner();
        if inner.closed {
            Err(Error::Closed)
        } else {
            Ok(inner)
        }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        MemoryStore::new()
    }
}

impl Inner {
    fn commit(&mut self, batch: Batch) -> Result<Receipt, Error> {
        self.commits += 1;
        let fault = self.faults.remove(&self.commits);
        batch.check()?;
        if self.full {
            return Err(Error::Full);
        }
        if fault == Some(Fault::BeforeApply) {
            return Err(injected());
        }
        self.state.check(&batch)?;
        let lazy = batch.durability == Durability::Lazy;
        let (receipt, undo) = self.state.apply(batch);
        if lazy {
            self.unflushed.push_back(undo);
            if self.unflushed.len() > UNFLUSHED_BATCHES {
                self.unflushed.pop_front();
            }
        } else {
            self.unflushed.clear();
        }
        if fault == Some(Fault::AfterApply) {
            Err(injected())
        } else {
            Ok(receipt)
        }
    }
}

impl State {
    fn check(&self, batch: &Batch) -> Result<(), Error> {
        for (key, expect) in &batch.requires {
            let found = self.values.get(key.as_bytes()).map(|stored| stored.revision);
            let wanted = match expect {
                Expect::Absent => None,
                Expect::Revision(revision) => Some(*revision),
            };
            if found != wanted {
                return Err(Error::PreconditionFailed { key: key.clone() });
            }
        }
        Ok(())
    }

    fn apply(&mut self, batch: Batch) -> (Receipt, Undo) {
        let mut undo = Undo {
            revision: self.revision,
            values: Vec::new(),
        };
        self.revision += 1;
        let revision = Revision(self.revision);
        for (key, value) in batch.writes {
            let key: Arc<[u8]> = key.into_bytes().into();
            let before = match value {
                Some(value) => self.values.insert(
                    key.clone(),
                    Stored {
                        value: value.into(),
                        revision,
                    },
                ),
                None => self.values.remove(&key),
            };
            undo.values.push((key, before));
        }
        let mut offsets = Vec::with_capacity(batch.appends.len());
        for (stream, value) in batch.appends {
            let rows = self.streams.entry(stream.into_bytes()).or_default();
            rows.push(value.into());
            offsets.push(Offset(rows.len() as u64));
        }
        (Receipt { revision, offsets }, undo)
    }

    fn range(&self, span: Option<Span>, backwards: bool, limit: usize) -> Vec<(Key, Entry)> {
        let Some(span) = span else { return Vec::new() };
        let rows = self.values.range::<[u8], _>(span.bounds());
        let entry = |(key, stored): (&Arc<[u8]>, &Stored)| {
            (
                Key::from(key.to_vec()),
                Entry {
                    value: stored.value.to_vec(),
                    revision: stored.revision,
                },
            )
        };
        if backwards {
            rows.rev().take(limit).map(entry).collect()
        } else {
            rows.take(limit).map(entry).collect()
        }
    }
}

fn injected() -> Error {
    Error::unknown(
        "commit a batch",
        Path::new("memory"),
        io::Error::other("a fault was injected"),
    )
}

#[async_trait]
impl Store for MemoryStore {
    async fn commit(&self, batch: Batch) -> Result<Receipt, Error> {
        self.open()?.commit(batch)
    }

    async fn get(&self, key: &Key) -> Result<Option<Entry>, Error> {
        let inner = self.open()?;
        Ok(inner.state.values.get(key.as_bytes()).map(|stored| Entry {
            value: stored.value.to_vec(),
            revision: stored.revision,
        }))
    }

    async fn scan(
        &self,
        prefix: &Key,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Vec<(Key, Entry)>, Error> {
        let span = Span::new(prefix.as_bytes(), after.map(Key::as_bytes), None);
        Ok(self.open()?.state.range(span, false, limit))
    }

    async fn scan_back(
        &self,
        prefix: &Key,
        before: Option<&Key>,
        limit: usize,
    ) -> Result<Vec<(Key, Entry)>, Error> {
        let span = Span::new(prefix.as_bytes(), None, before.map(Key::as_bytes));
        Ok(self.open()?.state.range(span, true, limit))
    }

    async fn read_stream(
        &self,
        stream: &Key,
        after: Offset,
        limit: usize,
    ) -> Result<Vec<(Offset, Vec<u8>)>, Error> {
        let inner = self.open()?;
        let Some(rows) = inner.state.streams.get(stream.as_bytes()) else {
            return Ok(Vec::new());
        };
        let skipped = usize::try_from(after.0).unwrap_or(usize::MAX);
        let numbered = (1u64..).zip(rows).skip(skipped).take(limit);
        Ok(numbered
            .map(|(offset, row)| (Offset(offset), row.to_vec()))
            .collect())
    }

    async fn position(&self, stream: &Key) -> Result<Position, Error> {
        let inner = self.open()?;
        let rows = inner.state.streams.get(stream.as_bytes()).map_or(0, Vec::len);
        Ok(Position {
            epoch: inner.epoch.clone(),
            offset: Offset(rows as u64),
        })
    }

    async fn room(&self) -> Room {
        if self.inner().full { Room::Low } else { Room::Ok }
    }
}

#[cfg(test)]
mod tests;
