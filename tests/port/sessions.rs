//! Sessions of other devices, copies and cleared histories over the port, restarts included.

use rtc_tests::Workplace;
use rtc_tests::serving::{Serving, token};
use serde_json::{Value, json};

use crate::client::{Client, code, result};

const DEVICE: &str = "0198c0de-0000-7000-8000-0000000000d9";

fn message(id: &str, text: &str, session: Option<&Value>) -> Value {
    let mut message = json!({
        "client_session_id": "s", "client_id": id, "content_data": {"type": "text", "data": text},
    });
    if let Some(session) = session {
        message["server_session_id"] = session.clone();
    }
    message
}

/// The messages of a session once nothing goes on in it.
fn settled(client: &mut Client, session: &Value) -> Vec<Value> {
    loop {
        // In this order: what waits no more is in a turn by now.
        let mut messages = result(client, "v1.message.list", json!({ "session_id": session }));
        let turns = result(client, "v1.turn.list", json!({ "session_id": session }));
        let turns = turns["items"].as_array().expect("turns").clone();
        let waits = |message: &Value| message["streaming_status"] == "pending";
        let waits = messages["items"].as_array().expect("messages").iter().any(waits);
        let is_over = |turn: &Value| {
            ["completed", "cancelled", "failed"]
                .iter()
                .any(|s| turn["status"] == *s)
        };
        if !turns.is_empty() && turns.iter().all(is_over) && !waits {
            messages = result(client, "v1.message.list", json!({ "session_id": session }));
            return messages["items"].as_array().expect("messages").clone();
        }
    }
}

#[test]
fn a_device_of_its_own_claims_the_calls_of_its_sessions() {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let own = token(&place, &["--device", DEVICE]);
    let mut client = Client::connected(serving.port(), &own);
    let sent = result(
        &mut client,
        "v1.message.send",
        message("m", "read notes.txt", None),
    );
    let rtc = loop {
        let listed = result(
            &mut client,
            "v1.rtc.list",
            json!({"session_id": sent["session_id"]}),
        );
        if let Some(rtc) = listed["items"].get(0) {
            break rtc.clone();
        }
    };
    assert_eq!(
        (&rtc["tool_name"], &rtc["device_id"]),
        (&json!("read"), &json!(DEVICE))
    );
    let of = json!({"rtc_id": rtc["id"]});
    let claimed = result(&mut client, "v1.rtc.claim", of.clone());
    assert_eq!(
        (&claimed["tool"], &claimed["parameters"]),
        (&json!("read"), &rtc["parameters"])
    );
    assert!(claimed["lease_until"].is_string());
    assert_eq!(claimed["attempt"], 1);
    // Neither another window, nor the server's device.
    let mut window = Client::connected(serving.port(), &own);
    assert_eq!(
        code(&mut window, "v1.rtc.claim", of.clone()),
        "rtc.already_claimed"
    );
    let mut server = Client::connected(serving.port(), serving.token());
    for method in ["v1.rtc.claim", "v1.rtc.renew"] {
        assert_eq!(
            code(&mut server, method, of.clone()),
            "auth.permission_denied",
            "{method}"
        );
    }
    assert_eq!(code(&mut server, "v1.rtc.run", of.clone()), "rtc.already_claimed");
    // The claim lives over a restart, and its device goes on.
    assert_eq!(serving.stop().code, Some(0));
    let serving = Serving::start(&place, &[]);
    let mut window = Client::connected(serving.port(), &own);
    assert_eq!(
        code(&mut window, "v1.rtc.claim", of.clone()),
        "rtc.already_claimed"
    );
    assert_eq!(
        code(&mut window, "v1.rtc.renew", of.clone()),
        "rtc.already_claimed",
        "it does not say that it is the one"
    );
    let again = json!({"rtc_id": rtc["id"], "attempt": claimed["attempt"]});
    assert!(result(&mut window, "v1.rtc.renew", again)["lease_until"].is_string());
    let submit = json!({"rtc_id": rtc["id"], "success": true, "result": "     1\tchalk"});
    result(&mut window, "v1.rtc.submit_result", submit);
    let messages = settled(&mut window, &sent["session_id"]);
    assert!(json!(messages).to_string().contains("chalk"));
    assert_eq!(code(&mut window, "v1.rtc.renew", of), "rtc.invalid_state");
}

#[test]
fn a_copy_and_a_cleared_history_are_there_after_a_restart() {
    let place = Workplace::empty();
    std::fs::write(place.root().join("notes.txt"), "chalk\n").expect("a file");
    let serving = Serving::start(&place, &[]);
    let mut client = Client::connected(serving.port(), serving.token());
    let sent = result(
        &mut client,
        "v1.message.send",
        message("m1", "read notes.txt", None),
    );
    let session = sent["session_id"].clone();
    settled(&mut client, &session);
    let second = result(
        &mut client,
        "v1.message.send",
        message("m2", "list the files", Some(&session)),
    );
    let old = settled(&mut client, &session);
    let fork = json!({
        "old_server_session_id": session, "old_server_message_id": second["message_id"],
        "new_client_session_id": "copy", "new_client_message_id": "m3",
        "content_data": {"type": "text", "data": "find *.txt"},
    });
    let forked = result(&mut client, "v1.session.fork", fork.clone());
    result(&mut client, "v1.history.clear", json!({ "session_id": session }));
    assert_eq!(serving.stop().code, Some(0));
    let serving = Serving::start(&place, &[]);
    let mut client = Client::connected(serving.port(), serving.token());
    assert_eq!(result(&mut client, "v1.session.fork", fork), forked);
    // Whatever went on in it goes on when it is turned to.
    let rename = json!({"session_id": forked["session_id"], "title": "copy"});
    result(&mut client, "v1.session.update", rename);
    let copy = settled(&mut client, &forked["session_id"]);
    let contents = |messages: &[Value]| -> Vec<Value> {
        messages
            .iter()
            .map(|message| message["content"].clone())
            .collect()
    };
    let before = old
        .iter()
        .position(|message| message["id"] == second["message_id"])
        .expect("it is there");
    assert_eq!(contents(&copy)[..before], contents(&old)[..before]);
    assert!(
        copy[before]["content"]
            .as_str()
            .is_some_and(|text| text.contains("find *.txt"))
    );
    assert!(json!(copy).to_string().contains("/notes.txt"));
    let got = result(&mut client, "v1.session.get", json!({ "session_id": session }));
    assert_eq!(
        got["item"]["cleared_offset"],
        old.last().expect("messages")["global_offset"]
    );
    assert_eq!(settled(&mut client, &session), old, "the messages stay");
}
