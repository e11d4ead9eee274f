//! Thoughts that have to go back exactly as they came.

use rtc_tests::model_server::{Answer, Asked, Dialect, ModelServer};
use serde_json::{Value, json};

use crate::desk::Desk;

const FILES: &[(&str, &str)] = &[("a.txt", "one\n")];
const THOUGHT: &str = "First\n\tthe “file” \u{1f642} \\u0041 </think>";
const SIGNATURE: &str = "EqQBCkgIARABGAIiQL8+/Zz9==";
const REDACTED: &str = "EmwKAhgBEgy3va3pzix/LafPsn4aDFIT2Xlxh0L5L8rLVyIwxtE3rAFBa8cr3qpP==";

/// Thoughts around text and calls, as a reply interleaves them.
fn thoughtful() -> Answer {
    Answer::reply()
        .signed(THOUGHT, SIGNATURE)
        .say("I look.")
        .redacted(REDACTED)
        .call("toolu_1", "read", r#"{"path":"/a.txt"}"#)
        .signed("And again.", "c2Vjb25k")
        .call("toolu_2", "ls", "{}")
}

fn reply_of(asked: &Asked) -> Value {
    let reply = asked
        .messages()
        .into_iter()
        .find(|message| message["role"] == "assistant");
    reply.expect("the reply goes back")["content"].clone()
}

fn expected() -> Value {
    json!([
        {"type": "thinking", "thinking": THOUGHT, "signature": SIGNATURE},
        {"type": "text", "text": "I look."},
        {"type": "redacted_thinking", "data": REDACTED},
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "/a.txt"}},
        {"type": "thinking", "thinking": "And again.", "signature": "c2Vjb25k"},
        {"type": "tool_use", "id": "toolu_2", "name": "ls", "input": {}},
    ])
}

#[test]
fn signed_thoughts_survive_storage_and_restart_byte_for_byte() {
    let server = ModelServer::in_order([thoughtful(), Answer::text("One."), Answer::text("Still one.")]);
    let desk = Desk::configured(Dialect::Messages, FILES, server, "thinking_budget = 2000");
    let first = desk.run("what is in a.txt?", &[]);
    assert_eq!(
        (first.code, first.stdout.trim_end()),
        (Some(0), "I look.\n\nOne."),
        "{}",
        first.stderr
    );
    // Another process, another turn.
    assert_eq!(desk.run("and now?", &["--continue"]).stdout, "Still one.\n");
    let asked = desk.asked();
    assert_eq!(reply_of(&asked[1]), expected());
    assert_eq!(reply_of(&asked[2]), expected());
    // As bytes, too: nothing is escaped or ordered in another way.
    let bytes = expected().to_string();
    let bytes = bytes.strip_suffix(']').expect("a list");
    for asked in &asked[1..] {
        assert!(
            String::from_utf8_lossy(&asked.body).contains(bytes),
            "request {}",
            asked.number
        );
        assert_eq!(
            asked.json()["thinking"],
            json!({"type": "enabled", "budget_tokens": 2000})
        );
    }
    // A person sees each thought once.
    let session = desk.place.last_session();
    let thoughts: Vec<String> = session["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .filter_map(|message| serde_json::from_str::<Value>(message["content"].as_str()?).ok())
        .filter(|content| content["type"] == "thinking")
        .map(|content| content["data"].as_str().expect("a text").to_owned())
        .collect();
    assert_eq!(thoughts, [THOUGHT, "And again."]);
}

#[test]
fn another_model_gets_the_conversation_without_them() {
    let server = ModelServer::in_order([thoughtful(), Answer::text("One."), Answer::text("Two.")]);
    let desk = Desk::new(Dialect::Messages, FILES, server);
    assert_eq!(desk.run("what is in a.txt?", &[]).code, Some(0));
    let ran = desk.run("and now?", &["--continue", "--model", "scripted/m-2"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "Two.\n"),
        "{}",
        ran.stderr
    );
    let last = desk.asked().remove(2);
    assert_eq!(last.json()["model"], "m-2");
    let kinds: Vec<_> = reply_of(&last)
        .as_array()
        .expect("blocks")
        .iter()
        .map(|block| block["type"].clone())
        .collect();
    assert_eq!(kinds, ["text", "tool_use", "tool_use"]);
}

#[test]
fn reasoning_is_echoed_where_the_provider_wants_it() {
    let answers = [
        Answer::reply()
            .think("Hm.")
            .call("call_a", "read", r#"{"path":"/a.txt"}"#),
        Answer::reply().call("call_b", "ls", "{}"),
        Answer::text("One."),
    ];
    let desk = Desk::configured(
        Dialect::Chat,
        FILES,
        ModelServer::in_order(answers),
        "echo_reasoning = true",
    );
    assert_eq!(desk.run("what is in a.txt?", &[]).code, Some(0));
    let messages = desk.asked()[2].messages();
    let replies = messages.iter().filter(|message| message["role"] == "assistant");
    let reasoning: Vec<_> = replies
        .map(|message| message["reasoning_content"].clone())
        .collect();
    assert_eq!(reasoning, ["Hm.", ""]);
}
