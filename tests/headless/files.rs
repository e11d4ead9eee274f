//! What is done to files, seen from outside: the stale guard, bytes that stay, what is left behind.

use std::os::unix::fs::PermissionsExt;

use nix::sys::signal::Signal;
use rtc_tests::{Workplace, assert_whole};

use crate::place::{alone, content, last_id, names, project, request, results, shown};
use rtc_tests::dialogue::Dialogue;

const REQUEST: &str = "replace old by new in notes.txt";

/// The results of a session's edits.
fn edits(place: &Workplace) -> Vec<String> {
    let session = shown(place, &last_id(place));
    assert_whole(&session);
    results(&session)
        .into_iter()
        .filter(|result| result.starts_with("edit "))
        .collect()
}

#[test]
fn a_file_that_changed_between_two_runs_is_read_again_before_it_is_edited() {
    let place = project(&[("notes.txt", "one\nold\n")]);
    assert_eq!(alone(&place, REQUEST, &["--mode", "manual"]).code, Some(3));
    std::fs::write(place.root().join("notes.txt"), "two\nold\n").expect("the file is written");
    let ended = alone(&place, "continue", &["--continue", "--mode", "edit"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(
        content(&place, "notes.txt"),
        "two\nnew\n",
        "what others wrote stays"
    );
    let edits = edits(&place);
    assert_eq!(edits.len(), 3, "{edits:?}");
    insta::assert_snapshot!(edits[1], @"
    edit failed: [Tool Error] edit failed: `/notes.txt` has changed since this session read it; read it again. It now is:
         1	two
         2	old
    ");
    assert!(edits[2].starts_with("edit completed"), "{edits:?}");
}

#[test]
fn a_file_that_only_looks_changed_is_edited() {
    let place = project(&[("notes.txt", "one\nold\n")]);
    assert_eq!(alone(&place, REQUEST, &["--mode", "manual"]).code, Some(3));
    // The same bytes, another file.
    let path = place.root().join("notes.txt");
    std::fs::remove_file(&path).expect("the file is removed");
    std::fs::write(&path, "one\nold\n").expect("the file is written");
    assert_eq!(
        alone(&place, "continue", &["--continue", "--mode", "edit"]).code,
        Some(0)
    );
    assert_eq!(content(&place, "notes.txt"), "one\nnew\n");
    assert_eq!(edits(&place).len(), 2, "it is not refused");
}

#[test]
fn a_file_that_changes_while_it_is_asked_about_is_not_overwritten() {
    let place = project(&[("notes.txt", "one\nold\n")]);
    let mut dialogue = Dialogue::start(request(&place, REQUEST, &["--mode", "manual", "--ask", "prompt"]));
    dialogue.hear("Run it?");
    std::fs::write(place.root().join("notes.txt"), "two\nold\n").expect("the file is written");
    dialogue.say("y");
    dialogue.hear("Run it?");
    assert_eq!(
        content(&place, "notes.txt"),
        "two\nold\n",
        "the Yes was to another diff"
    );
    assert!(
        dialogue.heard().ends_with("Run it?") && dialogue.heard().contains(" two\n"),
        "{}",
        dialogue.heard()
    );
    dialogue.say("y");
    let ended = dialogue.finish();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(content(&place, "notes.txt"), "two\nnew\n");
    assert_eq!(edits(&place).len(), 2);
}

#[test]
fn a_file_that_changes_while_its_process_is_dead_is_not_overwritten() {
    let place = project(&[("notes.txt", "one\nold\n")]);
    let mut dialogue = Dialogue::start(request(&place, REQUEST, &["--mode", "manual", "--ask", "prompt"]));
    dialogue.hear("Run it?");
    dialogue.signal(Signal::SIGKILL);
    dialogue.wait();
    std::fs::write(place.root().join("notes.txt"), "two\nold\n").expect("the file is written");
    let mut again = Dialogue::start(place.command(&["run", "--continue", "--ask", "prompt"]));
    again.hear("Run it?");
    again.say("y");
    again.hear("Run it?");
    assert_eq!(content(&place, "notes.txt"), "two\nold\n");
    again.say("y");
    assert_eq!(again.finish().code, Some(0));
    assert_eq!(content(&place, "notes.txt"), "two\nnew\n");
}

#[test]
fn an_edit_keeps_what_it_does_not_change() {
    // Line ends, a missing last one, a BOM, and the mode.
    for (before, after) in [
        ("one\r\nold\r\nlast", "one\r\nnew\r\nlast"),
        ("one\nold\r\nmixed\n", "one\nnew\r\nmixed\n"),
        ("\u{feff}old € old\n", "\u{feff}new € new\n"),
    ] {
        let place = project(&[("notes.txt", before)]);
        let path = place.root().join("notes.txt");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("the mode is set");
        let ended = alone(&place, REQUEST, &[]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert_eq!(content(&place, "notes.txt"), after);
        let mode = std::fs::metadata(&path)
            .expect("it is there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o755);
        assert_eq!(names(&place.root()), ["notes.txt"], "nothing is left behind");
    }
}

#[test]
fn the_data_folder_is_for_its_owner_only() {
    let place = project(&[("notes.txt", "old\n")]);
    assert_eq!(alone(&place, REQUEST, &[]).code, Some(0));
    let mode = |name: &str| {
        std::fs::metadata(place.data().join(name))
            .expect("it is there")
            .permissions()
            .mode()
            & 0o777
    };
    for folder in ["", "store", "store/db", "scratch", "pre-images"] {
        assert_eq!(mode(folder), 0o700, "{folder}");
    }
    for file in ["identity.json", "store/store.json", "store/lock", "store/db/db"] {
        assert_eq!(mode(file), 0o600, "{file}");
    }
}
