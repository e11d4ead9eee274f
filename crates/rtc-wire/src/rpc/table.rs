//! The table: every method with its scope, its errors, and the types of its request and its result.

use std::fmt;

use rtc_types::{Code, Message, Project, Rtc, RtcId, Session, SessionId, Turn, TurnId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::*;

/// What a connection must be allowed to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// See sessions.
    View,
    /// Speak in them, stop, close and fork them.
    Converse,
    /// Answer for the user: approvals, questions, modes, trust.
    Approve,
    /// Act on the device: run calls, reach the files of its projects.
    Execute,
}

impl Scope {
    /// The scope as it stands in a token.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Converse => "converse",
            Self::Approve => "approve",
            Self::Execute => "execute",
        }
    }
}

/// Whether a method changes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    /// It only tells.
    Query,
    /// It changes something; its reply carries the updates.
    Action,
}

/// The errors that every method may give, beside its own.
pub const COMMON_ERRORS: &[Code] = &[
    Code::Unauthorized,
    Code::PermissionDenied,
    Code::InvalidRequest,
    Code::InvalidArgument,
    Code::Internal,
    Code::StoreDamaged,
    Code::ShuttingDown,
];

/// What can be described in the documents made from the table. With the feature `schema` that is every type with a JSON
/// Schema, without it every type.
#[cfg(feature = "schema")]
pub trait Documented: schemars::JsonSchema {}
#[cfg(feature = "schema")]
impl<T: schemars::JsonSchema> Documented for T {}

/// What can be described in the documents made from the table. With the feature `schema` that is every type with a JSON
/// Schema, without it every type.
#[cfg(not(feature = "schema"))]
pub trait Documented {}
#[cfg(not(feature = "schema"))]
impl<T> Documented for T {}

/// A request, with the type of what answers it.
pub trait Call: Serialize + DeserializeOwned + Documented {
    /// Its method.
    const METHOD: Method;
    /// What the method gives.
    type Result: Serialize + DeserializeOwned + Documented;
}

/// Goes through the table, type by type.
pub trait CallVisitor {
    /// The next method.
    fn visit<C: Call>(&mut self);
}

macro_rules! methods {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal, $kind:ident, [$($scope:ident),+], [$($error:ident),*] => $result:ty;)+) => {
        /// A method.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Method {
            $($(#[doc = $doc])+ $name),+
        }

        impl Method {
            /// Every method, in the order of the table.
            pub const ALL: &[Method] = &[$(Method::$name),+];

            /// The method as it stands on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Method::$name => $text),+
                }
            }

            /// The method of this name.
            pub fn named(text: &str) -> Option<Self> {
                match text {
                    $($text => Some(Method::$name),)+
                    _ => None,
                }
            }

            /// What it does, as the documents have it.
            pub const fn description(self) -> &'static str {
                match self {
                    $(Method::$name => concat!($($doc),+)),+
                }
            }

            /// Whether it changes anything.
            pub const fn kind(self) -> CallKind {
                match self {
                    $(Method::$name => CallKind::$kind),+
                }
            }

            /// What a connection must be allowed to do: one of these.
            pub const fn scopes(self) -> &'static [Scope] {
                match self {
                    $(Method::$name => &[$(Scope::$scope),+]),+
                }
            }

            /// The errors that it may give beside [`COMMON_ERRORS`].
            pub const fn errors(self) -> &'static [Code] {
                match self {
                    $(Method::$name => &[$(Code::$error),*]),+
                }
            }
        }

        /// A request that is right in itself.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Request {
            $($(#[doc = $doc])+ $name($name)),+
        }

        impl Request {
            /// Its method.
            pub const fn method(&self) -> Method {
                match self {
                    $(Request::$name(_) => Method::$name),+
                }
            }

            /// Reads a request. Unknown fields are ignored: clients of other versions may send them. No data is an
            /// object without fields.
            ///
            /// # Errors
            /// `rpc.method_not_found`; `rpc.invalid_request` if `data` is no object; `rpc.invalid_argument` (or the
            /// field's own code) with the field's name where one is missing or wrong.
            pub fn parse(method: &str, data: Value) -> Result<Self, RpcError> {
                match Method::named(method) {
                    $(Some(Method::$name) => read(data).map(Request::$name),)+
                    None => Err(not_found(method)),
                }
            }

            /// Goes through the table, type by type.
            pub fn visit_all(visitor: &mut impl CallVisitor) {
                $(visitor.visit::<$name>();)+
            }
        }

        $(
            impl Call for $name {
                const METHOD: Method = Method::$name;
                type Result = $result;
            }

            impl From<$name> for Request {
                fn from(request: $name) -> Self {
                    Request::$name(request)
                }
            }
        )+
    };
}

methods! {
    /// The sessions, the one that changed last first; deleted ones are left out. The cursor's session may have been deleted
    /// since; one that has changed since makes the page repeat others and leaves none out.
    SessionList = "v1.session.list", Query, [View], [SessionNotFound] => Page<Session, SessionId>;
    /// One session.
    SessionGet = "v1.session.get", Query, [View], [SessionNotFound] => Item<Session>;
    /// Opens a closed session again. One that is not closed stays as it is.
    SessionOpen = "v1.session.open", Action, [Converse], [SessionNotFound] => Success;
    /// Closes a session: what runs in it is stopped, and it takes no messages. A closed one stays as it is. A
    /// `client_id` is accepted and ignored.
    SessionClose = "v1.session.close", Action, [Converse], [SessionNotFound] => Success;
    /// Renames or deletes a session that is not closed.
    SessionUpdate = "v1.session.update", Action, [Converse], [SessionNotFound, SessionClosed] => SessionUpdated;
    /// Copies a session up to one of its user messages, which is written anew, and begins a turn. The new session has what
    /// the model read before that message, with ids of its own, and belongs to the device that asks. Asked for again under
    /// the same client ids, it answers with the session that is there.
    SessionFork = "v1.session.fork", Action, [Converse], [SessionNotFound, MessageNotFound, ClientIdConflict, ForkError, DiskFull] => Forked;
    /// Changes what is asked before a tool runs.
    SessionSetMode = "v1.session.set_mode", Action, [Approve], [SessionNotFound, SessionClosed] => Success;
    /// What the calls of a session changed in its folder, by turn and file, the last turn first. Known is what is kept for
    /// an undo: up to 30 days and 2 GiB, if nothing else is configured. Diffs come along up to 1 MiB in all; one that was
    /// left out is told when its turn and its path are named.
    SessionChanges = "v1.session.changes", Query, [View], [SessionNotFound, ProjectNotFound, TurnNotFound] => Page<TurnChanges, TurnId>;
    /// Puts back what calls of a session changed: of one call, of one turn, of one file, or hunks of what a call did to a
    /// file. Without any of these it is the last turn of which something can be undone. Everything is put back or nothing:
    /// where a file is not as the calls left it any more, the details of `file.conflict` have the `files` with what the
    /// calls did and what was done since, and the hunks that can be put back all the same.
    SessionUndo = "v1.session.undo", Action, [Execute], [SessionNotFound, ProjectNotFound, TurnNotFound, RtcNotFound, RtcInvalidState, NothingToUndo, FileConflict, FileDenied, FileTooLarge, DiskFull] => Undone;
    /// Takes back the last undo of a session that was not taken back, under the same conditions.
    SessionRedo = "v1.session.redo", Action, [Execute], [SessionNotFound, ProjectNotFound, NothingToUndo, FileConflict, FileDenied, FileTooLarge, DiskFull] => Undone;
    /// Sends a message of the user; without a session it makes one, on the device that sends. A folder that it names must
    /// be open on that device. Sent again under the same
    /// client id, it answers with the message that is there.
    MessageSend = "v1.message.send", Action, [Converse], [SessionNotFound, SessionClosed, ClientIdConflict, ProjectNotFound, DiskFull] => Sent;
    /// The messages of a session, in the order in which they were made, or the other way round.
    MessageList = "v1.message.list", Query, [View], [SessionNotFound, MessageInvalidCursor] => Page<Message, OffsetCursor>;
    /// One message.
    MessageGet = "v1.message.get", Query, [View], [MessageNotFound] => Item<Message>;
    /// Lets the model forget what was said so far. The messages stay; no request contains them any more. A turn under way
    /// keeps what it has, and a message that waits is still answered. If there was something to forget, the user's stream
    /// begins anew under another epoch: clients drop what they kept, and load what there is.
    HistoryClear = "v1.history.clear", Action, [Converse], [SessionNotFound, SessionClosed] => Success;
    /// The turns of a session, in order.
    TurnList = "v1.turn.list", Query, [View], [SessionNotFound, TurnNotFound] => Page<Turn, TurnId>;
    /// One turn.
    TurnGet = "v1.turn.get", Query, [View], [TurnNotFound] => Item<Turn>;
    /// Stops what goes on in a session, and answers when it has stopped; its updates come on the topic channel. Nothing
    /// going on is no error. A `client_id` is accepted and ignored.
    TurnStop = "v1.turn.stop", Action, [Converse], [SessionNotFound] => Success;
    /// The calls of a session, in order; those that wait for an approval only for a client that can show them.
    RtcList = "v1.rtc.list", Query, [View], [SessionNotFound, RtcNotFound] => Page<Rtc, RtcId>;
    /// One call. One that waits for an approval is there only for a client that can show it.
    RtcGet = "v1.rtc.get", Query, [View], [RtcNotFound] => Item<Rtc>;
    /// Puts a call into another state. A state that ends it also lets its turn go on. The state that it has already is
    /// no error.
    RtcUpdateStatus = "v1.rtc.update_status", Action, [Execute], [RtcNotFound, RtcInvalidStatus, RtcInvalidState, RtcClientIdMismatch, RtcClaimed, ApprovalRequired] => Success;
    /// Hands in how a call ended; the turn goes on. The first answer counts: handing in another, or the same again, changes
    /// nothing, and the reply then has the call as it ended, at offset 0. `approve` is enough for a call that the user
    /// answers; `answered_by` says where that was. While an executor has claimed the call, only its connection says how it
    /// ended, or who names the `attempt`.
    RtcSubmitResult = "v1.rtc.submit_result", Action, [Execute, Approve], [RtcNotFound, RtcInvalidState, RtcInvalidResult, RtcClientIdMismatch, RtcClaimed, ApprovalRequired] => Success;
    /// Takes a call to run it, on a device of its own; nobody else runs it then, for as long as the claim is renewed. Of a
    /// claim that is lost, a call that only looks is free again; of any other the outcome is unknown, and the user decides.
    /// A result that comes all the same is taken.
    RtcClaim = "v1.rtc.claim", Action, [Execute], [RtcNotFound, RtcInvalidState, RtcClaimed, ApprovalRequired] => Claimed;
    /// Says that a claimed call still runs. A claim that has run out is `rtc.invalid_state`; where another executor has
    /// claimed the call since, it is `rtc.already_claimed`, and that claim stays as it is.
    RtcRenew = "v1.rtc.renew", Action, [Execute], [RtcNotFound, RtcInvalidState, RtcClaimed] => Renewed;
    /// Runs a call on the device by its id, or waits for the run that is under way, and answers when it has ended.
    RtcRun = "v1.rtc.run", Action, [Execute], [RtcNotFound, RtcInvalidState, RtcClaimed, ApprovalRequired, OutcomeUnknown] => Ran;
    /// What an approval of a call shows. Where that could not be made when the call was, it is tried again, and
    /// kept if it can be by now.
    RtcPreview = "v1.rtc.preview", Query, [View], [RtcNotFound] => Previewed;
    /// Answers an approval. The first answer counts.
    RtcApprove = "v1.rtc.approve", Action, [Approve], [RtcNotFound, ApprovalClosed] => Success;
    /// Says what to make of a call that was started and of which nobody knows how it ended.
    RtcResolve = "v1.rtc.resolve", Action, [Approve], [RtcNotFound, RtcInvalidState] => Success;
    /// Opens a folder of the device as a project, or the project that it is already.
    ProjectOpen = "v1.project.open", Action, [Execute], [ProjectUnusable, DiskFull] => Item<Project>;
    /// The projects that are open.
    ProjectList = "v1.project.list", Query, [View], [] => Items<Project>;
    /// The projects that were opened, the last one first.
    ProjectRecent = "v1.project.recent", Query, [View], [] => Items<Project>;
    /// Says whether what a project brings may be used.
    ProjectTrust = "v1.project.trust", Action, [Approve], [ProjectNotFound] => Item<Project>;
    /// Closes a project. Its sessions stay, and their calls still run in it.
    ProjectClose = "v1.project.close", Action, [Execute], [ProjectNotFound] => Success;
    /// The entries of a folder, sorted by name.
    FsList = "v1.fs.list", Query, [Execute], [ProjectNotFound, FileNotFound, FileWrongKind, FileOutside, FileDenied] => Page<FileEntry, String>;
    /// Part of a file.
    FsRead = "v1.fs.read", Query, [Execute], [ProjectNotFound, FileNotFound, FileWrongKind, FileOutside, FileDenied, FileNotText, FileTooLarge] => FileRead;
    /// What is known of a path.
    FsStat = "v1.fs.stat", Query, [Execute], [ProjectNotFound, FileNotFound, FileOutside, FileDenied] => Item<FileStat>;
    /// The files and folders whose path matches, as the tool `find` finds them: without ignored and hidden ones. Those that
    /// a rule forbids are left out.
    FsFind = "v1.fs.find", Query, [Execute], [ProjectNotFound, FileNotFound, FileWrongKind, FileOutside, FileDenied] => Matches;
    /// Writes a file, if it is still as the caller has seen it. A text file that is written as text keeps its encoding, and
    /// the bytes of the lines that stay the same. The details of `file.conflict` have the `hash` of the content now, null if
    /// there is no file.
    FsWrite = "v1.fs.write", Action, [Execute], [ProjectNotFound, FileNotFound, FileConflict, FileWrongKind, FileOutside, FileDenied, FileNotText, FileUnencodable, FileTooLarge, DiskFull] => FileWritten;
    /// The tools that models are offered.
    ToolsList = "v1.tools.list", Query, [View], [] => Items<ToolEntry>;
    /// The models that can be asked.
    ModelsList = "v1.models.list", Query, [View], [] => Items<ModelEntry>;
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn not_found(method: &str) -> RpcError {
    let shown: String = method.chars().take(80).collect();
    RpcError::new(Code::MethodNotFound, format!("there is no method `{shown}`"))
}

/// Reads the fields of a request.
fn read<C: Call>(data: Value) -> Result<C, RpcError> {
    let data = match data {
        Value::Null => Value::Object(serde_json::Map::new()),
        Value::Object(_) => data,
        _ => {
            return Err(RpcError::new(
                Code::InvalidRequest,
                "the data of a request is an object with its fields",
            ));
        }
    };
    serde_path_to_error::deserialize(data).map_err(|error| {
        let path = error.path().to_string();
        let told = error.into_inner().to_string();
        // Of a missing field the error stands at the object that lacks it, and its text has the name.
        let missing = told
            .strip_prefix("missing field `")
            .and_then(|rest| rest.strip_suffix('`'));
        let at_top = path == ".";
        match missing {
            Some(field) if at_top => RpcError::field(Code::InvalidArgument, field, "it is missing"),
            Some(field) => {
                RpcError::field(Code::InvalidArgument, &format!("{path}.{field}"), "it is missing")
            }
            None => RpcError::field(code_of(C::METHOD, &path), &path, told),
        }
    })
}

/// The code of a wrong value, where its field has one of its own.
fn code_of(method: Method, field: &str) -> Code {
    match (method, field) {
        (Method::MessageList, "cursor") => Code::MessageInvalidCursor,
        (Method::RtcUpdateStatus, "status") => Code::RtcInvalidStatus,
        _ => Code::InvalidArgument,
    }
}
