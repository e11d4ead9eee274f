//! Turns with calls.

use rtc_tests::assert_whole;
use rtc_tests::model_server::{Answer, Asked, Dialect, Last, ModelServer};
use serde_json::Value;

use crate::desk::{Desk, conversation, shortened};

const FILES: &[(&str, &str)] = &[("a.txt", "one\ntwo\n"), ("b.txt", "three\n")];

/// Two reads at once, an edit, an answer.
fn edit_after_reading() -> [Answer; 3] {
    [
        Answer::reply()
            .think("Both at once.")
            .say("I read both.")
            .call("call_a", "read", "{ \"path\": \"/a.txt\" }")
            .call("call_b", "read", r#"{"path":"/b.txt"}"#),
        Answer::reply().call(
            "call_c",
            "edit",
            r#"{"path":"/a.txt","old_string":"two","new_string":"2"}"#,
        ),
        Answer::text("Done: two is 2."),
    ]
}

fn check_turn(dialect: Dialect) -> (Desk, Vec<Asked>) {
    let desk = Desk::new(dialect, FILES, ModelServer::in_order(edit_after_reading()));
    let ran = desk.run("make two a 2", &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(
        ran.stdout.trim_end(),
        "I read both.\n\nDone: two is 2.",
        "{}",
        ran.stderr
    );
    assert_eq!(desk.content("a.txt"), "one\n2\n");
    let asked = desk.asked();
    assert_eq!(asked.len(), 3);
    assert_whole(&desk.place.last_session());
    (desk, asked)
}

#[test]
fn parallel_reads_and_an_edit_in_chat_completions() {
    let (_desk, asked) = check_turn(Dialect::Chat);
    insta::assert_snapshot!(conversation(&asked[2]), @r#"
    {"role":"system","content":"You are an agent that wo …"}
    {"role":"user","content":"make two a 2"}
    {"role":"assistant","content":"I read both.","tool_calls":[{"id":"call_a","type":"function","function":{"name":"read","arguments":"{\"path\":\"/a.txt\"}"}},{"id":"call_b","type":"function","function":{"name":"read","arguments":"{\"path\":\"/b.txt\"}"}}]}
    {"role":"tool","tool_call_id":"call_a","content":"     1\tone\n     2\ttwo"}
    {"role":"tool","tool_call_id":"call_b","content":"     1\tthree"}
    {"role":"assistant","content":null,"tool_calls":[{"id":"call_c","type":"function","function":{"name":"edit","arguments":"{\"path\":\"/a.txt\",\"old_string\":\"two\",\"new_string\":\"2\"}"}}]}
    {"role":"tool","tool_call_id":"call_c","content":"path: /a.txt\nreplaced: 1\ndiff:\n--- /a.txt\n+++ /a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"}
    "#);
    let mut first = asked[0].json();
    let tools = std::mem::take(&mut first["tools"]);
    first["messages"][0]["content"] = shortened(&first["messages"][0]["content"]);
    insta::assert_snapshot!(first, @r#"{"model":"m-1","messages":[{"role":"system","content":"You are an agent that wo …"},{"role":"user","content":"make two a 2"}],"tools":null,"stream":true,"stream_options":{"include_usage":true}}"#);
    let names: Vec<_> = tools
        .as_array()
        .expect("tools")
        .iter()
        .map(|tool| tool["function"]["name"].clone())
        .collect();
    assert!(
        names.contains(&Value::from("read")) && names.contains(&Value::from("todoWrite")),
        "{names:?}"
    );
    for pair in asked.windows(2) {
        let prefix = messages_bytes(&pair[0]);
        assert!(
            messages_bytes(&pair[1]).starts_with(prefix.strip_suffix("]").expect("a list")),
            "the prefix changed"
        );
    }
}

/// The bytes of the messages, as they stand in the request.
fn messages_bytes(asked: &Asked) -> String {
    let body = String::from_utf8(asked.body.clone()).expect("JSON is Unicode");
    let from = body.find("\"messages\":").expect("messages");
    let to = body.find(",\"tools\":").expect("tools");
    body[from..to].to_owned()
}

#[test]
fn parallel_reads_and_an_edit_in_messages() {
    let (_desk, asked) = check_turn(Dialect::Messages);
    insta::assert_snapshot!(conversation(&asked[2]), @r#"
    {"role":"user","content":[{"type":"text","text":"make two a 2"}]}
    {"role":"assistant","content":[{"type":"text","text":"I read both."},{"type":"tool_use","id":"call_a","name":"read","input":{"path":"/a.txt"}},{"type":"tool_use","id":"call_b","name":"read","input":{"path":"/b.txt"}}]}
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"call_a","content":"     1\tone\n     2\ttwo"},{"type":"tool_result","tool_use_id":"call_b","content":"     1\tthree"}]}
    {"role":"assistant","content":[{"type":"tool_use","id":"call_c","name":"edit","input":{"path":"/a.txt","old_string":"two","new_string":"2"}}]}
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"call_c","content":"path: /a.txt\nreplaced: 1\ndiff:\n--- /a.txt\n+++ /a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n","cache_control":{"type":"ephemeral"}}]}
    "#);
    let mut first = asked[0].json();
    let tools = std::mem::take(&mut first["tools"]);
    first["system"][0]["text"] = shortened(&first["system"][0]["text"]);
    insta::assert_snapshot!(first, @r#"{"model":"m-1","max_tokens":8192,"system":[{"type":"text","text":"You are an agent that wo …","cache_control":{"type":"ephemeral"}}],"tools":null,"messages":[{"role":"user","content":[{"type":"text","text":"make two a 2","cache_control":{"type":"ephemeral"}}]}],"stream":true}"#);
    assert!(
        tools
            .as_array()
            .expect("tools")
            .iter()
            .all(|tool| tool["input_schema"]["type"] == "object")
    );
    assert_eq!(asked[0].header("anthropic-version"), Some("2023-06-01"));
}

/// What the model reads of its calls in the last request.
fn results(desk: &Desk) -> String {
    match desk.asked().last().expect("a request").last() {
        Last::Results(results) => results
            .into_iter()
            .map(|(id, text)| format!("{id}: {text}\n"))
            .collect(),
        Last::User(text) => panic!("the user said {text}"),
    }
}

#[test]
fn calls_that_cannot_run_are_told_to_the_model() {
    for dialect in [Dialect::Chat, Dialect::Messages] {
        let calls = Answer::reply()
            .call("call_a", "no such/tool", "{}")
            .call("call_b", "read", r#"{"path":"/a.txt""#)
            .call("call_c", "read", "[1]")
            .call("call_d", "read", "")
            .call("call_e", "write", r#"{"path":"/a.txt"}"#);
        let desk = Desk::new(
            dialect,
            FILES,
            ModelServer::in_order([calls, Answer::text("I see.")]),
        );
        let ran = desk.run("do something wrong", &[]);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), "I see.\n"),
            "{}",
            ran.stderr
        );
        assert_eq!(desk.content("a.txt"), "one\ntwo\n");
        let told = results(&desk);
        assert_eq!(told.matches("[Tool Error]").count(), 5, "{told}");
        assert!(told.contains("there is no tool no such/tool"), "{told}");
        assert!(
            told.contains("call_b: [Tool Error] read failed: the arguments are not valid JSON"),
            "{told}"
        );
    }
}

#[test]
fn a_call_cut_by_the_token_limit_does_not_run_and_the_model_is_told() {
    for dialect in [Dialect::Chat, Dialect::Messages] {
        // What has arrived is valid JSON: only the reason tells that it is not whole.
        let cut = Answer::reply()
            .call("call_a", "read", r#"{"path":"/b.txt"}"#)
            .call("call_b", "write", r#"{"path":"/a.txt","content":"half"}"#)
            .cut();
        let desk = Desk::new(
            dialect,
            FILES,
            ModelServer::in_order([cut, Answer::text("I see.")]),
        );
        let ran = desk.run("write much", &["--mode", "bypass"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(desk.content("a.txt"), "one\ntwo\n");
        let told = results(&desk);
        assert!(told.contains("call_a:      1\tthree"), "{told}");
        assert!(
            told.contains("call_b: [Tool Error] write failed: the reply reached the token limit"),
            "{told}"
        );
    }
}

#[test]
fn ids_that_a_model_uses_twice_are_told_apart() {
    let call = || Answer::reply().call("call_0", "read", r#"{"path":"/a.txt"}"#);
    let desk = Desk::new(
        Dialect::Chat,
        FILES,
        ModelServer::in_order([call(), call(), Answer::text("Read.")]),
    );
    assert_eq!(desk.run("read it twice", &[]).code, Some(0));
    let ids = desk.asked()[2].call_ids();
    assert_eq!(ids.len(), 2);
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn the_next_turn_continues_the_conversation() {
    let desk = Desk::new(
        Dialect::Chat,
        FILES,
        ModelServer::by_last([("first", Answer::text("One.")), ("second", Answer::text("Two."))]),
    );
    assert_eq!(desk.run("the first", &[]).stdout, "One.\n");
    assert_eq!(desk.run("the second", &["--continue"]).stdout, "Two.\n");
    insta::assert_snapshot!(conversation(&desk.asked()[1]), @r#"
        {"role":"system","content":"You are an agent that wo …"}
        {"role":"user","content":"the first"}
        {"role":"assistant","content":"One."}
        {"role":"user","content":"the second"}
        "#);
}
