//! Which model a name means, and what is read of the environment and the project.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use rtc_tests::model_server::{Answer, Dialect, ModelServer};
use rtc_tests::{Workplace, text};

use crate::desk::{Ran, ran};

fn run(place: &Workplace, args: &[&str], environment: &[(&str, &str)]) -> Ran {
    let mut command = place.command(&["run", "hello"]);
    command.arg("--root").arg(place.root()).args(args);
    for (name, value) in environment {
        command.env(name, value);
    }
    ran(command)
}

#[test]
fn a_provider_and_a_model_are_enough() {
    let server = ModelServer::start(|_| Answer::text("Hello."));
    let (chat, messages) = (server.base_url(Dialect::Chat), server.base_url(Dialect::Messages));
    let place = Workplace::empty();
    let openai = [
        ("OPENAI_BASE_URL", chat.as_str()),
        ("OPENAI_API_KEY", "first-words"),
    ];
    let anthropic = [
        ("ANTHROPIC_BASE_URL", messages.as_str()),
        ("ANTHROPIC_API_KEY", "second-words"),
    ];
    assert_eq!(
        run(&place, &["--model", "openai/a/b"], &openai).stdout,
        "Hello.\n"
    );
    assert_eq!(
        run(&place, &["--model", "anthropic/c"], &anthropic).stdout,
        "Hello.\n"
    );
    let from_environment = [("RTC_MODEL", "openai/d"), ("OPENAI_BASE_URL", chat.as_str())];
    assert_eq!(run(&place, &[], &from_environment).stdout, "Hello.\n");
    let asked = server.asked();
    let models: Vec<_> = asked
        .iter()
        .map(|asked| asked.json()["model"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(models, ["a/b", "c", "d"]);
    assert_eq!(asked[0].header("authorization"), Some("Bearer first-words"));
    assert_eq!(asked[1].header("x-api-key"), Some("second-words"));
    assert_eq!(
        asked[2].header("authorization"),
        None,
        "a server of one's own needs no key"
    );
}

#[test]
fn a_missing_key_is_told_when_the_model_is_asked() {
    let ran = run(&Workplace::empty(), &["--model", "openai/gpt-x"], &[]);
    let told = ran
        .stderr
        .lines()
        .rfind(|line| !line.is_empty())
        .unwrap_or_default();
    insta::assert_snapshot!(told, @"The model gave no answer: the model did not accept the key (there is none: the environment variable OPENAI_API_KEY is not set); check the key of this model in the configuration");
    assert_eq!(ran.code, Some(4));
}

#[test]
fn a_key_without_a_name_is_no_choice() {
    let ran = run(&Workplace::empty(), &[], &[("ANTHROPIC_API_KEY", "x")]);
    assert_eq!(ran.code, Some(0));
    insta::assert_snapshot!(ran.stderr.lines().next().unwrap_or_default(), @"ANTHROPIC_API_KEY is set, but no model is named, so the offline model answers; name one with --model anthropic/MODEL or RTC_MODEL=anthropic/MODEL.");
    let named = run(
        &Workplace::empty(),
        &["--model", "offline"],
        &[("ANTHROPIC_API_KEY", "x")],
    );
    assert!(!named.stderr.contains("ANTHROPIC"), "{}", named.stderr);
}

#[test]
fn nothing_of_the_project_says_which_model_or_where() {
    let server = ModelServer::start(|_| Answer::text("I am the wrong one."));
    let place = Workplace::empty();
    let url = server.base_url(Dialect::Chat);
    let config = format!("model = \"x\"\n[models.x]\napi = \"openai-chat\"\nbase_url = \"{url}\"\n");
    let environment = format!("RTC_MODEL=openai/x\nOPENAI_BASE_URL={url}\nOPENAI_API_KEY=k\n");
    std::fs::create_dir(place.root().join(".rtc")).expect("a folder is made");
    for (name, content) in [
        (".env", &environment),
        ("config.toml", &config),
        (".rtc/config.toml", &config),
    ] {
        std::fs::write(place.root().join(name), content).expect("a file is written");
    }
    let mut command = place.command(&["run", "hello", "--root", "."]);
    let output = command
        .current_dir(place.root())
        .output()
        .expect("rtc-headless starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(server.asked().is_empty());
}

#[test]
fn a_proxy_leads_to_models_elsewhere_and_never_to_this_machine() {
    let server = ModelServer::start(|_| Answer::text("Hello."));
    let proxy = server.base_url(Dialect::Messages);
    let far = [
        ("OPENAI_BASE_URL", "http://model.example/v1"),
        ("HTTP_PROXY", proxy.as_str()),
    ];
    let place = Workplace::empty();
    assert_eq!(run(&place, &["--model", "openai/a"], &far).stdout, "Hello.\n");
    assert_eq!(server.asked()[0].header("host"), Some("model.example"));
    let chat = server.base_url(Dialect::Chat);
    let near = [
        ("OPENAI_BASE_URL", chat.as_str()),
        ("HTTP_PROXY", "http://127.0.0.1:1"),
    ];
    assert_eq!(run(&place, &["--model", "openai/b"], &near).stdout, "Hello.\n");
}

#[test]
fn a_proxy_of_https_sees_only_the_host() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let proxy = format!("http://{}", listener.local_addr().expect("an address"));
    // It lets nobody through, as often as it is asked.
    let asked = std::thread::spawn(move || {
        let mut first = String::new();
        for connection in listener.incoming() {
            let mut connection = connection.expect("somebody connects");
            let mut said = String::new();
            let mut lines = BufReader::new(connection.try_clone().expect("a connection"));
            while lines.read_line(&mut said).expect("it is text") > 2 {}
            if said.is_empty() {
                return first;
            }
            assert!(
                !said.contains("first-words"),
                "the key is told to the proxy: {said}"
            );
            first = said.lines().next().unwrap_or_default().to_owned();
            let _ = connection.write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n");
        }
        first
    });
    let environment = [
        ("OPENAI_BASE_URL", "https://model.example/v1"),
        ("OPENAI_API_KEY", "first-words"),
        ("HTTPS_PROXY", proxy.as_str()),
    ];
    let ran = run(&Workplace::empty(), &["--model", "openai/a"], &environment);
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    // A connection that says nothing ends the proxy.
    drop(std::net::TcpStream::connect(proxy.trim_start_matches("http://")).expect("the proxy is there"));
    assert_eq!(
        asked.join().expect("the proxy works"),
        "CONNECT model.example:443 HTTP/1.1"
    );
}
