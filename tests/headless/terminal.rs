//! On a terminal: it asks without being told to, and what files say does not steer the terminal.

use rtc_tests::Workplace;

use crate::place::{content, last_id, project, request, shown};
use rtc_tests::dialogue::Dialogue;

/// The request on a pseudo terminal.
fn on_a_terminal(place: &Workplace, text: &str, args: &[&str]) -> Option<Dialogue> {
    Dialogue::on_a_terminal(&request(place, text, args))
}

#[test]
fn on_a_terminal_the_user_is_asked_by_default() {
    let place = project(&[("notes.txt", "old\n")]);
    let request = "replace old by new in notes.txt";
    let Some(mut dialogue) = on_a_terminal(&place, request, &["--mode", "manual"]) else {
        return;
    };
    dialogue.hear("Run it?");
    assert!(
        dialogue.heard().contains("\u{1b}[32m    +new"),
        "the diff has colours: {:?}",
        dialogue.heard()
    );
    assert_eq!(content(&place, "notes.txt"), "old\n");
    dialogue.say("y");
    dialogue.hear("I replaced");
    assert_eq!(dialogue.wait().code, Some(0));
    assert_eq!(content(&place, "notes.txt"), "new\n");
}

#[test]
fn on_a_terminal_the_default_mode_asks_for_what_it_does_not_allow() {
    let place = project(&[("notes.txt", "old\n")]);
    let request =
        "replace old by new in notes.txt, then run this script: `await rtcAgent.fs.write('/made.txt', 'x')`";
    let Some(mut dialogue) = on_a_terminal(&place, request, &[]) else {
        return;
    };
    dialogue.hear("Run it?");
    assert_eq!(
        content(&place, "notes.txt"),
        "new\n",
        "an edit in the folder needs no Yes"
    );
    assert!(!place.root().join("made.txt").exists(), "a script needs one");
    dialogue.say("y");
    assert_eq!(dialogue.wait().code, Some(0));
    assert_eq!(content(&place, "made.txt"), "x");
}

#[test]
fn ctrl_c_on_a_terminal_stops_the_turn() {
    let place = project(&[("notes.txt", "old\n")]);
    let request = "replace old by new in notes.txt";
    let Some(mut dialogue) = on_a_terminal(&place, request, &["--mode", "manual"]) else {
        return;
    };
    dialogue.hear("Run it?");
    dialogue.say("\u{3}");
    assert_eq!(dialogue.wait().code, Some(5));
    assert_eq!(content(&place, "notes.txt"), "old\n");
    assert_eq!(shown(&place, &last_id(&place))["turns"][0]["status"], "cancelled");
}

#[test]
fn what_a_file_says_does_not_steer_the_terminal() {
    let place = project(&[(
        "notes.txt",
        "\u{1b}]0;another title\u{7}\u{1b}[2Jgone\r\u{9b}31mred\n",
    )]);
    let Some(dialogue) = on_a_terminal(&place, "read notes.txt", &[]) else {
        return;
    };
    let ended = dialogue.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("another title"),
        "it is shown: {}",
        ended.stderr
    );
    for steering in ["\u{1b}]", "\u{7}", "\u{1b}[2J", "gone\r\u{9b}", "\u{9b}"] {
        assert!(
            !ended.stderr.contains(steering),
            "{steering:?} in {:?}",
            ended.stderr
        );
    }
}
