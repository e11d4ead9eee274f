//! A client that follows the user's topic.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Value, json};

use crate::client::{Client, Heard};
use rtc_tests::serving::Serving;

/// A client that follows the user's topic.
pub(crate) struct Follower {
    pub(crate) client: Client,
    pub(crate) topic: String,
    next: u64,
    /// Not yet looked at.
    heard: VecDeque<Value>,
    /// Where the stream stands for it.
    pub(crate) position: (u64, String),
    /// The entities as it knows them, by id.
    pub(crate) entities: BTreeMap<String, Value>,
    /// Every update of the stream, as it came.
    pub(crate) updates: Vec<Value>,
}

impl Follower {
    /// Connects as the server's own device does; a client that asks for approvals is shown the calls that wait for one.
    pub(crate) fn start(serving: &Serving, since: Option<(u64, String)>) -> Self {
        Self::connect(serving, serving.token(), json!({"approvals": true}), since)
    }

    /// Connects with this token and what it says of itself.
    pub(crate) fn connect(serving: &Serving, token: &str, data: Value, since: Option<(u64, String)>) -> Self {
        let user = serving.user();
        let mut client = Client::open(serving.port());
        let connected = client.ask(json!({"id": 1, "connect": {"token": token, "data": data}}));
        assert!(connected["connect"].is_object(), "{connected}");
        let mut follower = Self {
            client,
            topic: format!("topic:u={user}"),
            next: 2,
            heard: VecDeque::new(),
            position: (0, String::new()),
            entities: BTreeMap::new(),
            updates: Vec::new(),
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

    fn command(&mut self, command: Value) -> Value {
        let reply = self.reply(command);
        assert_eq!(reply.get("error"), None);
        reply
    }

    /// The reply to a command, be it an error.
    fn reply(&mut self, mut command: Value) -> Value {
        command["id"] = json!(self.next);
        self.next += 1;
        self.client.send(&command.to_string());
        loop {
            let frame = self.hear();
            if frame["id"] == command["id"] {
                return frame;
            }
            self.push(&frame);
        }
    }

    /// The result of a method.
    pub(crate) fn rpc(&mut self, method: &str, data: Value) -> Value {
        self.action(method, data)["result"].take()
    }

    /// The whole of what a method gives: its result, and the updates that it made.
    pub(crate) fn action(&mut self, method: &str, data: Value) -> Value {
        self.command(json!({"rpc": {"method": method, "data": data}}))["rpc"]["data"].take()
    }

    /// The code of the error of a method that is refused.
    pub(crate) fn refused(&mut self, method: &str, data: Value) -> String {
        let reply = self.reply(json!({"rpc": {"method": method, "data": data}}));
        let message = reply["error"]["message"].as_str();
        let code = message.and_then(|message| message.split(':').next());
        code.unwrap_or_else(|| panic!("{reply} instead of an error"))
            .to_owned()
    }

    /// Every update of the stream, by pages.
    pub(crate) fn history(&mut self) -> Vec<Value> {
        let mut publications = Vec::<Value>::new();
        loop {
            let after = publications.len();
            let since = json!({"offset": after, "epoch": self.position.1});
            let history = json!({"channel": self.topic, "since": since, "limit": 1000});
            let page = self.command(json!({ "history": history }))["history"].take();
            publications.extend(page["publications"].as_array().into_iter().flatten().cloned());
            if publications.len() == after {
                assert_eq!(page["offset"].as_u64().unwrap_or_default(), after as u64);
                return publications;
            }
        }
    }

    /// Where the stream stands.
    pub(crate) fn stands_at(&mut self) -> u64 {
        let history = self.command(json!({"history": {"channel": self.topic}}));
        history["history"]["offset"].as_u64().unwrap_or_default()
    }

    /// What comes next; several may have come at once.
    fn hear(&mut self) -> Value {
        loop {
            if let Some(frame) = self.heard.pop_front() {
                return frame;
            }
            match self.client.hear() {
                Heard::Text(text) if text == "{}" => self.client.send("{}"),
                Heard::Text(text) => {
                    let frames = text.lines().map(serde_json::from_str);
                    self.heard
                        .extend(frames.map(|frame| frame.expect("a frame is JSON")));
                }
                end => panic!("{end:?}"),
            }
        }
    }

    fn push(&mut self, frame: &Value) {
        let push = &frame["push"];
        // Whoever is unsubscribed hears no more of it.
        if push["channel"] == self.topic && push.get("unsubscribe").is_none() {
            self.take(&push["pub"]);
        }
    }

    /// Takes an update; each comes once, in order.
    fn take(&mut self, publication: &Value) {
        let offset = publication["offset"].as_u64().expect("an offset");
        assert_eq!(offset, self.position.0 + 1, "in order, without a hole");
        self.position.0 = offset;
        self.updates.push(publication.clone());
        for entity in publication["data"]["data_list"].as_array().into_iter().flatten() {
            let id = entity["id"].as_str().expect("an id").to_owned();
            self.entities.insert(id, entity.clone());
        }
    }

    /// Follows until something it knows of is so.
    pub(crate) fn until(&mut self, is_so: impl Fn(&Value) -> bool) -> Value {
        loop {
            if let Some(found) = self.entities.values().find(|entity| is_so(entity)) {
                return found.clone();
            }
            self.follow();
        }
    }

    /// Takes what comes next.
    pub(crate) fn follow(&mut self) {
        let frame = self.hear();
        self.push(&frame);
    }

    /// Follows up to an offset.
    pub(crate) fn reach(&mut self, offset: u64) {
        while self.position.0 < offset {
            self.follow();
        }
    }

    /// Follows until a turn is so.
    pub(crate) fn turn_is(&mut self, status: &str) {
        // Only turns have a beginning and no offset.
        self.until(|entity| entity.get("started_at").is_some() && entity["status"] == status);
    }
}

/// A message of the user, of the session `first`.
pub(crate) fn message(id: &str, text: &str) -> Value {
    json!({
        "client_session_id": "first", "client_id": id,
        "content_data": {"type": "text", "data": text},
    })
}
