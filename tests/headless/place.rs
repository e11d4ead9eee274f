//! What the tests of this package do with a place: files, runs, and what a session holds afterwards.

use std::path::Path;
use std::process::Command;

use rtc_tests::Workplace;
use serde_json::Value;

use rtc_tests::dialogue::{Ended, run};

/// A place whose project has these files.
pub(crate) fn project(files: &[(&str, &str)]) -> Workplace {
    let place = Workplace::empty();
    put(&place.root(), files);
    place
}

/// Writes files beneath a folder.
pub(crate) fn put(folder: &Path, files: &[(&str, &str)]) {
    for (name, content) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("a folder is made");
        std::fs::write(path, content).expect("a file is written");
    }
}

/// `run REQUEST --root ROOT ARGS`, not yet started.
pub(crate) fn request(place: &Workplace, request: &str, args: &[&str]) -> Command {
    let mut command = place.command(&["run", request]);
    command.arg("--root").arg(place.root()).args(args);
    command
}

/// Runs a request whose user types `answers`.
pub(crate) fn ask(place: &Workplace, text: &str, args: &[&str], answers: &str) -> Ended {
    let mut command = request(place, text, args);
    command.args(["--ask", "prompt"]);
    run(command, answers.as_bytes())
}

/// Runs a request with nobody there.
pub(crate) fn alone(place: &Workplace, text: &str, args: &[&str]) -> Ended {
    run(request(place, text, args), b"")
}

/// A file of the project.
pub(crate) fn content(place: &Workplace, name: &str) -> String {
    std::fs::read_to_string(place.root().join(name)).expect("the file is there")
}

/// `sessions show ID --output json`.
pub(crate) fn shown(place: &Workplace, id: &str) -> Value {
    let ended = run(place.command(&["sessions", "show", id, "--output", "json"]), b"");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    serde_json::from_str(&ended.stdout).expect("a session as JSON")
}

/// The id of the session that changed last.
pub(crate) fn last_id(place: &Workplace) -> String {
    place.sessions()[0]["id"].as_str().expect("an id").to_owned()
}

/// The contents of a session's messages of a kind, in order.
pub(crate) fn contents(session: &Value, kind: &str) -> Vec<Value> {
    let messages = session["messages"].as_array().expect("messages");
    let parsed = messages.iter().map(|message| -> Value {
        serde_json::from_str(message["content"].as_str().expect("a text")).expect("content is JSON")
    });
    parsed
        .filter(|content| content["type"] == kind)
        .map(|content| content["data"].clone())
        .collect()
}

/// `tool status: what the model read`, a line for each call of a session.
pub(crate) fn results(session: &Value) -> Vec<String> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let line = |call: &Value| {
        format!(
            "{} {}: {}",
            word(&call["tool_name"]),
            word(&call["status"]),
            word(&call["output"])
        )
    };
    contents(session, "toolcall_output").iter().map(line).collect()
}

/// A text with the place's folder replaced, for snapshots.
pub(crate) fn tidy(place: &Workplace, text: &str) -> String {
    text.replace(&place.path().display().to_string(), "PLACE")
}

/// Names of files in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}
