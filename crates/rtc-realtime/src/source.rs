//! What a user's stream offers to connections.

use std::ops::RangeInclusive;
use std::sync::Arc;

use async_trait::async_trait;
use rtc_types::{MessageId, SessionId, Update};
use serde_json::Value;
use tokio::sync::{broadcast, watch};

use crate::{Caller, Error};

/// Where a stream stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The offset of the newest update; 0 before the first.
    pub offset: u64,
    /// Which life of the stream it belongs to: offsets of different epochs cannot be compared.
    pub epoch: Arc<str>,
}

/// One entry of a stream, as a caller may see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its place.
    pub offset: u64,
    /// What changed, with the entities as they are now; items that the caller may not see are left out.
    pub update: Result<Update, Withheld>,
}

/// Why an update is not shown. Its offset is told all the same, so that the client sees no gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Withheld {
    /// It cannot be read.
    #[error("the update cannot be read")]
    Unreadable,
    /// Nothing of it is for this caller: a call that waits for an approval, for a client that knows none.
    #[error("the update is not for this client")]
    Hidden,
}

/// What is told at once and kept nowhere.
#[derive(Debug, Clone)]
pub enum LiveEvent {
    /// A message being written has grown.
    Text {
        /// Its session.
        session: SessionId,
        /// The message.
        message: MessageId,
        /// Whether it is a thought.
        thinking: bool,
        /// What was added.
        delta: Arc<str>,
        /// Which piece of the message this is, from 1, without gaps.
        sequence: u64,
    },
    /// Anything else (progress of a call, trouble, a watched file), as clients get it. Told to clients of our own
    /// protocol only: others take every live publication for an update.
    Event(Arc<Value>),
}

/// A message being written, as it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveText {
    /// The update as clients get it, with the full text; offset 0.
    pub update: Update,
    /// How many pieces the text has: the [`LiveEvent::Text::sequence`] of the last one.
    pub sequence: u64,
}

/// What happened to a user, and what is happening.
///
/// Offsets are strictly increasing; an offset up to the position that no row has is a gap, which is told as such. What
/// [`position`](Self::position) shows can be read by [`updates`](Self::updates).
#[async_trait]
pub trait Source: Send + Sync + 'static {
    /// Where the stream stands; changes with every update, and with the epoch.
    fn position(&self) -> watch::Receiver<Position>;

    /// Ascending, the rows strictly after an offset, at most `limit`; fewer only if there are no more. A row that
    /// `caller` may not see, or that cannot be read, is a row too, without its update.
    async fn updates(&self, caller: &Caller, after: u64, limit: usize) -> Result<Vec<Row>, Error>;

    /// What is told at once. A listener that is too slow misses some.
    fn live(&self) -> broadcast::Receiver<LiveEvent>;

    /// The text so far of a message; nothing if it is not being written any more.
    async fn text(&self, message: MessageId) -> Option<LiveText>;

    /// Updates were taken by the socket of a caller. Called at least once for each that is; must not wait.
    fn delivered(&self, caller: &Caller, offsets: RangeInclusive<u64>);
}
