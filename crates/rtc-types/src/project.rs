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
}
