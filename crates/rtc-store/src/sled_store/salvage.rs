//! What can still be read of a damaged store, taken over into a new one.

use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use sled::IVec;

use super::header::Header;
use super::layout::{self, Hash, Head};
use super::open::{self, Loaded};
use super::snapshot::database_failure;
use super::sum::Sum;
use super::{Database, SledOptions, files};
use crate::key::Span;
use crate::{Error, Key, Revision};

/// The largest database that is looked into, in bytes: it is copied, read and written anew while the user waits.
const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// The room that has to be left beside the copy and what is taken over, in bytes.
const ROOM_BYTES: u64 = 64 * 1024 * 1024;

/// How many places are looked at between rows that can be read, for further ones.
const PROBES: u32 = 256;

/// What is written at once, in bytes.
const BATCH_BYTES: usize = 1024 * 1024;

/// What was taken over from a store that was set aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Taken {
    /// How many values.
    pub values: u64,
    /// How many of them are there without their content: they are empty.
    pub emptied: u64,
    /// Whether there is a place in the database that could not be read, so that it is not known what stood there.
    pub has_gaps: bool,
}

/// Takes over all values that can still be read of the store in `damaged`, which is not written to, into the empty one
/// in `folder`. Its streams are not.
pub(super) fn take_over(
    damaged: &Path,
    folder: &Path,
    loaded: &mut Loaded,
    options: &SledOptions,
) -> Result<Taken, Error> {
    let copy = folder.join("damaged");
    copy_database(&damaged.join("db"), &copy)?;
    let database = match open::open_database(&copy, options) {
        Err(error @ Error::Damaged { .. }) => {
            tracing::warn!(%error, "the damaged database is read from the beginning of its log");
            copy_database(&damaged.join("db"), &copy)?;
            leave_log(&copy).map_err(|error| Error::file("remove a file of", &copy, error))?;
            open::open_database(&copy, options)?
        }
        opened => opened?,
    };
    check_schema(damaged, &database)?;
    let (taken, revision, sum) = Taking::new(&database, damaged, loaded).all(&copy)?;
    drop(database);
    files::remove_folder(&copy).map_err(|error| Error::file("remove the folder", &copy, error))?;
    loaded.revision = revision;
    loaded.sum = Some(sum);
    loaded.acknowledged.note(revision);
    Ok(taken)
}

/// That this version knows what the rows mean, by whatever says so.
fn check_schema(damaged: &Path, database: &Database) -> Result<(), Error> {
    let row = catch_unwind(AssertUnwindSafe(|| open::read_schema(database.tree(), damaged)));
    let row = row.ok().and_then(Result::ok).flatten();
    let header = Header::read(damaged).ok().flatten().map(|header| header.schema);
    match row.or(header) {
        Some(schema) => schema.check(),
        None => Err(Error::damaged(damaged, "it does not say what it is")),
    }
}

/// sled writes to what it opens.
fn copy_database(from: &Path, to: &Path) -> Result<(), Error> {
    let failed = |error| Error::file("copy the database", from, error);
    let mut paths = Vec::new();
    let mut bytes = 0;
    let gone = || Error::damaged(from, "its content is gone");
    let entries = fs::read_dir(from).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => gone(),
        _ => failed(error),
    })?;
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let metadata = entry.metadata().map_err(failed)?;
        if metadata.is_file() {
            bytes += metadata.len();
            paths.push(entry.path());
        }
    }
    if bytes > MOST_BYTES {
        let told = format!("it has {bytes} bytes, and at most {MOST_BYTES} are looked into");
        return Err(Error::damaged(from, told));
    }
    if files::free_bytes(to.parent().unwrap_or(to)).is_some_and(|free| free < 2 * bytes + ROOM_BYTES) {
        return Err(Error::Full);
    }
    if !paths.iter().any(|path| path.ends_with("db")) {
        return Err(gone());
    }
    // sled makes this folder, and nothing in it.
    files::create_folder(&to.join("blobs")).map_err(failed)?;
    for path in paths {
        if let Some(name) = path.file_name() {
            fs::copy(&path, to.join(name)).map_err(failed)?;
        }
    }
    Ok(())
}

/// Without a snapshot sled finds its pages by reading its log anew, and leaves out what it cannot read; without settings it
/// takes its own, which are those that it was made with.
fn leave_log(database: &Path) -> io::Result<()> {
    for entry in fs::read_dir(database)? {
        let path = entry?.path();
        if path.is_file() && !path.ends_with("db") {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Why reading broke off: there is something behind that cannot be read.
struct Gap;

struct Taking<'a> {
    from: &'a sled::Tree,
    into: &'a Loaded,
    /// The blobs of the damaged store.
    blobs: PathBuf,
    taken: Taken,
    revision: Revision,
    sum: Sum,
    batch: sled::Batch,
    batched: usize,
}

impl<'a> Taking<'a> {
    fn new(from: &'a Database, damaged: &Path, into: &'a Loaded) -> Self {
        Self {
            from: from.tree(),
            into,
            blobs: damaged.join("blobs"),
            taken: Taken::default(),
            revision: Revision(0),
            sum: Sum::default(),
            batch: sled::Batch::default(),
            batched: 0,
        }
    }

    /// Takes over everything, and waits until it is on the device.
    fn all(mut self, path: &Path) -> Result<(Taken, Revision, Sum), Error> {
        let span = layout::value_span(&Key::default(), None, None);
        if let Some((begin, end)) = span.and_then(Span::into_ends) {
            self.between(begin, end, &mut PROBES.clone())?;
        }
        if self.taken.values == 0 {
            return Err(Error::damaged(path, "none of its rows can be read"));
        }
        // No later commit may have the revision of an earlier one.
        let last = catch_unwind(AssertUnwindSafe(|| open::read_revision(self.from, path)));
        self.revision = self
            .revision
            .max(last.ok().and_then(Result::ok).unwrap_or_default());
        let number = self.revision.0.to_be_bytes().to_vec();
        self.put(layout::REVISION_KEY.to_vec(), number.into())?;
        let sum = self.sum.encode(self.revision);
        self.batch.insert(layout::SUM_KEY, sum);
        self.write()?;
        self.into.blobs.sync()?;
        let tree = self.into.database.tree();
        tree.flush()
            .map_err(|error| database_failure("flush the database", path, error))?;
        let synced = self.into.device.sync_data();
        synced.map_err(|error| Error::unknown("sync the database", path, error))?;
        Ok((self.taken, self.revision, self.sum))
    }

    /// Takes over the rows from `begin` until before `end`: from both ends as far as they can be read, then what is found
    /// between.
    fn between(&mut self, begin: Vec<u8>, end: Vec<u8>, probes: &mut u32) -> Result<(), Error> {
        let mut todo = vec![(begin, end)];
        while let Some((mut begin, mut end)) = todo.pop() {
            let from = self.from;
            let rows = || from.range(begin.clone()..end.clone());
            let mut ahead = rows();
            let mut last = None;
            let broke = loop {
                match next(|| ahead.next()) {
                    Ok(Some((key, row))) => {
                        self.take(&key, &row)?;
                        last = Some(key);
                    }
                    Ok(None) => break false,
                    Err(Gap) => break true,
                }
            };
            if !broke {
                continue;
            }
            self.taken.has_gaps = true;
            let mut behind = rows();
            if let Some(last) = last {
                begin = last.to_vec();
                begin.push(0);
            }
            while let Ok(Some((key, row))) = next(|| behind.next_back()) {
                if key.as_ref() < begin.as_slice() {
                    break;
                }
                self.take(&key, &row)?;
                end = key.to_vec();
            }
            if let Some(middle) = middle(&begin, &end)
                && *probes > 0
            {
                *probes -= 1;
                todo.push((begin, middle.clone()));
                todo.push((middle, end));
            }
        }
        Ok(())
    }

    /// Takes over one value.
    fn take(&mut self, key: &IVec, row: &IVec) -> Result<(), Error> {
        self.taken.values += 1;
        let Some((revision, head)) = Head::decode(row) else {
            return self.empty(key, Revision(0));
        };
        self.revision = self.revision.max(revision);
        match head {
            Head::Inline(_) => {}
            Head::Chunked { len } => {
                let Some(chunks) = self.chunks(key, len) else {
                    return self.empty(key, revision);
                };
                for (index, chunk) in chunks.into_iter().enumerate() {
                    self.put(layout::chunk_key(key, index), chunk)?;
                }
            }
            Head::Blob { hash, .. } => self.share(key, &hash)?,
        }
        self.put(key.to_vec(), row.clone())
    }

    /// A value whose content is lost is there, so that whoever needs it does not take it for one that never was.
    fn empty(&mut self, key: &IVec, revision: Revision) -> Result<(), Error> {
        self.taken.emptied += 1;
        self.put(key.to_vec(), Head::Inline(b"").encode(revision).into())
    }

    /// The parts of a value; nothing if they are not all there.
    fn chunks(&self, record: &[u8], len: usize) -> Option<Vec<IVec>> {
        let count = layout::chunks_of(len);
        if count > usize::from(u16::MAX) {
            return None;
        }
        let mut chunks = Vec::new();
        for index in 0..count {
            let key = layout::chunk_key(record, index);
            let chunk = catch_unwind(AssertUnwindSafe(|| self.from.get(key)));
            chunks.push(chunk.ok()?.ok()??);
        }
        (chunks.iter().map(|chunk| chunk.len()).sum::<usize>() == len).then_some(chunks)
    }

    fn share(&mut self, record: &IVec, hash: &Hash) -> Result<(), Error> {
        if !self.into.blobs.share(hash, &self.blobs)? {
            // Whoever reads it is told.
            self.taken.emptied += 1;
        }
        self.put(
            layout::name_key(hash, &layout::key_of_value(record)),
            IVec::default(),
        )
    }

    fn put(&mut self, key: Vec<u8>, row: IVec) -> Result<(), Error> {
        self.sum.add(&key, &row);
        self.batched += key.len() + row.len();
        self.batch.insert(key, row);
        if self.batched < BATCH_BYTES {
            return Ok(());
        }
        self.write()
    }

    fn write(&mut self) -> Result<(), Error> {
        self.batched = 0;
        let batch = std::mem::take(&mut self.batch);
        let written = self.into.database.tree().apply_batch(batch);
        written.map_err(|error| match error {
            sled::Error::Io(error) => Error::file("write the database", &self.blobs, error),
            other => Error::file("write the database", &self.blobs, io::Error::other(other)),
        })
    }
}

/// The next row, if it can be read. sled panics on some damages.
fn next(row: impl FnOnce() -> Option<sled::Result<(IVec, IVec)>>) -> Result<Option<(IVec, IVec)>, Gap> {
    match catch_unwind(AssertUnwindSafe(row)) {
        Ok(row) => row.transpose().map_err(|_| Gap),
        Err(_) => Err(Gap),
    }
}

/// A key halfway between two; nothing if they are too near to one another.
fn middle(begin: &[u8], end: &[u8]) -> Option<Vec<u8>> {
    let common = begin.iter().zip(end).take_while(|(a, b)| a == b).count();
    // As numbers, of the next eight bytes.
    let number = |key: &[u8]| {
        let mut bytes = [0; 8];
        for (byte, of) in bytes.iter_mut().zip(key.iter().skip(common)) {
            *byte = *of;
        }
        u64::from_be_bytes(bytes)
    };
    let (first, last) = (number(begin), number(end));
    let halfway = first + last.checked_sub(first)? / 2;
    let mut middle = end.get(..common)?.to_vec();
    middle.extend_from_slice(&halfway.to_be_bytes());
    (begin < middle.as_slice() && middle.as_slice() < end).then_some(middle)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn halfway_is_between(
            mut keys in proptest::collection::vec(proptest::collection::vec(0u8..4, 0..12), 2),
        ) {
            keys.sort();
            if let Some(middle) = middle(&keys[0], &keys[1]) {
                prop_assert!(keys[0] < middle && middle < keys[1], "{:?} {:?}", keys, middle);
            }
        }
    }
}
