//! A request in Chat Completions.

use std::borrow::Cow;

use bytes::Bytes;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::arguments::as_object;
use crate::call_id::{outgoing, outgoing_name};
use crate::http;
use crate::unknown;
use crate::{AssistantBlock, Endpoint, Item, Request, ToolSpec};

/// The longest id of a call that OpenAI takes, in bytes.
const LONGEST_ID: usize = 40;
/// The host that knows the limit of a reply by another name.
const OPENAI: &str = "api.openai.com";
/// The field of a call in which Gemini keeps the signature of its thoughts.
pub(super) const EXTRA_CONTENT: &str = "extra_content";

/// The bytes of a request: the same for the same request.
pub(super) fn body(endpoint: &Endpoint, request: &Request) -> Bytes {
    let mut body = Map::new();
    body.insert("model".into(), endpoint.model.as_str().into());
    body.insert(http::MESSAGES.into(), Value::Null);
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request.tools.iter().map(tool).collect();
        body.insert("tools".into(), tools.into());
    }
    if let Some(limit) = request.max_output_tokens.or(endpoint.max_output) {
        let name = if endpoint.base_url.contains(OPENAI) {
            "max_completion_tokens"
        } else {
            "max_tokens"
        };
        body.insert(name.into(), limit.into());
    }
    body.insert("stream".into(), true.into());
    body.insert("stream_options".into(), json!({"include_usage": true}));
    body.extend(endpoint.extra.clone());
    http::body(&body, Messages(endpoint, request))
}

fn tool(tool: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
    })
}

/// The conversation.
struct Messages<'a>(&'a Endpoint, &'a Request);

/// A message of it.
#[derive(Serialize)]
#[serde(untagged)]
enum Message<'a> {
    Said {
        role: &'static str,
        content: &'a str,
    },
    Reply(Value),
    Result {
        role: &'static str,
        tool_call_id: Cow<'a, str>,
        content: &'a str,
    },
}

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(endpoint, request) = *self;
        let said = |role, content| Message::Said { role, content };
        let system = (!request.system.is_empty()).then(|| said("system", request.system.as_str()));
        let items = request.items.iter().filter_map(|item| match item {
            Item::User { text } => Some(said("user", text.as_str())),
            Item::Assistant { blocks } => assistant(blocks, endpoint.echo_reasoning).map(Message::Reply),
            Item::ToolResult { call_id, text, .. } => Some(Message::Result {
                role: "tool",
                tool_call_id: outgoing(call_id, LONGEST_ID, false),
                content: text,
            }),
        });
        serializer.collect_seq(system.into_iter().chain(items))
    }
}

fn assistant(blocks: &[AssistantBlock], echo_reasoning: bool) -> Option<Value> {
    let (mut text, mut reasoning, mut calls) = (String::new(), String::new(), Vec::new());
    // What belongs to the next call, and what the provider said of the whole message.
    let (mut extra, mut fields) = (None, Map::new());
    for block in blocks {
        match block {
            AssistantBlock::Text { text: part } => text.push_str(part),
            AssistantBlock::Thinking { text: part } => reasoning.push_str(part),
            AssistantBlock::Provider { value } => match unknown::fields(value) {
                Some(unknown) => fields.extend(unknown.clone()),
                None => extra = value.get(EXTRA_CONTENT),
            },
            AssistantBlock::ToolCall { id, name, arguments } => {
                let mut call = json!({
                    "id": outgoing(id, LONGEST_ID, false),
                    "type": "function",
                    "function": {"name": outgoing_name(name), "arguments": as_object(arguments).to_string()},
                });
                if let Some(extra) = extra.take() {
                    call[EXTRA_CONTENT] = extra.clone();
                }
                calls.push(call);
            }
        }
    }
    if text.is_empty() && calls.is_empty() && fields.is_empty() && !echo_reasoning {
        return None;
    }
    let content = if text.is_empty() && !calls.is_empty() {
        Value::Null
    } else {
        text.into()
    };
    let mut message = json!({"role": "assistant", "content": content});
    if echo_reasoning {
        message["reasoning_content"] = reasoning.into();
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    if let Value::Object(message) = &mut message {
        message.extend(fields);
    }
    Some(message)
}

#[cfg(test)]
mod tests;
