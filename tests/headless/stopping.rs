//! Ctrl-C, and processes that end while they wait for the user.

use nix::sys::signal::Signal;
use rtc_tests::{Workplace, assert_whole};

use crate::place::{alone, ask, content, last_id, project, request, results, shown};
use rtc_tests::dialogue::Dialogue;

const REQUEST: &str = "replace old by new in notes.txt";
const ASKED: [&str; 4] = ["--mode", "manual", "--ask", "prompt"];

fn place() -> Workplace {
    project(&[("notes.txt", "old\n")])
}

/// A run that waits at its prompt.
fn waiting(place: &Workplace) -> Dialogue {
    let mut dialogue = Dialogue::start(request(place, REQUEST, &ASKED));
    dialogue.hear("Run it?");
    dialogue
}

/// `run --continue`, which needs no prompt.
fn go_on(place: &Workplace, args: &[&str]) -> Dialogue {
    let mut command = place.command(&["run", "--continue"]);
    command.args(args);
    Dialogue::start(command)
}

#[test]
fn an_interrupt_at_the_prompt_cancels_the_turn_and_changes_nothing() {
    let place = place();
    let dialogue = waiting(&place);
    dialogue.signal(Signal::SIGINT);
    let ended = dialogue.wait();
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    assert_eq!(content(&place, "notes.txt"), "old\n");
    let session = shown(&place, &last_id(&place));
    assert_whole(&session);
    assert_eq!(session["turns"][0]["status"], "cancelled");
    let call = session["rtcs"]
        .as_array()
        .and_then(|rtcs| rtcs.last())
        .expect("a call");
    assert_eq!(
        (&call["status"], &call["effect"]),
        (&"rejected".into(), &"none".into())
    );
    assert_eq!(call["approval"]["state"], "withdrawn");
    let last = results(&session).pop().expect("a result");
    assert!(
        last.contains("the user stopped the turn; nothing was changed by this call"),
        "{last}"
    );
}

#[test]
fn after_an_interrupt_the_session_goes_on_with_the_next_message() {
    let place = place();
    let dialogue = waiting(&place);
    dialogue.signal(Signal::SIGINT);
    assert_eq!(dialogue.wait().code, Some(5));
    // The answer to what was asked before starts nothing.
    let ended = ask(&place, "append 'end' to notes.txt", &["--continue"], "y\n");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(content(&place, "notes.txt"), "old\nend\n");
    let session = shown(&place, &last_id(&place));
    assert_whole(&session);
    let statuses: Vec<_> = session["turns"]
        .as_array()
        .expect("turns")
        .iter()
        .map(|turn| &turn["status"])
        .collect();
    assert_eq!(statuses, ["cancelled", "completed"]);
}

#[test]
fn an_interrupt_at_a_question_stops_too() {
    let place = project(&[("a/config.toml", "old\n"), ("b/config.json", "old\n")]);
    let mut dialogue = Dialogue::start(request(
        &place,
        "replace old by new in config",
        &["--ask", "prompt"],
    ));
    dialogue.hear("Enter skips:");
    dialogue.signal(Signal::SIGINT);
    let ended = dialogue.wait();
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    assert_whole(&shown(&place, &last_id(&place)));
    assert_eq!(content(&place, "a/config.toml"), "old\n");
}

#[test]
fn an_interrupt_between_the_no_and_its_reason_stops_too() {
    let place = place();
    let mut dialogue = waiting(&place);
    dialogue.say("n");
    dialogue.hear("Why not?");
    dialogue.signal(Signal::SIGINT);
    assert_eq!(dialogue.wait().code, Some(5));
    assert_eq!(content(&place, "notes.txt"), "old\n");
    assert_whole(&shown(&place, &last_id(&place)));
}

#[test]
fn the_result_of_a_stopped_run_says_so() {
    let place = place();
    let mut args = ASKED.to_vec();
    args.extend(["--output", "json"]);
    let mut dialogue = Dialogue::start(request(&place, REQUEST, &args));
    dialogue.hear("Run it?");
    dialogue.signal(Signal::SIGINT);
    let ended = dialogue.wait();
    assert_eq!(ended.code, Some(5));
    let result: serde_json::Value = serde_json::from_str(&ended.stdout).expect("one object");
    assert_eq!(result["status"], "cancelled");
    assert_eq!(result["changes"], serde_json::json!([]));
}

#[test]
fn an_approval_survives_the_death_of_its_process() {
    for (signal, answer, changed) in [
        (Signal::SIGKILL, "y", true),
        (Signal::SIGTERM, "y", true),
        (Signal::SIGKILL, "n\nnot any more", false),
        (Signal::SIGHUP, "y", true),
    ] {
        if is_ignored(signal) {
            println!("SKIPPED {signal}: whoever runs the tests ignores it, and so do their children");
            continue;
        }
        let place = place();
        let dialogue = waiting(&place);
        let asked = question(dialogue.heard());
        dialogue.signal(signal);
        let ended = dialogue.wait();
        assert_eq!(ended.code, None, "{signal}: {}", ended.stderr);
        assert_eq!(content(&place, "notes.txt"), "old\n");
        let mut again = go_on(&place, &["--ask", "prompt"]);
        again.hear("Run it?");
        assert_eq!(question(again.heard()), asked, "{signal}: the same is asked");
        again.say(answer);
        let ended = again.finish();
        assert_eq!(ended.code, Some(0), "{signal}: {}", ended.stderr);
        assert_eq!(
            content(&place, "notes.txt"),
            if changed { "new\n" } else { "old\n" },
            "{signal}"
        );
        let session = shown(&place, &last_id(&place));
        assert_whole(&session);
        assert_eq!(
            session["turns"].as_array().expect("turns").len(),
            1,
            "it is the same turn"
        );
    }
}

/// Whether this process ignores a signal; under `nohup`, for example, it ignores SIGHUP, and a child inherits that.
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0);
    mask & (1 << (signal as i32 - 1)) != 0
}

/// From the question on.
fn question(heard: &str) -> String {
    heard.split_once("? edit").expect("a question").1.to_owned()
}

#[test]
fn a_question_survives_the_death_of_its_process() {
    let place = project(&[("a/config.toml", "old\n"), ("b/config.json", "old\n")]);
    let mut dialogue = Dialogue::start(request(
        &place,
        "replace old by new in config",
        &["--ask", "prompt"],
    ));
    dialogue.hear("Enter skips:");
    dialogue.signal(Signal::SIGKILL);
    assert_eq!(dialogue.wait().code, None);
    let mut again = go_on(&place, &["--ask", "prompt"]);
    again.hear("2. /b/config.json");
    again.hear("Enter skips:");
    again.say("2");
    let ended = again.finish();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(content(&place, "b/config.json"), "new\n");
    assert_whole(&shown(&place, &last_id(&place)));
}

#[test]
fn what_waited_for_a_dead_process_is_denied_where_nobody_is_there() {
    let place = place();
    let dialogue = waiting(&place);
    dialogue.signal(Signal::SIGKILL);
    dialogue.wait();
    let ended = go_on(&place, &[]).finish();
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert_eq!(content(&place, "notes.txt"), "old\n");
    assert_whole(&shown(&place, &last_id(&place)));
}

#[test]
fn what_waited_for_a_dead_process_can_still_be_stopped() {
    let place = place();
    let dialogue = waiting(&place);
    dialogue.signal(Signal::SIGKILL);
    dialogue.wait();
    let mut again = go_on(&place, &["--ask", "prompt"]);
    again.hear("Run it?");
    again.signal(Signal::SIGINT);
    assert_eq!(again.wait().code, Some(5));
    assert_whole(&shown(&place, &last_id(&place)));
}

#[test]
fn a_mode_given_with_continue_answers_what_it_allows() {
    let place = place();
    let dialogue = waiting(&place);
    dialogue.signal(Signal::SIGKILL);
    dialogue.wait();
    let ended = go_on(&place, &["--mode", "edit"]).finish();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(content(&place, "notes.txt"), "new\n");
}

#[test]
fn a_message_sent_while_a_call_waits_is_answered_after_it() {
    let place = place();
    let dialogue = waiting(&place);
    dialogue.signal(Signal::SIGKILL);
    dialogue.wait();
    let ended = ask(&place, "append 'end' to notes.txt", &["--continue"], "y\ny\n");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(content(&place, "notes.txt"), "new\nend\n");
    assert_whole(&shown(&place, &last_id(&place)));
}

/// What became of a call while the turn was being stopped is on the screen, and not in the session alone.
#[test]
fn every_call_of_a_stopped_turn_is_shown() {
    use std::os::unix::fs::MetadataExt as _;

    for _ in 0..8 {
        let place = project(&[("notes.txt", &"old\n".repeat(50_000))]);
        let file = place.root().join("notes.txt");
        let identity = || std::fs::metadata(&file).map(|found| found.ino()).ok();
        let before = identity();
        let dialogue = Dialogue::start(request(&place, REQUEST, &[]));
        // The edit is in place, and its result perhaps not yet committed.
        while identity() == before {
            std::thread::yield_now();
        }
        dialogue.signal(Signal::SIGINT);
        let ended = dialogue.wait();
        assert!(
            matches!(ended.code, Some(0 | 5)),
            "{:?}: {}",
            ended.code,
            ended.stderr
        );
        let session = shown(&place, &last_id(&place));
        assert_whole(&session);
        let results = results(&session);
        assert_eq!(
            ended.stderr.matches('●').count(),
            results.len(),
            "{}",
            ended.stderr
        );
        for result in results {
            let (_, text) = result.split_once(": ").expect("a result");
            let first = text.lines().next().unwrap_or_default();
            assert!(ended.stderr.contains(first), "{first} is not in {}", ended.stderr);
        }
    }
}

#[test]
fn after_a_stop_continue_says_how_to_go_on() {
    let place = place();
    let dialogue = waiting(&place);
    dialogue.signal(Signal::SIGINT);
    assert_eq!(dialogue.wait().code, Some(5));
    let ended = go_on(&place, &[]).finish();
    insta::assert_snapshot!(ended.stderr, @r#"The last turn was stopped, and does not go on by itself. Say what is to be done: rtc-headless run "continue" --continue"#);
    assert_eq!(ended.code, Some(5), "it is still how the last turn ended");
    let ended = alone(&place, "continue", &["--continue", "--mode", "edit"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(content(&place, "notes.txt"), "new\n");
}

#[test]
fn with_nothing_to_continue_it_says_so_and_tells_the_last_result() {
    let place = place();
    assert_eq!(alone(&place, REQUEST, &[]).code, Some(0));
    let ended = go_on(&place, &["--output", "json"]).finish();
    assert_eq!(ended.code, Some(0));
    assert!(
        ended.stderr.contains("Nothing was left to do in this session."),
        "{}",
        ended.stderr
    );
    let result: serde_json::Value = serde_json::from_str(&ended.stdout).expect("one object");
    assert_eq!(result["status"], "completed");
    assert_eq!(content(&place, "notes.txt"), "new\n");
}
