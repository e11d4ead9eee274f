//! A request in Anthropic Messages.

use serde_json::{Map, Value, json};

use crate::arguments::as_object;
use crate::call_id::{outgoing, outgoing_name};
use crate::unknown;
use crate::{AssistantBlock, Endpoint, Item, Request, ToolSpec};

/// The longest id of a call that goes out as it is, in bytes.
const LONGEST_ID: usize = 64;
/// How much of a reply is kept for the answer, besides the thoughts, in tokens.
const FOR_THE_ANSWER: u32 = 1024;

/// The bytes of a request: the same for the same request.
pub(super) fn body(endpoint: &Endpoint, request: &Request) -> Vec<u8> {
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
    if !request.system.is_empty() {
        let mut system = json!({"type": "text", "text": request.system});
        cache_up_to(&mut system);
        body.insert("system".into(), json!([system]));
    }
    if !request.tools.is_empty() {
        let tools: Vec<Value> = request.tools.iter().map(tool).collect();
        body.insert("tools".into(), tools.into());
    }
    body.insert("messages".into(), messages(&request.items).into());
    if let Some(budget) = endpoint.thinking_budget {
        body.insert(
            "thinking".into(),
            json!({"type": "enabled", "budget_tokens": budget}),
        );
    }
    body.insert("stream".into(), true.into());
    body.extend(endpoint.extra.clone());
    Value::Object(body).to_string().into_bytes()
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

/// What stands before, this included, is kept by the provider for the next request.
fn cache_up_to(block: &mut Value) {
    block["cache_control"] = json!({"type": "ephemeral"});
}

fn tool(tool: &ToolSpec) -> Value {
    json!({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema})
}

/// User and assistant by turns: what follows one another in the same role is one message.
fn messages(items: &[Item]) -> Vec<Value> {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for item in items {
        let (role, blocks) = match item {
            Item::User { text } => ("user", text_block(text).into_iter().collect()),
            Item::Assistant { blocks } => ("assistant", assistant(blocks)),
            Item::ToolResult {
                call_id,
                text,
                is_error,
                ..
            } => ("user", vec![result(call_id, text, *is_error)]),
        };
        let blocks: Vec<Value> = blocks;
        if blocks.is_empty() {
            continue;
        }
        match messages.last_mut() {
            Some((last, content)) if *last == role => content.extend(blocks),
            _ => messages.push((role, blocks)),
        }
    }
    if let Some(last) = messages.last_mut().and_then(|(_, content)| content.last_mut())
        && matches!(last["type"].as_str(), Some("text" | "tool_use" | "tool_result"))
    {
        cache_up_to(last);
    }
    messages
        .into_iter()
        .map(|(role, content)| json!({"role": role, "content": content}))
        .collect()
}

/// Text of nothing but white space is refused.
fn text_block(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

fn assistant(blocks: &[AssistantBlock]) -> Vec<Value> {
    // What the provider said of the next block besides.
    let mut fields = None;
    let block = |block: &AssistantBlock| {
        let mut value = match block {
            // A thought that can go back stands beside it as the provider's own block.
            AssistantBlock::Thinking { .. } => return None,
            AssistantBlock::Text { text } => text_block(text)?,
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
    blocks.iter().filter_map(block).collect()
}

fn result(call_id: &str, text: &str, is_error: bool) -> Value {
    let mut block = json!({"type": "tool_result", "tool_use_id": outgoing(call_id, LONGEST_ID, true)});
    if !text.is_empty() {
        block["content"] = text.into();
    }
    if is_error {
        block["is_error"] = true.into();
    }
    block
}

#[cfg(test)]
mod tests;
