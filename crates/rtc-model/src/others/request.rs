//! A request in `genai`'s words.

use ::genai::adapter::AdapterKind;
use ::genai::chat::{
    ChatMessage, ChatOptions, ChatRequest, ContentPart, MessageContent, Tool, ToolCall, ToolResponse,
};
use serde_json::Value;

use crate::arguments::as_object;
use crate::call_id::outgoing_name;
use crate::{AssistantBlock, Endpoint, Item, Request};

/// The name under which a provider block holds a whole reply in `genai`'s form.
pub(super) const CONTENT: &str = "genai";

pub(super) fn options(endpoint: &Endpoint, request: &Request) -> ChatOptions {
    let mut options = ChatOptions::default()
        .with_capture_usage(true)
        .with_capture_content(true)
        .with_capture_reasoning_content(true)
        .with_capture_tool_calls(true);
    if let Some(limit) = request.max_output_tokens.or(endpoint.max_output) {
        options = options.with_max_tokens(limit);
    }
    if !endpoint.extra.is_empty() {
        options = options.with_extra_body(Value::Object(endpoint.extra.clone()));
    }
    options
}

pub(super) fn request(adapter: AdapterKind, request: &Request) -> ChatRequest {
    let mut out = ChatRequest::default();
    if !request.system.is_empty() {
        out = out.with_system(request.system.clone());
    }
    let tools = request.tools.iter().map(|tool| {
        Tool::new(tool.name.clone())
            .with_description(tool.description.clone())
            .with_schema(tool.input_schema.clone())
    });
    if !request.tools.is_empty() {
        out = out.with_tools(tools.collect::<Vec<_>>());
    }
    out.messages = messages(&request.items, joins_results(adapter));
    out
}

/// Whether the results of one reply go out together, as some providers want them. Of such a message, the adapter for
/// Ollama sends the last result only.
fn joins_results(adapter: AdapterKind) -> bool {
    !matches!(adapter, AdapterKind::Ollama | AdapterKind::OllamaCloud)
}

fn messages(items: &[Item], joins_results: bool) -> Vec<ChatMessage> {
    let mut messages = Vec::new();
    let mut results: Vec<ToolResponse> = Vec::new();
    for item in items {
        if let Item::ToolResult {
            call_id,
            tool_name,
            text,
            ..
        } = item
        {
            let name = outgoing_name(tool_name).into_owned();
            results.push(ToolResponse::new(call_id.clone(), text.clone()).with_fn_name(name));
            if !joins_results {
                messages.push(ChatMessage::from(std::mem::take(&mut results)));
            }
            continue;
        }
        if !results.is_empty() {
            messages.push(ChatMessage::from(std::mem::take(&mut results)));
        }
        match item {
            Item::User { text } => messages.push(ChatMessage::user(text.clone())),
            Item::Assistant { blocks } => messages.extend(assistant(blocks)),
            Item::ToolResult { .. } => {}
        }
    }
    if !results.is_empty() {
        messages.push(ChatMessage::from(results));
    }
    messages
}

fn assistant(blocks: &[AssistantBlock]) -> Option<ChatMessage> {
    let whole = blocks.iter().find_map(|block| match block {
        AssistantBlock::Provider { value } => serde_json::from_value(value.get(CONTENT)?.clone()).ok(),
        _ => None,
    });
    let content: MessageContent = whole.unwrap_or_else(|| {
        let parts = blocks.iter().filter_map(|block| match block {
            AssistantBlock::Text { text } => Some(ContentPart::Text(text.clone())),
            AssistantBlock::ToolCall { id, name, arguments } => Some(ContentPart::ToolCall(ToolCall {
                call_id: id.clone(),
                fn_name: outgoing_name(name).into_owned(),
                fn_arguments: as_object(arguments),
                thought_signatures: None,
            })),
            AssistantBlock::Thinking { .. } | AssistantBlock::Provider { .. } => None,
        });
        MessageContent::from_parts(parts.collect::<Vec<_>>())
    });
    (!content.is_empty()).then(|| ChatMessage::assistant(content))
}
