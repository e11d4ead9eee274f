use super::super::place::Place;
use super::super::plan::Window;
use super::*;

fn steps(message: &str) -> Vec<Step> {
    let plan = plan(&[message], &mut Context::default());
    assert!(plan.unclear.is_empty(), "{message}: {:?}", plan.unclear);
    plan.steps
}

#[test]
fn clauses_are_parted_where_a_verb_follows() {
    let table: [(&str, &[&str]); 10] = [
        ("list the files, then read a.md", &["list the files", "read a.md"]),
        ("read a.md and b.md", &["read a.md and b.md"]),
        (
            "find x in *.rs and replace it by y",
            &["find x in *.rs", "replace it by y"],
        ),
        ("read a.md. Then list src.", &["read a.md", "list src"]),
        (
            "1. read a.md\n2) list src\n- count x",
            &["read a.md", "list src", "count x"],
        ),
        (
            "Hello! Could you please read a.md for me? Thanks!",
            &["read a.md"],
        ),
        ("列出文件，然后读取 a.md", &["列出文件", "读取a.md"]),
        ("创建 a.txt，内容为 x", &["创建a.txt，内容为x"]),
        ("请帮我把 a 换成 b，并且列出文件。谢谢", &["把a换成b", "列出文件"]),
        ("first list src; finally read a.md", &["list src", "read a.md"]),
    ];
    for (message, expected) in table {
        assert_eq!(clauses(message), expected, "{message}");
    }
}

#[test]
fn every_phrase_compiles() {
    assert!(RULES.len() > 100);
}

#[test]
fn windows_and_numbers_are_read() {
    let table = [
        ("show the first ten lines of a.md", Window::Range(1, 10)),
        ("read the last 5 lines of a.md", Window::Last(5)),
        ("show lines 3 to 7 of a.md", Window::Range(3, 5)),
        ("show line 4 of a.md", Window::Range(4, 1)),
        ("读取 a.md 的前十二行", Window::Range(1, 12)),
        ("查看 a.md 的最后 3 行", Window::Last(3)),
        ("显示 a.md 的第 2 到 4 行", Window::Range(2, 3)),
        ("read a.md", Window::Whole),
    ];
    for (message, window) in table {
        let place = Place::Names(vec!["a.md".to_owned()]);
        assert_eq!(steps(message), [Step::Read(place, window)], "{message}");
    }
}

#[test]
fn more_steps_than_are_done_are_counted() {
    let message = "list the files\n".repeat(MAX_STEPS + 3);
    let plan = plan(&[&message], &mut Context::default());
    assert_eq!((plan.steps.len(), plan.beyond), (MAX_STEPS, 3));
}

#[test]
fn a_huge_message_is_answered_in_time_and_not_understood() {
    for message in [
        "“".repeat(50_000),
        ":".repeat(100_000),
        "a ".repeat(100_000),
        "x\n".repeat(50_000),
        "'a".repeat(50_000),
    ] {
        let plan = plan(&[&message], &mut Context::default());
        assert!(plan.steps.is_empty());
    }
}

#[test]
fn only_the_bare_word_means_to_go_on() {
    for (message, expected) in [
        ("continue", true),
        ("Go on!", true),
        ("继续", true),
        ("继续吧。", true),
        ("continue with a.md", false),
        ("", false),
    ] {
        assert_eq!(is_continue(message), expected, "{message}");
    }
}
