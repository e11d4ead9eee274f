//! A session that begins as a copy of another one.

use std::collections::HashMap;
use std::sync::Arc;

use rtc_types::{
    ClientId, Code, ContentData, MessageId, MessageRole, StreamingStatus, ToolCall, TurnId, TurnStatus,
};

use super::{call, new_session, say};
use crate::Error;
use crate::command::{Done, Fork};
use crate::draft::Draft;
use crate::stored::{MessagePrivate, StoredMessage, StoredTurn};

/// The copy, and the message that is written anew; it begins a turn.
pub(super) fn fork(draft: &mut Draft, fork: Fork) -> Result<Done, Error> {
    if draft.state.session.is_some() {
        return Err(Error::refused(Code::ForkError, "there is a session with this id"));
    }
    let Fork {
        send,
        origin,
        title,
        history,
    } = fork;
    let mut session = new_session(draft.now, send.new_session.clone(), &send.text);
    session.entity.title = title;
    session.private.origin = Some(origin);
    draft.state.session = Some(session);
    let mut copy = Copy {
        turns: HashMap::new(),
        messages: HashMap::new(),
        open: Vec::new(),
    };
    let mut old_turns: HashMap<TurnId, StoredTurn> = history
        .turns
        .into_iter()
        .map(|turn| (turn.entity.id, turn))
        .collect();
    let mut cleared = 0;
    for (number, message) in history.messages.into_iter().enumerate() {
        if let Some(turn) = message.entity.turn_id
            && !copy.turns.contains_key(&turn)
        {
            copy.close(draft);
            copy.turn(draft, turn, old_turns.remove(&turn));
        }
        copy.message(draft, message);
        if number < history.cleared {
            cleared = draft.last_message();
        }
    }
    copy.close(draft);
    let mut turns: Vec<StoredTurn> = copy.turns.into_values().collect();
    turns.sort_by_key(|turn| turn.entity.id);
    for turn in turns {
        draft.copy_turn(turn);
    }
    if let Some(session) = &mut draft.state.session
        && cleared > 0
    {
        session.entity.cleared_offset = Some(cleared);
    }
    Ok(say(draft, send))
}

struct Copy {
    /// From a turn to its copy.
    turns: HashMap<TurnId, StoredTurn>,
    /// From a message to its copy.
    messages: HashMap<MessageId, MessageId>,
    /// Calls of the present turn without a result, by the id of the copy.
    open: Vec<(StoredMessage, ToolCall)>,
}

impl Copy {
    fn turn(&mut self, draft: &mut Draft, old: TurnId, stored: Option<StoredTurn>) {
        let Some(mut stored) = stored else { return };
        let id = TurnId::new(draft.mint.uuid());
        let turn = &mut stored.entity;
        turn.id = id;
        turn.client_id = ClientId::new(id.to_string()).expect("a UUID is a client id");
        if let Some(session) = &draft.state.session {
            turn.session_id = session.entity.id;
        }
        if !turn.status.is_terminal() {
            // It goes on where it was copied from, not here.
            turn.status = TurnStatus::Cancelled;
            turn.completed_at = Some(draft.now);
        }
        // Written when its last message is known.
        self.turns.insert(old, stored);
    }

    fn message(&mut self, draft: &mut Draft, mut message: StoredMessage) {
        let old = message.entity.id;
        let id = MessageId::new(draft.mint.uuid());
        self.messages.insert(old, id);
        let entity = &mut message.entity;
        entity.id = id;
        entity.client_id = None;
        entity.turn_id = entity
            .turn_id
            .and_then(|turn| Some(self.turns.get(&turn)?.entity.id));
        entity.parent_message_id = entity
            .parent_message_id
            .and_then(|parent| self.messages.get(&parent).copied());
        if entity.streaming_status == StreamingStatus::Streaming {
            entity.streaming_status = StreamingStatus::Failed;
        }
        if entity.turn_id.is_none() && matches!(entity.role, MessageRole::User | MessageRole::System) {
            // It had no answer of its own: the new turn takes it over with the new message.
            entity.turn_offset = 0;
            entity.streaming_status = StreamingStatus::Pending;
            let message = draft.copy_message(message);
            draft.state.waiting.push(Arc::new(message));
            return;
        }
        let message = draft.copy_message(message);
        match message.entity.content.parse() {
            Some(ContentData::ToolcallInput(call)) => self.open.push((message, call)),
            Some(ContentData::ToolcallOutput(_)) => {
                let input = message.entity.parent_message_id;
                self.open.retain(|(open, _)| Some(open.entity.id) != input);
            }
            _ => {}
        }
    }

    /// Ends the present turn: each of its calls has a result.
    fn close(&mut self, draft: &mut Draft) {
        for (input, call) in std::mem::take(&mut self.open) {
            let ended = call::Ended::rejected("it had no result when the session was copied".to_owned());
            let output = ToolCall {
                output: Some(ended.text(&call.tool_name)),
                status: Some(ended.status),
                ..call
            };
            let turn = self
                .turns
                .values_mut()
                .find(|turn| Some(turn.entity.id) == input.entity.turn_id);
            let turn_offset = turn.map_or(0, |turn| {
                turn.private.last_message += 1;
                turn.private.last_message
            });
            let mut message = StoredMessage::new(
                input.entity.clone(),
                MessagePrivate {
                    round: input.private.round,
                    provider: None,
                },
            );
            message.entity.id = MessageId::new(draft.mint.uuid());
            message.entity.parent_message_id = Some(input.entity.id);
            message.entity.turn_offset = turn_offset;
            message.entity.content = ContentData::ToolcallOutput(output).into();
            message.entity.created_at = draft.now;
            message.entity.updated_at = draft.now;
            draft.copy_message(message);
        }
    }
}
