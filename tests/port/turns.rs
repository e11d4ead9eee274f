//! Whole turns over the port: what one client asks, what every client hears, what is there after a restart.

use std::collections::BTreeMap;

use rtc_tests::Workplace;
use rtc_tests::serving::Serving;
use serde_json::{Value, json};

use crate::client::{Client, Heard};

/// A client that follows the user's topic.
struct Follower {
    client: Client,
    topic: String,
    next: u64,
    /// Where the stream stands for it.
    position: (u64, String),
    /// The entities as it knows them, by id.
    entities: BTreeMap<String, Value>,
}

impl Follower {
    /// Connects; a client that asks for approvals is shown the calls that wait for one.
    fn start(serving: &Serving, since: Option<(u64, String)>) -> Self {
        let user = serving.ready["user_id"].as_str().expect("a user");
        let mut client = Client::open(serving.port());
        client.ask(json!({"id": 1, "connect": {"token": serving.token(), "data": {"approvals": true}}}));
        let mut follower = Self {
            client,
            topic: format!("topic:u={user}"),
            next: 2,
            position: (0, String::new()),
            entities: BTreeMap::new(),
        };
        let mut subscribe = json!({"channel": follower.topic});
        if let Some((offset, epoch)) = since {
            subscribe["recover"] = json!(true);
            subscribe["offset"] = json!(offset);
            subscribe["epoch"] = json!(epoch);
            follower.position.0 = offset;
        }
        let is_new = subscribe.get("recover").is_none();
        let reply = follower.command(json!({ "subscribe": subscribe }));
        let subscribed = &reply["subscribe"];
        follower.position.1 = subscribed["epoch"].as_str().expect("an epoch").to_owned();
        if is_new {
            follower.position.0 = subscribed["offset"].as_u64().unwrap_or_default();
        } else {
            assert_eq!(subscribed["recovered"], true);
        }
        for publication in subscribed["publications"].as_array().into_iter().flatten() {
            follower.take(publication);
        }
        follower
    }

    fn command(&mut self, mut command: Value) -> Value {
        command["id"] = json!(self.next);
        self.next += 1;
        // What is published meanwhile is heard by recovery at the end; here only the reply counts.
        self.client.send(&command.to_string());
        loop {
            for frame in self.hear() {
                if frame["id"] == command["id"] {
                    assert_eq!(frame.get("error"), None, "{command}");
                    return frame;
                }
                self.push(&frame);
            }
        }
    }

    fn rpc(&mut self, method: &str, data: Value) -> Value {
        self.command(json!({"rpc": {"method": method, "data": data}}))["rpc"]["data"]["result"].take()
    }

    fn hear(&mut self) -> Vec<Value> {
        match self.client.hear() {
            Heard::Text(text) => text
                .lines()
                .map(|line| serde_json::from_str(line).expect("a frame is JSON"))
                .collect(),
            end => panic!("{end:?}"),
        }
    }

    fn push(&mut self, frame: &Value) {
        if frame["push"]["channel"] == self.topic {
            self.take(&frame["push"]["pub"]);
        }
    }

    /// Takes an update; each comes once, in order.
    fn take(&mut self, publication: &Value) {
        let offset = publication["offset"].as_u64().expect("an offset");
        assert_eq!(offset, self.position.0 + 1, "in order, without a hole");
        self.position.0 = offset;
        for entity in publication["data"]["data_list"].as_array().into_iter().flatten() {
            let id = entity["id"].as_str().expect("an id").to_owned();
            self.entities.insert(id, entity.clone());
        }
    }

    /// Follows until something it knows of is so.
    fn until(&mut self, is_so: impl Fn(&Value) -> bool) -> Value {
        loop {
            if let Some(found) = self.entities.values().find(|entity| is_so(entity)) {
                return found.clone();
            }
            for frame in self.hear() {
                self.push(&frame);
            }
        }
    }

    fn turn_is(&mut self, status: &str) {
        // Only turns have a beginning and no offset.
        self.until(|entity| entity.get("started_at").is_some() && entity["status"] == status);
    }
}

fn message(id: &str, text: &str) -> Value {
    json!({
        "client_session_id": "first", "client_id": id,
        "content_data": {"type": "text", "data": text},
    })
}

#[test]
fn a_turn_is_heard_by_every_client_and_by_whoever_comes_later() {
    let place = Workplace::empty();
    std::fs::write(place.root().join("notes.txt"), "buy chalk\n").expect("a file");
    let serving = Serving::start(&place, &[]);
    let mut sender = Follower::start(&serving, None);
    let mut watcher = Follower::start(&serving, None);
    let sent = sender.rpc("v1.message.send", message("m1", "read notes.txt"));
    for follower in [&mut sender, &mut watcher] {
        follower.turn_is("completed");
        let call = follower.until(|entity| entity["tool_name"] == "read" && entity["status"] == "completed");
        assert_eq!(call["session_id"], sent["session_id"]);
    }
    let list = json!({"session_id": sent["session_id"]});
    let messages = watcher.rpc("v1.message.list", list.clone());
    assert!(messages.to_string().contains("buy chalk"), "{messages}");
    let calls = watcher.rpc("v1.rtc.list", list);
    assert_eq!(calls["items"][0]["tool_name"], "read");

    // Missed: half of it, and a restart.
    let (offset, epoch) = sender.position.clone();
    assert_eq!(serving.stop().code, Some(0));
    let serving = Serving::start(&place, &[]);
    let late = Follower::start(&serving, Some((offset / 2, epoch)));
    assert_eq!(late.position, sender.position);
    for (id, entity) in &late.entities {
        assert_eq!(Some(entity), sender.entities.get(id), "{id}");
    }
}

#[test]
fn an_approval_is_answered_by_any_client_once() {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let mut asker = Follower::start(&serving, None);
    let sent = asker.rpc("v1.message.send", message("m1", "run this script: `1 + 1`"));
    let waits = |entity: &Value| entity["approval"]["state"] == "open";
    let call = asker.until(waits);
    assert!(
        call["preview"]["text"]
            .as_str()
            .is_some_and(|code| code.contains("1 + 1"))
    );
    // It is still there for whoever comes now, also after a restart.
    assert_eq!(serving.stop().code, Some(0));
    let serving = Serving::start(&place, &[]);
    let mut other = Follower::start(&serving, Some((0, asker.position.1.clone())));
    let mut third = Follower::start(&serving, Some(asker.position.clone()));
    let call = other.until(waits);
    let answer = json!({"rtc_id": call["id"], "decision": "once"});
    other.rpc("v1.rtc.approve", answer.clone());
    for follower in [&mut other, &mut third] {
        let id = call["id"].clone();
        let done = follower.until(|entity| entity["id"] == id && entity["status"] == "completed");
        assert_eq!(done["approval"]["state"], "approved");
        assert!(done["approval"]["decided_by"].is_string(), "who answered is told");
    }
    let no = json!({"rpc": {"method": "v1.rtc.approve", "data": {"rtc_id": call["id"], "decision": "reject"}}, "id": 99});
    let late = third.client.ask(no);
    let told = late["error"]["message"].as_str().expect("a refusal");
    assert!(told.starts_with("approval.closed"), "{told}");
    third.turn_is("completed");
    let got = third.rpc("v1.session.get", json!({"session_id": sent["session_id"]}));
    assert_eq!(got["item"]["status"], "idle");
}
