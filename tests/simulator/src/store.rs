//! The store, watched: each commit is an effect, and what is over never changes again. Its disk may be full or broken.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use memchr::memmem;
use rtc_store::{Batch, Entry, Error, Key, Offset, Position, Receipt, Revision, Room, Store};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::Sabotage;
use crate::scenario::Broken;
use crate::world::World;

pub(crate) struct WatchedStore {
    pub(crate) world: Arc<World>,
    /// From which commit on there is no room, and for how many.
    pub(crate) full: Option<(u32, u32)>,
    /// What its disk does wrong.
    pub(crate) broken: Option<Broken>,
    /// A commit has failed. The store takes nothing more until it is opened again.
    pub(crate) stopped: CancellationToken,
}

impl WatchedStore {
    fn is_full(&self, commits: u32) -> bool {
        self.full
            .is_some_and(|(from, count)| (from..from.saturating_add(count)).contains(&commits))
    }

    /// Whether what is read now is taken for nothing, which is a fault made on purpose.
    fn reads_nothing(&self) -> Result<bool, Error> {
        let Some(Broken::Read { at }) = self.broken else {
            return Ok(false);
        };
        let fails = self.world.with(|facts| {
            facts.reads += 1;
            facts.has_failed |= facts.reads == at;
            facts.reads == at
        });
        match self.world.sabotage {
            Sabotage::TakesUnreadForNothing => Ok(fails),
            _ if fails => Err(failed("read")),
            _ => Ok(false),
        }
    }

    /// Whether the commit of this number fails, and then whether it is applied.
    fn breaks(&self, commits: u32) -> Option<bool> {
        match self.broken {
            Some(Broken::Commit { at, applied }) if at == commits => Some(applied),
            _ => None,
        }
    }

    fn stop(&self) -> Error {
        self.world.with(|facts| facts.has_failed = true);
        self.stopped.cancel();
        failed("commit a batch")
    }

    /// What is over stays as it is.
    async fn watch(&self, batch: &Batch) -> Result<(), Error> {
        for (key, value) in batch.writes() {
            if let Some(before) = self.world.store.get(key).await?
                && value != Some(&before.value)
                && let Some(status) = ended(&before.value)
            {
                self.world
                    .wrong(format!("a record that was {status} has changed"));
            }
        }
        Ok(())
    }
}

/// As the device says it.
fn failed(action: &'static str) -> Error {
    Error::Io {
        action,
        path: PathBuf::from("memory"),
        source: Arc::new(std::io::Error::other("the device failed")),
    }
}

/// The same records, each with a byte more.
fn once_more(batch: &Batch) -> Batch {
    let mut again = Batch::new();
    for (key, value) in batch.writes() {
        if let Some(value) = value {
            again.put(key.clone(), [value, &b" "[..]].concat());
        }
    }
    again
}

#[async_trait]
impl Store for WatchedStore {
    async fn commit(&self, batch: Batch) -> Result<Receipt, Error> {
        let commits = self.world.with(|facts| {
            facts.commits += 1;
            facts.commits
        });
        if self.stopped.is_cancelled() {
            let cause = "the device failed".to_owned();
            return Err(Error::Stopped { cause });
        }
        if self.is_full(commits) {
            return Err(Error::Full);
        }
        let breaks = self.breaks(commits);
        if breaks.is_some() && self.world.sabotage == Sabotage::TakesFailedForDone {
            return Ok(Receipt {
                revision: Revision(u64::from(commits)),
                offsets: Vec::new(),
            });
        }
        if breaks == Some(false) {
            return Err(self.stop());
        }
        self.watch(&batch).await?;
        let again = (self.world.sabotage == Sabotage::ReopensWhatIsOver).then(|| once_more(&batch));
        let receipt = self.world.store.commit(batch).await?;
        if let Some(again) = again {
            self.watch(&again).await?;
        }
        self.world.effect(|| format!("commit {commits}"), |_| {});
        if breaks == Some(true) {
            return Err(self.stop());
        }
        Ok(receipt)
    }

    async fn get(&self, key: &Key) -> Result<Option<Entry>, Error> {
        if self.reads_nothing()? {
            return Ok(None);
        }
        self.world.store.get(key).await
    }

    async fn scan(
        &self,
        prefix: &Key,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Vec<(Key, Entry)>, Error> {
        if self.reads_nothing()? {
            return Ok(Vec::new());
        }
        self.world.store.scan(prefix, after, limit).await
    }

    async fn scan_back(
        &self,
        prefix: &Key,
        before: Option<&Key>,
        limit: usize,
    ) -> Result<Vec<(Key, Entry)>, Error> {
        if self.reads_nothing()? {
            return Ok(Vec::new());
        }
        self.world.store.scan_back(prefix, before, limit).await
    }

    async fn read_stream(
        &self,
        stream: &Key,
        after: Offset,
        limit: usize,
    ) -> Result<Vec<(Offset, Vec<u8>)>, Error> {
        if self.reads_nothing()? {
            return Ok(Vec::new());
        }
        self.world.store.read_stream(stream, after, limit).await
    }

    async fn position(&self, stream: &Key) -> Result<Position, Error> {
        self.world.store.position(stream).await
    }

    async fn room(&self) -> Room {
        if !self.is_full(self.world.with(|facts| facts.commits) + 1) {
            return Room::Ok;
        }
        // Whoever asks waits as long as whoever tries, or it would wait for ever.
        self.world.with(|facts| facts.commits += 1);
        Room::Low
    }
}

/// How a turn or call that is stored like this ended, if it has.
fn ended(value: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Record {
        entity: Entity,
    }
    #[derive(Deserialize)]
    struct Entity {
        status: String,
        completed_at: Option<String>,
    }
    // Most records are no turn or call, or have not ended: seen without reading them.
    memmem::find(value, b"completed_at\":\"")?;
    let entity = serde_json::from_slice::<Record>(value).ok()?.entity;
    entity.completed_at.is_some().then_some(entity.status)
}
