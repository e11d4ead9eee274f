//! `v1.message.*` and `v1.history.clear`, and what a user says.

use rtc_types::{ClientId, MessageId, Mode, ProjectId, SessionId, TurnId, UserMessage};
use serde::{Deserialize, Serialize};

use super::field::{empty_is_none, none_is_empty, null_is_default, too_long};
use super::{Bounded, MAX_AGENT_PROMPT, MAX_ATTACHMENTS, MAX_MESSAGE, MAX_PAGE, OffsetCursor, PAGE, Text};

/// What `v1.message.send` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessageSend {
    /// What it says.
    pub content_data: UserContent,
    /// The client's id of the session.
    pub client_session_id: ClientId,
    /// The client's id of the message: sending it again is sending it once.
    pub client_id: ClientId,
    /// The session; absent or empty: a new one.
    #[serde(
        default,
        deserialize_with = "empty_is_none::deserialize",
        skip_serializing_if = "Option::is_none"
    )]
    pub server_session_id: Option<SessionId>,
    /// The project's own instructions, for a new session.
    #[serde(
        default,
        deserialize_with = "empty_is_none::deserialize",
        skip_serializing_if = "Option::is_none"
    )]
    pub agent_prompt: Option<Text<MAX_AGENT_PROMPT>>,
    /// The folder that a new session works in; absent: that of the window, or the first one that is served.
    #[serde(
        default,
        deserialize_with = "empty_is_none::deserialize",
        skip_serializing_if = "Option::is_none"
    )]
    pub project_id: Option<ProjectId>,
    /// What is asked before a tool runs in a new session; absent: as it is configured. Needs the scope `approve`, too.
    #[serde(
        default,
        deserialize_with = "empty_is_none::deserialize",
        skip_serializing_if = "Option::is_none"
    )]
    pub mode: Option<Mode>,
}

/// What `v1.message.list` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessageList {
    /// The session.
    pub session_id: SessionId,
    /// The `global_offset` of the last message of the page before, in the order of the pages.
    #[serde(
        default,
        deserialize_with = "empty_is_none::deserialize",
        skip_serializing_if = "Option::is_none"
    )]
    pub cursor: Option<OffsetCursor>,
    /// How many messages to give.
    #[serde(default)]
    pub limit: Bounded<PAGE, MAX_PAGE>,
    /// Which messages come first. A page goes on after its cursor, in this order.
    #[serde(default, deserialize_with = "null_is_default")]
    pub order: MessageOrder,
}

/// Which messages of a session come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MessageOrder {
    /// The first one that was said.
    #[default]
    OldestFirst,
    /// The last one.
    NewestFirst,
}

/// What `v1.message.get` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MessageGet {
    /// The message.
    pub message_id: MessageId,
}

/// What `v1.history.clear` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HistoryClear {
    /// The session.
    pub session_id: SessionId,
}

/// The message that was sent, now or before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sent {
    /// Its session.
    pub session_id: SessionId,
    /// Empty: the turn is made when it begins.
    #[serde(default, with = "none_is_empty")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub turn_id: Option<TurnId>,
    /// The message.
    pub message_id: MessageId,
}

/// What a user says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(!try_from))]
#[serde(
    tag = "type",
    content = "data",
    rename_all = "snake_case",
    try_from = "Written"
)]
pub enum UserContent {
    /// Plain text.
    Text(String),
    /// Text with what belongs to it.
    UserMessage(UserMessage),
}

/// As it comes, before its bounds are checked.
#[derive(Deserialize)]
#[serde(
    tag = "type",
    content = "data",
    rename_all = "snake_case",
    expecting = "an object with `type` and `data`"
)]
enum Written {
    Text(String),
    UserMessage(UserMessage),
}

impl TryFrom<Written> for UserContent {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let content = match written {
            Written::Text(text) => Self::Text(text),
            Written::UserMessage(message) => Self::UserMessage(message),
        };
        let alone = match &content {
            Self::Text(_) => true,
            Self::UserMessage(message) => {
                for (what, count) in [
                    ("files", message.files.len()),
                    ("scenarios", message.scenarios.len()),
                ] {
                    if count > MAX_ATTACHMENTS {
                        return Err(format!(
                            "it has {count} {what}, and {MAX_ATTACHMENTS} are the most"
                        ));
                    }
                }
                let mut scenarios = message.scenarios.iter();
                message.files.is_empty() && scenarios.all(|scenario| scenario.file_content.trim().is_empty())
            }
        };
        if alone && content.text().trim().is_empty() {
            return Err("the text is empty".to_owned());
        }
        too_long(content.text(), MAX_MESSAGE)?;
        if let Self::UserMessage(message) = &content {
            let scenarios = message.scenarios.iter();
            let bytes: usize = scenarios
                .map(|scenario| scenario.title.len() + scenario.filepath.len() + scenario.file_content.len())
                .sum();
            if bytes > MAX_MESSAGE {
                return Err(format!(
                    "its scenarios have {bytes} bytes, and {MAX_MESSAGE} are the most"
                ));
            }
        }
        Ok(content)
    }
}

impl UserContent {
    /// The text that was typed.
    pub fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::UserMessage(message) => &message.text,
        }
    }
}
