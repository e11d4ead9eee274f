//! What is asked before a tool runs, and what each answer means.

use rtc_tests::{Workplace, assert_whole};

use crate::place::{alone, ask, content, last_id, project, put, request, results, shown};
use rtc_tests::dialogue::{Dialogue, run};

const MANUAL: [&str; 2] = ["--mode", "manual"];

fn last(place: &Workplace) -> serde_json::Value {
    shown(place, &last_id(place))
}

fn times_asked(stderr: &str) -> usize {
    stderr.matches("Run it?").count()
}

#[test]
fn the_diff_is_shown_first_and_nothing_happens_before_the_yes() {
    let place = project(&[("notes.txt", "one\nold\nthree\n")]);
    let mut dialogue = Dialogue::start(request(
        &place,
        "replace old by new in notes.txt",
        &["--mode", "manual", "--ask", "prompt"],
    ));
    dialogue.hear("Run it? [y]es, [n]o, [s]ession, [p]roject, ne[v]er:");
    let heard = dialogue.heard().to_owned();
    let asked = heard.split_once("? edit").expect("the call is told").1;
    insta::assert_snapshot!(format!("? edit{asked}"), @"
    ? edit /notes.txt  old_string=old  new_string=new  replace_all=true
      edit changes a file, which mode manual asks for.
        --- /notes.txt
        +++ /notes.txt
        @@ -1,3 +1,3 @@
         one
        -old
        +new
         three
      Run it? [y]es, [n]o, [s]ession, [p]roject, ne[v]er:
    ");
    assert_eq!(content(&place, "notes.txt"), "one\nold\nthree\n");
    dialogue.say("y");
    let ended = dialogue.finish();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(times_asked(&ended.stderr), 1, "{}", ended.stderr);
    assert_eq!(content(&place, "notes.txt"), "one\nnew\nthree\n");
    assert_whole(&last(&place));
}

/// Nothing is approved unseen: neither at the end of a long line nor behind many lines, nor what has no width.
#[test]
fn all_of_a_write_is_shown_before_the_yes() {
    let line = format!("begin{}end of the line", " ".repeat(600));
    let many: String = (0..2000).map(|number| format!("line {number}\n")).collect();
    for (content, last, shown) in [
        (line.as_str(), line.as_str(), line.as_str()),
        (many.trim_end(), "line 1999", "line 1999"),
        ("a\u{200b}b\u{e0041}", "a\u{200b}b\u{e0041}", "a\u{fffd}b\u{fffd}"),
    ] {
        let place = project(&[]);
        let request = format!("create made.txt with '{content}'");
        let ended = ask(&place, &request, &MANUAL, "y\n");
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let (before, _) = ended.stderr.split_once("Run it?").expect("it is asked about");
        assert!(before.contains(&format!("    +{shown}\n")), "{before}");
        let made = self::content(&place, "made.txt");
        assert!(made.trim_end().ends_with(last), "{made}");
    }
}

#[test]
fn every_spelling_of_an_answer_is_taken_and_anything_else_is_asked_again() {
    for (answers, changed, asked, code) in [
        ("y\n", true, 1, 0),
        ("YES\n", true, 1, 0),
        (" Yes \n", true, 1, 0),
        ("maybe\n\n1\ny\n", true, 4, 0),
        ("n\n\n", false, 1, 0),
        ("No\n\n", false, 1, 0),
        ("n\n", false, 1, 0),
        ("", false, 1, 3),
        ("what?\n", false, 2, 3),
        // The last line needs no end.
        ("y", true, 1, 0),
    ] {
        let place = project(&[("notes.txt", "old\n")]);
        let ended = ask(&place, "replace old by new in notes.txt", &MANUAL, answers);
        assert_eq!(ended.code, Some(code), "{answers:?}: {}", ended.stderr);
        assert_eq!(times_asked(&ended.stderr), asked, "{answers:?}: {}", ended.stderr);
        assert_eq!(
            content(&place, "notes.txt"),
            if changed { "new\n" } else { "old\n" },
            "{answers:?}"
        );
        assert_whole(&last(&place));
    }
}

#[test]
fn the_model_reads_the_reason_of_a_no() {
    let place = project(&[("notes.txt", "old\n")]);
    let ended = ask(
        &place,
        "replace old by new in notes.txt",
        &MANUAL,
        "n\nthe old word is right\n",
    );
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(content(&place, "notes.txt"), "old\n");
    let session = last(&place);
    let edit = results(&session)
        .into_iter()
        .find(|result| result.starts_with("edit "))
        .expect("an edit");
    insta::assert_snapshot!(edit, @"edit rejected: [Tool Rejected] edit was rejected: the call was refused: the old word is right");
    assert!(ended.stdout.contains("the old word is right"), "{}", ended.stdout);
}

#[test]
fn each_call_is_asked_for_in_order() {
    let place = project(&[("a.txt", "old\n"), ("b.txt", "old\n"), ("c.txt", "old\n")]);
    let ended = ask(
        &place,
        "replace old by new in *.txt",
        &MANUAL,
        "y\nn\nnot this one\ny\n",
    );
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(times_asked(&ended.stderr), 3);
    let contents = ["a.txt", "b.txt", "c.txt"].map(|name| content(&place, name));
    assert_eq!(contents, ["new\n", "old\n", "new\n"]);
    assert_whole(&last(&place));
}

#[test]
fn session_holds_for_the_session_and_no_other() {
    let place = project(&[("a.txt", "old\n"), ("b.txt", "old\n")]);
    let ended = ask(&place, "replace old by new in *.txt", &MANUAL, "s\n");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(times_asked(&ended.stderr), 1, "{}", ended.stderr);
    assert_eq!(
        (content(&place, "a.txt"), content(&place, "b.txt")),
        ("new\n".into(), "new\n".into())
    );
    // Also in a later run of it, where nobody is there.
    let id = last_id(&place);
    let ended = alone(&place, "replace new by newer in b.txt", &["--session", &id]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(content(&place, "b.txt"), "newer\n");
    // Another tool is asked for.
    let ended = alone(&place, "create c.txt with 'x'", &["--session", &id]);
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    let ended = alone(&place, "replace new by old in a.txt", &MANUAL);
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert_eq!(content(&place, "a.txt"), "new\n");
}

#[test]
fn project_holds_for_this_path_in_each_session_of_the_project() {
    let place = project(&[("a.txt", "old\n"), ("b.txt", "old\n")]);
    assert_eq!(
        ask(&place, "replace old by new in a.txt", &MANUAL, "p\n").code,
        Some(0)
    );
    let ended = alone(&place, "replace new by newer in a.txt", &MANUAL);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(content(&place, "a.txt"), "newer\n");
    assert_eq!(place.sessions().len(), 2);
    // Not for another path.
    assert_eq!(
        alone(&place, "replace old by new in b.txt", &MANUAL).code,
        Some(3)
    );
    // Not in another project.
    let other = place.path().join("other");
    put(&other, &[("a.txt", "old\n")]);
    let mut command = place.command(&["run", "replace old by new in a.txt", "--mode", "manual"]);
    command.arg("--root").arg(&other);
    assert_eq!(run(command, b"").code, Some(3));
    assert_eq!(
        std::fs::read_to_string(other.join("a.txt")).expect("it is there"),
        "old\n"
    );
}

#[test]
fn never_forbids_also_where_nothing_is_asked() {
    let place = project(&[("a.txt", "old\n"), ("b.txt", "old\n")]);
    let ended = ask(&place, "replace old by new in a.txt", &MANUAL, "v\n");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for mode in ["bypass", "edit", "auto", "manual"] {
        let ended = alone(&place, "replace old by new in a.txt", &["--mode", mode]);
        assert_eq!(ended.code, Some(0), "{mode}: {}", ended.stderr);
        assert!(
            ended.stdout.contains("the user forbade edit"),
            "{mode}: {}",
            ended.stdout
        );
        assert_eq!(times_asked(&ended.stderr), 0);
    }
    assert_eq!(content(&place, "a.txt"), "old\n");
    assert_eq!(
        alone(&place, "replace old by new in b.txt", &["--mode", "bypass"]).code,
        Some(0)
    );
    assert_eq!(content(&place, "b.txt"), "new\n", "only this path");
}

#[test]
fn with_nobody_there_it_is_denied_and_the_exit_code_says_so() {
    for (args, reason) in [(&["--ask", "deny"][..], "--ask deny"), (&[], "--ask deny")] {
        let place = project(&[("notes.txt", "old\n")]);
        let args: Vec<&str> = MANUAL.iter().chain(args).copied().collect();
        let ended = alone(&place, "replace old by new in notes.txt", &args);
        assert_eq!(ended.code, Some(3), "{}", ended.stderr);
        assert_eq!(times_asked(&ended.stderr), 0);
        assert_eq!(content(&place, "notes.txt"), "old\n");
        assert!(ended.stdout.contains(reason), "{}", ended.stdout);
        let session = last(&place);
        assert_eq!(session["turns"][0]["status"], "completed");
        assert_whole(&session);
    }
}
