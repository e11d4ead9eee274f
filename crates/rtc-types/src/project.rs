//! Projects.

use serde::{Deserialize, Serialize};

use crate::{DeviceId, ProjectId, Timestamp};

/// A folder on a device that the user opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Project {
    /// Its id.
    pub id: ProjectId,
    /// The device it is on.
    pub device_id: DeviceId,
    /// Where it is there: an absolute path of the host.
    pub root: String,
    /// Whether the user said that what it brings may be used.
    pub trusted: bool,
    /// When it was first opened.
    #[cfg_attr(feature = "schema", schemars(with = "crate::DateTime"))]
    pub created_at: Timestamp,
    /// When it was last opened; absent: only the first time, or not since this is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<crate::DateTime>"))]
    pub opened_at: Option<Timestamp>,
}

impl Project {
    /// When it was last opened, as far as that is known.
    pub fn last_opened(&self) -> Timestamp {
        self.opened_at.unwrap_or(self.created_at)
    }
}
