//! Kills and restarts.

use std::process::{Child, Stdio};

use rtc_tests::assert_whole;
use rtc_tests::model_server::{Answer, Asked, Dialect, ModelServer};

use crate::desk::{Desk, ran};

const FILES: &[(&str, &str)] = &[("a.txt", "one\n"), ("b.txt", "two\n")];

fn start(desk: &Desk) -> Child {
    let mut command = desk.request("make one a 1", &[]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("rtc-headless starts")
}

/// Kills the process while it waits for the answer to the request with the results: the calls have run and are stored.
fn killed_before_the_next_reply(dialect: Dialect, waits: Answer) -> Vec<Asked> {
    let calls = Answer::reply()
        .say("I look.")
        .call("call_a", "read", "{ \"path\" : \"/a.txt\" }")
        .call("call_b", "read", r#"{"path":"/b.txt"}"#)
        .call(
            "call_c",
            "edit",
            r#"{"path":"/a.txt","old_string":"one","new_string":"1"}"#,
        );
    let server = ModelServer::in_order([calls, waits, Answer::text("Done.")]);
    let desk = Desk::new(dialect, FILES, server);
    let mut child = start(&desk);
    desk.server.wait_for(2);
    child.kill().expect("it is killed");
    child.wait().expect("it has ended");
    let again = ran({
        let mut command = desk.command(&["run", "--continue"]);
        command.arg("--root").arg(desk.place.root());
        command
    });
    assert_eq!(
        (again.code, again.stdout.trim_end()),
        (Some(0), "Done."),
        "{}",
        again.stderr
    );
    assert_eq!(desk.content("a.txt"), "1\n");
    assert_whole(&desk.place.last_session());
    desk.asked()
}

#[test]
fn after_a_kill_the_next_request_is_the_one_that_was_not_answered() {
    for dialect in [Dialect::Chat, Dialect::Messages] {
        let silent = Answer::text("never").stall_after(0);
        let half = Answer::text("Half of this is said.");
        let half = half.clone().stall_after(half.body(dialect).len() / 2);
        let later = Answer::status(503, "{}").header("retry-after", "50");
        for waits in [silent, half, later] {
            let asked = killed_before_the_next_reply(dialect, waits);
            assert_eq!(asked.len(), 3);
            assert_eq!(asked[2].call_ids(), ["call_a", "call_b", "call_c"]);
            let (before, after) = (&asked[1].body, &asked[2].body);
            assert_eq!(
                String::from_utf8_lossy(before),
                String::from_utf8_lossy(after),
                "the prompt is what is stored"
            );
        }
    }
}

#[test]
fn a_turn_goes_on_only_where_it_began() {
    let server = ModelServer::in_order([
        Answer::reply().call("call_a", "read", r#"{"path":"/a.txt"}"#),
        Answer::text("never").stall_after(0),
    ]);
    let desk = Desk::new(Dialect::Chat, FILES, server);
    let mut child = start(&desk);
    desk.server.wait_for(2);
    child.kill().expect("it is killed");
    child.wait().expect("it has ended");
    // The model's name now means another place, or nothing.
    let config = desk.place.path().join("config.toml");
    std::fs::write(&config, "").expect("the configuration is written");
    let mut command = desk.command(&["run", "--continue"]);
    command
        .env("OPENAI_API_KEY", "x")
        .env("OPENAI_BASE_URL", desk.server.base_url(Dialect::Chat));
    let again = ran(command);
    let told = again
        .stderr
        .lines()
        .rfind(|line| !line.is_empty())
        .unwrap_or_default();
    insta::assert_snapshot!(told, @"The model gave no answer: the model did not accept the request (the turn began with the model `scripted/m-1`, which is not configured any more); check that the configured model and API match");
    assert_eq!(again.code, Some(4));
    assert_eq!(desk.server.asked().len(), 2, "no other model is asked");
}
