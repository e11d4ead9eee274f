//! `models`.

use rtc_tests::Workplace;

use crate::desk::ran;

const CONFIG: &str = r#"
model = "small"
[models.small]
api = "openai-chat"
base_url = "http://user:pass@127.0.0.1:9/v1"
model = "qwen"
context = 32000
[models.big]
api = "anthropic-messages"
key_env = "BIG_KEY"
model = "claude-x"
"#;

fn list(args: &[&str], environment: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let place = Workplace::empty();
    let config = place.path().join("config.toml");
    std::fs::write(&config, CONFIG).expect("the configuration is written");
    let mut command = place.command(&["models"]);
    command.args(args).arg("--config").arg(config);
    for (name, value) in environment {
        command.env(name, value);
    }
    let ran = ran(command);
    assert!(!place.data().exists(), "nothing is opened");
    (ran.code, ran.stdout, ran.stderr)
}

#[test]
fn all_models_are_listed_for_a_person() {
    let (code, told, _) = list(&[], &[("OPENAI_API_KEY", "x")]);
    assert_eq!(code, Some(0));
    insta::assert_snapshot!(told, @"
      offline       needs no key and no network; understands plain requests and is no language model
      big           claude-x, anthropic-messages at https://api.anthropic.com (no key: BIG_KEY is not set)
    * small         qwen, openai-chat at http://127.0.0.1:9/v1
      openai/MODEL  openai-chat at https://api.openai.com/v1
      ollama/MODEL  ollama
    ");
}

#[test]
fn all_models_are_listed_for_a_program() {
    let (code, told, _) = list(
        &["--output", "json"],
        &[("RTC_MODEL", "openai/gpt-x"), ("BIG_KEY", "x")],
    );
    assert_eq!(code, Some(0));
    let list: serde_json::Value = serde_json::from_str(&told).expect("a list");
    let lines: Vec<String> = list
        .as_array()
        .expect("a list")
        .iter()
        .map(ToString::to_string)
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {"name":"offline","api":"offline","model":null,"base_url":null,"spoken":true,"key":"not_needed","context":null,"default":false}
    {"name":"big","api":"anthropic-messages","model":"claude-x","base_url":"https://api.anthropic.com","spoken":true,"key":"set","context":null,"default":false}
    {"name":"small","api":"openai-chat","model":"qwen","base_url":"http://127.0.0.1:9/v1","spoken":true,"key":"not_needed","context":32000,"default":false}
    {"name":"ollama/MODEL","api":"ollama","model":null,"base_url":null,"spoken":true,"key":"not_needed","context":null,"default":false}
    {"name":"openai/gpt-x","api":"openai-chat","model":"gpt-x","base_url":"https://api.openai.com/v1","spoken":true,"key":{"missing":"OPENAI_API_KEY"},"context":null,"default":true}
    "#);
}

#[test]
fn an_unknown_model_lists_what_there_is() {
    let (code, told, error) = list(&["--model", "large"], &[("ANTHROPIC_API_KEY", "x")]);
    assert_eq!((code, told.as_str()), (Some(2), ""));
    insta::assert_snapshot!(error, @"rtc-headless: there is no model `large`; there are: offline, big, small, anthropic/MODEL, ollama/MODEL");
}
