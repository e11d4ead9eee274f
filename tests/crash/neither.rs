//! A change whose outcome nobody knows: the file is neither as before nor as intended.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;

use rtc_tests::{Ended, Moment, Workplace, assert_whole, finish, text};
use serde_json::Value;

use crate::can_trace;
use crate::point::{Kind, Point};
use crate::reference::{Reference, first, further, watched, words, workplace};

/// The file of the script's first change.
const FILE: &str = "web/app.js";

/// What somebody wrote into it after the kill.
const BY_HAND: &str = "// Written by hand.\n";

/// The conversation, killed when the first changed file was about to be put in place.
fn killed() -> Workplace {
    let place = workplace();
    let at = Point::before(Kind::Place);
    let (ended, _) = watched(&place, &first(&place), |point, _| point == at);
    assert_eq!(ended, Ended::Killed);
    assert!(
        place.files().keys().any(|name| name.ends_with(".tmp")),
        "it died before the exchange"
    );
    place
}

fn write(place: &Workplace, content: &[u8]) {
    std::fs::write(place.root().join(FILE), content).expect("the project can be written");
}

/// Goes on at a terminal where somebody answers the question with `answer`, after doing `meanwhile`.
fn answered(place: &Workplace, answer: &str, meanwhile: impl FnOnce()) -> String {
    let mut arguments = further(place);
    let ask = arguments
        .iter_mut()
        .find(|word| *word == "deny")
        .expect("it says who answers");
    "prompt".clone_into(ask);
    let mut child = place
        .command(&words(&arguments))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("rtc-headless starts");
    let mut told = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut question = Vec::new();
    while !text(&question).contains("[t]ell the model") {
        assert_ne!(
            told.read_until(b':', &mut question).expect("it tells something"),
            0,
            "it asks"
        );
    }
    meanwhile();
    let mut input = child.stdin.take().expect("it is piped");
    writeln!(input, "{answer}").expect("it reads the answer");
    let mut rest = Vec::new();
    told.read_to_end(&mut rest).expect("it tells the rest");
    assert!(child.wait().expect("it ends").success(), "{}", text(&rest));
    text(&question)
}

/// The state of the first change, and what the model read of it; the start's time is left out.
fn outcome(place: &Workplace) -> String {
    let shown = place.last_session();
    assert_whole(&shown);
    let calls = shown["rtcs"].as_array().expect("calls");
    let call = calls
        .iter()
        .find(|call| call["tool_name"] == "edit")
        .expect("an edit");
    let messages = shown["messages"].as_array().expect("messages");
    let output = messages
        .iter()
        .find(|message| message["id"] == call["output_message_id"])
        .expect("its result");
    let content: Value = serde_json::from_str(output["content"].as_str().expect("text")).expect("JSON");
    let read = content["data"]["output"]
        .as_str()
        .or(content["output"].as_str())
        .unwrap_or_else(|| panic!("{content}"));
    let (before, after) = read.split_once("started at ").unwrap_or((read, ""));
    let after = after
        .split_once(". ")
        .map(|(_, after)| format!("started at TIME. {after}"))
        .unwrap_or_default();
    format!(
        "{} {} {}: {before}{after}",
        call["status"], call["effect"], call["attempt"]
    )
}

/// The hand's change is there, everything else is as if nothing had happened, and nothing is left over.
fn assert_kept(place: &Workplace, reference: &Reference) {
    let mut expected = reference.files.clone();
    expected.insert(FILE.to_owned(), BY_HAND.as_bytes().to_vec());
    let files = place.files();
    let differs = |name: &&String| files.get(*name) != expected.get(*name);
    let names = files
        .keys()
        .chain(expected.keys())
        .filter(differs)
        .collect::<Vec<_>>();
    assert_eq!(names, [""; 0]);
}

#[test]
fn a_change_by_hand_stays_and_the_model_is_told_that_the_outcome_is_unknown() {
    if !can_trace() {
        return;
    }
    let reference = Reference::new();
    let place = killed();
    write(&place, BY_HAND.as_bytes());
    let output = finish(place.command(&words(&further(&place))));
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_kept(&place, &reference);
    insta::assert_snapshot!(outcome(&place), @r#""failed" "unknown" 1: [Tool Error] edit failed: the call was started and the program ended before its result was known (outcome_unknown). It was started at TIME. `/web/app.js` has neither the content that it had before nor the one that it should get. Look at what is there before you repeat it."#);
}

#[test]
fn the_user_decides_what_becomes_of_an_unknown_outcome() {
    if !can_trace() {
        return;
    }
    let reference = Reference::new();
    let decided = |answer| {
        let place = killed();
        write(&place, BY_HAND.as_bytes());
        let question = answered(&place, answer, || {});
        assert!(
            question.contains("neither the content that it had before"),
            "{question}"
        );
        assert_kept(&place, &reference);
        outcome(&place)
    };
    insta::assert_snapshot!(decided("t"), @r#""failed" "unknown" 1: [Tool Error] edit failed: the call was started and the program ended before its result was known (outcome_unknown). It was started at TIME. `/web/app.js` has neither the content that it had before nor the one that it should get. Look at what is there before you repeat it."#);
    insta::assert_snapshot!(decided("d"), @r#""completed" "applied" 1: The user looked and says that this call is done. It was started at TIME. `/web/app.js` has neither the content that it had before nor the one that it should get."#);
    insta::assert_snapshot!(decided("r"), @r#"
    "failed" "unknown" 1: [Tool Error] edit failed: `/web/app.js` has changed since this session read it; read it again. It now is:
         1	// Written by hand.
    [an earlier start of this call may have taken effect: look before you repeat it]
    "#);
}

#[test]
fn a_retry_after_the_user_has_restored_the_file_makes_the_change_once() {
    if !can_trace() {
        return;
    }
    let reference = Reference::new();
    let place = killed();
    let before = std::fs::read(place.root().join(FILE)).expect("it is there");
    write(&place, BY_HAND.as_bytes());
    answered(&place, "r", || write(&place, &before));
    reference.judge(&place, true);
}

/// A file with two names is written in place so that they stay one; who goes on writes it to its end.
#[test]
fn a_file_that_is_written_in_place_is_whole_afterwards() {
    if !can_trace() {
        return;
    }
    let linked = || {
        let place = workplace();
        let copy = place.root().join("web/copy.js");
        std::fs::hard_link(place.root().join(FILE), copy).expect("a second name");
        place
    };
    let reference = linked();
    let before = reference.files()[FILE].clone();
    let (ended, counts) = watched(&reference, &first(&reference), |_, _| false);
    assert_eq!(ended, Ended::Exited(0));
    let after = reference.files()[FILE].clone();
    let mut torn = 0;
    for moment in [Moment::Before, Moment::After] {
        let at = Point {
            kind: Kind::InPlace,
            moment,
        };
        for nth in 1..=counts[&at] {
            let place = linked();
            watched(&place, &first(&place), |point, count| point == at && count == nth);
            let left = place.files()[FILE].clone();
            torn += usize::from(left != before && left != after);
            let output = finish(place.command(&words(&further(&place))));
            assert!(output.status.success(), "{}", text(&output.stderr));
            let files = place.files();
            assert_eq!(files[FILE], files["web/copy.js"], "they stay one");
            assert_eq!(text(&files[FILE]), text(&after), "{at}, {nth}");
            assert!(
                files.keys().all(|name| !name.ends_with(".tmp")),
                "{at}, {nth}: {files:?}"
            );
        }
    }
    assert!(torn >= 4, "it died in the middle {torn} times");
}
