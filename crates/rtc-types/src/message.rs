//! Messages.

use serde::{Deserialize, Serialize};

use crate::{ClientId, Content, MessageId, SessionId, Timestamp, TurnId, UserId};

/// One entry of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// The id that the client gave it; none for messages of the assistant and of tools.
    pub client_id: Option<ClientId>,
    /// Its session.
    pub session_id: SessionId,
    /// Its turn; none for a user message, which exists before its turn does.
    pub turn_id: Option<TurnId>,
    /// A `toolcall_output` names its `toolcall_input`, a `prompt` the user's message that it came with.
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
    /// Who made it, by id. Messages from before it was kept say `system`.
    #[serde(default)]
    pub creator_ref_id: CreatorRef,
    /// When.
    #[cfg_attr(feature = "schema", schemars(with = "crate::DateTime"))]
    pub created_at: Timestamp,
    /// When it last changed.
    #[cfg_attr(feature = "schema", schemars(with = "crate::DateTime"))]
    pub updated_at: Timestamp,
    /// Tokens of the request that it answers which were read in full: without those that came from the provider's cache or
    /// were stored there. Like all counts of tokens on the first assistant message of a reply, and on no other message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens of the reply, reasoning included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// All tokens of request and reply, those that came from the cache or were stored there included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// Tokens of the request that came from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// Those tokens of the reply that were reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StreamingStatus {
    /// A user message that no turn has taken yet, or the `prompt` that came with it.
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CreatorKind {
    /// A person.
    User,
    /// The program, on behalf of the model.
    System,
}

/// Who made a message, by id: a user's id, or `system`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CreatorRef {
    /// This person.
    User(UserId),
    /// The program, on behalf of the model.
    #[default]
    System,
}

/// How [`CreatorRef::System`] is written.
const SYSTEM: &str = "system";

impl Serialize for CreatorRef {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::User(user) => user.serialize(serializer),
            Self::System => serializer.serialize_str(SYSTEM),
        }
    }
}

impl<'de> Deserialize<'de> for CreatorRef {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == SYSTEM {
            return Ok(Self::System);
        }
        text.parse().map(Self::User).map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for CreatorRef {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CreatorRef".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Who made a message, by id: a user's id, or `system`.",
            "type": "string",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_creator_is_a_user_or_the_system() {
        let user = "0198c0de-0000-7000-8000-0000000000a1";
        for (creator, json) in [
            (CreatorRef::System, "\"system\"".to_owned()),
            (CreatorRef::User(user.parse().unwrap()), format!("\"{user}\"")),
        ] {
            assert_eq!(serde_json::to_string(&creator).unwrap(), json);
            assert_eq!(serde_json::from_str::<CreatorRef>(&json).unwrap(), creator);
            assert_eq!(
                serde_json::from_value::<CreatorRef>(serde_json::from_str(&json).unwrap()).unwrap(),
                creator
            );
        }
        assert!(serde_json::from_str::<CreatorRef>("\"nobody\"").is_err());
    }
}
