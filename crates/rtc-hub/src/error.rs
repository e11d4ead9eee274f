//! What can go wrong between two processes.

use std::path::PathBuf;

/// Why the other side cannot be reached.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A program did not start. Whoever configured it checks the path.
    #[error("{} could not be started: {reason}", program.display())]
    Spawn {
        /// The program.
        program: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// As many children run as may. The caller waits for one of them to end.
    #[error("{0} child processes run already, which is as many as may")]
    TooManyChildren(usize),
    /// The other side has gone.
    #[error("the connection is closed")]
    Closed,
    /// The other side does not keep to the protocol; the connection is closed.
    #[error("the other side broke the protocol: {0}")]
    Protocol(String),
    /// A frame was not sent: it has more bytes than [`crate::MAX_FRAME_BYTES`].
    #[error("{0} bytes at once are too many to be passed on")]
    TooLarge(usize),
    /// A question was not sent: it has more values than [`crate::MAX_HOST_CALL_VALUES`].
    #[error("{0} values at once are too many to be asked with")]
    TooManyValues(usize),
    /// The pipe failed; the connection is closed.
    #[error("the pipe failed: {0}")]
    Pipe(String),
}
