//! What the scripted model says, and how it fails.

mod others;

use std::time::Duration;

use serde_json::{Value, json};

use super::Dialect;
use crate::text;

/// One answer: a reply in parts, or something that is none.
#[derive(Debug, Clone)]
pub struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    said: Said,
    /// The time before each piece of a call.
    pause: Duration,
    fault: Option<Fault>,
}

#[derive(Debug, Clone)]
enum Said {
    Reply {
        parts: Vec<Part>,
        stop: Stop,
        ends: bool,
        /// What comes between the reason of the end and its mark.
        late: Option<String>,
    },
    Raw {
        content_type: &'static str,
        body: Vec<u8>,
    },
}

#[derive(Debug, Clone)]
enum Part {
    Thinking(String),
    Signed {
        thought: String,
        signature: String,
    },
    Redacted(String),
    Text(String),
    Call {
        id: String,
        name: String,
        arguments: String,
    },
    Event(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// As the parts say.
    Usual,
    TokenLimit,
    Refusal,
}

#[derive(Debug, Clone, Copy)]
enum Fault {
    Stall(usize),
    Reset(usize),
}

/// What happens next on a connection.
pub(super) enum Piece {
    Bytes(Vec<u8>),
    /// After a while.
    Later(Duration, Vec<u8>),
    Stall,
    Reset,
}

impl Piece {
    pub(super) async fn happen(self) -> Result<Vec<u8>, std::io::Error> {
        match self {
            Piece::Bytes(bytes) => Ok(bytes),
            Piece::Later(pause, bytes) => {
                tokio::time::sleep(pause).await;
                Ok(bytes)
            }
            Piece::Stall => std::future::pending().await,
            Piece::Reset => {
                // What was said before goes out first.
                tokio::task::yield_now().await;
                Err(std::io::Error::other("the connection breaks off"))
            }
        }
    }
}

impl Answer {
    /// A reply that says nothing yet.
    pub fn reply() -> Self {
        Self::with(
            200,
            Said::Reply {
                parts: Vec::new(),
                stop: Stop::Usual,
                ends: true,
                late: None,
            },
        )
    }

    /// A reply of one text.
    pub fn text(text: &str) -> Self {
        Self::reply().say(text)
    }

    /// A status with a body of JSON.
    pub fn status(status: u16, body: &str) -> Self {
        Self::raw(status, "application/json", body)
    }

    /// A page for people, as of a proxy, with status 200.
    pub fn page() -> Self {
        Self::raw(
            200,
            "text/html",
            "<!DOCTYPE html><html><body>Sign in</body></html>",
        )
    }

    /// Status 200 and nothing more.
    pub fn empty() -> Self {
        Self::raw(200, "text/event-stream", "")
    }

    /// A body of any kind.
    pub fn raw(status: u16, content_type: &'static str, body: &str) -> Self {
        let body = body.as_bytes().to_vec();
        Self::with(status, Said::Raw { content_type, body })
    }

    fn with(status: u16, said: Said) -> Self {
        Self {
            status,
            headers: Vec::new(),
            said,
            pause: Duration::ZERO,
            fault: None,
        }
    }

    /// Says a text.
    pub fn say(self, text: &str) -> Self {
        self.part(Part::Text(text.into()))
    }

    /// Thinks, without a signature.
    pub fn think(self, thought: &str) -> Self {
        self.part(Part::Thinking(thought.into()))
    }

    /// Thinks, with a signature (Messages; Chat knows none).
    pub fn signed(self, thought: &str, signature: &str) -> Self {
        self.part(Part::Signed {
            thought: thought.into(),
            signature: signature.into(),
        })
    }

    /// Thinks what nobody may read (Messages; nothing in Chat).
    pub fn redacted(self, data: &str) -> Self {
        self.part(Part::Redacted(data.into()))
    }

    /// Calls a tool; the arguments are sent as they are, JSON or not.
    pub fn call(self, id: &str, name: &str, arguments: &str) -> Self {
        self.part(Part::Call {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
        })
    }

    /// Sends an event of one's own.
    pub fn event(self, event: &Value) -> Self {
        self.part(Part::Event(event.to_string()))
    }

    /// Sends an event of one's own after the reason of the end (Chat and Messages).
    pub fn then(mut self, event: &Value) -> Self {
        if let Said::Reply { late, .. } = &mut self.said {
            *late = Some(event.to_string());
        }
        self
    }

    fn part(mut self, part: Part) -> Self {
        match &mut self.said {
            Said::Reply { parts, .. } => parts.push(part),
            Said::Raw { .. } => panic!("what is no reply has no parts"),
        }
        self
    }

    /// The token limit cuts the reply off here.
    pub fn cut(self) -> Self {
        self.stops(Stop::TokenLimit)
    }

    /// The provider declines here.
    pub fn refused(self) -> Self {
        self.stops(Stop::Refusal)
    }

    /// The stream ends without a sign of its end.
    pub fn without_end(mut self) -> Self {
        if let Said::Reply { ends, .. } = &mut self.said {
            *ends = false;
        }
        self
    }

    fn stops(mut self, reason: Stop) -> Self {
        if let Said::Reply { stop, .. } = &mut self.said {
            *stop = reason;
        }
        self
    }

    /// With a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// With so much time before each piece of a call in Chat Completions, as where a model writes it: its name, and the
    /// two halves of its arguments.
    pub fn paced(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// Nothing more comes after this many bytes of the body, and the connection stays.
    pub fn stall_after(mut self, bytes: usize) -> Self {
        self.fault = Some(Fault::Stall(bytes));
        self
    }

    /// The connection breaks off after this many bytes of the body.
    pub fn reset_after(mut self, bytes: usize) -> Self {
        self.fault = Some(Fault::Reset(bytes));
        self
    }

    /// The whole body, for those who count its bytes.
    pub fn body(&self, dialect: Dialect) -> Vec<u8> {
        self.events(dialect).concat()
    }

    pub(super) fn content_type(&self) -> &'static str {
        match &self.said {
            Said::Reply { .. } => "text/event-stream",
            Said::Raw { content_type, .. } => content_type,
        }
    }

    pub(super) fn pieces(&self, dialect: Dialect) -> Vec<Piece> {
        let events = self.events(dialect);
        let (limit, end) = match self.fault {
            None => {
                let piece = |event: Vec<u8>| match text(&event).contains("arguments") {
                    true if !self.pause.is_zero() => Piece::Later(self.pause, event),
                    _ => Piece::Bytes(event),
                };
                return events.into_iter().map(piece).collect();
            }
            Some(Fault::Stall(limit)) => (limit, Piece::Stall),
            Some(Fault::Reset(limit)) => (limit, Piece::Reset),
        };
        let mut bytes = events.concat();
        bytes.truncate(limit);
        [Piece::Bytes(bytes), end].into()
    }

    fn events(&self, dialect: Dialect) -> Vec<Vec<u8>> {
        match &self.said {
            Said::Raw { body, .. } => vec![body.clone()],
            Said::Reply {
                parts,
                stop,
                ends,
                late,
            } => match dialect {
                Dialect::Chat => chat(parts, *stop, *ends, late.clone()),
                Dialect::Messages => messages(parts, *stop, *ends, late.clone()),
                Dialect::Ollama => others::ollama(parts, *stop, *ends),
                Dialect::Gemini => others::gemini(parts, *stop, *ends),
            },
        }
    }
}

/// A text in two pieces, so that a reply always comes in several.
fn halves(text: &str) -> [&str; 2] {
    let middle = (0..=text.len() / 2)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    [&text[..middle], &text[middle..]]
}

fn calls(parts: &[Part]) -> bool {
    parts.iter().any(|part| matches!(part, Part::Call { .. }))
}

fn chat(parts: &[Part], stop: Stop, ends: bool, late: Option<String>) -> Vec<Vec<u8>> {
    let chunk = |delta: Value, reason: Value| {
        json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted",
               "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
        .to_string()
    };
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    let mut index = 0;
    for part in parts {
        match part {
            Part::Thinking(thought) | Part::Signed { thought, .. } => {
                events.extend(
                    halves(thought).map(|half| chunk(json!({"reasoning_content": half}), Value::Null)),
                );
            }
            Part::Redacted(_) => {}
            Part::Text(text) => {
                events.extend(halves(text).map(|half| chunk(json!({"content": half}), Value::Null)))
            }
            Part::Call { id, name, arguments } => {
                let first = json!({"index": index, "id": id, "type": "function",
                                   "function": {"name": name, "arguments": ""}});
                events.push(chunk(json!({"tool_calls": [first]}), Value::Null));
                for half in halves(arguments) {
                    let more = json!({"index": index, "function": {"arguments": half}});
                    events.push(chunk(json!({"tool_calls": [more]}), Value::Null));
                }
                index += 1;
            }
            Part::Event(event) => events.push(event.clone()),
        }
    }
    if ends {
        let reason = match stop {
            Stop::Usual if calls(parts) => "tool_calls",
            Stop::Usual => "stop",
            Stop::TokenLimit => "length",
            Stop::Refusal => "content_filter",
        };
        events.push(chunk(json!({}), reason.into()));
        events.extend(late);
        let usage = json!({"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30});
        events.push(json!({"id": "chatcmpl-1", "choices": [], "usage": usage}).to_string());
        events.push("[DONE]".into());
    }
    events
        .into_iter()
        .map(|event| format!("data: {event}\n\n").into_bytes())
        .collect()
}

fn messages(parts: &[Part], stop: Stop, ends: bool, late: Option<String>) -> Vec<Vec<u8>> {
    let usage = json!({"input_tokens": 20, "output_tokens": 1});
    let mut events = vec![
        json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
               "model": "scripted", "content": [], "usage": usage}})
        .to_string(),
    ];
    for (index, part) in parts.iter().enumerate() {
        let delta = |delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
        let thoughts = |thought: &str| {
            halves(thought).map(|half| delta(json!({"type": "thinking_delta", "thinking": half})))
        };
        let (block, deltas): (Value, Vec<Value>) = match part {
            Part::Thinking(thought) => (
                json!({"type": "thinking", "thinking": "", "signature": ""}),
                thoughts(thought).into(),
            ),
            Part::Signed { thought, signature } => {
                let mut deltas: Vec<Value> = thoughts(thought).into();
                deltas.push(delta(json!({"type": "signature_delta", "signature": signature})));
                (
                    json!({"type": "thinking", "thinking": "", "signature": ""}),
                    deltas,
                )
            }
            Part::Redacted(data) => (json!({"type": "redacted_thinking", "data": data}), Vec::new()),
            Part::Text(text) => {
                let deltas = halves(text).map(|half| delta(json!({"type": "text_delta", "text": half})));
                (json!({"type": "text", "text": ""}), deltas.into())
            }
            Part::Call { id, name, arguments } => {
                let deltas = halves(arguments)
                    .map(|half| delta(json!({"type": "input_json_delta", "partial_json": half})));
                (
                    json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
                    deltas.into(),
                )
            }
            Part::Event(event) => {
                events.push(event.clone());
                continue;
            }
        };
        events
            .push(json!({"type": "content_block_start", "index": index, "content_block": block}).to_string());
        events.extend(deltas.iter().map(Value::to_string));
        events.push(json!({"type": "content_block_stop", "index": index}).to_string());
    }
    if ends {
        let reason = match stop {
            Stop::Usual if calls(parts) => "tool_use",
            Stop::Usual => "end_turn",
            Stop::TokenLimit => "max_tokens",
            Stop::Refusal => "refusal",
        };
        let delta = json!({"stop_reason": reason, "stop_sequence": null});
        events.push(
            json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 10}}).to_string(),
        );
        events.extend(late);
        events.push(json!({"type": "message_stop"}).to_string());
    }
    let named = |event: String| {
        let kind = serde_json::from_str::<Value>(&event)
            .ok()
            .and_then(|event| event["type"].as_str().map(str::to_owned));
        format!(
            "event: {}\ndata: {event}\n\n",
            kind.unwrap_or_else(|| "message".into())
        )
        .into_bytes()
    };
    events.into_iter().map(named).collect()
}
