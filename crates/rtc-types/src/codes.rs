//! The stable codes of errors that reach a person or a client.

use std::str::FromStr;

/// A text that is no error code of this version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an error code that this version knows")]
pub struct UnknownCode(pub String);

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal $(| $older:literal)*),+ $(,)?) => {
        /// A stable error code. User interfaces branch on it, never on the text beside it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code {
            $($(#[doc = $doc])+ $name),+
        }

        impl Code {
            /// Every code.
            pub const ALL: &[Code] = &[$(Code::$name),+];

            /// The code as it stands on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Code::$name => $text),+
                }
            }

            /// What it says, as the documents have it.
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Code::$name => concat!($($doc),+)),+
                }
            }
        }

        impl FromStr for Code {
            type Err = UnknownCode;

            /// Reads a code, also in a spelling that earlier servers used.
            fn from_str(text: &str) -> Result<Self, UnknownCode> {
                match text {
                    $($text $(| $older)* => Ok(Code::$name),)+
                    _ => Err(UnknownCode(text.chars().take(80).collect())),
                }
            }
        }
    };
}

codes! {
    /// The connection has no valid token.
    Unauthorized = "auth.unauthorized" | "unauthorized",
    /// The token, or the device, may not do this.
    PermissionDenied = "auth.permission_denied" | "permission_denied",
    /// No session has this id.
    SessionNotFound = "session.not_found",
    /// The session was closed.
    SessionClosed = "session.closed",
    /// The session could not be forked.
    ForkError = "fork.error",
    /// A compaction of the session is waiting or running already.
    CompactAlreadyPending = "compact.already_pending",
    /// No message has this id.
    MessageNotFound = "message.not_found",
    /// The cursor is not a place in the session.
    MessageInvalidCursor = "message.invalid_cursor",
    /// Another message was sent under this client id.
    ClientIdConflict = "message.client_id_conflict" | "client_id_conflict",
    /// No turn has this id.
    TurnNotFound = "turn.not_found",
    /// No call has this id.
    RtcNotFound = "rtc.not_found",
    /// The client id is not that of the call.
    RtcClientIdMismatch = "rtc.client_id_mismatch",
    /// A call cannot be put into this state by a client.
    RtcInvalidStatus = "rtc.invalid_status",
    /// The call's state does not allow this.
    RtcInvalidState = "rtc.invalid_state",
    /// The result is not one that this call can have.
    RtcInvalidResult = "rtc.invalid_result",
    /// Another executor has taken the call.
    RtcClaimed = "rtc.already_claimed",
    /// The call waits for the user's answer.
    ApprovalRequired = "approval.required",
    /// The user's answer came after the approval was closed.
    ApprovalClosed = "approval.closed" | "rtc.approval_closed",
    /// A call was started and nobody knows how it ended.
    OutcomeUnknown = "outcome_unknown",
    /// No project has this id.
    ProjectNotFound = "project.not_found",
    /// The folder cannot be opened as a project.
    ProjectUnusable = "project.unusable",
    /// Nothing has this path.
    FileNotFound = "file.not_found",
    /// The file is not as the caller believes.
    FileConflict = "file.conflict",
    /// The path leads out of the project, or to something that is kept from everybody.
    FileOutside = "file.outside_project",
    /// The path is not of the kind that is needed: a folder instead of a file, or the reverse.
    FileWrongKind = "file.wrong_kind",
    /// The file is not text.
    FileNotText = "file.not_text",
    /// The encoding of the file cannot hold a character of the text.
    FileUnencodable = "file.unencodable",
    /// The file is larger than what is taken at once.
    FileTooLarge = "file.too_large",
    /// The system does not let this user do it.
    FileDenied = "file.denied",
    /// No change is there that could be undone, or no undo that could be taken back.
    NothingToUndo = "undo.nothing",
    /// The request is not an object with fields.
    InvalidRequest = "rpc.invalid_request" | "invalid_request",
    /// There is no such method.
    MethodNotFound = "rpc.method_not_found" | "method_not_found",
    /// A field of the request is wrong.
    InvalidArgument = "rpc.invalid_argument" | "invalid_argument",
    /// A fault of ours.
    Internal = "rpc.internal_error" | "internal_error",
    /// The disk has no room for new work.
    DiskFull = "store.full",
    /// Something that is stored cannot be read.
    StoreDamaged = "store.damaged",
    /// The engine is shutting down.
    ShuttingDown = "engine.shutting_down",
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl serde::Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> serde::Deserialize<'de> for Code {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Code {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Code".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let codes: Vec<&str> = Self::ALL.iter().map(|code| code.as_str()).collect();
        schemars::json_schema!({
            "description": "A stable error code. User interfaces branch on it, never on the text beside it.",
            "type": "string",
            "enum": codes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_read_as_it_is_written() {
        for &code in Code::ALL {
            assert_eq!(code.as_str().parse(), Ok(code));
            let json = serde_json::to_value(code).unwrap();
            assert_eq!(serde_json::from_value::<Code>(json).unwrap(), code);
            assert!(code.meaning().ends_with('.'), "{code}");
        }
    }

    #[test]
    fn older_spellings_are_read_and_never_written() {
        for (older, code) in [
            ("unauthorized", Code::Unauthorized),
            ("permission_denied", Code::PermissionDenied),
            ("client_id_conflict", Code::ClientIdConflict),
            ("method_not_found", Code::MethodNotFound),
            ("invalid_request", Code::InvalidRequest),
            ("internal_error", Code::Internal),
        ] {
            assert_eq!(older.parse(), Ok(code));
            assert_ne!(code.as_str(), older);
        }
        assert_eq!(
            "no.such_code".parse::<Code>(),
            Err(UnknownCode("no.such_code".into()))
        );
    }
}
