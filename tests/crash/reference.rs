//! The scripted conversation, what it comes to when nobody kills it, and the judge of one that was killed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rtc_tests::{Ended, Workplace, assert_whole, finish, text, watch};
use serde_json::Value;

use crate::point::{Counts, Point};

/// Each change would show if it were made twice.
pub(crate) const REQUEST: &str = "list the files in docs, search for price in shop, read config.json, \
    replace colour by colourcolour in web/app.js, replace mixer by mixermixer in README.md, \
    replace 0 by 00 in docs/changes.txt, append \"paint it twice\" to logs/tins.log, \
    create notes/todo.txt with \"buy chalk\"";

/// How many changes it makes.
pub(crate) const CHANGES: usize = 5;

/// What is left of a run that nobody killed.
pub(crate) struct Reference {
    /// The project.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// The conversation and the calls.
    pub(crate) conversation: String,
    /// How often each point was passed.
    pub(crate) counts: Counts,
}

/// A project for the conversation.
pub(crate) fn workplace() -> Workplace {
    let place = Workplace::sample();
    // An empty last line cannot be singled out for an edit, so this one is appended to by `write`.
    std::fs::write(place.root().join("logs/tins.log"), "\n").expect("the project can be written");
    place
}

/// The arguments of the first run.
pub(crate) fn first(place: &Workplace) -> Vec<String> {
    arguments(place, &["run", REQUEST, "--mode", "bypass"])
}

/// The arguments of a run that goes on.
pub(crate) fn further(place: &Workplace) -> Vec<String> {
    arguments(place, &["run", "--continue"])
}

fn arguments(place: &Workplace, command: &[&str]) -> Vec<String> {
    let root = place
        .root()
        .to_str()
        .expect("a temporary path is Unicode")
        .to_owned();
    let further = ["--ask", "deny", "--root", &root];
    command
        .iter()
        .chain(&further)
        .map(|&word| word.to_owned())
        .collect()
}

/// As a command takes them.
pub(crate) fn words(arguments: &[String]) -> Vec<&str> {
    arguments.iter().map(String::as_str).collect()
}

/// Runs a command to its end or until `kill` says so, and counts the points that it passed.
pub(crate) fn watched(
    place: &Workplace,
    arguments: &[String],
    mut kill: impl FnMut(Point, usize) -> bool,
) -> (Ended, Counts) {
    let mut counts = Counts::new();
    let ended = watch(place.traceable(&words(arguments)), |call| {
        Point::of(call, place).is_some_and(|point| {
            let count = counts.entry(point).or_default();
            *count += 1;
            kill(point, *count)
        })
    });
    (ended.expect("processes can be traced here: it was tried"), counts)
}

impl Reference {
    /// Runs the conversation without a kill.
    pub(crate) fn new() -> Self {
        let place = workplace();
        let before = place.files();
        let (ended, counts) = watched(&place, &first(&place), |_, _| false);
        assert_eq!(ended, Ended::Exited(0));
        let shown = place.last_session();
        assert_whole(&shown);
        let files = place.files();
        let changed = files
            .iter()
            .filter(|(name, bytes)| before.get(*name) != Some(bytes))
            .count();
        assert_eq!(changed, CHANGES, "the script does what it is for");
        Self {
            files,
            conversation: conversation(&place, &shown),
            counts,
        }
    }

    /// Goes on after a kill until nothing is open, and compares with what should have come of it. `sent`: whether
    /// the message was acknowledged before the kill.
    pub(crate) fn judge(&self, place: &Workplace, sent: bool) {
        let went_on = finish(place.command(&words(&further(place))));
        if went_on.status.code() == Some(2) && !sent && place.sessions().is_empty() {
            let told = text(&went_on.stderr);
            assert!(told.contains("there is no session to continue"), "{told}");
            let again = finish(place.command(&words(&first(place))));
            assert!(again.status.success(), "a new run: {}", text(&again.stderr));
        } else {
            assert!(
                went_on.status.success(),
                "{}: {}",
                went_on.status,
                text(&went_on.stderr)
            );
        }
        let shown = place.last_session();
        assert_eq!(place.sessions().len(), 1, "sessions");
        assert_whole(&shown);
        assert_same(&conversation(place, &shown), &self.conversation);
        let files = place.files();
        let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&files), names(&self.files), "the files of the project");
        for (name, bytes) in &files {
            assert_same(&text(bytes), &text(&self.files[name]));
            assert_eq!(bytes, &self.files[name], "{name}");
        }
    }
}

/// Shows the first difference rather than both texts.
#[track_caller]
pub(crate) fn assert_same(found: &str, expected: &str) {
    let lines = found.lines().zip(expected.lines()).enumerate();
    if let Some((number, (found, expected))) = lines.into_iter().find(|(_, (one, other))| one != other) {
        panic!("line {} is\n  {found}\ninstead of\n  {expected}", number + 1);
    }
    assert_eq!(
        found.lines().count(),
        expected.lines().count(),
        "lines of\n{found}"
    );
}

/// What is told of how long a script took.
const DURATION: &str = "duration_ms";

/// Without how long a script took.
pub(crate) fn timeless(told: &str) -> String {
    let mut parts = told.split(DURATION);
    let mut all = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let number = part.trim_start_matches(['"', '\\', ':', ' ']);
        let rest = number.trim_start_matches(|one: char| one.is_ascii_digit());
        all.extend([DURATION, &part[..part.len() - number.len()], rest]);
    }
    all
}

#[test]
fn how_long_it_took_is_left_out_and_nothing_else() {
    let told = r#"3 x duration_ms: 567","y":4} \"duration_ms\":12, 5 "duration_ms":null 6"#;
    let left = r#"3 x duration_ms: ","y":4} \"duration_ms\":, 5 "duration_ms":null 6"#;
    assert_eq!(timeless(told), left);
}

/// The conversation and its calls as text, without what differs from run to run: ids, times, attempts. What a model
/// had begun to say when it was cut off is provisional, and left out.
pub(crate) fn conversation(place: &Workplace, shown: &Value) -> String {
    let mut lines = String::new();
    let mut line = |text: String| writeln!(lines, "{text}").expect("a string takes it");
    let list = |name: &str| shown[name].as_array().cloned().unwrap_or_default();
    let session = &shown["session"];
    line(format!(
        "session {} {} {}",
        session["title"], session["status"], session["mode"]
    ));
    for turn in list("turns") {
        line(format!("turn {} {}", turn["status"], turn["error_message"]));
    }
    for message in list("messages") {
        let content = message["content"].as_str().unwrap_or_default();
        if message["streaming_status"] != "failed" {
            line(format!(
                "{} {} {content}",
                message["role"], message["streaming_status"]
            ));
        }
    }
    for rtc in list("rtcs") {
        let fields = [
            "tool_name",
            "parameters",
            "status",
            "approval",
            "outcome",
            "effect",
            "result",
            "error_message",
        ];
        let mut rtc = rtc;
        // When a Yes was given, and as which device, differs.
        if let Some(approval) = rtc["approval"].as_object_mut() {
            approval.retain(|name, _| !name.starts_with("decided_"));
        }
        let values = fields.map(|field| format!("{field}={}", rtc[field]));
        let kept = kept(place, rtc["id"].as_str().unwrap_or_default());
        line(format!("call {} old contents kept: {kept}", values.join(" ")));
    }
    timeless(&lines)
}

/// How many old contents a call has kept for an undo.
fn kept(place: &Workplace, rtc: &str) -> usize {
    let Ok(entries) = std::fs::read_dir(place.data().join("pre-images").join(rtc)) else {
        return 0;
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.ends_with(".image")).count()
}
