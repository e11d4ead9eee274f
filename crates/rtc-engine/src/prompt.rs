//! What a model is sent: a pure function of what is stored.

use std::collections::HashMap;

use rtc_model::{AssistantBlock, Item, Request};
use rtc_tool::budget;
use rtc_types::{ContentData, MessageId, MessageRole, RtcStatus, StreamingStatus, ToolCall, TurnId};

use crate::stored::{StoredMessage, TurnContext};

/// Builds the request of a turn from its context and the messages of the session, in any order.
///
/// Turns come in the order in which they took over the user's messages; what the user said while a turn ran belongs to
/// the next. Provisional and broken-off text is left out. Each call is followed by its one result.
pub fn request(context: &TurnContext, messages: &[StoredMessage]) -> Request {
    let mut kept: Vec<&StoredMessage> = messages
        .iter()
        .filter(|message| message.entity.turn_id.is_some())
        .filter(|message| message.entity.streaming_status == StreamingStatus::Completed)
        .collect();
    let ranks = Ranks::of(kept.iter().copied());
    if let Some(cleared) = context.cleared {
        kept.retain(|message| ranks.rank(message) > cleared);
    }
    kept.sort_by_key(|message| (ranks.rank(message), message.entity.turn_offset));
    let outputs: HashMap<MessageId, ToolCall> = kept
        .iter()
        .filter_map(|message| match message.entity.content.parse() {
            Some(ContentData::ToolcallOutput(call)) => Some((message.entity.parent_message_id?, call)),
            _ => None,
        })
        .collect();
    Request {
        system: context.system.clone(),
        tools: context.tools.clone(),
        items: items(context, &kept, &outputs),
        max_output_tokens: None,
    }
}

/// The order of turns: by the first message of the user that each took over.
pub(crate) struct Ranks(HashMap<TurnId, u32>);

impl Ranks {
    pub(crate) fn of<'m>(messages: impl Iterator<Item = &'m StoredMessage>) -> Self {
        let mut first: HashMap<TurnId, u32> = HashMap::new();
        for message in messages {
            if let (Some(turn), MessageRole::User) = (message.entity.turn_id, message.entity.role) {
                let least = first.entry(turn).or_insert(message.entity.global_offset);
                *least = (*least).min(message.entity.global_offset);
            }
        }
        Self(first)
    }

    /// Where the turn of a message stands; without one, the message itself.
    pub(crate) fn rank(&self, message: &StoredMessage) -> u32 {
        let turn = message.entity.turn_id.and_then(|turn| self.0.get(&turn).copied());
        turn.unwrap_or(message.entity.global_offset)
    }
}

fn items(
    context: &TurnContext,
    messages: &[&StoredMessage],
    outputs: &HashMap<MessageId, ToolCall>,
) -> Vec<Item> {
    let mut items = Vec::new();
    let mut reply: Option<Replied> = None;
    for message in messages {
        let same = reply.as_ref().is_some_and(|reply| reply.is_of(message));
        if !same && let Some(done) = reply.take() {
            done.close(&mut items);
        }
        match message.entity.content.parse() {
            Some(ContentData::Text(text)) => items.push(Item::User { text }),
            Some(ContentData::Markdown(text)) => {
                reply
                    .get_or_insert_with(|| Replied::new(message, context))
                    .add_text(AssistantBlock::Text { text });
            }
            Some(ContentData::Thinking(text)) => {
                reply
                    .get_or_insert_with(|| Replied::new(message, context))
                    .add_text(AssistantBlock::Thinking { text });
            }
            Some(ContentData::ToolcallInput(call)) => {
                let reply = reply.get_or_insert_with(|| Replied::new(message, context));
                if let Some(output) = outputs.get(&message.entity.id) {
                    reply.add_call(call, output);
                }
            }
            Some(ContentData::ToolcallOutput(_) | ContentData::Error(_)) | None => {}
        }
    }
    if let Some(done) = reply {
        done.close(&mut items);
    }
    items
}

/// One reply of the model, put together again.
struct Replied {
    turn: Option<TurnId>,
    round: u32,
    exact: bool,
    blocks: Vec<AssistantBlock>,
    results: Vec<Item>,
}

impl Replied {
    fn new(message: &StoredMessage, context: &TurnContext) -> Self {
        let provider = message
            .private
            .provider
            .as_ref()
            .filter(|reply| reply.api == context.model.api && reply.model == context.model.model);
        Self {
            turn: message.entity.turn_id,
            round: message.private.round,
            exact: provider.is_some(),
            blocks: provider.map(|reply| reply.blocks.clone()).unwrap_or_default(),
            results: Vec::new(),
        }
    }

    fn is_of(&self, message: &StoredMessage) -> bool {
        message.entity.turn_id == self.turn
            && message.private.round == self.round
            && message.entity.role != MessageRole::User
    }

    fn add_text(&mut self, block: AssistantBlock) {
        let empty = matches!(&block, AssistantBlock::Text { text } | AssistantBlock::Thinking { text } if text.is_empty());
        if !self.exact && !empty {
            self.blocks.push(block);
        }
    }

    fn add_call(&mut self, call: ToolCall, output: &ToolCall) {
        let id = call.id.as_str().to_owned();
        self.results.push(Item::ToolResult {
            call_id: id.clone(),
            tool_name: call.tool_name.clone(),
            text: budget(output.output.as_deref().unwrap_or_default()).into_owned(),
            is_error: output.status != Some(RtcStatus::Completed),
        });
        if !self.exact {
            self.blocks.push(AssistantBlock::ToolCall {
                id,
                name: call.tool_name,
                arguments: call.input,
            });
        }
    }

    fn close(self, items: &mut Vec<Item>) {
        if !self.blocks.is_empty() {
            items.push(Item::Assistant { blocks: self.blocks });
        }
        items.extend(self.results);
    }
}

#[cfg(test)]
mod tests;
