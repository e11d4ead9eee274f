//! `v1.rtc.*`: remote tool calls.

use rtc_types::{ApprovalDecision, ClientId, Preview, RtcId, RtcStatus, SessionId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::field::empty_is_none;
use super::{Bounded, MAX_PAGE, MAX_REASON, PAGE, Text};

/// What `v1.rtc.list` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RtcList {
    /// The session.
    pub session_id: SessionId,
    /// The last call of the page before.
    #[serde(
        default,
        deserialize_with = "empty_is_none::deserialize",
        skip_serializing_if = "Option::is_none"
    )]
    pub cursor: Option<RtcId>,
    /// How many calls to give.
    #[serde(default)]
    pub limit: Bounded<PAGE, MAX_PAGE>,
}

/// What `v1.rtc.get` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RtcGet {
    /// The call.
    pub rtc_id: RtcId,
}

/// What `v1.rtc.update_status` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RtcUpdateStatus {
    /// The call.
    pub rtc_id: RtcId,
    /// Its new state.
    pub status: ReportedStatus,
    /// The call's own client id, or nothing.
    #[serde(
        default,
        deserialize_with = "empty_is_none::deserialize",
        skip_serializing_if = "Option::is_none"
    )]
    pub client_id: Option<ClientId>,
}

/// A state that a client may put a call into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReportedStatus {
    /// It runs.
    Executing,
    /// It ended with an error.
    Failed,
    /// It took too long.
    Timeout,
    /// The user refused it.
    Rejected,
}

impl From<ReportedStatus> for RtcStatus {
    fn from(status: ReportedStatus) -> Self {
        match status {
            ReportedStatus::Executing => Self::Executing,
            ReportedStatus::Failed => Self::Failed,
            ReportedStatus::Timeout => Self::Timeout,
            ReportedStatus::Rejected => Self::Rejected,
        }
    }
}

/// What `v1.rtc.submit_result` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RtcSubmitResult {
    /// The call.
    pub rtc_id: RtcId,
    /// Whether it did what it was to do.
    pub success: bool,
    /// What it gave. Absent or null: of a call that the serving machine runs, as that run ended; of a call of another
    /// device, the value null.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Why it failed.
    #[serde(
        default,
        deserialize_with = "empty_is_none::deserialize",
        skip_serializing_if = "Option::is_none"
    )]
    pub error: Option<Text<MAX_REASON>>,
    /// The call's own client id, or nothing.
    #[serde(
        default,
        deserialize_with = "empty_is_none::deserialize",
        skip_serializing_if = "Option::is_none"
    )]
    pub client_id: Option<ClientId>,
    /// Which start of the call it is the result of, as the claim gave it; that of another start changes nothing. Nothing:
    /// the one under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
}

/// What `v1.rtc.claim` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RtcClaim {
    /// The call.
    pub rtc_id: RtcId,
}

/// What `v1.rtc.renew` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RtcRenew {
    /// The call.
    pub rtc_id: RtcId,
    /// Which start of the call still runs, as the claim gave it. Needed on another connection than the one that claimed
    /// it, which has the claim from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
}

/// What `v1.rtc.run` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RtcRun {
    /// The call.
    pub rtc_id: RtcId,
}

/// What `v1.rtc.preview` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RtcPreview {
    /// The call.
    pub rtc_id: RtcId,
}

/// What `v1.rtc.approve` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RtcApprove {
    /// The call.
    pub rtc_id: RtcId,
    /// What the user answers.
    pub decision: ApprovalDecision,
    /// The user's words, which the model reads after a refusal.
    #[serde(
        default,
        deserialize_with = "empty_is_none::deserialize",
        skip_serializing_if = "Option::is_none"
    )]
    pub reason: Option<Text<MAX_REASON>>,
}

/// What `v1.rtc.resolve` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RtcResolve {
    /// The call.
    pub rtc_id: RtcId,
    /// What the user makes of it.
    pub decision: Resolution,
}

/// What the user makes of a call that was started and of which nobody knows how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Resolution {
    /// Run it again.
    Retry,
    /// It is done.
    Done,
    /// Tell the model, which shall look.
    Tell,
}

/// What an executor runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Claimed {
    /// The tool.
    pub tool: String,
    /// Its arguments, as they were approved.
    pub parameters: Value,
    /// Which start of the call this is.
    pub attempt: u32,
    /// Until when the call is this executor's unless it renews; null: for as long as it runs.
    #[cfg_attr(feature = "schema", schemars(with = "Option<rtc_types::DateTime>"))]
    pub lease_until: Option<Timestamp>,
}

/// The claim goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Renewed {
    /// Until when.
    #[cfg_attr(feature = "schema", schemars(with = "Option<rtc_types::DateTime>"))]
    pub lease_until: Option<Timestamp>,
}

/// How a run on the device ended. One that takes longer than two seconds is answered meanwhile: the status says that the call
/// is not over, it goes on, and its updates tell the rest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ran {
    /// The call.
    pub rtc_id: RtcId,
    /// Its state.
    pub status: RtcStatus,
    /// Digest of its outcome, which `submit_result` compares; null while there is none.
    pub digest: Option<String>,
}

/// What an approval shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Previewed {
    /// The diff or code; null: the tool has nothing to show.
    pub preview: Option<Preview>,
}
