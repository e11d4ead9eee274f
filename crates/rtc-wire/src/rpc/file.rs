//! `v1.fs.*`: the project's files, for the user.
//!
//! Paths are virtual: `/` is the project's folder.

use rtc_types::{ProjectId, Timestamp};
use serde::{Deserialize, Serialize};

use super::field::{empty_is_none, null_is_default, too_long};
use super::{Bounded, FILE_PART, MAX_FILE_CONTENT, MAX_FILE_PART, MAX_PAGE, MAX_PATH, Text};

/// What `v1.fs.list` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FsList {
    /// The project; absent: that of the window, or the first one that is served.
    #[serde(
        default,
        deserialize_with = "empty_is_none::deserialize",
        skip_serializing_if = "Option::is_none"
    )]
    pub project_id: Option<ProjectId>,
    /// The folder; absent: the project's own.
    #[serde(
        default,
        deserialize_with = "empty_is_none::deserialize",
        skip_serializing_if = "Option::is_none"
    )]
    pub path: Option<Text<MAX_PATH>>,
    /// The name of the last entry of the page before.
    #[serde(
        default,
        deserialize_with = "empty_is_none::deserialize",
        skip_serializing_if = "Option::is_none"
    )]
    pub cursor: Option<Text<MAX_PATH>>,
    /// How many entries to give.
    #[serde(default)]
    pub limit: Bounded<MAX_PAGE, MAX_PAGE>,
}

/// What `v1.fs.read` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FsRead {
    /// The project; absent: that of the window, or the first one that is served.
    #[serde(
        default,
        deserialize_with = "empty_is_none::deserialize",
        skip_serializing_if = "Option::is_none"
    )]
    pub project_id: Option<ProjectId>,
    /// The file.
    pub path: Text<MAX_PATH>,
    /// As what its content is wanted; absent: as text if it is text and has at most 16 MiB, else in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<FileFormat>,
    /// Where to begin, in bytes: of the file for base64, of its text in UTF-8 for text.
    #[serde(default, deserialize_with = "null_is_default")]
    pub offset: u64,
    /// How many bytes to give at most, counted likewise; a text ends before the character that would be cut.
    #[serde(default)]
    pub limit: Bounded<FILE_PART, MAX_FILE_PART>,
}

/// What `v1.fs.stat` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FsStat {
    /// The project; absent: that of the window, or the first one that is served.
    #[serde(
        default,
        deserialize_with = "empty_is_none::deserialize",
        skip_serializing_if = "Option::is_none"
    )]
    pub project_id: Option<ProjectId>,
    /// The file or folder.
    pub path: Text<MAX_PATH>,
}

/// What `v1.fs.find` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FsFind {
    /// The project; absent: that of the window, or the first one that is served.
    #[serde(
        default,
        deserialize_with = "empty_is_none::deserialize",
        skip_serializing_if = "Option::is_none"
    )]
    pub project_id: Option<ProjectId>,
    /// A glob, as the tool `find` takes it, or a part of a name or path.
    pub pattern: Text<MAX_PATH>,
    /// The folder to look in; absent: the project's own.
    #[serde(
        default,
        deserialize_with = "empty_is_none::deserialize",
        skip_serializing_if = "Option::is_none"
    )]
    pub path: Option<Text<MAX_PATH>>,
    /// How many paths to give.
    #[serde(default)]
    pub limit: Bounded<MAX_PAGE, MAX_PAGE>,
}

/// What `v1.fs.write` is asked: over the content that the user has seen, or a new one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FsWrite {
    /// The project; absent: that of the window, or the first one that is served.
    #[serde(
        default,
        deserialize_with = "empty_is_none::deserialize",
        skip_serializing_if = "Option::is_none"
    )]
    pub project_id: Option<ProjectId>,
    /// The file.
    pub path: Text<MAX_PATH>,
    /// All of its new content.
    pub content: FileContent,
    /// How the content is written here.
    #[serde(default, deserialize_with = "null_is_default")]
    pub format: FileFormat,
    /// Hash of the content that is replaced; absent: there is no such file yet.
    #[serde(
        default,
        deserialize_with = "empty_is_none::deserialize",
        skip_serializing_if = "Option::is_none"
    )]
    pub base_hash: Option<Text<128>>,
}

/// How the content of a file is written in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileFormat {
    /// As text, whatever the encoding of the file.
    #[default]
    Text,
    /// Its bytes in base64 (the standard alphabet, padded).
    Base64,
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileEntry {
    /// Its name, as it is written in a path: control characters as `\u{…}`, bytes that are no Unicode as `\x{…}`.
    pub name: String,
    /// What it is.
    pub kind: FileKind,
    /// Its size in bytes; null for what has none.
    pub size: Option<u64>,
    /// When its content last changed.
    #[cfg_attr(feature = "schema", schemars(with = "Option<rtc_types::DateTime>"))]
    pub modified_at: Option<Timestamp>,
    /// Where a link leads, as it is written in the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// What a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// A file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// Something else, such as a socket.
    Other,
}

/// Part of a file's content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileRead {
    /// The file, by its exact name.
    pub path: String,
    /// The part.
    pub content: String,
    /// How it is written here.
    pub format: FileFormat,
    /// Size of the whole file in bytes.
    pub size: u64,
    /// Hash of the whole file, for `base_hash` of a write.
    pub hash: String,
    /// The encoding of a text file.
    pub encoding: Option<String>,
    /// Where the next part begins; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
}

/// What is known of a path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileStat {
    /// The path, by its exact name.
    pub path: String,
    /// What it is, links followed.
    pub kind: FileKind,
    /// Its size in bytes; null for what has none.
    pub size: Option<u64>,
    /// When its content last changed.
    #[cfg_attr(feature = "schema", schemars(with = "Option<rtc_types::DateTime>"))]
    pub modified_at: Option<Timestamp>,
    /// Hash of a file's content; null for what has none, or is too large to take it at once.
    pub hash: Option<String>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Matches {
    /// The paths, sorted; those of folders end in `/`.
    pub items: Vec<String>,
    /// Whether there are more than these.
    pub more: bool,
}

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FileWritten {
    /// The file.
    pub path: String,
    /// Hash of its content now.
    pub hash: String,
    /// Its size in bytes.
    pub size: u64,
    /// Whether it is new.
    pub created: bool,
}

/// The content of a write: at most [`MAX_FILE_CONTENT`] bytes, and it may be empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(inline))]
#[serde(try_from = "String")]
pub struct FileContent(String);

impl FileContent {
    /// The content as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for FileContent {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        too_long(&text, MAX_FILE_CONTENT)?;
        Ok(Self(text))
    }
}
