//! How `serve` ends, and what it has logged.

use nix::sys::signal::Signal;
use rtc_tests::Workplace;
use rtc_tests::model_server::{Answer, Dialect, ModelServer};
use rtc_tests::serving::{Serving, instance};

use serde_json::json;

use crate::client::{Client, Heard, request, socket};
use crate::follower::{Follower, message};

#[test]
fn told_to_end_it_tells_its_clients_to_come_back() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let place = Workplace::empty();
        let serving = Serving::start(&place, &[]);
        let mut clients: Vec<Client> = (0..8)
            .map(|_| Client::connected(serving.port(), serving.token()))
            .collect();
        // Neither who has not connected nor who says nothing keeps it.
        let mut unproven = Client::open(serving.port());
        let _silent = socket(serving.port());
        serving.signal(signal);
        for client in clients.iter_mut().chain([&mut unproven]) {
            assert_eq!(client.end(), Heard::Closed(3001, "shutdown".to_owned()));
        }
        let ended = serving.end();
        assert_eq!((ended.code, &*ended.log), (Some(0), ""), "{signal}");
        assert!(!instance(&place).exists());
    }
}

#[test]
fn the_log_holds_no_secret() {
    let place = Workplace::empty();
    std::fs::write(place.root().join("diary.txt"), "first secret line\n").expect("a file");
    let edit = r#"{"path":"/diary.txt","old_string":"first secret line","new_string":"second secret line"}"#;
    let model = ModelServer::in_order([
        Answer::reply().call("a", "read", r#"{"path":"/diary.txt"}"#),
        Answer::reply().call("b", "edit", edit),
        Answer::text("The hidden answer."),
    ]);
    let config = format!(
        "model = \"scripted\"\n[models.scripted]\napi = \"openai-chat\"\nbase_url = \"{}\"\nmodel = \"m\"\n\
         key_env = \"SCRIPTED_KEY\"\n",
        model.base_url(Dialect::Chat)
    );
    let config_file = place.path().join("config.toml");
    std::fs::write(&config_file, config).expect("the configuration is written");
    let mut command = place.command(&["serve", "--log-level", "trace"]);
    command
        .arg("--root")
        .arg(place.root())
        .arg("--config")
        .arg(&config_file);
    command.env("SCRIPTED_KEY", "sk-very-private");
    let serving = Serving::of(command);
    let mut follower = Follower::start(&serving, None);
    let mut send = message("m1", "change my diary");
    send["mode"] = json!("edit");
    follower.rpc("v1.message.send", send);
    follower.turn_is("completed");
    let changed = std::fs::read_to_string(place.root().join("diary.txt")).expect("the file is there");
    assert_eq!(
        changed, "second secret line\n",
        "the turn has done what it was to do"
    );
    assert_eq!(
        model.asked()[0].header("authorization"),
        Some("Bearer sk-very-private")
    );
    let opened = request(serving.port(), &format!("GET {}", serving.path()), &[]);
    let cookie = opened
        .header("set-cookie")
        .and_then(|set| set.split(';').next())
        .expect("a cookie")
        .to_owned();
    let told = request(serving.port(), "POST /auth/token", &[("Cookie", &*cookie)]);
    let mut client = Client::connected(serving.port(), serving.token());
    client.ask(
        serde_json::json!({"id": 2, "rpc": {"method": "v1.message.send", "data": {"text": "private words"}}}),
    );
    client.send("not a command: private words");
    client.end();
    Client::open(serving.port()).connect("wrong-token");
    let page: serde_json::Value = serde_json::from_str(&told.body).expect("JSON");
    let secrets = [
        serving.token().to_owned(),
        serving.path().trim_start_matches("/open?code=").to_owned(),
        cookie.split_once('=').expect("a cookie has a value").1.to_owned(),
        page["token"].as_str().expect("a token").to_owned(),
        "wrong-token".to_owned(),
        "private words".to_owned(),
        "sk-very-private".to_owned(),
        "secret line".to_owned(),
        "change my diary".to_owned(),
        "hidden answer".to_owned(),
    ];
    let log = serving.stop().log;
    assert!(log.contains("the port is open"), "{log}");
    for secret in secrets {
        // A signature alone would be enough to tell.
        let part = secret.rsplit('.').next().expect("a part");
        assert!(!log.contains(part), "{secret} stands in the log");
    }
}
