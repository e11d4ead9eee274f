use std::io::Write as _;

use proptest::prelude::*;

use super::*;

fn project() -> (tempfile::TempDir, Project) {
    let folder = tempfile::tempdir().unwrap();
    let project = Project::open(folder.path()).unwrap();
    (folder, project)
}

fn path(text: &str) -> VPath {
    VPath::parse(text).unwrap()
}

fn read(content: &[u8], offset: i64, limit: usize) -> Result<Window, Error> {
    let (folder, project) = project();
    fs::write(folder.path().join("a.txt"), content).unwrap();
    project.read_window(&path("/a.txt"), offset, limit, &CancellationToken::new())
}

fn texts(window: &Window) -> Vec<(i64, &str)> {
    window
        .lines
        .iter()
        .map(|line| (line.number, line.text.as_str()))
        .collect()
}

/// A window of a file that is streamed as if it were over the limit.
fn streamed_window(content: &[u8], offset: i64, limit: usize) -> Result<Window, Error> {
    let (folder, project) = project();
    fs::write(folder.path().join("a.txt"), content).unwrap();
    let opened = project.open_file(&path("/a.txt")).unwrap();
    let cancel = CancellationToken::new();
    streamed(
        opened,
        &Request {
            offset,
            limit,
            cancel: &cancel,
        },
    )
}

#[test]
fn windows_of_a_small_file() {
    let window = read(b"a\nb\r\nc", 1, 2000).unwrap();
    assert_eq!(texts(&window), [(1, "a"), (2, "b"), (3, "c")]);
    assert_eq!(
        (window.total_lines, window.next_offset, window.complete),
        (Some(3), None, true)
    );
    assert_eq!(window.hash, Some(Hash::of(b"a\nb\r\nc")));

    let window = read(b"a\nb\nc\n", 2, 1).unwrap();
    assert_eq!(texts(&window), [(2, "b")]);
    assert_eq!(
        (window.total_lines, window.next_offset, window.complete),
        (Some(3), Some(3), false)
    );

    let window = read(b"a\nb\nc\n", -2, 10).unwrap();
    assert_eq!(texts(&window), [(2, "b"), (3, "c")]);
    assert!(!window.numbered_from_end && !window.complete);

    let window = read(b"a\nb\n", -9, 10).unwrap();
    assert_eq!(texts(&window), [(1, "a"), (2, "b")]);
    assert!(window.complete);

    assert_eq!(
        texts(&read(b"\n\na", 0, 9).unwrap()),
        [(1, ""), (2, ""), (3, "a")]
    );
    assert_eq!(texts(&read(b"a\rb\n", 1, 9).unwrap()), [(1, "a\rb")]);
}

#[test]
fn an_empty_file_is_empty_and_complete() {
    for content in [&b""[..], b"\xEF\xBB\xBF"] {
        for offset in [1, 5, -1] {
            let window = read(content, offset, 10).unwrap();
            assert!(window.is_empty() && window.complete, "{content:?} {offset}");
            assert_eq!((window.total_lines, window.next_offset), (Some(0), None));
        }
    }
}

#[test]
fn errors_say_what_there_is() {
    insta::assert_snapshot!(read(b"a\nb\n", 3, 1).unwrap_err(), @"line 3 of `/a.txt` was asked for, but its last line is 2");
    insta::assert_snapshot!(read(b"\x89PNG\r\n\x1a\n\0\0\0", 1, 1).unwrap_err(), @"`/a.txt` is not text (PNG image, 11 bytes)");
    insta::assert_snapshot!(read(b"ab\0cd", 1, 1).unwrap_err(), @"`/a.txt` is not text (binary data, 5 bytes)");
    insta::assert_snapshot!(streamed_window(b"a\nb\n", 3, 1).unwrap_err(), @"line 3 of `/a.txt` was asked for, but its last line is 2");
}

#[test]
fn encodings_are_read_and_marks_are_not_seen() {
    for (content, encoding) in [
        (&b"\xEF\xBB\xBFcaf\xC3\xA9\nx"[..], "UTF-8 with BOM"),
        (b"caf\xE9\nx", "windows-1252"),
        (b"\xFF\xFEc\0a\0f\0\xE9\0\n\0x\0", "UTF-16 LE"),
        (b"\xFE\xFF\0c\0a\0f\0\xE9\0\n\0x", "UTF-16 BE"),
    ] {
        for window in [
            read(content, 1, 9).unwrap(),
            streamed_window(content, 1, 9).unwrap(),
        ] {
            assert_eq!(window.encoding.name(), encoding);
            assert_eq!(texts(&window), [(1, "caf\u{e9}"), (2, "x")], "{encoding}");
            assert!(window.complete);
        }
        let last = streamed_window(content, -1, 9).unwrap();
        assert_eq!(last.lines[0].text, "x", "{encoding}");
    }
}

#[test]
fn long_lines_are_clipped_with_their_length() {
    let line = "\u{e9}".repeat(MAX_LINE_CHARS + 7);
    let window = read(format!("{line}\nnext\n").as_bytes(), 1, 9).unwrap();
    assert_eq!(window.lines[0].text.chars().count(), MAX_LINE_CHARS);
    assert_eq!(window.lines[0].clipped, Some(MAX_LINE_CHARS as u64 + 7));
    assert_eq!(window.lines[1].text, "next");
    assert!(!window.complete, "a clipped line is not known");

    let exact = "x".repeat(MAX_LINE_CHARS);
    let window = read(exact.as_bytes(), 1, 9).unwrap();
    assert_eq!((window.lines[0].clipped, window.complete), (None, true));
}

#[test]
fn truncating_a_window_moves_what_comes_next() {
    let mut window = read(b"a\nb\nc\n", 1, 9).unwrap();
    window.truncate(3);
    assert!(window.complete);
    window.truncate(1);
    assert_eq!(
        (window.next_offset, window.complete, window.lines.len()),
        (Some(2), false, 1)
    );
}

#[test]
fn the_text_of_a_window_is_bounded() {
    let line = "x".repeat(MAX_LINE_CHARS);
    let content = format!("{line}\n").repeat(MAX_WINDOW_BYTES / MAX_LINE_CHARS + 50);
    let window = read(content.as_bytes(), 1, usize::MAX).unwrap();
    let bytes: usize = window.lines.iter().map(|line| line.text.len()).sum();
    assert!(bytes < MAX_WINDOW_BYTES + MAX_LINE_CHARS);
    assert_eq!(window.next_offset, Some(window.lines.len() as i64 + 1));
}

#[test]
fn large_files_are_streamed_from_both_ends() {
    let (folder, project) = project();
    let file = fs::File::create(folder.path().join("large.log")).unwrap();
    let mut writer = std::io::BufWriter::new(file);
    let count = 1_500_000;
    for line in 1..=count {
        writeln!(writer, "entry {line:08}").unwrap();
    }
    writer.into_inner().unwrap();
    let cancel = CancellationToken::new();
    let window = |offset, limit| {
        project
            .read_window(&path("/large.log"), offset, limit, &cancel)
            .unwrap()
    };

    let middle = window(1_000_000, 2);
    assert_eq!(
        texts(&middle),
        [(1_000_000, "entry 01000000"), (1_000_001, "entry 01000001")]
    );
    assert_eq!(
        (middle.total_lines, middle.hash, middle.next_offset),
        (None, None, Some(1_000_002))
    );

    let last = window(-3, 2);
    assert_eq!(texts(&last), [(-3, "entry 01499998"), (-2, "entry 01499999")]);
    assert_eq!(
        (last.numbered_from_end, last.next_offset, last.complete),
        (true, Some(-1), false)
    );
    assert_eq!(window(-1, 5).next_offset, None);

    let end = window(count - 1, 10);
    assert_eq!(
        (end.lines.len(), end.total_lines, end.next_offset),
        (2, Some(count as u64), None)
    );

    cancel.cancel();
    let cancelled = project.read_window(&path("/large.log"), 1_000_000, 1, &cancel);
    assert!(matches!(cancelled, Err(Error::Cancelled)));
}

#[test]
fn bytes_that_damage_a_large_file_are_told_by_the_lines_that_have_them() {
    let good = "caf\u{e9} and \u{2014} more of it\n".repeat(HEAD_BYTES / 16);
    let content = [good.as_bytes(), b"na\xC3\xAFve\xFF end\n", good.as_bytes()].concat();
    let line = i64::try_from(good.lines().count()).unwrap() + 1;
    let window = streamed_window(&content, 1, 1).unwrap();
    assert_eq!(window.encoding, Encoding::Utf8);
    for offset in [line, -line] {
        let window = streamed_window(&content, offset, 1).unwrap();
        assert_eq!(window.encoding.name(), "damaged UTF-8");
        assert_eq!(texts(&window), [(line, "na\u{ef}ve\u{FFFD} end")], "{offset}");
    }
}

#[test]
fn bytes_are_read_up_to_a_limit() {
    let (folder, project) = project();
    fs::write(folder.path().join("a.bin"), b"\0\x01\x02").unwrap();
    let cancel = CancellationToken::new();
    let contents = project.read_bytes(&path("/a.bin"), 3, &cancel).unwrap();
    assert_eq!(
        (contents.bytes.as_slice(), contents.hash),
        (&b"\0\x01\x02"[..], Hash::of(b"\0\x01\x02"))
    );
    assert!(matches!(
        project.read_bytes(&path("/a.bin"), 2, &cancel),
        Err(Error::TooLarge {
            size: 3,
            limit: 2,
            ..
        })
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_window_is_what_splitting_the_text_gives(
        parts in prop::collection::vec(prop::sample::select(vec!["a", "\u{e9}", "\n", "\r\n", "\r"]), 0..40),
        offset in -12_i64..12,
        limit in 1_usize..8,
    ) {
        let text = parts.concat();
        let lines: Vec<&str> = text.strip_suffix('\n').unwrap_or(&text).split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
        // `split` gives the last line without the `\r` that belongs to its removed line end.
        let lines = if text.is_empty() { Vec::new() } else { lines };
        let unfinished = text.ends_with('\r');
        let total = lines.len() as i64;
        let first = if offset < 0 { (total + offset).max(0) } else { (offset - 1).max(0) };
        let expected: Vec<String> = lines.iter().enumerate().skip(first as usize).take(limit)
            .map(|(at, line)| if unfinished && at as i64 + 1 == total { format!("{line}\r") } else { (*line).to_owned() }).collect();
        for (window, streamed) in [(read(text.as_bytes(), offset, limit), false), (streamed_window(text.as_bytes(), offset, limit), true)] {
            match window {
                Ok(window) => {
                    let found: Vec<&str> = window.lines.iter().map(|line| line.text.as_str()).collect();
                    prop_assert_eq!(&found, &expected, "streamed: {}", streamed);
                    let number = if window.numbered_from_end { offset } else { first + 1 };
                    prop_assert_eq!(window.lines.first().map(|line| line.number), (total > 0).then_some(number));
                    let end = first + found.len() as i64;
                    prop_assert_eq!(window.next_offset.is_some(), end < total);
                    prop_assert_eq!(window.complete, total == 0 || first == 0 && end == total && !window.numbered_from_end);
                }
                Err(Error::PastEnd { total: told, .. }) => {
                    prop_assert!(first >= total);
                    prop_assert_eq!(told as i64, total);
                }
                Err(other) => prop_assert!(false, "{}", other),
            }
        }
    }
}

/// Gives one byte for ever, and cancels at the read with the number `at`; one that has begun is the last.
struct Endless<'a> {
    byte: u8,
    at: usize,
    reads: usize,
    cancel: &'a CancellationToken,
}

impl Read for Endless<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.reads += 1;
        assert!(self.reads <= self.at, "it reads on");
        if self.reads == self.at {
            self.cancel.cancel();
        }
        buffer.fill(self.byte);
        Ok(buffer.len())
    }
}

/// Told by a count of reads.
#[test]
fn nothing_is_read_after_a_cancellation() {
    for at in [1, 2, 10] {
        let lines = |skip, limit, byte| {
            let cancel = CancellationToken::new();
            let endless = Endless {
                byte,
                at,
                reads: 0,
                cancel: &cancel,
            };
            let mut reader = BufReader::with_capacity(lines::BUFFER_BYTES, endless);
            let request = Request {
                offset: 1,
                limit,
                cancel: &cancel,
            };
            collect(&mut reader, skip, &request).map(|collected| collected.lines.len())
        };
        assert!(matches!(lines(u64::MAX, 1, b'\n'), Err(lines::Failed::Cancelled)));
        assert!(matches!(
            lines(0, usize::MAX, b'x'),
            Err(lines::Failed::Cancelled)
        ));
        let cancel = CancellationToken::new();
        let endless = || Endless {
            byte: b'\n',
            at,
            reads: 0,
            cancel: &cancel,
        };
        let mut reader = BufReader::with_capacity(lines::BUFFER_BYTES, endless());
        assert!(matches!(
            count_lines(&mut reader, &cancel),
            Err(lines::Failed::Cancelled)
        ));
    }
    let cancel = CancellationToken::new();
    cancel.cancel();
    let mut nothing = Endless {
        byte: b'\n',
        at: 0,
        reads: 0,
        cancel: &cancel,
    };
    let read = read_all(&mut nothing, 0, u64::MAX, &path("/a"), &cancel);
    assert!(matches!(read, Err(Error::Cancelled)));
}

/// As one that grows while it is read, or a file of the system that does not tell its size.
#[test]
fn a_file_that_is_larger_than_it_says_is_streamed() {
    let (folder, project) = project();
    let content = "line\n".repeat(usize::try_from(MAX_WHOLE_BYTES).unwrap() / 5 + 10);
    fs::write(folder.path().join("a.txt"), &content).unwrap();
    let mut opened = project.open_file(&path("/a.txt")).unwrap();
    opened.identity.size = 0;
    let cancel = CancellationToken::new();
    let request = Request {
        offset: 2,
        limit: 1,
        cancel: &cancel,
    };
    let window = whole(opened, &request).unwrap();
    assert_eq!(texts(&window), [(2, "line")]);
    assert_eq!((window.hash, window.total_lines), (None, None));
}

#[test]
fn a_window_of_empty_lines_is_bounded() {
    let lines = MAX_WINDOW_BYTES / 16;
    let content = "\n".repeat(lines + 10);
    let window = read(content.as_bytes(), 1, usize::MAX).unwrap();
    assert_eq!(
        (window.lines.len(), window.next_offset),
        (lines, Some(lines as i64 + 1))
    );
}
