use proptest::prelude::*;

use super::*;

fn check(text: &str, old: &str, new: &str, all: bool) -> String {
    match find(text, old, new, all) {
        Found::Spans(spans) => replaced(text, &spans),
        other => format!("{other:?}"),
    }
}

#[test]
fn one_place() {
    for (text, old, new, want) in [
        ("a\nb\nc\n", "b", "B", "a\nB\nc\n"),
        ("a\r\nb\r\n", "a\nb", "x\ny", "x\r\ny\r\n"),
        ("a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n"),
        ("a\r\nb", "b", "b\nc", "a\r\nb\r\nc"),
        // Mixed ends: lines that the edit only quotes keep theirs.
        ("a\r\nb\nc\r\nd\n", "a\nb\nc\nd", "a\nb\nX\nd", "a\r\nb\nX\r\nd\n"),
        ("a\r\nb\nc\n", "b\nc", "b\nx\nc", "a\r\nb\nx\nc\n"),
        ("a\nb\r\nc\r\n", "b", "b\nx", "a\nb\r\nx\r\nc\r\n"),
        // Removing and joining lines.
        ("a\r\nb\r\nc", "\nb", "", "a\r\nc"),
        ("a\r\nb", "a\nb", "ab", "ab"),
        ("a\r\nb\r\n", "a\n", "", "b\r\n"),
        // A carriage return in the old text is meant literally.
        ("a\r\nb\r\n", "a\r\n", "a\n", "a\nb\r\n"),
        ("a\nb", "a\nb", "a\r\nb", "a\r\nb"),
        ("a\r\nb", "a\nb", "c\r\nb", "c\r\nb"),
        ("\u{e9}t\u{e9}", "t\u{e9}", "t\u{e8}", "\u{e9}t\u{e8}"),
        ("", "x", "y", "Nothing"),
        ("a\nb", "a\r\nb", "c", "Nothing"),
        ("a\r\nb", "a\nb", "a\r\nb", "Same"),
        ("ab", "abc", "x", "Nothing"),
        ("a\nb\na\n", "a", "x", "Several { count: 2, lines: [1, 3] }"),
        ("aaa", "aa", "x", "Several { count: 2, lines: [1, 1] }"),
        ("\r\nx\r\nx", "\nx", "y", "Several { count: 2, lines: [1, 2] }"),
    ] {
        assert_eq!(check(text, old, new, false), want, "{text:?} {old:?} {new:?}");
    }
}

#[test]
fn every_place() {
    assert_eq!(
        check("a\r\nb\r\na\r\nb\r\n", "a\nb\n", "x\ny\nz\n", true),
        "x\r\ny\r\nz\r\nx\r\ny\r\nz\r\n"
    );
    assert_eq!(check("aaa", "aa", "b", true), "ba");
    assert_eq!(check("a\nb\r\na\n", "a", "a\nc", true), "a\nc\nb\r\na\nc\n");
}

#[test]
fn at_most_so_many_lines_are_listed() {
    let text = "x\n".repeat(MAX_LISTED_LINES + 5);
    let Found::Several { count, lines } = find(&text, "x", "y", false) else {
        panic!()
    };
    assert_eq!(
        (count, lines.len()),
        (MAX_LISTED_LINES as u64 + 5, MAX_LISTED_LINES)
    );
}

#[test]
fn only_what_differs_is_in_a_span() {
    let Found::Spans(spans) = find(
        "one\r\ntwo\r\nthree\r\n",
        "one\ntwo\nthree",
        "one\nTwo\nthree",
        false,
    ) else {
        panic!()
    };
    assert_eq!(
        spans,
        [Span {
            range: 5..6,
            with: "T".to_owned()
        }]
    );
}

/// Lines of one or two letters with random line ends, lone carriage returns among them.
fn mixed() -> impl Strategy<Value = String> {
    prop::collection::vec(
        prop::sample::select(vec!["a", "b", "\u{e9}", "\n", "\r\n", "\r"]),
        0..30,
    )
    .prop_map(|parts| parts.concat())
}

fn plain(text: &str) -> String {
    text.replace("\r\n", "\n")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn equals_replacing_in_plain_text(text in mixed(), old in "[ab\n]{1,3}", new in "[ab\n]{0,4}") {
        match find(&text, &old, &new, true) {
            Found::Spans(spans) => {
                let result = replaced(&text, &spans);
                // A carriage return left alone before a line end that was put there would change the comparison.
                if !text.replace("\r\n", "").contains('\r') {
                    prop_assert_eq!(plain(&result), plain(&text).replace(&old, &new));
                }
                for pair in spans.windows(2) {
                    prop_assert!(pair[0].range.end <= pair[1].range.start);
                }
            }
            Found::Nothing => prop_assert!(!plain(&text).contains(&old)),
            Found::Same => prop_assert_eq!(&old, &new),
            Found::Several { .. } => prop_assert!(false, "all places were wanted"),
        }
    }

    #[test]
    fn bytes_around_the_only_place_stay(before in mixed(), after in mixed(), new in "[ab\n]{0,4}") {
        let text = format!("{before}Q\r\nR{after}");
        let Found::Spans(spans) = find(&text, "Q\nR", &new, false) else { return Err(TestCaseError::fail("not found")) };
        let result = replaced(&text, &spans);
        prop_assert!(result.starts_with(&before) && result.ends_with(&after));
        prop_assert_eq!(plain(&result[before.len()..result.len() - after.len()]), new);
    }

    #[test]
    fn uniform_line_ends_stay_uniform(lines in prop::collection::vec("[ab]{0,2}", 1..8), old in "[ab\n]{1,3}", new in "[ab\n]{0,4}") {
        let text = lines.join("\r\n") + "\r\n";
        if let Found::Spans(spans) = find(&text, &old, &new, true) {
            let result = replaced(&text, &spans);
            prop_assert_eq!(plain(&result).replace('\n', "\r\n"), result);
        }
    }
}
