//! Why a request was not done.

use rtc_types::Code;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Why a request was not done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[error("{code}: {message}")]
pub struct RpcError {
    /// The stable code; user interfaces branch on it.
    pub code: Code,
    /// What is wrong and what to do, for a person.
    pub message: String,
    /// More for programs: `{"field": …}` where a field of the request is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl RpcError {
    /// An error without details.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            details: None,
        }
    }

    /// A field of the request is wrong.
    pub fn field(code: Code, field: &str, what: impl std::fmt::Display) -> Self {
        Self {
            code,
            message: format!("`{field}`: {what}"),
            details: Some(serde_json::json!({ "field": field })),
        }
    }
}
