//! A reply in Anthropic Messages.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::call_id::CallIds;
use crate::exchange::Decoder;
use crate::failure::{self, Failure, broken};
use crate::unknown;
use crate::{AssistantBlock, Endpoint, Error, Event, Reply, StopReason, Usage};

/// Puts a streamed reply together.
pub(super) struct MessagesDecoder {
    endpoint: Arc<Endpoint>,
    ids: CallIds,
    blocks: Vec<Block>,
    /// Why the reply ended, once it has.
    stop: Option<Stop>,
    usage: Usage,
    begun: bool,
    over: bool,
}

struct Stop {
    reason: String,
    explanation: Option<String>,
}

/// A block as the provider sends it: what it began with, and what its deltas added.
struct Block {
    index: Option<u64>,
    value: Map<String, Value>,
    /// Pieces of the JSON that is its `input`.
    input: String,
}

impl Block {
    fn kind(&self) -> &str {
        self.text("type")
    }

    fn text(&self, name: &str) -> &str {
        self.value.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    fn append(&mut self, name: &str, piece: &str) {
        match self.value.get_mut(name) {
            Some(Value::String(text)) => text.push_str(piece),
            _ => {
                self.value.insert(name.to_owned(), piece.into());
            }
        }
    }

    /// What it says besides these fields, before the block that they belong to.
    fn unknown(&self, known: &[&str]) -> Option<AssistantBlock> {
        let unknown = self
            .value
            .iter()
            .filter(|(name, value)| !known.contains(&name.as_str()) && !unknown::is_empty(value));
        let unknown = unknown.map(|(name, value)| (name.clone(), value.clone()));
        unknown::kept(unknown.collect()).map(|value| AssistantBlock::Provider { value })
    }

    /// The arguments of a call, as written.
    fn arguments(&self) -> String {
        match self.value.get("input") {
            _ if !self.input.is_empty() => self.input.clone(),
            Some(Value::Object(input)) if !input.is_empty() => Value::Object(input.clone()).to_string(),
            Some(Value::String(input)) => input.clone(),
            _ => String::new(),
        }
    }
}

impl MessagesDecoder {
    pub(super) fn new(endpoint: Arc<Endpoint>, ids: CallIds) -> Self {
        MessagesDecoder {
            endpoint,
            ids,
            blocks: Vec::new(),
            stop: None,
            usage: Usage::default(),
            begun: false,
            over: false,
        }
    }

    fn start(&mut self, event: &Value) -> Option<Event> {
        let mut value = event
            .get("content_block")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        let index = event.get("index").and_then(Value::as_u64);
        let kind = value
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        // A block may begin with something of what it says.
        let told = match kind.as_str() {
            "text" => said("text", value.get("text")),
            "thinking" => said("thinking", value.get("thinking")),
            "tool_use" => value
                .get("name")
                .and_then(Value::as_str)
                .map(|tool| Event::Calling {
                    tool: tool.to_owned(),
                }),
            _ => None,
        };
        if kind.is_empty() {
            value.insert("type".into(), "text".into());
        }
        self.blocks.push(Block {
            index,
            value,
            input: String::new(),
        });
        told
    }

    fn delta(&mut self, event: &Value) -> Option<Event> {
        let index = event.get("index").and_then(Value::as_u64);
        let delta = event.get("delta")?.as_object()?;
        let at = self.blocks.iter().rposition(|block| block.index == index)?;
        let block = self.blocks.get_mut(at)?;
        let own = block.kind().to_owned();
        let mut told = None;
        for (name, value) in delta.iter().filter(|(name, _)| *name != "type") {
            match (name.as_str(), value.as_str()) {
                ("partial_json", Some(piece)) => block.input.push_str(piece),
                (name, Some(piece)) => {
                    block.append(name, piece);
                    if name == own {
                        told = said(name, Some(value));
                    }
                }
                // The one field whose pieces have another name than the whole.
                ("citation", None) => {
                    unknown::join(&mut block.value, "citations", &Value::Array(vec![value.clone()]));
                }
                (name, None) => unknown::join(&mut block.value, name, value),
            }
        }
        told
    }

    fn count(&mut self, usage: Option<&Value>) {
        let number = |name: &str| usage.and_then(|usage| usage.get(name)).and_then(Value::as_u64);
        let before = self.usage;
        self.usage = Usage {
            input: number("input_tokens").unwrap_or(before.input),
            output: number("output_tokens").unwrap_or(before.output),
            cached_read: number("cache_read_input_tokens").unwrap_or(before.cached_read),
            cached_write: number("cache_creation_input_tokens").unwrap_or(before.cached_write),
            reasoning: before.reasoning,
        };
    }

    fn done(&mut self) -> Result<Vec<Event>, Failure> {
        self.over = true;
        let stop = self.stop.take();
        let blocks = std::mem::take(&mut self.blocks);
        let called = blocks.iter().any(|block| block.kind() == "tool_use");
        let stop = match stop.as_ref().map(|stop| stop.reason.as_str()) {
            Some("max_tokens" | "model_context_window_exceeded") => StopReason::MaxTokens,
            Some("refusal") => {
                let explanation = stop.and_then(|stop| stop.explanation);
                return Err(Failure::final_(Error::Refused {
                    reason: explanation.unwrap_or_else(|| "it did not say why".into()),
                }));
            }
            _ if called => StopReason::ToolUse,
            None | Some("end_turn" | "stop_sequence" | "tool_use") => StopReason::EndTurn,
            Some(other) => StopReason::Other(other.to_owned()),
        };
        let echo = self.endpoint.echo_reasoning;
        let blocks = blocks
            .into_iter()
            .flat_map(|block| finished(block, &mut self.ids, echo))
            .collect();
        let usage = self.usage;
        Ok(vec![Event::Done(Reply { blocks, stop, usage })])
    }
}

/// What a part of a block adds to what is shown.
fn said(kind: &str, text: Option<&Value>) -> Option<Event> {
    let delta = text?.as_str().filter(|text| !text.is_empty())?.to_owned();
    match kind {
        "text" => Some(Event::Text { delta }),
        "thinking" => Some(Event::Thinking { delta }),
        _ => None,
    }
}

/// A block of ours for what is shown or run, and the provider's own where it has to go back unchanged.
fn finished(block: Block, ids: &mut CallIds, echo: bool) -> Vec<AssistantBlock> {
    match block.kind() {
        "text" => {
            let text = block.text("text").to_owned();
            if text.is_empty() {
                return Vec::new();
            }
            let unknown = block.unknown(&["type", "text"]);
            unknown
                .into_iter()
                .chain([AssistantBlock::Text { text }])
                .collect()
        }
        "tool_use" => {
            let call = AssistantBlock::ToolCall {
                id: ids.give(block.text("id")),
                name: block.text("name").to_owned(),
                arguments: block.arguments(),
            };
            let unknown = block.unknown(&["type", "id", "name", "input"]);
            unknown.into_iter().chain([call]).collect()
        }
        "thinking" => {
            let text = block.text("thinking").to_owned();
            // Without a signature the provider takes no thought back, unless it is one that never signs.
            let goes_back = echo || !block.text("signature").is_empty();
            let shown = (!text.is_empty()).then_some(AssistantBlock::Thinking { text });
            let own = goes_back.then(|| AssistantBlock::Provider {
                value: Value::Object(block.value),
            });
            shown.into_iter().chain(own).collect()
        }
        _ => {
            let mut value = block.value;
            if let Ok(input) = serde_json::from_str::<Value>(&block.input) {
                value.insert("input".into(), input);
            }
            vec![AssistantBlock::Provider {
                value: Value::Object(value),
            }]
        }
    }
}

impl Decoder for MessagesDecoder {
    fn feed(&mut self, data: &str) -> Result<Vec<Event>, Failure> {
        let data = data.trim();
        if data.is_empty() || data == "[DONE]" || self.over {
            return Ok(Vec::new());
        }
        let event = serde_json::from_str::<Value>(data).map_err(|_| broken("an event is not JSON"));
        let event = match event.map(|event| (failure::in_reply(&self.endpoint, &event), event)) {
            Ok((None, event)) => event,
            // What fails after the end does not undo the reply.
            Ok((Some(_), _)) | Err(_) if self.is_complete() => return self.done(),
            Ok((Some(failure), _)) | Err(failure) => return Err(failure),
        };
        let told = match event.get("type").and_then(Value::as_str) {
            Some("message_start") => {
                self.begun = true;
                self.count(event.pointer("/message/usage"));
                None
            }
            Some("content_block_start") => self.start(&event),
            Some("content_block_delta") => self.delta(&event),
            Some("message_delta") => {
                self.count(event.get("usage"));
                let text = |path: &str| event.pointer(path).and_then(Value::as_str).map(str::to_owned);
                if let Some(reason) = text("/delta/stop_reason") {
                    let explanation = text("/delta/stop_details/explanation");
                    self.stop = Some(Stop { reason, explanation });
                }
                None
            }
            Some("message_stop") if self.begun => return self.done(),
            // `ping`, `content_block_stop`, and what is not known yet.
            _ => None,
        };
        Ok(told.into_iter().collect())
    }

    fn is_complete(&self) -> bool {
        self.stop.is_some()
    }

    fn end(&mut self) -> Result<Vec<Event>, Failure> {
        if self.over {
            return Ok(Vec::new());
        }
        if self.is_complete() {
            return self.done();
        }
        Err(broken(if self.begun {
            "it ended in the middle"
        } else {
            "it is empty"
        }))
    }
}

#[cfg(test)]
mod tests;
