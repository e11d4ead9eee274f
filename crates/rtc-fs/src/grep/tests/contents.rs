//! What files can contain: encodings, binary data, very long lines.

use tempfile::TempDir;

use super::*;

#[test]
fn encodings_and_binary_files() {
    let folder = TempDir::new().unwrap();
    let utf16 = |big: bool, text: &str| -> Vec<u8> {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        units
            .flat_map(|unit: u16| {
                if big {
                    unit.to_be_bytes()
                } else {
                    unit.to_le_bytes()
                }
            })
            .collect()
    };
    write(folder.path(), "le.txt", utf16(false, "one\r\nneedle ☃\r\n"));
    write(folder.path(), "be.txt", utf16(true, "needle\n"));
    write(folder.path(), "latin1.txt", b"caf\xe9 needle\n");
    write(folder.path(), "early.bin", b"needle\0needle\n");
    let mut late = b"needle\n".to_vec();
    late.extend(b"filler\n".repeat(100_000));
    late.push(0);
    late.extend(b"needle\n");
    write(folder.path(), "late.bin", late);
    write(folder.path(), "no-match.bin", b"\0\0");
    let project = Project::open(folder.path()).unwrap();
    insta::assert_snapshot!(text(&project, &GrepQuery::new("needle")), @"
    /be.txt:1:needle
    /late.bin:1:needle
    /latin1.txt:1:caf� needle
    /le.txt:2:needle ☃
    [1 file searched only up to a NUL byte]
    ");
    let result = search(&project, &GrepQuery::new("needle"));
    assert_eq!(
        (result.skipped.binary, result.skipped.cut, result.exact),
        (2, 1, false)
    );
    insta::assert_snapshot!(text(&project, &GrepQuery { path: vpath("/early.bin"), ..GrepQuery::new("needle") }), @"
    No matches found
    [1 file not searched: binary]
    ");
}

#[test]
fn a_long_line_shows_its_match() {
    let line = format!("{}needle{}\n", "x".repeat(3_000_000), "y".repeat(3_000_000));
    let (_folder, project) = project(&[("min.js", &line)]);
    let shown = text(&project, &GrepQuery::new("needle"));
    assert!(shown.len() < 4_000);
    let shown = shown
        .replace(&"x".repeat(150), "(150 x)")
        .replace(&"y".repeat(344), "(344 y)");
    insta::assert_snapshot!(shown, @"/min.js:1:…(150 x)needle(344 y)… [clipped: match at column 3000001, line has 6000006 characters]");
    let (_other, project) = super::project(&[("a", &format!("needle\n{line}"))]);
    let shown = text(
        &project,
        &GrepQuery {
            after: 1,
            ..GrepQuery::new("^needle")
        },
    );
    insta::assert_snapshot!(shown.replace(&"x".repeat(500), "(500 x)"), @"
    /a:1:needle
    /a-2-(500 x)… [clipped: line has 6000006 characters]
    ");
}

#[test]
fn a_line_beyond_the_bound_is_told() {
    let folder = TempDir::new().unwrap();
    let mut content = b"needle\n".to_vec();
    content.resize(MAX_GREP_LINE_BYTES * 2, b'x');
    write(folder.path(), "a", &content);
    write(folder.path(), "b", "needle\n");
    let project = Project::open(folder.path()).unwrap();
    let result = search(&project, &GrepQuery::new("needle"));
    assert_eq!(
        (result.skipped.oversized, result.exact, result.matches),
        (1, false, 2)
    );
    let files = GrepQuery {
        output: GrepOutput::Count,
        multiline: true,
        ..GrepQuery::new("needle")
    };
    insta::assert_snapshot!(text(&project, &files), @"
    /a:1
    /b:1

    Found at least 2 total occurrences across 2 files
    [1 file not searched to the end: a line (or multiline file) is over 16 MiB]
    ");
}
