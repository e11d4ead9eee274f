//! A client that does for the user what is planned: it sends messages, stops and copies, by what it keeps. What was not
//! acknowledged it sends again.

use std::sync::Arc;

use rtc_types::SessionId;
use serde_json::{Value, json};

use super::kept::is_over;
use super::talk::{Question, Talk};
use crate::Sabotage;
use crate::model::words;
use crate::scenario::{CopyPlan, When};

/// What the user does.
#[derive(Debug, Clone, Copy)]
pub(super) enum Act {
    /// Says a message of a session.
    Say(usize, usize),
    /// Stops a session, after so many messages.
    Stop(usize, usize),
    /// Begins a session as a copy.
    Copy(usize),
}

/// A session, as a client sees it.
struct Seen {
    messages: u64,
    calls: u32,
    is_idle: bool,
}

impl Talk<'_> {
    /// Does what is to be done next, one thing at a time.
    pub(super) async fn act(&mut self) {
        if !self.client.plan.acts || self.loading.is_some() || self.tries_again || self.is_acting {
            return;
        }
        let sessions = self.client.scenario.sessions.len();
        let Some((act, method, data)) = (0..sessions).find_map(|session| self.next_of(session)) else {
            return;
        };
        self.is_acting = true;
        self.call(Question::Act(act), method, data).await;
    }

    fn next_of(&self, session: usize) -> Option<(Act, &'static str, Value)> {
        let plan = &self.client.scenario.sessions[session];
        let known = self.client.world.with(|facts| facts.users[session].clone());
        if known.said == 0 {
            return self.copy(session, plan.copy.as_ref()?);
        }
        let id = known.id?;
        let seen = self.seen(session, id, known.said);
        if let Some(from) = plan.stop
            && known.stopped.is_none()
            && seen.messages >= u64::from(from)
        {
            let act = Act::Stop(session, known.said);
            return Some((act, "v1.turn.stop", json!({"session_id": id})));
        }
        let message = plan.messages.get(known.said)?;
        let is_last = known.said + 1 == plan.messages.len();
        if plan.stop.is_some() && is_last && known.stopped.is_none() && !seen.is_idle {
            return None;
        }
        let now = match message.when {
            When::Idle => seen.is_idle,
            When::Calls(from) => seen.is_idle || seen.calls >= from,
        };
        let data = json!({
            "server_session_id": id,
            "client_session_id": format!("session-{session}"),
            "client_id": self.message_id(session, known.said),
            "content_data": {"type": "text", "data": words(session, known.said)},
        });
        now.then_some((Act::Say(session, known.said), "v1.message.send", data))
    }

    fn copy(&self, session: usize, plan: &CopyPlan) -> Option<(Act, &'static str, Value)> {
        let known = self.client.world.with(|facts| facts.users[0].clone());
        let first = known.id?;
        let seen = self.seen(0, first, known.said);
        let is_over = seen.is_idle && known.said == self.client.scenario.sessions[0].messages.len();
        if known.said <= plan.message || !(is_over || seen.messages >= u64::from(plan.from)) {
            return None;
        }
        let said = format!("message-0-{}", plan.message);
        let entities = self.client.kept(|kept| kept.entities.clone());
        let message = entities.values().find(|entity| is_message(entity, &said))?;
        let data = json!({
            "old_server_session_id": first,
            "old_server_message_id": message["id"],
            "new_client_session_id": format!("session-{session}"),
            "new_client_message_id": self.message_id(session, 0),
            "content_data": {"type": "text", "data": words(session, 0)},
        });
        Some((Act::Copy(session), "v1.session.fork", data))
    }

    fn message_id(&self, session: usize, message: usize) -> String {
        let id = format!("message-{session}-{message}");
        let life = self.client.world.with(|facts| facts.lives);
        match self.client.world.sabotage {
            Sabotage::SendsAnew => format!("{id}-{life}"),
            _ => id,
        }
    }

    /// What is kept of a session to which so much was said.
    fn seen(&self, session: usize, id: SessionId, said: usize) -> Seen {
        let entities = self.client.kept(|kept| kept.entities.clone());
        let id = json!(id);
        let own = format!("message-{session}-");
        let mut seen = Seen {
            messages: 0,
            calls: 0,
            is_idle: true,
        };
        let mut heard = 0;
        for entity in entities.values().filter(|entity| entity["session_id"] == id) {
            if let Some(offset) = entity["global_offset"].as_u64() {
                seen.messages = seen.messages.max(offset);
                let is_own = is_message(entity, &own);
                heard += usize::from(is_own);
                // It waits for its turn.
                seen.is_idle &= !is_own || entity["streaming_status"] != "pending";
            } else if entity.get("tool_name").is_some() {
                seen.calls += 1;
            } else {
                seen.is_idle &= is_over(entity);
            }
        }
        seen.is_idle &= heard >= said;
        seen
    }

    /// What was made of it.
    pub(super) async fn acted(&mut self, act: Act, mut reply: Value) -> Result<(), String> {
        self.is_acting = false;
        if reply.get("error").is_some() {
            // There is no room, or it could not be done now.
            self.tries_again = true;
            return Ok(());
        }
        let copy = reply["rpc"]["data"]["result"]["session_id"]
            .as_str()
            .map(Arc::<str>::from);
        let number = self.client.number;
        let what = || format!("client {number} hears of {act:?}");
        self.client.world.effect(what, |facts| match act {
            Act::Say(session, message) => {
                let known = &mut facts.users[session];
                known.said = known.said.max(message + 1);
            }
            Act::Stop(session, said) => _ = facts.users[session].stopped.get_or_insert(said),
            Act::Copy(session) => {
                let known = &mut facts.users[session];
                known.id = copy.and_then(|id| id.parse().ok()).map(SessionId::new);
                known.said = known.said.max(1);
            }
        });
        self.take_updates(reply["rpc"]["data"]["updates"].take()).await
    }
}

/// Whether an entity is a message of the user whose client id begins so.
fn is_message(entity: &Value, client_id: &str) -> bool {
    let id = entity["client_id"].as_str();
    entity.get("streaming_status").is_some() && id.is_some_and(|id| id.starts_with(client_id))
}
