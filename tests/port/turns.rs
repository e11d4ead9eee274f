//! Whole turns over the port: what one client asks, what every client hears, what is there after a restart.

use rtc_tests::Workplace;
use rtc_tests::serving::Serving;
use serde_json::{Value, json};

use crate::follower::{Follower, message};

#[test]
fn a_turn_is_heard_by_every_client_and_by_whoever_comes_later() {
    let place = Workplace::empty();
    std::fs::write(place.root().join("notes.txt"), "buy chalk\n").expect("a file");
    let serving = Serving::start(&place, &[]);
    let mut sender = Follower::start(&serving, None);
    let mut watcher = Follower::start(&serving, None);
    let sent = sender.rpc("v1.message.send", message("m1", "read notes.txt"));
    for follower in [&mut sender, &mut watcher] {
        follower.turn_is("completed");
        let call = follower.until(|entity| entity["tool_name"] == "read" && entity["status"] == "completed");
        assert_eq!(call["session_id"], sent["session_id"]);
    }
    let list = json!({"session_id": sent["session_id"]});
    let messages = watcher.rpc("v1.message.list", list.clone());
    assert!(messages.to_string().contains("buy chalk"), "{messages}");
    let calls = watcher.rpc("v1.rtc.list", list);
    assert_eq!(calls["items"][0]["tool_name"], "read");

    // Missed: half of it, and a restart.
    let (offset, epoch) = sender.position.clone();
    assert_eq!(serving.stop().code, Some(0));
    let serving = Serving::start(&place, &[]);
    let late = Follower::start(&serving, Some((offset / 2, epoch)));
    assert_eq!(late.position, sender.position);
    for (id, entity) in &late.entities {
        assert_eq!(Some(entity), sender.entities.get(id), "{id}");
    }
}

#[test]
fn an_approval_is_answered_by_any_client_once() {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let mut asker = Follower::start(&serving, None);
    let sent = asker.rpc("v1.message.send", message("m1", "run this script: `1 + 1`"));
    let waits = |entity: &Value| entity["approval"]["state"] == "open";
    let call = asker.until(waits);
    assert!(
        call["preview"]["text"]
            .as_str()
            .is_some_and(|code| code.contains("1 + 1"))
    );
    // It is still there for whoever comes now, also after a restart.
    assert_eq!(serving.stop().code, Some(0));
    let serving = Serving::start(&place, &[]);
    let mut other = Follower::start(&serving, Some((0, asker.position.1.clone())));
    let mut third = Follower::start(&serving, Some(asker.position.clone()));
    let call = other.until(waits);
    let answer = json!({"rtc_id": call["id"], "decision": "once"});
    other.rpc("v1.rtc.approve", answer.clone());
    for follower in [&mut other, &mut third] {
        let id = call["id"].clone();
        let done = follower.until(|entity| entity["id"] == id && entity["status"] == "completed");
        assert_eq!(done["approval"]["state"], "approved");
        assert!(done["approval"]["decided_by"].is_string(), "who answered is told");
    }
    let no = json!({"rpc": {"method": "v1.rtc.approve", "data": {"rtc_id": call["id"], "decision": "reject"}}, "id": 99});
    let late = third.client.ask(no);
    let told = late["error"]["message"].as_str().expect("a refusal");
    assert!(told.starts_with("approval.closed"), "{told}");
    third.turn_is("completed");
    let got = third.rpc("v1.session.get", json!({"session_id": sent["session_id"]}));
    assert_eq!(got["item"]["status"], "idle");
}
