//! What a model is asked.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One complete request to a model. Equal conversations give equal requests, byte for byte.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The system prompt.
    pub system: String,
    /// The tools that the model may call.
    pub tools: Vec<ToolSpec>,
    /// The conversation, oldest first.
    pub items: Vec<Item>,
    /// The most tokens that the reply may have; the model's own limit if absent.
    pub max_output_tokens: Option<u32>,
}

/// A tool as it is offered to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name that a call carries.
    pub name: String,
    /// What the tool does and when to use it.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
}

/// What stands before and behind scenarios in [`Item::User`]; what the user typed comes after them.
pub const SCENARIOS: (&str, &str) = ("<scenarios>\n", "\n</scenarios>");

/// One entry of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Item {
    /// Something that the user wrote.
    User {
        /// The message.
        text: String,
    },
    /// A reply of the model.
    Assistant {
        /// Its parts, in the order in which the model made them.
        blocks: Vec<AssistantBlock>,
    },
    /// How a tool call ended.
    ToolResult {
        /// The id of the call that this answers.
        call_id: String,
        /// The tool that was called.
        tool_name: String,
        /// What the model reads.
        text: String,
        /// Whether the call failed, was rejected or ran out of time.
        is_error: bool,
    },
}

/// A part of a model's reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AssistantBlock {
    /// What the model thought, readable. It is shown, and never sent back as such.
    Thinking {
        /// The thought.
        text: String,
    },
    /// What the model says.
    Text {
        /// The text.
        text: String,
    },
    /// The model's wish to run a tool.
    ToolCall {
        /// The id of this call, unique within the conversation.
        id: String,
        /// The tool.
        name: String,
        /// The arguments as the model wrote them: JSON if all is well.
        arguments: String,
    },
    /// A block of the provider that we keep and send back byte for byte (signed thinking, encrypted reasoning, kinds
    /// that we do not know), only ever to the same api and model. It keeps its place between the other blocks.
    Provider {
        /// The block as the provider made it.
        value: Value,
    },
}
