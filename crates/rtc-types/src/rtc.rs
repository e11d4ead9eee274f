//! Remote tool calls.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Approval, ClientId, DeviceId, MessageId, Preview, RtcId, SessionId, Timestamp, TurnId};

/// A call that the user's device runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rtc {
    /// Its id.
    pub id: RtcId,
    /// What a client echoes when it submits a result.
    pub client_id: ClientId,
    /// Its session.
    pub session_id: SessionId,
    /// The device that runs it.
    pub device_id: DeviceId,
    /// Its turn.
    pub turn_id: TurnId,
    /// The `toolcall_input`.
    pub message_id: MessageId,
    /// The `toolcall_output`, once there is one.
    pub output_message_id: Option<MessageId>,
    /// Its place among the calls of the session, from 1; calls run in this order.
    pub offset: u32,
    /// The tool.
    pub tool_name: String,
    /// The checked arguments.
    pub parameters: Value,
    /// Its state.
    pub status: RtcStatus,
    /// How often it was started.
    pub attempt: u32,
    /// The user's decision, where one is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// Where a call that the user answers was answered; absent: it was not, or not by a client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<DeviceId>,
    /// What an approval shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<Preview>,
    /// Set while it is `executing` and nobody knows whether it took effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<OutcomeKnown>,
    /// What a call that did not complete has changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// What the tool gave.
    pub result: Option<Value>,
    /// Why it failed or was refused.
    pub error_message: Option<String>,
    /// When it was made.
    #[cfg_attr(feature = "schema", schemars(with = "crate::DateTime"))]
    pub created_at: Timestamp,
    /// When it last changed.
    #[cfg_attr(feature = "schema", schemars(with = "crate::DateTime"))]
    pub updated_at: Timestamp,
    /// When it ended.
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::DateTime>"))]
    pub completed_at: Option<Timestamp>,
}

/// State of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RtcStatus {
    /// Made.
    Pending,
    /// The device has taken it.
    Sent,
    /// It runs, or may have run when its process died.
    Executing,
    /// It has a result.
    Completed,
    /// It ended with an error.
    Failed,
    /// It took too long.
    Timeout,
    /// The user, a rule or a stop refused it.
    Rejected,
}

impl RtcStatus {
    /// Every state.
    pub const ALL: &[RtcStatus] = &[
        RtcStatus::Pending,
        RtcStatus::Sent,
        RtcStatus::Executing,
        RtcStatus::Completed,
        RtcStatus::Failed,
        RtcStatus::Timeout,
        RtcStatus::Rejected,
    ];

    /// Whether it never changes again.
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Pending | Self::Sent | Self::Executing => false,
            Self::Completed | Self::Failed | Self::Timeout | Self::Rejected => true,
        }
    }

    /// Whether a call in this state may go to `next`. A call that is started again stays `executing`.
    pub const fn may_become(self, next: Self) -> bool {
        match (self, next) {
            (Self::Pending, Self::Sent | Self::Executing) | (Self::Sent, Self::Executing) => true,
            (Self::Pending | Self::Sent | Self::Executing, _) => next.is_terminal(),
            _ => false,
        }
    }
}

/// Whether the outcome of a started call is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKnown {
    /// It was started and its process died; the user decides what to make of it.
    Unknown,
}

/// What a call has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing.
    None,
    /// All that it was to change.
    Applied,
    /// Nobody knows.
    Unknown,
}
