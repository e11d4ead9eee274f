//! The window with the network cut off: it contacts nobody but the model's host, and works without any network.

use std::path::Path;

use rtc_tests::contacts::{STRACE, Trace};
use rtc_tests::cut_off::cut_off;
use rtc_tests::model_server::{Answer, Asked};
use serde_json::json;

use crate::desk::{BINARY, Desk};
use crate::program::Program;

/// Names hosts that are never to be asked.
const CODE: &str = "const hits = await rtcAgent.fs.grep('colour');
console.log(hits.length);
await import('https://code.example/module.js').then(() => 'fetched', () => 'refused');";

/// What the model says in the end; the picture is never fetched.
const ANSWER: &str = "There are places in the notes. ![a picture](https://picture.example/pixel.png)";

/// Reads, calls a script, which is asked about, and answers.
fn answer(asked: &Asked) -> Answer {
    match asked.number {
        0 => Answer::reply().call(
            "look",
            "grep",
            &json!({"pattern": "colour", "path": "/docs"}).to_string(),
        ),
        1 => {
            let script = json!({"title": "Count the places", "code": CODE});
            Answer::reply().call("count", "script", &script.to_string())
        }
        _ => Answer::text(ANSWER),
    }
}

/// Works in a window, from its start to its end.
fn work(desk: &Desk, program: Program<'_>) {
    let page = program.page();
    page.click("Trust this folder");
    page.say("Where do the notes say colour?");
    page.click("Allow once");
    page.see("There are places in the notes.");
    page.idle();
    page.reload();
    page.see("There are places in the notes.");
    // What the page itself may reach: nothing.
    let fetched = page.value("fetch('http://127.0.0.1:9/').then(() => 'reached', () => 'refused')");
    assert_eq!(fetched, "refused");
    page.quit();
    assert_eq!(program.close().code, Some(0));
    let record = desk.record();
    assert_eq!(
        (Desk::done(&record, "grep"), Desk::done(&record, "script")),
        (1, 1)
    );
    assert_eq!(desk.model.asked().len(), 3);
}

#[test]
fn the_window_contacts_the_model_and_nobody_else() {
    if !Trace::is_possible() {
        return;
    }
    let desk = Desk::with_model("edit", answer);
    let file = desk.place.path().join("contacts.txt");
    let mut command = desk.screen.command(STRACE);
    command
        .args(Trace::options(&file))
        .arg(BINARY)
        .args(desk.options())
        .arg(desk.place.root());
    let program = Program::start(&desk.screen, command);
    let (process, inspector) = (program.id(), program.inspector());
    work(&desk, program);
    let trace = Trace::read(&file, process);
    for started in ["script-worker", "WebKitNetworkProcess", "WebKitWebProcess"] {
        assert!(trace.has_started(started), "{started} is not seen");
    }
    trace.assert_only(&[desk.model.address(), inspector]);
}

#[test]
fn the_window_works_without_a_network() {
    cut_off(
        "network::the_window_works_without_a_network",
        Path::new(BINARY),
        |_| {
            let desk = Desk::with_model("edit", answer);
            work(&desk, desk.open());
        },
    );
}
