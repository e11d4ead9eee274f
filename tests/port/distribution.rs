//! Which event comes on which channel.

use std::collections::{BTreeMap, BTreeSet};

use rtc_tests::Workplace;
use rtc_tests::model_server::{Answer, Dialect, ModelServer};
use rtc_tests::serving::Serving;
use serde_json::{Value, json};

use crate::client::{Client, Heard};

/// A client that notes everything that is published.
struct Listener {
    client: Client,
    next: u64,
    /// Channel and update.
    heard: Vec<(&'static str, Value)>,
}

impl Listener {
    fn start(serving: &Serving) -> Self {
        let user = serving.ready["user_id"].as_str().expect("a user");
        let mut listener = Self {
            client: Client::connected(serving.port(), serving.token()),
            next: 2,
            heard: Vec::new(),
        };
        for channel in ["topic", "live"] {
            listener.command(json!({"subscribe": {"channel": format!("{channel}:u={user}")}}));
        }
        listener
    }

    fn command(&mut self, mut command: Value) -> Value {
        command["id"] = json!(self.next);
        self.next += 1;
        self.client.send(&command.to_string());
        loop {
            for frame in self.hear() {
                if frame["id"] == command["id"] {
                    assert_eq!(frame.get("error"), None, "{command}");
                    return frame;
                }
            }
        }
    }

    fn rpc(&mut self, method: &str, data: Value) -> Value {
        self.command(json!({"rpc": {"method": method, "data": data}}))["rpc"]["data"].take()
    }

    /// The next frames; what is published in them is noted.
    fn hear(&mut self) -> Vec<Value> {
        let Heard::Text(text) = self.client.hear() else {
            panic!("the connection ended")
        };
        let frames: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("a frame is JSON"))
            .collect();
        for push in frames.iter().filter_map(|frame| frame.get("push")) {
            let is_live = push["channel"]
                .as_str()
                .is_some_and(|name| name.starts_with("live:"));
            let update = push["pub"]["data"].clone();
            if is_live {
                assert_eq!(push["pub"].get("offset"), None, "what is live has no place");
                assert_eq!(update["offset"], 0);
            } else {
                assert_eq!(push["pub"]["offset"], update["offset"]);
            }
            self.heard.push((if is_live { "live" } else { "topic" }, update));
        }
        frames
    }

    /// Each entity that was told of: channel, kind, what happened, and the entity.
    fn told(&self) -> impl Iterator<Item = (&'static str, &str, &str, &Value)> {
        self.heard.iter().flat_map(|(channel, update)| {
            let items = update["items"].as_array().into_iter().flatten();
            let data = update["data_list"].as_array().into_iter().flatten();
            items.zip(data).map(|(item, data)| {
                let of = |field: &str| item[field].as_str().expect("a text");
                (*channel, of("entity"), of("action"), data)
            })
        })
    }

    fn until(&mut self, is_so: impl Fn(&'static str, &str, &Value) -> bool) {
        let mut seen = 0;
        loop {
            let told = self.told().skip(seen);
            if { told }.any(|(channel, entity, _, data)| is_so(channel, entity, data)) {
                return;
            }
            seen = self.told().count();
            self.hear();
        }
    }
}

fn message(id: &str, session: Option<&Value>) -> Value {
    let mut message = json!({
        "client_session_id": "s", "client_id": id, "content_data": {"type": "text", "data": id},
    });
    if let Some(session) = session {
        message["server_session_id"] = session.clone();
    }
    message
}

#[test]
fn each_event_comes_on_its_channel_and_on_no_other() {
    let place = Workplace::empty();
    std::fs::write(place.root().join("notes.txt"), "chalk\n").expect("a file");
    let long = Answer::text(&"word ".repeat(200));
    let half = long.body(Dialect::Chat).len() / 2;
    let server = ModelServer::in_order([
        Answer::text("I look.").call("c1", "read", r#"{"path":"/notes.txt"}"#),
        Answer::text("Seen."),
        long.stall_after(half),
    ]);
    let config = format!(
        "model = \"scripted\"\n[models.scripted]\napi = \"openai-chat\"\nbase_url = \"{}\"\nmodel = \"m\"\n\
         key_env = \"SCRIPTED_KEY\"\n",
        server.base_url(Dialect::Chat)
    );
    let config_file = place.path().join("config.toml");
    std::fs::write(&config_file, config).expect("the configuration is written");
    let mut command = place.command(&["serve"]);
    command
        .arg("--root")
        .arg(place.root())
        .arg("--config")
        .arg(&config_file);
    command.env("SCRIPTED_KEY", "key");
    let serving = Serving::of(command);
    let mut listener = Listener::start(&serving);

    let sent = listener.rpc("v1.message.send", message("first", None));
    let session = sent["result"]["session_id"].clone();
    // Turns have no title and no content.
    let is_turn = |entity: &str, data: &Value, status: &str| entity == "turn" && data["status"] == status;
    listener.until(|_, entity, data| is_turn(entity, data, "completed"));
    listener.rpc("v1.message.send", message("second", Some(&session)));
    // As far as the model has come: the rest never comes.
    let has_begun = |data: &Value| data["content"].as_str().is_some_and(|text| text.contains("word"));
    listener.until(|channel, _, data| channel == "live" && has_begun(data));
    listener.rpc("v1.turn.stop", json!({ "session_id": session }));
    listener.until(|_, entity, data| is_turn(entity, data, "cancelled"));
    let counted = listener.rpc("v1.session.get", json!({ "session_id": session }))["result"]["item"].take();
    let delete = json!({"session_id": session, "deleted_at": "2026-01-02T03:04:05Z"});
    let reply = listener.rpc("v1.session.update", delete);
    listener.until(|_, entity, data| entity == "session" && !data["deleted_at"].is_null());

    // The whole table: what is not in it came on no channel.
    let mut channels: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for (channel, entity, action, _) in listener.told() {
        channels.entry((entity, action)).or_default().insert(channel);
    }
    let (topic, both) = (BTreeSet::from(["topic"]), BTreeSet::from(["topic", "live"]));
    let table = BTreeMap::from([
        (("session", "created"), topic.clone()),
        (("session", "updated"), topic.clone()),
        (("turn", "created"), topic.clone()),
        (("turn", "updated"), topic.clone()),
        (("message", "created"), topic.clone()),
        (("message", "updated"), both),
        // A call is never `created`: its first sight is an update.
        (("rtc", "updated"), topic),
    ]);
    assert_eq!(channels, table);

    let mut turns = Vec::new();
    for (channel, entity, action, data) in listener.told() {
        match (channel, entity, action) {
            ("live", "message", "updated") => {
                assert_eq!(
                    data["streaming_status"], "streaming",
                    "nothing final on live: {data}"
                );
            }
            ("topic", "message", "updated") => {
                assert_ne!(data["streaming_status"], "streaming", "no piece on topic: {data}");
            }
            ("topic", "turn", "created") => turns.push(data["id"].clone()),
            _ => {}
        }
    }
    assert_eq!(turns.len(), 2);
    assert_ne!(turns[0], turns[1], "each turn is created once");
    // A deletion is an update like any other, and replies carry the updates of the channel.
    let (_, last) = listener.heard.last().expect("an update");
    assert_eq!(reply["updates"], json!([last]));
    // The last count of tokens that was told is the count.
    assert!(
        counted["total_tokens"].as_u64().is_some_and(|count| count > 0),
        "{counted}"
    );
    let told = listener
        .told()
        .filter(|(_, entity, ..)| *entity == "session")
        .last()
        .expect("the session");
    for field in ["total_input_tokens", "total_output_tokens", "total_tokens"] {
        assert_eq!(told.3[field], counted[field], "{field}");
    }
}

/// A reply of the model as it is sent, with what it says it cost.
fn costing(delta: Value, reason: &str) -> Answer {
    let chunk = |delta: Value, reason: Value| json!({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
    let usage = json!({
        "prompt_tokens": 100, "completion_tokens": 30, "total_tokens": 130,
        "prompt_tokens_details": {"cached_tokens": 60},
        "completion_tokens_details": {"reasoning_tokens": 20},
    });
    let events = [
        chunk(delta, Value::Null),
        chunk(json!({}), json!(reason)),
        json!({"id": "c", "choices": [], "usage": usage}),
    ];
    let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    Answer::raw(200, "text/event-stream", &format!("{body}data: [DONE]\n\n"))
}

#[test]
fn every_kind_of_token_is_counted_and_the_last_count_is_told() {
    const CALLS: u64 = 25;
    let place = Workplace::empty();
    std::fs::write(place.root().join("notes.txt"), "chalk\n").expect("a file");
    let read = |n: u64| {
        let function = json!({"name": "read", "arguments": "{\"path\":\"/notes.txt\"}"});
        let call = json!({"index": 0, "id": format!("c{n}"), "type": "function", "function": function});
        costing(json!({"content": "I look.", "tool_calls": [call]}), "tool_calls")
    };
    let model = ModelServer::in_order(
        (0..CALLS)
            .map(read)
            .chain([costing(json!({"content": "Seen."}), "stop")]),
    );
    let serving = Serving::with_model(&place, &model, &[]);
    let mut listener = Listener::start(&serving);
    let sent = listener.rpc("v1.message.send", message("first", None));
    let session = sent["result"]["session_id"].clone();
    listener.until(|_, entity, data| entity == "turn" && data["status"] == "completed");
    let of = json!({ "session_id": session });
    let counted = listener.rpc("v1.session.get", of.clone())["result"]["item"].take();
    let replies = CALLS + 1;
    for (field, each) in [
        ("total_input_tokens", 40),
        ("total_output_tokens", 30),
        ("total_cached_read_tokens", 60),
        ("total_cached_write_tokens", 0),
        ("total_reasoning_tokens", 20),
        ("total_tokens", 130),
    ] {
        assert_eq!(counted[field], json!(each * replies), "{field}");
    }
    assert!(counted["last_token_update_at"].is_string());
    // However quickly the replies come: what was told last is what there is.
    let told = { listener.told() }
        .filter(|(_, entity, ..)| *entity == "session")
        .last();
    assert_eq!(told.map(|(_, _, _, data)| data), Some(&counted));

    let messages =
        listener.rpc("v1.message.list", json!({"session_id": session, "limit": 100}))["result"].take();
    let items = messages["items"].as_array().expect("messages");
    let fields = [
        "input_tokens",
        "output_tokens",
        "total_tokens",
        "cached_tokens",
        "reasoning_tokens",
    ];
    let mut answers = 0;
    for item in items {
        let counts = fields.map(|field| item[field].as_u64());
        if item["role"] == "assistant" {
            answers += 1;
            assert_eq!(counts, [40, 30, 130, 60, 20].map(Some), "{item}");
        } else {
            assert_eq!(counts, [None; 5], "{item}");
        }
    }
    assert_eq!(answers, replies);
}
