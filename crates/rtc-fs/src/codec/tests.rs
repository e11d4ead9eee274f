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
    assert_eq!(
        Encoding::Legacy("ISO-2022-JP").encode("x"),
        Err(EncodeError::Encoding)
    );
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
}
