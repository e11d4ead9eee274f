//! A store of which one read fails.

use std::sync::atomic::{AtomicU32, Ordering};

use rtc_store::{Batch, Entry, Error, Key, MemoryStore, Offset, Position, Receipt, Room, Store};

use super::*;

/// The memory store, of which one read can be made to fail.
pub(super) struct FailsOnce {
    store: Arc<MemoryStore>,
    /// How many reads are left until that one, with it; 0 if none fails.
    left: AtomicU32,
}

impl FailsOnce {
    pub(super) fn new(store: Arc<MemoryStore>) -> Self {
        let left = AtomicU32::new(0);
        Self { store, left }
    }

    /// The `nth` read from now on fails, from 1; none, if it is 0.
    pub(super) fn fail(&self, nth: u32) {
        self.left.store(nth, Ordering::Relaxed);
    }

    /// Whether none is going to fail any more.
    pub(super) fn has_failed(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }

    fn read(&self) -> Result<(), Error> {
        let counted = |left: u32| left.checked_sub(1);
        match self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, counted)
        {
            Ok(1) => Err(Error::Io {
                action: "read",
                path: "memory".into(),
                source: Arc::new(std::io::Error::other("a fault was injected")),
            }),
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl Store for FailsOnce {
    async fn commit(&self, batch: Batch) -> Result<Receipt, Error> {
        self.store.commit(batch).await
    }

    async fn get(&self, key: &Key) -> Result<Option<Entry>, Error> {
        self.read()?;
        self.store.get(key).await
    }

    async fn scan(
        &self,
        prefix: &Key,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Vec<(Key, Entry)>, Error> {
        self.read()?;
        self.store.scan(prefix, after, limit).await
    }

    async fn scan_back(
        &self,
        prefix: &Key,
        before: Option<&Key>,
        limit: usize,
    ) -> Result<Vec<(Key, Entry)>, Error> {
        self.read()?;
        self.store.scan_back(prefix, before, limit).await
    }

    async fn read_stream(
        &self,
        stream: &Key,
        after: Offset,
        limit: usize,
    ) -> Result<Vec<(Offset, Vec<u8>)>, Error> {
        self.read()?;
        self.store.read_stream(stream, after, limit).await
    }

    async fn position(&self, stream: &Key) -> Result<Position, Error> {
        self.store.position(stream).await
    }

    async fn room(&self) -> Room {
        self.store.room().await
    }
}
