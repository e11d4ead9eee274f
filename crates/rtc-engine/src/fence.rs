//! One writer a lane: each of its batches requires the key that the lane took with its first one.

use rtc_store::{Batch, Error, Expect, Key, Receipt, Revision, Store};

/// A lane's hold on what it writes. Another process that takes the key makes every later batch of this lane fail.
pub(crate) struct Fence {
    key: Key,
    held: Held,
}

enum Held {
    /// Not taken yet; what was there before.
    Before(Option<Revision>),
    Taken(Revision),
}

impl Fence {
    /// Looks at who holds the key, and takes it with the first batch.
    pub(crate) async fn new(store: &dyn Store, key: Key) -> Result<Self, Error> {
        let before = store.get(&key).await?;
        Ok(Self {
            key,
            held: Held::Before(before.map(|entry| entry.revision)),
        })
    }

    /// Commits a batch under this fence.
    pub(crate) async fn commit(&mut self, store: &dyn Store, mut batch: Batch) -> Result<Receipt, Error> {
        match self.held {
            Held::Taken(revision) => {
                batch.require(self.key.clone(), Expect::Revision(revision));
            }
            Held::Before(revision) => {
                batch.require(
                    self.key.clone(),
                    revision.map_or(Expect::Absent, Expect::Revision),
                );
                batch.put(self.key.clone(), Vec::new());
            }
        }
        let receipt = store.commit(batch).await?;
        if matches!(self.held, Held::Before(_)) {
            tracing::debug!(lane = ?self.key, revision = ?receipt.revision, "the lane is taken");
            self.held = Held::Taken(receipt.revision);
        }
        Ok(receipt)
    }

    /// Whether a failed precondition means that somebody else took the lane.
    pub(crate) fn is_lost(&self, key: &Key) -> bool {
        *key == self.key
    }
}
