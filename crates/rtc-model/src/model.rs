//! The trait that every language model implements.

use async_trait::async_trait;
use futures::stream::BoxStream;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::{Error, Event, Request};

/// Which model answers, and in which dialect it is asked. Provider blocks are only ever sent back to the pair
/// that made them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModelId {
    /// The dialect, such as `offline`.
    pub api: String,
    /// The model's name in that dialect.
    pub model: String,
}

/// The events of one reply: any number of deltas, then exactly one [`Event::Done`] or one error, then the end.
///
/// All text deltas together are the text blocks of the reply, in order; likewise the thinking deltas.
pub type ModelStream = BoxStream<'static, Result<Event, Error>>;

/// A language model (or something that answers in its place).
#[async_trait]
pub trait Model: Send + Sync {
    /// Which model this is.
    fn id(&self) -> &ModelId;

    /// Asks for one reply. The request is complete: nothing of an earlier one is remembered.
    ///
    /// # Errors
    /// Any [`Error`], here if nothing has been received yet, else as the last item of the stream. When `cancel` fires,
    /// the stream ends with [`Error::Cancelled`] unless it had ended before.
    async fn stream(&self, request: &Request, cancel: CancellationToken) -> Result<ModelStream, Error>;
}
