//! Why a call gave no result.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Why a call gave no result. `message` is what the model reads: what was wrong and what would be right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// What kind of thing went wrong.
    pub kind: ErrorKind,
    /// What the model reads.
    pub message: String,
    /// More, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// Kinds of errors. Open: a peer may send one that this version does not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The arguments are wrong.
    InvalidArguments,
    /// What they name does not exist.
    NotFound,
    /// The user, a rule or the jail forbids it.
    PermissionDenied,
    /// It took longer than it may.
    Timeout,
    /// It was cancelled and has had no effect.
    Cancelled,
    /// The file is not as the session knows it.
    Stale,
    /// The disk is full.
    Full,
    /// It failed.
    Execution,
    /// A kind that this version does not know.
    #[serde(untagged)]
    Other(String),
}

impl ToolError {
    /// An error of this kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            details: None,
        }
    }

    /// The arguments are wrong; the message names the field.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArguments, message)
    }

    /// What they name does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// It is forbidden.
    pub fn denied(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::PermissionDenied, message)
    }

    /// It was cancelled and has had no effect.
    pub fn cancelled() -> Self {
        Self::new(
            ErrorKind::Cancelled,
            "the call was cancelled before it changed anything",
        )
    }

    /// Whether an error of this kind promises that nothing was changed.
    pub fn says_nothing_changed(&self) -> bool {
        match self.kind {
            ErrorKind::InvalidArguments
            | ErrorKind::NotFound
            | ErrorKind::PermissionDenied
            | ErrorKind::Cancelled
            | ErrorKind::Stale
            | ErrorKind::Full => true,
            ErrorKind::Timeout | ErrorKind::Execution | ErrorKind::Other(_) => false,
        }
    }

    /// It failed.
    pub fn execution(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Execution, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_survives_the_wire_also_of_an_unknown_kind() {
        for kind in [
            ErrorKind::Stale,
            ErrorKind::Full,
            ErrorKind::Other("rate_limited".into()),
        ] {
            let error = ToolError {
                details: Some(serde_json::json!({"n": 1})),
                ..ToolError::new(kind, "why")
            };
            let text = serde_json::to_string(&error).unwrap();
            assert_eq!(serde_json::from_str::<ToolError>(&text).unwrap(), error, "{text}");
        }
    }
}
