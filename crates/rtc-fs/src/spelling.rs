//! How the names of a system are spelled in paths: each name in one way, and no two names in the same.

use std::borrow::Cow;
use std::ffi::OsStr;

/// A name as it stands in a path, and in every text: what does not show, or changes how its neighbours show, as `\u{…}`,
/// bytes that are no Unicode as `\x{…}`, and a `\` that begins what could be taken for one of them as `\u{5c}`.
pub(crate) fn spelled(name: &OsStr) -> Cow<'_, str> {
    if let Some(text) = name.to_str()
        && !text.contains(|c| c == '\\' || is_unseen(c))
    {
        return Cow::Borrowed(text);
    }
    let mut result = String::with_capacity(name.len() + 16);
    for chunk in name.as_encoded_bytes().utf8_chunks() {
        let valid = chunk.valid();
        for (at, character) in valid.char_indices() {
            let is_ambiguous = character == '\\' && sequence(&valid[at..]).is_some();
            push(&mut result, character, is_ambiguous || is_unseen(character));
        }
        for byte in chunk.invalid() {
            result.push_str(&format!(r"\x{{{byte:02x}}}"));
        }
    }
    Cow::Owned(result)
}

/// The name that is spelled so; [`spelled`] gives the spelling back, unless it was an unusual one.
pub(crate) fn named(spelling: &str) -> Cow<'_, OsStr> {
    let mut name = Vec::new();
    let mut rest = spelling;
    while let Some(at) = rest.find('\\') {
        name.extend_from_slice(&rest.as_bytes()[..at]);
        rest = &rest[at..];
        match sequence(rest) {
            Some((Meant::Character(character), length)) => {
                name.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                rest = &rest[length..];
            }
            Some((Meant::Byte(byte), length)) => {
                name.push(byte);
                rest = &rest[length..];
            }
            None => {
                name.push(b'\\');
                rest = &rest[1..];
            }
        }
    }
    if name.is_empty() {
        return Cow::Borrowed(OsStr::new(rest));
    }
    name.extend_from_slice(rest.as_bytes());
    Cow::Owned(from_bytes(name))
}

#[cfg(unix)]
fn from_bytes(name: Vec<u8>) -> std::ffi::OsString {
    std::os::unix::ffi::OsStringExt::from_vec(name)
}

#[cfg(not(unix))]
fn from_bytes(name: Vec<u8>) -> std::ffi::OsString {
    // Without `Meant::Byte` it is Unicode.
    String::from_utf8_lossy(&name).into_owned().into()
}

/// A path as globs are matched with it: with the characters that its names have. Bytes that are no Unicode stay spelled.
pub(crate) fn matched(path: &str) -> Cow<'_, str> {
    if !path.contains('\\') {
        return Cow::Borrowed(path);
    }
    let mut text = String::with_capacity(path.len());
    for chunk in named(path).as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!(r"\x{{{byte:02x}}}"));
        }
    }
    Cow::Owned(text)
}

/// A glob that may have names in it as they are spelled, to be matched as [`matched`] tells. It has `\` before what it
/// means to the letter.
pub(crate) fn glob(given: &str) -> Cow<'_, str> {
    let mut glob = String::new();
    let mut rest = given;
    while let Some(at) = rest.find('\\') {
        glob.push_str(&rest[..at]);
        rest = &rest[at..];
        let (literal, length) = match sequence(rest) {
            Some((Meant::Character(character), length)) => (character.to_string(), length),
            Some((Meant::Byte(_), length)) => (rest[..length].to_owned(), length),
            // An escape of the glob itself.
            None => {
                let length = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                glob.push_str(&rest[..length]);
                rest = &rest[length..];
                continue;
            }
        };
        rest = &rest[length..];
        // After a `\` that was spelled comes what could be taken for an escape sequence, and is meant to the letter.
        let looks_like = if literal == "\\" {
            sequence(&format!("\\{rest}")).map_or(0, |(_, length)| length - 1)
        } else {
            0
        };
        for character in literal.chars().chain(rest[..looks_like].chars()) {
            glob.push('\\');
            glob.push(character);
        }
        rest = &rest[looks_like..];
    }
    if glob.is_empty() {
        return Cow::Borrowed(rest);
    }
    glob.push_str(rest);
    Cow::Owned(glob)
}

/// Any text with everything escaped that does not show.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unseen) {
        return Cow::Borrowed(text);
    }
    let mut result = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        push(&mut result, character, is_unseen(character));
    }
    Cow::Owned(result)
}

fn push(text: &mut String, character: char, escaped: bool) {
    if escaped {
        text.extend(character.escape_unicode());
    } else {
        text.push(character);
    }
}

/// What an escape sequence stands for.
enum Meant {
    Character(char),
    Byte(u8),
}

/// The escape sequence with which a text begins, and its length in bytes; only such as [`spelled`] writes.
fn sequence(text: &str) -> Option<(Meant, usize)> {
    let (digits, _) = text.get(3..)?.split_once('}')?;
    let is_hexadecimal = digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if !is_hexadecimal {
        return None;
    }
    let length = digits.len() + 4;
    match &text[..3] {
        r"\u{" if digits.len() <= 6 && !digits.starts_with('0') => {
            let character = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
            (character == '\\' || is_unseen(character)).then_some((Meant::Character(character), length))
        }
        r"\x{" if cfg!(unix) && digits.len() == 2 => {
            let byte = u8::from_str_radix(digits, 16)
                .ok()
                .filter(|byte| !byte.is_ascii())?;
            Some((Meant::Byte(byte), length))
        }
        _ => None,
    }
}

/// Whether a character does not show, or changes how its neighbours show: control characters, line and paragraph ends,
/// those that turn the direction of text, and those that Unicode lets programs leave out. Joiners and variation selectors
/// stay: Persian names and pictures are written with them.
fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{AD}'
                | '\u{34F}'
                | '\u{61C}'
                | '\u{115F}'
                | '\u{1160}'
                | '\u{17B4}'
                | '\u{17B5}'
                | '\u{180B}'..='\u{180F}'
                | '\u{200B}'
                | '\u{200E}'
                | '\u{200F}'
                | '\u{2028}'..='\u{202E}'
                | '\u{2060}'..='\u{206F}'
                | '\u{3164}'
                | '\u{FEFF}'
                | '\u{FFA0}'
                | '\u{FFF0}'..='\u{FFFB}'
                | '\u{1BCA0}'..='\u{1BCA3}'
                | '\u{1D173}'..='\u{1D17A}'
                | '\u{E0000}'..='\u{E0FFF}'
        )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_does_not_show_is_escaped() {
        for (name, want) in [
            ("plain \u{e9}.txt", "plain \u{e9}.txt"),
            ("two\nlines\r", r"two\u{a}lines\u{d}"),
            ("\u{1b}[31mred", r"\u{1b}[31mred"),
            ("'\"`$ \\n", "'\"`$ \\n"),
            ("exe\u{202e}txt.js", r"exe\u{202e}txt.js"),
            ("\u{2066}a\u{2069}\u{200f}", r"\u{2066}a\u{2069}\u{200f}"),
            ("a\u{200b}b\u{feff}", r"a\u{200b}b\u{feff}"),
            ("\u{645}\u{6cc}\u{200c}\u{62e}", "\u{645}\u{6cc}\u{200c}\u{62e}"),
            (
                "\u{2764}\u{fe0f}\u{200d}\u{1f525}",
                "\u{2764}\u{fe0f}\u{200d}\u{1f525}",
            ),
            ("x\u{e0041}", r"x\u{e0041}"),
            // What only looks like an escape sequence.
            (r"two\u{a}lines", r"two\u{5c}u{a}lines"),
            (r"two\u{5c}u{a}lines", r"two\u{5c}u{5c}u{a}lines"),
            (r"\u{41}\u{0}\u{A}\u{0a}\u{}\u{", r"\u{41}\u{0}\u{A}\u{0a}\u{}\u{"),
            ("\\\n", r"\\u{a}"),
        ] {
            assert_eq!(spelled(OsStr::new(name)), want);
            assert_eq!(named(want), OsStr::new(name), "{want}");
        }
        assert_eq!(shown("a\n\\u{a}"), r"a\u{a}\u{a}");
    }

    #[test]
    fn a_glob_may_name_what_does_not_show() {
        for (given, want) in [
            ("*.{a,b}", "*.{a,b}"),
            (r"\[x\]", r"\[x\]"),
            (r"two\u{a}*", "two\\\n*"),
            (r"two\u{5c}u{a}?", r"two\\\u\{\a\}?"),
            (
                r"caf\x{e9}",
                if cfg!(unix) {
                    r"caf\\\x\{\e\9\}"
                } else {
                    r"caf\x{e9}"
                },
            ),
            (r"\u{41}\", r"\u{41}\"),
        ] {
            assert_eq!(glob(given), want);
        }
        assert_eq!(matched(r"/two\u{a}\u{5c}u{a}/x"), "/two\n\\u{a}/x");
    }

    #[cfg(unix)]
    #[test]
    fn bytes_that_are_no_unicode_are_escaped() {
        use std::os::unix::ffi::OsStrExt as _;
        for (name, want) in [
            (&b"caf\xE9.txt"[..], r"caf\x{e9}.txt"),
            (b"\xC3\xA9\xC3", "\u{e9}\\x{c3}"),
            (br"caf\x{e9}", r"caf\u{5c}x{e9}"),
            (br"\x{41}\x{2f}\x{E9}", r"\x{41}\x{2f}\x{E9}"),
        ] {
            assert_eq!(spelled(OsStr::from_bytes(name)), want);
            assert_eq!(named(want).as_bytes(), name, "{want}");
        }
        assert_eq!(named(r"caf\x{c3}\x{a9}"), OsStr::new("caf\u{e9}"));
    }

    #[cfg(unix)]
    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn a_spelling_is_of_one_name_and_shows_all_of_it(
            parts in prop::collection::vec(prop::sample::select(vec![
                &b"a"[..], b"\\", b"u{", b"x{", b"}", b"5c", b"e9", b"a", b"\n", b"\xE9", b"\xC3", b"\xA9", b"\xE2\x80\xAE",
            ]), 0..12),
        ) {
            use std::os::unix::ffi::OsStrExt as _;
            let name = parts.concat();
            let spelling = spelled(OsStr::from_bytes(&name));
            prop_assert!(!spelling.contains(is_unseen));
            let back = named(&spelling);
            prop_assert_eq!(back.as_bytes(), name.as_slice());
        }
    }
}
