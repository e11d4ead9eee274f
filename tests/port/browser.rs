//! A client as RTC Agent's browsers are: a device of its own that executes the calls of its own sessions. It asks nobody
//! for approvals by the protocol, claims nothing, shows a dialog of its own, and hands in what came out.

use rtc_tests::Workplace;
use rtc_tests::model_server::{Answer, Last, ModelServer};
use serde_json::{Value, json};

use crate::follower::{Follower, message};
use rtc_tests::serving::{Serving, token};

const BROWSER: &str = "00000000-0000-4000-8000-00000000000b";
const OTHER: &str = "00000000-0000-4000-8000-00000000000c";

/// A client of this device that knows nothing of approvals.
fn browser(place: &Workplace, serving: &Serving, device: &str) -> Follower {
    let token = token(place, &["--device", device]);
    Follower::connect(serving, &token, json!({}), None)
}

/// What the browser does about the next call that waits for its device: its own dialog says yes, its own code runs.
fn execute(browser: &mut Follower, result: &str) -> Value {
    let call = browser.until(|entity| {
        let is_open = entity["status"] == "pending" || entity["status"] == "sent";
        entity.get("tool_name").is_some() && entity["device_id"] == BROWSER && is_open
    });
    submit(browser, &call["id"], result);
    call
}

fn submit(browser: &mut Follower, call: &Value, result: &str) -> Value {
    let data = json!({"rtc_id": call, "success": true, "result": result});
    browser.action("v1.rtc.submit_result", data)
}

fn with_id(id: &Value) -> impl Fn(&Value) -> bool {
    let id = id.clone();
    move |entity| entity["id"] == id
}

#[test]
fn a_browser_executes_the_calls_of_its_own_sessions_and_nobody_else_does() {
    let place = Workplace::empty();
    std::fs::write(place.root().join("notes.txt"), "the server's\n").expect("a file");
    let read = |id: &str| format!(r#"{{"path":"/{id}.txt"}}"#);
    let model = ModelServer::in_order([
        Answer::reply()
            .call("a", "read", &read("notes"))
            .call("b", "read", &read("more")),
        Answer::reply().call("c", "read", &read("notes")),
        Answer::text("Both are read."),
    ]);
    let serving = Serving::with_model(&place, &model, &[]);
    let mut browser = browser(&place, &serving, BROWSER);
    let mut watcher = Follower::start(&serving, None);
    let sent = browser.rpc("v1.message.send", message("m1", "read the notes"));
    // Its connection has taken the call, and every client is told so.
    let first = watcher.until(|entity| entity["tool_name"] == "read" && entity["status"] == "sent");
    let got = watcher.rpc("v1.rtc.get", json!({"rtc_id": first["id"]}));
    assert_eq!(got["item"]["status"], "sent");
    let mut calls = Vec::new();
    for result in ["the browser's notes", "the browser's other notes"] {
        calls.push(execute(&mut browser, result));
        let call = calls[calls.len() - 1]["id"].clone();
        browser.until(move |entity| entity["id"] == call && entity["status"] == "completed");
    }
    // What fails fails the call, and the model goes on.
    let open = browser.until(|entity| entity.get("tool_name").is_some() && entity["status"] != "completed");
    let failed = json!({"rtc_id": open["id"], "success": false, "error": "the user said no"});
    browser.action("v1.rtc.submit_result", failed);
    for follower in [&mut browser, &mut watcher] {
        follower.turn_is("completed");
        for call in &calls {
            let done = follower.until(with_id(&call["id"]));
            assert_eq!(
                (&done["status"], &done["device_id"]),
                (&json!("completed"), &json!(BROWSER))
            );
            assert_eq!(done["session_id"], sent["session_id"]);
        }
        let done = follower.until(with_id(&open["id"]));
        assert_eq!(
            (&done["status"], &done["error_message"]),
            (&json!("failed"), &json!("the user said no"))
        );
    }
    let session = watcher.rpc("v1.session.get", json!({"session_id": sent["session_id"]}));
    assert_eq!(
        session["item"]["project_id"],
        Value::Null,
        "it has no folder of the server"
    );

    let asked = model.asked();
    assert_eq!(asked.len(), 3);
    let Last::Results(results) = asked[1].last() else {
        panic!("results are told")
    };
    let told: Vec<&str> = results.iter().map(|(_, text)| text.as_str()).collect();
    assert!(
        told[0].contains("the browser's notes") && told[1].contains("the browser's other notes"),
        "{told:?}"
    );
    let all = format!(
        "{:?}",
        asked
            .iter()
            .map(|one| rtc_tests::text(&one.body))
            .collect::<Vec<_>>()
    );
    assert!(!all.contains("the server's"), "the server has read its own file");
}

#[test]
fn a_browser_says_nothing_about_calls_of_other_devices() {
    let place = Workplace::empty();
    let model = ModelServer::in_order([
        Answer::reply().call("a", "read", r#"{"path":"/a.txt"}"#),
        Answer::text("Done."),
        Answer::reply().call("b", "script", r#"{"title":"count","code":"1 + 1"}"#),
    ]);
    let serving = Serving::with_model(&place, &model, &[]);
    let mut mine = browser(&place, &serving, BROWSER);
    let mut other = browser(&place, &serving, OTHER);
    mine.rpc("v1.message.send", message("m1", "read it"));
    let call = other.until(|entity| entity["tool_name"] == "read");
    assert_eq!(call["device_id"], BROWSER, "it is seen, with its device");
    let result = json!({"rtc_id": call["id"], "success": true, "result": "invented"});
    let running = json!({"rtc_id": call["id"], "status": "executing"});
    let before = other.stands_at();
    let mut own = Follower::start(&serving, None);
    for follower in [&mut other, &mut own] {
        assert_eq!(
            follower.refused("v1.rtc.submit_result", result.clone()),
            "auth.permission_denied"
        );
        assert_eq!(
            follower.refused("v1.rtc.update_status", running.clone()),
            "auth.permission_denied"
        );
    }
    assert_ne!(
        own.refused("v1.rtc.run", json!({"rtc_id": call["id"]})),
        "",
        "not run here either"
    );
    assert!(
        other.stands_at() <= before + 1,
        "only that the call was sent is new"
    );
    execute(&mut mine, "one");
    mine.turn_is("completed");

    // Nor about a call of the server's own device.
    own.rpc("v1.message.send", message("m2", "run it"));
    let call = own.until(|entity| entity["tool_name"] == "script" && entity["status"] == "sent");
    let before = own.stands_at();
    let result = json!({"rtc_id": call["id"], "success": true, "result": "invented"});
    assert_eq!(
        mine.refused("v1.rtc.submit_result", result),
        "rtc.not_found",
        "it is not even shown the call, which waits for an answer"
    );
    assert_eq!(own.stands_at(), before);
}

#[test]
fn a_call_that_needs_an_approval_is_hidden_from_a_browser_until_another_client_has_given_it() {
    let place = Workplace::empty();
    let model = ModelServer::in_order([
        Answer::reply().call("a", "script", r#"{"title":"count","code":"1 + 1"}"#),
        Answer::text("It is two."),
    ]);
    let serving = Serving::with_model(&place, &model, &[]);
    let mut browser = browser(&place, &serving, BROWSER);
    let mut approver = Follower::start(&serving, None);
    let sent = browser.rpc("v1.message.send", message("m1", "count"));
    let call = approver.until(|entity| entity["approval"]["state"] == "open");
    assert_eq!(call["device_id"], BROWSER);
    // It has heard of everything up to here: of the call's message, and not of the call.
    browser.reach(approver.position.0);
    let knows = |browser: &Follower| {
        browser
            .entities
            .values()
            .any(|entity| entity["tool_name"] == "script")
    };
    assert!(!knows(&browser));
    let list = json!({"session_id": sent["session_id"]});
    assert_eq!(
        browser.rpc("v1.rtc.list", list.clone())["items"],
        json!([]),
        "nor does it find it"
    );
    assert_eq!(
        browser.refused("v1.rtc.get", json!({"rtc_id": call["id"]})),
        "rtc.not_found"
    );
    assert_eq!(approver.rpc("v1.rtc.list", list)["items"][0]["id"], call["id"]);
    let before = approver.stands_at();
    let early = json!({"rtc_id": call["id"], "success": true, "result": 2});
    assert_eq!(browser.refused("v1.rtc.submit_result", early), "rtc.not_found");
    let running = json!({"rtc_id": call["id"], "status": "executing"});
    assert_eq!(browser.refused("v1.rtc.update_status", running), "rtc.not_found");
    assert_eq!(
        browser.refused("v1.rtc.preview", json!({"rtc_id": call["id"]})),
        "rtc.not_found"
    );
    assert_eq!(approver.stands_at(), before);

    approver.rpc(
        "v1.rtc.approve",
        json!({"rtc_id": call["id"], "decision": "once"}),
    );
    let seen = execute(&mut browser, "2");
    assert_eq!(seen["id"], call["id"]);
    assert_eq!(seen["approval"]["state"], "approved");
    browser.turn_is("completed");
    approver.turn_is("completed");
    let Last::Results(results) = model.asked()[1].last() else {
        panic!("a result is told")
    };
    assert_eq!(results.len(), 1);
}

#[test]
fn a_result_that_is_handed_in_twice_counts_once() {
    let place = Workplace::empty();
    let model = ModelServer::in_order([
        Answer::reply().call("a", "read", r#"{"path":"/a.txt"}"#),
        Answer::text("Done."),
    ]);
    let serving = Serving::with_model(&place, &model, &[]);
    let mut browser = browser(&place, &serving, BROWSER);
    browser.rpc("v1.message.send", message("m1", "read it"));
    let call = browser.until(|entity| entity["tool_name"] == "read");
    let first = submit(&mut browser, &call["id"], "the first");
    let items = first["updates"][0]["items"].as_array().expect("items");
    assert!(
        items.iter().any(|item| item["entity_id"] == call["id"]),
        "{first}"
    );
    browser.turn_is("completed");
    let stands = browser.stands_at();
    for result in ["the first", "another"] {
        // Whoever does not know how it ended is told, outside of the stream.
        let again = submit(&mut browser, &call["id"], result);
        assert_eq!(again["result"], json!({"success": true}));
        let told = &again["updates"][0];
        assert_eq!(
            (&told["offset"], &told["data_list"][0]["result"]),
            (&json!(0), &json!("the first"))
        );
    }
    let own = json!({"rtc_id": call["id"], "success": false, "error": "no", "client_id": call["client_id"]});
    assert_eq!(browser.action("v1.rtc.submit_result", own).get("updates"), None);
    assert_eq!(browser.stands_at(), stands, "nothing was changed");
    assert_eq!(model.asked().len(), 2, "the model was asked once more, not twice");
}

#[test]
fn a_browser_that_is_trusted_to_asks_its_user_itself_about_its_own_calls_alone() {
    let place = Workplace::empty();
    let script = || Answer::reply().call("a", "script", r#"{"title":"count","code":"1 + 1"}"#);
    let model = ModelServer::in_order([script(), Answer::text("It is two."), script()]);
    let serving = Serving::with_model(&place, &model, &["--client-approves"]);
    let mut browser = browser(&place, &serving, BROWSER);
    let mut approver = Follower::start(&serving, None);
    browser.rpc("v1.message.send", message("m1", "count"));
    let call = execute(&mut browser, "2");
    assert_eq!(
        call["approval"]["state"], "open",
        "it is told of it before anybody said yes"
    );
    browser.turn_is("completed");
    let done = approver.until(|entity| entity["id"] == call["id"] && entity["status"] == "completed");
    assert_eq!(
        (&done["approval"]["state"], &done["approval"]["decided_by"]),
        (&json!("approved"), &json!(BROWSER))
    );

    // What runs on the serving machine is asked about as ever.
    approver.rpc("v1.message.send", message("m2", "count here"));
    let here = approver.until(|entity| entity["approval"]["state"] == "open" && entity["status"] == "sent");
    browser.reach(approver.position.0);
    assert_eq!(
        browser.refused("v1.rtc.get", json!({"rtc_id": here["id"]})),
        "rtc.not_found"
    );
    let own = token(&place, &[]);
    let mut silent = Follower::connect(&serving, &own, json!({}), None);
    for method in ["v1.rtc.get", "v1.rtc.preview", "v1.rtc.claim"] {
        assert_eq!(
            silent.refused(method, json!({"rtc_id": here["id"]})),
            "rtc.not_found"
        );
    }
}
