use proptest::prelude::*;

use super::*;

fn name(bytes: &[u8]) -> &'static str {
    match detect(bytes, true) {
        Detected::Text(encoding) => encoding.name(),
        Detected::Binary(kind) => kind,
    }
}

#[test]
fn detection() {
    for (bytes, want) in [
        (&b""[..], "UTF-8"),
        (b"plain\n", "UTF-8"),
        ("caf\u{e9} \u{4f60}\u{597d}".as_bytes(), "UTF-8"),
        (b"\x1b[31mred\x1b[0m", "UTF-8"),
        (b"\xEF\xBB\xBFcaf\xC3\xA9", "UTF-8 with BOM"),
        (
            b"caf\xC3\xA9 \xE2\x80\x94 na\xC3\xAFve\xFF and on",
            "damaged UTF-8",
        ),
        (b"caf\xC3\xA9 \xFF", "damaged UTF-8"),
        (b"\xEF\xBB\xBFcaf\xE9 \xFF\xFE", "damaged UTF-8 with BOM"),
        (b"caf\xC3\xA9 caf\xE9 caf\xE9 caf\xE9", "windows-1252"),
        (b"caf\xC3\xA9 \xFF \x01", "binary data"),
        (b"\xFF\xFEh\0i\0", "UTF-16 LE"),
        (b"\xFE\xFF\0h\0i", "UTF-16 BE"),
        (b"caf\xE9 au lait\nsecond line\n", "windows-1252"),
        (
            b"\x93\xFA\x96\x7B\x8C\xEA\x82\xCC\x83\x65\x83\x4C\x83\x58\x83\x67\n",
            "Shift_JIS",
        ),
        (
            b"\xEF\xF0\xE8\xE2\xE5\xF2 \xEC\xE8\xF0, \xFD\xF2\xEE \xF2\xE5\xEA\xF1\xF2\n",
            "windows-1251",
        ),
        (b"a\0b", "binary data"),
        (b"\xFF\xFEh\0\0\0", "binary data"),
        (b"\xFF\xFEh\0\x00\xD8", "binary data"),
        (b"\x89PNG\r\n\x1a\n\0\0", "PNG image"),
        (b"\xFF\xD8\xFF\xE0abc", "JPEG image"),
        (b"RIFF1234WEBPVP8 \xFF", "WebP image"),
        (b"\x1F\x8B\x08\xFF\xFE", "gzip archive"),
        (b"\x80\x81\x01\x02\x03", "binary data"),
    ] {
        assert_eq!(name(bytes), want, "{bytes:?}");
    }
}

#[test]
fn a_character_cut_off_by_the_sample_is_no_error() {
    let text = "\u{4f60}\u{597d}".as_bytes();
    for cut in 1..text.len() {
        assert_eq!(
            detect(&text[..cut], false),
            Detected::Text(Encoding::Utf8),
            "{cut}"
        );
        let whole = detect(&text[..cut], true);
        assert_eq!(whole == Detected::Text(Encoding::Utf8), cut == 3, "{cut}");
    }
    let pair = b"\xFF\xFEa\0\x3D\xD8\x00\xDE";
    for cut in 2..=pair.len() {
        assert_eq!(
            detect(&pair[..cut], false),
            Detected::Text(Encoding::Utf16Le),
            "{cut}"
        );
    }
}

#[test]
fn what_an_encoding_lacks_is_named() {
    let latin = Encoding::Legacy("windows-1252");
    assert_eq!(latin.encode("caf\u{e9}").unwrap(), b"caf\xE9");
    assert_eq!(
        latin.encode("ok \u{2713}"),
        Err(EncodeError::Character('\u{2713}'))
    );
    let damaged = Encoding::DamagedUtf8 { marked: false };
    assert_eq!(damaged.encode("ok \u{2713}").unwrap(), "ok \u{2713}".as_bytes());
    assert_eq!(
        damaged.encode("\u{FFFD}"),
        Err(EncodeError::Character('\u{FFFD}'))
    );
}

#[test]
fn text_of_legacy_encodings_is_not_taken_for_damaged_utf8() {
    for (label, text) in [
        (
            "windows-1252",
            "Le cur\u{e9} a d\u{e9}j\u{e0} mang\u{e9} \u{ab}\u{a0}No\u{eb}l\u{a0}\u{bb}: 5\u{a0}\u{20ac}, \u{c9}t\u{e9} \u{c0} c\u{f4}t\u{e9}",
        ),
        (
            "windows-1250",
            "P\u{159}\u{ed}li\u{161} \u{17e}lu\u{165}ou\u{10d}k\u{fd} k\u{16f}\u{148} \u{fa}p\u{11b}l \u{10f}\u{e1}belsk\u{e9} \u{f3}dy",
        ),
        (
            "windows-1251",
            "\u{415}\u{451} \u{43c}\u{451}\u{434}, \u{447}\u{451}\u{440}\u{43d}\u{44b}\u{439} \u{401}\u{436}",
        ),
        (
            "koi8-r",
            "\u{435}\u{451} \u{43c}\u{451}\u{434}, \u{447}\u{451}\u{440}\u{43d}\u{44b}\u{439} \u{451}\u{436}",
        ),
        (
            "windows-1253",
            "\u{3b7} \u{3b9}\u{3c3}\u{3c4}\u{3bf}\u{3c1}\u{3af}\u{3b1} \u{3c4}\u{3b7}\u{3c2} \u{388}\u{3bd}\u{3c9}\u{3c3}\u{3b7}\u{3c2}",
        ),
        (
            "windows-874",
            "\u{e20}\u{e32}\u{e29}\u{e32}\u{e44}\u{e17}\u{e22} \u{e40}\u{e1b}\u{e47}\u{e19}\u{e20}\u{e32}\u{e29}\u{e32}\u{e17}\u{e35}\u{e48}\u{e21}\u{e35}\u{e23}\u{e30}\u{e14}\u{e31}\u{e1a}\u{e40}\u{e2a}\u{e35}\u{e22}\u{e07}",
        ),
        (
            "shift_jis",
            "\u{65e5}\u{672c}\u{8a9e}\u{306e}\u{30c6}\u{30ad}\u{30b9}\u{30c8} \u{ff83}\u{ff9e}\u{ff70}\u{ff80}",
        ),
        (
            "euc-jp",
            "\u{65e5}\u{672c}\u{8a9e}\u{306e}\u{30c6}\u{30ad}\u{30b9}\u{30c8}",
        ),
        (
            "gbk",
            "\u{4e2d}\u{6587}\u{6587}\u{672c}\u{ff0c}\u{4e00}\u{4e8c}\u{4e09}\u{ff1b}\u{7f16}\u{7801}",
        ),
        (
            "big5",
            "\u{7e41}\u{9ad4}\u{4e2d}\u{6587}\u{ff0c}\u{4e00}\u{4e8c}\u{4e09}",
        ),
        (
            "euc-kr",
            "\u{d55c}\u{ad6d}\u{c5b4} \u{d14d}\u{c2a4}\u{d2b8} \u{d30c}\u{c77c}",
        ),
    ] {
        let encoding = Legacy::for_label(label.as_bytes()).unwrap();
        let (bytes, _, lossy) = encoding.encode(text);
        assert!(!lossy, "{label}");
        let found = detect(&bytes, true);
        assert!(
            matches!(found, Detected::Text(Encoding::Legacy(_))),
            "{label}: {found:?}"
        );
    }
}

#[test]
fn line_ends() {
    for (text, want) in [
        ("", None),
        ("a", None),
        ("a\nb", Some(LineEnd::Lf)),
        ("a\r\nb\r\nc\n", Some(LineEnd::CrLf)),
        ("a\r\nb\n", Some(LineEnd::Lf)),
    ] {
        assert_eq!(LineEnd::dominant(text), want, "{text:?}");
    }
    assert_eq!(LineEnd::CrLf.apply("\na\r\nb\n"), "\r\na\r\nb\r\n");
    assert_eq!(LineEnd::near("a\r\nb\nc", 0), Some(LineEnd::CrLf));
    assert_eq!(LineEnd::near("a\r\nb\nc", 4), Some(LineEnd::Lf));
    assert_eq!(LineEnd::near("a\r\nb", 4), Some(LineEnd::CrLf));
}

proptest! {
    #[test]
    fn text_survives_every_encoding(text in "[ -~\n\r\u{e0}-\u{ff}]{0,40}") {
        for encoding in [Encoding::Utf8, Encoding::Utf8Bom, Encoding::Utf16Le, Encoding::Utf16Be, Encoding::Legacy("windows-1252")] {
            let mut bytes = encoding.mark().to_vec();
            bytes.extend(encoding.encode(&text).unwrap());
            prop_assert_eq!(encoding.decode(&bytes), text.as_str());
        }
    }

    #[test]
    fn offsets_in_text_map_to_offsets_in_bytes(text in "[a-z\n\u{e9}\u{3042}\u{1f600}]{0,30}", japanese in "[a-z\n\u{3042}-\u{3050}\u{4e9c}]{0,30}") {
        for (encoding, text) in [(Encoding::Utf16Le, &text), (Encoding::Utf16Be, &text), (Encoding::Utf8, &text), (Encoding::Legacy("Shift_JIS"), &japanese), (Encoding::Legacy("gb18030"), &japanese)] {
            let bytes = encoding.encode(text).unwrap();
            let offsets: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let raw = encoding.raw_offsets(&bytes, &offsets);
            for (offset, raw) in offsets.iter().zip(raw) {
                prop_assert_eq!(&bytes[..raw], encoding.encode(&text[..*offset]).unwrap());
            }
        }
    }

    #[test]
    fn damaged_text_is_what_everybody_reads_and_its_offsets_are_right(parts in damaged()) {
        let (encoding, bytes) = (Encoding::DamagedUtf8 { marked: false }, parts.concat());
        let text = encoding.decode(&bytes);
        prop_assert_eq!(&text, &String::from_utf8_lossy(&bytes));
        let offsets: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let raw = encoding.raw_offsets(&bytes, &offsets);
        prop_assert_eq!(raw.last(), Some(&bytes.len()));
        for (offset, raw) in offsets.iter().zip(raw) {
            prop_assert_eq!(String::from_utf8_lossy(&bytes[..raw]), &text[..*offset]);
            prop_assert_eq!(String::from_utf8_lossy(&bytes[raw..]), &text[*offset..]);
        }
    }
}

/// Pieces of UTF-8, whole characters and such that are cut off or overlong.
fn damaged() -> impl Strategy<Value = Vec<&'static [u8]>> {
    let pieces: Vec<&[u8]> = vec![
        b"a",
        b"\n",
        b"\xC3\xA9",
        b"\xE2\x82\xAC",
        b"\xF0\x9F\x98\x80",
        b"\xEF\xBF\xBD",
        b"\xFF",
        b"\x80",
        b"\xC3",
        b"\xE2\x82",
        b"\xF0\x9F\x98",
        b"\xC0\xAF",
        b"\xED\xA0\x80",
    ];
    prop::collection::vec(prop::sample::select(pieces), 0..12)
}
