//! Every encoding with every line end and every kind of change: what is not changed keeps its bytes.

use super::*;

/// A way to store text, without the code that is tested.
#[derive(Debug, Clone, Copy)]
struct Stored {
    name: &'static str,
    mark: &'static [u8],
    encode: fn(&str) -> Vec<u8>,
    /// Words that tell the encoding, and that lines are made of.
    words: [&'static str; 4],
    /// A character that the encoding does not have.
    lacks: Option<char>,
}

fn legacy(label: &str, text: &str) -> Vec<u8> {
    let (bytes, _, lossy) = encoding_rs::Encoding::for_label(label.as_bytes())
        .unwrap()
        .encode(text);
    assert!(!lossy, "{label}: {text:?}");
    bytes.into_owned()
}

fn utf8(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

/// UTF-8 in which a sign that the words have is a byte that is none.
fn damaged(text: &str) -> Vec<u8> {
    text.split('\u{B6}')
        .map(str::as_bytes)
        .collect::<Vec<_>>()
        .join(&0xFF)
}

fn utf16_le(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn utf16_be(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_be_bytes).collect()
}

const UNICODE: [&str; 4] = [
    "na\u{ef}ve ",
    "\u{4f60}\u{597d}",
    "\u{1f600} \u{2014} ",
    "e\u{301}",
];
const FRENCH: [&str; 4] = [
    "d\u{e9}j\u{e0} vu ",
    "caf\u{e9} au lait ",
    "\u{e9}t\u{e9} ",
    "gar\u{e7}on ",
];
const JAPANESE: [&str; 4] = [
    "\u{65e5}\u{672c}\u{8a9e}\u{306e}",
    "\u{30c6}\u{30ad}\u{30b9}\u{30c8}",
    "\u{3067}\u{3059}\u{3002}",
    // Its second byte in Shift_JIS is that of a backslash.
    "\u{8868}\u{73fe}",
];
const CHINESE: [&str; 4] = [
    "\u{4e2d}\u{6587}\u{6587}\u{672c}",
    "\u{ff0c}\u{4f60}\u{597d}",
    "\u{4e16}\u{754c}\u{3002}",
    "\u{7f16}\u{7801}",
];
const KOREAN: [&str; 4] = [
    "\u{d55c}\u{ad6d}\u{c5b4} ",
    "\u{d14d}\u{c2a4}\u{d2b8} ",
    "\u{d30c}\u{c77c}\u{c785}\u{b2c8}\u{b2e4} ",
    "\u{c548}\u{b155} ",
];

const ENCODINGS: [Stored; 10] = [
    Stored {
        name: "UTF-8",
        mark: b"",
        encode: utf8,
        words: UNICODE,
        lacks: None,
    },
    Stored {
        name: "UTF-8 with BOM",
        mark: b"\xEF\xBB\xBF",
        encode: utf8,
        words: UNICODE,
        lacks: None,
    },
    Stored {
        name: "damaged UTF-8",
        mark: b"",
        encode: damaged,
        words: [
            "na\u{ef}ve caf\u{e9} ",
            "\u{4f60}\u{597d}",
            "\u{2014}\u{2014} \u{B6}",
            "\u{e9}\u{e8}",
        ],
        lacks: Some('\u{FFFD}'),
    },
    Stored {
        name: "UTF-16 LE",
        mark: b"\xFF\xFE",
        encode: utf16_le,
        words: UNICODE,
        lacks: None,
    },
    Stored {
        name: "UTF-16 BE",
        mark: b"\xFE\xFF",
        encode: utf16_be,
        words: UNICODE,
        lacks: None,
    },
    Stored {
        name: "windows-1252",
        mark: b"",
        encode: |text| legacy("windows-1252", text),
        words: FRENCH,
        lacks: Some('\u{4e2d}'),
    },
    Stored {
        name: "Shift_JIS",
        mark: b"",
        encode: |text| legacy("shift_jis", text),
        words: JAPANESE,
        lacks: Some('\u{1f600}'),
    },
    Stored {
        name: "GBK",
        mark: b"",
        encode: |text| legacy("gbk", text),
        words: CHINESE,
        lacks: Some('\u{1f600}'),
    },
    Stored {
        name: "EUC-KR",
        mark: b"",
        encode: |text| legacy("euc-kr", text),
        words: KOREAN,
        lacks: Some('\u{1f600}'),
    },
    // Its escape sequences are ASCII: for us it is UTF-8, and a change can only be in what is ASCII.
    Stored {
        name: "UTF-8",
        mark: b"",
        encode: |text| legacy("iso-2022-jp", text),
        words: JAPANESE,
        lacks: None,
    },
];

const LINE_ENDS: [&[&str]; 4] = [&["\n"], &["\r\n"], &["\r"], &["\n", "\r\n", "\r"]];

/// Some lines, each of words and with one of the line ends.
fn lines(most: usize) -> impl Strategy<Value = Vec<(Vec<usize>, usize)>> {
    prop::collection::vec((prop::collection::vec(0_usize..4, 0..4), 0_usize..3), 0..most)
}

fn text(lines: &[(Vec<usize>, usize)], stored: &Stored, ends: &[&str]) -> String {
    let line = |(words, end): &(Vec<usize>, usize)| {
        let words: String = words.iter().map(|word| stored.words[*word]).collect();
        words + ends[end % ends.len()]
    };
    lines.iter().map(line).collect()
}

fn plain(text: &str) -> String {
    text.replace("\r\n", "\n")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn outside_of_a_change_every_byte_stays(
        stored in prop::sample::select(ENCODINGS.to_vec()),
        ends in prop::sample::select(LINE_ENDS.to_vec()),
        parts in prop::collection::vec(lines(4), 2..4),
        has_final_end in any::<bool>(),
        added in prop::sample::select(vec!["", "x", "x\ny", "\n", "WORD", "WORD\nWORD\n"]),
    ) {
        // The words in their order tell the encoding, whatever the rest is.
        let first: String = stored.words.concat() + ends[0];
        let mut parts: Vec<String> = parts.iter().map(|part| text(part, &stored, ends)).collect();
        parts[0].insert_str(0, &first);
        if has_final_end {
            parts.last_mut().unwrap().push_str(ends[0]);
        }
        let encode = stored.encode;
        let raw: Vec<Vec<u8>> = parts.iter().map(|part| encode(part)).collect();
        let word = if encode(stored.words[0]).is_ascii() { "word" } else { stored.words[1] };
        let new = added.replace("WORD", word);
        let marked = |between: &[u8]| [stored.mark, &raw.join(between)].concat();

        // Everywhere.
        let content = marked(&encode("QzQ"));
        let found = match detect(&content, true) {
            Detected::Text(encoding) => encoding.name(),
            Detected::Binary(kind) => kind,
        };
        prop_assert_eq!(found, stored.name);
        let without_end = new.replace('\n', "");
        let everywhere = edited(&content, "QzQ", &without_end, true).unwrap();
        prop_assert_eq!(everywhere, marked(&encode(&without_end)));

        // At one place over a line end, of which there is no other.
        let (head, tail) = (&marked(b"")[..stored.mark.len() + raw[0].len()], &raw[1..].concat());
        let content = [head, &encode("QzQ"), &encode(if ends[0] == "\r" { "\n" } else { ends[0] }), &encode("ZqZ"), tail].concat();
        let place = edited(&content, "QzQ\nZqZ", &new, false).unwrap();
        prop_assert!(place.starts_with(head) && place.ends_with(tail));
        let middle = &place[head.len()..place.len() - tail.len()];
        prop_assert_eq!(plain(&decoded(&stored, middle)), new.clone());

        // At the end, and all of it.
        let appended = written(Some(&content), &new, WriteMode::Append).unwrap();
        prop_assert!(appended.starts_with(&content));
        prop_assert_eq!(plain(&decoded(&stored, &appended[content.len()..])), new.clone());
        let over = written(Some(&content), &new, WriteMode::Overwrite).unwrap();
        prop_assert!(over.starts_with(stored.mark));
        prop_assert_eq!(plain(&decoded(&stored, &over[stored.mark.len()..])), new.clone());

        // What cannot be written is refused, and nothing is changed.
        if let Some(lacks) = stored.lacks {
            let new = format!("{new}{lacks}");
            let refused = |result: Result<Vec<u8>, Error>| matches!(result, Err(Error::Unencodable { .. } | Error::DamagedText { .. }));
            prop_assert!(refused(edited(&content, "QzQ", &new, false)));
            prop_assert!(refused(edited(&content, "QzQ", &new, true)));
            for mode in [WriteMode::Append, WriteMode::Overwrite] {
                let folder = Folder::with("a.txt", &content);
                prop_assert!(folder.write("/a.txt", &new, mode).is_err());
                prop_assert_eq!(folder.content("a.txt"), content.clone());
            }
        }
    }
}

/// Text that was put in, which has no bytes that are none.
fn decoded(stored: &Stored, bytes: &[u8]) -> String {
    let label = match stored.name {
        "UTF-16 LE" => "utf-16le",
        "UTF-16 BE" => "utf-16be",
        "UTF-8" | "UTF-8 with BOM" | "damaged UTF-8" => "utf-8",
        legacy => legacy,
    };
    let encoding = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap();
    encoding
        .decode_without_bom_handling_and_without_replacement(bytes)
        .unwrap()
        .into_owned()
}
