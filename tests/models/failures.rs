//! Failures of a provider before, in and after its answer, with the exit codes.

use std::net::TcpListener;

use rtc_tests::assert_whole;
use rtc_tests::model_server::{Answer, Dialect, ModelServer};
use serde_json::json;

use crate::desk::{Desk, Ran, ran};

const FILES: &[(&str, &str)] = &[("a.txt", "one\n")];
const BOTH: [Dialect; 2] = [Dialect::Chat, Dialect::Messages];

/// The last line of the progress, which tells the failure.
fn told(ran: &Ran) -> String {
    let line = ran
        .stderr
        .lines()
        .rfind(|line| !line.trim().is_empty())
        .unwrap_or_default();
    format!("exit {}: {line}", ran.code.unwrap_or(-1))
}

fn fails(dialect: Dialect, answers: Vec<Answer>) -> (String, usize) {
    let desk = Desk::new(dialect, FILES, ModelServer::in_order(answers));
    let ran = desk.run("hello", &[]);
    let asked = desk.asked();
    assert!(
        asked.windows(2).all(|pair| pair[0].body == pair[1].body),
        "an attempt differs from the one before"
    );
    assert_whole(&desk.place.last_session());
    (told(&ran), asked.len())
}

#[test]
fn what_stays_wrong_is_told_at_once() {
    let cases = [
        (
            "wrong key",
            Answer::status(
                401,
                r#"{"error":{"type":"authentication_error","message":"invalid key hidden-words"}}"#,
            ),
        ),
        ("no rights", Answer::status(403, "{}")),
        (
            "no such model",
            Answer::status(404, r#"{"error":{"message":"unknown model"}}"#),
        ),
        (
            "too long",
            Answer::status(400, r#"{"error":{"message":"maximum context length is 8"}}"#),
        ),
        (
            "not understood",
            Answer::status(400, r#"{"error":{"message":"extra field"}}"#),
        ),
        (
            "no money",
            Answer::status(
                429,
                r#"{"error":{"message":"check your plan","code":"insufficient_quota"}}"#,
            ),
        ),
        (
            "a long wait",
            Answer::status(429, "{}").header("retry-after", "3600"),
        ),
        (
            "another address",
            Answer::raw(302, "text/plain", "").header("location", "http://127.0.0.1:1/"),
        ),
        ("a web page", Answer::page()),
        ("declined", Answer::text("I").refused()),
    ];
    for dialect in BOTH {
        let mut all = Vec::new();
        for (name, answer) in &cases {
            let (told, asked) = fails(dialect, vec![answer.clone()]);
            assert_eq!(asked, 1, "{name}");
            all.push(format!("{name}: {told}"));
        }
        // The dialects differ in what a refusal says of its reason; everything else is told alike.
        insta::allow_duplicates! { insta::assert_snapshot!(all.join("\n").replace("the provider's filter stopped the reply", "it did not say why"), @"
        wrong key: exit 4: The model gave no answer: the model did not accept the key (status 401: invalid key [key]); check the key of this model in the configuration
        no rights: exit 4: The model gave no answer: the model did not accept the key (status 403: {}); check the key of this model in the configuration
        no such model: exit 4: The model gave no answer: the model did not accept the request (there is no model `m-1` there, status 404: unknown model); check that the configured model and API match
        too long: exit 1: The model gave no answer: the conversation is longer than this model can read; compact it, or begin a new session
        not understood: exit 4: The model gave no answer: the model did not accept the request (status 400: extra field); check that the configured model and API match
        no money: exit 4: The model gave no answer: the model did not accept the key (status 429: check your plan); check the key of this model in the configuration
        a long wait: exit 4: The model gave no answer: the model's rate limit is reached for another 3600 s; wait, or choose another model
        another address: exit 4: The model gave no answer: the model did not accept the request (status 302, another address; put it into the base URL); check that the configured model and API match
        a web page: exit 4: The model gave no answer: the model cannot be reached (a web page answered where the model should); check the network and the base URL, then try again
        declined: exit 4: The model gave no answer: the model declined to answer (it did not say why); put the request differently, or choose another model
        "); }
    }
}

#[test]
fn what_may_pass_is_tried_again_and_told_in_the_end() {
    let cases = [
        ("overloaded", Answer::status(503, "{}")),
        (
            "a fault",
            Answer::status(500, r#"{"error":{"message":"it broke"}}"#),
        ),
        ("too many", Answer::status(429, "{}").header("retry-after", "0")),
        ("nothing", Answer::empty()),
        ("broken off before a word", Answer::reply().reset_after(60)),
        (
            "an error for an answer",
            Answer::status(
                200,
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            ),
        ),
    ];
    let mut all = Vec::new();
    for (at, (name, answer)) in cases.iter().enumerate() {
        // Each takes its waits: the dialects take turns.
        let (told, asked) = fails(BOTH[at % 2], vec![answer.clone(); 4]);
        assert_eq!(asked, 4, "{name}");
        all.push(format!("{name}: {told}"));
    }
    insta::assert_snapshot!(all.join("\n"), @"
    overloaded: exit 4: The model gave no answer: the model is overloaded; try again in a moment, or choose another model
    a fault: exit 4: The model gave no answer: the model's server failed (status 500: it broke); try again in a moment, or choose another model
    too many: exit 4: The model gave no answer: the model's rate limit is reached for another 1 s; wait, or choose another model
    nothing: exit 4: The model gave no answer: the model's reply broke off (it is empty); ask again
    broken off before a word: exit 4: The model gave no answer: the model's reply broke off (unexpected EOF during chunk size line); ask again
    an error for an answer: exit 4: The model gave no answer: the model is overloaded; try again in a moment, or choose another model
    ");
}

#[test]
fn what_passes_is_not_noticed() {
    for dialect in BOTH {
        let answers = [
            Answer::status(
                529,
                r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            ),
            Answer::reply().reset_after(0),
            Answer::reply().call("call_a", "read", r#"{"path":"/a.txt"}"#),
            Answer::status(429, "{}").header("retry-after-ms", "1"),
            Answer::text("One."),
        ];
        let desk = Desk::new(dialect, FILES, ModelServer::in_order(answers));
        let ran = desk.run("what is in a.txt?", &[]);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), "One.\n"),
            "{}",
            ran.stderr
        );
        let asked = desk.asked();
        assert_eq!(asked[0].body, asked[2].body);
        assert_eq!(asked[3].body, asked[4].body);
    }
}

#[test]
fn a_reply_that_breaks_off_after_its_first_words_is_asked_for_again() {
    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    for dialect in BOTH {
        let begun = Answer::text("Hello there.").without_end();
        let length = begun.body(dialect).len();
        let cases = [
            ("no end", begun.clone()),
            ("reset", begun.clone().reset_after(length)),
            ("an error", begun.event(&error)),
        ];
        let mut all = Vec::new();
        for (name, answer) in cases {
            let answers = [answer.clone(), Answer::text("Hello there, whole.")];
            let desk = Desk::new(dialect, FILES, ModelServer::in_order(answers));
            let ran = desk.run("hello", &[]);
            assert_eq!(
                (ran.code, ran.stdout.as_str()),
                (Some(0), "Hello there, whole.\n"),
                "{name}: {}",
                ran.stderr
            );
            let asked = desk.asked();
            assert_eq!(asked.len(), 2, "{name}");
            assert_eq!(
                asked[0].body, asked[1].body,
                "what broke off is no part of it: {name}"
            );
            let (told, asked) = fails(dialect, vec![answer; 4]);
            assert_eq!(asked, 4, "{name}");
            all.push(format!("{name}: {told}"));
        }
        insta::allow_duplicates! { insta::assert_snapshot!(all.join("\n"), @"
        no end: exit 4: The model gave no answer: the model's reply broke off (it ended in the middle); ask again
        reset: exit 4: The model gave no answer: the model's reply broke off (unexpected EOF during chunk size line); ask again
        an error: exit 4: The model gave no answer: the model is overloaded; try again in a moment, or choose another model
        "); }
    }
}

#[test]
fn an_error_in_the_stream_is_told_by_its_class() {
    let cases = [
        ("a fault", "api_error", "it broke"),
        ("overloaded", "overloaded_error", "Overloaded"),
        ("too many", "rate_limit_error", "slow down"),
        ("wrong key", "authentication_error", "invalid key hidden-words"),
        ("no rights", "permission_error", "not for you"),
        ("no money", "billing_error", "check your plan"),
        ("not understood", "invalid_request_error", "extra field"),
        ("too long", "invalid_request_error", "prompt is too long: 9 > 8"),
        ("no such model", "not_found_error", "unknown model"),
    ];
    for dialect in BOTH {
        let mut all = Vec::new();
        for (at, (name, kind, message)) in cases.into_iter().enumerate() {
            let may_pass = at < 3;
            let error = json!({"type": "error", "error": {"type": kind, "message": message}});
            let within = Answer::text("Hello there.").without_end().event(&error);
            let times = if may_pass { 4 } else { 1 };
            let (told, asked) = fails(dialect, vec![within; times]);
            assert_eq!(asked, times, "{name}");
            all.push(format!("{name}: {told}"));
        }
        insta::allow_duplicates! { insta::assert_snapshot!(all.join("\n"), @"
        a fault: exit 4: The model gave no answer: the model's server failed (it broke); try again in a moment, or choose another model
        overloaded: exit 4: The model gave no answer: the model is overloaded; try again in a moment, or choose another model
        too many: exit 4: The model gave no answer: the model's rate limit is reached; wait, or choose another model
        wrong key: exit 4: The model gave no answer: the model did not accept the key (invalid key [key]); check the key of this model in the configuration
        no rights: exit 4: The model gave no answer: the model did not accept the key (not for you); check the key of this model in the configuration
        no money: exit 4: The model gave no answer: the model did not accept the key (check your plan); check the key of this model in the configuration
        not understood: exit 4: The model gave no answer: the model did not accept the request (extra field); check that the configured model and API match
        too long: exit 1: The model gave no answer: the conversation is longer than this model can read; compact it, or begin a new session
        no such model: exit 4: The model gave no answer: the model did not accept the request (there is no model `m-1` there, unknown model); check that the configured model and API match
        "); }
    }
}

#[test]
fn an_error_before_the_first_word_is_asked_again_if_it_may_pass() {
    let error = |kind: &str| {
        let error = json!({"type": "error", "error": {"type": kind, "message": "no"}});
        Answer::reply().without_end().event(&error)
    };
    for dialect in BOTH {
        let answers = [error("overloaded_error"), Answer::text("Here.")];
        let desk = Desk::new(dialect, FILES, ModelServer::in_order(answers));
        let ran = desk.run("hello", &[]);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), "Here.\n"),
            "{}",
            ran.stderr
        );
        let (told, asked) = fails(dialect, vec![error("authentication_error")]);
        assert_eq!((asked, &told[..6]), (1, "exit 4"), "{told}");
    }
}

#[test]
fn an_error_after_the_end_undoes_nothing() {
    let late = json!({"type": "error", "error": {"type": "api_error", "message": "too late"}});
    for dialect in BOTH {
        let call = Answer::reply()
            .call("call_a", "read", r#"{"path":"/a.txt"}"#)
            .then(&late);
        let desk = Desk::new(
            dialect,
            FILES,
            ModelServer::in_order([call, Answer::text("One.").then(&late)]),
        );
        let ran = desk.run("what is in a.txt?", &[]);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), "One.\n"),
            "{}",
            ran.stderr
        );
        assert_eq!(desk.asked().len(), 2);
    }
}

#[test]
fn a_stall_is_asked_again_and_no_tool_runs_twice() {
    for dialect in BOTH {
        let call = Answer::reply().call(
            "call_a",
            "write",
            r#"{"path":"/new.txt","content":"x","mode":"create-new"}"#,
        );
        let half = call.body(dialect).len() / 2;
        let answers = [
            // Silent from the start, silent within the call, silent after the end.
            call.clone().stall_after(0),
            call.clone().stall_after(half),
            call.clone().stall_after(call.body(dialect).len()),
            Answer::text("Written.").stall_after(usize::MAX),
        ];
        let desk = Desk::configured(
            dialect,
            FILES,
            ModelServer::in_order(answers),
            "idle_timeout_ms = 300",
        );
        let ran = desk.run("write it", &[]);
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), "Written.\n"),
            "{}",
            ran.stderr
        );
        assert_eq!(desk.content("new.txt"), "x");
        let asked = desk.asked();
        assert_eq!(asked.len(), 4);
        assert_eq!(asked[3].call_ids(), ["call_a"], "one call, one result");
        assert!(asked[0].body == asked[1].body && asked[1].body == asked[2].body);
    }
}

#[test]
fn a_stall_that_does_not_end_is_told() {
    let stalls = vec![Answer::text("Hello").stall_after(0); 4];
    let desk = Desk::configured(
        Dialect::Chat,
        FILES,
        ModelServer::in_order(stalls),
        "idle_timeout_ms = 100",
    );
    insta::assert_snapshot!(told(&desk.run("hello", &[])), @"exit 4: The model gave no answer: the model's reply broke off (no byte for 0.1 s); ask again");
    let within = Answer::text("Hello").without_end();
    let length = within.body(Dialect::Chat).len();
    let stalls = vec![within.stall_after(length); 4];
    let desk = Desk::configured(
        Dialect::Chat,
        FILES,
        ModelServer::in_order(stalls),
        "idle_timeout_ms = 100",
    );
    insta::assert_snapshot!(told(&desk.run("hello", &[])), @"exit 4: The model gave no answer: the model's reply broke off (no byte for 0.1 s); ask again");
}

#[test]
fn nobody_at_the_address() {
    let desk = Desk::new(Dialect::Chat, FILES, ModelServer::in_order([]));
    let port = TcpListener::bind("127.0.0.1:0")
        .expect("a port is free")
        .local_addr()
        .expect("an address");
    desk.configure(&format!("http://{port}/v1"));
    insta::assert_snapshot!(told(&desk.run("hello", &[])), @"exit 4: The model gave no answer: the model cannot be reached (Connection refused (os error 111)); check the network and the base URL, then try again");
    desk.configure("nowhere");
    let place = desk.place.path().display().to_string();
    insta::assert_snapshot!(told(&desk.run("hello", &[])).replace(&place, "PLACE"), @"exit 2: rtc-headless: the configuration PLACE/config.toml is wrong, line 4, field `base_url`: this is no address: it has to begin with http:// or https:// and to name a host");
}

#[test]
fn a_key_that_is_not_set_is_named() {
    let desk = Desk::new(Dialect::Chat, FILES, ModelServer::in_order([]));
    let mut command = desk.request("hello", &[]);
    command.env_remove("SCRIPTED_KEY");
    insta::assert_snapshot!(told(&ran(command)), @"exit 4: The model gave no answer: the model did not accept the key (there is none: the environment variable SCRIPTED_KEY is not set); check the key of this model in the configuration");
    assert!(desk.asked().is_empty());
}

#[test]
fn the_next_turn_works_after_a_failure() {
    let mut answers = vec![Answer::text("Hel").without_end(); 4];
    answers.push(Answer::text("Here again."));
    let desk = Desk::new(Dialect::Messages, FILES, ModelServer::in_order(answers));
    assert_eq!(desk.run("hello", &[]).code, Some(4));
    let ran = desk.run("still there?", &["--continue"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Here again.\n"));
    let messages = desk.asked()[4].messages();
    assert_eq!(messages.len(), 1, "what broke off is not sent back: {messages:?}");
}
