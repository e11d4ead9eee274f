//! Ids, entities (they are the wire shape), enums, state machines as pure functions, error codes and the clock trait.
//!
//! Nothing here does I/O, asks for the time or for randomness: both arrive in a [`Stamp`].

mod clock;
mod codes;
mod content;
mod ids;
mod message;
mod permission;
mod project;
mod rtc;
mod session;
mod tool;
mod turn;
mod update;

pub use clock::{Clock, Mint, Stamp};
pub use codes::{Code, UnknownCode};
pub use content::{
    Answer, Content, ContentData, ErrorCategory, ErrorContent, FileAttachment, PromptContent, ScenarioRef,
    ToolCall, UserMessage,
};
pub use ids::{
    ClientId, DeviceId, IdError, MessageId, ProjectId, RtcId, RuleId, SessionId, ToolCallId, TurnId,
    UpdateId, UserId,
};
pub use message::{CreatorKind, CreatorRef, Message, MessageRole, StreamingStatus};
pub use permission::{
    Approval, ApprovalDecision, ApprovalState, Mode, Preview, PreviewKind, Program, Rule, RuleEffect,
    RuleScope,
};
pub use project::Project;
pub use rtc::{Effect, OutcomeKnown, Rtc, RtcStatus};
pub use session::{OwnerKind, Session, SessionStatus, TodoItem, TodoStatus};
pub use tool::{Progress, ToolKind};
pub use turn::{Turn, TurnStatus};
pub use update::{Update, UpdateAction, UpdateEntity, UpdateItem};

/// A moment on the wall clock; RFC 3339 on the wire.
pub type Timestamp = jiff::Timestamp;

/// The JSON Schema of a [`Timestamp`], for the fields that hold one.
#[cfg(feature = "schema")]
#[derive(Debug, schemars::JsonSchema)]
#[schemars(inline)]
pub struct DateTime(#[schemars(extend("format" = "date-time"))] pub String);
