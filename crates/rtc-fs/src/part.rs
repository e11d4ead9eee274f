//! A part of a file's bytes, with the hash of the whole.

use std::io::Read as _;

use tokio_util::sync::CancellationToken;

use crate::stat::CHUNK_BYTES;
use crate::{Error, Hash, MAX_CHANGED_BYTES, Project, VPath};

/// Some bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Where the file really is.
    pub path: VPath,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// How many the file has.
    pub size: u64,
    /// Hash of all of them.
    pub hash: Hash,
}

impl Project {
    /// Up to `limit` bytes of the file at `path`, from `offset` on; none behind its end. The file is read once and wholly,
    /// so part and hash belong together; memory does not grow with it.
    ///
    /// # Errors
    /// As [`Project::open_file`], and [`Error::TooLarge`] above [`MAX_CHANGED_BYTES`], [`Error::Cancelled`].
    pub fn read_part(
        &self,
        path: &VPath,
        offset: u64,
        limit: usize,
        cancel: &CancellationToken,
    ) -> Result<Part, Error> {
        let mut opened = self.open_file(path)?;
        let too_large = |size| Error::TooLarge {
            path: opened.path.clone(),
            size,
            limit: MAX_CHANGED_BYTES,
        };
        if opened.identity.size > MAX_CHANGED_BYTES {
            return Err(too_large(opened.identity.size));
        }
        let mut hasher = blake3::Hasher::new();
        let (mut size, mut bytes) = (0_u64, Vec::new());
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            if cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let count = opened
                .file
                .read(&mut chunk)
                .map_err(|source| Error::from_io(&opened.path, source))?;
            if count == 0 {
                break;
            }
            let read = &chunk[..count];
            hasher.update(read);
            let skipped = usize::try_from(offset.saturating_sub(size)).unwrap_or(usize::MAX);
            let wanted = read.get(skipped..).unwrap_or_default();
            bytes.extend_from_slice(&wanted[..wanted.len().min(limit - bytes.len())]);
            size += count as u64;
            if size > MAX_CHANGED_BYTES {
                return Err(too_large(size));
            }
        }
        Ok(Part {
            path: opened.path,
            bytes,
            size,
            hash: Hash::from(hasher.finalize()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walk::tests::{project, vpath, write};

    #[test]
    fn parts_together_are_the_file() {
        let (folder, project) = project(&[]);
        let content: Vec<u8> = (0..2 * CHUNK_BYTES + 77).map(|n| (n % 251) as u8).collect();
        write(folder.path(), "f", &content);
        let part = |offset, limit| {
            let cancel = CancellationToken::new();
            project
                .read_part(&vpath("/f"), offset, limit, &cancel)
                .expect("a part")
        };
        for limit in [CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, content.len() + 1] {
            let mut all = Vec::new();
            while all.len() < content.len() {
                let part = part(all.len() as u64, limit);
                assert_eq!((part.size, part.hash), (content.len() as u64, Hash::of(&content)));
                assert!(part.bytes.len() <= limit);
                all.extend(part.bytes);
            }
            assert!(all == content, "{limit}");
        }
        for offset in [content.len() as u64, u64::MAX] {
            assert!(part(offset, 10).bytes.is_empty());
        }
    }
}
