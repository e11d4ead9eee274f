//! `--max-rounds`: how often the model may reply in a turn.

use std::process::Stdio;

use rtc_tests::assert_whole;
use rtc_tests::model_server::{Answer, Dialect, ModelServer};
use serde_json::Value;

use crate::desk::{Desk, conversation, ran};

const FILES: &[(&str, &str)] = &[("a.txt", "one\n"), ("b.txt", "two\n")];

fn read(id: &str, file: &str) -> Answer {
    Answer::reply().call(id, "read", &format!(r#"{{"path":"/{file}"}}"#))
}

#[test]
fn at_the_limit_the_turn_ends_and_the_next_message_goes_on_from_there() {
    let answers = [
        read("call_a", "a.txt"),
        read("call_b", "b.txt"),
        Answer::text("One and two."),
    ];
    let desk = Desk::new(Dialect::Chat, FILES, ModelServer::in_order(answers));
    let limited = desk.run("what is in them?", &["--max-rounds", "2"]);
    assert_eq!(
        (limited.code, limited.stdout.as_str()),
        (Some(6), ""),
        "{}",
        limited.stderr
    );
    insta::assert_snapshot!(limited.stderr, @"
    ● read /a.txt
             1	one
    ● read /b.txt
             1	two
    The turn ends at its limit: the limit of replies in a turn (2) is reached, and the model is not done; what it did is kept, and the next message goes on from there
    ");
    assert_eq!(desk.asked().len(), 2, "the model is not asked once more");
    assert_whole(&desk.place.last_session());
    let on = desk.run("go on", &["--continue", "--max-rounds", "1", "--output", "json"]);
    assert_eq!(on.code, Some(0), "{}", on.stderr);
    let result: Value = serde_json::from_str(&on.stdout).expect("one object");
    assert_eq!(
        (&result["status"], &result["text"]),
        (&"completed".into(), &"One and two.".into())
    );
    insta::assert_snapshot!(conversation(&desk.asked()[2]), @r#"
    {"role":"system","content":"You are an agent that wo …"}
    {"role":"user","content":"what is in them?"}
    {"role":"assistant","content":null,"tool_calls":[{"id":"call_a","type":"function","function":{"name":"read","arguments":"{\"path\":\"/a.txt\"}"}}]}
    {"role":"tool","tool_call_id":"call_a","content":"     1\tone"}
    {"role":"assistant","content":null,"tool_calls":[{"id":"call_b","type":"function","function":{"name":"read","arguments":"{\"path\":\"/b.txt\"}"}}]}
    {"role":"tool","tool_call_id":"call_b","content":"     1\ttwo"}
    {"role":"user","content":"go on"}
    "#);
    assert_whole(&desk.place.last_session());
}

#[test]
fn the_result_says_why_the_turn_ended() {
    let desk = Desk::new(
        Dialect::Messages,
        FILES,
        ModelServer::in_order([read("call_a", "a.txt")]),
    );
    let limited = desk.run("what is in it?", &["--max-rounds", "1", "--output", "json"]);
    assert_eq!(limited.code, Some(6), "{}", limited.stderr);
    let result: Value = serde_json::from_str(&limited.stdout).expect("one object");
    assert_eq!(result["status"], "failed");
    assert_eq!(
        result["calls"][0]["status"], "completed",
        "what was asked for is done"
    );
    insta::assert_snapshot!(result["error"].as_str().expect("a reason"), @"the limit of replies in a turn (1) is reached, and the model is not done; what it did is kept, and the next message goes on from there");
}

#[test]
fn an_answer_within_the_limit_is_no_limit_reached() {
    let answers = [read("call_a", "a.txt"), Answer::text("One.")];
    let desk = Desk::new(Dialect::Chat, FILES, ModelServer::in_order(answers));
    let ran = desk.run("what is in it?", &["--max-rounds", "2"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "One.\n"),
        "{}",
        ran.stderr
    );
}

#[test]
fn the_limit_of_a_turn_survives_its_process() {
    let answers = [
        read("call_a", "a.txt"),
        Answer::text("never").stall_after(0),
        read("call_b", "b.txt"),
    ];
    let desk = Desk::new(Dialect::Chat, FILES, ModelServer::in_order(answers));
    let mut command = desk.request("what is in them?", &["--max-rounds", "2"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("rtc-headless starts");
    desk.server.wait_for(2);
    child.kill().expect("it is killed");
    child.wait().expect("it has ended");
    let again = ran(desk.command(&["run", "--continue"]));
    assert_eq!(again.code, Some(6), "{}", again.stderr);
    assert_eq!(desk.asked().len(), 3);
    assert_whole(&desk.place.last_session());
}

#[test]
fn a_limit_of_nothing_is_wrong_usage() {
    let desk = Desk::new(Dialect::Chat, FILES, ModelServer::in_order([]));
    for wrong in ["0", "-1", "many"] {
        let ran = desk.run("hello", &[&format!("--max-rounds={wrong}")]);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(2), ""),
            "{wrong}: {}",
            ran.stderr
        );
    }
    assert!(desk.asked().is_empty());
}
