//! The evaluation of one commit group: batches in order, against the tree and what the earlier ones of the
//! group have written.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use sled::IVec;

use super::blobs::Blobs;
use super::layout::{self, Hash, Head};
use super::recent::Written;
use super::snapshot::{Undo, database_failure};
use super::sum::Sum;
use super::{Change, Content};
use crate::{Entry, Error, Expect, Key, Offset, Receipt, Revision};

pub(super) struct Group<'a> {
    tree: &'a sled::Tree,
    blobs: &'a Blobs,
    folder: &'a Path,
    revision: Revision,
    sum: Option<Sum>,
    writes: BTreeMap<Vec<u8>, Option<IVec>>,
    before: Undo,
    values: Vec<(Key, Written)>,
    unnamed: BTreeSet<Hash>,
    unsynced: BTreeSet<PathBuf>,
    flushed: bool,
}

/// What is to be done with a group that was evaluated.
pub(super) struct Evaluated {
    pub(super) writes: sled::Batch,
    /// What the rows were before.
    pub(super) before: Undo,
    /// The values as they are then.
    pub(super) values: Vec<(Key, Written)>,
    /// The revision of the last batch that was accepted.
    pub(super) revision: Revision,
    /// The sum over all rows.
    pub(super) sum: Option<Sum>,
    /// Blobs that may have lost their last name.
    pub(super) unnamed: BTreeSet<Hash>,
    /// Folders whose new names have to be on the device first.
    pub(super) unsynced: BTreeSet<PathBuf>,
    /// Whether a batch waits for the device.
    pub(super) flushed: bool,
}

/// Whether one batch is taken; an outer error means that nothing of the group can be.
type Verdict = Result<Receipt, Error>;

impl<'a> Group<'a> {
    /// A group on what was committed last: its revision, and the sum over its rows if it is known.
    pub(super) fn new(
        tree: &'a sled::Tree,
        blobs: &'a Blobs,
        folder: &'a Path,
        revision: Revision,
        sum: Option<Sum>,
    ) -> Self {
        Group {
            tree,
            blobs,
            folder,
            revision,
            sum,
            writes: BTreeMap::new(),
            before: Undo::new(),
            values: Vec::new(),
            unnamed: BTreeSet::new(),
            unsynced: BTreeSet::new(),
            flushed: false,
        }
    }

    /// Takes a batch into the group, or refuses it and leaves the group as it was.
    pub(super) fn take(&mut self, change: Change) -> Result<Verdict, Error> {
        if let Some(key) = self.unmet(&change.requires)? {
            return Ok(Err(Error::PreconditionFailed { key }));
        }
        for (_, content) in &change.writes {
            if let Some(Content::Blob(staged)) = content
                && let Err(error) = self.blobs.install(staged, &mut self.unsynced)
            {
                // Nothing names the blobs that were installed: the next opening sweeps them.
                return Ok(Err(error));
            }
        }
        self.revision.0 += 1;
        self.flushed |= !change.lazy;
        for (key, content) in change.writes {
            self.write(&key, content.as_ref())?;
            let written = match content {
                Some(Content::Bytes(value)) => Written::Value(Some(Entry {
                    value,
                    revision: self.revision,
                })),
                Some(Content::Blob(_)) => Written::Blob,
                None => Written::Value(None),
            };
            self.values.push((key, written));
        }
        let mut offsets = Vec::with_capacity(change.appends.len());
        for (stream, value) in change.appends {
            offsets.push(self.append(&stream, &value)?);
        }
        Ok(Ok(Receipt {
            revision: self.revision,
            offsets,
        }))
    }

    /// What is to be applied; `None` if no batch was accepted.
    pub(super) fn finish(mut self, last: Revision) -> Result<Option<Evaluated>, Error> {
        if self.revision == last {
            return Ok(None);
        }
        self.set(
            layout::REVISION_KEY.to_vec(),
            Some(self.revision.0.to_be_bytes().to_vec()),
        )?;
        let mut writes = sled::Batch::default();
        if let Some(sum) = &mut self.sum {
            for (key, value) in &self.writes {
                if let Some(Some(before)) = self.before.get(key) {
                    sum.remove(key, before);
                }
                if let Some(value) = value {
                    sum.add(key, value);
                }
            }
            writes.insert(layout::SUM_KEY, sum.encode(self.revision));
        }
        for (key, value) in self.writes {
            match value {
                Some(value) => writes.insert(key, value),
                None => writes.remove(key),
            }
        }
        Ok(Some(Evaluated {
            writes,
            before: self.before,
            values: self.values,
            revision: self.revision,
            sum: self.sum,
            unnamed: self.unnamed,
            unsynced: self.unsynced,
            flushed: self.flushed,
        }))
    }

    /// The first key that is not as required.
    fn unmet(&self, requires: &[(Key, Expect)]) -> Result<Option<Key>, Error> {
        for (key, expect) in requires {
            let row = self.get(&layout::value_key(key))?;
            let found = row
                .as_deref()
                .map(|row| self.head(row))
                .transpose()?
                .map(|(revision, _)| revision);
            let wanted = match expect {
                Expect::Absent => None,
                Expect::Revision(revision) => Some(*revision),
            };
            if found != wanted {
                return Ok(Some(key.clone()));
            }
        }
        Ok(None)
    }

    fn write(&mut self, key: &Key, content: Option<&Content>) -> Result<(), Error> {
        let record = layout::value_key(key);
        let old = self.get(&record)?;
        let old_chunks = match old.as_deref().map(|row| self.head(row)).transpose()? {
            Some((_, Head::Chunked { len })) => layout::chunks_of(len),
            Some((_, Head::Blob { hash, .. })) => {
                self.set(layout::name_key(&hash, key), None)?;
                self.unnamed.insert(hash);
                0
            }
            Some((_, Head::Inline(_))) | None => 0,
        };
        let new_chunks = match content {
            Some(Content::Bytes(bytes)) => self.write_content(&record, bytes)?,
            Some(Content::Blob(staged)) => {
                let head = Head::Blob {
                    hash: staged.hash,
                    len: staged.len,
                };
                self.set(record.clone(), Some(head.encode(self.revision)))?;
                self.set(layout::name_key(&staged.hash, key), Some(Vec::new()))?;
                0
            }
            None => {
                if old.is_some() {
                    self.set(record.clone(), None)?;
                }
                0
            }
        };
        for index in new_chunks..old_chunks {
            self.set(layout::chunk_key(&record, index), None)?;
        }
        Ok(())
    }

    fn append(&mut self, stream: &Key, value: &[u8]) -> Result<Offset, Error> {
        let counter = layout::counter_key(stream);
        let last = match self.get(&counter)? {
            Some(row) => layout::number(&row).ok_or_else(|| self.damaged("a row that is no number"))?,
            None => 0,
        };
        let offset = Offset(last + 1);
        self.set(counter, Some(offset.0.to_be_bytes().to_vec()))?;
        self.write_content(&layout::stream_key(stream, offset), value)?;
        Ok(offset)
    }

    /// Writes a record and gives the number of its chunks.
    fn write_content(&mut self, record: &[u8], content: &[u8]) -> Result<usize, Error> {
        if content.len() <= layout::CHUNK_BYTES {
            self.set(record.to_vec(), Some(Head::Inline(content).encode(self.revision)))?;
            return Ok(0);
        }
        let head = Head::Chunked { len: content.len() };
        self.set(record.to_vec(), Some(head.encode(self.revision)))?;
        for (index, chunk) in content.chunks(layout::CHUNK_BYTES).enumerate() {
            self.set(layout::chunk_key(record, index), Some(chunk.to_vec()))?;
        }
        Ok(layout::chunks_of(content.len()))
    }

    fn get(&self, key: &[u8]) -> Result<Option<IVec>, Error> {
        match self.writes.get(key) {
            Some(written) => Ok(written.clone()),
            None => self.get_before(key),
        }
    }

    fn get_before(&self, key: &[u8]) -> Result<Option<IVec>, Error> {
        self.tree
            .get(key)
            .map_err(|error| database_failure("read the database", self.folder, error))
    }

    fn set(&mut self, key: Vec<u8>, value: Option<Vec<u8>>) -> Result<(), Error> {
        if !self.before.contains_key(&key) {
            let before = self.get_before(&key)?;
            self.before.insert(key.clone(), before);
        }
        self.writes.insert(key, value.map(IVec::from));
        Ok(())
    }

    fn head<'r>(&self, row: &'r [u8]) -> Result<(Revision, Head<'r>), Error> {
        Head::decode(row).ok_or_else(|| self.damaged("a row that is no record"))
    }

    fn damaged(&self, detail: &str) -> Error {
        Error::damaged(self.folder, detail)
    }
}
