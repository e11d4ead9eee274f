//! How `serve` begins, and when it does not.

use std::os::unix::fs::PermissionsExt as _;

use nix::sys::signal::Signal;
use rtc_tests::serving::{Serving, instance};
use rtc_tests::{Workplace, text};
use serde_json::Value;

use crate::client::Client;

/// `serve ARGS` that does not begin: its exit code, and what it says.
fn refused(place: &Workplace, args: &[&str]) -> (Option<i32>, String) {
    let output = place
        .command(&["serve"])
        .args(args)
        .output()
        .expect("rtc-headless starts");
    assert_eq!(text(&output.stdout), "", "nothing is ready");
    let told = text(&output.stderr).replace(&place.path().display().to_string(), "PLACE");
    (output.status.code(), told)
}

#[test]
fn the_ready_line_and_the_instance_say_how_it_is_reached() {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let keys: Vec<&String> = serving.ready.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["url", "port", "token", "user_id"]);
    assert!(serving.path().starts_with("/open?code="), "{}", serving.path());
    let metadata = std::fs::metadata(instance(&place)).expect("instance.json is there");
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    let told: Value =
        serde_json::from_slice(&std::fs::read(instance(&place)).expect("it is read")).expect("JSON");
    assert_eq!(told["address"], format!("127.0.0.1:{}", serving.port()));
    assert_eq!(told["pid"], serving.pid());
    Client::connected(serving.port(), told["token"].as_str().expect("a token"));
}

#[test]
fn what_a_killed_process_left_is_replaced() {
    let place = Workplace::empty();
    let killed = Serving::start(&place, &[]);
    let pid = killed.pid();
    killed.signal(Signal::SIGKILL);
    assert_eq!(killed.end().code, None);
    let left = std::fs::read_to_string(instance(&place)).expect("it is left behind");
    assert!(left.contains(&pid.to_string()), "{left}");
    let serving = Serving::start(&place, &[]);
    let told = std::fs::read_to_string(instance(&place)).expect("it is there");
    assert!(told.contains(&serving.pid().to_string()), "{told}");
    assert_eq!(serving.stop().code, Some(0));
    assert!(!instance(&place).exists());
}

#[test]
fn the_port_is_the_same_after_a_restart_unless_somebody_else_has_it() {
    let place = Workplace::empty();
    let first = Serving::start(&place, &[]);
    let port = first.port();
    first.signal(Signal::SIGKILL);
    first.end();
    let again = Serving::start(&place, &[]);
    assert_eq!(again.port(), port);
    assert_eq!(again.stop().code, Some(0));
    let third = Serving::start(&place, &[]);
    assert_eq!(third.port(), port);
    assert_eq!(third.stop().code, Some(0));
    let taken = std::net::TcpListener::bind(("127.0.0.1", port)).expect("it is free now");
    let other = Serving::start(&place, &[]);
    assert_ne!(other.port(), port);
    drop(taken);
}

#[test]
fn a_second_one_on_the_same_data_does_not_begin() {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let told = refused(&place, &[]);
    insta::assert_snapshot!(told.1, @"rtc-headless: another process is using the data folder PLACE/data; close it first, or name another folder with --data");
    assert_eq!(told.0, Some(2));
    Client::connected(serving.port(), serving.token());
    assert!(instance(&place).exists(), "the first one is still reached");
}

#[test]
fn other_machines_are_served_only_where_that_is_allowed() {
    let place = Workplace::empty();
    let (code, told) = refused(&place, &["--listen", "0.0.0.0:0"]);
    insta::assert_snapshot!(told, @"rtc-headless: `0.0.0.0:0` is reached by other machines, and what is sent is not encrypted: listen on 127.0.0.1, or say --allow-remote where the network is trusted");
    assert_eq!(code, Some(2));
    assert!(!place.data().exists(), "nothing was made");
    let serving = Serving::start(&place, &["--listen", "0.0.0.0:0", "--allow-remote"]);
    Client::connected(serving.port(), serving.token());
}

#[test]
fn what_cannot_be_served_is_told() {
    let place = Workplace::empty();
    let other = Workplace::empty();
    let serving = Serving::start(&other, &[]);
    let taken = format!("127.0.0.1:{}", serving.port());
    let told = [
        &["--listen", "nowhere"][..],
        &["--listen", &taken],
        &["--root", "no/such/folder"],
        &["--model", "nope"],
    ]
    .map(|args| {
        let (code, told) = refused(&place, args);
        assert_eq!(code, Some(2), "{args:?}: {told}");
        told.replace(&taken, "TAKEN").trim_end().to_owned()
    });
    insta::assert_snapshot!(told.join("\n"), @"
    rtc-headless: cannot listen on `nowhere`: it has no port; name HOST:PORT, for example 127.0.0.1:0 (0: any free port)
    rtc-headless: cannot listen on TAKEN: Address already in use (os error 98); name another one with --listen (port 0: any free one)
    rtc-headless: the folder `no/such/folder` does not exist; create it, or choose another folder
    rtc-headless: there is no model `nope`; there are: offline, ollama/MODEL
    ");
}
