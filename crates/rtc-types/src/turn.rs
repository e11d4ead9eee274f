//! Turns.

use serde::{Deserialize, Serialize};

use crate::{ClientId, SessionId, Timestamp, TurnId};

/// One request of the user and what is done for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Turn {
    /// Its id.
    pub id: TurnId,
    /// Makes its creation idempotent.
    pub client_id: ClientId,
    /// Its session.
    pub session_id: SessionId,
    /// Its state.
    pub status: TurnStatus,
    /// When it was made.
    #[cfg_attr(feature = "schema", schemars(with = "crate::DateTime"))]
    pub created_at: Timestamp,
    /// When it first ran.
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::DateTime>"))]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::DateTime>"))]
    pub completed_at: Option<Timestamp>,
    /// Why it failed.
    pub error_message: Option<String>,
}

/// State of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    /// Made, not begun.
    Pending,
    /// The model is asked.
    Running,
    /// Done.
    Completed,
    /// Ended by an error.
    Failed,
    /// Stopped by the user.
    Cancelled,
    /// Waits for calls.
    Interrupted,
    /// Its message was taken over by another turn.
    Merged,
}

impl TurnStatus {
    /// Every state.
    pub const ALL: &[TurnStatus] = &[
        TurnStatus::Pending,
        TurnStatus::Running,
        TurnStatus::Completed,
        TurnStatus::Failed,
        TurnStatus::Cancelled,
        TurnStatus::Interrupted,
        TurnStatus::Merged,
    ];

    /// Whether it never changes again.
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Pending | Self::Running | Self::Interrupted => false,
            Self::Completed | Self::Failed | Self::Cancelled | Self::Merged => true,
        }
    }

    /// Whether a turn in this state may go to `next`.
    pub const fn may_become(self, next: Self) -> bool {
        matches!(
            (self, next),
            (
                Self::Pending,
                Self::Running | Self::Merged | Self::Failed | Self::Cancelled
            ) | (
                Self::Running,
                Self::Interrupted | Self::Completed | Self::Failed | Self::Cancelled
            ) | (Self::Interrupted, Self::Running | Self::Cancelled | Self::Failed)
        )
    }
}
