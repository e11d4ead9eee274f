//! `sessions list` and `sessions show`.

use rtc_tests::{Workplace, assert_whole};
use serde_json::Value;

use crate::place::{alone, ask, contents, last_id, project, shown};
use rtc_tests::dialogue::run;

fn listed(place: &Workplace) -> String {
    let ended = run(place.command(&["sessions", "list"]), b"");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended.stdout
}

#[test]
fn without_sessions_it_says_so() {
    let place = Workplace::empty();
    let ended = run(place.command(&["sessions", "list"]), b"");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""));
    insta::assert_snapshot!(ended.stderr, @"There are no sessions yet.");
    assert!(place.sessions().is_empty(), "and as JSON an empty list");
}

#[test]
fn the_beginning_of_an_id_is_enough() {
    let place = project(&[("notes.txt", "old\n")]);
    assert_eq!(alone(&place, "read notes.txt", &[]).code, Some(0));
    let id = last_id(&place);
    let ended = run(place.command(&["sessions", "show", &id[..13]]), b"");
    assert!(ended.stdout.starts_with(&id), "{}{}", ended.stdout, ended.stderr);
    let ended = alone(&place, "list the files", &["--session", &id[..13]]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(place.sessions().len(), 1);
    let ended = alone(&place, "list the files", &["--session", "ffff"]);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.stderr.contains("there is no session ffff"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_title_steers_nothing_also_through_a_pipe() {
    let place = project(&[("notes.txt", "old\n")]);
    let ended = run(
        crate::place::request(&place, "-", &[]),
        b"read notes.txt \x1b[2J\0 now",
    );
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let id = last_id(&place);
    let first = run(place.command(&["sessions", "show", &id]), b"").stdout;
    for told in [listed(&place), first.lines().next().expect("a line").to_owned()] {
        assert!(
            told.contains("read notes.txt \u{fffd}[2J\u{fffd} now"),
            "{told:?}"
        );
    }
}

#[test]
fn the_session_that_changed_last_stands_first() {
    let place = project(&[("notes.txt", "old\n")]);
    let titles = |place: &Workplace| -> Vec<String> {
        place
            .sessions()
            .iter()
            .map(|session| session["title"].as_str().expect("a title").to_owned())
            .collect()
    };
    for request in ["read notes.txt", "list the files", "find *.txt"] {
        assert_eq!(alone(&place, request, &[]).code, Some(0));
    }
    assert_eq!(titles(&place), ["find *.txt", "list the files", "read notes.txt"]);
    let first = place.sessions()[2]["id"].as_str().expect("an id").to_owned();
    assert_eq!(
        alone(&place, "search for old", &["--session", &first]).code,
        Some(0)
    );
    assert_eq!(titles(&place), ["read notes.txt", "find *.txt", "list the files"]);
    let lines: Vec<String> = listed(&place).lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 3);
    for (line, session) in lines.iter().zip(place.sessions()) {
        let (id, title) = (
            session["id"].as_str().expect("an id"),
            session["title"].as_str().expect("a title"),
        );
        assert!(line.starts_with(id) && line.ends_with(title), "{line}");
    }
}

#[test]
fn a_title_is_the_beginning_of_the_first_line() {
    let place = project(&[("notes.txt", "old\n")]);
    let request = format!(
        "read notes.txt, then search for {}\nand nothing else",
        "ä".repeat(60)
    );
    assert_eq!(alone(&place, &request, &[]).code, Some(0));
    let title = place.sessions()[0]["title"].as_str().expect("a title").to_owned();
    assert_eq!(
        title,
        format!("read notes.txt, then search for {}", "ä".repeat(18))
    );
    assert_eq!(listed(&place).lines().count(), 1);
}

#[test]
fn a_session_is_shown_with_what_was_said_and_done() {
    let place = project(&[("notes.txt", "one\nold\n")]);
    let ended = ask(
        &place,
        "replace old by new in notes.txt",
        &["--mode", "manual"],
        "n\nnot now\n",
    );
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(
        alone(&place, "read notes.txt\nplease", &["--continue"]).code,
        Some(0)
    );
    let id = last_id(&place);
    let ended = run(place.command(&["sessions", "show", &id]), b"");
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let (first, rest) = ended.stdout.split_once('\n').expect("a first line");
    assert!(
        first.starts_with(&id) && first.ends_with("replace old by new in notes.txt"),
        "{first}"
    );
    insta::assert_snapshot!(rest, @"
    > replace old by new in notes.txt
    I will replace “old” by “new” in notes.txt.
    ● find pattern=notes.txt
        /notes.txt
    ● grep /notes.txt  pattern=old  output_mode=files_with_matches  head_limit=200
        Found 1 file
        /notes.txt
    ● read /notes.txt
             1	one
             2	old
    ● edit /notes.txt  old_string=old  new_string=new  replace_all=true
        [Tool Rejected] edit was rejected: the call was refused: not now
    I changed nothing: “old” is as it was.
    Not changed:
    - /notes.txt: it was not allowed (not now)

    > read notes.txt
    > please
    I will read notes.txt.
    ● read /notes.txt
             1	one
             2	old
    I read /notes.txt, 2 lines:
    ```
    one
    old
    ```
    ");
}

#[test]
fn showing_changes_nothing_also_of_a_session_that_waits() {
    use nix::sys::signal::Signal;

    let place = project(&[("notes.txt", "old\n")]);
    let args = ["--mode", "manual", "--ask", "prompt"];
    let mut dialogue =
        rtc_tests::dialogue::Dialogue::start(crate::place::request(&place, "append 'x' to notes.txt", &args));
    dialogue.hear("Run it?");
    dialogue.signal(Signal::SIGKILL);
    dialogue.wait();
    let id = last_id(&place);
    let before = shown(&place, &id);
    assert_eq!(before["turns"][0]["status"], "interrupted");
    listed(&place);
    run(place.command(&["sessions", "show", &id]), b"");
    assert_eq!(shown(&place, &id), before);
}

#[test]
fn many_turns_stay_in_order() {
    const TURNS: usize = 25;
    let place = project(&[("notes.txt", "0\n")]);
    assert_eq!(alone(&place, "append 'line 1' to notes.txt", &[]).code, Some(0));
    for turn in 2..=TURNS {
        let ended = alone(
            &place,
            &format!("append 'line {turn}' to notes.txt"),
            &["--continue"],
        );
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
    let session = shown(&place, &last_id(&place));
    assert_whole(&session);
    assert_eq!(place.sessions().len(), 1);
    let asked = contents(&session, "text");
    let expected: Vec<Value> = (1..=TURNS)
        .map(|turn| format!("append 'line {turn}' to notes.txt").into())
        .collect();
    assert_eq!(asked, expected);
    assert_eq!(session["turns"].as_array().map(Vec::len), Some(TURNS));
    let offsets: Vec<u64> = session["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .map(|message| message["global_offset"].as_u64().expect("an offset"))
        .collect();
    assert!(offsets.windows(2).all(|pair| pair[0] < pair[1]), "{offsets:?}");
    let lines: String = (1..=TURNS).map(|turn| format!("line {turn}\n")).collect();
    assert_eq!(crate::place::content(&place, "notes.txt"), format!("0\n{lines}"));
}
