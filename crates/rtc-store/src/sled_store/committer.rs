//! The one thread that writes: it takes what has arrived, applies it together, makes it durable, then
//! answers.

use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};

use tokio::sync::{mpsc, oneshot};

use super::acknowledged::Acknowledged;
use super::group::{Evaluated, Group};
use super::header::{Header, Schema};
use super::layout::{self, Hash};
use super::snapshot::{Undo, database_failure};
use super::sum::Sum;
use super::{Change, Shared, files};
use crate::{Error, Receipt, Revision};

/// How many batches may wait for the committer; whoever comes later waits to be let in.
pub(super) const QUEUE_BATCHES: usize = 1024;

/// The most batches in one group.
const GROUP_BATCHES: usize = 256;

/// A group that brings this many bytes takes no further batch.
const GROUP_BYTES: usize = 1024 * 1024;

/// The most blobs that wait to be removed; what is beyond is swept by the next opening.
const UNNAMED_BLOBS: usize = 4096;

/// A batch, and where its answer goes.
pub(super) struct Request {
    pub(super) change: Change,
    pub(super) answer: oneshot::Sender<Result<Receipt, Error>>,
}

pub(super) struct Committer {
    pub(super) shared: Arc<Shared>,
    pub(super) requests: mpsc::Receiver<Request>,
    /// A second handle to sled's file: its own flush does not reach the device.
    pub(super) device: File,
    pub(super) schema: Schema,
    pub(super) revision: Revision,
    /// The sum over all rows; `None` in a database that an earlier version wrote and that is too large to be counted.
    pub(super) sum: Option<Sum>,
    /// Where it is noted what is on the device.
    pub(super) acknowledged: Acknowledged,
    /// What the header says already.
    pub(super) header_revision: Revision,
    /// Why no further batch is taken.
    pub(super) stopped: Option<String>,
    /// Blobs that may have lost their last name, not yet on the device or still being read.
    pub(super) unnamed: Vec<Hash>,
    /// Whether lazy batches were applied since the last flush.
    pub(super) unflushed: bool,
}

impl Committer {
    /// Serves until there is nobody left to ask, then closes the store.
    pub(super) fn run(mut self) {
        while let Some(first) = self.requests.blocking_recv() {
            let group = self.gather(first);
            self.commit(group);
        }
        self.close();
    }

    /// What has arrived, within the limits of a group. On a nearly full disk batches go one by one, so that
    /// the room that one needs can be told.
    fn gather(&mut self, first: Request) -> Vec<Request> {
        let mut bytes = first.change.bytes;
        let mut group = vec![first];
        let most = if self.shared.reserve.is_low() {
            1
        } else {
            GROUP_BATCHES
        };
        while group.len() < most && bytes < GROUP_BYTES {
            let Ok(next) = self.requests.try_recv() else { break };
            bytes += next.change.bytes;
            group.push(next);
        }
        group
    }

    fn commit(&mut self, group: Vec<Request>) {
        if let Some(cause) = &self.stopped {
            let error = Error::Stopped { cause: cause.clone() };
            return answer_all(group.into_iter().map(|request| request.answer), &error);
        }
        let bytes: usize = group.iter().map(|request| request.change.bytes).sum();
        if let Err(error) = self.shared.reserve.make_room_for_commit(bytes as u64) {
            if group.len() == 1 {
                return answer_all(group.into_iter().map(|request| request.answer), &error);
            }
            return group.into_iter().for_each(|request| self.commit(vec![request]));
        }
        let (changes, answers): (Vec<_>, Vec<_>) = group
            .into_iter()
            .map(|request| (request.change, request.answer))
            .unzip();
        // sled panics on some failures; the thread must outlive them to answer.
        let done = catch_unwind(AssertUnwindSafe(|| self.apply(changes))).unwrap_or_else(|_| {
            let source = io::Error::other("the database panicked");
            Err(Error::unknown("commit a batch", &self.shared.folder, source))
        });
        match done {
            Ok(verdicts) => {
                for (answer, verdict) in answers.into_iter().zip(verdicts) {
                    // Whoever has stopped waiting is not told.
                    let _ = answer.send(verdict);
                }
                self.remove_unnamed();
            }
            Err(error) => {
                tracing::error!(%error, "the store stops");
                self.stopped = Some(error.to_string());
                answer_all(answers.into_iter(), &error);
            }
        }
    }

    /// Evaluates, applies and flushes a group. After an error it is unknown what of it has reached the
    /// device.
    fn apply(&mut self, changes: Vec<Change>) -> Result<Vec<Result<Receipt, Error>>, Error> {
        let shared = Arc::clone(&self.shared);
        let tree = shared.database.tree();
        let mut group = Group::new(tree, &shared.blobs, &shared.folder, self.revision, self.sum);
        let mut verdicts = Vec::with_capacity(changes.len());
        for change in changes {
            verdicts.push(group.take(change)?);
        }
        let Some(evaluated) = group.finish(self.revision)? else {
            return Ok(verdicts);
        };
        let Evaluated {
            writes,
            before,
            values,
            revision,
            sum,
            unnamed,
            unsynced,
            flushed,
        } = evaluated;
        for folder in &unsynced {
            files::sync_folder(folder).map_err(|error| Error::unknown("sync the folder", folder, error))?;
        }
        let mut undo = shared.undo.write().unwrap_or_else(PoisonError::into_inner);
        if flushed {
            *undo = before;
        }
        tree.apply_batch(writes)
            .map_err(|error| database_failure("write the database", &shared.folder, error))?;
        self.revision = revision;
        self.sum = sum;
        self.unnamed.extend(unnamed);
        self.unnamed.truncate(UNNAMED_BLOBS);
        self.unflushed = true;
        if flushed {
            drop(undo);
            self.flush()?;
            self.unflushed = false;
            self.acknowledged.note(revision);
            undo = shared.undo.write().unwrap_or_else(PoisonError::into_inner);
            *undo = Undo::new();
        }
        shared.recent.apply(values);
        Ok(verdicts)
    }

    fn flush(&self) -> Result<(), Error> {
        let folder = &self.shared.folder;
        let flushed = self.shared.database.tree().flush();
        flushed.map_err(|error| database_failure("flush the database", folder, error))?;
        self.device
            .sync_data()
            .map_err(|error| Error::unknown("sync the database", folder, error))
    }

    /// Removes the blobs that have lost their last name. That they have must be on the device first: lazy
    /// batches wait for a later flush. While somebody reads, it waits too.
    fn remove_unnamed(&mut self) {
        if self.unnamed.is_empty() || self.unflushed {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let Ok(_alone) = shared.reading.try_write() else {
            return;
        };
        for hash in self.unnamed.drain(..) {
            match is_named(shared.database.tree(), &hash) {
                Ok(true) => {}
                Ok(false) => shared.blobs.remove(&hash),
                Err(error) => tracing::warn!(%error, "an unused file is left for the next opening"),
            }
        }
    }

    fn close(mut self) {
        if self.stopped.is_some() {
            return;
        }
        let closed = catch_unwind(AssertUnwindSafe(|| {
            if self.unflushed {
                self.flush()?;
                self.unflushed = false;
            }
            self.remove_unnamed();
            if self.revision > self.header_revision {
                Header {
                    schema: self.schema.clone(),
                    revision: self.revision.0,
                }
                .write(&self.shared.folder)?;
            }
            Ok::<(), Error>(())
        }));
        match closed {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the store was not closed cleanly"),
            Err(_) => tracing::error!("the database panicked while the store was closed"),
        }
    }
}

/// Whether some value is this blob.
pub(super) fn is_named(tree: &sled::Tree, hash: &Hash) -> sled::Result<bool> {
    Ok(tree
        .scan_prefix(layout::names_of(hash))
        .next()
        .transpose()?
        .is_some())
}

fn answer_all(answers: impl Iterator<Item = oneshot::Sender<Result<Receipt, Error>>>, error: &Error) {
    for answer in answers {
        // Whoever has stopped waiting is not told.
        let _ = answer.send(Err(error.clone()));
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::super::{SledOptions, SledStore, open};
    use super::*;
    use crate::{Batch, Key, Offset, Store};

    fn batch(value: &str) -> Batch {
        let mut batch = Batch::new();
        batch.put("a", value).append("s", value);
        batch
    }

    #[tokio::test]
    async fn a_device_that_fails_stops_the_store_and_shows_nothing_that_may_be_lost() {
        let folder = tempfile::tempdir().unwrap();
        SledStore::open(folder.path(), &SledOptions::default())
            .unwrap()
            .commit(batch("before"))
            .await
            .unwrap();

        let (mut committer, requests) = open::prepare(folder.path(), &SledOptions::default()).unwrap();
        // It cannot be synced.
        committer.device = File::open("/dev/null").unwrap();
        let store = open::start(committer, requests).unwrap();
        let error = store.commit(batch("lost")).await.unwrap_err();
        assert!(
            matches!(error, Error::Io { .. }) && !error.nothing_applied(),
            "{error}"
        );
        assert_eq!(
            store.get(&Key::from("a")).await.unwrap().unwrap().value,
            b"before"
        );
        assert_eq!(store.position(&Key::from("s")).await.unwrap().offset, Offset(1));
        let error = store.commit(batch("later")).await.unwrap_err();
        assert!(
            matches!(error, Error::Stopped { .. }) && error.nothing_applied(),
            "{error}"
        );
        drop(store);

        // The outcome was unknown; that of the later batch is known.
        let store = SledStore::open(folder.path(), &SledOptions::default()).unwrap();
        assert_ne!(store.get(&Key::from("a")).await.unwrap().unwrap().value, b"later");
        store.commit(batch("again")).await.unwrap();
        assert_eq!(store.get(&Key::from("a")).await.unwrap().unwrap().value, b"again");
    }

    #[tokio::test]
    async fn batches_that_have_arrived_share_a_group_up_to_its_limits() {
        let folder = tempfile::tempdir().unwrap();
        let (mut committer, requests) = open::prepare(folder.path(), &SledOptions::default()).unwrap();
        let request = |bytes| {
            let change = Change {
                requires: vec![],
                writes: vec![],
                appends: vec![],
                lazy: false,
                bytes,
            };
            Request {
                change,
                answer: oneshot::channel().0,
            }
        };
        let mut sizes = |arrived: &[usize]| {
            for bytes in arrived {
                requests.try_send(request(*bytes)).unwrap();
            }
            let mut groups = Vec::new();
            while let Ok(first) = committer.requests.try_recv() {
                groups.push(committer.gather(first).len());
            }
            groups
        };
        assert_eq!(sizes(&[1, 1, 1]), [3]);
        assert_eq!(sizes(&[1; GROUP_BATCHES + 2]), [GROUP_BATCHES, 2]);
        assert_eq!(sizes(&[GROUP_BYTES - 1, 1, 1]), [2, 1]);
        assert_eq!(sizes(&[GROUP_BYTES, 1]), [1, 1]);
        for _ in 0..QUEUE_BATCHES {
            requests.try_send(request(1)).unwrap();
        }
        assert!(requests.try_send(request(1)).is_err(), "the queue is bounded");
    }
}
