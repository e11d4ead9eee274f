//! Writing into the file that is there, where it has to stay the same file.
//!
//! A process may end in the middle of it, and a power cut may leave any part of it. So both contents are first kept beside
//! the file, in a journal; whoever recovers finds by it that what is there is a part of each, and writes on. A program that
//! saves into the same file in the same moment is not seen.

use std::fs;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::{Dir, OpenOptions};

use crate::change::MAX_CHANGED_BYTES;
use crate::stat::Metadata;
use crate::{Error, Hash, Kind, VPath, step};

/// What a journal has behind both contents, before the length of the new one, which comes first.
const MAGIC: &[u8; 16] = b"rtc in place 1\r\n";

/// Bytes after both contents.
const TRAILER_BYTES: usize = MAGIC.len() + 8;

/// Both contents of a file that is written in place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Journal {
    old: Vec<u8>,
    new: Vec<u8>,
    trailer: [u8; TRAILER_BYTES],
}

impl Journal {
    /// A journal of the change from `old` to `new`.
    pub(crate) fn new(old: Vec<u8>, new: Vec<u8>) -> Self {
        let mut trailer = [0; TRAILER_BYTES];
        trailer[..MAGIC.len()].copy_from_slice(MAGIC);
        trailer[MAGIC.len()..].copy_from_slice(&(new.len() as u64).to_le_bytes());
        Self { old, new, trailer }
    }

    /// The journal as a file, in pieces.
    pub(crate) fn pieces(&self) -> [&[u8]; 3] {
        [&self.new, &self.old, &self.trailer]
    }

    /// Reads a journal of a change from the content `before` to `intended`; `None` if it is none, or not whole. Then the
    /// file was not touched.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn read(file: &mut fs::File, before: Hash, intended: Hash) -> io::Result<Option<Self>> {
        let length = file.metadata()?.len();
        let mut trailer = [0; TRAILER_BYTES];
        if length < TRAILER_BYTES as u64 || length > 2 * MAX_CHANGED_BYTES + TRAILER_BYTES as u64 {
            return Ok(None);
        }
        file.seek(SeekFrom::Start(length - TRAILER_BYTES as u64))?;
        file.read_exact(&mut trailer)?;
        if !trailer.starts_with(MAGIC) {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0))?;
        file.read_to_end(&mut bytes)?;
        Ok(Self::parse(bytes, before, intended))
    }

    fn parse(mut bytes: Vec<u8>, before: Hash, intended: Hash) -> Option<Self> {
        let trailer = bytes.split_off(bytes.len().checked_sub(TRAILER_BYTES)?);
        let length = trailer.strip_prefix(MAGIC)?.try_into().ok()?;
        let length = usize::try_from(u64::from_le_bytes(length)).ok()?;
        if length > bytes.len() {
            return None;
        }
        let old = bytes.split_off(length);
        let journal = Self::new(old, bytes);
        (Hash::of(&journal.new) == intended && Hash::of(&journal.old) == before).then_some(journal)
    }

    /// Whether a change that was cut short is what has left the content of `file`.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn is_what_is_left_in(&self, file: &mut fs::File) -> io::Result<bool> {
        let most = self.old.len().max(self.new.len()) as u64;
        let mut found = Vec::new();
        file.seek(SeekFrom::Start(0))?;
        file.take(most + 1).read_to_end(&mut found)?;
        Ok(self.is_torn(&found))
    }

    /// Whether `found` is what a change that was cut short leaves: each byte is of one content or the other, or of room that
    /// was taken and not written yet.
    fn is_torn(&self, found: &[u8]) -> bool {
        let (old, new) = (&self.old, &self.new);
        let lengths = old.len().min(new.len())..=old.len().max(new.len());
        lengths.contains(&found.len())
            && found.iter().enumerate().all(|(at, byte)| {
                let has = |content: &[u8]| content.get(at) == Some(byte);
                has(old) || has(new) || (at >= old.len() && *byte == 0)
            })
    }

    /// Writes the new content over the old one. Room is taken first, so that a full disk changes nothing.
    pub(crate) fn write(&self, file: &mut fs::File) -> io::Result<()> {
        let (old, content) = (&self.old, &self.new);
        let shared = self.shared();
        let overlap = old.len().min(content.len());
        file.seek(SeekFrom::Start(overlap as u64))?;
        file.write_all(&content[overlap..])?;
        file.sync_data()?;
        step::at("grown in place");
        file.seek(SeekFrom::Start(shared as u64))?;
        let rest = &content[shared..overlap.max(shared)];
        let (first, second) = rest.split_at(rest.len() / 2);
        file.write_all(first)?;
        step::at("half in place");
        file.write_all(second)?;
        step::at("not shortened in place");
        file.set_len(content.len() as u64)?;
        file.sync_all()
    }

    /// Writes the old content back.
    pub(crate) fn write_back(&self, file: &mut fs::File) -> io::Result<()> {
        let shared = self.shared();
        file.seek(SeekFrom::Start(shared as u64))?;
        file.write_all(&self.old[shared..])?;
        file.set_len(self.old.len() as u64)?;
        file.sync_all()
    }

    /// How many bytes both begin with.
    fn shared(&self) -> usize {
        let both = self.old.iter().zip(&self.new);
        both.take_while(|(one, other)| one == other).count()
    }
}

/// Opens a file for writing into it, and tells which it is: never through a link, never waiting for a pipe.
pub(crate) fn open(
    folder: &Dir,
    name: &std::ffi::OsStr,
    path: &VPath,
) -> Result<(fs::File, Metadata), Error> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .follow(FollowSymlinks::No)
        .nonblock(true);
    let failed = |source| Error::from_io(path, source);
    let file = folder.open_with(name, &options).map_err(failed)?.into_std();
    let metadata = Metadata::of_file(&file).map_err(failed)?;
    if metadata.kind != Kind::File {
        return Err(Error::ChangedSince { path: path.clone() });
    }
    Ok((file, metadata))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_journal_is_read_back_whole_or_not_at_all(old: Vec<u8>, new: Vec<u8>, cut in 1_usize..100) {
            let journal = Journal::new(old, new);
            let written = journal.pieces().concat();
            let (before, intended) = (Hash::of(&journal.old), Hash::of(&journal.new));
            let read = |bytes: &[u8]| {
                let mut file = tempfile::tempfile().unwrap();
                file.write_all(bytes).unwrap();
                Journal::read(&mut file, before, intended).unwrap()
            };
            prop_assert_eq!(read(&written), Some(journal.clone()));
            prop_assert_eq!(read(&written[..written.len().saturating_sub(cut)]), None);
            prop_assert_eq!(Journal::parse(written, Hash::of(b"else"), intended), None);
        }

        #[test]
        fn whatever_of_a_write_has_reached_the_device_is_seen(
            old in "[ab\n]{0,40}",
            new in "[abc\n]{0,40}",
            page in 1_usize..8,
            reached: [bool; 40],
            length: bool,
        ) {
            let (old, new) = (old.into_bytes(), new.into_bytes());
            let mut found = old.clone();
            found.resize(if length || new.len() > old.len() { new.len() } else { old.len() }, 0);
            for (at, byte) in found.iter_mut().enumerate() {
                if reached[at / page] && let Some(new) = new.get(at) {
                    *byte = *new;
                }
            }
            let is_torn = Journal::new(old, new).is_torn(&found);
            prop_assert!(is_torn);
        }
    }

    #[test]
    fn what_somebody_else_saved_is_not_taken_for_a_part() {
        let journal = Journal::new(b"one two".to_vec(), b"one 2".to_vec());
        for found in ["", "one", "One 2", "one 3", "one two three", "else"] {
            assert!(!journal.is_torn(found.as_bytes()), "{found}");
        }
    }
}
