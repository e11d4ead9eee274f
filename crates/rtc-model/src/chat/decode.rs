//! A reply in Chat Completions.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::calls::Calls;
use super::request::EXTRA_CONTENT;
use super::think::{Piece, Think};
use crate::call_id::CallIds;
use crate::exchange::Decoder;
use crate::failure::{self, Failure, broken};
use crate::unknown;
use crate::{AssistantBlock, Endpoint, Error, Event, Reply, StopReason, Usage};

/// The fields of a message that are read; `function_call` is what calls were before they had ids.
const KNOWN: [&str; 7] = [
    "role",
    "content",
    "reasoning_content",
    "reasoning",
    "refusal",
    "tool_calls",
    "function_call",
];

/// Puts a streamed reply together.
pub(super) struct ChatDecoder {
    endpoint: Arc<Endpoint>,
    ids: CallIds,
    think: Think,
    parts: Vec<Part>,
    calls: Calls,
    /// The call that the last fragment belongs to, if nothing else came after it.
    last_call: Option<usize>,
    /// Why the reply ended, once it has.
    finish: Option<String>,
    usage: Option<Usage>,
    /// What came with it that is not known.
    unknown: Map<String, Value>,
    /// Whether there was anything of a reply.
    begun: bool,
    over: bool,
}

enum Part {
    Thinking(String),
    Text(String),
    Call(usize),
}

impl ChatDecoder {
    pub(super) fn new(endpoint: Arc<Endpoint>, ids: CallIds) -> Self {
        ChatDecoder {
            endpoint,
            ids,
            think: Think::default(),
            parts: Vec::new(),
            calls: Calls::default(),
            last_call: None,
            finish: None,
            usage: None,
            unknown: Map::new(),
            begun: false,
            over: false,
        }
    }

    fn say(&mut self, piece: Piece) -> Event {
        self.last_call = None;
        match piece {
            Piece::Thinking(delta) => {
                match self.parts.last_mut() {
                    Some(Part::Thinking(text)) => text.push_str(&delta),
                    _ => self.parts.push(Part::Thinking(delta.clone())),
                }
                Event::Thinking { delta }
            }
            Piece::Text(delta) => {
                match self.parts.last_mut() {
                    Some(Part::Text(text)) => text.push_str(&delta),
                    _ => self.parts.push(Part::Text(delta.clone())),
                }
                Event::Text { delta }
            }
        }
    }

    fn delta(&mut self, delta: &Value) -> Vec<Event> {
        for (name, value) in delta.as_object().into_iter().flatten() {
            if !KNOWN.contains(&name.as_str()) && !unknown::is_empty(value) {
                unknown::join(&mut self.unknown, name, value);
            }
        }
        let mut pieces = Vec::new();
        // Both names carry the same thought where both are there.
        let reasoning = ["reasoning_content", "reasoning"].iter().find_map(|name| {
            delta
                .get(*name)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
        });
        pieces.extend(reasoning.map(|text| Piece::Thinking(text.to_owned())));
        match delta.get("content") {
            Some(Value::String(text)) => pieces.extend(self.think.push(text)),
            Some(Value::Array(list)) => pieces.extend(list.iter().filter_map(part_of_list)),
            _ => {}
        }
        // What a model says instead of an answer is an answer.
        let refusal = delta
            .get("refusal")
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty());
        pieces.extend(refusal.map(|text| Piece::Text(text.to_owned())));
        let mut events: Vec<Event> = pieces.into_iter().map(|piece| self.say(piece)).collect();
        let fragments = match delta.get("tool_calls") {
            Some(Value::Array(list)) => list.as_slice(),
            Some(one @ Value::Object(_)) => std::slice::from_ref(one),
            _ => &[],
        };
        for at in self.calls.take(fragments) {
            if !self
                .parts
                .iter()
                .any(|part| matches!(part, Part::Call(call) if *call == at))
            {
                self.parts.push(Part::Call(at));
                events.extend(self.calls.name(at).map(|tool| Event::Calling {
                    tool: tool.to_owned(),
                }));
            }
            self.last_call = Some(at);
        }
        events
    }

    /// The reply is complete.
    fn done(&mut self) -> Result<Vec<Event>, Failure> {
        self.over = true;
        // Text that was held back came before it, if it comes out only now.
        let last_call = self.last_call;
        let mut events: Vec<Event> = self
            .think
            .end()
            .map(|piece| self.say(piece))
            .into_iter()
            .collect();
        let called = !self.calls.is_empty();
        let stop = match self.finish.as_deref() {
            Some("length" | "max_tokens" | "model_length") => StopReason::MaxTokens,
            Some("content_filter") => {
                return Err(Failure::final_(Error::Refused {
                    reason: "the provider's filter stopped the reply".into(),
                }));
            }
            _ if called => StopReason::ToolUse,
            None | Some("stop" | "tool_calls" | "function_call" | "end_turn" | "eos" | "stop_sequence") => {
                StopReason::EndTurn
            }
            Some(other) => StopReason::Other(other.to_owned()),
        };
        if stop == StopReason::MaxTokens
            && let Some(last) = last_call
        {
            // The cut call is the last block, wherever it began.
            self.parts
                .retain(|part| !matches!(part, Part::Call(at) if *at == last));
            self.parts.push(Part::Call(last));
        }
        let reply = Reply {
            blocks: self.blocks(),
            stop,
            usage: self.usage.unwrap_or_default(),
        };
        events.push(Event::Done(reply));
        Ok(events)
    }

    fn blocks(&mut self) -> Vec<AssistantBlock> {
        let mut calls: Vec<_> = std::mem::take(&mut self.calls)
            .into_list()
            .into_iter()
            .map(Some)
            .collect();
        let unknown = unknown::kept(std::mem::take(&mut self.unknown));
        let mut blocks: Vec<_> = unknown
            .map(|value| AssistantBlock::Provider { value })
            .into_iter()
            .collect();
        for part in std::mem::take(&mut self.parts) {
            match part {
                Part::Thinking(text) => blocks.push(AssistantBlock::Thinking { text }),
                Part::Text(text) => blocks.push(AssistantBlock::Text { text }),
                Part::Call(at) => {
                    let Some(call) = calls.get_mut(at).and_then(Option::take) else {
                        continue;
                    };
                    // Before its call, so that a cut call stays last.
                    blocks.extend(call.extra.map(|extra| AssistantBlock::Provider {
                        value: json!({ EXTRA_CONTENT: extra }),
                    }));
                    blocks.push(AssistantBlock::ToolCall {
                        id: self.ids.give(&call.id),
                        name: call.name,
                        arguments: call.arguments,
                    });
                }
            }
        }
        blocks
    }
}

impl Decoder for ChatDecoder {
    fn feed(&mut self, data: &str) -> Result<Vec<Event>, Failure> {
        let data = data.trim();
        if data.is_empty() || self.over {
            return Ok(Vec::new());
        }
        if data == "[DONE]" {
            if !self.begun {
                return Err(broken("it is empty"));
            }
            return self.done();
        }
        let value = serde_json::from_str::<Value>(data).map_err(|_| broken("an event is not JSON"));
        let value = match value.map(|value| (failure::in_reply(&self.endpoint, &value), value)) {
            Ok((None, value)) => value,
            // What fails after the end does not undo the reply.
            Ok((Some(_), _)) | Err(_) if self.is_complete() => return self.done(),
            Ok((Some(failure), _)) | Err(failure) => return Err(failure),
        };
        let counted = value.get("usage").and_then(usage);
        self.usage = counted.or(self.usage);
        let choice = value.get("choices").and_then(|choices| choices.get(0));
        let Some(choice) = choice else {
            // The cost comes last, by itself.
            return if counted.is_some() && self.is_complete() {
                self.done()
            } else {
                Ok(Vec::new())
            };
        };
        self.begun = true;
        let delta = choice
            .get("delta")
            .filter(|delta| delta.is_object())
            .or(choice.get("message"));
        let events = delta.map(|delta| self.delta(delta)).unwrap_or_default();
        if let Some(reason) = choice
            .get("finish_reason")
            .and_then(Value::as_str)
            .filter(|reason| !reason.is_empty())
        {
            self.finish = Some(reason.to_owned());
        }
        Ok(events)
    }

    fn is_complete(&self) -> bool {
        self.finish.is_some()
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

/// A part of an answer that is a list of parts.
fn part_of_list(part: &Value) -> Option<Piece> {
    let text = |value: &Value| {
        value
            .get("text")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let piece = match part.get("type").and_then(Value::as_str) {
        Some("thinking") => Piece::Thinking(match part.get("thinking") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(list)) => list.iter().map(text).collect(),
            _ => String::new(),
        }),
        _ => Piece::Text(text(part)),
    };
    let (Piece::Thinking(said) | Piece::Text(said)) = &piece;
    (!said.is_empty()).then_some(piece)
}

fn usage(value: &Value) -> Option<Usage> {
    let number = |path: &str| {
        value
            .pointer(path)
            .and_then(Value::as_f64)
            .map(|number| number.max(0.0) as u64)
    };
    let prompt = number("/prompt_tokens")?;
    let cached =
        number("/prompt_tokens_details/cached_tokens").or_else(|| number("/prompt_cache_hit_tokens"));
    let cached_read = cached.unwrap_or(0).min(prompt);
    Some(Usage {
        input: prompt - cached_read,
        output: number("/completion_tokens").unwrap_or(0),
        cached_read,
        cached_write: 0,
        reasoning: number("/completion_tokens_details/reasoning_tokens").unwrap_or(0),
    })
}

#[cfg(test)]
mod tests;
