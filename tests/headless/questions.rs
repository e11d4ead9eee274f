//! `askUser` at the terminal: a request that fits several files.

use rtc_tests::{Workplace, assert_whole};

use crate::place::{alone, ask, content, last_id, project, request, results, shown};
use rtc_tests::dialogue::Dialogue;

const REQUEST: &str = "replace old by new in config";

fn ambiguous() -> Workplace {
    project(&[
        ("a/config.toml", "old\n"),
        ("b/config.json", "old\n"),
        ("c/other.txt", "old\n"),
    ])
}

fn contents(place: &Workplace) -> [String; 3] {
    ["a/config.toml", "b/config.json", "c/other.txt"].map(|name| content(place, name))
}

#[test]
fn a_question_is_shown_with_its_options() {
    let place = ambiguous();
    let mut dialogue = Dialogue::start(request(&place, REQUEST, &["--ask", "prompt"]));
    dialogue.hear("Enter skips:");
    let asked = dialogue
        .heard()
        .split_once("? ")
        .expect("a question")
        .1
        .to_owned();
    insta::assert_snapshot!(asked, @"
    2 files fit “config”. Which one do you mean?
      1. /a/config.toml – Only this one
      2. /b/config.json – Only this one
      3. All 2 of them – Each of the files that fit
      A number, or your own words; Enter skips:
    ");
    dialogue.say("1");
    assert_eq!(dialogue.finish().code, Some(0));
    assert_eq!(contents(&place), ["new\n", "old\n", "old\n"]);
    let session = shown(&place, &last_id(&place));
    let answer = results(&session)
        .into_iter()
        .find(|result| result.starts_with("askUser"))
        .expect("a question");
    insta::assert_snapshot!(answer, @r#"askUser completed: The user answered: "2 files fit “config”. Which one do you mean?"="/a/config.toml". Go on with these answers in mind."#);
}

#[test]
fn an_answer_is_a_number_or_the_users_own_words() {
    for (answer, expected) in [
        ("2", ["old\n", "new\n", "old\n"]),
        ("3", ["new\n", "new\n", "old\n"]),
        ("b/config.json", ["old\n", "new\n", "old\n"]),
        ("I mean /a/config.toml, please", ["new\n", "old\n", "old\n"]),
        ("neither of them", ["old\n", "old\n", "old\n"]),
    ] {
        let place = ambiguous();
        let ended = ask(&place, REQUEST, &[], &format!("{answer}\n"));
        assert_eq!(ended.code, Some(0), "{answer}: {}", ended.stderr);
        assert_eq!(contents(&place), expected, "{answer}: {}", ended.stdout);
        assert_eq!(
            ended.stderr.matches("Which one do you mean?\n  1.").count(),
            1,
            "{}",
            ended.stderr
        );
        let session = shown(&place, &last_id(&place));
        assert!(
            results(&session)
                .iter()
                .any(|result| result.contains(&format!("{answer}\"")) || answer.len() == 1)
        );
        assert_whole(&session);
    }
}

#[test]
fn a_number_that_is_no_option_is_asked_for_again() {
    let place = ambiguous();
    let ended = ask(&place, REQUEST, &[], "7\n1,2\n2\n");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(contents(&place), ["old\n", "new\n", "old\n"]);
    assert!(
        ended.stderr.contains("There is no option 7, only 1 to 3"),
        "{}",
        ended.stderr
    );
    assert!(ended.stderr.contains("Choose one of them."), "{}", ended.stderr);
}

#[test]
fn a_skipped_question_is_told_to_the_model() {
    let place = ambiguous();
    let ended = ask(&place, REQUEST, &[], "\n");
    assert_eq!(ended.code, Some(0), "somebody was there: {}", ended.stderr);
    assert_eq!(contents(&place), ["old\n", "old\n", "old\n"]);
    assert!(
        ended.stdout.contains("the user declined to answer"),
        "{}",
        ended.stdout
    );
    assert_eq!(ended.stderr.matches("Enter skips").count(), 1, "{}", ended.stderr);
    assert_whole(&shown(&place, &last_id(&place)));
}

#[test]
fn with_nobody_there_the_exit_code_says_so() {
    for answers in [None, Some("")] {
        let place = ambiguous();
        let ended = match answers {
            None => alone(&place, REQUEST, &["--ask", "deny"]),
            Some(answers) => ask(&place, REQUEST, &[], answers),
        };
        assert_eq!(ended.code, Some(7), "{answers:?}: {}", ended.stderr);
        assert_eq!(contents(&place), ["old\n", "old\n", "old\n"]);
        assert!(ended.stdout.contains("nobody was there"), "{}", ended.stdout);
        assert_whole(&shown(&place, &last_id(&place)));
    }
}

#[test]
fn an_answer_that_is_too_long_is_asked_for_again() {
    let place = ambiguous();
    let ended = ask(&place, REQUEST, &[], &format!("{}\n1\n", "x".repeat(200_000)));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr.len());
    assert!(ended.stderr.contains("shorten it"));
    assert_eq!(contents(&place), ["new\n", "old\n", "old\n"]);
}

#[test]
fn a_question_is_asked_in_every_mode() {
    for mode in ["manual", "edit", "plan", "auto", "bypass"] {
        let place = ambiguous();
        let ended = alone(&place, "read config", &["--mode", mode]);
        assert_eq!(ended.code, Some(7), "{mode}: {}", ended.stderr);
    }
}
