//! `v1.project.*`: folders that the user opened.

use rtc_types::ProjectId;
use serde::{Deserialize, Serialize};

use super::{Bounded, MAX_PAGE, MAX_PATH, SESSION_PAGE, Text};

/// What `v1.project.open` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProjectOpen {
    /// The folder: an absolute path of the device.
    pub path: Text<MAX_PATH>,
}

/// What `v1.project.list` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProjectList {}

/// What `v1.project.recent` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProjectRecent {
    /// How many projects to give.
    #[serde(default)]
    pub limit: Bounded<SESSION_PAGE, MAX_PAGE>,
}

/// What `v1.project.trust` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProjectTrust {
    /// The project.
    pub project_id: ProjectId,
    /// Whether what it brings may be used.
    pub trusted: bool,
}

/// What `v1.project.close` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProjectClose {
    /// The project.
    pub project_id: ProjectId,
}
