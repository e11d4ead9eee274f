//! Remote procedure calls: the one table of methods, what each is asked and answers, and their errors.
//!
//! A request is read with [`Request::parse`] and is then right in itself: every bound is kept, every id has the form of
//! one. What it names may still not exist.

mod call;
mod catalogue;
mod error;
mod field;
mod file;
mod message;
mod project;
mod reply;
mod session;
mod table;
mod turn;
mod undo;

pub use call::{
    Claimed, Previewed, Ran, Renewed, ReportedStatus, Resolution, RtcApprove, RtcClaim, RtcGet, RtcList,
    RtcPreview, RtcRenew, RtcResolve, RtcRun, RtcSubmitResult, RtcUpdateStatus,
};
pub use catalogue::{KeyState, ModelEntry, ModelsList, ToolEntry, ToolsList};
pub use error::RpcError;
pub use field::{Bounded, OffsetCursor, Text};
pub use file::{
    FileContent, FileEntry, FileFormat, FileKind, FileRead, FileStat, FileWritten, FsFind, FsList, FsRead,
    FsStat, FsWrite, Matches,
};
pub use message::{HistoryClear, MessageGet, MessageList, MessageOrder, MessageSend, Sent, UserContent};
pub use project::{ProjectClose, ProjectList, ProjectOpen, ProjectRecent, ProjectTrust};
pub use reply::{Item, Items, Page, Reply, Success};
pub use session::{
    Forked, SessionClose, SessionFork, SessionGet, SessionList, SessionOpen, SessionSetMode, SessionUpdate,
    SessionUpdated,
};
pub use table::{COMMON_ERRORS, Call, CallKind, CallVisitor, Documented, Method, Request, Scope};
pub use turn::{TurnGet, TurnList, TurnStop};
pub use undo::{
    CallChange, FileChange, FileChangeKind, PutBack, RefusedFile, SessionChanges, SessionRedo, SessionUndo,
    TurnChanges, Undone,
};

/// How many entries a page has where the request does not say.
pub const PAGE: u32 = 50;
/// How many sessions a page has where the request does not say.
pub const SESSION_PAGE: u32 = 20;
/// How many entries a page has at most.
pub const MAX_PAGE: u32 = 1_000;
/// How many messages a fork can be limited to, at most.
pub const MAX_FORK_MESSAGES: u32 = 1_000;
/// How many bytes a message's text may have, and its scenarios together.
pub const MAX_MESSAGE: usize = 1 << 20;
/// How many files or scenarios may come with a message, each.
pub const MAX_ATTACHMENTS: usize = 100;
/// How many bytes a project's own instructions may have.
pub const MAX_AGENT_PROMPT: usize = 1 << 18;
/// How many bytes a title may have.
pub const MAX_TITLE: usize = 1_000;
/// How many bytes a reason of the user, or the error of a call, may have.
pub const MAX_REASON: usize = 1 << 16;
/// How many bytes a path or a pattern may have.
pub const MAX_PATH: usize = 4_096;
/// How many turns a page of changes has where the request does not say.
pub const CHANGES_PAGE: u32 = 20;
/// How many hunks an undo may name.
pub const MAX_HUNKS: usize = 1_000;
/// How many bytes of a file are read where the request does not say.
pub const FILE_PART: u32 = 1 << 20;
/// How many bytes of a file are read at most, and written at most.
pub const MAX_FILE_PART: u32 = 1 << 22;
/// How many bytes the content of a write has at most: base64 needs four for three.
pub const MAX_FILE_CONTENT: usize = (MAX_FILE_PART as usize).div_ceil(3) * 4;
