//! Calls as clients look at them, run them, and decide on them.

use nix::sys::signal::Signal;
use rtc_tests::Workplace;
use rtc_tests::model_server::{Answer, ModelServer};
use rtc_tests::serving::{Serving, token};
use serde_json::{Value, json};

use crate::follower::{Follower, message};

const BROWSER: &str = "00000000-0000-4000-8000-00000000000b";

fn script(code: &str) -> Answer {
    Answer::reply().call(
        "a",
        "script",
        &json!({"title": "count", "code": code}).to_string(),
    )
}

fn waits(entity: &Value) -> bool {
    entity["approval"]["state"] == "open"
}

#[test]
fn a_call_is_previewed_approved_and_run_once_whoever_runs_it() {
    let place = Workplace::empty();
    let model = ModelServer::in_order([
        script("await rtcAgent.system.delay({ms: 300}); 1 + 1"),
        Answer::text("It is two."),
    ]);
    let serving = Serving::with_model(&place, &model, &[]);
    let mut first = Follower::start(&serving, None);
    let mut second = Follower::start(&serving, None);
    first.rpc("v1.message.send", message("m1", "count"));
    let call = first.until(waits);
    let of = json!({"rtc_id": call["id"]});
    let shown = first.rpc("v1.rtc.preview", of.clone());
    assert_eq!(shown["preview"], call["preview"]);
    assert!(
        shown["preview"]["text"]
            .as_str()
            .is_some_and(|text| text.contains("1 + 1")),
        "{shown}"
    );
    assert_eq!(first.refused("v1.rtc.run", of.clone()), "approval.required");
    first.rpc(
        "v1.rtc.approve",
        json!({"rtc_id": call["id"], "decision": "once"}),
    );
    // Both join the run that is under way, and so does who comes when it has ended.
    let both = std::thread::scope(|scope| {
        let runs = [&mut first, &mut second].map(|follower| {
            let of = of.clone();
            scope.spawn(move || follower.rpc("v1.rtc.run", of))
        });
        runs.map(|run| run.join().expect("it is run"))
    });
    let late = first.rpc("v1.rtc.run", of.clone());
    for ran in both.iter().chain([&late]) {
        assert_eq!(
            (&ran["rtc_id"], &ran["status"]),
            (&call["id"], &json!("completed"))
        );
        assert!(ran["digest"].is_string());
        assert_eq!(*ran, late);
    }
    let got = second.rpc("v1.rtc.get", of)["item"].take();
    assert_eq!(got["attempt"], 1, "it was run once");
    first.turn_is("completed");
    assert_eq!(model.asked().len(), 2);
}

#[test]
fn the_user_decides_on_a_call_of_which_nobody_knows_how_it_ended() {
    // It ends when there is a file of this name.
    let code = "while (!JSON.stringify(await rtcAgent.fs.ls('/')).includes('go-on')) {
  await rtcAgent.system.delay(50);
}
1 + 1";
    let table = [
        ("done", "completed", 1),
        ("tell", "failed", 1),
        ("retry", "completed", 2),
    ];
    for (decision, status, attempt) in table {
        let place = Workplace::empty();
        let model = ModelServer::in_order([script(code), Answer::text("I know.")]);
        let serving = Serving::with_model(&place, &model, &[]);
        let mut follower = Follower::start(&serving, None);
        follower.rpc("v1.message.send", message("m1", "count"));
        let call = follower.until(waits);
        follower.rpc(
            "v1.rtc.approve",
            json!({"rtc_id": call["id"], "decision": "once"}),
        );
        follower.until(|entity| entity["tool_name"] == "script" && entity["status"] == "executing");
        let position = follower.position.clone();
        serving.signal(Signal::SIGKILL);
        serving.end();
        let serving = Serving::with_model(&place, &model, &[]);
        let mut follower = Follower::start(&serving, Some(position));
        let unknown = follower.until(|entity| entity["outcome"] == "unknown");
        assert_eq!(unknown["id"], call["id"]);
        let of = json!({"rtc_id": call["id"]});
        assert_eq!(follower.refused("v1.rtc.run", of), "outcome_unknown");
        std::fs::write(place.root().join("go-on"), "").expect("a file");
        let resolve = json!({"rtc_id": call["id"], "decision": decision});
        assert_eq!(
            follower.rpc("v1.rtc.resolve", resolve.clone()),
            json!({"success": true})
        );
        let ended = follower.until(|entity| entity["id"] == call["id"] && entity["status"] == status);
        assert_eq!(ended.get("outcome"), None);
        assert_eq!(ended["attempt"], attempt, "{decision}");
        follower.turn_is("completed");
        assert_eq!(follower.refused("v1.rtc.resolve", resolve), "rtc.invalid_state");
        assert_eq!(model.asked().len(), 2, "{decision}");
    }
}

#[test]
fn a_result_that_is_nested_too_deeply_is_refused_and_the_connection_lives() {
    let place = Workplace::empty();
    let model = ModelServer::in_order([
        Answer::reply().call("a", "read", r#"{"path":"/a.txt"}"#),
        Answer::text("Done."),
    ]);
    let serving = Serving::with_model(&place, &model, &[]);
    let token = token(&place, &["--device", BROWSER]);
    let mut browser = Follower::connect(&serving, &token, json!({}), None);
    browser.rpc("v1.message.send", message("m1", "read it"));
    let call = browser.until(|entity| entity["tool_name"] == "read");
    let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let submit = |levels: usize| json!({"rtc_id": call["id"], "success": true, "result": nested(levels)});
    for levels in [62, 100, 120] {
        assert_eq!(
            browser.refused("v1.rtc.submit_result", submit(levels)),
            "rtc.invalid_result"
        );
        let get = json!({"session_id": nested(levels)});
        assert_eq!(browser.refused("v1.session.get", get), "rpc.invalid_argument");
    }
    browser.rpc("v1.rtc.submit_result", submit(61));
    browser.turn_is("completed");
    let done = browser.rpc("v1.rtc.get", json!({"rtc_id": call["id"]}));
    assert_eq!(done["item"]["result"], nested(61));
}
