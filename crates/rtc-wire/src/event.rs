//! What the two channels of a user carry.

use rtc_types::{Code, MessageId, Progress, ProjectId, RtcId, SessionId, Timestamp, Update};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// What a publication on `topic:u=<user>` carries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum TopicEvent {
    /// Nothing is at this offset; only the client's position goes on.
    Gap {},
    /// A change.
    #[serde(untagged)]
    Update(Update),
}

/// What a publication on `live:u=<user>` carries. All but updates go only to clients that asked for them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum LiveEvent {
    /// The model goes on writing.
    Delta(TextDelta),
    /// A call tells of its progress.
    Progress(CallProgress),
    /// Something does not go on by itself.
    Trouble(Trouble),
    /// A watched file changed.
    File(FileChanged),
    /// A message that is being written, with its whole text so far; its offset is 0.
    #[serde(untagged)]
    Update(Update),
}

/// What the model added to a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TextDelta {
    /// The session.
    pub session_id: SessionId,
    /// The message being written.
    pub message_id: MessageId,
    /// Whether it is a thought.
    pub thinking: bool,
    /// Which addition to the message this is, from 1. After a hole the message is read again.
    pub sequence: u64,
    /// What was added.
    pub delta: String,
}

/// What a running call tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallProgress {
    /// The call.
    pub rtc_id: RtcId,
    /// What it tells.
    pub progress: Progress,
}

/// Something of a session does not go on by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trouble {
    /// The session.
    pub session_id: SessionId,
    /// What kind of trouble.
    pub code: Code,
    /// What happened and what to do.
    pub message: String,
}

/// A watched file is not as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileChanged {
    /// The project it is in.
    pub project_id: ProjectId,
    /// Its virtual path.
    pub path: String,
    /// What happened to it.
    pub change: FileChange,
}

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileChange {
    /// It is new.
    Created,
    /// Its content changed.
    Changed,
    /// It is gone.
    Removed,
}

/// Stands in an update for an entity that is no more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gone {
    /// Its id.
    pub id: Uuid,
    /// When that was noticed.
    #[cfg_attr(feature = "schema", schemars(with = "rtc_types::DateTime"))]
    pub deleted_at: Timestamp,
}
