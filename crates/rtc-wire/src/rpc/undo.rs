//! `v1.session.changes`, `v1.session.undo` and `v1.session.redo`.
//!
//! Paths are virtual: `/` is the session's folder.

use rtc_types::{RtcId, SessionId, TurnId};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::field::empty_is_none;
use super::{Bounded, CHANGES_PAGE, MAX_HUNKS, MAX_PAGE, MAX_PATH, Text};

/// What `v1.session.changes` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionChanges {
    /// The session.
    pub session_id: SessionId,
    /// Only this turn.
    #[serde(
        default,
        deserialize_with = "empty_is_none::deserialize",
        skip_serializing_if = "Option::is_none"
    )]
    pub turn_id: Option<TurnId>,
    /// Only this file or folder.
    #[serde(
        default,
        deserialize_with = "empty_is_none::deserialize",
        skip_serializing_if = "Option::is_none"
    )]
    pub path: Option<Text<MAX_PATH>>,
    /// The last turn of the page before.
    #[serde(
        default,
        deserialize_with = "empty_is_none::deserialize",
        skip_serializing_if = "Option::is_none"
    )]
    pub cursor: Option<TurnId>,
    /// How many turns to give: those in which something was changed.
    #[serde(default)]
    pub limit: Bounded<CHANGES_PAGE, MAX_PAGE>,
}

/// What a turn changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnChanges {
    /// The turn.
    pub turn_id: TurnId,
    /// What it changed, in the order in which it did so first.
    pub files: Vec<FileChange>,
    /// How many files more it changed.
    pub more: u32,
}

/// What a turn did to a file or folder, from its first change of it to the last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileChange {
    /// Where it is.
    pub path: String,
    /// What became of it.
    pub kind: FileChangeKind,
    /// How many lines are new; absent: that is not known, or it is not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<u64>,
    /// How many lines are gone; absent as above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<u64>,
    /// The unified diff, as far as it is good to read; absent as above, or because there was no room for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// The calls that changed it, in order.
    pub calls: Vec<CallChange>,
    /// Whether all of it was undone.
    pub undone: bool,
}

/// What a call did to a file or folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallChange {
    /// The call.
    pub rtc_id: RtcId,
    /// Its tool.
    pub tool_name: String,
    /// Its own diff, where it is not the only call; absent as for files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// How many hunks its diff has.
    pub hunks: u32,
    /// Whether all of it was undone.
    pub undone: bool,
    /// The hunks that were undone by themselves, counted from 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undone_hunks: Vec<u32>,
}

/// What became of a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileChangeKind {
    /// It is new.
    Created,
    /// Its content is another one.
    Changed,
    /// It is gone.
    Removed,
    /// It is a new folder.
    FolderCreated,
    /// It was a folder, and is gone.
    FolderRemoved,
    /// It came and went.
    Unchanged,
}

/// What `v1.session.undo` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionUndo {
    /// The session.
    pub session_id: SessionId,
    /// Only what this call changed.
    #[serde(
        default,
        deserialize_with = "empty_is_none::deserialize",
        skip_serializing_if = "Option::is_none"
    )]
    pub rtc_id: Option<RtcId>,
    /// Only what this turn changed.
    #[serde(
        default,
        deserialize_with = "empty_is_none::deserialize",
        skip_serializing_if = "Option::is_none"
    )]
    pub turn_id: Option<TurnId>,
    /// Only this file or folder.
    #[serde(
        default,
        deserialize_with = "empty_is_none::deserialize",
        skip_serializing_if = "Option::is_none"
    )]
    pub path: Option<Text<MAX_PATH>>,
    /// Only these hunks of the call's diff of the path, counted from 1; a call and a path are named then.
    #[serde(default, deserialize_with = "bounded", skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = MAX_HUNKS)))]
    pub hunks: Vec<u32>,
}

/// Numbers of hunks, not too many; null is none.
fn bounded<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u32>, D::Error> {
    let hunks = Option::<Vec<u32>>::deserialize(deserializer)?.unwrap_or_default();
    if hunks.len() > MAX_HUNKS {
        return Err(D::Error::custom(format!(
            "at most {MAX_HUNKS} hunks can be named"
        )));
    }
    Ok(hunks)
}

/// What `v1.session.redo` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SessionRedo {
    /// The session.
    pub session_id: SessionId,
}

/// What was put back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Undone {
    /// The files and folders, in the order in which they were put back.
    pub files: Vec<PutBack>,
}

/// A file or folder that was put back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PutBack {
    /// Where it is.
    pub path: String,
    /// What became of it now.
    pub kind: FileChangeKind,
}

/// Why a file is not put back: one of the `files` in the details of `file.conflict`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RefusedFile {
    /// Where it is.
    pub path: String,
    /// What the calls did, as unified diff; absent: that is not known, or it is not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<String>,
    /// What was done to it since, as unified diff; absent as above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Hash of the content now; absent: there is no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The hunks of `changed`, counted from 1, around which nothing was changed since.
    pub free_hunks: Vec<u32>,
}
