//! What can go wrong with a store, and who can do something about it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::Key;

/// Why a store did not do what was asked. [`Error::nothing_applied`] tells whether the batch is known not to
/// have happened.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A key was not as the batch required. The caller reads again and decides.
    #[error("the store has changed: a precondition on the key {key} does not hold")]
    PreconditionFailed {
        /// The first key that was not as required.
        key: Key,
    },
    /// Something of a batch is over its limit. The caller has to split or shorten it.
    #[error("too large for the store: a {what} of {bytes} bytes, the limit is {limit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size in bytes.
        bytes: usize,
        /// The most that is taken, in bytes.
        limit: usize,
    },
    /// A lazy batch contained an append. A mistake of the caller.
    #[error("a batch that appends to a stream has to be flushed")]
    LazyAppend,
    /// The disk is full; nothing of the batch was applied. The user makes room, then it can be tried again.
    #[error("the disk is full: nothing was stored; free some space and try again")]
    Full,
    /// Another process holds the store. The user closes it, or the caller attaches to it.
    #[error(
        "another process is using the data folder {}; close it first, or choose another folder",
        .folder.display()
    )]
    Busy {
        /// The folder of the store.
        folder: PathBuf,
    },
    /// A newer version of the program wrote the store. The user updates the program; nothing was changed.
    #[error(
        "the data was written by a newer version (its format needs a reader of at least {found}, \
         this is {supported}); update the program; nothing was changed"
    )]
    NewerSchema {
        /// The oldest reader that the store allows.
        found: u32,
        /// What this version reads.
        supported: u32,
    },
    /// What is on the disk cannot be read. The folder is left as it is: it can be moved aside and salvaged.
    #[error(
        "the stored data at {} cannot be read ({detail}); nothing was deleted: \
         move the folder aside to start afresh, and keep it to salvage what can be read", .path.display()
    )]
    Damaged {
        /// The file or folder that cannot be read.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// The store has been closed.
    #[error("the store is closed")]
    Closed,
    /// An earlier failure stopped the store; nothing of this batch was applied. It has to be opened again.
    #[error("the store has stopped after a failure ({cause}); restart to open it again")]
    Stopped {
        /// The failure that stopped it.
        cause: String,
    },
    /// The device or the database failed. Of a commit it is not known whether it was applied: only opening
    /// the store again tells.
    #[error("the store failed to {action} at {}: {source}", .path.display())]
    Io {
        /// What was being done, a verb phrase.
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: Arc<io::Error>,
    },
}

impl Error {
    /// For a failed commit: whether nothing of the batch was applied. If false, the outcome is unknown.
    pub fn nothing_applied(&self) -> bool {
        match self {
            Error::PreconditionFailed { .. }
            | Error::TooLarge { .. }
            | Error::LazyAppend
            | Error::Full
            | Error::Busy { .. }
            | Error::NewerSchema { .. }
            | Error::Closed
            | Error::Stopped { .. } => true,
            Error::Damaged { .. } | Error::Io { .. } => false,
        }
    }

    /// A failed file operation, of which nothing is left: a full disk is told apart.
    pub(crate) fn file(action: &'static str, path: &Path, source: io::Error) -> Self {
        if matches!(
            source.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        ) {
            Error::Full
        } else {
            Error::unknown(action, path, source)
        }
    }

    /// A failure whose outcome is unknown, so that a full disk must not be told as [`Error::Full`].
    pub(crate) fn unknown(action: &'static str, path: &Path, source: io::Error) -> Self {
        Error::Io {
            action,
            path: path.to_owned(),
            source: Arc::new(source),
        }
    }

    pub(crate) fn damaged(path: &Path, detail: impl Into<String>) -> Self {
        Error::Damaged {
            path: path.to_owned(),
            detail: detail.into(),
        }
    }
}
