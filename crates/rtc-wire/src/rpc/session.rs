//! `v1.session.*`

use rtc_types::{ClientId, MessageId, Mode, SessionId, Timestamp, TurnId};
use serde::{Deserialize, Serialize};

use super::field::{empty_is_none, none_is_empty};
use super::{Bounded, MAX_PAGE, MAX_TITLE, SESSION_PAGE, Text, UserContent};

/// What `v1.session.list` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionList {
    /// The last session of the page before.
    #[serde(
        default,
        deserialize_with = "empty_is_none::deserialize",
        skip_serializing_if = "Option::is_none"
    )]
    pub cursor: Option<SessionId>,
    /// How many sessions to give.
    #[serde(default)]
    pub limit: Bounded<SESSION_PAGE, MAX_PAGE>,
}

/// What `v1.session.get` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionGet {
    /// The session.
    pub session_id: SessionId,
}

/// What `v1.session.open` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionOpen {
    /// The session.
    pub session_id: SessionId,
}

/// What `v1.session.close` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionClose {
    /// The session.
    pub session_id: SessionId,
}

/// What `v1.session.update` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionUpdate {
    /// The session.
    pub session_id: SessionId,
    /// A new title; absent: the title stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Text<MAX_TITLE>>,
    /// Deletes the session: it is kept and not listed any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<rtc_types::DateTime>"))]
    pub deleted_at: Option<Timestamp>,
}

/// What `v1.session.fork` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionFork {
    /// The session to copy from.
    pub old_server_session_id: SessionId,
    /// Its user message that is written anew; what comes before it is copied.
    pub old_server_message_id: MessageId,
    /// The client's id of the new session.
    pub new_client_session_id: ClientId,
    /// The client's id of the new message.
    pub new_client_message_id: ClientId,
    /// What the new message says.
    pub content_data: UserContent,
    /// How many messages the new session has at most, the newest of them, drawn into 1 to 1000; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// What `v1.session.set_mode` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionSetMode {
    /// The session.
    pub session_id: SessionId,
    /// What is asked before a tool runs, from now on.
    pub mode: Mode,
}

/// The session that was changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionUpdated {
    /// The session.
    pub session_id: SessionId,
}

/// The new session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Forked {
    /// The new session.
    pub session_id: SessionId,
    /// Empty: the turn is made when it begins.
    #[serde(default, with = "none_is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub turn_id: Option<TurnId>,
    /// Its messages, in order; the last is the new one.
    pub message_ids: Vec<MessageId>,
}
