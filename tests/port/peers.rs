//! The published clients of two languages, unchanged, over real sockets: each of them goes through the same scenes.

mod ends;
mod peer;

use std::process::Command;

use rtc_tests::Workplace;
use rtc_tests::model_server::{Answer, ModelServer};
use serde_json::{Value, json};

use crate::follower::{Follower, message};
use crate::passage::Passage;
use ends::{
    answers_pings_and_comes_back_after_a_shutdown, asks_for_another_token_where_its_own_has_expired,
    ends_when_its_token_is_revoked, ends_where_it_has_no_other_token, goes_on_with_a_new_token,
    is_let_go_when_it_is_silent, is_let_go_when_it_says_too_much_at_once, notices_that_the_server_is_silent,
};
use peer::{Language, Peer};
use rtc_tests::serving::Serving;

/// Each scene is a test for each client.
macro_rules! scenes {
    ($($scene:ident)+) => {
        mod javascript {
            $(#[test]
            fn $scene() {
                super::$scene(super::Language::JavaScript);
            })+
        }
        mod python {
            $(#[test]
            fn $scene() {
                super::$scene(super::Language::Python);
            })+
        }
    };
}

scenes! {
    connects_subscribes_and_calls
    recovers_what_it_missed
    reads_in_pages_what_is_too_much_to_recover
    learns_that_the_stream_is_another_one
    learns_that_its_position_is_not_reached_any_more
    drops_what_it_kept_when_a_history_is_cleared
    loads_its_state_where_a_position_is_refused
    misses_nothing_and_hears_nothing_twice_when_it_is_cut_off
    answers_pings_and_comes_back_after_a_shutdown
    notices_that_the_server_is_silent
    is_let_go_when_it_is_silent
    goes_on_with_a_new_token
    asks_for_another_token_where_its_own_has_expired
    ends_where_it_has_no_other_token
    ends_when_its_token_is_revoked
    is_let_go_when_it_says_too_much_at_once
}

/// How many updates the reply to a recovery has at most.
const HISTORY_UPDATES: u64 = 1000;

fn topic(serving: &Serving) -> String {
    format!("topic:u={}", serving.user())
}

/// A turn, whole, in a session of its own; the follower has all of it.
fn turn(follower: &mut Follower, id: &str) {
    let mut first = message(id, "list the files");
    first["client_session_id"] = json!(format!("session of {id}"));
    let session = follower.rpc("v1.message.send", first)["session_id"].take();
    let of_session = |entity: &Value| entity["session_id"] == session && entity.get("started_at").is_some();
    follower.until(|entity| of_session(entity) && entity["status"] == "completed");
    follower.until(|entity| entity["id"] == session && entity["status"] == "idle");
    let stands = follower.stands_at();
    follower.reach(stands);
}

/// Renames the session so many times: an update each.
fn rename(follower: &mut Follower, times: u64) {
    let session = follower.until(|entity| entity.get("mode").is_some());
    for number in 0..times {
        let title = format!("title {number}");
        follower.rpc(
            "v1.session.update",
            json!({"session_id": session["id"], "title": title}),
        );
    }
}

/// What was published in a channel that has offsets: each offset once, in order, the last one at `end`, and of what the
/// stream tells of there.
fn assert_is_stream(publications: &[Value], after: u64, end: u64, history: &[Value]) {
    let offsets: Vec<u64> = publications
        .iter()
        .filter_map(|publication| publication["offset"].as_u64())
        .collect();
    let expected: Vec<u64> = (after + 1..=end).collect();
    assert_eq!(offsets, expected);
    for publication in publications {
        let index = usize::try_from(publication["offset"].as_u64().expect("an offset")).expect("a small one");
        let entry = &history[index - 1];
        assert_eq!(publication["offset"], entry["offset"]);
        assert_eq!(publication["data"]["items"], entry["data"]["items"], "at {index}");
    }
    // Entities come as they are when they are told of: who takes them in order has them as they are now.
    for (entity, data) in last_of_each(publications) {
        let found = last_of_each(history);
        assert_eq!(
            found.iter().find(|known| known.0 == entity).map(|known| &known.1),
            Some(&data)
        );
    }
}

/// Each entity as it was told of last.
fn last_of_each(publications: &[Value]) -> Vec<(Value, Value)> {
    let mut known: Vec<(Value, Value)> = Vec::new();
    for publication in publications {
        let data = publication["data"]["data_list"].as_array().into_iter().flatten();
        for entity in data {
            known.retain(|known| known.0 != entity["id"]);
            known.push((entity["id"].clone(), entity.clone()));
        }
    }
    known
}

/// Of a channel, what came and is not yet taken.
fn taken(peer: &mut Peer, channel: &str) -> Vec<Value> {
    let (of_channel, others) = std::mem::take(&mut peer.publications)
        .into_iter()
        .partition(|publication| publication["channel"] == channel);
    peer.publications = others;
    of_channel
}

fn connects_subscribes_and_calls(language: Language) {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let mut follower = Follower::start(&serving, None);
    let mut peer = Peer::connect(
        language,
        serving.port(),
        serving.token(),
        &json!({"data": {"approvals": true}}),
    );
    let connected = peer.hear("connected");
    assert_eq!(connected["data"]["user_id"], serving.user());
    assert_eq!(connected["data"]["protocol"], 1);
    let (topic, live) = (topic(&serving), format!("live:u={}", serving.user()));
    let subscribed = peer.subscribe(&topic);
    assert_eq!(subscribed["was_recovering"], false);
    let start = follower.position.clone();
    assert_eq!(
        subscribed["position"],
        json!({"offset": start.0, "epoch": start.1})
    );
    peer.subscribe(&live);

    let foreign = "topic:u=00000000-0000-0000-0000-000000000001";
    peer.tell("subscribe", json!({"channel": foreign}));
    assert_eq!(peer.hear("subscribing")["channel"], foreign);
    assert_eq!(peer.hear("unsubscribed")["code"], 103);
    let (code, message) = peer.refused("rpc", json!({"method": "v1.no.such", "data": {}}));
    assert_eq!(
        (code, message.split(':').next()),
        (500, Some("rpc.method_not_found"))
    );
    let calls = ["v1.session.list", "v1.no.such", "v1.tools.list"]
        .map(|method| json!({"method": method, "data": {}}));
    peer.tell("batch", json!({"calls": calls}));
    let mut told: Vec<String> = (0..3).map(|_| peer.next()["event"].to_string()).collect();
    told.sort();
    assert_eq!(told, [r#""answer""#, r#""answer""#, r#""refused""#]);

    turn(&mut follower, "m1");
    let end = follower.position.0;
    peer.until(end);
    let history = follower.history();
    assert_is_stream(&taken(&mut peer, &topic), start.0, end, &history);

    peer.tell("unsubscribe", json!({"channel": topic}));
    assert_eq!(peer.hear("unsubscribed")["code"], 0);
    turn(&mut follower, "m2");
    let got = peer.ask("rpc", json!({"method": "v1.session.list", "data": {}}));
    assert!(got["data"]["result"]["items"].is_array(), "{got}");
    assert_eq!(
        taken(&mut peer, &topic),
        [Value::Null; 0],
        "nothing is told any more"
    );
    peer.tell("disconnect", json!({}));
    assert_eq!(peer.skip_to("disconnected")["code"], 0);
}

fn recovers_what_it_missed(language: Language) {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let passage = Passage::to(serving.port(), &[]);
    let mut follower = Follower::start(&serving, None);
    turn(&mut follower, "m1");
    let mut peer = Peer::connect(language, passage.port(), serving.token(), &Value::Null);
    peer.hear("connected");
    let topic = topic(&serving);
    let start = peer.subscribe(&topic)["position"]["offset"]
        .as_u64()
        .expect("an offset");
    assert_eq!(start, follower.position.0);
    passage.close();
    peer.skip_to("connecting");
    turn(&mut follower, "m2");
    passage.open(serving.port());
    let again = peer.skip_to("subscribed");
    assert_eq!(
        (&again["was_recovering"], &again["recovered"]),
        (&json!(true), &json!(true))
    );
    peer.until(follower.position.0);
    turn(&mut follower, "m3");
    let end = follower.position.0;
    peer.until(end);
    let history = follower.history();
    assert_is_stream(&taken(&mut peer, &topic), start, end, &history);
}

fn reads_in_pages_what_is_too_much_to_recover(language: Language) {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let passage = Passage::to(serving.port(), &[]);
    let mut follower = Follower::start(&serving, None);
    turn(&mut follower, "m1");
    let mut peer = Peer::connect(language, passage.port(), serving.token(), &Value::Null);
    peer.hear("connected");
    let topic = topic(&serving);
    let position = peer.subscribe(&topic)["position"].take();
    passage.close();
    peer.skip_to("connecting");
    rename(&mut follower, HISTORY_UPDATES + 1);
    passage.open(serving.port());
    let again = peer.skip_to("subscribed");
    assert_eq!(
        (&again["was_recovering"], &again["recovered"]),
        (&json!(true), &json!(false))
    );
    let start = position["offset"].as_u64().expect("an offset");
    let end = start + HISTORY_UPDATES + 1;
    assert_eq!(
        again["position"],
        json!({"offset": end, "epoch": position["epoch"]})
    );

    let mut pages: Vec<Value> = Vec::new();
    let mut since = position.clone();
    while since["offset"] != end {
        let page = peer.ask("history", json!({"channel": topic, "since": since, "limit": 300}));
        assert_eq!(
            (&page["offset"], &page["epoch"]),
            (&json!(end), &position["epoch"])
        );
        let publications = page["publications"].as_array().expect("publications");
        assert!((1..=300).contains(&publications.len()), "{}", publications.len());
        pages.extend(publications.iter().cloned());
        since["offset"] = pages[pages.len() - 1]["offset"].clone();
    }
    assert_is_stream(&pages, start, end, &follower.history());
    let newest = peer.ask("history", json!({"channel": topic, "limit": 2, "reverse": true}));
    let offsets: Vec<&Value> = newest["publications"]
        .as_array()
        .expect("some")
        .iter()
        .map(|one| &one["offset"])
        .collect();
    assert_eq!(offsets, [&json!(end), &json!(end - 1)]);
    assert_eq!(taken(&mut peer, &topic), [Value::Null; 0]);

    let other = json!({"channel": topic, "since": {"offset": 1, "epoch": "another"}, "limit": 10});
    assert_eq!(peer.refused("history", other).0, 112);
}

/// Ends `serve`, does something to its data, and starts it again; the passage leads there from then on.
fn begin_anew(place: &Workplace, serving: Serving, passage: &Passage, between: impl FnOnce()) -> Serving {
    passage.close();
    assert_eq!(serving.stop().code, Some(0));
    between();
    let serving = Serving::start(place, &[]);
    passage.open(serving.port());
    serving
}

/// How a client comes back to a stream that has begun anew: nothing is recovered, and its old position is refused.
fn subscribed_anew(peer: &mut Peer, topic: &str, position: &Value) -> Value {
    let again = peer.skip_to("subscribed");
    assert_eq!(
        (&again["was_recovering"], &again["recovered"]),
        (&json!(true), &json!(false))
    );
    assert_ne!(again["position"]["epoch"], position["epoch"]);
    let since = json!({"channel": topic, "since": position, "limit": 10});
    assert_eq!(peer.refused("history", since).0, 112);
    again
}

fn learns_that_the_stream_is_another_one(language: Language) {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let passage = Passage::to(serving.port(), &[]);
    turn(&mut Follower::start(&serving, None), "m1");
    let mut peer = Peer::connect(language, passage.port(), serving.token(), &Value::Null);
    peer.hear("connected");
    let topic = topic(&serving);
    let position = peer.subscribe(&topic)["position"].take();
    let serving = begin_anew(&place, serving, &passage, || {
        // Who the user is stands beside the store.
        std::fs::remove_dir_all(place.data().join("store")).expect("the store is removed");
    });
    let again = subscribed_anew(&mut peer, &topic, &position);
    let mut follower = Follower::start(&serving, None);
    let start = follower.position.0;
    assert_eq!(again["position"]["offset"], start);
    turn(&mut follower, "m2");
    peer.until(follower.position.0);
    let history = follower.history();
    assert_is_stream(&taken(&mut peer, &topic), start, follower.position.0, &history);
}

fn learns_that_its_position_is_not_reached_any_more(language: Language) {
    let place = Workplace::empty();
    turn(&mut Follower::start(&Serving::start(&place, &[]), None), "m1");
    let copied = |from: &str, to: &str| {
        let mut copy = Command::new("cp");
        let status = copy
            .arg("-a")
            .arg(place.path().join(from))
            .arg(place.path().join(to))
            .status();
        assert!(status.expect("cp starts").success());
    };
    copied("data", "copy");
    let serving = Serving::start(&place, &[]);
    let passage = Passage::to(serving.port(), &[]);
    let mut follower = Follower::start(&serving, None);
    let early = follower.position.clone();
    turn(&mut follower, "m2");
    let mut peer = Peer::connect(language, passage.port(), serving.token(), &Value::Null);
    peer.hear("connected");
    let topic = topic(&serving);
    assert_eq!(peer.subscribe(&topic)["position"]["offset"], follower.position.0);
    let _serving = begin_anew(&place, serving, &passage, || {
        std::fs::remove_dir_all(place.data()).expect("the data is removed");
        copied("copy", "data");
    });
    let again = peer.skip_to("subscribed");
    assert_eq!(
        (&again["was_recovering"], &again["recovered"]),
        (&json!(true), &json!(false))
    );
    assert_eq!(again["position"], json!({"offset": early.0, "epoch": early.1}));
}

fn drops_what_it_kept_when_a_history_is_cleared(language: Language) {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let mut follower = Follower::start(&serving, None);
    turn(&mut follower, "m1");
    let mut peer = Peer::connect(language, serving.port(), serving.token(), &Value::Null);
    peer.hear("connected");
    let topic = topic(&serving);
    let position = peer.subscribe(&topic)["position"].take();
    let session = follower.until(|entity| entity.get("mode").is_some())["id"].take();
    let mut other = Follower::start(&serving, None);
    other.rpc("v1.history.clear", json!({"session_id": session}));
    let again = subscribed_anew(&mut peer, &topic, &position);
    // From the latest position, and again the same after a restart.
    let mut follower = Follower::start(&serving, None);
    let now = json!({"offset": follower.position.0, "epoch": follower.position.1});
    assert_eq!(again["position"], now);
    turn(&mut follower, "m2");
    peer.until(follower.position.0);
    let start = again["position"]["offset"].as_u64().expect("an offset");
    let history = follower.history();
    assert_is_stream(&taken(&mut peer, &topic), start, follower.position.0, &history);
    let epoch = follower.position.1;
    drop(serving);
    assert_eq!(
        Follower::start(&Serving::start(&place, &[]), None).position.1,
        epoch
    );
}

fn loads_its_state_where_a_position_is_refused(language: Language) {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let mut follower = Follower::start(&serving, None);
    turn(&mut follower, "m1");
    let mut peer = Peer::connect(language, serving.port(), serving.token(), &Value::Null);
    peer.hear("connected");
    let topic = topic(&serving);
    peer.tell("subscribe", json!({"channel": topic, "state": true}));
    let (end, epoch) = follower.position.clone();
    for refused in [
        json!({"offset": 0, "epoch": "another"}),
        json!({"offset": end + 1, "epoch": epoch}),
    ] {
        peer.skip_to("state wanted");
        peer.tell("state", json!({"position": refused}));
    }
    peer.skip_to("state wanted");
    peer.tell("state", json!({"position": {"offset": 0, "epoch": epoch}}));
    assert_eq!(peer.skip_to("subscribed")["recovered"], true);
    peer.until(end);
    let history = follower.history();
    assert_is_stream(&taken(&mut peer, &topic), 0, end, &history);
}

fn misses_nothing_and_hears_nothing_twice_when_it_is_cut_off(language: Language) {
    const TURNS: usize = 6;
    let place = Workplace::empty();
    std::fs::write(place.root().join("notes.txt"), "buy chalk\n".repeat(50)).expect("a file");
    let words = "words of an answer that goes on for a while. ".repeat(20);
    let answers = (0..TURNS).flat_map(|number| {
        let answer = Answer::reply().say(&words);
        let answer = answer.call(&format!("call_{number}_a"), "read", r#"{"path":"/notes.txt"}"#);
        [
            answer.call(&format!("call_{number}_b"), "ls", r#"{"path":"/"}"#),
            Answer::text(&words),
        ]
    });
    let model = ModelServer::in_order(answers);
    let serving = Serving::with_model(&place, &model, &[]);
    // They break off within the handshake, the first replies, what is told as it happens, and what is recovered.
    let lengths = [300, 900, 1700, 3000, 5000, 9000, 14_000, 20_000, 30_000, 50_000];
    let cuts: Vec<usize> = (0..4)
        .flat_map(|round| lengths.map(|length| length + round * 37))
        .collect();
    let passage = Passage::to(serving.port(), &cuts);
    let mut follower = Follower::start(&serving, None);
    let start = follower.position.clone();
    let mut peer = Peer::connect(language, passage.port(), serving.token(), &Value::Null);
    peer.state = json!({"offset": start.0, "epoch": start.1});
    let topic = topic(&serving);
    peer.tell("subscribe", json!({"channel": topic, "state": true}));
    let live = format!("live:u={}", serving.user());
    peer.tell("subscribe", json!({"channel": live}));
    for number in 0..TURNS {
        turn(&mut follower, &format!("m{number}"));
        peer.until(follower.position.0);
    }
    let end = follower.position.0;
    let history = follower.history();
    assert!(
        passage.broken() >= lengths.len(),
        "{} connections broke off",
        passage.broken()
    );
    assert_is_stream(&taken(&mut peer, &topic), start.0, end, &history);
    // What is written is heard meanwhile, as far as it is written and never as if it were whole.
    let told = taken(&mut peer, &live);
    let messages: Vec<&Value> = told
        .iter()
        .filter(|publication| publication["data"].get("items").is_some())
        .collect();
    assert!(
        !messages.is_empty(),
        "nothing was heard of what was being written"
    );
    for publication in messages {
        let item = &publication["data"]["items"][0];
        assert_eq!(
            (&item["entity"], &item["action"]),
            (&json!("message"), &json!("updated"))
        );
        assert_eq!(publication["offset"].as_u64().unwrap_or_default(), 0);
        let message = &publication["data"]["data_list"][0];
        assert_eq!(message["streaming_status"], "streaming");
        let content = message["content"].as_str().expect("a content");
        let content: Value = serde_json::from_str(content).expect("JSON");
        let text = content["data"].as_str().expect("text");
        assert!(words.starts_with(text), "{text}");
    }
}
