use proptest::prelude::*;

use super::*;
use crate::edit::{Found, find, replaced};

fn path() -> VPath {
    VPath::parse("/a.txt").unwrap()
}

fn shown(old: &str, spans: &[Span]) -> String {
    unified(&path(), old, spans, CLIPPED).text
}

fn overwritten(old: &str, new: &str, room: Room) -> Unified {
    let span = Span {
        range: 0..old.len(),
        with: new.to_owned(),
    };
    unified(&path(), old, &[span], room)
}

fn whole(old: &str, new: &str) -> String {
    overwritten(old, new, CLIPPED).text
}

fn numbered(count: usize) -> String {
    (1..=count).map(|line| format!("line {line}\n")).collect()
}

#[test]
fn one_line() {
    let Found::Spans(spans) = find(&numbered(20), "line 10\n", "line ten\nand more\n", false) else {
        panic!()
    };
    insta::assert_snapshot!(shown(&numbered(20), &spans), @"
    --- /a.txt
    +++ /a.txt
    @@ -7,7 +7,8 @@
     line 7
     line 8
     line 9
    -line 10
    +line ten
    +and more
     line 11
     line 12
     line 13
    ");
}

#[test]
fn places_apart_and_close() {
    let text = numbered(40)
        .replace("line 3\n", "x\n")
        .replace("line 8\n", "x\n")
        .replace("line 30\n", "x\n");
    let Found::Spans(spans) = find(&text, "x", "y\nz", true) else {
        panic!()
    };
    insta::assert_snapshot!(shown(&text, &spans), @"
    --- /a.txt
    +++ /a.txt
    @@ -1,11 +1,13 @@
     line 1
     line 2
    -x
    +y
    +z
     line 4
     line 5
     line 6
     line 7
    -x
    +y
    +z
     line 9
     line 10
     line 11
    @@ -27,7 +29,8 @@
     line 27
     line 28
     line 29
    -x
    +y
    +z
     line 31
     line 32
     line 33
    ");
}

#[test]
fn made_emptied_and_without_a_last_line_end() {
    insta::assert_snapshot!(whole("", "a\nb\n"), @"
    --- /a.txt
    +++ /a.txt
    @@ -0,0 +1,2 @@
    +a
    +b
    ");
    insta::assert_snapshot!(whole("a\nb", ""), @r"
    --- /a.txt
    +++ /a.txt
    @@ -1,2 +0,0 @@
    -a
    -b
    \ No newline at end of file
    ");
    insta::assert_snapshot!(whole("a\r\nb", "a\r\nb\r\n"), @r"
    --- /a.txt
    +++ /a.txt
    @@ -1,2 +1,2 @@
     a
    -b
    \ No newline at end of file
    +b
    ");
    assert_eq!(whole("a\n", "a\n"), "");
}

#[test]
fn the_text_is_bounded() {
    let diff = whole("", &numbered(10_000));
    assert!(diff.len() <= MAX_DIFF_BYTES + 100, "{}", diff.len());
    let shown = diff.lines().count() - 4;
    assert!(diff.ends_with(&format!(
        "… {} more lines of the diff are not shown\n",
        10_000 - shown
    )));

    let long = whole("", &"x".repeat(MAX_LINE_CHARS + 1));
    assert!(long.contains("… (501 characters)"), "{long}");
    let large = whole("", &"x".repeat(MAX_COMPARED_BYTES + 1));
    insta::assert_snapshot!(large, @"
    --- /a.txt
    +++ /a.txt
    @@ 0 bytes are replaced by 8388609; too much to compare @@
    ");
}

#[test]
fn what_is_decided_on_is_whole_or_said_not_to_be() {
    for (text, clipped, all) in [
        (numbered(5), true, true),
        (numbered(10_000), false, true),
        ("x".repeat(MAX_LINE_CHARS + 1) + "\n", false, true),
        ("x\n".repeat(MAX_WHOLE_DIFF_BYTES), false, false),
        ("x".repeat(MAX_COMPARED_BYTES + 1), false, false),
    ] {
        assert_eq!(
            overwritten("", &text, CLIPPED).is_whole,
            clipped,
            "{}",
            text.len()
        );
        let whole = overwritten("", &text, WHOLE);
        assert_eq!(whole.is_whole, all, "{}", text.len());
        if all {
            assert_eq!(patched("", &whole.text), text);
        }
    }
}

/// Applies a diff whose lines all end in `\n`, so that it is checked by something that does not share its code.
fn patched(old: &str, diff: &str) -> String {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let mut new = String::new();
    let mut at = 0;
    for line in diff.lines().skip(2) {
        if let Some(header) = line.strip_prefix("@@ -") {
            let place = header.split(' ').next().unwrap();
            let mut numbers = place.split(',').map(|number| number.parse::<usize>().unwrap());
            let start = numbers.next().unwrap();
            let start = if numbers.next() == Some(0) {
                start
            } else {
                start - 1
            };
            new.extend(old[at..start].iter().copied());
            at = start;
            let new_place = header
                .split(['+', ' ', ','])
                .nth(if place.contains(',') { 3 } else { 2 })
                .unwrap();
            let new_start: usize = new_place.parse().unwrap();
            assert!(
                new.lines().count() == new_start || new.lines().count() + 1 == new_start,
                "{diff}"
            );
        } else if let Some(added) = line.strip_prefix('+') {
            new.push_str(added);
            new.push('\n');
        } else {
            assert_eq!(&line[1..], old[at].trim_end_matches('\n'), "{diff}");
            if line.starts_with(' ') {
                new.push_str(old[at]);
            }
            at += 1;
        }
    }
    new.extend(old[at..].iter().copied());
    new
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn applying_the_diff_gives_the_new_text(
        lines in prop::collection::vec("[abcx]", 0..60), old in "[abc]\n|x", new in "[abc]\n|[abc]\n[ab]\n|",
    ) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        if let Found::Spans(spans) = find(&text, &old, &new, true) {
            let result = replaced(&text, &spans);
            prop_assert_eq!(patched(&text, &shown(&text, &spans)), result.clone());
            prop_assert_eq!(patched(&text, &whole(&text, &result)), result);
        }
    }
}
