//! What a message says: `{type, data}`, carried as JSON text in `Message.content`.

use serde::{Deserialize, Serialize};

use crate::{RtcStatus, ToolCallId};

/// JSON text of a [`ContentData`]. Kept as text, so that content of a kind that this version does not know survives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Content(String);

impl Content {
    /// What it says, or `None` where this version does not know the type.
    pub fn parse(&self) -> Option<ContentData> {
        serde_json::from_str(&self.0).ok()
    }

    /// The JSON text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&ContentData> for Content {
    fn from(data: &ContentData) -> Self {
        // Strings and enums only: there is no map with keys that JSON cannot hold.
        Self(serde_json::to_string(data).expect("content data always has a JSON form"))
    }
}

impl From<ContentData> for Content {
    fn from(data: ContentData) -> Self {
        Self::from(&data)
    }
}

/// The kinds of content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
pub enum ContentData {
    /// What the user typed.
    Text(String),
    /// The assistant's answer.
    Markdown(String),
    /// The assistant's reasoning.
    Thinking(String),
    /// A call, as the model wrote it.
    ToolcallInput(ToolCall),
    /// The result of a call.
    ToolcallOutput(ToolCall),
    /// Something went wrong; shown to the user, never sent to a model.
    Error(ErrorContent),
}

/// A call in a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolCall {
    /// Pairs the call with its result.
    pub id: ToolCallId,
    /// The tool asked for, also if there is none of that name.
    pub tool_name: String,
    /// The arguments as the model wrote them, byte for byte.
    pub input: String,
    /// The text that the model reads as the result, whole; the budget cuts it when a request is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// How the call ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<RtcStatus>,
}

/// An error that the user sees in the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorContent {
    /// What kind of thing failed.
    pub category: ErrorCategory,
    /// A few words.
    pub title: String,
    /// What happened and what to do.
    pub message: String,
    /// Whether trying again may help.
    pub retryable: bool,
}

/// Kinds of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ErrorCategory {
    /// The model's host answered with an error.
    Api,
    /// A limit that the user set is reached.
    Budget,
    /// The conversation does not fit.
    Context,
    /// No connection.
    Network,
    /// Key or rights.
    Permission,
    /// The answer stopped in the middle.
    Stream,
    /// A fault of ours or of the machine.
    System,
    /// Too slow.
    Timeout,
    /// A tool failed in a way that ended the turn.
    Tool,
}

/// The result of an `askUser` call: answers by question text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Answer {
    /// Question text → the chosen label or labels (joined by `, `), or free text.
    #[serde(default)]
    pub answers: serde_json::Map<String, serde_json::Value>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_has_the_wire_form() {
        let call = ToolCall {
            id: ToolCallId::new("call_1").unwrap(),
            tool_name: "read".into(),
            input: "{\"path\":\"/a\"}".into(),
            output: None,
            status: None,
        };
        let content = Content::from(ContentData::ToolcallInput(call.clone()));
        assert_eq!(
            content.as_str(),
            r#"{"type":"toolcall_input","data":{"id":"call_1","tool_name":"read","input":"{\"path\":\"/a\"}"}}"#
        );
        assert_eq!(content.parse(), Some(ContentData::ToolcallInput(call)));
    }

    #[test]
    fn content_of_an_unknown_type_is_kept_and_read_as_nothing() {
        let content: Content = serde_json::from_str(r#""{\"type\":\"hologram\",\"data\":1}""#).unwrap();
        assert_eq!(content.parse(), None);
        assert_eq!(content.as_str(), r#"{"type":"hologram","data":1}"#);
    }
}
