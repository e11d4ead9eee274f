//! One connection, from the client's side.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use rtc_realtime::{MemoryPeer, PROTOCOL, PeerEvent};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::Client;
use super::act::Act;
use super::kept::{Taken, is_over, items, waits_for_a_yes};
use super::services::HERE;
use crate::Sabotage;
use crate::user::USER;

/// How long an update may be held back that is to come after the next one.
const HELD: Duration = Duration::from_millis(30);
/// How long a client waits after a refusal for want of room.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// What a client keeps is an effect of its own at one update in so many.
const SEEN: u64 = 4;

/// What a command was for.
pub(super) enum Question {
    Connect,
    Topic,
    Live,
    /// What comes after a place.
    History(u64),
    Sessions,
    /// The turns, messages or calls of a session.
    Records,
    /// Something that the user does.
    Act(Act),
    /// An answer for the user; of which call, if a program is to run again by it.
    Answer(Option<Arc<str>>),
}

/// What is loaded anew, and from which place on the stream goes on.
pub(super) struct Loading {
    cursor: (u64, Arc<str>),
    entities: BTreeMap<Arc<str>, Arc<Value>>,
}

pub(super) struct Talk<'a> {
    pub(super) client: &'a mut Client,
    peer: MemoryPeer,
    /// After how many replies it breaks off.
    lines: Option<usize>,
    last_id: u32,
    questions: HashMap<u32, Question>,
    /// The place of which the connection tells next.
    next: Option<u64>,
    /// The messages that it has told of as whole.
    whole: HashSet<String>,
    pub(super) loading: Option<Loading>,
    /// Updates that cannot be taken yet.
    waiting: BTreeMap<u64, Value>,
    is_filling: bool,
    held: Option<(u64, Value)>,
    /// The call for which an answer is under way, and what is known of it.
    pub(super) answering: Option<Arc<Value>>,
    /// Something that the user does is under way.
    pub(super) is_acting: bool,
    pub(super) tries_again: bool,
    /// Sabotage only: told, and not kept yet.
    behind: Option<Value>,
    last_live: Option<Value>,
}

/// Whether the connection goes on.
enum Goes {
    On,
    /// It has broken off.
    Off,
}

impl<'a> Talk<'a> {
    pub(super) fn new(client: &'a mut Client, peer: MemoryPeer, lines: Option<usize>) -> Self {
        Self {
            client,
            peer,
            lines,
            last_id: 0,
            questions: HashMap::new(),
            next: None,
            whole: HashSet::new(),
            loading: None,
            waiting: BTreeMap::new(),
            is_filling: false,
            held: None,
            answering: None,
            is_acting: false,
            tries_again: false,
            behind: None,
            last_live: None,
        }
    }

    fn is(&self, sabotage: Sabotage) -> bool {
        self.client.world.sabotage == sabotage
    }

    /// Until the connection breaks off. An error says what must not be.
    pub(super) async fn listen(mut self) -> Result<(), String> {
        let plan = &self.client.plan;
        let token = if self.client.number == 0 { HERE } else { "" };
        let data = json!({
            "approvals": plan.approvals || self.is(Sabotage::ShowsEverything),
            "live": if plan.pieces { "delta" } else { "full" },
            "protocol": PROTOCOL,
        });
        self.ask(
            Question::Connect,
            json!({"connect": {"token": token, "data": data}}),
        )
        .await;
        loop {
            // Whoever acts also goes by what was acknowledged, of which nothing is told.
            let looks_again = self.tries_again || self.client.plan.acts;
            let event = if self.held.is_some() || looks_again {
                let time = if self.held.is_some() && !self.tries_again {
                    HELD
                } else {
                    TRY_AGAIN
                };
                timeout(time, self.peer.receive()).await.ok()
            } else {
                Some(self.peer.receive().await)
            };
            match event {
                Some(PeerEvent::Frame(frame)) => {
                    self.take_time().await;
                    for line in frame.lines() {
                        if let Goes::Off = self.line(line).await? {
                            return Ok(());
                        }
                    }
                }
                // What it was about to tell could not be read.
                Some(_) if self.client.world.with(|facts| facts.has_failed) => return Ok(()),
                // A connection that was in the middle of something is too slow then, and the client comes back.
                Some(_) if self.client.world.has_slept() => return Ok(()),
                Some(end) => return Err(format!("the connection was ended: {end:?}")),
                None => {
                    self.tries_again = false;
                    self.release().await?;
                }
            }
            self.answer().await;
            self.act().await;
        }
    }

    /// A network is slow now and then.
    async fn take_time(&mut self) {
        if !self.client.plan.troubled {
            return;
        }
        match self.client.rng.u8(..32) {
            0 => sleep(Duration::from_secs(1)).await,
            1..8 => sleep(Duration::from_millis(self.client.rng.u64(..60))).await,
            _ => {}
        }
    }

    /// One in four, where the network is bad.
    fn happens(&mut self) -> bool {
        self.client.plan.troubled && self.client.rng.u8(..4) == 0
    }

    pub(super) async fn ask(&mut self, question: Question, mut command: Value) {
        self.last_id += 1;
        command["id"] = self.last_id.into();
        self.questions.insert(self.last_id, question);
        // Whoever is gone is heard of.
        let _ = self.peer.send(command.to_string()).await;
    }

    pub(super) async fn call(&mut self, question: Question, method: &str, data: Value) {
        self.ask(question, json!({"rpc": {"method": method, "data": data}}))
            .await;
    }

    async fn line(&mut self, line: &str) -> Result<Goes, String> {
        if let Some(lines) = &mut self.lines {
            if *lines == 0 {
                return Ok(Goes::Off);
            }
            *lines -= 1;
        }
        let mut reply: Value = serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))?;
        if let Some(push) = reply.get_mut("push") {
            return self.pushed(push).await;
        }
        let Some(id) = reply.get("id").and_then(Value::as_u64) else {
            let _ = self.peer.send("{}").await;
            return Ok(Goes::On);
        };
        let question = u32::try_from(id).ok().and_then(|id| self.questions.remove(&id));
        let question = question.ok_or_else(|| format!("a reply to nothing: {line}"))?;
        self.replied(question, reply).await
    }

    async fn pushed(&mut self, push: &mut Value) -> Result<Goes, String> {
        if push.get("unsubscribe").is_some() {
            return Ok(Goes::Off);
        }
        let is_topic = push["channel"]
            .as_str()
            .is_some_and(|name| name.starts_with("topic:"));
        let publication = push["pub"].take();
        if !is_topic {
            return self.told_live(&publication["data"]).map(|()| Goes::On);
        }
        let offset = publication["offset"].as_u64().unwrap_or_default();
        if self.is(Sabotage::SkipsUpdates) && offset.is_multiple_of(3) {
            return Ok(Goes::On);
        }
        self.told(publication).await?;
        Ok(Goes::On)
    }

    /// The next publication of the stream, on its way to what is kept.
    async fn told(&mut self, mut publication: Value) -> Result<(), String> {
        let offset = publication["offset"].as_u64().unwrap_or_default();
        if self.next != Some(offset) {
            return Err(format!(
                "the connection tells of update {offset}, not of {:?}",
                self.next
            ));
        }
        self.next = Some(offset + 1);
        let update = publication["data"].take();
        self.look(&update)?;
        for (_, id, entity) in items(&update) {
            if entity.get("streaming_status").is_some() && is_over(entity) {
                self.whole.insert(id.to_owned());
                if self.is(Sabotage::TellsLate)
                    && let Some(late) = self.last_live.take()
                {
                    self.told_live(&late)?;
                }
            }
        }
        self.deliver(offset, update).await
    }

    /// Whether an update is one for the stream, and for this client.
    fn look(&self, update: &Value) -> Result<(), String> {
        for (item, _, entity) in items(update) {
            let what = (item["entity"].as_str().unwrap_or_default(), &item["action"]);
            if what.1 == "deleted" || what == ("rtc", &json!("created")) {
                return Err(format!("the stream tells of {item}"));
            }
            if what == ("message", &json!("updated")) && !is_over(entity) {
                return Err(format!(
                    "the stream tells of a message that is not whole: {entity}"
                ));
            }
            self.may_see(entity)?;
        }
        Ok(())
    }

    fn may_see(&self, entity: &Value) -> Result<(), String> {
        if !self.client.plan.approvals && waits_for_a_yes(entity) {
            return Err(format!("it is shown a call that waits for a Yes: {entity}"));
        }
        Ok(())
    }

    fn told_live(&mut self, data: &Value) -> Result<(), String> {
        let late = |id: &str| format!("text of {id} is told live, and it is whole");
        if data["type"] == "delta" {
            let id = data["data"]["message_id"].as_str().unwrap_or_default();
            if self.whole.contains(id) {
                return Err(late(id));
            }
        }
        for (item, id, entity) in items(data) {
            if item["entity"] != "message" || item["action"] != "updated" || is_over(entity) {
                return Err(format!("{item} is told live: {entity}"));
            }
            if self.whole.contains(id) {
                return Err(late(id));
            }
        }
        if self.is(Sabotage::TellsLate) {
            self.last_live = Some(data.clone());
        }
        Ok(())
    }

    /// Twice now and then, or after the next one.
    async fn deliver(&mut self, offset: u64, update: Value) -> Result<(), String> {
        if self.held.is_none() && self.happens() {
            self.held = Some((offset, update));
            return Ok(());
        }
        if self.happens() {
            self.take(offset, update.clone()).await?;
        }
        self.take(offset, update).await?;
        self.release().await
    }

    async fn release(&mut self) -> Result<(), String> {
        match self.held.take() {
            Some((offset, update)) => self.take(offset, update).await,
            None => Ok(()),
        }
    }

    /// Keeps an update, and those that waited for it; asks for what is missing before it.
    async fn take(&mut self, offset: u64, update: Value) -> Result<(), String> {
        self.waiting.insert(offset, update);
        if self.loading.is_some() {
            return Ok(());
        }
        while let Some((offset, update)) = self.waiting.pop_first() {
            match self.keep(offset, &update)? {
                Taken::Known => {}
                Taken::Kept => {
                    let (number, seed) = (self.client.number, self.client.plan.seed);
                    if offset.wrapping_add(seed).is_multiple_of(SEEN) {
                        let what = || format!("client {number} keeps update {offset}");
                        self.client.world.effect(what, |_| {});
                    }
                }
                Taken::Early => {
                    self.waiting.insert(offset, update);
                    self.fill().await;
                    break;
                }
            }
        }
        Ok(())
    }

    fn keep(&mut self, offset: u64, update: &Value) -> Result<Taken, String> {
        if !self.is(Sabotage::CursorRunsAhead) {
            return self.client.kept(|kept| kept.take(offset, update));
        }
        let place = json!({"id": update["id"]});
        let behind = self.behind.replace(update.clone());
        self.client.kept(|kept| {
            if let Some(behind) = behind {
                kept.keep_all(&behind)?;
            }
            kept.take(offset, &place)
        })
    }

    async fn fill(&mut self) {
        if self.is_filling {
            return;
        }
        self.is_filling = true;
        let Some((offset, epoch)) = self.client.kept(|kept| kept.cursor.clone()) else {
            return;
        };
        let limit = self.client.rng.u8(1..=3);
        let since = json!({"offset": offset, "epoch": &*epoch});
        let history = json!({"channel": format!("topic:u={USER}"), "limit": limit, "since": since});
        self.ask(Question::History(offset), json!({"history": history}))
            .await;
    }

    async fn replied(&mut self, question: Question, mut reply: Value) -> Result<Goes, String> {
        if let Question::Answer(program) = question {
            return self.answered(program, reply).await.map(|()| Goes::On);
        }
        if let Question::Act(act) = question {
            return self.acted(act, reply).await.map(|()| Goes::On);
        }
        if let Some(error) = reply.get("error") {
            if self.client.world.with(|facts| facts.has_failed) {
                return Ok(Goes::Off);
            }
            return Err(format!("an error: {error}"));
        }
        match question {
            Question::Connect => self.subscribe().await,
            Question::Topic => self.subscribed(reply["subscribe"].take()).await?,
            Question::Live | Question::Act(_) | Question::Answer(_) => {}
            Question::History(after) => {
                self.is_filling = false;
                let mut history = reply["history"].take();
                let Value::Array(publications) = history["publications"].take() else {
                    return Err("history has nothing that it has just told of".to_owned());
                };
                for (offset, mut publication) in (after + 1..).zip(publications) {
                    if publication["offset"] != offset {
                        return Err(format!(
                            "history does not go on with update {offset}: {publication}"
                        ));
                    }
                    let update = publication["data"].take();
                    self.look(&update)?;
                    self.take(offset, update).await?;
                }
            }
            Question::Sessions => {
                let sessions = self.loaded(&reply)?;
                for id in sessions {
                    for method in ["v1.turn.list", "v1.message.list", "v1.rtc.list"] {
                        let of = json!({"session_id": id, "limit": 1_000});
                        self.call(Question::Records, method, of).await;
                    }
                }
                self.has_loaded().await?;
            }
            Question::Records => {
                self.loaded(&reply)?;
                self.has_loaded().await?;
            }
        }
        Ok(Goes::On)
    }

    async fn subscribe(&mut self) {
        let mut topic = json!({"channel": format!("topic:u={USER}")});
        if let Some((offset, epoch)) = self.client.kept(|kept| kept.cursor.clone()) {
            topic["recover"] = true.into();
            topic["offset"] = offset.into();
            topic["epoch"] = (&*epoch).into();
        }
        self.ask(Question::Topic, json!({"subscribe": topic})).await;
        let live = json!({"channel": format!("live:u={USER}")});
        self.ask(Question::Live, json!({"subscribe": live})).await;
    }

    async fn subscribed(&mut self, mut result: Value) -> Result<(), String> {
        let offset = result["offset"].as_u64().unwrap_or_default();
        let epoch: Arc<str> = result["epoch"].as_str().unwrap_or_default().into();
        self.next = Some(offset + 1);
        let cursor = self.client.kept(|kept| kept.cursor.clone());
        if result["recovered"] == true {
            if cursor != Some((offset, epoch)) {
                return Err(format!(
                    "what was recovered goes on from {offset}, not from {cursor:?}"
                ));
            }
            let mut publications = match result["publications"].take() {
                Value::Array(publications) => publications,
                _ => Vec::new(),
            };
            if self.is(Sabotage::RecoversAPart) {
                publications.pop();
            }
            for publication in publications {
                self.told(publication).await?;
            }
            return Ok(());
        }
        self.loading = Some(Loading {
            cursor: (offset, epoch),
            entities: BTreeMap::new(),
        });
        self.call(Question::Sessions, "v1.session.list", json!({})).await;
        Ok(())
    }

    /// Takes a page of what is loaded anew, and gives the ids.
    fn loaded(&mut self, reply: &Value) -> Result<Vec<Arc<str>>, String> {
        let result = &reply["rpc"]["data"]["result"];
        if result.get("next_cursor").is_some() {
            return Err("more than a page is stored".to_owned());
        }
        let list = result["items"].as_array().into_iter().flatten();
        let mut ids = Vec::new();
        for entity in list {
            self.may_see(entity)?;
            let id: Arc<str> = entity["id"].as_str().unwrap_or_default().into();
            ids.push(id.clone());
            if let Some(loading) = &mut self.loading {
                loading.entities.insert(id, Arc::new(entity.clone()));
            }
        }
        Ok(ids)
    }

    /// A reply has come; with the last one everything is kept at once.
    async fn has_loaded(&mut self) -> Result<(), String> {
        let outstanding = |question: &Question| matches!(question, Question::Records);
        if self.questions.values().any(outstanding) {
            return Ok(());
        }
        if let Some(loading) = self.loading.take() {
            self.client
                .kept(|kept| kept.load(loading.cursor, loading.entities));
        }
        match self.waiting.pop_first() {
            Some((offset, update)) => self.take(offset, update).await,
            None => Ok(()),
        }
    }

    /// Takes the updates of a reply, which the channel tells of as well.
    pub(super) async fn take_updates(&mut self, updates: Value) -> Result<(), String> {
        let Value::Array(updates) = updates else {
            return Ok(());
        };
        for update in updates {
            self.look(&update)?;
            if let Some(offset @ 1..) = update["offset"].as_u64() {
                self.take(offset, update).await?;
            }
        }
        Ok(())
    }
}
