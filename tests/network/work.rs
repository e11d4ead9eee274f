//! What is done while somebody looks: a request with calls, one of them a script that is asked about.

use std::path::Path;
use std::process::Command;

use rtc_tests::dialogue::Dialogue;
use rtc_tests::model_server::{Answer, Dialect, Last, ModelServer};
use rtc_tests::{Workplace, assert_whole};
use serde_json::json;

/// What is asked of the scripted model.
pub(crate) const REQUEST: &str = "Where do the notes say colour?";
/// What it says in the end.
pub(crate) const ANSWER: &str = "There are two places in the notes.";
/// Names hosts that are never to be asked.
const CODE: &str = "const hits = await rtcAgent.fs.grep('colour');
console.log(hits.length);
await import('https://code.example/module.js').then(() => 'fetched', () => 'refused');";

/// A project with notes.
pub(crate) fn place(binary: &Path) -> Workplace {
    let place = Workplace::of_binary(binary, &std::env::temp_dir()).expect("a temporary folder");
    for (name, text) in [("visit.txt", "a warm colour\n"), ("changes.txt", "any colour\n")] {
        std::fs::write(place.root().join(name), text).expect("a file is written");
    }
    place
}

/// A model that reads, calls a script, and shows a picture that is never fetched.
pub(crate) fn model() -> ModelServer {
    let grep = json!({"pattern": "colour", "path": "/", "output_mode": "content"});
    let script = json!({"title": "Count the places", "code": CODE});
    ModelServer::in_order([
        Answer::reply()
            .say("I look for it.")
            .call("look-1", "grep", &grep.to_string())
            .call("look-2", "read", &json!({"path": "/visit.txt"}).to_string()),
        Answer::reply().call("count", "script", &script.to_string()),
        Answer::text(&format!(
            "{ANSWER} ![a picture](https://picture.example/pixel.png)"
        )),
    ])
}

/// Chooses a scripted model.
pub(crate) fn ask_of(command: &mut Command, model: &ModelServer) {
    command
        .args(["--model", "openai/scripted"])
        .env("OPENAI_BASE_URL", model.base_url(Dialect::Chat))
        .env("OPENAI_API_KEY", "of-a-test");
}

/// `run` of a request, not yet started.
pub(crate) fn run(place: &Workplace, request: &str) -> Command {
    let mut command = place.command(&["run", request]);
    command
        .arg("--root")
        .arg(place.root())
        .args(["--mode", "edit", "--ask", "prompt"]);
    command
}

/// `serve`, not yet started.
pub(crate) fn serve(place: &Workplace) -> Command {
    let mut command = place.command(&["serve"]);
    command.arg("--root").arg(place.root());
    command
}

/// Answers what the terminal asks about the script, and gives what is said in the end and the number of the process.
pub(crate) fn answer(command: Command) -> (String, u32) {
    let mut dialogue = Dialogue::start(command);
    let process = dialogue.id();
    dialogue.hear("Run it?");
    dialogue.say("y");
    let ended = dialogue.finish();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    (ended.stdout, process)
}

/// That the scripted model's whole turn has happened, and its script has reached nobody.
pub(crate) fn assert_done(place: &Workplace, model: &ModelServer) {
    let asked = model.asked();
    assert_eq!(asked.len(), 3);
    let Last::Results(results) = asked[2].last() else {
        panic!("results are told")
    };
    assert!(results[0].1.starts_with("result: refused\n"), "{results:?}");
    let session = place.last_session();
    assert_whole(&session);
    let rtcs = session["rtcs"].as_array().expect("calls");
    let done = rtcs.iter().filter(|rtc| rtc["status"] == "completed").count();
    assert_eq!(done, 3, "{rtcs:#?}");
}
