//! A batch: what belongs to one step, and is applied wholly or not at all.

use crate::{Error, Key, Revision};

/// The longest key or stream name, in bytes. An index page of sled holds up to 256 keys and must stay well
/// under 128 KiB, because sled writes larger pages to files that it never syncs.
pub const KEY_BYTES: usize = 384;

/// The largest value kept in the ordered space itself, and the largest value of an append, in bytes. A larger
/// `put` becomes a content-addressed file.
pub const INLINE_BYTES: usize = 64 * 1024;

/// The largest value of a `put`, in bytes.
pub const VALUE_BYTES: usize = 64 * 1024 * 1024;

/// The most that one batch may bring into the ordered space, in bytes: keys, values up to [`INLINE_BYTES`],
/// and 64 for every part.
pub const BATCH_BYTES: usize = 32 * 1024 * 1024;

/// What a part of a batch costs besides its key and value, in bytes. It bounds the number of parts too.
const PART_BYTES: usize = 64;

/// What must be true of a key before a batch is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// The key has no value.
    Absent,
    /// The key's value was written by the commit with this revision.
    Revision(Revision),
}

/// When a batch is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// After it is on the device, together with everything committed before it.
    #[default]
    Flushed,
    /// After it is applied; a power cut may lose it, until the next flushed batch. It may not contain an
    /// append.
    Lazy,
}

/// What belongs to one step. Puts and deletes are applied in order, so that the last one of a key counts; all
/// preconditions look at the state before the batch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Batch {
    pub(crate) requires: Vec<(Key, Expect)>,
    pub(crate) writes: Vec<(Key, Option<Vec<u8>>)>,
    pub(crate) appends: Vec<(Key, Vec<u8>)>,
    pub(crate) durability: Durability,
}

impl Batch {
    /// An empty batch, flushed. Committed as it is, it only waits until everything before it is on the
    /// device.
    pub fn new() -> Self {
        Batch::default()
    }

    /// Sets a key to a value, up to [`VALUE_BYTES`].
    pub fn put(&mut self, key: impl Into<Key>, value: impl Into<Vec<u8>>) -> &mut Self {
        self.writes.push((key.into(), Some(value.into())));
        self
    }

    /// Removes a key; nothing happens if it has no value.
    pub fn delete(&mut self, key: impl Into<Key>) -> &mut Self {
        self.writes.push((key.into(), None));
        self
    }

    /// Refuses the whole batch unless the key is as expected.
    pub fn require(&mut self, key: impl Into<Key>, expect: Expect) -> &mut Self {
        self.requires.push((key.into(), expect));
        self
    }

    /// Adds a row, up to [`INLINE_BYTES`], to the end of a stream; the receipt tells its offset.
    pub fn append(&mut self, stream: impl Into<Key>, value: impl Into<Vec<u8>>) -> &mut Self {
        self.appends.push((stream.into(), value.into()));
        self
    }

    /// Sets when the batch is answered; [`Durability::Flushed`] if never called.
    pub fn durability(&mut self, durability: Durability) -> &mut Self {
        self.durability = durability;
        self
    }

    /// What it sets and removes (`None`), in order.
    pub fn writes(&self) -> impl Iterator<Item = (&Key, Option<&Vec<u8>>)> {
        self.writes.iter().map(|(key, value)| (key, value.as_ref()))
    }

    /// Whether there is nothing in the batch.
    pub fn is_empty(&self) -> bool {
        self.requires.is_empty() && self.writes.is_empty() && self.appends.is_empty()
    }

    /// Checks the limits and gives the bytes that count towards [`BATCH_BYTES`].
    pub(crate) fn check(&self) -> Result<usize, Error> {
        if self.durability == Durability::Lazy && !self.appends.is_empty() {
            return Err(Error::LazyAppend);
        }
        let mut bytes = 0;
        for (key, _) in &self.requires {
            bytes += PART_BYTES + key_bytes(key)?;
        }
        for (key, value) in &self.writes {
            let size = value.as_ref().map_or(0, Vec::len);
            within("value", size, VALUE_BYTES)?;
            bytes += PART_BYTES + key_bytes(key)? + if size > INLINE_BYTES { 0 } else { size };
        }
        for (stream, value) in &self.appends {
            within("row of a stream", value.len(), INLINE_BYTES)?;
            bytes += PART_BYTES + key_bytes(stream)? + value.len();
        }
        within("batch", bytes, BATCH_BYTES)?;
        Ok(bytes)
    }
}

fn key_bytes(key: &Key) -> Result<usize, Error> {
    let bytes = key.as_bytes().len();
    within("key", bytes, KEY_BYTES)?;
    Ok(bytes)
}

fn within(what: &'static str, bytes: usize, limit: usize) -> Result<(), Error> {
    if bytes > limit {
        Err(Error::TooLarge { what, bytes, limit })
    } else {
        Ok(())
    }
}
