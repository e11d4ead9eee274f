//! A plain WebSocket client: it sends the message, answers for the user, and keeps what it is told of, by its cursor.

use std::collections::{BTreeMap, HashSet};
use std::net::TcpStream;

use rtc_tests::serving::LONGEST;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::client::{IntoClientRequest as _, client};
use tokio_tungstenite::tungstenite::{Message, WebSocket};

/// The connection is gone.
#[derive(Debug)]
pub(crate) struct Gone;

/// What a client keeps from one connection to the next.
#[derive(Default)]
pub(crate) struct Follower {
    /// Its place in the stream, and in which life of it.
    cursor: Option<(u64, String)>,
    /// The entities, by id.
    pub(crate) entities: BTreeMap<String, Value>,
    /// The updates that it was told of, by id.
    updates: HashSet<String>,
}

/// A connection of it.
pub(crate) struct Connection<'a> {
    follower: &'a mut Follower,
    socket: WebSocket<TcpStream>,
    last_id: u64,
    /// The calls that it has answered for the user.
    answered: HashSet<String>,
}

impl Follower {
    /// Follows a turn to its end, if the connection lasts so long.
    pub(crate) fn follow(&mut self, ready: &Value) -> Result<(), Gone> {
        Connection::open(self, ready)?.follow(ready)
    }

    /// Takes an update: each comes once, in order.
    fn take(&mut self, publication: &Value) {
        let (cursor, _) = self.cursor.as_mut().expect("it has subscribed");
        assert_eq!(publication["offset"], *cursor + 1, "in order, without a hole");
        *cursor += 1;
        let update = &publication["data"];
        let id = update["id"].as_str().expect("an update, no gap").to_owned();
        assert!(self.updates.insert(id), "told twice: {update}");
        let entities = update["data_list"].as_array().into_iter().flatten();
        for entity in entities {
            let id = entity["id"].as_str().expect("an id").to_owned();
            self.entities.insert(id, entity.clone());
        }
    }

    /// Whether every turn is over, of which there is one. Only turns have a beginning and an end.
    fn is_over(&self) -> bool {
        let mut turns = self
            .entities
            .values()
            .filter(|entity| entity.get("started_at").is_some());
        turns.next().is_some_and(|turn| !turn["completed_at"].is_null())
    }
}

/// The channel of the user's stream.
fn topic(ready: &Value) -> String {
    format!("topic:u={}", ready["user_id"].as_str().expect("a user"))
}

impl<'a> Connection<'a> {
    /// Connects as the one whom the printed line names.
    pub(crate) fn open(follower: &'a mut Follower, ready: &Value) -> Result<Self, Gone> {
        let port = ready["port"].as_u64().expect("a port");
        let stream = TcpStream::connect(format!("127.0.0.1:{port}")).map_err(|_| Gone)?;
        stream.set_read_timeout(Some(LONGEST)).expect("a timeout is set");
        let request = format!("ws://127.0.0.1:{port}/connection/websocket");
        let request = request.into_client_request().expect("an address");
        let (socket, _) = client(request, stream).map_err(|_| Gone)?;
        let mut connection = Connection {
            follower,
            socket,
            last_id: 0,
            answered: HashSet::new(),
        };
        let connect = json!({"token": ready["token"], "data": {"approvals": true}});
        connection.ask(json!({ "connect": connect }))?;
        Ok(connection)
    }

    /// Listens from where the client stands; a new one from now on.
    pub(crate) fn subscribe(&mut self, ready: &Value) -> Result<(), Gone> {
        let mut subscribe = json!({"channel": topic(ready)});
        let before = self.follower.cursor.clone();
        if let Some((offset, epoch)) = &before {
            subscribe["recover"] = true.into();
            subscribe["offset"] = (*offset).into();
            subscribe["epoch"] = epoch.as_str().into();
        }
        let subscribed = self.ask(json!({ "subscribe": subscribe }))?["subscribe"].take();
        match &before {
            Some((_, epoch)) => {
                assert_eq!(subscribed["recovered"], true, "{subscribed}");
                assert_eq!(subscribed["epoch"], epoch.as_str());
            }
            None => {
                let epoch = subscribed["epoch"].as_str().expect("an epoch");
                let offset = subscribed["offset"].as_u64().unwrap_or_default();
                self.follower.cursor = Some((offset, epoch.to_owned()));
            }
        }
        for publication in subscribed["publications"].as_array().into_iter().flatten() {
            self.follower.take(publication);
        }
        Ok(())
    }

    fn follow(mut self, ready: &Value) -> Result<(), Gone> {
        let is_new = self.follower.cursor.is_none();
        self.subscribe(ready)?;
        // Nothing has happened that it would have to load.
        let place = self.follower.cursor.as_ref().map(|(offset, _)| *offset);
        assert!(!is_new || place == Some(0), "{place:?}");
        // Again each time, as a client does that does not know whether it was heard.
        self.call(
            "v1.message.send",
            json!({
                "client_session_id": "s-1", "client_id": "m-1",
                "content_data": {"type": "text", "data": "make three steps"},
            }),
        )?;
        while !self.follower.is_over() {
            match self.waits() {
                Some(call) => self.answer(&call)?,
                None => self.hear_more()?,
            }
        }
        self.hear_all(ready)
    }

    /// Listens to the end of the stream: each update has its entities as they are by now, so that a turn is heard to be
    /// over before all of it is told.
    fn hear_all(&mut self, ready: &Value) -> Result<(), Gone> {
        let history = json!({"history": {"channel": topic(ready)}});
        let end = self.ask(history)?["history"]["offset"].as_u64().expect("a place");
        while self
            .follower
            .cursor
            .as_ref()
            .is_none_or(|(offset, _)| *offset < end)
        {
            self.hear_more()?;
        }
        Ok(())
    }

    /// Listens until it keeps an entity for which this holds.
    pub(crate) fn wait_for(&mut self, holds: impl Fn(&Value) -> bool) -> Result<(), Gone> {
        while !self.follower.entities.values().any(&holds) {
            self.hear_more()?;
        }
        Ok(())
    }

    fn hear_more(&mut self) -> Result<(), Gone> {
        let frames = self.hear()?;
        frames.iter().for_each(|frame| self.push(frame));
        Ok(())
    }

    /// A call that waits for the user and was not answered.
    fn waits(&self) -> Option<Value> {
        let waits = |entity: &&Value| {
            let is_asked = entity["approval"]["state"] == "open" || entity["outcome"] == "unknown";
            is_asked && !self.answered.contains(&entity["id"].to_string())
        };
        self.follower.entities.values().find(waits).cloned()
    }

    fn answer(&mut self, call: &Value) -> Result<(), Gone> {
        self.answered.insert(call["id"].to_string());
        let (method, decision) = match call["outcome"] == "unknown" {
            true => ("v1.rtc.resolve", "tell"),
            false => ("v1.rtc.approve", "once"),
        };
        self.call(method, json!({"rtc_id": call["id"], "decision": decision}))?;
        Ok(())
    }

    /// Calls a method and gives its result.
    pub(crate) fn call(&mut self, method: &str, data: Value) -> Result<Value, Gone> {
        let mut reply = self.ask(json!({"rpc": {"method": method, "data": data}}))?;
        Ok(reply["rpc"]["data"]["result"].take())
    }

    /// Sends a command and gives its reply; what is told meanwhile is kept.
    fn ask(&mut self, mut command: Value) -> Result<Value, Gone> {
        self.last_id += 1;
        command["id"] = self.last_id.into();
        self.socket
            .send(Message::text(command.to_string()))
            .map_err(|_| Gone)?;
        let mut found = None;
        while found.is_none() {
            for frame in self.hear()? {
                if frame["id"] == command["id"] {
                    assert_eq!(frame.get("error"), None, "{command}");
                    found = Some(frame);
                } else {
                    self.push(&frame);
                }
            }
        }
        Ok(found.expect("it was looked for"))
    }

    fn push(&mut self, frame: &Value) {
        if let Some(publication) = frame["push"].get("pub") {
            self.follower.take(publication);
        }
    }

    /// The next frames.
    fn hear(&mut self) -> Result<Vec<Value>, Gone> {
        loop {
            match self.socket.read() {
                Ok(Message::Text(text)) => {
                    let lines = text.lines();
                    return Ok(lines
                        .map(|line| serde_json::from_str(line).expect("a frame is JSON"))
                        .collect());
                }
                Ok(Message::Close(_)) | Err(_) => return Err(Gone),
                Ok(_) => {}
            }
        }
    }
}
