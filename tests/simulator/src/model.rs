//! The model: what it replies is a function of what it is sent.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::{StreamExt, stream};
use rtc_model::{
    AssistantBlock, Error, Event, Item, Model, ModelId, ModelStream, Reply, Request, StopReason, Usage,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::Sabotage;
use crate::scenario::{Message, Round, Scenario, Tool, call_id};
use crate::world::World;

/// Longer than live text waits for its spill.
const BETWEEN_PIECES: Duration = Duration::from_millis(700);

pub(crate) struct PlannedModel {
    pub(crate) world: Arc<World>,
    pub(crate) scenario: Arc<Scenario>,
    pub(crate) id: ModelId,
}

/// Which model this is.
pub(crate) fn id() -> ModelId {
    ModelId {
        api: "simulated".to_owned(),
        model: "planned".to_owned(),
    }
}

/// How a message of the user reads: it names its plan.
pub(crate) fn words(session: usize, message: usize) -> String {
    format!("{session}.{message}")
}

/// Which session and message are to be answered, and how many replies there were since.
fn asked_for(request: &Request) -> Option<(usize, usize, usize)> {
    let last = request
        .items
        .iter()
        .rposition(|item| matches!(item, Item::User { .. }))?;
    let Item::User { text } = &request.items[last] else {
        return None;
    };
    let (session, message) = text.rsplit('\n').next()?.split_once('.')?;
    let replies = request.items[last..]
        .iter()
        .filter(|item| matches!(item, Item::Assistant { .. }))
        .count();
    Some((session.parse().ok()?, message.parse().ok()?, replies))
}

#[async_trait]
impl Model for PlannedModel {
    fn id(&self) -> &ModelId {
        &self.id
    }

    async fn stream(&self, request: &Request, cancel: CancellationToken) -> Result<ModelStream, Error> {
        let Some((session, message, replies)) = asked_for(request) else {
            self.world
                .wrong("a request without a message of the user".to_owned());
            return Err(Error::ContextTooLong);
        };
        let keeps = self.scenario.has_copies();
        let sent = self.sent(session, request.clone());
        let asked_before = self.world.asked(session, &sent, keeps);
        let (session, message) = self.answered(session, message);
        let plan = &self.scenario.sessions[session].messages[message];
        let (events, is_slow) = match plan.rounds.get(replies) {
            Some(round) => {
                let file = format!("/{}", self.scenario.folder(session));
                (calls(round, &file, [session, message, replies]), round.slow)
            }
            None => (vec![last(plan, session, message)], false),
        };
        let mut events = events;
        let breaks = plan.rounds.get(replies).is_some_and(|round| round.breaks);
        if breaks && !asked_before && events.len() > 1 {
            // After all that is shown of it; asked again, it is whole.
            events.pop();
            events.push(Err(Error::Overloaded));
        }
        let pause = if is_slow { BETWEEN_PIECES } else { Duration::ZERO };
        let paced = stream::iter(events).then(move |event| async move {
            if pause > Duration::ZERO {
                tokio::time::sleep(pause).await;
            }
            event
        });
        let ended = cancel.cancelled_owned();
        Ok(Box::pin(paced.take_until(ended)))
    }
}

impl PlannedModel {
    /// Which message is answered.
    fn answered(&self, session: usize, message: usize) -> (usize, usize) {
        let is_copy = self.scenario.is_copy(session);
        if is_copy && message == 0 && self.world.sabotage == Sabotage::CopiesRunCalls {
            return (0, 0);
        }
        (session, message)
    }

    /// What of a request arrives.
    fn sent(&self, session: usize, mut request: Request) -> Request {
        match self.world.sabotage {
            Sabotage::CopiesAPart if self.scenario.is_copy(session) => {
                let ends = |item: &Item| match item {
                    Item::Assistant { blocks } => {
                        let calls = |block: &AssistantBlock| matches!(block, AssistantBlock::ToolCall { .. });
                        !blocks.iter().any(calls)
                    }
                    _ => false,
                };
                if let Some(at) = request.items.iter().position(ends) {
                    request.items.remove(at);
                }
            }
            Sabotage::LosesResults => {
                let result = |item: &Item| matches!(item, Item::ToolResult { .. });
                if let Some(at) = request.items.iter().position(result) {
                    request.items.remove(at);
                }
            }
            Sabotage::HidesWhatWasSaid => {
                let said = |item: &Item| matches!(item, Item::User { .. });
                if let Some(at) = request.items.iter().rposition(said) {
                    request.items.remove(at);
                }
            }
            Sabotage::RewritesThePast => {
                let replies = request.items.iter_mut().filter_map(|item| match item {
                    Item::Assistant { blocks } => Some(blocks),
                    _ => None,
                });
                // The last one is sent for the first time.
                if let [.., before, _] = &mut replies.collect::<Vec<_>>()[..] {
                    before.reverse();
                }
            }
            _ => {}
        }
        request
    }
}

fn last(plan: &Message, session: usize, message: usize) -> Result<Event, Error> {
    if plan.fails {
        return Err(Error::Overloaded);
    }
    Ok(Event::Done(Reply {
        blocks: vec![AssistantBlock::Text {
            text: format!("done {session}.{message}"),
        }],
        stop: StopReason::EndTurn,
        usage: Usage::default(),
    }))
}

fn calls(round: &Round, file: &str, of: [usize; 3]) -> Vec<Result<Event, Error>> {
    let [session, message, number] = of;
    let mut events = Vec::new();
    let mut blocks = Vec::new();
    if round.thinks {
        let text = format!("hm {number}");
        events.push(Event::Thinking { delta: text.clone() });
        blocks.push(AssistantBlock::Thinking { text });
    }
    let mut text = String::new();
    for piece in 0..round.pieces {
        let delta = format!("piece {piece} ");
        text.push_str(&delta);
        events.push(Event::Text { delta });
    }
    if !text.is_empty() {
        blocks.push(AssistantBlock::Text { text });
    }
    for (at, call) in round.calls.iter().enumerate() {
        let id = call_id(session, message, number, at);
        let (name, arguments) = match call.tool {
            Tool::Read => ("read", json!({"path": file})),
            Tool::Write => ("write", json!({"path": file, "text": id})),
            Tool::Script => ("script", json!({"code": id})),
            Tool::Ask => ("ask", json!({"question": id})),
            Tool::Todo => (
                "todoWrite",
                json!({"todos": [{"content": id, "status": "pending", "active_form": id}]}),
            ),
            Tool::Missing => ("missing", json!({})),
            Tool::Invalid => ("write", json!({"path": 1.5})),
        };
        blocks.push(AssistantBlock::ToolCall {
            id,
            name: name.to_owned(),
            arguments: arguments.to_string(),
        });
    }
    let stop = if round.cut {
        StopReason::MaxTokens
    } else {
        StopReason::ToolUse
    };
    events.push(Event::Done(Reply {
        blocks,
        stop,
        usage: Usage::default(),
    }));
    events.into_iter().map(Ok).collect()
}
