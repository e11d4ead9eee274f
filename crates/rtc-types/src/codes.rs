//! The stable codes of errors that reach a person or a client.

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal),+ $(,)?) => {
        /// A stable error code. User interfaces branch on it, never on the text beside it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code {
            $($(#[$doc])* $name),+
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
        }
    };
}

codes! {
    /// No session has this id.
    SessionNotFound = "session.not_found",
    /// The session was closed.
    SessionClosed = "session.closed",
    /// Another message was sent under this client id.
    ClientIdConflict = "message.client_id_conflict",
    /// No turn has this id.
    TurnNotFound = "turn.not_found",
    /// No call has this id.
    RtcNotFound = "rtc.not_found",
    /// The call's state does not allow this.
    RtcInvalidState = "rtc.invalid_state",
    /// The result is not one that this call can have.
    RtcInvalidResult = "rtc.invalid_result",
    /// The user's answer came after the approval was closed.
    ApprovalClosed = "rtc.approval_closed",
    /// A call was started and nobody knows how it ended.
    OutcomeUnknown = "outcome_unknown",
    /// A field of the request is wrong.
    InvalidArgument = "rpc.invalid_argument",
    /// A fault of ours.
    Internal = "rpc.internal_error",
    /// The disk has no room for new work.
    DiskFull = "store.full",
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
