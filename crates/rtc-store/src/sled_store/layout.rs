//! What the one tree contains.
//!
//! | key | value |
//! |---|---|
//! | `m:schema` | JSON: schema, oldest reader, epoch |
//! | `m:revision` | u64: revision of the last commit |
//! | `m:sum` | a sum over the other rows ([`sum`](super::sum)) |
//! | `k` key | record: a caller's value |
//! | `o` stream | u64: offset of the last row |
//! | `s` u16 length of stream, stream, u64 offset | record: a row of a stream |
//! | `c` u16 length of record key, record key, u16 index | a chunk of a record, at most [`CHUNK_BYTES`] |
//! | `b` hash (32), key | nothing: the value of the key is this blob |
//!
//! Numbers are big-endian. A record is a kind, the u64 revision that wrote it, and the content, or where it
//! is ([`Head`]). Contents over [`CHUNK_BYTES`] are cut into chunks, because sled keeps up to some twenty
//! rows a page, rewrites pages whole, and writes those over 128 KiB to files that it never syncs.

use crate::key::Span;
use crate::{Key, Offset, Revision};

/// Written by this version.
pub(super) const SCHEMA: u32 = 1;

/// The most bytes of content in one row.
pub(super) const CHUNK_BYTES: usize = 4096;

pub(super) const SCHEMA_KEY: &[u8] = b"m:schema";
pub(super) const REVISION_KEY: &[u8] = b"m:revision";
pub(super) const SUM_KEY: &[u8] = b"m:sum";

const VALUE: u8 = b'k';
const COUNTER: u8 = b'o';
const STREAM: u8 = b's';
const CHUNK: u8 = b'c';
const NAME: u8 = b'b';

const HASH_BYTES: usize = 32;

/// The hash that names a blob.
pub(super) type Hash = [u8; HASH_BYTES];

pub(super) fn value_key(key: &Key) -> Vec<u8> {
    joined(&[&[VALUE], key.as_bytes()])
}

/// The caller's key in a key of [`value_key`].
pub(super) fn key_of_value(row: &[u8]) -> Key {
    Key::from(row.get(1..).unwrap_or_default())
}

pub(super) fn value_span(prefix: &Key, after: Option<&Key>, before: Option<&Key>) -> Option<Span> {
    let after = after.map(value_key);
    let before = before.map(value_key);
    Span::new(&value_key(prefix), after.as_deref(), before.as_deref())
}

pub(super) fn counter_key(stream: &Key) -> Vec<u8> {
    joined(&[&[COUNTER], stream.as_bytes()])
}

pub(super) fn stream_key(stream: &Key, offset: Offset) -> Vec<u8> {
    let mut key = stream_prefix(stream);
    key.extend_from_slice(&offset.0.to_be_bytes());
    key
}

pub(super) fn stream_span(stream: &Key, after: Offset) -> Option<Span> {
    Span::new(&stream_prefix(stream), Some(&stream_key(stream, after)), None)
}

/// The offset in a key of [`stream_key`].
pub(super) fn offset_of_row(row: &[u8]) -> Option<Offset> {
    row.last_chunk().map(|bytes| Offset(u64::from_be_bytes(*bytes)))
}

fn stream_prefix(stream: &Key) -> Vec<u8> {
    joined(&[&[STREAM], &length(stream.as_bytes()), stream.as_bytes()])
}

pub(super) fn chunk_key(record: &[u8], index: usize) -> Vec<u8> {
    let index = u16::try_from(index)
        .expect("a record has at most 16 chunks")
        .to_be_bytes();
    joined(&[&[CHUNK], &length(record), record, &index])
}

/// How many chunks a content has that is too long for one row.
pub(super) fn chunks_of(len: usize) -> usize {
    len.div_ceil(CHUNK_BYTES)
}

pub(super) fn name_key(hash: &Hash, key: &Key) -> Vec<u8> {
    joined(&[&[NAME], hash, key.as_bytes()])
}

pub(super) fn names_of(hash: &Hash) -> Vec<u8> {
    joined(&[&[NAME], hash])
}

fn length(bytes: &[u8]) -> [u8; 2] {
    u16::try_from(bytes.len())
        .expect("keys are limited to some hundred bytes")
        .to_be_bytes()
}

fn joined(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// What of a row tells it from every other that stood under its key: of a record its kind and revision, of any other row
/// all of it.
pub(super) fn version<'r>(key: &[u8], row: &'r [u8]) -> &'r [u8] {
    match key.first() {
        Some(&(VALUE | STREAM)) => row.get(..HEAD_BYTES).unwrap_or(row),
        _ => row,
    }
}

/// Reads a number that a row holds.
pub(super) fn number(bytes: &[u8]) -> Option<u64> {
    bytes.try_into().ok().map(u64::from_be_bytes)
}

/// The content of a record, or where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Head<'a> {
    Inline(&'a [u8]),
    Chunked { len: usize },
    Blob { hash: Hash, len: u64 },
}

/// Its kind and its revision.
const HEAD_BYTES: usize = 1 + 8;

const INLINE: u8 = 0;
const CHUNKED: u8 = 1;
const BLOB: u8 = 2;

impl<'a> Head<'a> {
    pub(super) fn encode(self, revision: Revision) -> Vec<u8> {
        let revision = revision.0.to_be_bytes();
        match self {
            Head::Inline(content) => joined(&[&[INLINE], &revision, content]),
            Head::Chunked { len } => joined(&[&[CHUNKED], &revision, &(len as u64).to_be_bytes()]),
            Head::Blob { hash, len } => joined(&[&[BLOB], &revision, &hash, &len.to_be_bytes()]),
        }
    }

    /// `None` if the row is no record.
    pub(super) fn decode(row: &'a [u8]) -> Option<(Revision, Head<'a>)> {
        let (kind, rest) = row.split_first()?;
        let (revision, rest) = rest.split_first_chunk()?;
        let head = match *kind {
            INLINE => Head::Inline(rest),
            CHUNKED => Head::Chunked {
                len: usize::try_from(number(rest)?).ok()?,
            },
            BLOB => {
                let (hash, len) = rest.split_first_chunk::<HASH_BYTES>()?;
                Head::Blob {
                    hash: *hash,
                    len: number(len)?,
                }
            }
            _ => return None,
        };
        Some((Revision(u64::from_be_bytes(*revision)), head))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_reads_back() {
        let heads = [
            Head::Inline(b""),
            Head::Inline(b"text"),
            Head::Chunked { len: 65536 },
            Head::Blob {
                hash: [7; 32],
                len: 1 << 20,
            },
        ];
        for head in heads {
            let row = head.encode(Revision(42));
            assert_eq!(Head::decode(&row), Some((Revision(42), head)));
        }
        for damaged in [
            &b""[..],
            b"\0short",
            b"\x01\0\0\0\0\0\0\0\x01four",
            b"\x09\0\0\0\0\0\0\0\x01",
        ] {
            assert_eq!(Head::decode(damaged), None, "{damaged:?}");
        }
    }

    #[test]
    fn the_layout_on_the_device_does_not_move() {
        let key = Key::from("a/b");
        let rows = [
            value_key(&key),
            counter_key(&key),
            stream_key(&key, Offset(258)),
            chunk_key(&value_key(&key), 3),
            name_key(&[b'h'; 32], &key),
            Head::Inline(b"x").encode(Revision(1)),
            Head::Chunked { len: 5000 }.encode(Revision(1)),
        ];
        let text: Vec<String> = rows.iter().map(|row| row.escape_ascii().to_string()).collect();
        insta::assert_snapshot!(text.join("\n"), @r"
        ka/b
        oa/b
        s\x00\x03a/b\x00\x00\x00\x00\x00\x00\x01\x02
        c\x00\x04ka/b\x00\x03
        bhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhha/b
        \x00\x00\x00\x00\x00\x00\x00\x00\x01x
        \x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x13\x88
        ");
    }

    #[test]
    fn a_stream_whose_name_begins_like_another_is_apart() {
        let span = stream_span(&Key::from("a"), Offset(0)).unwrap();
        let inside = |row: &Vec<u8>| std::ops::RangeBounds::<[u8]>::contains(&span.bounds(), row.as_slice());
        assert!(inside(&stream_key(&Key::from("a"), Offset(1))));
        assert!(inside(&stream_key(&Key::from("a"), Offset(u64::MAX))));
        assert!(!inside(&stream_key(&Key::from("a"), Offset(0))));
        assert!(!inside(&stream_key(&Key::from("ab"), Offset(1))));
    }
}
