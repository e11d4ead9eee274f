//! Commands that are wrong, one by one, over a real socket: each has its error, and nothing is changed by it.

use rtc_tests::Workplace;
use serde_json::{Value, json};

use crate::client::{Client, Heard};
use crate::follower::{Follower, message};
use rtc_tests::serving::{Serving, token};

const FOREIGN: &str = "0198c0de-0000-7000-8000-000000000001";

/// The longest text of an error: whoever sends much gets no more back than this.
const ERROR_BYTES: usize = 2000;

/// Whether this is a call about which the user is asked, and which its device has taken.
fn waits(entity: &Value) -> bool {
    entity["approval"]["state"] == "open" && entity["status"] == "sent"
}

fn rpc(id: u64, method: &str, data: &Value) -> Value {
    json!({"id": id, "rpc": {"method": method, "data": data}})
}

/// Code and text of the error that a command leads to.
fn error(client: &mut Client, command: Value) -> (u64, String) {
    let reply = client.ask(command.clone());
    let code = reply["error"]["code"]
        .as_u64()
        .unwrap_or_else(|| panic!("{command} is answered: {reply}"));
    (
        code,
        reply["error"]["message"].as_str().expect("a message").to_owned(),
    )
}

#[test]
fn a_wrong_call_has_its_error_and_changes_nothing() {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let mut follower = Follower::start(&serving, None);
    let session =
        follower.rpc("v1.message.send", message("m1", "run this script: `1 + 1`"))["session_id"].take();
    let call = follower.until(waits)["id"].take();
    follower.until(|entity| entity["id"] == session && entity["status"] != "active");
    let before = follower.stands_at();
    let mut client = Client::connected(serving.port(), serving.token());
    let long = "x".repeat(1 << 20);
    let table = [
        ("v1.no.such", json!({}), "rpc.method_not_found"),
        (&long, json!({}), "rpc.method_not_found"),
        ("v1.session.get", json!([1]), "rpc.invalid_request"),
        ("v1.session.get", json!(""), "rpc.invalid_request"),
        ("v1.session.get", json!({}), "rpc.invalid_argument"),
        ("v1.session.get", json!({"session_id": 7}), "rpc.invalid_argument"),
        (
            "v1.session.get",
            json!({"session_id": long}),
            "rpc.invalid_argument",
        ),
        (
            "v1.session.get",
            json!({"session_id": "../../etc/passwd"}),
            "rpc.invalid_argument",
        ),
        (
            "v1.session.get",
            json!({"session_id": FOREIGN}),
            "session.not_found",
        ),
        // An id of the right form and of another kind.
        ("v1.session.get", json!({"session_id": call}), "session.not_found"),
        ("v1.rtc.get", json!({"rtc_id": session}), "rtc.not_found"),
        ("v1.session.list", json!({"limit": -1}), "rpc.invalid_argument"),
        ("v1.session.list", json!({"limit": 1e300}), "rpc.invalid_argument"),
        (
            "v1.session.list",
            json!({"cursor": {"a": []}}),
            "rpc.invalid_argument",
        ),
        (
            "v1.session.close",
            json!({"session_id": FOREIGN}),
            "session.not_found",
        ),
        (
            "v1.session.open",
            json!({"session_id": FOREIGN}),
            "session.not_found",
        ),
        (
            "v1.session.update",
            json!({"session_id": FOREIGN, "title": "a"}),
            "session.not_found",
        ),
        (
            "v1.session.update",
            json!({"session_id": session, "title": long}),
            "rpc.invalid_argument",
        ),
        (
            "v1.session.set_mode",
            json!({"session_id": session, "mode": "yolo"}),
            "rpc.invalid_argument",
        ),
        (
            "v1.message.list",
            json!({"session_id": FOREIGN}),
            "session.not_found",
        ),
        (
            "v1.message.get",
            json!({"message_id": FOREIGN}),
            "message.not_found",
        ),
        ("v1.turn.get", json!({"turn_id": FOREIGN}), "turn.not_found"),
        (
            "v1.turn.stop",
            json!({"session_id": FOREIGN}),
            "session.not_found",
        ),
        ("v1.rtc.preview", json!({"rtc_id": FOREIGN}), "rtc.not_found"),
        ("v1.rtc.run", json!({"rtc_id": FOREIGN}), "rtc.not_found"),
        // It waits for a Yes, which this client asks nobody for.
        ("v1.rtc.run", json!({"rtc_id": call}), "rtc.not_found"),
        (
            "v1.rtc.approve",
            json!({"rtc_id": FOREIGN, "decision": "once"}),
            "rtc.not_found",
        ),
        (
            "v1.rtc.approve",
            json!({"rtc_id": call, "decision": "always"}),
            "rpc.invalid_argument",
        ),
        (
            "v1.rtc.submit_result",
            json!({"rtc_id": FOREIGN, "success": true, "result": 1}),
            "rtc.not_found",
        ),
        (
            "v1.rtc.submit_result",
            json!({"rtc_id": call, "success": "yes"}),
            "rpc.invalid_argument",
        ),
        (
            "v1.rtc.submit_result",
            json!({"rtc_id": call, "success": true, "result": 1}),
            // It is hidden from a client that shows no approvals.
            "rtc.not_found",
        ),
        (
            "v1.rtc.update_status",
            json!({"rtc_id": call, "status": "completed"}),
            "rtc.invalid_status",
        ),
        (
            "v1.project.trust",
            json!({"project_id": FOREIGN, "trusted": true}),
            "project.not_found",
        ),
        (
            "v1.project.open",
            json!({"path": "/no/such/folder"}),
            "project.unusable",
        ),
    ];
    for ((method, data, expected), id) in table.iter().zip(2..) {
        let (code, text) = error(&mut client, rpc(id, method, data));
        let method: String = method.chars().take(40).collect();
        assert_eq!(
            (code, text.split(':').next()),
            (500, Some(*expected)),
            "{method}: {text:.200}"
        );
        assert!(text.len() <= ERROR_BYTES, "{method}: {} bytes", text.len());
    }
    let mut wrong_message = message("m2", "");
    for content in [
        json!({"type": "text", "data": ""}),
        json!({"type": "shout", "data": "a"}),
        json!(1),
        Value::Null,
    ] {
        wrong_message["content_data"] = content;
        let (_, text) = error(&mut client, rpc(2, "v1.message.send", &wrong_message));
        assert!(text.starts_with("rpc.invalid_argument"), "{text}");
    }
    assert_eq!(follower.stands_at(), before, "nothing was changed");
    // And what was there goes on.
    follower.rpc("v1.rtc.approve", json!({"rtc_id": call, "decision": "once"}));
    follower.turn_is("completed");
}

#[test]
fn a_command_that_is_sent_again_is_done_once() {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let mut follower = Follower::start(&serving, None);
    let send = message("m1", "run this script: `1 + 1`");
    let first = follower.rpc("v1.message.send", send.clone());
    let call = follower.until(waits)["id"].take();
    follower.until(|entity| entity["id"] == first["session_id"] && entity["status"] != "active");
    let before = follower.stands_at();
    // Also as a frame recorded on another connection.
    let mut other = Client::connected(serving.port(), serving.token());
    for id in [7, 7, 8] {
        let again = other.ask(rpc(id, "v1.message.send", &send));
        assert_eq!(again["rpc"]["data"]["result"], first);
    }
    let list = json!({"session_id": first["session_id"]});
    let other_text = message("m1", "something else");
    let (_, text) = error(&mut other, rpc(9, "v1.message.send", &other_text));
    assert!(text.starts_with("message.client_id_conflict"), "{text}");
    assert_eq!(follower.stands_at(), before);

    follower.rpc("v1.rtc.approve", json!({"rtc_id": call, "decision": "once"}));
    follower.turn_is("completed");
    follower.until(|entity| entity["id"] == first["session_id"] && entity["status"] == "idle");
    let after = follower.stands_at();
    for decision in ["once", "reject"] {
        let (_, text) = error(
            &mut other,
            rpc(
                10,
                "v1.rtc.approve",
                &json!({"rtc_id": call, "decision": decision}),
            ),
        );
        assert!(text.starts_with("approval.closed"), "{text}");
    }
    assert_eq!(follower.stands_at(), after);
    assert_eq!(
        follower.rpc("v1.rtc.list", list)["items"]
            .as_array()
            .map(Vec::len),
        Some(1),
        "it ran once"
    );
}

#[test]
fn a_token_allows_what_its_scopes_say_and_nothing_else() {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let mut follower = Follower::start(&serving, None);
    let session =
        follower.rpc("v1.message.send", message("m1", "run this script: `1 + 1`"))["session_id"].take();
    let call = follower.until(waits)["id"].take();
    follower.until(|entity| entity["id"] == session && entity["status"] != "active");
    let before = follower.stands_at();
    let calls = [
        ("view", "v1.session.list", json!({})),
        ("view", "v1.rtc.get", json!({"rtc_id": call})),
        ("converse", "v1.message.send", message("m2", "hello")),
        ("converse", "v1.session.close", json!({"session_id": session})),
        (
            "approve",
            "v1.rtc.approve",
            json!({"rtc_id": call, "decision": "once"}),
        ),
        (
            "approve",
            "v1.session.set_mode",
            json!({"session_id": session, "mode": "bypass"}),
        ),
        (
            "execute",
            "v1.rtc.update_status",
            json!({"rtc_id": call, "status": "executing"}),
        ),
        ("execute", "v1.rtc.run", json!({"rtc_id": call})),
    ];
    for scope in ["view", "converse", "approve", "execute", "serve-tools"] {
        let mut client = Client::connected(serving.port(), &token(&place, &["--scope", scope]));
        for (needed, method, data) in &calls {
            if *needed != scope {
                let (_, text) = error(&mut client, rpc(2, method, data));
                assert!(
                    text.starts_with("auth.permission_denied"),
                    "{scope}, {method}: {text}"
                );
            }
        }
    }
    assert_eq!(follower.stands_at(), before, "nothing was changed");
}

#[test]
fn what_is_no_json_ends_its_client() {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let call =
        |data: &str| format!(r#"{{"id":2,"rpc":{{"method":"v1.session.list","data":{{"limit":{data}}}}}}}"#);
    for frame in [
        call("NaN"),
        call("Infinity"),
        call("-"),
        call("01"),
        call("1e400"),
        call("\"\\ud800\""),
        call("\"\\x\""),
        call("\"\u{0}\""),
        call("1,}"),
        call("1").replace(":2,", ":4294967296,"),
        call("1").replace(":2,", ":-1,"),
        call("1").replace("{\"id\"", "\u{feff}{\"id\""),
        call("1").repeat(2),
        format!(r#"{{"id":2,"rpc":{{"data":[1{}]}}}}"#, ",1".repeat(1 << 18)),
        "{}\n".repeat(1025),
    ] {
        let mut client = Client::connected(serving.port(), serving.token());
        client.send(&frame);
        assert_eq!(
            client.end(),
            Heard::Closed(3501, "bad request".to_owned()),
            "{frame:.100}"
        );
    }
    Client::connected(serving.port(), serving.token());
}
