//! What a lane keeps of its session: control state only. The conversation is in the store.

use std::sync::Arc;

use rtc_types::{Mode, RtcId};

use crate::stored::{StoredMessage, StoredRtc, StoredSession, StoredTurn};

/// The state of a session's lane.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionState {
    /// `None` until the first message.
    pub session: Option<StoredSession>,
    /// The turn that is not over: running or interrupted.
    pub turn: Option<StoredTurn>,
    /// User messages that no turn has taken, in order.
    pub waiting: Vec<Arc<StoredMessage>>,
    /// Messages that the model is writing, in order.
    pub streaming: Vec<StoredMessage>,
    /// Calls of the turn that have no result, in the order in which they run.
    pub calls: Vec<Call>,
    /// A stop waits for the running call to end.
    pub stopping: bool,
}

/// A call without a result.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The record.
    pub stored: StoredRtc,
    /// An executor of this process runs it.
    pub claimed: bool,
}

impl Call {
    /// The user answers it, not an executor.
    pub fn is_for_the_user(&self) -> bool {
        self.stored.private.kind == rtc_tool::Kind::User
    }
}

impl SessionState {
    /// Of a session that does not exist yet.
    pub fn new() -> Self {
        Self {
            session: None,
            turn: None,
            waiting: Vec::new(),
            streaming: Vec::new(),
            calls: Vec::new(),
            stopping: false,
        }
    }

    /// The mode in force.
    pub fn mode(&self) -> Mode {
        self.session
            .as_ref()
            .map(|session| session.entity.mode)
            .unwrap_or_default()
    }

    /// The call with this id, if it is open.
    pub fn call(&self, rtc: RtcId) -> Option<&Call> {
        self.calls.iter().find(|call| call.stored.entity.id == rtc)
    }

    /// Nothing goes on and nothing waits.
    pub fn is_idle(&self) -> bool {
        self.turn.is_none() && self.waiting.is_empty()
    }
}

impl Default for SessionState {
    fn default() -> Self {
        Self::new()
    }
}
