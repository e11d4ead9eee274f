//! What the executor needs of the engine, wherever that is.

use std::path::PathBuf;

use async_trait::async_trait;
use rtc_tool::{Access, Kind, Policy, Progress, ToolError};
use rtc_types::{Code, ProjectId, Rtc, RtcId, SessionId, Timestamp};
use serde_json::Value;

/// A call without a result, with everything that decides on it.
#[derive(Debug, Clone)]
pub struct OpenCall {
    /// The record.
    pub rtc: Rtc,
    /// Who runs it.
    pub kind: Kind,
    /// What it does: a call that changes something waits for its turn.
    pub access: Access,
    /// The project of its session, in which changes are made in turns.
    pub project: Option<ProjectId>,
    /// The session at the top of its session's tree, which takes turns with others.
    pub tree: SessionId,
    /// What it may do, as things are now.
    pub terms: Terms,
    /// The mark of an earlier start that has no result.
    pub started: Option<Started>,
    /// The session's folder on this device; `None`: the scratch folder.
    pub root: Option<PathBuf>,
}

/// What a call may do.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Terms {
    /// Mode and rules.
    pub policy: Policy,
    /// Paths that a Yes of the user covers; `None` without a Yes.
    pub consent: Option<Vec<String>>,
}

/// An earlier start of a call.
#[derive(Debug, Clone)]
pub struct Started {
    /// Which.
    pub attempt: u32,
    /// When.
    pub at: Timestamp,
    /// Digest of the arguments it was started with.
    pub args_digest: String,
    /// The tool's mark.
    pub mark: Value,
}

/// Whether a call may run.
#[derive(Debug, Clone, PartialEq)]
pub enum Claimed {
    /// It may, on these terms, and its mark is durable.
    Yes(Terms),
    /// It was refused, or waits for the user.
    No,
}

/// Why the engine did not take something.
#[derive(Debug, Clone, thiserror::Error)]
pub enum PortError {
    /// It may take it later: its disk is full, or fails.
    #[error("{reason}")]
    Later {
        /// What kind of trouble it is.
        code: Code,
        /// What happened.
        reason: String,
    },
    /// It never will: the call is another's, or the engine has ended.
    #[error("{0}")]
    Never(String),
}

/// The engine, as the executor sees it.
#[async_trait]
pub trait Port: Send + Sync + 'static {
    /// The first open call of a session, if the executor has something to do for it: not one that waits for the user.
    async fn next(&self, session: SessionId) -> Result<Option<RtcId>, PortError>;

    /// The record of a call with everything that decides on it; `None` if it is not the executor's to run now: it has
    /// ended, waits for the user, or is not the first open call of its session.
    async fn load(&self, rtc: RtcId) -> Result<Option<OpenCall>, PortError>;

    /// The calls in a project that were started, may have had an effect, and have no result: those of them that an
    /// executor can look at. Asked before this process starts anything there.
    async fn begun(&self, project: Option<ProjectId>) -> Result<Vec<RtcId>, PortError>;

    /// Takes a call. `mark` is the tool's mark and the digest of the arguments; both are durable when this returns
    /// [`Claimed::Yes`]. The terms may have become stricter since the call was loaded.
    async fn claim(
        &self,
        session: SessionId,
        rtc: RtcId,
        attempt: u32,
        mark: Option<(Value, String)>,
    ) -> Result<Claimed, PortError>;

    /// The call takes long enough to be shown as running.
    async fn executing(&self, session: SessionId, rtc: RtcId) -> Result<(), PortError>;

    /// The call has ended. Telling it twice is telling it once.
    async fn finish(
        &self,
        session: SessionId,
        rtc: RtcId,
        attempt: u32,
        result: Result<Value, ToolError>,
        seen: Vec<(String, Value)>,
    ) -> Result<(), PortError>;

    /// The call was started, and what became of it cannot be said.
    async fn outcome_unknown(
        &self,
        session: SessionId,
        rtc: RtcId,
        evidence: String,
    ) -> Result<(), PortError>;

    /// What the session knows of a file.
    async fn seen(&self, session: SessionId, path: &str) -> Result<Option<Value>, PortError>;

    /// A call does not go on, for now or at all; the user should know. Must not wait.
    fn trouble(&self, session: SessionId, code: Code, reason: &str);

    /// A running call tells something. Must not wait.
    fn progress(&self, rtc: RtcId, progress: Progress);
}
