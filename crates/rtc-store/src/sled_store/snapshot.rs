//! What a reader sees: the tree as of the last group that is on the device.
//!
//! A group is applied to the tree before it is flushed. Until it is, `undo` holds what its rows were before,
//! and readers see that: nothing is shown that a power cut could take back, and no part of a batch.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::RwLockReadGuard;

use sled::IVec;

use super::blobs::Blobs;
use super::layout::{self, Hash, Head};
use crate::key::Span;
use crate::{Entry, Error, Key, Offset, Revision};

/// What rows were before the group that is on its way to the device.
pub(super) type Undo = BTreeMap<Vec<u8>, Option<IVec>>;

pub(super) struct Snapshot<'a> {
    tree: &'a sled::Tree,
    undo: RwLockReadGuard<'a, Undo>,
    folder: &'a Path,
}

/// A value whose content may still be in a blob.
pub(super) struct Value {
    revision: Revision,
    content: Content,
}

enum Content {
    Bytes(Vec<u8>),
    Blob { hash: Hash, len: u64 },
}

impl Value {
    pub(super) fn is_blob(&self) -> bool {
        matches!(self.content, Content::Blob { .. })
    }

    /// Reads the blob, if there is one.
    pub(super) fn resolve(self, blobs: &Blobs) -> Result<Entry, Error> {
        let value = match self.content {
            Content::Bytes(bytes) => bytes,
            Content::Blob { hash, len } => blobs.read(&hash, len)?,
        };
        Ok(Entry {
            value,
            revision: self.revision,
        })
    }

    /// The same among others, which one that cannot be read is not to hide: its value is empty then.
    pub(super) fn resolve_among_others(self, key: &Key, blobs: &Blobs) -> Result<Entry, Error> {
        let revision = self.revision;
        match self.resolve(blobs) {
            Err(error @ Error::Damaged { .. }) => {
                tracing::error!(%key, %error, "a value is left empty");
                let value = Vec::new();
                Ok(Entry { value, revision })
            }
            resolved => resolved,
        }
    }
}

impl<'a> Snapshot<'a> {
    pub(super) fn new(tree: &'a sled::Tree, undo: RwLockReadGuard<'a, Undo>, folder: &'a Path) -> Self {
        Snapshot { tree, undo, folder }
    }

    pub(super) fn value(&self, key: &Key) -> Result<Option<Value>, Error> {
        let record = layout::value_key(key);
        self.get(&record)?
            .map(|row| self.record(&record, &row))
            .transpose()
    }

    pub(super) fn values(
        &self,
        span: &Span,
        backwards: bool,
        limit: usize,
    ) -> Result<Vec<(Key, Value)>, Error> {
        let rows = self.range(span, backwards, limit)?;
        rows.iter()
            .map(|(key, row)| Ok((layout::key_of_value(key), self.record(key, row)?)))
            .collect()
    }

    pub(super) fn rows_of_stream(&self, span: &Span, limit: usize) -> Result<Vec<(Offset, Vec<u8>)>, Error> {
        let rows = self.range(span, false, limit)?;
        let read = |(key, row): &(IVec, IVec)| {
            let offset = layout::offset_of_row(key).ok_or_else(|| self.damaged("a row without an offset"))?;
            match self.record(key, row)?.content {
                Content::Bytes(bytes) => Ok((offset, bytes)),
                Content::Blob { .. } => Err(self.damaged("a row of a stream in a file")),
            }
        };
        rows.iter().map(read).collect()
    }

    /// The number in a row; 0 if the row is not there.
    pub(super) fn number(&self, key: &[u8]) -> Result<u64, Error> {
        match self.get(key)? {
            Some(row) => layout::number(&row).ok_or_else(|| self.damaged("a row that is no number")),
            None => Ok(0),
        }
    }

    fn record(&self, key: &[u8], row: &[u8]) -> Result<Value, Error> {
        let (revision, head) = Head::decode(row).ok_or_else(|| self.damaged("a row that is no record"))?;
        let content = match head {
            Head::Inline(bytes) => Content::Bytes(bytes.to_vec()),
            Head::Blob { hash, len } => Content::Blob { hash, len },
            Head::Chunked { len } => Content::Bytes(self.chunks(key, len)?),
        };
        Ok(Value { revision, content })
    }

    fn chunks(&self, key: &[u8], len: usize) -> Result<Vec<u8>, Error> {
        let mut content = Vec::new();
        for index in 0..layout::chunks_of(len) {
            let chunk = self.get(&layout::chunk_key(key, index))?;
            content.extend_from_slice(&chunk.ok_or_else(|| self.damaged("a part of a value is missing"))?);
        }
        if content.len() == len {
            Ok(content)
        } else {
            Err(self.damaged("a value of the wrong length"))
        }
    }

    fn get(&self, key: &[u8]) -> Result<Option<IVec>, Error> {
        match self.undo.get(key) {
            Some(before) => Ok(before.clone()),
            None => self.tree.get(key).map_err(|error| self.failed(error)),
        }
    }

    /// The rows of a span, at most `limit`.
    fn range(&self, span: &Span, backwards: bool, limit: usize) -> Result<Vec<(IVec, IVec)>, Error> {
        let mut rows = self.range_of_tree(span, backwards, limit)?;
        let mut undone = self.undo.range::<[u8], _>(span.bounds()).peekable();
        if undone.peek().is_some() {
            // Both parts have their first `limit` rows, so the first `limit` of both together are among them.
            let before = undone.filter_map(|(key, row)| Some((IVec::from(key.as_slice()), row.clone()?)));
            rows.extend(before);
            rows.sort_by(|(left, _), (right, _)| {
                if backwards {
                    right.cmp(left)
                } else {
                    left.cmp(right)
                }
            });
            rows.truncate(limit);
        }
        Ok(rows)
    }

    /// The rows of a span that the group on its way has not touched, at most `limit`.
    fn range_of_tree(&self, span: &Span, backwards: bool, limit: usize) -> Result<Vec<(IVec, IVec)>, Error> {
        let mut found = self.tree.range::<&[u8], _>(span.bounds());
        let mut rows = Vec::new();
        while rows.len() < limit {
            let next = if backwards {
                found.next_back()
            } else {
                found.next()
            };
            let Some(row) = next else { break };
            let row = row.map_err(|error| self.failed(error))?;
            if !self.undo.contains_key(row.0.as_ref()) {
                rows.push(row);
            }
        }
        Ok(rows)
    }

    fn failed(&self, error: sled::Error) -> Error {
        database_failure("read the database", self.folder, error)
    }

    fn damaged(&self, detail: &str) -> Error {
        Error::damaged(self.folder, detail)
    }
}

/// What a failure of sled means to the caller. A full disk is not told as such: what of the work is done is
/// unknown.
pub(super) fn database_failure(action: &'static str, folder: &Path, error: sled::Error) -> Error {
    match error {
        sled::Error::Io(source) => Error::unknown(action, folder, source),
        other => Error::damaged(folder, other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::RwLock;

    use super::*;

    fn row(text: &str) -> Vec<u8> {
        Head::Inline(text.as_bytes()).encode(Revision(1))
    }

    fn seen(snapshot: &Snapshot<'_>, backwards: bool, limit: usize) -> Vec<String> {
        let span = layout::value_span(&Key::default(), None, None).unwrap();
        let rows = snapshot.values(&span, backwards, limit).unwrap();
        let text = |value: Value| match value.content {
            Content::Bytes(bytes) => String::from_utf8(bytes).unwrap(),
            Content::Blob { .. } => panic!("no blobs here"),
        };
        rows.into_iter()
            .map(|(key, value)| format!("{key}={}", text(value)))
            .collect()
    }

    #[test]
    fn a_group_on_its_way_to_the_device_is_not_seen() {
        let folder = tempfile::tempdir().unwrap();
        let database = sled::Config::new().path(folder.path().join("db")).open().unwrap();
        let key = |name: &str| layout::value_key(&Key::from(name));
        // The group on its way has changed b, removed c and written d.
        for (name, value) in [("a", "1"), ("b", "new"), ("d", "new"), ("e", "1")] {
            database.insert(key(name), row(value)).unwrap();
        }
        let undo = RwLock::new(Undo::from([
            (key("b"), Some(IVec::from(row("old")))),
            (key("c"), Some(IVec::from(row("old")))),
            (key("d"), None),
        ]));

        let snapshot = Snapshot::new(&database, undo.read().unwrap(), folder.path());
        assert_eq!(seen(&snapshot, false, 9), ["a=1", "b=old", "c=old", "e=1"]);
        assert_eq!(seen(&snapshot, false, 2), ["a=1", "b=old"]);
        assert_eq!(seen(&snapshot, true, 9), ["e=1", "c=old", "b=old", "a=1"]);
        assert_eq!(seen(&snapshot, true, 2), ["e=1", "c=old"]);
        assert!(snapshot.value(&Key::from("d")).unwrap().is_none());
        drop(snapshot);

        undo.write().unwrap().clear();
        let snapshot = Snapshot::new(&database, undo.read().unwrap(), folder.path());
        assert_eq!(seen(&snapshot, false, 9), ["a=1", "b=new", "d=new", "e=1"]);
    }
}
