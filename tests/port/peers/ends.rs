//! How connections end and go on: pings, tokens, the end of the server, and too large frames.

use nix::sys::signal::Signal;
use rtc_tests::Workplace;
use serde_json::{Value, json};

use super::peer::{Language, Peer};
use super::{assert_is_stream, taken, topic, turn};
use crate::client::{Client, Heard};
use crate::follower::{Follower, message};
use crate::passage::Passage;
use rtc_tests::serving::{LONGEST, Serving, token};

pub(super) fn answers_pings_and_comes_back_after_a_shutdown(language: Language) {
    let place = Workplace::empty();
    let first = Serving::start(&place, &[]);
    let mut peer = Peer::connect(language, first.port(), first.token(), &Value::Null);
    peer.hear("connected");
    let topic = topic(&first);
    peer.subscribe(&topic);
    peer.pong();
    let port = format!("127.0.0.1:{}", first.port());
    assert_eq!(first.stop().code, Some(0));
    let left = peer.skip_to("connecting");
    assert_eq!(
        (&left["code"], &left["reason"]),
        (&json!(3001), &json!("shutdown"))
    );
    let second = Serving::start(&place, &["--listen", &port]);
    assert_eq!(peer.skip_to("subscribed")["recovered"], true);
    let mut follower = Follower::start(&second, None);
    turn(&mut follower, "m1");
    peer.until(follower.position.0);
}

pub(super) fn notices_that_the_server_is_silent(language: Language) {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let more = json!({"patience": 500});
    let mut peer = Peer::connect(language, serving.port(), serving.token(), &more);
    peer.hear("connected");
    peer.subscribe(&topic(&serving));
    serving.signal(Signal::SIGSTOP);
    let left = peer.skip_to("connecting");
    assert!(left["reason"] == "no ping" || left["code"] == 2, "{left}");
    serving.signal(Signal::SIGCONT);
    assert_eq!(peer.skip_to("subscribed")["recovered"], true);
}

pub(super) fn is_let_go_when_it_is_silent(language: Language) {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let passage = Passage::to(serving.port(), &[]);
    let mut peer = Peer::connect(language, passage.port(), serving.token(), &Value::Null);
    peer.hear("connected");
    peer.subscribe(&topic(&serving));
    peer.signal(Signal::SIGSTOP);
    passage.ended.recv_timeout(LONGEST).expect("the server ends it");
    peer.signal(Signal::SIGCONT);
    let left = peer.skip_to("connecting");
    assert_eq!(
        (&left["code"], &left["reason"]),
        (&json!(3012), &json!("no pong"))
    );
    assert_eq!(peer.skip_to("subscribed")["recovered"], true);
}

pub(super) fn goes_on_with_a_new_token(language: Language) {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    // Time enough to connect and subscribe also on a busy machine; it is waited out.
    let short = token(&place, &["--ttl", "10s"]);
    let mut follower = Follower::start(&serving, None);
    let mut peer = Peer::connect(language, serving.port(), &short, &json!({"provider": true}));
    peer.hear("connected");
    let topic = topic(&serving);
    let start = peer.subscribe(&topic)["position"]["offset"]
        .as_u64()
        .unwrap_or_default();
    let title = |peer: &mut Peer| {
        peer.tell(
            "rpc",
            json!({"method": "v1.message.send", "data": message("m1", "hello")}),
        )
    };
    title(&mut peer);
    peer.skip_to("answer");
    peer.skip_to("token wanted");
    let viewing = token(&place, &["--scope", "view"]);
    peer.tell("token", json!({"token": viewing}));
    // The new token allows less: from when it is taken, this is refused.
    let refused = loop {
        title(&mut peer);
        let event = peer.next();
        if event["event"] == "refused" {
            break event;
        }
        assert_eq!(event["event"], "answer", "{event}: the connection goes on");
    };
    assert!(
        refused["message"]
            .as_str()
            .is_some_and(|told| told.starts_with("auth.permission_denied")),
        "{refused}"
    );
    turn(&mut follower, "m2");
    peer.until(follower.position.0);
    let history = follower.history();
    assert_is_stream(&taken(&mut peer, &topic), start, follower.position.0, &history);
}

/// A token that has expired.
fn expired(place: &Workplace, serving: &Serving) -> String {
    let short = token(place, &["--ttl", "1s"]);
    loop {
        match Client::open(serving.port()).connect(&short) {
            Heard::Text(reply) if reply.contains("\"connect\"") => {}
            Heard::Text(reply) => {
                assert!(reply.contains("109"), "{reply}");
                return short;
            }
            end => panic!("{end:?}"),
        }
    }
}

pub(super) fn asks_for_another_token_where_its_own_has_expired(language: Language) {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let old = expired(&place, &serving);
    let mut peer = Peer::connect(language, serving.port(), &old, &json!({"provider": true}));
    peer.skip_to("token wanted");
    peer.tell("token", json!({"token": serving.token()}));
    peer.hear("connected");
    peer.subscribe(&topic(&serving));
}

pub(super) fn ends_where_it_has_no_other_token(language: Language) {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let old = expired(&place, &serving);
    let mut peer = Peer::connect(language, serving.port(), &old, &Value::Null);
    let ended = peer.skip_to("disconnected");
    assert_eq!(
        (&ended["code"], &ended["reason"]),
        (&json!(1), &json!("unauthorized"))
    );
}

pub(super) fn ends_when_its_token_is_revoked(language: Language) {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let lost = token(&place, &[]);
    let mut peer = Peer::connect(language, serving.port(), &lost, &Value::Null);
    peer.hear("connected");
    peer.subscribe(&topic(&serving));
    token(&place, &["--revoke", &lost]);
    let ended = peer.skip_to("disconnected");
    assert_eq!(
        (&ended["code"], &ended["reason"]),
        (&json!(3500), &json!("invalid token"))
    );
}

pub(super) fn is_let_go_when_it_says_too_much_at_once(language: Language) {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let mut peer = Peer::connect(language, serving.port(), serving.token(), &Value::Null);
    peer.hear("connected");
    peer.tell(
        "rpc",
        json!({"method": "v1.session.list", "data": {"cursor": "x".repeat(5 << 20)}}),
    );
    match language {
        // It takes that for the end.
        Language::JavaScript => assert_eq!(peer.skip_to("disconnected")["code"], 3),
        Language::Python => {
            assert_eq!(peer.skip_to("connecting")["code"], 3);
            peer.skip_to("connected");
        }
    }
}
