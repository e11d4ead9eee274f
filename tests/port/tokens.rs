//! Which tokens let a client in.

use rtc_tests::serving::{Serving, token};
use rtc_tests::{Workplace, text};
use serde_json::{Value, json};

use crate::client::{Client, Heard};

fn invalid() -> Heard {
    Heard::Closed(3500, "invalid token".to_owned())
}

/// `{"alg":"none","typ":"JWT"}` as it stands in a token.
const ALGORITHM_NONE: &str = "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0";

#[test]
fn the_printed_token_connects_also_after_a_restart() {
    let place = Workplace::empty();
    let first = Serving::start(&place, &[]);
    let (printed, user) = (first.token().to_owned(), first.ready["user_id"].clone());
    let mut client = Client::open(first.port());
    let Heard::Text(reply) = client.connect(&printed) else {
        panic!("not connected")
    };
    let reply: Value = serde_json::from_str(&reply).expect("a reply is JSON");
    assert_eq!(reply["connect"]["data"]["user_id"], user);
    assert_eq!(reply["connect"]["pong"], true);
    let unknown = client.ask(json!({"id": 2, "rpc": {"method": "v1.no.such", "data": {}}}));
    assert_eq!(unknown["error"]["code"], 500, "{unknown}");
    let code = unknown["error"]["message"]
        .as_str()
        .and_then(|message| message.split(':').next());
    assert_eq!(code, Some("rpc.method_not_found"));
    assert_eq!(first.stop().code, Some(0));

    let second = Serving::start(&place, &[]);
    assert_eq!(second.ready["user_id"], user);
    Client::connected(second.port(), &printed);
}

#[test]
fn a_client_has_the_channels_of_its_user_and_scopes() {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let user = serving.ready["user_id"].as_str().expect("a user");
    let subscribe = |client: &mut Client, channel: &str| {
        let reply = client.ask(json!({"id": 2, "subscribe": {"channel": channel}}));
        reply["error"]["code"].as_u64()
    };
    let viewer = token(&place, &["--scope", "view", "--ttl", "5m"]);
    let other = token(&place, &["--scope", "converse,approve"]);
    for (name, token, expected) in [("viewer", viewer, None), ("other", other, Some(103))] {
        let mut client = Client::connected(serving.port(), &token);
        for channel in ["topic", "live"] {
            let found = subscribe(&mut client, &format!("{channel}:u={user}"));
            assert_eq!(found, expected, "{name}, {channel}");
        }
        let foreign = "topic:u=00000000-0000-0000-0000-000000000001";
        assert_eq!(subscribe(&mut client, foreign), Some(103), "{name}");
    }
}

#[test]
fn what_is_no_valid_token_ends_the_client() {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let good = serving.token().to_owned();
    let parts: Vec<&str> = good.split('.').collect();
    let elsewhere = token(&Workplace::empty(), &[]);
    let table = [
        ("none", String::new()),
        ("a word", "secret".to_owned()),
        ("of another installation", elsewhere),
        ("without signature", format!("{}.{}.", parts[0], parts[1])),
        ("alg none", format!("{ALGORITHM_NONE}.{}.", parts[1])),
        (
            "alg none with a signature",
            format!("{ALGORITHM_NONE}.{}.{}", parts[1], parts[2]),
        ),
        (
            "another signature",
            format!("{}.{}.{}", parts[0], parts[1], parts[2].to_ascii_uppercase()),
        ),
        ("very long", "x".repeat(60 << 10)),
    ];
    for (case, token) in table {
        assert_eq!(Client::open(serving.port()).connect(&token), invalid(), "{case}");
    }
    Client::connected(serving.port(), &good);
}

#[test]
fn an_expired_token_is_told_as_such() {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let short = token(&place, &["--ttl", "1s"]);
    loop {
        let Heard::Text(reply) = Client::open(serving.port()).connect(&short) else {
            panic!("the client is to get another token, and not to end")
        };
        let reply: Value = serde_json::from_str(&reply).expect("a reply is JSON");
        if reply["connect"].is_object() {
            continue;
        }
        assert_eq!(reply["error"]["code"], 109, "{reply}");
        break;
    }
}

#[test]
fn a_revoked_token_lets_nobody_in_and_ends_who_is_in() {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let lost = token(&place, &[]);
    let mut with_lost = Client::connected(serving.port(), &lost);
    let mut with_printed = Client::connected(serving.port(), serving.token());
    token(&place, &["--revoke", &lost]);
    assert_eq!(with_lost.end(), invalid());
    assert_eq!(Client::open(serving.port()).connect(&lost), invalid());
    let alive = with_printed.ask(json!({"id": 9, "ping": {}}));
    assert_eq!(alive["error"], Value::Null, "another token is not touched");
    serving.stop();
    let later = Serving::start(&place, &[]);
    assert_eq!(Client::open(later.port()).connect(&lost), invalid());
}

#[test]
fn what_a_token_cannot_be_made_for_is_told() {
    let place = Workplace::empty();
    let told = [
        &["--ttl", "soon"][..],
        &["--ttl", "400d"],
        &["--scope", "view,rule"],
        &["--user", "me"],
        &["--revoke", "abc"],
    ]
    .map(|args| {
        let output = place
            .command(&["token"])
            .args(args)
            .output()
            .expect("rtc-headless starts");
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert_eq!(text(&output.stdout), "");
        text(&output.stderr).lines().next().unwrap_or_default().to_owned()
    });
    insta::assert_snapshot!(told.join("\n"), @"
    error: invalid value 'soon' for '--ttl <TIME>': name a number above 0 with s, m, h or d, for example 90m
    rtc-headless: a token is valid for at most 366d; name a shorter --ttl
    error: invalid value 'rule' for '--scope <SCOPES>': there is no scope `rule`; there are: view, converse, approve, execute, serve-tools
    error: invalid value 'me' for '--user <ID>': `me` is not a valid UserId: it is not a UUID
    rtc-headless: the token is not valid, or it was made by another installation; name its data folder with --data
    ");
    let nobody = "00000000-0000-4000-8000-00000000000b";
    let output = place.command(&["token", "--user", nobody]).output();
    let output = output.expect("rtc-headless starts");
    assert_eq!(
        (output.status.code(), text(&output.stdout).as_str()),
        (Some(2), "")
    );
    let told = text(&output.stderr);
    assert!(
        told.contains(&format!("a token for the user {nobody} would let nobody in")),
        "{told}"
    );
    // Naming the user that there is is no fault.
    let serving = Serving::start(&place, &[]);
    let own = token(&place, &["--user", serving.user()]);
    Client::connected(serving.port(), &own);
}
