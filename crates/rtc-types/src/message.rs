//! Messages.

use serde::{Deserialize, Serialize};

use crate::{ClientId, Content, MessageId, SessionId, Timestamp, TurnId};

/// One entry of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// The id that the client gave it; none for messages of the assistant and of tools.
    pub client_id: Option<ClientId>,
    /// Its session.
    pub session_id: SessionId,
    /// Its turn; none for a user message, which exists before its turn does.
    pub turn_id: Option<TurnId>,
    /// A `toolcall_output` names its `toolcall_input`.
    pub parent_message_id: Option<MessageId>,
    /// Its place in the session, from 1.
    pub global_offset: u32,
    /// Its place in the turn, from 1; 0 outside of a turn.
    pub turn_offset: u32,
    /// Who speaks.
    pub role: MessageRole,
    /// What it says.
    pub content: Content,
    /// How far it is.
    pub streaming_status: StreamingStatus,
    /// Who made it.
    pub creator_kind: CreatorKind,
    /// When.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Tokens of the request that it answers; on assistant messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens of the reply; on assistant messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A call or its result.
    Tool,
    /// The program.
    System,
}

/// How far a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamingStatus {
    /// A user message that no turn has taken yet.
    Pending,
    /// Being written; its text is provisional and not part of any prompt.
    Streaming,
    /// Whole.
    Completed,
    /// Broke off; its text so far is kept and is not part of any prompt.
    Failed,
}

/// Who made a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CreatorKind {
    /// A person.
    User,
    /// The program, on behalf of the model.
    System,
}
