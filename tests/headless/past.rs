//! A data folder that an older program left: nothing of it is lost, and its turns go on.
//!
//! `tests/stores/1` is one of schema 1 from before the store kept a sum over its rows and a note of what it had
//! acknowledged. It is made by two tests that run only when they are asked for, one after the other:
//!
//! ```text
//! cargo test --workspace --test headless -- --ignored the_past_is_made
//! cargo test --workspace --test contract -- --ignored the_past_is_aged
//! ```

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::Signal;
use rtc_tests::dialogue::{Dialogue, run};
use rtc_tests::{Workplace, assert_whole, repository};
use serde_json::Value;

use crate::damaged_store::aside;
use crate::place::{contents, names, put, results, shown};

/// Where the project was: a store keeps absolute paths.
const PAST: &str = "/tmp/rtc-desktop-past";

/// What the user said in the sessions, the oldest first.
const SAID: [&str; 4] = [
    "replace old by new in notes.txt",
    "read notes.txt",
    "append 'later' to notes.txt",
    "run this script: ```\nawait rtcAgent.fs.write('/begun.txt', 'x');\nconsole.log('under way');\n\
     for (;;) await rtcAgent.system.delay(1000)\n```",
];

/// More than a value may have to stand in the database.
const LARGE: usize = 70_000;

/// What a log of the database is made of, in bytes: the zeros after its last row are not kept.
const SEGMENT: u64 = 512 * 1024;

/// The project of the past, for one test at a time; it is removed with this.
struct Past {
    /// Held until the folder is gone; another run of these tests waits for it.
    _alone: File,
}

impl Past {
    fn new(files: &[(&str, &str)]) -> Self {
        let alone = File::create(format!("{PAST}.lock")).expect("the lock is made");
        alone.lock().expect("the lock is taken");
        // One that was killed has left its own.
        let _ = fs::remove_dir_all(PAST);
        fs::create_dir(PAST).expect("the project is made");
        put(Path::new(PAST), files);
        Self { _alone: alone }
    }
}

impl Drop for Past {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(PAST);
    }
}

/// `run ARGS` in the project of the past.
fn command(place: &Workplace, args: &[&str]) -> Command {
    let mut command = place.command(&["run"]);
    command.args(args).args(["--root", PAST]);
    command
}

/// What is kept of the data folder.
fn kept() -> PathBuf {
    repository().join("tests/stores/1")
}

fn copy(from: &Path, to: &Path, names: &[&str]) {
    fs::create_dir_all(to).expect("a folder is made");
    let copied = Command::new("cp")
        .arg("-r")
        .args(names)
        .arg(to)
        .current_dir(from)
        .status();
    assert!(copied.is_ok_and(|status| status.success()), "{names:?}");
}

/// A place with the data folder that an older program left.
fn left() -> Workplace {
    let place = Workplace::empty();
    copy(&kept(), &place.data(), &["identity.json", "store"]);
    let log = File::options().write(true).open(place.data().join("store/db/db"));
    let log = log.expect("the log is opened");
    let kept = log.metadata().expect("it has a length").len();
    log.set_len(kept.next_multiple_of(SEGMENT))
        .expect("its zeros are there again");
    place
}

/// `run ARGS` in the project of the past, and its session afterwards.
fn gone_on(place: &Workplace, id: &str, args: &[&str], answers: &str) -> Value {
    let ended = run(command(place, args), answers.as_bytes());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let session = shown(place, id);
    assert_whole(&session);
    session
}

fn statuses(session: &Value) -> Vec<&str> {
    let turns = session["turns"].as_array().expect("turns");
    turns.iter().filter_map(|turn| turn["status"].as_str()).collect()
}

#[test]
fn what_an_older_program_left_is_there_and_its_turns_go_on() {
    let _past = Past::new(&[("notes.txt", "new\n"), ("begun.txt", "x")]);
    let place = left();
    let ended = run(place.command(&["sessions", "list"]), b"");
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert_eq!(ended.stdout.lines().count(), SAID.len());
    assert!(aside(&place).is_empty(), "{:?}", aside(&place));

    // The one that changed last stands first.
    let sessions = place.sessions();
    let [script, append, read, replace] = &sessions[..] else {
        panic!("{sessions:?}")
    };
    let id = |session: &Value| session["id"].as_str().expect("an id").to_owned();
    let (script, append, read, replace) = (id(script), id(append), id(read), id(replace));
    for (id, said) in [&replace, &read, &append, &script].into_iter().zip(SAID) {
        let session = shown(&place, id);
        let text = &contents(&session, "text")[0];
        assert!(text.as_str().is_some_and(|text| text.starts_with(said)), "{text}");
    }
    assert_eq!(
        [&replace, &read, &append, &script].map(|id| statuses(&shown(&place, id)).join(" ")),
        ["completed", "completed", "interrupted", "interrupted"]
    );
    let large = contents(&shown(&place, &read), "text")[0].to_string();
    assert!(large.len() > LARGE, "{}", large.len());
    insta::assert_snapshot!(results(&shown(&place, &replace)).join("\n"), @"
    find completed: /notes.txt
    grep completed: Found 1 file
    /notes.txt
    read completed:      1	old
    edit completed: path: /notes.txt
    replaced: 1
    diff:
    --- /notes.txt
    +++ /notes.txt
    @@ -1 +1 @@
    -old
    +new
    ");

    // What may have happened is not done again, and what waits for an answer gets it.
    let session = gone_on(&place, &script, &["--continue", "--ask", "deny"], "");
    assert_eq!(statuses(&session), ["completed"]);
    assert!(results(&session)[0].contains("outcome_unknown"), "{session}");
    let session = gone_on(&place, &append, &["--session", &append, "--ask", "prompt"], "y\n");
    assert_eq!(statuses(&session), ["completed"]);
    assert_eq!(notes(), "new\nlater\n");
    // What was allowed for a session still is, for that one alone.
    let more = [
        "append 'more' to notes.txt",
        "--session",
        &replace,
        "--ask",
        "deny",
    ];
    let session = gone_on(&place, &replace, &more, "");
    assert_eq!(statuses(&session), ["completed", "completed"]);
    assert_eq!(notes(), "new\nlater\nmore\n");
    assert_eq!(names(Path::new(PAST)), ["begun.txt", "notes.txt"]);
    assert_eq!(place.sessions().len(), SAID.len());
}

fn notes() -> String {
    fs::read_to_string(Path::new(PAST).join("notes.txt")).expect("the file is there")
}

#[test]
#[ignore = "makes the fixture anew"]
fn the_past_is_made() {
    let place = Workplace::empty();
    let _past = Past::new(&[("notes.txt", "old\n")]);
    // The user allows it for the session.
    let ended = run(
        command(&place, &[SAID[0], "--mode", "manual", "--ask", "prompt"]),
        b"s\n",
    );
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let large = format!("{}\n{}", SAID[1], "and look. ".repeat(LARGE / 10));
    let ended = run(command(&place, &["-"]), large.as_bytes());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for (said, mode, told) in [
        (SAID[2], "manual", "Run it?"),
        (SAID[3], "bypass", "    under way"),
    ] {
        let mut dialogue = Dialogue::start(command(&place, &[said, "--mode", mode, "--ask", "prompt"]));
        dialogue.hear(told);
        dialogue.signal(Signal::SIGKILL);
        dialogue.wait();
    }
    // A clean end, after which the header says how much there is.
    assert_eq!(place.sessions().len(), SAID.len());
    let kept = kept();
    if kept.exists() {
        fs::remove_dir_all(&kept).expect("the store before is removed");
    }
    copy(&place.data(), &kept, &["identity.json"]);
    let store = ["db", "blobs", "store.json"];
    copy(&place.data().join("store"), &kept.join("store"), &store);
}
