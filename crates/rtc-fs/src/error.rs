//! Everything that can go wrong in a project folder, worded for the model and the person who read it.

use std::io;
use std::path::PathBuf;

use crate::VPath;
use crate::nearest::Nearest;

/// Line numbers that an error lists at most; the count is always complete.
pub const MAX_LISTED_LINES: usize = 20;

/// Why something in a project folder was refused or failed. Nothing was changed unless a variant says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The path has a `..` segment. The caller writes it without.
    #[error("the path `{given}` contains `..`; write it without: `{instead}`")]
    ParentSegment {
        /// The path as it was given.
        given: String,
        /// The same place without `..`.
        instead: String,
    },
    /// The path cannot name anything. The caller writes another one.
    #[error("the path `{given}` cannot be used: {reason}")]
    InvalidPath {
        /// The path as it was given, control characters escaped.
        given: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The folder to open as a project does not exist. The user picks another one.
    #[error("the folder `{}` does not exist; create it, or choose another folder", root.display())]
    RootMissing {
        /// The folder on this machine.
        root: PathBuf,
    },
    /// What should be opened as a project is no folder. The user picks a folder.
    #[error("`{}` is not a folder; choose the folder that contains it", root.display())]
    RootNotFolder {
        /// The path on this machine.
        root: PathBuf,
    },
    /// The folder to open as a project cannot be read. The user changes its rights or picks another one.
    #[error("the folder `{}` cannot be opened ({reason}); give this user the right to read it, or choose another folder", root.display())]
    RootUnreadable {
        /// The folder on this machine.
        root: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// The folder to open as a project is where this program keeps its own data. The user picks another one.
    #[error("`{}` holds this program's own data, which it does not work on; choose another folder", root.display())]
    OwnDataRoot {
        /// The folder on this machine.
        root: PathBuf,
    },
    /// What this program keeps for itself, which lies in the project.
    #[error("`{path}` holds this program's own data, which no call may touch")]
    OwnData {
        /// The folder.
        path: VPath,
    },
    /// Nothing has this path.
    #[error("`{path}` does not exist; the nearest folder that does is `{nearest}`")]
    NotFound {
        /// The path that was asked for.
        path: VPath,
        /// The deepest folder on the way that exists.
        nearest: VPath,
    },
    /// Several names differ from the one asked for only in how Unicode spells them.
    #[error(
        "`{path}` does not exist exactly so, and several names look like it: {}",
        list(candidates)
    )]
    SeveralNames {
        /// The path that was asked for.
        path: VPath,
        /// What exists, escaped so that the differences show.
        candidates: Vec<String>,
    },
    /// A folder where a file is needed.
    #[error("`{path}` is a folder, not a file; list it, or name a file in it")]
    IsFolder {
        /// The path.
        path: VPath,
    },
    /// Something else where a folder is needed.
    #[error("`{path}` is not a folder")]
    NotFolder {
        /// The path.
        path: VPath,
    },
    /// A pipe, socket or device, which is never opened.
    #[error("`{path}` is neither a file nor a folder (a pipe, socket or device) and is not opened")]
    NotRegular {
        /// The path.
        path: VPath,
    },
    /// A link on the way leads out of the project.
    #[error(
        "`{path}` leaves the project folder through the link `{link}`; only what is inside the project can be used"
    )]
    Outside {
        /// The path that was asked for.
        path: VPath,
        /// The link.
        link: VPath,
    },
    /// A link on the way leads to something that does not exist.
    #[error("`{path}` goes through the link `{link}`, whose target `{target}` does not exist")]
    DanglingLink {
        /// The path that was asked for.
        path: VPath,
        /// The link.
        link: VPath,
        /// What the link contains.
        target: String,
    },
    /// Links that lead to each other.
    #[error("`{path}` goes through links that lead in a circle (at `{link}`)")]
    LinkLoop {
        /// The path that was asked for.
        path: VPath,
        /// The link at which it was given up.
        link: VPath,
    },
    /// The system denies it.
    #[error("the system does not permit access to `{path}`; its owner or mode would have to be changed")]
    Denied {
        /// The path.
        path: VPath,
    },
    /// A file without text.
    #[error("`{path}` is not text ({what}, {size} bytes)")]
    Binary {
        /// The path.
        path: VPath,
        /// What the first bytes say it is.
        what: &'static str,
        /// Size in bytes.
        size: u64,
    },
    /// A read that begins behind the last line.
    #[error("line {offset} of `{path}` was asked for, but its last line is {total}")]
    PastEnd {
        /// The path.
        path: VPath,
        /// The first line that was asked for.
        offset: i64,
        /// Lines that there are.
        total: u64,
    },
    /// More bytes than can be read or changed at once.
    #[error("`{path}` has {size} bytes, the limit for this is {limit} bytes")]
    TooLarge {
        /// The path.
        path: VPath,
        /// Its size in bytes.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// Text in an encoding that can be read but not written.
    #[error("`{path}` is encoded as {encoding}, which can be read but not written; it is left as it is")]
    UnsupportedEncoding {
        /// The path.
        path: VPath,
        /// Name of the encoding.
        encoding: &'static str,
    },
    /// A character that the file's encoding does not have.
    #[error("`{path}` is encoded as {encoding}, which has no `{character}` (U+{:04X}); use characters of that encoding", u32::from(*character))]
    Unencodable {
        /// The path.
        path: VPath,
        /// Name of the encoding.
        encoding: &'static str,
        /// The first character that cannot be written.
        character: char,
    },
    /// A change would remove or write bytes that are no text.
    #[error(
        "`{path}` is UTF-8 but for some bytes, each shown as U+FFFD; they can neither be written nor be part of what an edit replaces: edit around them, or write the whole file without U+FFFD"
    )]
    DamagedText {
        /// The path.
        path: VPath,
    },
    /// A file that should be new exists.
    #[error("`{path}` already exists; use mode `overwrite`, or another path")]
    Exists {
        /// The path.
        path: VPath,
    },
    /// A link where a file or folder is to be moved or removed: it would have to be followed, and is not.
    #[error("`{path}` is a link; links are neither moved nor removed here")]
    IsLink {
        /// The link.
        path: VPath,
    },
    /// A folder with too much in it to be moved or removed at once.
    #[error("more than {limit} files and folders are in `{path}`; move or remove a part of them at a time")]
    TooMany {
        /// The folder.
        path: VPath,
        /// How many can be.
        limit: usize,
    },
    /// Another program changed, made or removed the file after it was looked at.
    #[error("`{path}` was changed by another program in the meantime; nothing was written, read it again")]
    ChangedSince {
        /// The path.
        path: VPath,
    },
    /// An edit without anything to look for.
    #[error("`old_string` is empty, but `{path}` is not; name the text to replace, or use write")]
    EmptySearch {
        /// The path.
        path: VPath,
    },
    /// An edit that changes nothing.
    #[error("`old_string` and `new_string` are the same; nothing would change in `{path}`")]
    NothingToChange {
        /// The path.
        path: VPath,
    },
    /// The text to replace does not occur.
    #[error("`old_string` does not occur in `{path}`{}", nearest_text(nearest.as_deref()))]
    NoMatch {
        /// The path.
        path: VPath,
        /// The place that looks most like it.
        nearest: Option<Box<Nearest>>,
    },
    /// The text to replace occurs more than once.
    #[error("`old_string` occurs {count} times in `{path}` ({}); add lines around it until it is unique, or set `replace_all`", line_list(lines, *count))]
    Ambiguous {
        /// The path.
        path: VPath,
        /// How often it occurs.
        count: u64,
        /// The first lines on which it begins, 1-based, at most [`MAX_LISTED_LINES`].
        lines: Vec<u64>,
    },
    /// A pattern that cannot be used.
    #[error("the pattern `{pattern}` is not valid: {reason}")]
    InvalidPattern {
        /// The pattern as it was given.
        pattern: String,
        /// What is wrong and where.
        reason: String,
    },
    /// A file type that ripgrep does not know.
    #[error(
        "there is no file type `{name}`; use a name such as `rust`, `py` or `ts`, or a glob such as `*.{name}`"
    )]
    UnknownFileType {
        /// The name as it was given.
        name: String,
    },
    /// A page of search results that is too far from their beginning.
    #[error("offset {offset} is too far: pages begin before {reach}; narrow the pattern or the path instead")]
    PastReach {
        /// The offset as it was given.
        offset: usize,
        /// Offsets are smaller.
        reach: usize,
    },
    /// The folder in which git keeps its own data, which searches leave out.
    #[error("`{path}` is in git's own folder, which is not searched; list or read it instead")]
    GitFolder {
        /// The path that was asked for.
        path: VPath,
    },
    /// No room on the disk. The file is as it was; the user makes room.
    #[error("there is no room on the disk for `{path}`; the file is as it was")]
    Full {
        /// The path.
        path: VPath,
    },
    /// What an undo needs could not be kept, so the change was not made.
    #[error("`{path}` was not changed, because its old content could not be kept for an undo: {reason}")]
    NotKept {
        /// The path.
        path: VPath,
        /// Why not.
        reason: String,
    },
    /// The caller cancelled.
    #[error("cancelled")]
    Cancelled,
    /// A pre-image folder holds something that it cannot have written.
    #[error("the pre-image {name} cannot be read: {reason}")]
    DamagedPreImage {
        /// Which one.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// A diff has no hunk of this number.
    #[error("the diff of `{path}` has no hunk {number}; it has {count}")]
    NoHunk {
        /// The path.
        path: VPath,
        /// The number that was asked for.
        number: u32,
        /// How many there are.
        count: u32,
    },
    /// Any other failure of the system.
    #[error("`{path}`: {source}")]
    Io {
        /// The path, virtual where there is one.
        path: String,
        /// What the system says.
        source: io::Error,
    },
}

impl Error {
    /// A stable name of the variant, for programs that branch on it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::ParentSegment { .. } => "fs.parent_segment",
            Self::InvalidPath { .. } => "fs.invalid_path",
            Self::RootMissing { .. } => "fs.root_missing",
            Self::RootNotFolder { .. } => "fs.root_not_folder",
            Self::RootUnreadable { .. } => "fs.root_unreadable",
            Self::OwnDataRoot { .. } => "fs.own_data_root",
            Self::OwnData { .. } => "fs.own_data",
            Self::NotFound { .. } => "fs.not_found",
            Self::SeveralNames { .. } => "fs.several_names",
            Self::IsFolder { .. } => "fs.is_folder",
            Self::NotFolder { .. } => "fs.not_folder",
            Self::NotRegular { .. } => "fs.not_regular",
            Self::Outside { .. } => "fs.outside",
            Self::DanglingLink { .. } => "fs.dangling_link",
            Self::LinkLoop { .. } => "fs.link_loop",
            Self::Denied { .. } => "fs.denied",
            Self::Binary { .. } => "fs.binary",
            Self::PastEnd { .. } => "fs.past_end",
            Self::TooLarge { .. } => "fs.too_large",
            Self::UnsupportedEncoding { .. } => "fs.unsupported_encoding",
            Self::Unencodable { .. } => "fs.unencodable",
            Self::DamagedText { .. } => "fs.damaged_text",
            Self::Exists { .. } => "fs.exists",
            Self::IsLink { .. } => "fs.is_link",
            Self::TooMany { .. } => "fs.too_many",
            Self::ChangedSince { .. } => "fs.changed_since",
            Self::EmptySearch { .. } => "fs.empty_search",
            Self::NothingToChange { .. } => "fs.nothing_to_change",
            Self::NoMatch { .. } => "fs.no_match",
            Self::Ambiguous { .. } => "fs.ambiguous",
            Self::InvalidPattern { .. } => "fs.invalid_pattern",
            Self::UnknownFileType { .. } => "fs.unknown_file_type",
            Self::PastReach { .. } => "fs.past_reach",
            Self::GitFolder { .. } => "fs.git_folder",
            Self::Full { .. } => "fs.full",
            Self::NotKept { .. } => "fs.not_kept",
            Self::Cancelled => "fs.cancelled",
            Self::DamagedPreImage { .. } => "fs.damaged_pre_image",
            Self::NoHunk { .. } => "fs.no_hunk",
            Self::Io { .. } => "fs.io",
        }
    }

    /// What a system error on `path` means. Not for `ENOENT` where the nearest folder is known.
    pub(crate) fn from_io(path: &VPath, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::Denied { path: path.clone() }
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { path: path.clone() },
            io::ErrorKind::IsADirectory => Self::IsFolder { path: path.clone() },
            io::ErrorKind::NotADirectory => Self::NotFolder { path: path.clone() },
            _ => Self::Io {
                path: path.to_string(),
                source,
            },
        }
    }
}

/// Names in back quotes, separated by commas.
fn list(names: &[String]) -> String {
    names
        .iter()
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// `lines 3, 7 and 5 more`.
fn line_list(lines: &[u64], count: u64) -> String {
    let shown = lines.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let more = count.saturating_sub(lines.len() as u64);
    if more == 0 {
        format!("lines {shown}")
    } else {
        format!("lines {shown} and {more} more")
    }
}

/// The second half of [`Error::NoMatch`].
fn nearest_text(nearest: Option<&Nearest>) -> String {
    match nearest {
        Some(nearest) => {
            format!(
                "; the nearest text is on line {}: `{}` ({})",
                nearest.line, nearest.text, nearest.difference
            )
        }
        None => "; read the file again and copy the text exactly".to_owned(),
    }
}
