//! What a model is sent: a pure function of what is stored.

use std::collections::HashMap;
use std::sync::Arc;

use rtc_model::{AssistantBlock, Item, Request};
use rtc_tool::budget;
use rtc_types::{
    Content, ContentData, MessageId, MessageRole, RtcStatus, StreamingStatus, ToolCall, TurnId, UserMessage,
};

use crate::scenarios;
use crate::stored::{ProviderReply, StoredMessage, TurnContext};

/// A message as a request needs it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Spoken {
    id: MessageId,
    parent: Option<MessageId>,
    role: MessageRole,
    pub(crate) global_offset: u32,
    /// The turn that took it; none: it is not part of any request.
    turn: Option<TurnId>,
    turn_offset: u32,
    round: u32,
    is_whole: bool,
    content: Option<ContentData>,
    provider: Option<ProviderReply>,
}

impl From<&StoredMessage> for Spoken {
    fn from(message: &StoredMessage) -> Self {
        let entity = &message.entity;
        Self {
            id: entity.id,
            parent: entity.parent_message_id,
            role: entity.role,
            global_offset: entity.global_offset,
            turn: entity.turn_id,
            turn_offset: entity.turn_offset,
            round: message.private.round,
            is_whole: entity.streaming_status == StreamingStatus::Completed,
            content: entity.content.parse(),
            provider: message.private.provider.clone(),
        }
    }
}

/// Builds the request of a turn from its context and the messages of the session, in any order.
///
/// Turns come in the order in which they took over the user's messages; what the user said while a turn ran belongs to
/// the next. Provisional and broken-off text is left out. Each call is followed by its one result. The scenarios of a
/// message stand before its text, so that nothing which a request had before them changes.
pub(crate) fn request(context: &TurnContext, messages: &[Arc<Spoken>]) -> Request {
    let mut kept: Vec<(TurnId, &Spoken)> = messages
        .iter()
        .filter(|message| message.is_whole)
        .filter_map(|message| Some((message.turn?, &**message)))
        .collect();
    let ranks = Ranks::of(
        kept.iter()
            .map(|(turn, message)| (Some(*turn), message.role, message.global_offset)),
    );
    let rank = |turn: TurnId, message: &Spoken| ranks.rank(Some(turn), message.global_offset);
    if let Some(cleared) = context.cleared {
        kept.retain(|(turn, message)| rank(*turn, message) > cleared);
    }
    kept.sort_by_key(|(turn, message)| (rank(*turn, message), message.turn_offset));
    let outputs: HashMap<MessageId, &ToolCall> = kept
        .iter()
        .filter_map(|(_, message)| match &message.content {
            Some(ContentData::ToolcallOutput(call)) => Some((message.parent?, call)),
            _ => None,
        })
        .collect();
    let prompts: HashMap<MessageId, &str> = kept
        .iter()
        .filter_map(|(_, message)| match &message.content {
            Some(ContentData::Prompt(prompt)) => Some((message.parent?, &*prompt.body)),
            _ => None,
        })
        .collect();
    Request {
        system: context.system.clone(),
        tools: context.tools.clone(),
        items: items(context, &kept, &outputs, &prompts),
        max_output_tokens: None,
    }
}

/// What the user said in a message.
pub(crate) fn text(content: &Content) -> Option<String> {
    match content.parse()? {
        ContentData::Text(text) | ContentData::UserMessage(UserMessage { text, .. }) => Some(text),
        _ => None,
    }
}

/// The order of turns: by the first message of the user that each took over.
pub(crate) struct Ranks(HashMap<TurnId, u32>);

impl Ranks {
    /// Of messages: the turn that took each, who speaks, and its place in the session.
    pub(crate) fn of(messages: impl Iterator<Item = (Option<TurnId>, MessageRole, u32)>) -> Self {
        let mut first: HashMap<TurnId, u32> = HashMap::new();
        for (turn, role, offset) in messages {
            if let (Some(turn), MessageRole::User) = (turn, role) {
                let least = first.entry(turn).or_insert(offset);
                *least = (*least).min(offset);
            }
        }
        Self(first)
    }

    /// Where the turn of a message at this place stands; without one, the message itself.
    pub(crate) fn rank(&self, turn: Option<TurnId>, offset: u32) -> u32 {
        let first = turn.and_then(|turn| self.0.get(&turn).copied());
        first.unwrap_or(offset)
    }
}

fn items(
    context: &TurnContext,
    messages: &[(TurnId, &Spoken)],
    outputs: &HashMap<MessageId, &ToolCall>,
    prompts: &HashMap<MessageId, &str>,
) -> Vec<Item> {
    let mut items = Vec::new();
    let mut reply: Option<Replied> = None;
    for (_, message) in messages {
        let same = reply.as_ref().is_some_and(|reply| reply.is_of(message));
        if !same && let Some(done) = reply.take() {
            done.close(&mut items);
        }
        match &message.content {
            Some(ContentData::Text(text) | ContentData::UserMessage(UserMessage { text, .. })) => {
                let text = match prompts.get(&message.id) {
                    Some(body) => scenarios::before(body, text),
                    None => text.clone(),
                };
                items.push(Item::User { text });
            }
            Some(ContentData::Markdown(text)) => {
                let text = text.clone();
                reply
                    .get_or_insert_with(|| Replied::new(message, context))
                    .add_text(AssistantBlock::Text { text });
            }
            Some(ContentData::Thinking(text)) => {
                let text = text.clone();
                reply
                    .get_or_insert_with(|| Replied::new(message, context))
                    .add_text(AssistantBlock::Thinking { text });
            }
            Some(ContentData::ToolcallInput(call)) => {
                let reply = reply.get_or_insert_with(|| Replied::new(message, context));
                if let Some(output) = outputs.get(&message.id) {
                    reply.add_call(call, output);
                }
            }
            Some(ContentData::ToolcallOutput(_) | ContentData::Error(_) | ContentData::Prompt(_)) | None => {}
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
    fn new(message: &Spoken, context: &TurnContext) -> Self {
        let provider = message
            .provider
            .as_ref()
            .filter(|reply| reply.api == context.model.api && reply.model == context.model.model);
        Self {
            turn: message.turn,
            round: message.round,
            exact: provider.is_some(),
            blocks: provider.map(|reply| reply.blocks.clone()).unwrap_or_default(),
            results: Vec::new(),
        }
    }

    fn is_of(&self, message: &Spoken) -> bool {
        message.turn == self.turn && message.round == self.round && message.role != MessageRole::User
    }

    fn add_text(&mut self, block: AssistantBlock) {
        let empty = matches!(&block, AssistantBlock::Text { text } | AssistantBlock::Thinking { text } if text.is_empty());
        if !self.exact && !empty {
            self.blocks.push(block);
        }
    }

    fn add_call(&mut self, call: &ToolCall, output: &ToolCall) {
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
                name: call.tool_name.clone(),
                arguments: call.input.clone(),
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
