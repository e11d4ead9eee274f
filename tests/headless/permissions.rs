//! Which modes ask for what; protected paths; links.

use std::os::unix::fs::symlink;

use rtc_tests::{Workplace, assert_whole};

use crate::place::{alone, ask, content, last_id, names, project, put, results, shown};

#[test]
fn each_mode_asks_for_what_it_asks_for() {
    // 0: done; 3: it would have asked.
    for (request, manual, edit, auto, bypass) in [
        ("read notes.txt", 0, 0, 0, 0),
        ("list the files", 0, 0, 0, 0),
        ("search for old", 0, 0, 0, 0),
        ("find *.txt", 0, 0, 0, 0),
        ("replace old by new in notes.txt", 3, 0, 0, 0),
        ("create new.txt with 'x'", 3, 0, 0, 0),
        ("read .env", 3, 3, 3, 0),
        ("append 'x' to .env", 3, 3, 3, 0),
        ("read .git/config", 0, 0, 0, 0),
        ("append 'x' to .git/config", 3, 3, 3, 0),
        ("create .vscode/tasks.json with 'x'", 3, 3, 3, 0),
        ("create .rtc/scripts/a.ts with 'x'", 3, 3, 3, 0),
    ] {
        for (mode, code) in [
            ("manual", manual),
            ("edit", edit),
            ("auto", auto),
            ("bypass", bypass),
        ] {
            let place = protected();
            let before = place.files();
            let ended = alone(&place, request, &["--mode", mode]);
            assert_eq!(ended.code, Some(code), "{request} in {mode}: {}", ended.stderr);
            if code == 3 {
                assert_eq!(place.files(), before, "{request} in {mode}");
            } else if request.starts_with("append") || request.starts_with("create") {
                assert_ne!(place.files(), before, "{request} in {mode}");
            }
        }
    }
}

fn protected() -> Workplace {
    project(&[
        ("notes.txt", "old\n"),
        (".env", "KEY=1\n"),
        (".git/config", "[core]\n"),
    ])
}

#[test]
fn plan_mode_changes_nothing_asks_nothing_and_says_why() {
    for request in [
        "replace old by new in notes.txt",
        "create new.txt with 'x'",
        "append 'x' to .git/config",
    ] {
        let place = protected();
        let before = place.files();
        let ended = ask(&place, request, &["--mode", "plan"], "y\ny\n");
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert!(!ended.stderr.contains("Run it?"), "{}", ended.stderr);
        let said =
            "the session is in plan mode, in which nothing is changed: describe what you would do instead";
        assert!(ended.stdout.contains(said), "{}", ended.stdout);
        assert_eq!(place.files(), before);
    }
}

#[test]
fn a_session_keeps_its_mode_until_it_is_given_another() {
    let place = protected();
    let change = "replace old by new in notes.txt";
    assert_eq!(alone(&place, "read notes.txt", &["--mode", "plan"]).code, Some(0));
    assert!(
        alone(&place, change, &["--continue"])
            .stdout
            .contains("plan mode")
    );
    assert_eq!(content(&place, "notes.txt"), "old\n");
    assert_eq!(
        alone(&place, change, &["--continue", "--mode", "manual"]).code,
        Some(3)
    );
    assert_eq!(content(&place, "notes.txt"), "old\n");
    assert_eq!(
        alone(&place, change, &["--continue", "--mode", "bypass"]).code,
        Some(0)
    );
    assert_eq!(content(&place, "notes.txt"), "new\n");
}

#[test]
fn a_protected_path_is_asked_for_whatever_was_allowed_before() {
    let place = protected();
    let manual = ["--mode", "manual"];
    assert_eq!(
        ask(&place, "append 'x' to notes.txt", &manual, "s\n").code,
        Some(0)
    );
    let ended = ask(&place, "append 'x' to .git/config", &["--continue"], "y\n");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("/.git/config is protected"),
        "{}",
        ended.stderr
    );
    assert_eq!(content(&place, ".git/config"), "[core]\nx\n");
    // A Yes is for one call.
    assert_eq!(
        alone(&place, "append 'y' to .git/config", &["--continue"]).code,
        Some(3)
    );
    assert_eq!(content(&place, ".git/config"), "[core]\nx\n");
}

#[test]
fn a_link_to_a_protected_file_does_not_get_around_the_question() {
    let linked = || {
        let place = protected();
        symlink(".git/config", place.root().join("settings")).expect("a link is made");
        symlink(".env", place.root().join("environment")).expect("a link is made");
        place
    };
    for mode in ["edit", "auto"] {
        let place = linked();
        let before = place.files();
        let ended = alone(&place, "append 'x' to settings", &["--mode", mode]);
        assert!(
            ended.stdout.contains("/.git/config is protected"),
            "{}",
            ended.stdout
        );
        assert_eq!(place.files(), before);
        let ended = alone(&place, "read environment", &["--mode", mode]);
        assert!(ended.stdout.contains("/.env is protected"), "{}", ended.stdout);
        assert!(!ended.stdout.contains("KEY=1") && !ended.stderr.contains("KEY=1"));
        let text = shown(&place, &last_id(&place)).to_string();
        assert!(!text.contains("KEY=1"), "the model has read it");
    }
    // Where the question shows what is really changed, a Yes is a Yes to that.
    let place = linked();
    let ended = ask(&place, "append 'x' to settings", &["--mode", "manual"], "y\n");
    assert!(ended.stderr.contains("+++ /.git/config"), "{}", ended.stderr);
    assert_eq!(ended.code, Some(0));
    assert_eq!(content(&place, ".git/config"), "[core]\nx\n");
    let link = std::fs::read_link(place.root().join("settings")).expect("the link stays a link");
    assert_eq!(link.to_str(), Some(".git/config"));
}

#[test]
fn nothing_outside_is_reached_through_a_link_in_any_mode() {
    let place = protected();
    let outside = place.path().join("outside");
    put(&outside, &[("secret.txt", "treasure old\n")]);
    let link = |to: &str, name: &str| symlink(to, place.root().join(name)).expect("a link is made");
    link(outside.to_str().expect("Unicode"), "away");
    link("../outside", "beside");
    link("../outside/secret.txt", "file.txt");
    link("../outside/not-yet.txt", "dangling.txt");
    link("../../../../../../../../../../etc", "system");
    let project = place.files();
    for request in [
        "read away/secret.txt",
        "read beside/secret.txt",
        "read /file.txt",
        "read /system/hostname",
        "list away/",
        "search for treasure",
        "search for treasure in away/",
        "find secret*",
        "append 'x' to /file.txt",
        "replace old by new in away/secret.txt",
        "replace old by new everywhere in beside/",
        "create away/made.txt with 'x'",
        "create /dangling.txt with 'x'",
        "overwrite /file.txt with 'x'",
    ] {
        let ended = alone(&place, request, &["--mode", "bypass"]);
        assert_eq!(ended.code, Some(0), "{request}: {}", ended.stderr);
        let session = shown(&place, &last_id(&place));
        assert_whole(&session);
        let results = results(&session).join("\n");
        assert!(!results.contains("treasure old"), "{request} read it: {results}");
        // What a link of the project says of itself may be told.
        let mut listed = results
            .lines()
            .filter(|line| line.ends_with("secret.txt") && !line.contains(" -> "));
        assert_eq!(listed.next(), None, "{request} listed it: {results}");
        assert_eq!(names(&outside), ["secret.txt"], "{request}");
        let secret = std::fs::read_to_string(outside.join("secret.txt")).expect("it is there");
        assert_eq!(secret, "treasure old\n", "{request}");
        assert_eq!(place.files(), project, "{request}");
    }
}
