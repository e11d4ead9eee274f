//! The named points at which a process is killed.

use std::collections::BTreeMap;
use std::fmt;

use rtc_tests::{Moment, SystemCall, Workplace};

/// A kind of change on the disk, or of a message to another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Opening,
    Log,
    Commit,
    PreImage,
    Folder,
    Temporary,
    Content,
    ContentSync,
    Place,
    Removal,
    FolderSync,
    InPlace,
    Request,
    /// A client is told of an update.
    Told,
    /// A client is told anything else.
    Reply,
    Worker,
}

/// A kind of change, before or after it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Point {
    pub(crate) kind: Kind,
    pub(crate) moment: Moment,
}

/// How often each point was passed.
pub(crate) type Counts = BTreeMap<Point, usize>;

impl Point {
    pub(crate) const fn before(kind: Kind) -> Self {
        Self {
            kind,
            moment: Moment::Before,
        }
    }

    pub(crate) const fn after(kind: Kind) -> Self {
        Self {
            kind,
            moment: Moment::After,
        }
    }

    /// The point of a call, if it changes the data folder or the project, or speaks to the model or to a script.
    pub(crate) fn of(call: &SystemCall, place: &Workplace) -> Option<Self> {
        let moment = call.moment;
        kind(call, place).map(|kind| Self { kind, moment })
    }
}

fn kind(call: &SystemCall, place: &Workplace) -> Option<Kind> {
    // What the system calls a connection is no path.
    let connection = call.path.to_str().unwrap_or_default();
    if connection.starts_with("socket:") {
        return Some(sent(&call.content));
    }
    if connection.starts_with("pipe:") {
        return Some(Kind::Worker);
    }
    let database = place.data().join("store/db");
    if call.name == "fdatasync" && call.path == database.join("db") {
        return Some(Kind::Commit);
    }
    // What is noted after each commit belongs to its log.
    if call.path.starts_with(database) || call.path == place.data().join("store/acknowledged") {
        return Some(Kind::Log);
    }
    let pre_images = place.data().join("pre-images");
    if call.path.starts_with(&pre_images) && !(call.path == pre_images && call.name.starts_with("mkdir")) {
        return Some(Kind::PreImage);
    }
    if call.path.starts_with(place.data()) {
        return Some(Kind::Opening);
    }
    if !call.path.starts_with(place.root()) {
        return None;
    }
    let name = call.path.file_name()?.to_str()?;
    let temporary = name.starts_with(".rtc-") && name.ends_with(".tmp");
    Some(match call.name {
        "renameat2" | "renameat" | "rename" => Kind::Place,
        "openat2" | "openat" => Kind::Temporary,
        "unlinkat" | "unlink" => Kind::Removal,
        "mkdirat" | "mkdir" => Kind::Folder,
        "fsync" if call.path.is_dir() => Kind::FolderSync,
        "fsync" if temporary => Kind::ContentSync,
        _ if temporary => Kind::Content,
        _ => Kind::InPlace,
    })
}

/// What goes over a connection: words of our own are the answer to a handshake and the frames of a WebSocket, which are
/// whole and not masked; everything else goes to the model.
fn sent(content: &[u8]) -> Kind {
    let is_ours = content.starts_with(b"HTTP/1.") || content.first().is_some_and(|byte| byte & 0xF0 == 0x80);
    match is_ours {
        false => Kind::Request,
        true if content.windows(PUSH.len()).any(|part| part == PUSH) => Kind::Told,
        true => Kind::Reply,
    }
}

/// In a frame that tells of an update.
const PUSH: &[u8] = b"\"push\":";

impl fmt::Display for Point {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = match self.moment {
            Moment::Before => "before",
            Moment::After => "after",
        };
        let kind = match self.kind {
            Kind::Opening => "a step of opening the data folder",
            Kind::Log => "a write of the database",
            Kind::Commit => "the flush of a commit",
            Kind::PreImage => "a step of keeping the old content",
            Kind::Folder => "a folder is made",
            Kind::Temporary => "the temporary file is made",
            Kind::Content => "the new content is written",
            Kind::ContentSync => "the new content is synced",
            Kind::Place => "the file is put in place",
            Kind::Removal => "the old file is removed",
            Kind::FolderSync => "the folder is synced",
            Kind::InPlace => "a write into a file that stays",
            Kind::Request => "a request to the model is sent",
            Kind::Told => "an update is sent to a client",
            Kind::Reply => "a reply is sent to a client",
            Kind::Worker => "a message to the script's process is sent",
        };
        write!(formatter, "{moment} {kind}")
    }
}
