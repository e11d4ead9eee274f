//! What a file is: its kind, its identity and the hash of its content.

use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tokio_util::sync::CancellationToken;

use crate::{Error, VPath};

/// Bytes that are read between two looks at the cancellation, 1 MiB.
pub(crate) const CHUNK_BYTES: usize = 1 << 20;

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link; only in listings, everything else follows links.
    Link,
    /// A pipe, socket or device.
    Other,
}

impl Kind {
    pub(crate) fn of(kind: cap_std::fs::FileType) -> Self {
        if kind.is_symlink() {
            Self::Link
        } else if kind.is_dir() {
            Self::Folder
        } else if kind.is_file() {
            Self::File
        } else {
            Self::Other
        }
    }
}

/// Which file something is, and in which state, as far as the system tells without reading it.
///
/// Equal identities mean the same content in practice; different ones say nothing (a `touch` changes them).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    /// Device that holds the file.
    pub dev: u64,
    /// Number of the file on that device.
    pub ino: u64,
    /// Size in bytes.
    pub size: u64,
    /// Time of the last change of the content, nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Time of the last change of content or metadata, nanoseconds since 1970; 0 where there is none.
    pub ctime_ns: i64,
}

impl Identity {
    /// Whether both are the same file with the same content, whatever happened to its name, mode or links.
    pub(crate) fn same_content(&self, other: &Self) -> bool {
        Self { ctime_ns: 0, ..*self }
            == Self {
                ctime_ns: 0,
                ..*other
            }
    }
}

/// How long after a change another one may leave the same times: the coarsest clock of a file system in use, that of FAT.
const CLOCK_TICK: Duration = Duration::from_secs(2);

/// Whether a file was changed so lately that its identity says nothing of its content: it may be changed once more without
/// a trace. So is one from the future.
///
/// Compared with the system's clock and not with one that is given: the file system has its times from there.
pub(crate) fn changed_lately(identity: &Identity) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let settled = i64::try_from(now.saturating_sub(CLOCK_TICK).as_nanos()).unwrap_or(i64::MAX);
    identity.mtime_ns > settled
}

/// What is at a path, links followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// Where it really is.
    pub path: VPath,
    /// What it is.
    pub kind: Kind,
    /// Size in bytes.
    pub size: u64,
    /// Its identity.
    pub identity: Identity,
}

/// The part of a file's metadata that this crate needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Metadata {
    pub(crate) kind: Kind,
    pub(crate) identity: Identity,
    /// Names that the file has.
    pub(crate) links: u64,
}

impl Metadata {
    #[cfg(unix)]
    pub(crate) fn of(metadata: &cap_std::fs::Metadata) -> Self {
        use cap_std::fs::MetadataExt as _;
        let nanoseconds =
            |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Self {
            kind: Kind::of(metadata.file_type()),
            identity: Identity {
                dev: metadata.dev(),
                ino: metadata.ino(),
                size: metadata.len(),
                mtime_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
                ctime_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
            },
            links: metadata.nlink(),
        }
    }

    #[cfg(not(unix))]
    pub(crate) fn of(metadata: &cap_std::fs::Metadata) -> Self {
        use cap_fs_ext::MetadataExt as _;
        let modified = metadata
            .modified()
            .ok()
            .and_then(|time| time.into_std().duration_since(std::time::UNIX_EPOCH).ok())
            .map_or(0, |time| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX));
        Self {
            kind: Kind::of(metadata.file_type()),
            identity: Identity {
                dev: metadata.dev(),
                ino: metadata.ino(),
                size: metadata.len(),
                mtime_ns: modified,
                ctime_ns: 0,
            },
            links: metadata.nlink(),
        }
    }

    pub(crate) fn of_file(file: &fs::File) -> io::Result<Self> {
        cap_std::fs::Metadata::from_file(file).map(|metadata| Self::of(&metadata))
    }
}

/// BLAKE3 hash of a whole content; in text, 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hash(blake3::Hash);

impl Hash {
    /// The hash of `content`.
    pub fn of(content: &[u8]) -> Self {
        Self(blake3::hash(content))
    }

    /// The hash of pieces that follow one another.
    pub(crate) fn of_pieces<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut hasher = blake3::Hasher::new();
        for piece in pieces {
            hasher.update(piece);
        }
        Self(hasher.finalize())
    }

    /// The hash of everything that `file` still has to give.
    pub(crate) fn of_file(
        file: &mut fs::File,
        path: &VPath,
        cancel: &CancellationToken,
    ) -> Result<Self, Error> {
        let mut hasher = blake3::Hasher::new();
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            if cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            match file
                .read(&mut chunk)
                .map_err(|source| Error::from_io(path, source))?
            {
                0 => return Ok(Self(hasher.finalize())),
                count => hasher.update(&chunk[..count]),
            };
        }
    }
}

impl From<blake3::Hash> for Hash {
    fn from(hash: blake3::Hash) -> Self {
        Self(hash)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.to_hex())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Hash({self})")
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.to_hex())
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        blake3::Hash::from_hex(text.as_bytes())
            .map(Self)
            .map_err(serde::de::Error::custom)
    }
}
