//! A step in the making.

use std::sync::Arc;

use rtc_tool::Policy;
use rtc_types::{
    Content, ContentData, CreatorKind, CreatorRef, Message, MessageId, MessageRole, Mint, SessionStatus,
    StreamingStatus, Timestamp, TurnId, TurnStatus, UpdateAction, UpdateEntity, UpdateItem,
};
use uuid::Uuid;

use crate::command::{Done, Effect, Given, Step, Write};
use crate::state::SessionState;
use crate::stored::{MessagePrivate, StoredMessage, StoredRtc, StoredTurn};
use crate::user::mode_in_force;

pub(crate) struct Draft {
    pub(crate) state: SessionState,
    pub(crate) mint: Mint,
    pub(crate) now: Timestamp,
    pub(crate) effects: Vec<Effect>,
    pub(crate) provisional: bool,
    rules: Vec<rtc_types::Rule>,
    rules_are_damaged: bool,
    before: SessionState,
    writes: Vec<Write>,
    items: Vec<UpdateItem>,
}

impl Draft {
    pub(crate) fn new(state: &SessionState, given: &Given) -> Self {
        Self {
            state: state.clone(),
            mint: given.stamp.mint(),
            now: given.now(),
            effects: Vec::new(),
            provisional: false,
            rules: given.rules.clone(),
            rules_are_damaged: given.rules_are_damaged,
            before: state.clone(),
            writes: Vec::new(),
            items: Vec::new(),
        }
    }

    /// What the user has decided so far, rules made in this very step included.
    pub(crate) fn policy(&self) -> Policy {
        let session_rules = self
            .state
            .session
            .as_ref()
            .map(|session| session.private.rules.clone())
            .unwrap_or_default();
        Policy {
            mode: mode_in_force(self.state.mode(), self.rules_are_damaged),
            rules: self.rules.clone(),
            session_rules,
        }
    }

    pub(crate) fn add_rule(&mut self, rule: rtc_types::Rule) {
        self.rules.push(rule.clone());
        self.writes.push(Write::Rule(Box::new(rule)));
    }

    pub(crate) fn write(&mut self, write: Write) {
        self.writes.push(write);
    }

    pub(crate) fn after(&mut self, effect: Effect) {
        if !self.effects.contains(&effect) {
            self.effects.push(effect);
        }
    }

    fn tell(&mut self, entity: UpdateEntity, action: UpdateAction, entity_id: Uuid) {
        if !self
            .items
            .iter()
            .any(|item| item.entity == entity && item.entity_id == entity_id)
        {
            self.items.push(UpdateItem {
                entity,
                action,
                entity_id,
            });
        }
    }

    pub(crate) fn set_session_status(&mut self, status: SessionStatus) {
        // What ends in a closed session does not open it.
        if let Some(session) = &mut self.state.session
            && session.entity.status != SessionStatus::Closed
        {
            session.entity.status = status;
        }
    }

    pub(crate) fn set_turn_status(&mut self, status: TurnStatus) {
        let now = self.now;
        if let Some(turn) = &mut self.state.turn {
            turn.entity.status = status;
            if status.is_terminal() {
                turn.entity.completed_at = Some(now);
            }
        }
    }

    /// Ends the turn; whatever waits begins the next one.
    pub(crate) fn end_turn(&mut self, status: TurnStatus) {
        self.set_turn_status(status);
        self.set_session_status(SessionStatus::Idle);
        if let Some(turn) = self.state.turn.take() {
            let is_new = self.before.turn.is_none();
            let action = if is_new {
                UpdateAction::Created
            } else {
                UpdateAction::Updated
            };
            self.tell(UpdateEntity::Turn, action, turn.entity.id.uuid());
            self.writes.push(Write::Turn(turn));
        }
        if let Some(session) = &mut self.state.session {
            session.private.turn = None;
        }
        if !self.state.waiting.is_empty() {
            self.after(Effect::GatherContext);
        }
    }

    /// The turn takes over everything that waits.
    pub(crate) fn take_over_waiting(&mut self) {
        let Some(mut turn) = self.state.turn.take() else {
            return;
        };
        for message in std::mem::take(&mut self.state.waiting) {
            let mut message = Arc::unwrap_or_clone(message);
            turn.private.last_message += 1;
            message.entity.turn_id = Some(turn.entity.id);
            message.entity.turn_offset = turn.private.last_message;
            message.entity.streaming_status = StreamingStatus::Completed;
            message.entity.updated_at = self.now;
            self.put_message(message, UpdateAction::Updated);
        }
        self.state.turn = Some(turn);
    }

    /// A new message of the turn (or, without one, of the session), numbered and written.
    pub(crate) fn new_message(&mut self, new: NewMessage) -> StoredMessage {
        let turn_offset = match (&mut self.state.turn, new.turn) {
            (Some(turn), Some(_)) => {
                turn.private.last_message += 1;
                turn.private.last_message
            }
            _ => 0,
        };
        let session = self
            .state
            .session
            .as_mut()
            .expect("a session exists before any message of it");
        session.private.last_message += 1;
        let (creator_kind, creator_ref_id) = match new.role {
            MessageRole::User => (CreatorKind::User, CreatorRef::User(session.entity.owner_ref_id)),
            MessageRole::Assistant | MessageRole::Tool | MessageRole::System => {
                (CreatorKind::System, CreatorRef::System)
            }
        };
        let message = StoredMessage::new(
            Message {
                id: MessageId::new(self.mint.uuid()),
                client_id: new.client_id,
                session_id: session.entity.id,
                turn_id: new.turn,
                parent_message_id: new.parent,
                global_offset: session.private.last_message,
                turn_offset,
                role: new.role,
                content: Content::from(&new.content),
                streaming_status: new.status,
                creator_kind,
                creator_ref_id,
                created_at: self.now,
                updated_at: self.now,
                input_tokens: None,
                output_tokens: None,
                total_tokens: None,
                cached_tokens: None,
                reasoning_tokens: None,
            },
            new.private,
        );
        self.put_message(message.clone(), UpdateAction::Created);
        message
    }

    pub(crate) fn put_message(&mut self, message: StoredMessage, action: UpdateAction) {
        self.tell(UpdateEntity::Message, action, message.entity.id.uuid());
        self.put_message_silently(message);
    }

    /// The last `global_offset` given.
    pub(crate) fn last_message(&self) -> u32 {
        let session = self.state.session.as_ref();
        session.map_or(0, |session| session.private.last_message)
    }

    /// A message of another session, with a new id, as the next one of this session.
    pub(crate) fn copy_message(&mut self, mut message: StoredMessage) -> StoredMessage {
        let session = self
            .state
            .session
            .as_mut()
            .expect("a session exists before any message of it");
        session.private.last_message += 1;
        message.entity.session_id = session.entity.id;
        message.entity.global_offset = session.private.last_message;
        // It is new, so there is no need to look whether it is told of already.
        self.items.push(UpdateItem {
            entity: UpdateEntity::Message,
            action: UpdateAction::Created,
            entity_id: message.entity.id.uuid(),
        });
        self.writes.push(Write::Message(message.clone()));
        message
    }

    /// A turn of another session, with a new id.
    pub(crate) fn copy_turn(&mut self, turn: StoredTurn) {
        self.items.push(UpdateItem {
            entity: UpdateEntity::Turn,
            action: UpdateAction::Created,
            entity_id: turn.entity.id.uuid(),
        });
        self.writes.push(Write::Turn(turn));
    }

    /// Live text: written, told on the live channel only.
    pub(crate) fn put_message_silently(&mut self, message: StoredMessage) {
        let id = message.entity.id;
        self.writes
            .retain(|write| !matches!(write, Write::Message(other) if other.entity.id == id));
        self.writes.push(Write::Message(message));
    }

    pub(crate) fn put_rtc(&mut self, rtc: StoredRtc) {
        let id = rtc.entity.id;
        // The first sight of a call is an update too: clients of this protocol know no other event of it.
        self.tell(UpdateEntity::Rtc, UpdateAction::Updated, id.uuid());
        self.writes
            .retain(|write| !matches!(write, Write::Rtc(other) if other.entity.id == id));
        self.writes.push(Write::Rtc(Box::new(rtc)));
    }

    /// Closes the step: what of session and turn changed is written, the session's list of open things kept true.
    pub(crate) fn finish(mut self, done: Done) -> Step {
        if let Some(turn) = self.state.turn.clone() {
            match self.before.turn.take() {
                Some(before) if before.entity.id == turn.entity.id => {
                    if before.entity != turn.entity {
                        self.tell(UpdateEntity::Turn, UpdateAction::Updated, turn.entity.id.uuid());
                    }
                    if before != turn {
                        self.writes.push(Write::Turn(turn));
                    }
                }
                _ => {
                    self.tell(UpdateEntity::Turn, UpdateAction::Created, turn.entity.id.uuid());
                    self.writes.push(Write::Turn(turn));
                }
            }
        }
        let turn: Option<TurnId> = self.state.turn.as_ref().map(|turn| turn.entity.id);
        if let Some(session) = &mut self.state.session {
            session.private.turn = turn;
            session.private.waiting = self
                .state
                .waiting
                .iter()
                .map(|message| message.entity.global_offset)
                .collect();
            session.private.streaming = self
                .state
                .streaming
                .iter()
                .map(|message| message.entity.global_offset)
                .collect();
            session.private.calls = self
                .state
                .calls
                .iter()
                .map(|call| call.stored.entity.offset)
                .collect();
            session.private.stopping = self.state.stopping;
        }
        if let Some(mut session) = self.state.session.clone() {
            let before = self.before.session.take();
            if before
                .as_ref()
                .is_none_or(|before| before.entity != session.entity)
            {
                session.entity.updated_at = self.now;
                self.state.session = Some(session.clone());
                let action = if before.is_none() {
                    UpdateAction::Created
                } else {
                    UpdateAction::Updated
                };
                self.tell(UpdateEntity::Session, action, session.entity.id.uuid());
            }
            if before.as_ref() != Some(&session) {
                self.writes.push(Write::Session(Box::new(session)));
            }
        }
        Step {
            state: self.state,
            writes: self.writes,
            items: self.items,
            provisional: self.provisional,
            effects: self.effects,
            done,
        }
    }
}

/// What a new message is made of.
pub(crate) struct NewMessage {
    pub(crate) role: MessageRole,
    pub(crate) content: ContentData,
    pub(crate) status: StreamingStatus,
    pub(crate) turn: Option<TurnId>,
    pub(crate) parent: Option<MessageId>,
    pub(crate) client_id: Option<rtc_types::ClientId>,
    pub(crate) private: MessagePrivate,
}

impl NewMessage {
    pub(crate) fn of_turn(turn: TurnId, role: MessageRole, content: ContentData, round: u32) -> Self {
        Self {
            role,
            content,
            status: StreamingStatus::Completed,
            turn: Some(turn),
            parent: None,
            client_id: None,
            private: MessagePrivate {
                round,
                provider: None,
            },
        }
    }
}
