//! A pre-image as one file: a line of JSON that describes it, and its bytes.

use serde::{Deserialize, Serialize};

use super::{About, Kept, KeptSpan, Left, PreImage, There};
use crate::{Hash, VPath};

/// Version of the files that are written.
pub(super) const VERSION: u32 = 2;

/// The first line.
#[derive(Serialize, Deserialize)]
struct Description {
    version: u32,
    /// Which start of the call kept it.
    attempt: u32,
    path: VPath,
    before: ThereDescription,
    after: ThereDescription,
    kept: KeptDescription,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    left: Option<LeftDescription>,
    #[serde(default, skip_serializing_if = "is_zero")]
    made_folders: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mode: Option<u32>,
    /// Hash of the bytes behind the line.
    bytes: Hash,
}

impl Description {
    fn decode(line: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let told = |error: serde_json::Error| error.to_string();
        let Versioned { version } = serde_json::from_slice(line).map_err(told)?;
        if version != VERSION {
            return Err(format!("its version is {version}, known is {VERSION}"));
        }
        serde_json::from_slice(line).map_err(told)
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ThereDescription {
    Nothing,
    File(Hash),
    Folder,
    NothingOrEmpty,
}

impl From<There> for ThereDescription {
    fn from(there: There) -> Self {
        match there {
            There::Nothing => Self::Nothing,
            There::File(hash) => Self::File(hash),
            There::Folder => Self::Folder,
            There::NothingOrEmpty => Self::NothingOrEmpty,
        }
    }
}

impl From<ThereDescription> for There {
    fn from(there: ThereDescription) -> Self {
        match there {
            ThereDescription::Nothing => Self::Nothing,
            ThereDescription::File(hash) => Self::File(hash),
            ThereDescription::Folder => Self::Folder,
            ThereDescription::NothingOrEmpty => Self::NothingOrEmpty,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum KeptDescription {
    Absent,
    /// All bytes but those of `left`.
    Whole,
    Spans(Vec<SpanDescription>),
}

#[derive(Serialize, Deserialize)]
pub(super) struct SpanDescription {
    start: u64,
    length: u64,
    /// How many of the bytes belong to it.
    kept: u64,
}

/// Its bytes are the last ones.
#[derive(Serialize, Deserialize)]
struct LeftDescription {
    start: u64,
    end: u64,
    length: u64,
}

/// A pre-image, and which start of the call kept it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) attempt: u32,
    pub(super) image: PreImage,
}

impl Record {
    /// The file.
    pub(super) fn encode(attempt: u32, image: &PreImage) -> serde_json::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let kept = match &image.kept {
            Kept::Absent => KeptDescription::Absent,
            Kept::Whole(whole) => {
                bytes.extend_from_slice(whole);
                KeptDescription::Whole
            }
            Kept::Spans(spans) => {
                let spans = spans.iter().map(|span| {
                    bytes.extend_from_slice(&span.bytes);
                    SpanDescription {
                        start: span.start,
                        length: span.length,
                        kept: span.bytes.len() as u64,
                    }
                });
                KeptDescription::Spans(spans.collect())
            }
        };
        let left = image.left.as_ref().map(|left| {
            bytes.extend_from_slice(&left.bytes);
            LeftDescription {
                start: left.start,
                end: left.end,
                length: left.bytes.len() as u64,
            }
        });
        let mut file = serde_json::to_vec(&Description {
            version: VERSION,
            attempt,
            path: image.path.clone(),
            before: image.before.into(),
            after: image.after.into(),
            kept,
            left,
            made_folders: image.made_folders,
            mode: image.mode,
            bytes: Hash::of(&bytes),
        })?;
        file.push(b'\n');
        file.append(&mut bytes);
        Ok(file)
    }

    /// What the first line of a file says.
    pub(super) fn about(line: &[u8]) -> Result<About, String> {
        let Description {
            path, before, after, ..
        } = Description::decode(line)?;
        Ok(About {
            path,
            before: before.into(),
            after: after.into(),
        })
    }

    /// What a file has, or why it cannot be one.
    pub(super) fn decode(file: &[u8]) -> Result<Self, String> {
        let end = memchr::memchr(b'\n', file).ok_or("it has no first line")?;
        let (line, bytes) = (&file[..end], &file[end + 1..]);
        let description = Description::decode(line)?;
        if Hash::of(bytes) != description.bytes {
            return Err("its bytes have changed".to_owned());
        }
        let (kept, left) = match &description.left {
            None => (bytes, None),
            Some(left) => {
                let length = usize::try_from(left.length).unwrap_or(usize::MAX);
                let from = bytes.len().checked_sub(length).ok_or(TOO_FEW)?;
                let own = Left {
                    start: left.start,
                    end: left.end,
                    bytes: bytes[from..].to_vec(),
                };
                (&bytes[..from], Some(own))
            }
        };
        Ok(Self {
            attempt: description.attempt,
            image: PreImage {
                path: description.path,
                before: description.before.into(),
                after: description.after.into(),
                kept: description.kept.with(kept)?,
                left,
                made_folders: description.made_folders,
                mode: description.mode,
            },
        })
    }
}

const TOO_FEW: &str = "its bytes are too few";

impl KeptDescription {
    /// What is described, with its bytes.
    pub(super) fn with(self, bytes: &[u8]) -> Result<Kept, String> {
        let spans = match self {
            Self::Absent => return Ok(Kept::Absent),
            Self::Whole => return Ok(Kept::Whole(bytes.to_vec())),
            Self::Spans(spans) => spans,
        };
        let mut rest = bytes;
        let mut kept = Vec::with_capacity(spans.len());
        for span in spans {
            let count = usize::try_from(span.kept).unwrap_or(usize::MAX);
            let (own, after) = rest.split_at_checked(count).ok_or(TOO_FEW)?;
            kept.push(KeptSpan {
                start: span.start,
                length: span.length,
                bytes: own.to_vec(),
            });
            rest = after;
        }
        Ok(Kept::Spans(kept))
    }
}
