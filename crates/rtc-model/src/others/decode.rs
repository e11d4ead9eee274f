//! A reply in `genai`'s events.

use ::genai::chat::{
    ChatStreamEvent, ContentPart, StopReason as TheirStop, StreamEnd, ToolCall, Usage as TheirUsage,
};
use serde_json::{Value, json};

use super::request::CONTENT;
use crate::arguments::as_object;
use crate::call_id::CallIds;
use crate::exchange::Decoder;
use crate::failure::{Failure, broken};
use crate::{AssistantBlock, Error, Event, Reply, StopReason, Usage};

/// Puts a reply together from events, each as JSON.
pub(super) struct OtherDecoder {
    ids: CallIds,
    blocks: Vec<AssistantBlock>,
    /// The call that was last told to begin.
    calling: Option<String>,
    over: bool,
}

impl OtherDecoder {
    pub(super) fn new(ids: CallIds) -> Self {
        OtherDecoder {
            ids,
            blocks: Vec::new(),
            calling: None,
            over: false,
        }
    }

    fn done(&mut self, end: StreamEnd) -> Result<Vec<Event>, Failure> {
        self.over = true;
        // An end is told of a stream that breaks off, too: only then it has no reason.
        let Some(reason) = end.captured_stop_reason else {
            return Err(broken("it ended in the middle"));
        };
        let mut blocks = std::mem::take(&mut self.blocks);
        let mut content = end.captured_content.unwrap_or_default();
        let mut calls = Vec::new();
        let mut own = false;
        for part in content.iter_mut() {
            match part {
                ContentPart::ToolCall(call) => {
                    call.call_id = self.ids.give(&call.call_id);
                    own |= call.thought_signatures.is_some();
                    let arguments = match &call.fn_arguments {
                        // Arguments that were cut off are no JSON, and come as text.
                        Value::String(text) => text.clone(),
                        Value::Null => String::new(),
                        arguments => arguments.to_string(),
                    };
                    // Goes back with a signature as it stands here.
                    call.fn_arguments = as_object(&arguments);
                    calls.push(AssistantBlock::ToolCall {
                        id: call.call_id.clone(),
                        name: call.fn_name.clone(),
                        arguments,
                    });
                }
                ContentPart::ThoughtSignature(_) | ContentPart::Custom(_) => own = true,
                _ => {}
            }
        }
        let called = !calls.is_empty();
        if own && let Ok(value) = serde_json::to_value(&content) {
            blocks.push(AssistantBlock::Provider {
                value: json!({ CONTENT: value }),
            });
        }
        blocks.extend(calls);
        let stop = match reason {
            TheirStop::MaxTokens(_) => StopReason::MaxTokens,
            TheirStop::ContentFilter(reason) => {
                return Err(Failure::final_(Error::Refused { reason }));
            }
            _ if called => StopReason::ToolUse,
            TheirStop::Other(reason) => StopReason::Other(reason),
            TheirStop::Completed(_) | TheirStop::ToolCall(_) | TheirStop::StopSequence(_) => {
                StopReason::EndTurn
            }
        };
        let usage = end.captured_usage.map(usage).unwrap_or_default();
        Ok(vec![Event::Done(Reply { blocks, stop, usage })])
    }

    fn text(&mut self, delta: String) -> Vec<Event> {
        match self.blocks.last_mut() {
            _ if delta.is_empty() => return Vec::new(),
            Some(AssistantBlock::Text { text }) => text.push_str(&delta),
            _ => self.blocks.push(AssistantBlock::Text { text: delta.clone() }),
        }
        vec![Event::Text { delta }]
    }

    /// A call as far as it has come, told again with each piece.
    fn calling(&mut self, call: ToolCall) -> Vec<Event> {
        if call.fn_name.is_empty() || self.calling.as_ref() == Some(&call.call_id) {
            return Vec::new();
        }
        self.calling = Some(call.call_id);
        vec![Event::Calling { tool: call.fn_name }]
    }

    fn thinking(&mut self, delta: String) -> Vec<Event> {
        match self.blocks.last_mut() {
            _ if delta.is_empty() => return Vec::new(),
            Some(AssistantBlock::Thinking { text }) => text.push_str(&delta),
            _ => self.blocks.push(AssistantBlock::Thinking { text: delta.clone() }),
        }
        vec![Event::Thinking { delta }]
    }
}

impl Decoder for OtherDecoder {
    fn feed(&mut self, data: &str) -> Result<Vec<Event>, Failure> {
        let event = serde_json::from_str(data).map_err(|_| broken("an event is not what it should be"))?;
        match event {
            _ if self.over => Ok(Vec::new()),
            ChatStreamEvent::Chunk(chunk) => Ok(self.text(chunk.content)),
            ChatStreamEvent::ReasoningChunk(chunk) => Ok(self.thinking(chunk.content)),
            ChatStreamEvent::ToolCallChunk(chunk) => Ok(self.calling(chunk.tool_call)),
            ChatStreamEvent::End(end) => self.done(end),
            // Calls and signatures come whole with the end.
            ChatStreamEvent::Start
            | ChatStreamEvent::ThoughtSignatureChunk(_)
            | ChatStreamEvent::Heartbeat => Ok(Vec::new()),
        }
    }

    fn is_complete(&self) -> bool {
        false
    }

    fn end(&mut self) -> Result<Vec<Event>, Failure> {
        if self.over {
            Ok(Vec::new())
        } else {
            Err(broken("it ended in the middle"))
        }
    }
}

fn usage(theirs: TheirUsage) -> Usage {
    let number = |tokens: Option<i32>| tokens.and_then(|tokens| u64::try_from(tokens).ok()).unwrap_or(0);
    let prompt = theirs.prompt_tokens_details.unwrap_or_default();
    let (cached_read, cached_write) = (number(prompt.cached_tokens), number(prompt.cache_creation_tokens));
    Usage {
        input: number(theirs.prompt_tokens).saturating_sub(cached_read + cached_write),
        output: number(theirs.completion_tokens),
        cached_read,
        cached_write,
        reasoning: number(
            theirs
                .completion_tokens_details
                .unwrap_or_default()
                .reasoning_tokens,
        ),
    }
}

#[cfg(test)]
mod tests;
