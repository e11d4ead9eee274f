//! `acknowledged`: up to which commit the store has said that it is on the device.
//!
//! sled takes a log it cannot read for a log that ends there, so a damage would take back what was acknowledged
//! without a word. This is written in place after the flush of each commit group, and never synced: it survives the
//! end of the process, and after a power cut it is at most behind the database. Ahead of it, it tells of a loss.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::files;
use super::header::Schema;
use crate::Revision;

/// The file.
pub(super) const NAME: &str = "acknowledged";

/// The revision, and the beginning of a hash over it and the store's epoch.
const BYTES: usize = 16;

/// The note of one store.
#[derive(Debug)]
pub(super) struct Acknowledged {
    /// `None` where it cannot be written: then a lost end is noticed up to the last clean close only.
    file: Option<File>,
    path: PathBuf,
    epoch: String,
}

impl Acknowledged {
    /// The note in the folder of a store, and what it says; one that is not there or torn says nothing. It is made if
    /// need be.
    pub(super) fn open(folder: &Path, schema: &Schema) -> (Self, Revision) {
        let path = folder.join(NAME);
        let mut note = Self {
            file: None,
            path,
            epoch: schema.epoch.clone(),
        };
        let noted = match files::open_in_place(&note.path) {
            Ok(mut file) => {
                let mut bytes = Vec::with_capacity(BYTES);
                let read = (&mut file).take(BYTES as u64 + 1).read_to_end(&mut bytes);
                note.file = Some(file);
                read.ok().and_then(|_| note.decode(&bytes))
            }
            Err(error) => {
                tracing::warn!(path = %note.path.display(), %error, "what is acknowledged is not noted");
                None
            }
        };
        (note, noted.unwrap_or(Revision(0)))
    }

    /// Notes that everything up to this revision is on the device. A failure is no reason to stop: an older note is a
    /// true one.
    pub(super) fn note(&mut self, revision: Revision) {
        let bytes = self.encode(revision);
        let Some(file) = &mut self.file else { return };
        if let Err(error) = write_in_place(file, &bytes) {
            tracing::warn!(path = %self.path.display(), %error, "what is acknowledged is not noted");
            self.file = None;
        }
    }

    fn encode(&self, revision: Revision) -> [u8; BYTES] {
        let number = revision.0.to_be_bytes();
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.epoch.as_bytes()).update(&number);
        let mut bytes = [0; BYTES];
        let (first, second) = bytes.split_at_mut(number.len());
        first.copy_from_slice(&number);
        second.copy_from_slice(&hasher.finalize().as_bytes()[..BYTES - number.len()]);
        bytes
    }

    fn decode(&self, bytes: &[u8]) -> Option<Revision> {
        let revision = Revision(u64::from_be_bytes(*bytes.first_chunk()?));
        (bytes == self.encode(revision)).then_some(revision)
    }
}

fn write_in_place(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    #[cfg(unix)]
    {
        std::os::unix::fs::FileExt::write_all_at(file, bytes, 0)
    }
    #[cfg(not(unix))]
    {
        use std::io::{Seek, Write};
        file.rewind()?;
        file.write_all(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_back_and_a_torn_or_foreign_one_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("acknowledged");
        let schema = Schema::created();
        let noted = |schema: &Schema| Acknowledged::open(folder.path(), schema).1;
        assert_eq!(noted(&schema), Revision(0));
        for revision in [1, 300, u64::MAX, 7] {
            let (mut note, _) = Acknowledged::open(folder.path(), &schema);
            note.note(Revision(revision));
            assert_eq!(noted(&schema), Revision(revision));
        }
        assert_eq!(noted(&Schema::created()), Revision(0), "of another store");
        let whole = std::fs::read(&path).unwrap();
        assert_eq!(whole.len(), BYTES);
        for length in 0..BYTES {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert_eq!(noted(&schema), Revision(0), "{length} bytes");
            let mut flipped = whole.clone();
            flipped[length] ^= 1;
            std::fs::write(&path, flipped).unwrap();
            assert_eq!(noted(&schema), Revision(0), "byte {length} flipped");
        }
    }
}
