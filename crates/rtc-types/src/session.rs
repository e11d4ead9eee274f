//! Sessions.

use serde::{Deserialize, Serialize};

use crate::{ClientId, DeviceId, Mode, ProjectId, SessionId, Timestamp, UserId};

/// A conversation, bound to one device and one project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
    /// When it was deleted.
    pub deleted_at: Option<Timestamp>,
    /// Tokens sent, without cached ones.
    pub total_input_tokens: u64,
    /// Tokens received.
    pub total_output_tokens: u64,
    /// All tokens.
    pub total_tokens: u64,
}

/// Kinds of owners.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnerKind {
    /// A person.
    User,
    /// The program.
    System,
}

/// State of a session. While a call is open it is `idle`: look at the turn to see whether something goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// A turn runs.
    Active,
    /// Nothing runs, or a call is waited for.
    Idle,
    /// Takes no messages.
    Closed,
}

/// A step of the model's list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    /// Not begun.
    Pending,
    /// Begun.
    InProgress,
    /// Done.
    Completed,
}
