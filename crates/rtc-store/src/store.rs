//! The contract that every store keeps.

use std::fmt;

use async_trait::async_trait;

use crate::{Batch, Error, Key};

/// The sequence number of a commit; a value carries that of the commit which wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Revision(pub u64);

/// The place of a row in its stream: from 1, strictly increasing, never used again. 0 is before the first
/// row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Offset(pub u64);

/// Names one life of the store's streams: offsets of different epochs cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Epoch(pub String);

impl fmt::Display for Epoch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Where a stream stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// Made when the store was created.
    pub epoch: Epoch,
    /// The offset of the last row; 0 if the stream never had one.
    pub offset: Offset,
}

/// The answer to a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The revision of everything that the batch put.
    pub revision: Revision,
    /// One offset for each append, in the order of the batch.
    pub offsets: Vec<Offset>,
}

/// A stored value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The bytes that were put.
    pub value: Vec<u8>,
    /// The commit that put them.
    pub revision: Revision,
}

/// What room is left on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// There is room, and a reserve besides.
    Ok,
    /// The disk is nearly full and the reserve has been given up: finish what was begun, begin nothing new.
    Low,
}

/// Atomic, durable batches over ordered keys, and streams whose offsets the store assigns.
///
/// A batch is applied wholly or not at all, after every earlier one, and is answered when it is on the device
/// (unless it is lazy). Reads see only what has been answered or is about to be, never a part of a batch, and
/// never a flushed batch that is not on the device yet. Dropping the future of a commit does not take the
/// batch back.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Applies a batch. On [`Error::Io`] and [`Error::Damaged`] the outcome is unknown; on every other error
    /// nothing was applied.
    async fn commit(&self, batch: Batch) -> Result<Receipt, Error>;

    /// The value of a key, if it has one.
    async fn get(&self, key: &Key) -> Result<Option<Entry>, Error>;

    /// Ascending, the keys that begin with `prefix`, strictly after `after` (if any), at most `limit`. A large value that
    /// cannot be read is empty here, so that it does not hide the others; [`Store::get`] says why.
    async fn scan(&self, prefix: &Key, after: Option<&Key>, limit: usize)
    -> Result<Vec<(Key, Entry)>, Error>;

    /// Descending, the keys that begin with `prefix`, strictly before `before` (if any), at most `limit`.
    async fn scan_back(
        &self,
        prefix: &Key,
        before: Option<&Key>,
        limit: usize,
    ) -> Result<Vec<(Key, Entry)>, Error>;

    /// The rows of a stream, ascending, strictly after `after`, at most `limit`.
    async fn read_stream(
        &self,
        stream: &Key,
        after: Offset,
        limit: usize,
    ) -> Result<Vec<(Offset, Vec<u8>)>, Error>;

    /// Where a stream stands.
    async fn position(&self, stream: &Key) -> Result<Position, Error>;

    /// Looks at the device and tells what room is left.
    async fn room(&self) -> Room;
}
