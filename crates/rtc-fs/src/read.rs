//! Reading a window of lines, with memory that does not grow with the file.

use std::fs;
use std::io::{BufReader, Read, Seek, SeekFrom};

use memchr::{memchr, memchr_iter};
use tokio_util::sync::CancellationToken;

use crate::codec::{Detected, Encoding, detect};
use crate::project::{Opened, Project};
use crate::stat::{CHUNK_BYTES, Hash};
use crate::{Error, Identity, VPath};

mod decoding;
mod lines;

use decoding::DecodingReader;
use lines::{Collected, Request, collect, count_lines, line_from_end};

/// Files up to this size are read whole: their content hash and their number of lines are known. 16 MiB.
pub const MAX_WHOLE_BYTES: u64 = 16 << 20;

/// Characters of a line that a window keeps.
pub const MAX_LINE_CHARS: usize = 2000;

/// Text of all lines of one window, 4 MiB, a line counted as 16 bytes more than it has; it ends early at a line end.
pub const MAX_WINDOW_BYTES: usize = 4 << 20;

/// Bytes at the beginning of a large file from which its encoding is told, 64 KiB.
const HEAD_BYTES: usize = 64 << 10;

/// Some lines of a text file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// Where the file really is.
    pub path: VPath,
    /// The lines in their order; none only if the file is empty.
    pub lines: Vec<Line>,
    /// Lines of the whole file, where that is known without reading a large file to its end.
    pub total_lines: Option<u64>,
    /// The offset with which to read on; `None` at the end.
    pub next_offset: Option<i64>,
    /// Whether line numbers and `next_offset` count from the end, as -1 for the last line.
    pub numbered_from_end: bool,
    /// How the text is stored.
    pub encoding: Encoding,
    /// Size of the file in bytes.
    pub size: u64,
    /// Identity of the file when it was opened.
    pub identity: Identity,
    /// Hash of the whole file, up to [`MAX_WHOLE_BYTES`].
    pub hash: Option<Hash>,
    /// Whether the lines are the whole file, none of them clipped.
    pub complete: bool,
    /// What to tell about the name, see [`crate::Resolved::note`].
    pub note: Option<String>,
}

/// One line, without its line end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// 1-based, or negative in a window that is numbered from the end.
    pub number: i64,
    /// At most [`MAX_LINE_CHARS`] characters.
    pub text: String,
    /// Length of the line in characters, if `text` is not all of it.
    pub clipped: Option<u64>,
}

impl Window {
    /// Whether the file has no text at all.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Keeps only the first `count` lines, so that reading on begins behind them.
    pub fn truncate(&mut self, count: usize) {
        if let Some(line) = self.lines.get(count) {
            self.next_offset = Some(line.number);
            self.complete = false;
            self.lines.truncate(count);
        }
    }
}

/// The bytes of a whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// Where the file really is.
    pub path: VPath,
    /// All bytes.
    pub bytes: Vec<u8>,
    /// Their hash.
    pub hash: Hash,
    /// Identity of the file when it was opened.
    pub identity: Identity,
    /// See [`crate::Resolved::note`].
    pub note: Option<String>,
}

impl Project {
    /// Reads up to `limit` lines from line `offset` on, 1-based; a negative offset counts from the end, and 0 is
    /// the first line. Lines over [`MAX_LINE_CHARS`] characters are clipped.
    ///
    /// Files over [`MAX_WHOLE_BYTES`] are streamed: then the number of lines is not told, and lines counted
    /// from the end are numbered from the end.
    ///
    /// # Errors
    /// As [`Project::open_file`], and [`Error::Binary`], [`Error::PastEnd`], [`Error::Cancelled`].
    pub fn read_window(
        &self,
        path: &VPath,
        offset: i64,
        limit: usize,
        cancel: &CancellationToken,
    ) -> Result<Window, Error> {
        let opened = self.open_file(path)?;
        let request = Request {
            offset,
            limit: limit.max(1),
            cancel,
        };
        if opened.identity.size <= MAX_WHOLE_BYTES {
            whole(opened, &request)
        } else {
            streamed(opened, &request)
        }
    }

    /// Reads a whole file of up to `limit` bytes, text or not.
    ///
    /// # Errors
    /// As [`Project::open_file`], and [`Error::TooLarge`], [`Error::Cancelled`].
    pub fn read_bytes(
        &self,
        path: &VPath,
        limit: u64,
        cancel: &CancellationToken,
    ) -> Result<Contents, Error> {
        let mut opened = self.open_file(path)?;
        let bytes = read_all(
            &mut opened.file,
            opened.identity.size,
            limit,
            &opened.path,
            cancel,
        )?;
        let hash = Hash::of(&bytes);
        Ok(Contents {
            path: opened.path,
            bytes,
            hash,
            identity: opened.identity,
            note: opened.note,
        })
    }
}

/// Reads `file` to its end; an error above `limit` bytes.
pub(crate) fn read_all(
    file: &mut impl Read,
    size: u64,
    limit: u64,
    path: &VPath,
    cancel: &CancellationToken,
) -> Result<Vec<u8>, Error> {
    let too_large = |size| Error::TooLarge {
        path: path.clone(),
        size,
        limit,
    };
    if size > limit {
        return Err(too_large(size));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    loop {
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let count = file
            .by_ref()
            .take(CHUNK_BYTES as u64)
            .read_to_end(&mut bytes)
            .map_err(|source| Error::from_io(path, source))?;
        if bytes.len() as u64 > limit {
            return Err(too_large(bytes.len() as u64));
        }
        if count < CHUNK_BYTES {
            return Ok(bytes);
        }
    }
}

fn whole(mut opened: Opened, request: &Request<'_>) -> Result<Window, Error> {
    let size = opened.identity.size;
    let read = read_all(
        &mut opened.file,
        size,
        MAX_WHOLE_BYTES,
        &opened.path,
        request.cancel,
    );
    let bytes = match read {
        Ok(bytes) => bytes,
        // It grows while it is read, or did not tell how large it is.
        Err(Error::TooLarge { .. }) => {
            opened
                .file
                .rewind()
                .map_err(|source| Error::from_io(&opened.path, source))?;
            return streamed(opened, request);
        }
        Err(error) => return Err(error),
    };
    let encoding = match detect(&bytes, true) {
        Detected::Text(encoding) => encoding,
        Detected::Binary(what) => {
            return Err(Error::Binary {
                path: opened.path,
                what,
                size: bytes.len() as u64,
            });
        }
    };
    let hash = Hash::of(&bytes);
    let text = encoding.decode(&bytes);
    let text = text.as_bytes();
    let total =
        memchr_iter(b'\n', text).count() as u64 + u64::from(!text.is_empty() && !text.ends_with(b"\n"));
    let skip = match request.offset {
        offset @ ..0 => total.saturating_sub(offset.unsigned_abs()),
        offset => offset.unsigned_abs().saturating_sub(1),
    };
    if skip >= total && total > 0 {
        return Err(Error::PastEnd {
            path: opened.path,
            offset: request.offset,
            total,
        });
    }
    let mut reader = text;
    let collected =
        collect(&mut reader, skip.min(total), request).map_err(|failed| failed.at(&opened.path, request))?;
    let mut window = window(opened, encoding, collected, None);
    window.total_lines = Some(total);
    window.size = bytes.len() as u64;
    window.hash = Some(hash);
    Ok(window)
}

fn streamed(mut opened: Opened, request: &Request<'_>) -> Result<Window, Error> {
    let size = opened.identity.size;
    let path = opened.path.clone();
    let failed = |source| Error::from_io(&path, source);
    let mut head = Vec::with_capacity(HEAD_BYTES);
    (&mut opened.file)
        .take(HEAD_BYTES as u64)
        .read_to_end(&mut head)
        .map_err(failed)?;
    let binary = |what| Error::Binary {
        path: path.clone(),
        what,
        size,
    };
    let mut encoding = match detect(&head, false) {
        Detected::Text(encoding) => encoding,
        Detected::Binary(what) => return Err(binary(what)),
    };
    if encoding.is_utf8() {
        let (collected, from_end) = stream_utf8(&mut opened.file, encoding, &path, request)?;
        let bytes = || collected.lines.iter().map(|line| line.bytes.as_slice());
        if bytes().all(|line| std::str::from_utf8(line).is_ok() && memchr(0, line).is_none()) {
            return Ok(window(opened, encoding, collected, from_end));
        }
        // What was asked for is not UTF-8: together with the head it tells what the file is.
        head.truncate(encoding_rs::Encoding::utf8_valid_up_to(&head));
        let seen = std::iter::once(head.as_slice()).chain(bytes());
        encoding = match detect(&seen.collect::<Vec<_>>().join(&b'\n'), true) {
            Detected::Text(encoding) if !encoding.is_utf8() => encoding,
            Detected::Text(_) => return Err(binary("binary data")),
            Detected::Binary(what) => return Err(binary(what)),
        };
    }
    let mut skip = request.offset.unsigned_abs().saturating_sub(1);
    if request.offset < 0 {
        // Other encodings cannot be read backwards: count first.
        let mut reader = DecodingReader::open(&mut opened.file, encoding).map_err(failed)?;
        let total = count_lines(&mut reader, request.cancel).map_err(|failed| failed.at(&path, request))?;
        skip = total.saturating_sub(request.offset.unsigned_abs());
    }
    let mut reader = DecodingReader::open(&mut opened.file, encoding).map_err(failed)?;
    let collected = collect(&mut reader, skip, request).map_err(|failed| failed.at(&path, request))?;
    Ok(window(opened, encoding, collected, None))
}

/// Lines of a large UTF-8 file; with them the offset of the first one if they are numbered from the end.
fn stream_utf8(
    file: &mut fs::File,
    encoding: Encoding,
    path: &VPath,
    request: &Request<'_>,
) -> Result<(Collected, Option<i64>), Error> {
    let mark = encoding.mark().len() as u64;
    let (start, skip, from_end) = if request.offset < 0 {
        match line_from_end(file, mark, request).map_err(|failed| failed.at(path, request))? {
            Some(start) => (start, 0, Some(request.offset)),
            None => (mark, 0, None),
        }
    } else {
        (mark, request.offset.unsigned_abs().saturating_sub(1), None)
    };
    file.seek(SeekFrom::Start(start))
        .map_err(|source| Error::from_io(path, source))?;
    let mut reader = BufReader::with_capacity(lines::BUFFER_BYTES, file);
    let collected = collect(&mut reader, skip, request).map_err(|failed| failed.at(path, request))?;
    Ok((collected, from_end))
}

/// Numbers what was collected. `from_end` is the offset of its first line if it counts from the end.
fn window(opened: Opened, encoding: Encoding, collected: Collected, from_end: Option<i64>) -> Window {
    let first = from_end.unwrap_or_else(|| i64::try_from(collected.skipped).unwrap_or(i64::MAX - 1) + 1);
    let mut number = first;
    let mut lines = Vec::with_capacity(collected.lines.len());
    for line in collected.lines {
        let text = String::from_utf8_lossy(&line.bytes).into_owned();
        lines.push(Line {
            number,
            text,
            clipped: line.clipped.then_some(line.chars),
        });
        number += 1;
    }
    let complete = !collected.more && first == 1 && lines.iter().all(|line| line.clipped.is_none());
    let total = (!collected.more && from_end.is_none()).then(|| collected.skipped + lines.len() as u64);
    Window {
        path: opened.path,
        lines,
        total_lines: total,
        next_offset: collected.more.then_some(number),
        numbered_from_end: from_end.is_some(),
        encoding,
        size: opened.identity.size,
        identity: opened.identity,
        hash: None,
        complete,
        note: opened.note,
    }
}

#[cfg(test)]
mod tests;
