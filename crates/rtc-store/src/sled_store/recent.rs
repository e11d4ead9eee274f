//! Values that were written or read lately, as readers see them: what is here costs a reader neither a thread nor a
//! page of the database.
//!
//! It is never ahead of the device and never behind what a reader may have seen. The committer changes it in the moment
//! in which a group becomes visible, and a reader adds what it found as long as it holds off that moment
//! ([`super::snapshot`]).

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use quick_cache::Weighter;
use quick_cache::unsync::Cache;

use crate::{Entry, Key};

/// What it holds at most, in bytes.
const BYTES: u64 = 4 * 1024 * 1024;

/// What a row costs beside its key and value, in bytes.
const ROW_BYTES: u64 = 128;

/// How many rows are expected; it may become more.
const ROWS: usize = 1024;

/// Rows of values, also of such as are known not to be there.
pub(super) struct Recent(Mutex<Cache<Key, Option<Entry>, Bytes>>);

/// A value that a commit has written.
#[derive(Debug)]
pub(super) enum Written {
    /// It is this now.
    Value(Option<Entry>),
    /// It is in a file of its own, and not kept here.
    Blob,
}

#[derive(Clone)]
struct Bytes;

impl Weighter<Key, Option<Entry>> for Bytes {
    fn weight(&self, key: &Key, entry: &Option<Entry>) -> u64 {
        let value = entry.as_ref().map_or(0, |entry| entry.value.len());
        ROW_BYTES + key.as_bytes().len() as u64 + value as u64
    }
}

impl Recent {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Cache::with_weighter(ROWS, BYTES, Bytes)))
    }

    /// What a value is; `None`: look into the database.
    pub(super) fn get(&self, key: &Key) -> Option<Option<Entry>> {
        self.lock().get(key).cloned()
    }

    /// Keeps what a reader has found.
    pub(super) fn found(&self, key: Key, entry: &Option<Entry>) {
        self.lock().insert(key, entry.clone());
    }

    /// What a group has made of its values.
    pub(super) fn apply(&self, written: Vec<(Key, Written)>) {
        let mut cache = self.lock();
        for (key, written) in written {
            match written {
                Written::Value(entry) => cache.insert(key, entry),
                Written::Blob => _ = cache.remove(&key),
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Cache<Key, Option<Entry>, Bytes>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Recent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cache = self.lock();
        f.debug_struct("Recent")
            .field("rows", &cache.len())
            .field("bytes", &cache.weight())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Revision;

    #[test]
    fn it_holds_no_more_than_its_bytes() {
        let recent = Recent::new();
        let entry = Some(Entry {
            value: vec![0; 64 * 1024],
            revision: Revision(1),
        });
        for number in 0..1000 {
            recent.found(Key::from(format!("key {number}")), &entry);
        }
        let cache = recent.lock();
        assert!(cache.weight() <= BYTES, "{}", cache.weight());
        assert!(cache.len() > 10, "{}", cache.len());
    }
}
