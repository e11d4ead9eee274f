//! What a lane keeps of its session: control state only. The conversation is in the store.

use std::sync::Arc;

use rtc_tool::Kind;
use rtc_types::{ApprovalState, Mode, OutcomeKnown, RtcId};

use crate::stored::{StoredMessage, StoredRtc, StoredSession, StoredTurn};

/// The state of a session's lane.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionState {
    /// `None` until the first message.
    pub session: Option<StoredSession>,
    /// The turn that is not over: running or interrupted.
    pub turn: Option<StoredTurn>,
    /// User messages that no turn has taken, in order, each before the prompt that came with it.
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

/// What the user has to say of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Whether it may run.
    Approval,
    /// The answer to a question of the model.
    Question,
    /// What to make of a start whose outcome nobody knows.
    Outcome,
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

    /// The first open call, if an executor has something to do for it: run it, or look at what an earlier start left.
    pub fn next_for_executor(&self) -> Option<&Call> {
        let call = self
            .calls
            .first()
            .filter(|call| !call.claimed && call.stored.private.lease.is_none())
            .filter(|_| self.waits_for_user().is_none())?;
        (!self.stopping || call.stored.private.mark.is_some()).then_some(call)
    }

    /// The first open call, if the user has to say something before anything goes on.
    pub fn waits_for_user(&self) -> Option<(&Call, Asked)> {
        let call = self.calls.first()?;
        let entity = &call.stored.entity;
        let approval = entity.approval.as_ref().map(|approval| approval.state);
        let asked = if approval == Some(ApprovalState::Open) {
            Asked::Approval
        } else if entity.outcome == Some(OutcomeKnown::Unknown) {
            Asked::Outcome
        } else if call.stored.private.kind == Kind::User {
            Asked::Question
        } else {
            return None;
        };
        Some((call, asked))
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
