//! The offline model: a planner with fixed rules that answers when no language model is set up.
//!
//! It reads the user's last message, makes steps of it, and goes through them with the results that the conversation
//! holds: the same request always gives the same reply. It knows no clock, no random and no state of its own.

use std::sync::LazyLock;

use async_trait::async_trait;
use futures::StreamExt;
use tokio_util::sync::CancellationToken;

use crate::{AssistantBlock, Error, Event, Model, ModelId, ModelStream, Reply, Request, StopReason, Usage};

mod history;
mod lines;
mod marks;
mod parse;
mod place;
mod plan;
mod quotes;
mod report;
mod results;
mod run;
mod speech;
mod words;

use plan::{Plan, Step};
use report::Report;
use run::{Call, Standing};

/// About how many characters one text delta has.
const DELTA: usize = 24;

static ID: LazyLock<ModelId> = LazyLock::new(|| ModelId {
    api: "offline".to_owned(),
    model: "offline".to_owned(),
});

/// A request that shows what the offline model can do: on a project with some Markdown files and the word `colour` in
/// several files it lists, finds, runs a script, searches, reads and edits.
pub fn demo_request() -> &'static str {
    "List the files, find *.md, run this script: `(await rtcAgent.fs.grep('colour')).length`, then replace `colour` by \
     `color` everywhere"
}

/// The model that answers without any language model: it understands plain requests in English and Chinese and drives
/// the tools that the request offers.
#[derive(Debug, Clone, Copy, Default)]
pub struct OfflineModel;

impl OfflineModel {
    /// The offline model.
    pub fn new() -> OfflineModel {
        OfflineModel
    }
}

#[async_trait]
impl Model for OfflineModel {
    fn id(&self) -> &ModelId {
        &ID
    }

    /// It reports no token usage, for it uses none, and its replies are short whatever `max_output_tokens` says.
    async fn stream(&self, request: &Request, cancel: CancellationToken) -> Result<ModelStream, Error> {
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let reply = reply(request);
        let mut events: Vec<Event> = pieces(&reply.text())
            .into_iter()
            .map(|delta| Event::Text { delta })
            .collect();
        events.push(Event::Done(reply));
        let mut ended = false;
        let stream = futures::stream::iter(events).map(move |event| {
            if cancel.is_cancelled() {
                Err(Error::Cancelled)
            } else {
                Ok(event)
            }
        });
        let stream = stream.take_while(move |event| {
            let goes_on = !ended;
            ended = event.is_err();
            std::future::ready(goes_on)
        });
        Ok(stream.boxed())
    }
}

/// What the planner answers: a function of the request alone.
fn reply(request: &Request) -> Reply {
    let requests = history::requests(&request.items);
    let mut last: Option<(Plan, Vec<Report>)> = None;
    for candidate in requests.candidates {
        if is_unclear(&candidate.plan) {
            if requests.continued {
                continue;
            }
            return answer(speech::not_understood(&candidate.plan));
        }
        if requests.continued {
            // What was complete before the user said “continue” is not what they mean.
            if let Standing::Done(reports) = run::run(&candidate.plan, &candidate.past, &request.tools) {
                last = last.or(Some((candidate.plan, reports)));
                continue;
            }
        }
        return match run::run(&candidate.plan, &candidate.log, &request.tools) {
            Standing::Done(reports) => answer(speech::summary(&candidate.plan, &reports)),
            Standing::Calls(calls) => {
                let text = candidate.fresh.then(|| speech::announcement(&candidate.plan));
                asking(request, text, calls)
            }
        };
    }
    let last = last.as_ref().map(|(plan, reports)| (plan, reports.as_slice()));
    answer(speech::nothing_unfinished(last))
}

/// Whether a plan must not be begun: nothing in it is understood, or it would change files while a part is unclear or
/// not read.
fn is_unclear(plan: &Plan) -> bool {
    let only_help = plan.steps.iter().all(|step| matches!(step, Step::Help));
    let in_part = !plan.unclear.is_empty() || plan.unread;
    only_help || (in_part && plan.steps.iter().any(|step| !step.reads_only()))
}

fn answer(text: String) -> Reply {
    Reply {
        blocks: vec![AssistantBlock::Text { text }],
        stop: StopReason::EndTurn,
        usage: Usage::default(),
    }
}

fn asking(request: &Request, text: Option<String>, calls: Vec<Call>) -> Reply {
    let taken = history::call_ids(&request.items);
    let seed = digest(&request.items);
    let mut numbers = (0..).map(|number| format!("offline_{seed:016x}_{number}"));
    let mut blocks: Vec<AssistantBlock> = text
        .map(|text| AssistantBlock::Text { text })
        .into_iter()
        .collect();
    for call in calls {
        let Some(id) = numbers.find(|id| !taken.contains(id.as_str())) else {
            break;
        };
        let arguments = call.arguments.to_string();
        blocks.push(AssistantBlock::ToolCall {
            id,
            name: call.tool.to_owned(),
            arguments,
        });
    }
    Reply {
        blocks,
        stop: StopReason::ToolUse,
        usage: Usage::default(),
    }
}

/// A number that depends on the whole conversation (FNV-1a), so that ids differ also when older entries were dropped.
fn digest(items: &[crate::Item]) -> u64 {
    let bytes = serde_json::to_vec(items).unwrap_or_default();
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Cuts a text into deltas: behind a space or line end, or where one would get too long.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut length = 0;
    for character in text.chars() {
        if let Some(piece) = pieces.last_mut() {
            piece.push(character);
        }
        length += 1;
        if length >= 2 * DELTA || (length >= DELTA && character.is_whitespace()) {
            pieces.push(String::new());
            length = 0;
        }
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

#[cfg(test)]
mod tests;
