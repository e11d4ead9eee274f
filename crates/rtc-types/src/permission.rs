//! What the user allows.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{DeviceId, ProjectId, RuleId, Timestamp};

/// How much is asked before a tool runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Every effect is asked for.
    Manual,
    /// Files are edited without asking, scripts are asked for.
    #[default]
    Edit,
    /// Nothing is changed.
    Plan,
    /// Like edit; tools of trusted servers that only read are not asked for either.
    Auto,
    /// Nothing is asked.
    Bypass,
}

impl Mode {
    /// Every mode.
    pub const ALL: &[Mode] = &[Mode::Manual, Mode::Edit, Mode::Plan, Mode::Auto, Mode::Bypass];

    /// The mode as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Mode::Manual => "manual",
            Mode::Edit => "edit",
            Mode::Plan => "plan",
            Mode::Auto => "auto",
            Mode::Bypass => "bypass",
        }
    }
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Mode::ALL
            .iter()
            .copied()
            .find(|mode| mode.as_str() == text)
            .ok_or_else(|| {
                let names: Vec<_> = Mode::ALL.iter().map(|mode| mode.as_str()).collect();
                format!("there is no mode `{text}`; the modes are {}", names.join(", "))
            })
    }
}

/// A standing decision of the user. Deny wins over everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rule {
    /// Its id.
    pub id: RuleId,
    /// The project it is for; `None`: all.
    pub project_id: Option<ProjectId>,
    /// What it says.
    pub effect: RuleEffect,
    /// The tool it is about.
    pub tool_name: String,
    /// What of the tool it is about.
    pub scope: RuleScope,
    /// When it was made.
    #[cfg_attr(feature = "schema", schemars(with = "crate::DateTime"))]
    pub created_at: Timestamp,
}

/// What a rule says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RuleEffect {
    /// Run without asking.
    Allow,
    /// Never run.
    Deny,
}

/// What of a tool a rule is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RuleScope {
    /// These virtual paths and everything beneath them; `/` is everything.
    Paths(Vec<String>),
    /// This very script.
    Digest(String),
}

/// The decision on one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Approval {
    /// How far it is.
    pub state: ApprovalState,
    /// Why it is asked for.
    pub why: String,
    /// What was answered.
    pub decision: Option<ApprovalDecision>,
    /// The user's words for a refusal.
    pub reason: Option<String>,
    /// When it was answered.
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::DateTime>"))]
    pub decided_at: Option<Timestamp>,
    /// Where it was answered.
    pub decided_by: Option<DeviceId>,
}

/// How far an approval is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    /// Waits for an answer.
    Open,
    /// Answered with yes.
    Approved,
    /// Answered with no.
    Rejected,
    /// Not needed any more: the turn was stopped.
    Withdrawn,
}

impl ApprovalState {
    /// Every state.
    pub const ALL: &[ApprovalState] = &[
        ApprovalState::Open,
        ApprovalState::Approved,
        ApprovalState::Rejected,
        ApprovalState::Withdrawn,
    ];

    /// Whether an approval in this state may go to `next`. A yes is asked for again where the rules have become stricter
    /// before the call began.
    pub const fn may_become(self, next: Self) -> bool {
        matches!(
            (self, next),
            (Self::Open, Self::Approved | Self::Rejected | Self::Withdrawn) | (Self::Approved, Self::Open)
        )
    }
}

/// What a user answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApprovalDecision {
    /// Yes, this call.
    Once,
    /// Yes, and the like of it in this session.
    Session,
    /// Yes, and the like of it in this project.
    Project,
    /// No.
    Reject,
    /// No, and never again.
    Never,
}

/// What an approval shows of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Preview {
    /// What `text` is.
    pub kind: PreviewKind,
    /// The diff or code.
    pub text: String,
    /// Where the call really leads, links followed; a Yes covers these paths.
    pub paths: Vec<String>,
    /// Of code that would run: what it is given, and what it is known by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Program>,
}

/// What belongs to the code of a [`Preview`] that would run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Program {
    /// Digest of the code and its parameters; a rule is made for it.
    pub digest: String,
    /// Its parameters.
    pub params: Value,
}

/// What a preview is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PreviewKind {
    /// A unified diff with nothing left out.
    Diff,
    /// Program text, all of it.
    Code,
    /// Words, for example why there is no diff, or as much of one as is good to read.
    Text,
}
