//! Changing a file in two phases: a plan that touches nothing, and its application, which is all or nothing.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::codec::{Detected, EncodeError, Encoding, LineEnd, binary_kind, detect};
use crate::diff::{self, CLIPPED, Unified};
use crate::edit::{self, Found, Span};
use crate::hard_links::Names;
use crate::nearest::nearest;
use crate::preimage::{Kept, KeptSpan, Left, MAX_WHOLE_KEPT_BYTES, PreImage, There};
use crate::project::{Project, open_leaf};
use crate::read::read_all;
use crate::resolve::{Place, Target, locate};
use crate::{Error, Hash, Identity, Kind, VPath};

/// Largest file that can be changed, 512 MiB: its content is in memory while it is.
pub const MAX_CHANGED_BYTES: u64 = 512 << 20;

/// Content of at least this size is hashed on threads of its own, 1 MiB.
const PARALLEL_BYTES: usize = 1 << 20;

/// What `write` does with what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteMode {
    /// The content replaces the file, or makes it.
    #[default]
    Overwrite,
    /// The content goes to the end of the file, or makes it.
    Append,
    /// The content makes the file; it is an error if it exists.
    CreateNew,
}

/// What is stored before a change begins, so that after a crash it can be told whether it happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The file, without links.
    pub path: VPath,
    /// What was there.
    pub before: Before,
    /// Hash of what will be there.
    pub intended: Hash,
    /// Name of the temporary file in the same folder.
    pub temporary: String,
}

/// What was at a path before a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Before {
    /// Nothing.
    Absent,
    /// A file.
    Present {
        /// Hash of its content.
        hash: Hash,
        /// Its identity.
        identity: Identity,
    },
}

/// A change that is worked out and not yet made.
pub struct Planned {
    pub(crate) mark: Mark,
    pub(crate) encoding: Encoding,
    /// The whole old content; empty if there is no file.
    pub(crate) old: Vec<u8>,
    /// What is replaced in `old`, ascending.
    pub(crate) pieces: Vec<Piece>,
    pub(crate) replaced: u64,
    /// The same places in the decoded text.
    spans: Vec<Span>,
    diff: Unified,
    whole: bool,
    /// Its names when it was planned.
    pub(crate) names: Names,
    /// How many folders above the file are missing.
    made_folders: u32,
    /// The mode of a new file, if it is known.
    pub(crate) mode: Option<u32>,
    note: Option<String>,
}

/// Bytes of the old content and those that take their place.
pub(crate) struct Piece {
    pub(crate) range: std::ops::Range<usize>,
    pub(crate) with: Vec<u8>,
}

/// A change that was made and is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The file, without links.
    pub path: VPath,
    /// Its size now.
    pub bytes: u64,
    /// Whether it is new.
    pub created: bool,
    /// Places that an edit replaced; 0 for a write.
    pub replaced: u64,
    /// How its text is stored.
    pub encoding: Encoding,
    /// Hash of its content now.
    pub hash: Hash,
    /// Its identity now.
    pub identity: Identity,
    /// What changed, as unified diff.
    pub diff: String,
}

impl Planned {
    /// The file that changes, without links: permissions are decided on it.
    pub fn path(&self) -> &VPath {
        &self.mark.path
    }

    /// What to store before [`Project::apply`].
    pub fn mark(&self) -> &Mark {
        &self.mark
    }

    /// What will change, as unified diff, as far as it is good to read.
    pub fn diff(&self) -> &str {
        &self.diff.text
    }

    /// The same with nothing left out; `None` if that would be more than [`crate::MAX_WHOLE_DIFF_BYTES`], or the contents
    /// are too large to be compared.
    pub fn whole_diff(&self) -> Option<Cow<'_, str>> {
        if self.diff.is_whole {
            return Some(Cow::Borrowed(&self.diff.text));
        }
        let old = self.encoding.decode(&self.old);
        let whole = diff::unified(&self.mark.path, &old, &self.spans, diff::WHOLE);
        whole.is_whole.then_some(Cow::Owned(whole.text))
    }

    /// How the text will be stored.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Whether the file does not exist yet.
    pub fn creates(&self) -> bool {
        self.mark.before == Before::Absent
    }

    /// Places that an edit replaces; 0 for a write.
    pub fn replaced(&self) -> u64 {
        self.replaced
    }

    /// Size of the file afterwards.
    pub fn bytes(&self) -> u64 {
        self.new_content().map(|piece| piece.len() as u64).sum()
    }

    /// What to tell about the name, see [`crate::Resolved::note`].
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Hash of the content that it was worked out for; `None` if there is no file.
    pub(crate) fn content_before(&self) -> Option<Hash> {
        match self.mark.before {
            Before::Absent => None,
            Before::Present { hash, .. } => Some(hash),
        }
    }

    /// The new content in pieces.
    pub(crate) fn new_content(&self) -> impl Iterator<Item = &[u8]> {
        content_after(&self.old, &self.pieces)
    }

    /// What has to be kept for an undo.
    pub(crate) fn pre_image(&self) -> PreImage {
        let whole = self.whole || self.old.len() as u64 <= MAX_WHOLE_KEPT_BYTES;
        let (before, kept) = match self.mark.before {
            Before::Absent => (There::Nothing, Kept::Absent),
            Before::Present { hash, .. } if whole => (There::File(hash), Kept::Whole(self.old.clone())),
            Before::Present { hash, .. } => {
                let mut grown = 0_i64;
                let spans = self.pieces.iter().map(|piece| {
                    let start = piece.range.start as u64;
                    let span = KeptSpan {
                        start: start.saturating_add_signed(grown),
                        length: piece.with.len() as u64,
                        bytes: self.old[piece.range.clone()].to_vec(),
                    };
                    grown += piece.with.len() as i64 - piece.range.len() as i64;
                    span
                });
                (There::File(hash), Kept::Spans(spans.collect()))
            }
        };
        let is_small = whole && self.bytes() <= MAX_WHOLE_KEPT_BYTES;
        let left = is_small
            .then(|| Left::between(&self.old, &self.new_content().collect::<Vec<_>>().concat()))
            .flatten();
        PreImage {
            path: self.mark.path.clone(),
            before,
            after: There::File(self.mark.intended),
            kept,
            left,
            made_folders: self.made_folders,
            mode: None,
        }
    }

    pub(crate) fn applied(self, identity: Identity) -> Applied {
        Applied {
            bytes: self.bytes(),
            created: self.creates(),
            path: self.mark.path,
            replaced: self.replaced,
            encoding: self.encoding,
            hash: self.mark.intended,
            identity,
            diff: self.diff.text,
        }
    }
}

impl fmt::Debug for Planned {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Planned")
            .field("mark", &self.mark)
            .finish_non_exhaustive()
    }
}

fn content_after<'a>(old: &'a [u8], pieces: &'a [Piece]) -> impl Iterator<Item = &'a [u8]> {
    let ends = std::iter::once(0).chain(pieces.iter().map(|piece| piece.range.end));
    let starts = pieces.iter().map(|piece| piece.range.start).chain([old.len()]);
    let kept = ends.zip(starts).map(|(from, to)| &old[from..to]);
    let new = pieces.iter().map(|piece| piece.with.as_slice()).chain([&b""[..]]);
    kept.zip(new).flat_map(|(kept, new)| [kept, new])
}

/// A file as a plan finds it.
pub(crate) struct Current {
    pub(crate) path: VPath,
    /// `None` if it does not exist.
    pub(crate) identity: Option<Identity>,
    pub(crate) bytes: Vec<u8>,
    names: Names,
    /// How many folders above it are missing.
    missing: u32,
    note: Option<String>,
}

impl Project {
    /// Plans to write `content` to `path`; parents are made when it is applied. An existing file keeps its
    /// encoding, its byte order mark and, where `content` has `\n`, its line end.
    ///
    /// `tag` names the change: the temporary file is called after it.
    ///
    /// # Errors
    /// As [`Project::resolve_new`], and [`Error::IsFolder`], [`Error::Exists`], [`Error::Binary`],
    /// [`Error::TooLarge`], [`Error::UnsupportedEncoding`], [`Error::Unencodable`], [`Error::DamagedText`].
    pub fn plan_write(
        &self,
        path: &VPath,
        content: &str,
        mode: WriteMode,
        tag: &str,
        cancel: &CancellationToken,
    ) -> Result<Planned, Error> {
        let found = self.find_file(path, cancel)?;
        if mode == WriteMode::CreateNew && found.identity.is_some() {
            return Err(Error::Exists { path: found.path });
        }
        let encoding = encoding_of(&found)?;
        // A byte order mark is the file's, not the text's; without a file there is nothing to keep it from.
        let content = if found.identity.is_some() {
            content.trim_start_matches('\u{feff}')
        } else {
            content
        };
        let old = encoding.decode(&found.bytes);
        let content = LineEnd::dominant(&old).unwrap_or(LineEnd::Lf).apply(content);
        let range = match mode {
            WriteMode::Append => old.len()..old.len(),
            WriteMode::Overwrite | WriteMode::CreateNew => 0..old.len(),
        };
        let spans = vec![Span {
            range,
            with: content.into_owned(),
        }];
        let diff = diff::unified(&found.path, &old, &spans, CLIPPED);
        let encoded = encode(&found.path, encoding, &spans[0].with)?;
        let raw = match mode {
            WriteMode::Append => found.bytes.len()..found.bytes.len(),
            WriteMode::Overwrite | WriteMode::CreateNew => encoding.mark().len()..found.bytes.len(),
        };
        drop(old);
        let whole = mode != WriteMode::Append;
        let encoding = if whole { encoding.mended() } else { encoding };
        let pieces = vec![Piece {
            range: raw,
            with: encoded,
        }];
        plan(found, encoding, pieces, Shown { spans, diff }, whole, 0, tag)
    }

    /// Plans to replace `old` by `new` in the file at `path`: at its only place, or with `all` everywhere. Only
    /// what differs between the two is replaced; every other byte of the file stays.
    ///
    /// # Errors
    /// As [`Project::resolve`], and [`Error::NoMatch`], [`Error::Ambiguous`], [`Error::EmptySearch`],
    /// [`Error::NothingToChange`], [`Error::IsFolder`], [`Error::Binary`], [`Error::TooLarge`],
    /// [`Error::UnsupportedEncoding`], [`Error::Unencodable`], [`Error::DamagedText`].
    pub fn plan_edit(
        &self,
        path: &VPath,
        old: &str,
        new: &str,
        all: bool,
        tag: &str,
        cancel: &CancellationToken,
    ) -> Result<Planned, Error> {
        let found = self.find_file(path, cancel)?;
        if found.identity.is_none() {
            return Err(self
                .resolve(path)
                .err()
                .unwrap_or(Error::ChangedSince { path: found.path }));
        }
        let path = found.path.clone();
        if old == new {
            return Err(Error::NothingToChange { path });
        }
        let encoding = encoding_of(&found)?;
        let text = encoding.decode(&found.bytes);
        let spans = if old.is_empty() {
            if !text.is_empty() {
                return Err(Error::EmptySearch { path });
            }
            vec![Span {
                range: 0..0,
                with: new.to_owned(),
            }]
        } else {
            match edit::find(&text, old, new, all) {
                Found::Spans(spans) => spans,
                Found::Nothing => {
                    return Err(Error::NoMatch {
                        path,
                        nearest: nearest(&text, old).map(Box::new),
                    });
                }
                Found::Several { count, lines } => return Err(Error::Ambiguous { path, count, lines }),
                Found::Same => return Err(Error::NothingToChange { path }),
            }
        };
        let (diff, pieces) = pieces_of(&found, encoding, &text, &spans)?;
        drop(text);
        let replaced = spans.len() as u64;
        plan(
            found,
            encoding,
            pieces,
            Shown { spans, diff },
            false,
            replaced,
            tag,
        )
    }

    /// Plans to replace, in the text of a file, `spans` of it.
    pub(crate) fn plan_spans(
        &self,
        found: Current,
        encoding: Encoding,
        spans: Vec<Span>,
        tag: &str,
    ) -> Result<Planned, Error> {
        let text = encoding.decode(&found.bytes);
        let (diff, pieces) = pieces_of(&found, encoding, &text, &spans)?;
        drop(text);
        plan(found, encoding, pieces, Shown { spans, diff }, false, 0, tag)
    }

    /// The file that a plan is about, read.
    pub(crate) fn find_file(&self, path: &VPath, cancel: &CancellationToken) -> Result<Current, Error> {
        let place = locate(self, path)?;
        let real = place.path();
        let Place {
            folder, target, note, ..
        } = place;
        match target {
            Target::Folder => Err(Error::IsFolder { path: real }),
            Target::Missing { names } => Ok(Current {
                path: real,
                identity: None,
                bytes: Vec::new(),
                names: Names::One,
                missing: u32::try_from(names.len().saturating_sub(1)).unwrap_or(u32::MAX),
                note,
            }),
            Target::Leaf { metadata, .. } if metadata.kind != Kind::File => {
                Err(Error::NotRegular { path: real })
            }
            Target::Leaf { name, .. } => {
                let (mut file, metadata) = open_leaf(&folder, &name, &real)?;
                let identity = metadata.identity;
                let bytes = read_all(&mut file, identity.size, MAX_CHANGED_BYTES, &real, cancel)?;
                let names = Names::search(self, &metadata, cancel)?;
                let notes: Vec<String> = note.into_iter().chain(names.note()).collect();
                Ok(Current {
                    path: real,
                    identity: Some(identity),
                    bytes,
                    names,
                    missing: 0,
                    note: (!notes.is_empty()).then(|| notes.join("; ")),
                })
            }
        }
    }
}

fn encoding_of(found: &Current) -> Result<Encoding, Error> {
    match detect(&found.bytes, true) {
        Detected::Text(encoding) => Ok(encoding),
        Detected::Binary(_) => Err(Error::Binary {
            path: found.path.clone(),
            what: binary_kind(&found.bytes),
            size: found.bytes.len() as u64,
        }),
    }
}

fn encode(path: &VPath, encoding: Encoding, text: &str) -> Result<Vec<u8>, Error> {
    encoding.encode(text).map_err(|error| match error {
        EncodeError::Character(_) if matches!(encoding, Encoding::DamagedUtf8 { .. }) => {
            Error::DamagedText { path: path.clone() }
        }
        EncodeError::Character(character) => Error::Unencodable {
            path: path.clone(),
            encoding: encoding.name(),
            character,
        },
        EncodeError::Encoding => Error::UnsupportedEncoding {
            path: path.clone(),
            encoding: encoding.name(),
        },
    })
}

/// What replacing `spans` of a file's text is as a diff, and in its bytes.
fn pieces_of(
    found: &Current,
    encoding: Encoding,
    text: &str,
    spans: &[Span],
) -> Result<(Unified, Vec<Piece>), Error> {
    let diff = diff::unified(&found.path, text, spans, CLIPPED);
    let mark = encoding.mark().len();
    let offsets: Vec<usize> = spans
        .iter()
        .flat_map(|span| [span.range.start, span.range.end])
        .collect();
    let raw = encoding.raw_offsets(&found.bytes[mark..], &offsets);
    let mut pieces = Vec::with_capacity(spans.len());
    for (span, raw) in spans.iter().zip(raw.chunks_exact(2)) {
        let range = mark + raw[0]..mark + raw[1];
        let is_damaged = matches!(encoding, Encoding::DamagedUtf8 { .. });
        if is_damaged && std::str::from_utf8(&found.bytes[range.clone()]).is_err() {
            let path = found.path.clone();
            return Err(Error::DamagedText { path });
        }
        let with = encode(&found.path, encoding, &span.with)?;
        pieces.push(Piece { range, with });
    }
    Ok((diff, pieces))
}

/// What a change does to the decoded text.
struct Shown {
    spans: Vec<Span>,
    diff: Unified,
}

/// Hashes both contents and names the temporary file.
fn plan(
    found: Current,
    encoding: Encoding,
    pieces: Vec<Piece>,
    Shown { spans, diff }: Shown,
    whole: bool,
    replaced: u64,
    tag: &str,
) -> Result<Planned, Error> {
    let old = &found.bytes;
    let size: u64 = content_after(old, &pieces).map(|piece| piece.len() as u64).sum();
    if size > MAX_CHANGED_BYTES {
        return Err(Error::TooLarge {
            path: found.path,
            size,
            limit: MAX_CHANGED_BYTES,
        });
    }
    let hash_new = || Hash::of_pieces(content_after(old, &pieces));
    let (hash, intended) = if old.len() < PARALLEL_BYTES {
        (Hash::of(old), hash_new())
    } else {
        std::thread::scope(|scope| {
            let hash_old = scope.spawn(|| Hash::of(old));
            let intended = hash_new();
            // Hashing cannot panic; if it did, the answer would only take longer.
            (hash_old.join().unwrap_or_else(|_| Hash::of(old)), intended)
        })
    };
    let before = found
        .identity
        .map_or(Before::Absent, |identity| Before::Present { hash, identity });
    let temporary = temporary_name(&found.path, tag);
    let mark = Mark {
        path: found.path,
        before,
        intended,
        temporary,
    };
    Ok(Planned {
        mark,
        encoding,
        old: found.bytes,
        pieces,
        replaced,
        spans,
        diff,
        whole,
        names: found.names,
        made_folders: found.missing,
        mode: None,
        note: found.note,
    })
}

/// A name that only this change of this file has, hidden from listings that leave out dot files.
pub(crate) fn temporary_name(path: &VPath, tag: &str) -> String {
    let hash = Hash::of(format!("{tag}\0{}", path.as_str()).as_bytes()).to_string();
    format!(".rtc-{}.tmp", &hash[..16])
}

/// Whether a name is one that [`temporary_name`] gives.
pub(crate) fn is_temporary(name: &str) -> bool {
    let middle = name
        .strip_prefix(".rtc-")
        .and_then(|name| name.strip_suffix(".tmp"));
    middle.is_some_and(|middle| middle.len() == 16 && middle.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

mod save;
#[cfg(test)]
mod tests;
