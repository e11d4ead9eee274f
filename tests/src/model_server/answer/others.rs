//! A reply in the dialects of other providers: Ollama's lines of JSON, and Gemini's events.

use serde_json::{Value, json};

use super::{Part, Stop, halves};

/// One line a piece, as Ollama streams.
pub(super) fn ollama(parts: &[Part], stop: Stop, ends: bool) -> Vec<Vec<u8>> {
    let line = |message: Value| json!({"model": "scripted", "message": message, "done": false});
    let mut lines = Vec::new();
    for part in parts {
        match part {
            Part::Thinking(thought) | Part::Signed { thought, .. } => lines.extend(
                halves(thought)
                    .map(|half| line(json!({"role": "assistant", "content": "", "thinking": half}))),
            ),
            Part::Redacted(_) => {}
            Part::Text(text) => {
                lines.extend(halves(text).map(|half| line(json!({"role": "assistant", "content": half}))));
            }
            Part::Call { name, arguments, .. } => {
                let call = json!({"function": {"name": name, "arguments": object(arguments)}});
                lines.push(line(
                    json!({"role": "assistant", "content": "", "tool_calls": [call]}),
                ));
            }
            Part::Event(event) => lines.push(event.parse().expect("an event is JSON")),
        }
    }
    if ends {
        let reason = if stop == Stop::TokenLimit {
            "length"
        } else {
            "stop"
        };
        lines.push(
            json!({"model": "scripted", "message": {"role": "assistant", "content": ""}, "done": true,
                   "done_reason": reason, "prompt_eval_count": 20, "eval_count": 10}),
        );
    }
    lines
        .into_iter()
        .map(|line| format!("{line}\n").into_bytes())
        .collect()
}

/// One event a part, as Gemini streams.
pub(super) fn gemini(parts: &[Part], stop: Stop, ends: bool) -> Vec<Vec<u8>> {
    let event = |part: Value| json!({"candidates": [{"content": {"role": "model", "parts": [part]}}]});
    let mut events = Vec::new();
    for part in parts {
        match part {
            Part::Thinking(thought) => events.push(event(json!({"text": thought, "thought": true}))),
            Part::Signed { thought, signature } => events.push(event(
                json!({"text": thought, "thought": true, "thoughtSignature": signature}),
            )),
            Part::Redacted(data) => events.push(event(json!({"text": "", "thoughtSignature": data}))),
            Part::Text(text) => events.extend(halves(text).map(|half| event(json!({"text": half})))),
            Part::Call { name, arguments, .. } => {
                events.push(event(
                    json!({"functionCall": {"name": name, "args": object(arguments)}}),
                ));
            }
            Part::Event(own) => events.push(own.parse().expect("an event is JSON")),
        }
    }
    if ends {
        let reason = match stop {
            Stop::Usual => "STOP",
            Stop::TokenLimit => "MAX_TOKENS",
            Stop::Refusal => "SAFETY",
        };
        events.push(
            json!({"candidates": [{"finishReason": reason}],
                   "usageMetadata": {"promptTokenCount": 20, "candidatesTokenCount": 10, "totalTokenCount": 30}}),
        );
    }
    events
        .into_iter()
        .map(|event| format!("data: {event}\n\n").into_bytes())
        .collect()
}

/// These dialects carry arguments as what they mean.
fn object(arguments: &str) -> Value {
    arguments.parse().expect("arguments of this dialect are JSON")
}
