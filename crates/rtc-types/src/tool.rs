//! What clients are told of tools.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who runs a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// An executor on the user's device: each call is a remote tool call.
    Device,
    /// The user answers it, on any client.
    User,
    /// The engine itself, inside the session's lane, without a remote tool call.
    Engine,
}

/// Something that a running call tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Progress {
    /// Text for the user.
    Text {
        /// The text.
        text: String,
    },
    /// Something of the tool's own.
    Custom {
        /// What it is.
        subkind: String,
        /// Its form is the tool's.
        payload: Value,
    },
}
