//! What goes wrong behind a connection.

/// Why a source cannot answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The stream cannot be read now. The client tries again.
    #[error("the stream of updates cannot be read: {0}")]
    Unreadable(String),
}
