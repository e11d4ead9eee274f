//! On a terminal: it asks without being told to, and what files say does not steer the terminal.

use std::process::Command;

use rtc_tests::Workplace;

use crate::dialogue::Dialogue;
use crate::place::{content, last_id, project, request, shown};

/// The request on a pseudo terminal, whose both ends the test holds: all that is shown comes on stderr.
fn on_a_terminal(place: &Workplace, text: &str, args: &[&str]) -> Option<Dialogue> {
    let able = Command::new("script").arg("--version").output();
    if !able.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("util-linux")) {
        eprintln!("skipped: there is no `script` of util-linux to make a terminal with");
        return None;
    }
    let whole = request(place, text, args);
    let words = std::iter::once(whole.get_program()).chain(whole.get_args());
    let quoted: Vec<String> = words
        .map(|word| format!("'{}'", word.to_string_lossy().replace('\'', "'\\''")))
        .collect();
    let mut command = Command::new("sh");
    command.args([
        "-c",
        "exec script -qec \"$0\" /dev/null >&2",
        &format!("exec {}", quoted.join(" ")),
    ]);
    command
        .env_remove("NO_COLOR")
        .env_remove("RTC_MODEL")
        .env("SHELL", "/bin/sh");
    Some(Dialogue::start(command))
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
