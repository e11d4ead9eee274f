use super::super::place::{Needle, Place};
use super::super::plan::Window;
use super::super::quotes::MAX_READ;
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
        let (clauses, more) = clauses(&Masked::new(message));
        assert_eq!(clauses, expected, "{message}");
        assert!(!more, "{message}");
    }
}

/// Ten megabytes of anything are read in time: with work that grows with the square this would take days.
#[test]
fn a_request_of_ten_megabytes_is_read_whatever_it_is_made_of() {
    const SIZE: usize = 10_000_000;
    let units = [
        "x",
        "x ",
        " ",
        "\n",
        ".",
        ". ",
        "please ",
        ":",
        "x: ",
        "'",
        "\"",
        "`",
        "“",
        "'a",
        "'a' ",
        "« ",
        "read a.md\n",
        "read a.md and ",
        "in a and list ",
        "list, ",
        "with the content:“",
        "add a line: ",
        "add a line:“",
        "add a line:.",
        "add line to a.md: x ; ",
        "甲",
        "读取甲，",
        "加一行：",
        "把“甲”换成乙。",
        "\u{E000}",
        "- ",
    ];
    for unit in units {
        let read = |first: &str, last: &str| {
            let message = format!("{first}{}{last}", unit.repeat(SIZE / unit.len()));
            plan(&[&message], &mut Context::default())
        };
        // What is announced as content is one piece, however long.
        let one_piece = ["add a line: ", "add a line:."].contains(&unit);
        for (first, last) in [("add a line to a.md: ", "; x"), ("read a.md. ", "\nlist src.")] {
            assert_eq!(read(first, last).unread, !one_piece, "{first}{unit:?}");
        }
    }
}

#[test]
fn what_is_not_read_is_told() {
    let parts = |count: usize| "read a.md\n".repeat(count);
    let quotes = |count: usize| "'a' ".repeat(count);
    let table = [
        (parts(MAX_CLAUSES), false, MAX_CLAUSES),
        (parts(MAX_CLAUSES + 1), true, MAX_CLAUSES),
        (format!("{}\n\n", parts(MAX_CLAUSES)), false, MAX_CLAUSES),
        (format!("read a.md\n{}", quotes(1_000)), false, 1),
        (format!("read a.md\n{}read b.md", quotes(1_001)), true, 1),
        // A path that is cut could be another one.
        (
            format!("read a.md;{}read /b/c/d", " ".repeat(MAX_READ - 15)),
            true,
            1,
        ),
        (format!("read a.md;{}", "x".repeat(MAX_CLAUSE + 1)), false, 1),
        (format!("read a.md;{}", "x".repeat(MAX_READ)), true, 1),
    ];
    for (message, unread, steps) in table {
        let read = plan(&[&message], &mut Context::default());
        let start: String = message.chars().take(20).collect();
        assert_eq!(
            (read.unread, read.steps.len() + read.beyond),
            (unread, steps),
            "{start}"
        );
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

#[test]
fn newcomers_are_understood() {
    let readme = || Step::Read(Place::Names(vec!["README".to_owned()]), Window::Whole);
    for message in [
        "What is this project about?",
        "tell me about this project",
        "what does this repo do",
        "这个项目是做什么的？",
        "介绍一下这个项目",
    ] {
        assert_eq!(steps(message), [readme()], "{message}");
    }
    for (message, todo, place) in [
        ("find all TODOs", "TODO", Place::Everywhere),
        (
            "list the FIXMEs in src/",
            "FIXME",
            Place::Folder("/src".to_owned()),
        ),
    ] {
        let needle = Needle::literal(todo.to_owned());
        let files_only = false;
        assert_eq!(
            steps(message),
            [Step::Search {
                needle,
                place,
                files_only
            }],
            "{message}"
        );
    }
}

#[test]
fn a_change_works_where_the_step_before_in_the_message_did() {
    let replace = |message: &str| match steps(message).pop() {
        Some(Step::Replace { place, .. }) => place,
        other => panic!("{message}: {other:?}"),
    };
    let names = |name: &str| Place::Names(vec![name.to_owned()]);
    let table = [
        ("open a.md and change x to y", names("a.md")),
        ("read a.md, then replace x by y everywhere", Place::Everywhere),
        ("read a.md, then replace x by y in b.md", names("b.md")),
        (
            "list docs/, then replace x by y",
            Place::Folder("/docs".to_owned()),
        ),
        ("list the files, then replace x by y", Place::Everywhere),
        ("replace x by y", Place::Everywhere),
        ("打开 a.md，把 x 换成 y", names("a.md")),
    ];
    for (message, place) in table {
        assert_eq!(replace(message), place, "{message}");
    }
    let mut context = Context::default();
    let _ = plan(&["read a.md"], &mut context);
    let later = plan(&["replace x by y"], &mut context).steps;
    assert!(
        matches!(
            &later[..],
            [Step::Replace {
                place: Place::Everywhere,
                ..
            }]
        ),
        "{later:?}"
    );
}

#[test]
fn the_files_are_all_of_them_also_after_others_were_found() {
    for message in ["list the files", "show me all files", "列出文件", "列出所有文件"] {
        let mut context = Context::default();
        let _ = plan(&["find *.md"], &mut context);
        let later = plan(&[message], &mut context).steps;
        assert_eq!(later, [Step::List(Place::Everywhere)], "{message}");
    }
}

#[test]
fn a_setting_is_no_text_to_replace() {
    for message in [
        "change the port to 9000 in a.json",
        "in a.json, change the port to 9000",
        "update the title to x",
    ] {
        assert_eq!(plan(&[message], &mut Context::default()).steps, [], "{message}");
    }
    for message in [
        "change the word port to 9000 in a.json",
        "replace the port by x",
        "change the \"port\" to x",
    ] {
        assert_eq!(steps(message).len(), 1, "{message}");
    }
}
