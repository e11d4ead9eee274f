//! `v1.fs.*`: the files of a project, for the user's own hand. The jail, the codec, the atomic writes and the kept
//! pre-images are those of the tools; nothing is asked, and what a rule forbids stays forbidden.

mod told;

use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rtc_executor::Places as _;
use rtc_fs::{
    Before, Child, Detected, Error, FindQuery, Kind, PreImage, PreImageFolder, VPath, Witness, detect,
};
use rtc_realtime::Caller;
use rtc_tool::{Access, Consent, Kind as ToolKind, Policy, Subject, Verdict, decide};
use rtc_types::{Code, Mode, ProjectId, RtcId, Rule, Timestamp};
use rtc_wire::rpc::{
    FileEntry, FileFormat, FileKind, FileRead, FileStat, FileWritten, FsFind, FsList, FsRead, FsStat,
    FsWrite, Item, Matches, Page, RpcError,
};
use serde_json::json;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

pub(super) use self::told::told;
use super::{Realtime, refused};

/// The largest file that is read as text, and that a `stat` has the hash of: 16 MiB. It is in memory while it is read.
const MAX_TEXT_BYTES: u64 = 16 << 20;

/// How many bytes a text may have in the JSON of an answer; a connection takes a little more.
const MAX_ESCAPED_BYTES: usize = 7 << 20;

/// A project, with what holds in it.
pub(super) struct Files {
    pub(super) id: ProjectId,
    place: Place,
}

impl std::ops::Deref for Files {
    type Target = Place;

    fn deref(&self) -> &Place {
        &self.place
    }
}

/// A folder in which the user's own hand changes files, with what holds there.
pub(super) struct Place {
    pub(super) project: Arc<rtc_fs::Project>,
    pub(super) pre_images: Arc<PreImageFolder>,
    policy: Policy,
}

impl Place {
    /// An error if the user forbade the tool that does the same.
    pub(super) fn permit(&self, tool_names: &[&str], access: Access, path: &VPath) -> Result<(), RpcError> {
        let subject = Subject {
            access,
            paths: vec![path.as_str().to_owned()],
            digest: None,
        };
        for tool_name in tool_names {
            if let Verdict::Deny(why) | Verdict::Ask(why) =
                decide(&self.policy, tool_name, ToolKind::Device, &subject, Consent::None)
            {
                return Err(RpcError::new(Code::FileDenied, why));
            }
        }
        Ok(())
    }

    /// Where a path really is, if it may be read by `tool_name`.
    fn readable(&self, tool_name: &str, path: &VPath) -> Result<VPath, RpcError> {
        let place = self.project.resolve(path).map_err(told)?;
        self.permit(&[tool_name], Access::Read, &place.path)?;
        Ok(place.path)
    }
}

impl Realtime {
    /// The project that is meant: one that is open here.
    async fn files(&self, caller: &Caller, project: Option<ProjectId>) -> Result<Files, RpcError> {
        self.is_here(caller)?;
        let none = |told: &str| RpcError::new(Code::ProjectNotFound, told);
        let open = self.projects().clone();
        let id = match project {
            Some(id) if open.contains(&id) => id,
            Some(_) => return Err(none("no project with this id is open")),
            None => *open.first().ok_or_else(|| none("no project is open"))?,
        };
        let project = self.engine.project(id).await;
        let project = project.ok_or_else(|| none("there is no project with this id"))?;
        let place = self.place(Some(id), Some(PathBuf::from(project.root))).await?;
        Ok(Files { id, place })
    }

    /// The folder of a project, or of sessions without one.
    pub(super) async fn place(
        &self,
        project: Option<ProjectId>,
        root: Option<PathBuf>,
    ) -> Result<Place, RpcError> {
        let place = self.places.of(root).await;
        let place = place.map_err(|error| RpcError::new(Code::ProjectNotFound, error.message))?;
        let (Some(folder), Some(pre_images)) = (place.get(), place.get()) else {
            return Err(RpcError::new(Code::Internal, "the project cannot be reached"));
        };
        let rules: Vec<Rule> = self.engine.rules(project).await?;
        Ok(Place {
            project: folder,
            pre_images,
            // The user does it themselves, so nothing is asked; a rule that forbids it holds in every mode.
            policy: Policy {
                mode: Mode::Bypass,
                rules,
                session_rules: Vec::new(),
            },
        })
    }

    pub(super) async fn fs_list(
        &self,
        caller: &Caller,
        ask: FsList,
    ) -> Result<Page<FileEntry, String>, RpcError> {
        let files = self.files(caller, ask.project_id).await?;
        let path = parse(ask.path.as_ref().map_or("/", |path| path.as_str()))?;
        let watch = self.watch.clone();
        blocking(move |cancel| {
            let real = files.readable("ls", &path)?;
            // Before it is listed: what happens in between is told.
            files.look(&watch, &real);
            let after = ask.cursor.as_ref().map(|cursor| cursor.as_str());
            let page = files
                .project
                .children(&real, after, count(ask.limit.get()), cancel);
            let page = page.map_err(told)?;
            let next_cursor = page
                .items
                .last()
                .filter(|_| page.more)
                .map(|last| last.name.clone());
            let items = page.items.into_iter().map(entry).collect();
            Ok(Page { items, next_cursor })
        })
        .await
    }

    pub(super) async fn fs_read(&self, caller: &Caller, ask: FsRead) -> Result<FileRead, RpcError> {
        let files = self.files(caller, ask.project_id).await?;
        let path = parse(ask.path.as_str())?;
        let watch = self.watch.clone();
        blocking(move |cancel| {
            let real = files.readable("read", &path)?;
            if let Some(folder) = real.parent() {
                files.look(&watch, &folder);
            }
            let limit = count(ask.limit.get());
            if ask.format != Some(FileFormat::Base64) {
                match read_text(&files, &real, &ask, limit, cancel) {
                    Err(error)
                        if ask.format.is_none()
                            && matches!(error.code, Code::FileNotText | Code::FileTooLarge) => {}
                    read => return read,
                }
            }
            let part = files
                .project
                .read_part(&real, ask.offset, limit, cancel)
                .map_err(told)?;
            Ok(FileRead {
                path: part.path.as_str().to_owned(),
                content: BASE64.encode(&part.bytes),
                format: FileFormat::Base64,
                size: part.size,
                hash: part.hash.to_string(),
                encoding: None,
                next_offset: next(ask.offset, part.bytes.len(), part.size),
            })
        })
        .await
    }

    pub(super) async fn fs_stat(&self, caller: &Caller, ask: FsStat) -> Result<Item<FileStat>, RpcError> {
        let files = self.files(caller, ask.project_id).await?;
        let path = parse(ask.path.as_str())?;
        blocking(move |cancel| {
            let real = files.readable("read", &path)?;
            let stat = files.project.stat(&real).map_err(told)?;
            let is_file = stat.kind == Kind::File;
            let hash = if is_file && stat.size <= MAX_TEXT_BYTES {
                match files.project.read_part(&real, 0, 0, cancel) {
                    Ok(part) => Some(part.hash.to_string()),
                    // What may not be read has a size all the same.
                    Err(Error::Denied { .. }) => None,
                    Err(error) => return Err(told(error)),
                }
            } else {
                None
            };
            let item = FileStat {
                path: stat.path.as_str().to_owned(),
                kind: kind(stat.kind),
                size: is_file.then_some(stat.size),
                modified_at: timestamp(stat.identity.mtime_ns),
                hash,
            };
            Ok(Item { item })
        })
        .await
    }

    pub(super) async fn fs_find(&self, caller: &Caller, ask: FsFind) -> Result<Matches, RpcError> {
        let files = self.files(caller, ask.project_id).await?;
        let path = parse(ask.path.as_ref().map_or("/", |path| path.as_str()))?;
        let pattern = ask.pattern.as_str();
        let is_glob = pattern.contains(['*', '?', '[', '{']);
        let query = FindQuery {
            pattern: match (is_glob, pattern.contains('/')) {
                (true, _) => pattern.to_owned(),
                (false, false) => format!("*{pattern}*"),
                (false, true) => format!("**/*{}*", pattern.trim_matches('/')),
            },
            path,
            head_limit: count(ask.limit.get()),
        };
        blocking(move |cancel| {
            let real = files.readable("find", &query.path)?;
            let stat = files.project.stat(&real).map_err(told)?;
            if stat.kind != Kind::Folder {
                return Err(told(Error::NotFolder { path: real }));
            }
            let permitted = |path: &VPath| files.permit(&["find"], Access::Read, path).is_ok();
            let found = rtc_fs::find(&files.project, &query, &permitted, cancel).map_err(told)?;
            let more = found.total > found.found.len() as u64;
            let items = found.found.into_iter().map(|found| {
                let end = if found.folder { "/" } else { "" };
                format!("{}{end}", found.path.as_str())
            });
            Ok(Matches {
                items: items.collect(),
                more,
            })
        })
        .await
    }

    pub(super) async fn fs_write(&self, caller: &Caller, ask: FsWrite) -> Result<FileWritten, RpcError> {
        let files = self.files(caller, ask.project_id).await?;
        let path = parse(ask.path.as_str())?;
        let id = RtcId::new(self.clock.stamp().mint().uuid());
        // One after the other, also where a session writes: of two that have seen the same content the second finds
        // another one.
        let turn = self.executor.turn_of_user(Some(files.id)).await;
        let turn = turn.map_err(|error| refused(error, Code::Internal))?;
        blocking(move |cancel| {
            let _turn = turn;
            write(&files, &path, &ask, id, cancel)
        })
        .await
    }
}

fn write(
    files: &Files,
    path: &VPath,
    ask: &FsWrite,
    id: RtcId,
    cancel: &CancellationToken,
) -> Result<FileWritten, RpcError> {
    let place = files.project.resolve_new(path).map_err(told)?;
    files.permit(&["write", "edit"], Access::Write, &place.path)?;
    let (project, path, tag) = (&files.project, &place.path, id.to_string());
    let content = ask.content.as_str();
    let planned = match ask.format {
        FileFormat::Text => project.plan_save(path, content, &tag, cancel),
        FileFormat::Base64 => {
            let decoded = BASE64.decode(content);
            let bytes = decoded.map_err(|error| {
                RpcError::field(
                    Code::InvalidArgument,
                    "content",
                    format!("it is not base64: {error}"),
                )
            })?;
            project.plan_bytes(path, bytes, &tag, cancel)
        }
    };
    let planned = planned.map_err(told)?;
    let before = match planned.mark().before {
        Before::Absent => None,
        Before::Present { hash, .. } => Some(hash.to_string()),
    };
    let base = ask.base_hash.as_ref().map(|hash| hash.as_str());
    if before.as_deref() != base {
        return Err(conflict(path, before));
    }
    let intended = planned.mark().intended.to_string();
    let written = FileWritten {
        path: path.as_str().to_owned(),
        hash: intended.clone(),
        size: planned.bytes(),
        created: planned.creates(),
    };
    if before.as_ref() == Some(&intended) {
        return Ok(written);
    }
    let mut keeping = Keeping::new(&files.pre_images, id);
    match project.apply(planned, &mut keeping, cancel) {
        Ok(_) => Ok(written),
        Err(Error::ChangedSince { .. } | Error::Exists { .. }) => {
            let now = project.read_part(path, 0, 0, cancel).ok();
            Err(conflict(path, now.map(|part| part.hash.to_string())))
        }
        Err(error) => Err(told(error)),
    }
}

/// The file is not as the caller has seen it; `now` is the hash of what it is.
fn conflict(path: &VPath, now: Option<String>) -> RpcError {
    let what = match &now {
        Some(_) => "is not as it was read; read it again before it is written",
        None => "is not there; to make it, leave `base_hash` out",
    };
    RpcError {
        details: Some(json!({ "path": path.as_str(), "hash": now })),
        ..RpcError::new(Code::FileConflict, format!("`{path}` {what}"))
    }
}

/// Keeps what was there before a change of the user's own; what is kept of one that was not made is forgotten.
pub(super) struct Keeping<'f> {
    folder: &'f PreImageFolder,
    id: RtcId,
    pending: Option<u32>,
}

impl<'f> Keeping<'f> {
    pub(super) fn new(folder: &'f PreImageFolder, id: RtcId) -> Self {
        Self {
            folder,
            id,
            pending: None,
        }
    }
}

impl Witness for Keeping<'_> {
    fn keep(&mut self, image: PreImage) -> Result<(), Error> {
        self.pending = Some(self.folder.keep(self.id, 1, &image)?);
        Ok(())
    }

    fn made(&mut self, _path: &VPath) {
        self.pending = None;
    }
}

impl Drop for Keeping<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.pending {
            // One that stays is in nobody's way: its file is as it was before.
            let _ = self.folder.forget(self.id, number);
        }
    }
}

/// Part of a text; its offsets are those of the text in UTF-8.
fn read_text(
    files: &Files,
    path: &VPath,
    ask: &FsRead,
    limit: usize,
    cancel: &CancellationToken,
) -> Result<FileRead, RpcError> {
    let contents = files
        .project
        .read_bytes(path, MAX_TEXT_BYTES, cancel)
        .map_err(told)?;
    let Detected::Text(encoding) = detect(&contents.bytes, true) else {
        return Err(told(Error::Binary {
            path: contents.path,
            what: rtc_fs::binary_kind(&contents.bytes),
            size: contents.bytes.len() as u64,
        }));
    };
    let text = encoding.decode(&contents.bytes);
    let start = usize::try_from(ask.offset).unwrap_or(usize::MAX).min(text.len());
    if !text.is_char_boundary(start) {
        let what = "it is in the middle of a character; use the `next_offset` of the part before";
        return Err(RpcError::field(Code::InvalidArgument, "offset", what));
    }
    let rest = &text[start..];
    let end = fitting(rest, limit);
    Ok(FileRead {
        path: contents.path.as_str().to_owned(),
        content: rest[..end].to_owned(),
        format: FileFormat::Text,
        size: contents.bytes.len() as u64,
        hash: contents.hash.to_string(),
        encoding: Some(encoding.name().to_owned()),
        next_offset: next(ask.offset, end, text.len() as u64),
    })
}

/// How many bytes of a text go into one answer: `limit`, as long as they are not too many once they are escaped, but at
/// least one character, so that reading on comes to an end.
fn fitting(text: &str, limit: usize) -> usize {
    let mut escaped = 0;
    for (at, character) in text.char_indices() {
        escaped += match character {
            '"' | '\\' | '\n' | '\r' | '\t' => 2,
            control if control.is_ascii_control() => 6,
            other => other.len_utf8(),
        };
        let end = at + character.len_utf8();
        if at > 0 && (end > limit || escaped > MAX_ESCAPED_BYTES) {
            return at;
        }
    }
    text.len()
}

/// Where the next part begins, if there is one.
fn next(offset: u64, given: usize, size: u64) -> Option<u64> {
    let next = offset.saturating_add(given as u64);
    (next < size).then_some(next)
}

fn parse(path: &str) -> Result<VPath, RpcError> {
    VPath::parse(path).map_err(told)
}

fn entry(child: Child) -> FileEntry {
    FileEntry {
        name: child.name,
        kind: kind(child.kind),
        size: child.size,
        modified_at: child.mtime_ns.and_then(timestamp),
        target: child.target,
    }
}

fn kind(kind: Kind) -> FileKind {
    match kind {
        Kind::File => FileKind::File,
        Kind::Folder => FileKind::Folder,
        Kind::Link => FileKind::Link,
        Kind::Other => FileKind::Other,
    }
}

fn timestamp(nanoseconds: i64) -> Option<Timestamp> {
    Timestamp::from_nanosecond(nanoseconds.into()).ok()
}

fn count(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

/// Runs `work` on a thread that may block; its token is cancelled when nobody waits for it any more.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce(&CancellationToken) -> Result<T, RpcError> + Send + 'static,
) -> Result<T, RpcError> {
    let cancel = CancellationToken::new();
    let _abandoned = cancel.clone().drop_guard();
    tokio::task::spawn_blocking(move || work(&cancel))
        .await
        .unwrap_or_else(|error| {
            Err(RpcError::new(
                Code::Internal,
                format!("the work on the files broke down: {error}"),
            ))
        })
}
