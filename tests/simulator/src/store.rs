//! The store, watched: each commit is an effect, and what is over never changes again.

use std::sync::Arc;

use async_trait::async_trait;
use memchr::memmem;
use rtc_store::{Batch, Entry, Error, Key, Offset, Position, Receipt, Room, Store};

use serde::Deserialize;

use crate::Sabotage;
use crate::world::World;

pub(crate) struct WatchedStore {
    pub(crate) world: Arc<World>,
    /// From which commit on there is no room, and for how many.
    pub(crate) full: Option<(u32, u32)>,
}

impl WatchedStore {
    fn is_full(&self, commits: u32) -> bool {
        self.full
            .is_some_and(|(from, count)| (from..from.saturating_add(count)).contains(&commits))
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
        if self.is_full(commits) {
            return Err(Error::Full);
        }
        self.watch(&batch).await?;
        let again = (self.world.sabotage == Sabotage::ReopensWhatIsOver).then(|| once_more(&batch));
        let receipt = self.world.store.commit(batch).await?;
        if let Some(again) = again {
            self.watch(&again).await?;
        }
        self.world.effect(|| format!("commit {commits}"), |_| {});
        Ok(receipt)
    }

    async fn get(&self, key: &Key) -> Result<Option<Entry>, Error> {
        self.world.store.get(key).await
    }

    async fn scan(
        &self,
        prefix: &Key,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Vec<(Key, Entry)>, Error> {
        self.world.store.scan(prefix, after, limit).await
    }

    async fn scan_back(
        &self,
        prefix: &Key,
        before: Option<&Key>,
        limit: usize,
    ) -> Result<Vec<(Key, Entry)>, Error> {
        self.world.store.scan_back(prefix, before, limit).await
    }

    async fn read_stream(
        &self,
        stream: &Key,
        after: Offset,
        limit: usize,
    ) -> Result<Vec<(Offset, Vec<u8>)>, Error> {
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
