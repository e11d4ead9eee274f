//! The bytes of a file that is searched, with as few system calls as can be: there may be a hundred thousand files.

use std::io::{self, Read};
use std::ops::Range;

use tokio_util::sync::CancellationToken;

/// Bytes that are read first: most files are not longer. 64 KiB, once for each thread.
pub(super) const FIRST_BYTES: usize = 64 << 10;

/// A file that is read until a cancellation, and up to the size that it had when it was opened.
pub(super) struct Reading<'a, R> {
    file: R,
    /// 0 where the system does not tell it.
    size: u64,
    read: u64,
    begun: bool,
    first: &'a mut [u8],
    /// What of `first` has not been given away.
    ready: Range<usize>,
    cancel: &'a CancellationToken,
}

impl<'a, R: Read> Reading<'a, R> {
    pub(super) fn new(file: R, size: u64, first: &'a mut [u8], cancel: &'a CancellationToken) -> Self {
        Self {
            file,
            size,
            read: 0,
            begun: false,
            first,
            ready: 0..0,
            cancel,
        }
    }
}

impl<R: Read> Read for Reading<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Ok(0);
        }
        // The search engine asks for a few bytes first, and at the end until there are none.
        if !self.begun {
            self.begun = true;
            let count = self.file.read(self.first)?;
            self.read = count as u64;
            self.ready = 0..count;
        }
        if !self.ready.is_empty() {
            let count = (&self.first[self.ready.clone()]).read(buffer)?;
            self.ready.start += count;
            return Ok(count);
        }
        if self.size > 0 && self.read >= self.size {
            return Ok(0);
        }
        let count = self.file.read(buffer)?;
        self.read += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts reads, and gives at most so many bytes at a time.
    struct Counted<'a> {
        left: &'a [u8],
        most: usize,
        reads: &'a mut usize,
    }

    impl Read for Counted<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            *self.reads += 1;
            let most = self.most.min(buffer.len());
            self.left.read(&mut buffer[..most])
        }
    }

    #[test]
    fn all_is_read_with_as_few_calls_as_can_be() {
        let content: Vec<u8> = (0..200_u8).collect();
        // The size that is told, the bytes of the first read, those of each, and the calls.
        for (size, first, most, calls) in [
            (200, 1_000, 1_000, 1),
            (200, 200, 1_000, 1),
            (200, 50, 1_000, 2),
            (200, 1_000, 70, 3),
            // It has become smaller, or does not tell its size.
            (300, 1_000, 1_000, 2),
            (0, 1_000, 1_000, 2),
        ] {
            let (mut reads, mut first) = (0, vec![0; first]);
            let file = Counted {
                left: &content,
                most,
                reads: &mut reads,
            };
            let cancel = CancellationToken::new();
            let mut reading = Reading::new(file, size, &mut first, &cancel);
            let (mut read, mut buffer, mut asked) = (vec![], [0; 1_000], 3);
            loop {
                let count = reading.read(&mut buffer[..asked]).unwrap();
                read.extend_from_slice(&buffer[..count]);
                if count == 0 {
                    break;
                }
                asked = buffer.len();
            }
            assert_eq!(read, content, "{size}");
            assert_eq!(reads, calls, "{size}");
        }
    }
}
