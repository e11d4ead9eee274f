//! Taking lines from a stream of UTF-8.

use std::fs;
use std::io::{BufRead, Read, Seek, SeekFrom};

use memchr::{memchr, memchr_iter, memrchr_iter};
use tokio_util::sync::CancellationToken;

use super::{MAX_LINE_CHARS, MAX_WINDOW_BYTES};
use crate::{Error, VPath};

/// Buffer for reading large files, 256 KiB.
pub(super) const BUFFER_BYTES: usize = 256 << 10;

/// What a line costs beside its text: without, a window of empty lines would have no bound.
const LINE_COST: usize = 16;

/// What was asked for.
pub(super) struct Request<'a> {
    pub(super) offset: i64,
    pub(super) limit: usize,
    pub(super) cancel: &'a CancellationToken,
}

/// Lines as they were found, before they are numbered.
pub(super) struct Collected {
    pub(super) lines: Vec<RawLine>,
    /// Lines that were skipped before them.
    pub(super) skipped: u64,
    /// Whether something follows.
    pub(super) more: bool,
}

/// A line as UTF-8, as far as it is kept.
pub(super) struct RawLine {
    pub(super) bytes: Vec<u8>,
    /// Characters of the whole line.
    pub(super) chars: u64,
    pub(super) clipped: bool,
}

/// Where the line begins that `request.offset` counts from the end; `None` if the file has fewer lines.
pub(super) fn line_from_end(
    file: &mut fs::File,
    mark: u64,
    request: &Request<'_>,
) -> Result<Option<u64>, Failed> {
    let mut end = file.seek(SeekFrom::End(0))?;
    // A line end at the very end does not begin another line.
    let mut wanted = request.offset.unsigned_abs();
    let mut chunk = vec![0; BUFFER_BYTES];
    let mut at_end = true;
    while end > mark {
        if request.cancel.is_cancelled() {
            return Err(Failed::Cancelled);
        }
        let count = usize::try_from(end - mark)
            .unwrap_or(BUFFER_BYTES)
            .min(BUFFER_BYTES);
        let start = end - count as u64;
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut chunk[..count])?;
        if at_end {
            wanted += u64::from(chunk[..count].ends_with(b"\n"));
            at_end = false;
        }
        for at in memrchr_iter(b'\n', &chunk[..count]) {
            wanted -= 1;
            if wanted == 0 {
                return Ok(Some(start + at as u64 + 1));
            }
        }
        end = start;
    }
    Ok(None)
}

/// Why lines could not be had.
pub(super) enum Failed {
    Cancelled,
    PastEnd { total: u64 },
    Io(std::io::Error),
}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

impl Failed {
    pub(super) fn at(self, path: &VPath, request: &Request<'_>) -> Error {
        match self {
            Self::Cancelled => Error::Cancelled,
            Self::PastEnd { total } => Error::PastEnd {
                path: path.clone(),
                offset: request.offset,
                total,
            },
            Self::Io(source) => Error::from_io(path, source),
        }
    }
}

/// Lines up to the end.
pub(super) fn count_lines(reader: &mut impl BufRead, cancel: &CancellationToken) -> Result<u64, Failed> {
    let (mut count, mut unfinished) = (0, false);
    loop {
        if cancel.is_cancelled() {
            return Err(Failed::Cancelled);
        }
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(count + u64::from(unfinished));
        }
        count += memchr_iter(b'\n', buffer).count() as u64;
        unfinished = !buffer.ends_with(b"\n");
        let length = buffer.len();
        reader.consume(length);
    }
}

/// Skips `skip` lines and takes the next `request.limit`.
pub(super) fn collect(
    reader: &mut impl BufRead,
    skip: u64,
    request: &Request<'_>,
) -> Result<Collected, Failed> {
    let mut skipped = 0;
    let mut partial = false;
    while skipped < skip {
        if request.cancel.is_cancelled() {
            return Err(Failed::Cancelled);
        }
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Err(Failed::PastEnd {
                total: skipped + u64::from(partial),
            });
        }
        let count = memchr_iter(b'\n', buffer).count() as u64;
        if skipped + count < skip {
            skipped += count;
            partial = !buffer.ends_with(b"\n");
            let length = buffer.len();
            reader.consume(length);
        } else {
            let wanted = usize::try_from(skip - skipped - 1).unwrap_or(usize::MAX);
            let end = memchr_iter(b'\n', buffer)
                .nth(wanted)
                .map_or(buffer.len(), |at| at + 1);
            skipped = skip;
            reader.consume(end);
        }
    }
    let mut lines = Vec::new();
    let mut bytes = 0;
    while lines.len() < request.limit && bytes < MAX_WINDOW_BYTES {
        let Some(line) = next_line(reader, request.cancel)? else {
            break;
        };
        bytes += line.bytes.len() + LINE_COST;
        lines.push(line);
    }
    if lines.is_empty() && skipped > 0 {
        return Err(Failed::PastEnd { total: skipped });
    }
    let more = !reader.fill_buf()?.is_empty();
    Ok(Collected { lines, skipped, more })
}

fn next_line(reader: &mut impl BufRead, cancel: &CancellationToken) -> Result<Option<RawLine>, Failed> {
    let mut line = RawLine {
        bytes: Vec::new(),
        chars: 0,
        clipped: false,
    };
    let mut any = false;
    // A `\r` at the end of a buffer belongs to the line end if `\n` is next.
    let mut held_return = false;
    loop {
        if cancel.is_cancelled() {
            return Err(Failed::Cancelled);
        }
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            if held_return {
                line.add(b"\r");
            }
            return Ok(any.then_some(line));
        }
        any = true;
        let end = memchr(b'\n', buffer);
        let piece = &buffer[..end.unwrap_or(buffer.len())];
        if held_return && !(piece.is_empty() && end.is_some()) {
            line.add(b"\r");
        }
        held_return = piece.ends_with(b"\r");
        line.add(if held_return {
            &piece[..piece.len() - 1]
        } else {
            piece
        });
        let length = end.map_or(buffer.len(), |at| at + 1);
        reader.consume(length);
        if end.is_some() {
            return Ok(Some(line));
        }
    }
}

impl RawLine {
    /// Adds bytes of UTF-8, keeping [`MAX_LINE_CHARS`] characters.
    fn add(&mut self, piece: &[u8]) {
        let begins = |byte: u8| byte & 0xC0 != 0x80;
        if !self.clipped {
            let room = MAX_LINE_CHARS as u64 - self.chars;
            if piece.len() as u64 <= room {
                self.bytes.extend_from_slice(piece);
            } else {
                let mut starts = piece.iter().enumerate().filter(|(_, byte)| begins(**byte));
                let cut = starts
                    .nth(usize::try_from(room).unwrap_or(usize::MAX))
                    .map(|(at, _)| at);
                self.bytes.extend_from_slice(&piece[..cut.unwrap_or(piece.len())]);
                self.clipped = cut.is_some();
            }
        }
        self.chars += piece.iter().filter(|byte| begins(**byte)).count() as u64;
    }
}
