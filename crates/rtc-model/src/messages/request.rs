//! A request in Anthropic Messages.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::arguments::as_object;
use crate::call_id::{outgoing, outgoing_name};
use crate::http;
use crate::unknown;
use crate::{AssistantBlock, Endpoint, Item, Request, ToolSpec};

/// The longest id of a call that goes out as it is, in bytes.
const LONGEST_ID: usize = 64;
/// How much of a reply is kept for the answer, besides the thoughts, in tokens.
const FOR_THE_ANSWER: u32 = 1024;

/// The bytes of a request: the same for the same request.
pub(super) fn body(endpoint: &Endpoint, request: &Request) -> Bytes {
    let mut limit = request
        .max_output_tokens
        .or(endpoint.max_output)
        .unwrap_or_else(|| max_output(&endpoint.model));
    if let Some(budget) = endpoint.thinking_budget {
        limit = limit.max(budget.saturating_add(FOR_THE_ANSWER));
    }
    let mut body = Map::new();
    body.insert("model".into(), endpoint.model.as_str().into());
    body.insert("max_tokens".into(), limit.into());
    if let Some(mut system) = said(&request.system) {
        system.cache_up_to();
        body.insert("system".into(), json!([system]));
    }
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request.tools.iter().map(tool).collect();
        body.insert("tools".into(), tools.into());
    }
    body.insert(http::MESSAGES.into(), Value::Null);
    if let Some(budget) = endpoint.thinking_budget {
        body.insert(
            "thinking".into(),
            json!({"type": "enabled", "budget_tokens": budget}),
        );
    }
    body.insert("stream".into(), true.into());
    body.extend(endpoint.extra.clone());
    http::body(&body, messages(&request.items))
}

/// The most tokens of a reply, which this dialect wants to be told: what every model of a generation takes.
fn max_output(model: &str) -> u32 {
    let older = |generation: &str| model.contains(generation);
    if older("claude-2") || older("claude-instant") || older("claude-3-opus") || older("claude-3-haiku") {
        4_096
    } else if older("claude-3-") || !model.contains("claude") {
        8_192
    } else {
        32_000
    }
}

fn tool(tool: &ToolSpec) -> Value {
    json!({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema})
}

/// A message of the conversation.
#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

/// A part of it.
#[derive(Serialize)]
#[serde(untagged)]
enum Block<'a> {
    Text {
        r#type: &'static str,
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Value>,
    },
    Result {
        r#type: &'static str,
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "str::is_empty")]
        content: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        is_error: Option<bool>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Value>,
    },
    /// Of a reply of the model.
    Replied(Value),
}

impl Block<'_> {
    /// What stands before, this included, is kept by the provider for the next request, if it is of a kind that may say
    /// so.
    fn cache_up_to(&mut self) {
        let ephemeral = json!({"type": "ephemeral"});
        match self {
            Self::Text { cache_control, .. } | Self::Result { cache_control, .. } => {
                *cache_control = Some(ephemeral);
            }
            Self::Replied(value)
                if matches!(value["type"].as_str(), Some("text" | "tool_use" | "tool_result")) =>
            {
                value["cache_control"] = ephemeral;
            }
            Self::Replied(_) => {}
        }
    }
}

/// User and assistant by turns: what follows one another in the same role is one message.
fn messages(items: &[Item]) -> Vec<Message<'_>> {
    let mut messages: Vec<Message> = Vec::new();
    for item in items {
        let (role, blocks) = match item {
            Item::User { text } => ("user", said(text).into_iter().collect()),
            Item::Assistant { blocks } => ("assistant", assistant(blocks)),
            Item::ToolResult {
                call_id,
                text,
                is_error,
                ..
            } => ("user", vec![result(call_id, text, *is_error)]),
        };
        let blocks: Vec<Block> = blocks;
        if blocks.is_empty() {
            continue;
        }
        match messages.last_mut() {
            Some(last) if last.role == role => last.content.extend(blocks),
            _ => messages.push(Message {
                role,
                content: blocks,
            }),
        }
    }
    if let Some(last) = messages.last_mut().and_then(|last| last.content.last_mut()) {
        last.cache_up_to();
    }
    messages
}

/// Text of nothing but white space is refused.
fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn said(text: &str) -> Option<Block<'_>> {
    (!is_blank(text)).then_some(Block::Text {
        r#type: "text",
        text,
        cache_control: None,
    })
}

fn assistant(blocks: &[AssistantBlock]) -> Vec<Block<'static>> {
    // What the provider said of the next block besides.
    let mut fields = None;
    let block = |block: &AssistantBlock| {
        let mut value = match block {
            // A thought that can go back stands beside it as the provider's own block.
            AssistantBlock::Thinking { .. } => return None,
            AssistantBlock::Text { text } if is_blank(text) => return None,
            AssistantBlock::Text { text } => json!({"type": "text", "text": text}),
            AssistantBlock::Provider { value } => {
                fields = unknown::fields(value).cloned();
                return fields.is_none().then(|| value.clone());
            }
            AssistantBlock::ToolCall { id, name, arguments } => json!({
                "type": "tool_use",
                "id": outgoing(id, LONGEST_ID, true),
                "name": outgoing_name(name),
                "input": as_object(arguments),
            }),
        };
        if let (Value::Object(value), Some(fields)) = (&mut value, fields.take()) {
            value.extend(fields);
        }
        Some(value)
    };
    blocks.iter().filter_map(block).map(Block::Replied).collect()
}

fn result<'a>(call_id: &'a str, text: &'a str, is_error: bool) -> Block<'a> {
    Block::Result {
        r#type: "tool_result",
        tool_use_id: outgoing(call_id, LONGEST_ID, true),
        content: text,
        is_error: is_error.then_some(true),
        cache_control: None,
    }
}

#[cfg(test)]
mod tests;
