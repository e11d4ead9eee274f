//! Sessions.

use serde::{Deserialize, Serialize};

use crate::{ClientId, DeviceId, MessageId, Mode, ProjectId, SessionId, Timestamp, UserId};

/// A conversation, bound to one device and one project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// The id that the client gave it.
    pub client_id: ClientId,
    /// Who owns it.
    pub owner_kind: OwnerKind,
    /// The owner.
    pub owner_ref_id: UserId,
    /// The device that created it and runs its calls.
    pub device_id: DeviceId,
    /// The folder it works in; never changes. `None`: a private scratch folder.
    pub project_id: Option<ProjectId>,
    /// What lists show: the first 50 characters of the first message, until somebody renames it.
    pub title: String,
    /// Its state.
    pub status: SessionStatus,
    /// What is asked before a tool runs.
    pub mode: Mode,
    /// The model's own list of steps.
    pub todo_list: Vec<TodoItem>,
    /// When it began.
    #[cfg_attr(feature = "schema", schemars(with = "crate::DateTime"))]
    pub created_at: Timestamp,
    /// When it last changed.
    #[cfg_attr(feature = "schema", schemars(with = "crate::DateTime"))]
    pub updated_at: Timestamp,
    /// When it was closed.
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::DateTime>"))]
    pub closed_at: Option<Timestamp>,
    /// When it was deleted.
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::DateTime>"))]
    pub deleted_at: Option<Timestamp>,
    /// The project's own instructions as they were when it began; never changes.
    #[serde(default)]
    pub agent_prompt: Option<String>,
    /// The client's id of the session at the top of its tree; null: it is the top itself.
    #[serde(default)]
    pub root_client_session_id: Option<ClientId>,
    /// The session at the top of its tree; null: it is the top itself.
    #[serde(default)]
    pub root_server_session_id: Option<SessionId>,
    /// The client's id of the session that began it; null: a person did.
    #[serde(default)]
    pub parent_client_session_id: Option<ClientId>,
    /// The session that began it; null: a person did.
    #[serde(default)]
    pub parent_server_session_id: Option<SessionId>,
    /// The message of the parent that began it.
    #[serde(default)]
    pub sub_agent_parent_message_id: Option<MessageId>,
    /// Tokens sent that were read in full: without those that came from the provider's cache or were stored there.
    pub total_input_tokens: u64,
    /// Tokens received, reasoning included.
    pub total_output_tokens: u64,
    /// All tokens: sent, from the cache, into the cache, and received.
    pub total_tokens: u64,
    /// Tokens sent that came from the provider's cache. Those of replies from before they were counted are missing.
    #[serde(default)]
    pub total_cached_read_tokens: u64,
    /// Tokens sent that were stored in the provider's cache. Those of replies from before they were counted are missing.
    #[serde(default)]
    pub total_cached_write_tokens: u64,
    /// Those tokens received that were reasoning. Those of replies from before they were counted are missing.
    #[serde(default)]
    pub total_reasoning_tokens: u64,
    /// When tokens were last added; null: never since this is kept.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::DateTime>"))]
    pub last_token_update_at: Option<Timestamp>,
    /// The history was cleared: turns whose first message has this `global_offset`, or one before, are in no request of a
    /// later turn. Absent: it never was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleared_offset: Option<u32>,
}

impl Session {
    /// The session at the top of its tree: itself, if a person began it.
    pub fn tree(&self) -> SessionId {
        self.root_server_session_id.unwrap_or(self.id)
    }
}

/// Kinds of owners.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OwnerKind {
    /// A person.
    User,
    /// The program.
    System,
}

/// State of a session. While a call is open it is `idle`: look at the turn to see whether something goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// A turn runs.
    Active,
    /// Nothing runs, or a call is waited for.
    Idle,
    /// Takes no messages.
    Closed,
}

impl SessionStatus {
    /// Every state.
    pub const ALL: &[SessionStatus] = &[SessionStatus::Active, SessionStatus::Idle, SessionStatus::Closed];

    /// Whether a session in this state may go to `next`. A closed one is opened before anything begins in it.
    pub const fn may_become(self, next: Self) -> bool {
        matches!(
            (self, next),
            (Self::Active, Self::Idle | Self::Closed)
                | (Self::Idle, Self::Active | Self::Closed)
                | (Self::Closed, Self::Idle)
        )
    }
}

/// A step of the model's list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TodoItem {
    /// What is to be done, imperative.
    pub content: String,
    /// How far it is.
    pub status: TodoStatus,
    /// The same while it is done, present continuous.
    pub active_form: String,
}

/// State of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// Begun.
    InProgress,
    /// Done.
    Completed,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As it was written before there were trees.
    const WITHOUT_TREE: &str = r#"{"id":"0198c0de-0000-7000-8000-000000000001","client_id":"c-1","owner_kind":"user",
        "owner_ref_id":"0198c0de-0000-7000-8000-0000000000a1","device_id":"0198c0de-0000-7000-8000-0000000000d1",
        "project_id":null,"title":"Hello","status":"idle","mode":"edit","todo_list":[],
        "created_at":"2026-01-02T03:04:05Z","updated_at":"2026-01-02T03:04:05Z","closed_at":null,"deleted_at":null,
        "total_input_tokens":1,"total_output_tokens":2,"total_tokens":3}"#;

    #[test]
    fn a_session_from_before_there_were_trees_is_the_top_of_one() {
        let session: Session = serde_json::from_str(WITHOUT_TREE).unwrap();
        let json = serde_json::to_value(&session).unwrap();
        for field in [
            "total_cached_read_tokens",
            "total_cached_write_tokens",
            "total_reasoning_tokens",
        ] {
            assert_eq!(json.get(field), Some(&0.into()), "{field}");
        }
        for field in [
            "last_token_update_at",
            "agent_prompt",
            "root_client_session_id",
            "root_server_session_id",
            "parent_client_session_id",
            "parent_server_session_id",
            "sub_agent_parent_message_id",
        ] {
            assert_eq!(json.get(field), Some(&serde_json::Value::Null), "{field}");
        }
    }
}
