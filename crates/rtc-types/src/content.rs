//! What a message says: `{type, data}`, carried as JSON text in `Message.content`.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

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
        // Strings, enums and JSON objects: there is no map with keys that JSON cannot hold.
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
    /// What the user typed, with what belongs to it.
    UserMessage(UserMessage),
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
    /// What the model reads besides what the user typed: the scenarios of the message that is its parent.
    Prompt(PromptContent),
}

impl From<UserMessage> for ContentData {
    /// Plain text where nothing belongs to it.
    fn from(message: UserMessage) -> Self {
        if message.files.is_empty() && message.scenarios.is_empty() {
            Self::Text(message.text)
        } else {
            Self::UserMessage(message)
        }
    }
}

/// Text with what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UserMessage {
    /// The text that was typed.
    pub text: String,
    /// Files that were attached. They come with uploads, in a later version: until then a message with files is refused.
    #[serde(
        default,
        deserialize_with = "null_is_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub files: Vec<FileAttachment>,
    /// Scenarios that were chosen.
    #[serde(
        default,
        deserialize_with = "null_is_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub scenarios: Vec<ScenarioRef>,
}

fn null_is_empty<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A file that was uploaded before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileAttachment {
    /// Its media type.
    pub mimetype: String,
    /// Its id.
    pub fileid: String,
    /// What else the client keeps of it, such as its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Map<String, Value>>,
}

/// A scenario, whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScenarioRef {
    /// Its title.
    pub title: String,
    /// Where it is.
    pub filepath: String,
    /// All of it.
    pub file_content: String,
}

/// What the model reads besides what the user typed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PromptContent {
    /// What it is: `scenarios`.
    pub name: String,
    /// A line to show for it: the titles of the scenarios, at most 97 characters of them and `…` where that is not all.
    pub title: String,
    /// The text: each scenario that is not empty, beneath its title.
    pub body: String,
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
    fn what_comes_with_a_text_is_kept_to_the_byte_and_a_text_alone_is_plain() {
        let json = concat!(
            r##"{"type":"user_message","data":{"text":"Tidy","scenarios":[{"title":"T\u00e9","##,
            r##""filepath":"/scenarios/tidy.md","file_content":"# Tidy\r\n\t\u0000 \"x\"  \n"}]}}"##
        );
        let read = serde_json::from_str::<ContentData>(json).unwrap();
        let ContentData::UserMessage(message) = read.clone() else {
            panic!("{read:?}")
        };
        assert_eq!(message.scenarios[0].file_content, "# Tidy\r\n\t\0 \"x\"  \n");
        assert_eq!(ContentData::from(message.clone()), read);
        assert_eq!(Content::from(&read).parse(), Some(read));
        let alone = UserMessage {
            scenarios: Vec::new(),
            ..message
        };
        assert_eq!(ContentData::from(alone), ContentData::Text("Tidy".into()));
    }

    #[test]
    fn content_of_an_unknown_type_is_kept_and_read_as_nothing() {
        let content: Content = serde_json::from_str(r#""{\"type\":\"hologram\",\"data\":1}""#).unwrap();
        assert_eq!(content.parse(), None);
        assert_eq!(content.as_str(), r#"{"type":"hologram","data":1}"#);
    }
}
