//! Providers without a dialect of our own.

use rtc_tests::assert_whole;
use rtc_tests::model_server::{Answer, Asked, Dialect, ModelServer};
use serde_json::{Value, json};

use crate::desk::{Desk, KEY, Ran, ran};

const FILES: &[(&str, &str)] = &[("a.txt", "one\n"), ("b.txt", "two\n")];

/// A desk whose configuration gives a provider, by its name, the address of the scripted server.
fn provider(name: &str, dialect: Dialect, answers: Vec<Answer>) -> Desk {
    let desk = Desk::new(dialect, FILES, ModelServer::in_order(answers));
    let config = format!(
        "[models.{name}]\napi = \"{name}\"\nbase_url = \"{}\"\nkey_env = \"SCRIPTED_KEY\"\n",
        desk.server.base_url(dialect)
    );
    std::fs::write(desk.place.path().join("config.toml"), config).expect("the configuration is written");
    desk
}

fn told(ran: &Ran) -> String {
    let line = ran
        .stderr
        .lines()
        .rfind(|line| !line.trim().is_empty())
        .unwrap_or_default();
    format!("exit {}: {line}", ran.code.unwrap_or(-1))
}

/// The requests, none of which has the key in its body.
fn asked(desk: &Desk) -> Vec<Asked> {
    let asked = desk.server.asked();
    for one in &asked {
        assert!(!String::from_utf8_lossy(&one.body).contains(KEY));
    }
    asked
}

/// The conversation of a request without the system prompt, a line each.
fn lines(messages: &Value) -> String {
    let messages = messages.as_array().expect("messages");
    let said = messages.iter().filter(|message| message["role"] != "system");
    said.map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn reading_both() -> Answer {
    Answer::reply()
        .think("Both.")
        .say("I look.")
        .call("call_a", "read", r#"{"path":"/a.txt"}"#)
        .call("call_b", "read", r#"{"path":"/b.txt"}"#)
}

#[test]
fn ollama_reads_two_files_at_once() {
    let desk = provider(
        "ollama",
        Dialect::Ollama,
        vec![reading_both(), Answer::text("One and two.")],
    );
    let ran = desk.run("what is in them?", &["--model", "ollama/qwen-x"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "I look.\n\nOne and two.\n"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("Both."),
        "its thought is shown: {}",
        ran.stderr
    );
    let asked = asked(&desk);
    assert_eq!(asked[0].json()["model"], "qwen-x");
    insta::assert_snapshot!(lines(&asked[1].json()["messages"]), @r#"
    {"role":"user","content":"what is in them?"}
    {"role":"assistant","content":"I look.","tool_calls":[{"function":{"name":"read","arguments":{"path":"/a.txt"}}},{"function":{"name":"read","arguments":{"path":"/b.txt"}}}]}
    {"role":"tool","content":"     1\tone"}
    {"role":"tool","content":"     1\ttwo"}
    "#);
    assert_whole(&desk.place.last_session());
}

#[test]
fn gemini_gets_its_signatures_back() {
    let thoughtful = Answer::reply()
        .signed("Both.", "c2lnbmVk")
        .say("I look.")
        .call("call_a", "read", r#"{"path":"/a.txt"}"#)
        .call("call_b", "read", r#"{"path":"/b.txt"}"#);
    let desk = provider(
        "gemini",
        Dialect::Gemini,
        vec![thoughtful, Answer::text("One and two."), Answer::text("Still.")],
    );
    let ran = desk.run("what is in them?", &["--model", "gemini/gem-x"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "I look.\n\nOne and two.\n"),
        "{}",
        ran.stderr
    );
    // Another process.
    let again = desk.run("and now?", &["--continue", "--model", "gemini/gem-x"]);
    assert_eq!(again.stdout, "Still.\n", "{}", again.stderr);
    let asked = asked(&desk);
    assert_eq!(asked[0].path, "/v1beta/models/gem-x:streamGenerateContent");
    assert!(asked.iter().all(|one| one.header("x-goog-api-key") == Some(KEY)));
    let (second, third) = (asked[1].json(), asked[2].json());
    // The id of a call is made of the request's bytes, which tell the day.
    let second_id = second["contents"][1]["parts"][2]["functionCall"]["id"].clone();
    let second_id = second_id.as_str().expect("the second call has an id of ours");
    insta::assert_snapshot!(lines(&second["contents"]).replace(second_id, "ID"), @r#"
    {"role":"user","parts":[{"text":"what is in them?"}]}
    {"role":"model","parts":[{"text":"I look."},{"functionCall":{"name":"read","args":{"path":"/a.txt"}},"thoughtSignature":"c2lnbmVk"},{"functionCall":{"id":"ID","name":"read","args":{"path":"/b.txt"}}}]}
    {"role":"user","parts":[{"functionResponse":{"name":"read","response":{"name":"read","content":"     1\tone"}}},{"functionResponse":{"name":"read","response":{"name":"read","content":"     1\ttwo"},"id":"ID"}}]}
    "#);
    let begun = third["contents"].as_array().expect("contents")[..3].to_vec();
    assert_eq!(json!(begun), second["contents"], "the same after a restart");
    assert_whole(&desk.place.last_session());
}

#[test]
fn one_that_speaks_like_chat_completions() {
    let desk = provider(
        "groq",
        Dialect::Chat,
        vec![
            Answer::status(503, "{}"),
            reading_both(),
            Answer::text("One and two."),
        ],
    );
    let ran = desk.run("what is in them?", &["--model", "groq/llama-x"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "I look.\n\nOne and two.\n"),
        "{}",
        ran.stderr
    );
    let asked = desk.asked();
    assert_eq!(
        asked[0].body, asked[1].body,
        "it is asked again with the same request"
    );
    assert_eq!(asked[2].call_ids(), ["call_a", "call_b"]);
    assert_eq!(asked[2].json()["model"], "llama-x");
    assert_whole(&desk.place.last_session());
}

#[test]
fn failures_end_as_those_of_every_model_do() {
    let refused = r#"{"error":{"message":"invalid key hidden-words"}}"#;
    let in_stream = json!({"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}});
    let begun = || Answer::text("Hello there.").without_end();
    let cases = [
        (
            "wrong key",
            "groq",
            Dialect::Chat,
            vec![Answer::status(401, refused)],
        ),
        (
            "wrong key",
            "gemini",
            Dialect::Gemini,
            vec![Answer::status(401, refused)],
        ),
        (
            "no such model",
            "ollama",
            Dialect::Ollama,
            vec![Answer::status(404, r#"{"error":"model 'x' not found"}"#)],
        ),
        ("broken off", "ollama", Dialect::Ollama, vec![begun(); 4]),
        ("broken off", "gemini", Dialect::Gemini, vec![begun(); 4]),
        ("broken off", "groq", Dialect::Chat, vec![begun(); 4]),
        (
            "an error in the stream",
            "gemini",
            Dialect::Gemini,
            vec![begun().event(&in_stream); 4],
        ),
        (
            "refused",
            "gemini",
            Dialect::Gemini,
            vec![Answer::text("I").refused()],
        ),
        ("a web page", "ollama", Dialect::Ollama, vec![Answer::page(); 4]),
    ];
    let mut all = Vec::new();
    for (what, name, dialect, answers) in cases {
        let expected = answers.len();
        let desk = provider(name, dialect, answers);
        let ran = desk.run("hello", &["--model", &format!("{name}/x")]);
        assert_eq!(asked(&desk).len(), expected, "{what} of {name}: {}", ran.stderr);
        all.push(format!("{what}, {name}: {}", told(&ran)));
        assert_whole(&desk.place.last_session());
    }
    insta::assert_snapshot!(all.join("\n"), @"
    wrong key, groq: exit 4: The model gave no answer: the model did not accept the key (status 401: invalid key [key]); check the key of this model in the configuration
    wrong key, gemini: exit 4: The model gave no answer: the model did not accept the key (status 401: invalid key [key]); check the key of this model in the configuration
    no such model, ollama: exit 4: The model gave no answer: the model did not accept the request (there is no model `x` there, status 404: model 'x' not found); check that the configured model and API match
    broken off, ollama: exit 4: The model gave no answer: the model's reply broke off (it ended in the middle); ask again
    broken off, gemini: exit 4: The model gave no answer: the model's reply broke off (it ended in the middle); ask again
    broken off, groq: exit 4: The model gave no answer: the model's reply broke off (it ended in the middle); ask again
    an error in the stream, gemini: exit 4: The model gave no answer: the model is overloaded; try again in a moment, or choose another model
    refused, gemini: exit 4: The model gave no answer: the model declined to answer (SAFETY); put the request differently, or choose another model
    a web page, ollama: exit 4: The model gave no answer: the model's reply broke off (an event is not what this provider says); ask again
    ");
}

#[test]
fn a_call_cut_by_the_token_limit_does_not_run() {
    let cut = Answer::reply()
        .call("call_a", "write", r#"{"path":"/a.txt","content":"half"}"#)
        .cut();
    for (name, dialect) in [("ollama", Dialect::Ollama), ("gemini", Dialect::Gemini)] {
        let desk = provider(name, dialect, vec![cut.clone(), Answer::text("I see.")]);
        let ran = desk.run(
            "write much",
            &["--mode", "bypass", "--model", &format!("{name}/x")],
        );
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (Some(0), "I see.\n"),
            "{}",
            ran.stderr
        );
        assert_eq!(desk.content("a.txt"), "one\n");
        let body = String::from_utf8_lossy(&asked(&desk)[1].body).into_owned();
        assert!(body.contains("the reply reached the token limit"), "{body}");
    }
}

#[test]
fn the_log_does_not_show_what_a_provider_says_nor_the_key() {
    let answer = Answer::status(401, r#"{"error":{"message":"invalid key hidden-words"}}"#);
    let desk = provider("gemini", Dialect::Gemini, vec![answer]);
    let mut command = desk.request("hello", &["--model", "gemini/x", "--log-level", "trace"]);
    command.env("RUST_LOG", "trace");
    // `ran` looks for the key in all that is told.
    assert_eq!(ran(command).code, Some(4));
}
