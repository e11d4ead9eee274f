//! What was there before a change, kept so that it can be undone.

mod folder;
mod printed;
mod record;
mod sweep;
mod undos;
mod version1;

use crate::{Error, Hash, VPath};

pub use folder::{About, MAX_PRE_IMAGES, PreImageFolder};
pub use sweep::{Retention, Swept};
pub use undos::{MAX_UNDOS, Undo, UndoPart};

/// Up to this size, 1 MiB each, the whole content before and after an edit is kept, so that both can be shown also after
/// the file has been changed by somebody else. Of larger files only the places that an edit replaced are kept.
pub const MAX_WHOLE_KEPT_BYTES: u64 = 1 << 20;

/// What a change replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreImage {
    /// The file or folder, without links.
    pub path: VPath,
    /// What was there before.
    pub before: There,
    /// What is there after: an undo is possible as long as it is.
    pub after: There,
    /// What is needed to get from after to before.
    pub kept: Kept,
    /// What is needed to get from before to after; `None` if that was not kept.
    pub left: Option<Left>,
    /// How many of the folders above it were made with it.
    pub made_folders: u32,
    /// The mode of a file that left its place, as `chmod` has it; `None` on systems without.
    pub mode: Option<u32>,
}

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum There {
    /// Nothing.
    Nothing,
    /// A file with this content.
    File(Hash),
    /// A folder.
    Folder,
    /// Nothing, or an empty file: the first version did not tell them apart.
    NothingOrEmpty,
}

impl There {
    /// The hash of the content, if a file is there.
    pub fn hash(self) -> Option<Hash> {
        match self {
            Self::File(hash) => Some(hash),
            Self::Nothing | Self::Folder | Self::NothingOrEmpty => None,
        }
    }

    /// Whether something is there.
    pub fn is_some(self) -> bool {
        matches!(self, Self::File(_) | Self::Folder)
    }

    /// Whether it is `now` that is there.
    pub fn is(self, now: Self) -> bool {
        match self {
            Self::NothingOrEmpty => now == Self::Nothing || now == Self::File(Hash::of(b"")),
            other => other == now,
        }
    }
}

/// The part of the old content that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kept {
    /// There was no file.
    Absent,
    /// All of it.
    Whole(Vec<u8>),
    /// What an edit replaced, ascending.
    Spans(Vec<KeptSpan>),
}

/// One place that an edit replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptSpan {
    /// Where the new bytes begin in the new content.
    pub start: u64,
    /// How many new bytes there are.
    pub length: u64,
    /// The old bytes.
    pub bytes: Vec<u8>,
}

/// What a change put in the place of a part of the whole old content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// How many bytes before it stayed.
    pub start: u64,
    /// How many bytes behind it stayed.
    pub end: u64,
    /// The new bytes.
    pub bytes: Vec<u8>,
}

impl Left {
    /// What leads from `old` to `new`; `None` above [`MAX_WHOLE_KEPT_BYTES`].
    pub(crate) fn between(old: &[u8], new: &[u8]) -> Option<Self> {
        let most = MAX_WHOLE_KEPT_BYTES as usize;
        if old.len() > most || new.len() > most {
            return None;
        }
        let start = old
            .iter()
            .zip(new)
            .take_while(|(one, other)| one == other)
            .count();
        let (old, new) = (&old[start..], &new[start..]);
        let end = old
            .iter()
            .rev()
            .zip(new.iter().rev())
            .take_while(|(one, other)| one == other)
            .count();
        Some(Self {
            start: start as u64,
            end: end as u64,
            bytes: new[..new.len() - end].to_vec(),
        })
    }

    fn of(&self, old: &[u8]) -> Option<Vec<u8>> {
        let start = usize::try_from(self.start).ok()?;
        let end = old.len().checked_sub(usize::try_from(self.end).ok()?)?;
        old.get(start..end)?;
        Some([&old[..start], &self.bytes, &old[end..]].concat())
    }
}

/// What is at a path, with its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Nothing.
    Nothing,
    /// A file.
    File(Vec<u8>),
    /// A folder.
    Folder,
}

impl Content {
    /// The same by its hash.
    pub fn there(&self) -> There {
        match self {
            Self::Nothing => There::Nothing,
            Self::File(bytes) => There::File(Hash::of(bytes)),
            Self::Folder => There::Folder,
        }
    }
}

impl PreImage {
    /// The whole content before the change, from the content `after` it, which is empty if the file was removed; `None` if
    /// there was no file.
    ///
    /// # Errors
    /// [`Error::ChangedSince`] if `after` is not what the change left, [`Error::DamagedPreImage`] if what was kept
    /// does not lead to what was there.
    pub fn before(&self, after: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let is_after = match self.after {
            There::File(hash) => Hash::of(after) == hash,
            There::Nothing | There::NothingOrEmpty => after.is_empty(),
            There::Folder => false,
        };
        if !is_after {
            return Err(Error::ChangedSince {
                path: self.path.clone(),
            });
        }
        let before = match &self.kept {
            Kept::Absent => None,
            Kept::Whole(bytes) => Some(bytes.clone()),
            Kept::Spans(spans) => {
                Some(without_spans(after, spans).ok_or_else(|| self.damaged("its places do not fit"))?)
            }
        };
        if before.as_deref().map(Hash::of) != self.before.hash() {
            return Err(self.damaged("its content is not what was there"));
        }
        Ok(before)
    }

    /// What was there before, without the content after; `None` if too little was kept for that.
    pub fn content_before(&self) -> Option<Content> {
        match (self.before, &self.kept) {
            (There::Nothing, _) => Some(Content::Nothing),
            (There::Folder, _) => Some(Content::Folder),
            (There::File(_), Kept::Whole(bytes)) => Some(Content::File(bytes.clone())),
            (There::File(_) | There::NothingOrEmpty, _) => None,
        }
    }

    /// What the change left; `None` if too little was kept for that.
    pub fn content_after(&self) -> Option<Content> {
        match self.after {
            There::Nothing => Some(Content::Nothing),
            There::Folder => Some(Content::Folder),
            There::NothingOrEmpty => None,
            There::File(hash) => {
                let old = match &self.kept {
                    Kept::Absent => &[][..],
                    Kept::Whole(bytes) => bytes,
                    Kept::Spans(_) => return None,
                };
                let new = self.left.as_ref()?.of(old)?;
                (Hash::of(&new) == hash).then_some(Content::File(new))
            }
        }
    }

    /// Whether `other` is of the same change, made again: folders that the first start has made are there by then.
    fn is_again(&self, other: &Self) -> bool {
        let Self {
            path,
            before,
            after,
            kept,
            left,
            made_folders,
            mode,
        } = other;
        (&self.path, &self.before, &self.after) == (path, before, after)
            && (&self.kept, &self.left, &self.mode) == (kept, left, mode)
            && self.made_folders >= *made_folders
    }

    fn damaged(&self, reason: &str) -> Error {
        Error::DamagedPreImage {
            name: format!("of `{}`", self.path),
            reason: reason.to_owned(),
        }
    }
}

fn without_spans(after: &[u8], spans: &[KeptSpan]) -> Option<Vec<u8>> {
    let mut before = Vec::with_capacity(after.len());
    let mut from = 0;
    for span in spans {
        let start = usize::try_from(span.start).ok()?;
        before.extend_from_slice(after.get(from..start)?);
        before.extend_from_slice(&span.bytes);
        from = start.checked_add(usize::try_from(span.length).ok()?)?;
    }
    before.extend_from_slice(after.get(from..)?);
    Some(before)
}

#[cfg(test)]
mod tests;
