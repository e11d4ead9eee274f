//! Text as it is in files: which encoding it has, reading it, and writing it back.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::Encoding as Legacy;
use memchr::{memchr, memchr_iter};
use serde::{Serialize, Serializer};

/// Bytes from the first one that is not ASCII on which a legacy encoding is guessed, 1 MiB.
const GUESSED_BYTES: usize = 1 << 20;

/// The byte order mark of UTF-8.
pub(crate) const UTF8_BOM: &[u8] = b"\xEF\xBB\xBF";

/// How the text of a file is stored. A byte order mark is part of it and never part of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// UTF-8 without a byte order mark; also plain ASCII and an empty file.
    Utf8,
    /// UTF-8 with a byte order mark.
    Utf8Bom,
    /// UTF-8 with a few bytes that are none. Each run of them is U+FFFD in the text, keeps its bytes in the file, and is
    /// never written.
    DamagedUtf8 {
        /// Whether there is a byte order mark.
        marked: bool,
    },
    /// UTF-16, little end first, with its byte order mark.
    Utf16Le,
    /// UTF-16, big end first, with its byte order mark.
    Utf16Be,
    /// An older encoding, by its name in the WHATWG Encoding Standard.
    Legacy(&'static str),
}

/// What the bytes of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detected {
    /// Text.
    Text(Encoding),
    /// No text; the words say what it seems to be.
    Binary(&'static str),
}

/// A character that an encoding does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EncodeError {
    /// This character.
    Character(char),
    /// The encoding cannot be written at all.
    Encoding,
}

impl Encoding {
    /// The name that people know.
    pub fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf8Bom => "UTF-8 with BOM",
            Self::DamagedUtf8 { marked: false } => "damaged UTF-8",
            Self::DamagedUtf8 { marked: true } => "damaged UTF-8 with BOM",
            Self::Utf16Le => "UTF-16 LE",
            Self::Utf16Be => "UTF-16 BE",
            Self::Legacy(name) => name,
        }
    }

    /// Bytes before the text.
    pub(crate) fn mark(self) -> &'static [u8] {
        match self {
            Self::Utf8 | Self::DamagedUtf8 { marked: false } | Self::Legacy(_) => b"",
            Self::Utf8Bom | Self::DamagedUtf8 { marked: true } => UTF8_BOM,
            Self::Utf16Le => b"\xFF\xFE",
            Self::Utf16Be => b"\xFE\xFF",
        }
    }

    /// Whether the bytes after the mark are the text itself.
    pub(crate) fn is_utf8(self) -> bool {
        matches!(self, Self::Utf8 | Self::Utf8Bom)
    }

    /// This encoding once the whole text is written anew: then nothing is damaged any more.
    pub(crate) fn mended(self) -> Self {
        match self {
            Self::DamagedUtf8 { marked: false } => Self::Utf8,
            Self::DamagedUtf8 { marked: true } => Self::Utf8Bom,
            other => other,
        }
    }

    /// The decoder of this encoding.
    pub(crate) fn standard(self) -> &'static Legacy {
        match self {
            Self::Utf8 | Self::Utf8Bom | Self::DamagedUtf8 { .. } => encoding_rs::UTF_8,
            Self::Utf16Le => encoding_rs::UTF_16LE,
            Self::Utf16Be => encoding_rs::UTF_16BE,
            Self::Legacy(name) => Legacy::for_label(name.as_bytes()).unwrap_or(encoding_rs::WINDOWS_1252),
        }
    }

    /// The text of a whole file, without its mark. Bytes that [`detect`] has accepted decode without loss, but for those
    /// that damage UTF-8.
    pub fn decode(self, bytes: &[u8]) -> Cow<'_, str> {
        let bytes = bytes.strip_prefix(self.mark()).unwrap_or(bytes);
        self.standard().decode_without_bom_handling(bytes).0
    }

    /// The bytes of a piece of text, without a mark.
    pub(crate) fn encode(self, text: &str) -> Result<Vec<u8>, EncodeError> {
        match self {
            Self::Utf8 | Self::Utf8Bom => Ok(text.as_bytes().to_vec()),
            // Whoever writes it means a byte that cannot be told from others.
            Self::DamagedUtf8 { .. } if text.contains(char::REPLACEMENT_CHARACTER) => {
                Err(EncodeError::Character(char::REPLACEMENT_CHARACTER))
            }
            Self::DamagedUtf8 { .. } => Ok(text.as_bytes().to_vec()),
            Self::Utf16Le => Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
            Self::Utf16Be => Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
            Self::Legacy(_) => self.encode_legacy(text),
        }
    }

    fn encode_legacy(self, text: &str) -> Result<Vec<u8>, EncodeError> {
        let standard = self.standard();
        if standard.output_encoding() != standard {
            return Err(EncodeError::Encoding);
        }
        let (bytes, _, lossy) = standard.encode(text);
        if !lossy {
            return Ok(bytes.into_owned());
        }
        let mut buffer = [0; 4];
        let missing = text
            .chars()
            .find(|c| standard.encode(c.encode_utf8(&mut buffer)).2);
        Err(missing.map_or(EncodeError::Encoding, EncodeError::Character))
    }

    /// Where in the bytes after the mark the text has the given offsets, which ascend and are at characters.
    pub(crate) fn raw_offsets(self, bytes: &[u8], text_offsets: &[usize]) -> Vec<usize> {
        match self {
            Self::Utf8 | Self::Utf8Bom => return text_offsets.to_vec(),
            Self::DamagedUtf8 { .. } => return damaged_offsets(bytes, text_offsets),
            Self::Utf16Le | Self::Utf16Be | Self::Legacy(_) => {}
        }
        let mut decoder = self.standard().new_decoder_without_bom_handling();
        // Room for what one byte can bring: the end of one character and the whole of another.
        let mut scratch = [0; 16];
        let (mut raw, mut text) = (0, 0);
        let mut found = Vec::with_capacity(text_offsets.len());
        for &offset in text_offsets {
            while text < offset && raw < bytes.len() {
                let (_, _, written, _) = decoder.decode_to_utf8(&bytes[raw..=raw], &mut scratch, false);
                raw += 1;
                text += written;
            }
            found.push(raw);
        }
        found
    }
}

impl Serialize for Encoding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// As [`Encoding::raw_offsets`], where each run of bytes that are no UTF-8 is U+FFFD in the text.
fn damaged_offsets(bytes: &[u8], text_offsets: &[usize]) -> Vec<usize> {
    let mut wanted = text_offsets.iter().peekable();
    let (mut raw, mut text) = (0, 0);
    let mut found = Vec::with_capacity(text_offsets.len());
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid().len();
        while let Some(offset) = wanted.next_if(|offset| **offset <= text + valid) {
            found.push(raw + offset - text);
        }
        raw += valid + chunk.invalid().len();
        text += valid + char::REPLACEMENT_CHARACTER.len_utf8();
    }
    found.resize(text_offsets.len(), bytes.len());
    found
}

/// Says what `bytes` are: by byte order mark, else valid UTF-8, else UTF-8 with little damage (of the characters
/// that are not ASCII, no more are wrong than half of those that are right; behind a byte order mark, any number), else
/// a legacy encoding that decodes without errors and without control characters, else binary.
///
/// `whole` says that nothing follows; without it a character cut off at the end is no error.
pub fn detect(bytes: &[u8], whole: bool) -> Detected {
    for encoding in [Encoding::Utf16Le, Encoding::Utf16Be] {
        if let Some(text) = bytes.strip_prefix(encoding.mark()) {
            let text = if whole { text } else { &text[..text.len() & !1] };
            let clean = !has_zero_unit(text) && decodes(encoding.standard(), text, whole);
            return if clean {
                Detected::Text(encoding)
            } else {
                Detected::Binary(binary_kind(bytes))
            };
        }
    }
    if memchr(0, bytes).is_some() {
        return Detected::Binary(binary_kind(bytes));
    }
    let valid = Legacy::utf8_valid_up_to(bytes);
    let cut_off =
        !whole && std::str::from_utf8(&bytes[valid..]).is_err_and(|error| error.error_len().is_none());
    if valid == bytes.len() || cut_off {
        let marked = bytes.starts_with(UTF8_BOM);
        return Detected::Text(if marked { Encoding::Utf8Bom } else { Encoding::Utf8 });
    }
    // A character cut off at the end would count against every multi-byte encoding.
    let end = if whole {
        bytes.len()
    } else {
        memchr::memrchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1)
    };
    let text = if end > valid { &bytes[..end] } else { bytes };
    if known_kind(bytes).is_some()
        || text
            .iter()
            .any(|&byte| is_control(char::from(byte)) && byte < 0x80)
    {
        return Detected::Binary(binary_kind(bytes));
    }
    if let Some(damaged) = damaged_utf8(text) {
        return Detected::Text(damaged);
    }
    match legacy(text, valid) {
        Some(name) => Detected::Text(Encoding::Legacy(name)),
        None => Detected::Binary(binary_kind(bytes)),
    }
}

/// UTF-8 with little damage, see [`detect`]. Text of a legacy encoding is hardly ever UTF-8 by chance: a letter would
/// have to be followed by signs that no word has.
fn damaged_utf8(bytes: &[u8]) -> Option<Encoding> {
    let marked = bytes.starts_with(UTF8_BOM);
    let (mut right, mut wrong) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        if chunk.valid().chars().any(is_control) {
            return None;
        }
        right += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        wrong += usize::from(!chunk.invalid().is_empty());
    }
    (marked || wrong * 2 <= right + 1 && right > 0).then_some(Encoding::DamagedUtf8 { marked })
}

/// The legacy encoding of `bytes`, whose first byte that is not UTF-8 is at `first`.
fn legacy(bytes: &[u8], first: usize) -> Option<&'static str> {
    // ISO-2022-JP is ASCII, byte for byte, and so UTF-8 with escape sequences: it is shown and changed as that.
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    let sample = &bytes[first..];
    let sample = &sample[..sample.len().min(GUESSED_BYTES)];
    detector.feed(sample, true);
    let guess = detector.guess(None, Utf8Detection::Deny);
    let text = guess.decode_without_bom_handling_and_without_replacement(bytes)?;
    (!text.chars().any(is_control)).then(|| guess.name())
}

/// Control characters that text does not have; tab, line ends, form feed, backspace and escape are usual.
fn is_control(character: char) -> bool {
    character.is_control()
        && !matches!(
            character,
            '\t' | '\n' | '\r' | '\x0C' | '\x08' | '\x1B' | '\u{85}'
        )
}

fn has_zero_unit(bytes: &[u8]) -> bool {
    bytes.chunks_exact(2).any(|unit| unit == [0, 0])
}

/// Whether `bytes` decode without an error; without `whole` a surrogate may be cut off at the end.
fn decodes(standard: &'static Legacy, bytes: &[u8], whole: bool) -> bool {
    let cut = if whole {
        bytes.len()
    } else {
        bytes.len().saturating_sub(2)
    };
    standard
        .decode_without_bom_handling_and_without_replacement(&bytes[..cut])
        .is_some()
        || (!whole
            && standard
                .decode_without_bom_handling_and_without_replacement(bytes)
                .is_some())
}

/// What a file without text seems to be.
pub fn binary_kind(bytes: &[u8]) -> &'static str {
    known_kind(bytes).unwrap_or("binary data")
}

/// The kind of file that begins so, if it is one that everybody knows.
fn known_kind(bytes: &[u8]) -> Option<&'static str> {
    const KINDS: [(&[u8], &str); 20] = [
        (b"\x89PNG\r\n\x1a\n", "PNG image"),
        (b"\xFF\xD8\xFF", "JPEG image"),
        (b"GIF87a", "GIF image"),
        (b"GIF89a", "GIF image"),
        (b"BM\0", "BMP image"),
        (b"II*\0", "TIFF image"),
        (b"MM\0*", "TIFF image"),
        (b"%PDF-", "PDF document"),
        (b"PK\x03\x04", "ZIP archive"),
        (b"\x1F\x8B", "gzip archive"),
        (b"\x28\xB5\x2F\xFD", "Zstandard archive"),
        (b"\xFD7zXZ\0", "XZ archive"),
        (b"7z\xBC\xAF\x27\x1C", "7-Zip archive"),
        (b"\x7FELF", "program (ELF)"),
        (b"\xCF\xFA\xED\xFE", "program (Mach-O)"),
        (b"\0asm", "WebAssembly module"),
        (b"SQLite format 3\0", "SQLite database"),
        (b"OggS", "Ogg media"),
        (b"ID3", "MP3 audio"),
        (b"wOF2", "WOFF2 font"),
    ];
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return Some("WebP image");
    }
    KINDS
        .iter()
        .find(|(magic, _)| bytes.starts_with(magic))
        .map(|(_, kind)| *kind)
}

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LineEnd {
    /// `\n`.
    Lf,
    /// `\r\n`.
    CrLf,
}

impl LineEnd {
    /// The characters.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
        }
    }

    /// The line end that most lines of `text` have; `None` without any line end.
    pub fn dominant(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let (mut all, mut with_return) = (0_usize, 0_usize);
        for at in memchr_iter(b'\n', bytes) {
            all += 1;
            with_return += usize::from(at > 0 && bytes[at - 1] == b'\r');
        }
        if all == 0 {
            None
        } else if with_return * 2 > all {
            Some(Self::CrLf)
        } else {
            Some(Self::Lf)
        }
    }

    /// The end of the line of `text` that contains the offset `at`; of the line before it if that one is the
    /// last and has none.
    pub(crate) fn near(text: &str, at: usize) -> Option<Self> {
        let bytes = text.as_bytes();
        let feed = memchr(b'\n', &bytes[at..])
            .map(|after| at + after)
            .or_else(|| memchr::memrchr(b'\n', &bytes[..at]))?;
        Some(if feed > 0 && bytes[feed - 1] == b'\r' {
            Self::CrLf
        } else {
            Self::Lf
        })
    }

    /// `text` with this line end wherever it has a lone `\n`.
    pub fn apply(self, text: &str) -> Cow<'_, str> {
        let bytes = text.as_bytes();
        let lone = |at: &usize| *at == 0 || bytes[at - 1] != b'\r';
        if self == Self::Lf || !memchr_iter(b'\n', bytes).any(|at| lone(&at)) {
            return Cow::Borrowed(text);
        }
        let mut result = String::with_capacity(text.len() + text.len() / 16);
        let mut from = 0;
        for at in memchr_iter(b'\n', bytes).filter(lone) {
            result.push_str(&text[from..at]);
            result.push('\r');
            from = at;
        }
        result.push_str(&text[from..]);
        Cow::Owned(result)
    }
}

#[cfg(test)]
mod tests;
