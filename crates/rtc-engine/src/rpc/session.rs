//! Sessions and messages.

use rtc_realtime::{Caller, Scope};
use rtc_types::{Code, Message, MessageId, Session, SessionId, UserMessage};
use rtc_wire::rpc::{
    Item, MessageGet, MessageList, MessageOrder, MessageSend, OffsetCursor, Page, RpcError, Sent, SessionGet,
    SessionList, SessionSetMode, SessionUpdate, SessionUpdated, Success, UserContent,
};
use serde_json::Value;

use super::{Defaults, action, count, page};
use crate::command::{Command, NewSession, Send};
use crate::engine::Engine;
use crate::stored::StoredMessage;

impl Engine {
    pub(super) async fn session_list(&self, ask: SessionList) -> Result<Page<Session, SessionId>, RpcError> {
        let mut sessions = self.sessions().await?;
        if let Some(cursor) = ask.cursor {
            // As it is now, deleted or not: one that has moved up since repeats others and leaves none out.
            let last = self.known_session(cursor).await?.entity;
            sessions.retain(|session| (session.updated_at, session.id) < (last.updated_at, last.id));
        }
        let limit = count(ask.limit.get());
        sessions.truncate(limit + 1);
        Ok(page(sessions, limit, |session| session.id))
    }

    pub(super) async fn session_get(&self, ask: SessionGet) -> Result<Item<Session>, RpcError> {
        let item = self.known_session(ask.session_id).await?.entity;
        Ok(Item { item })
    }

    pub(super) async fn session_update(&self, ask: SessionUpdate) -> Result<Value, RpcError> {
        let change = Command::Change {
            title: ask.title.map(|title| title.into_string()),
            deleted_at: ask.deleted_at,
        };
        let (_, updates) = self.ask(ask.session_id, change).await?;
        let session_id = ask.session_id;
        action(SessionUpdated { session_id }, updates)
    }

    pub(super) async fn session_set_mode(&self, ask: SessionSetMode) -> Result<Value, RpcError> {
        self.open_session(ask.session_id).await?;
        let (_, updates) = self.ask(ask.session_id, Command::SetMode(ask.mode)).await?;
        action(Success::DONE, updates)
    }

    pub(super) async fn message_send(
        &self,
        caller: &Caller,
        ask: MessageSend,
        defaults: Defaults,
    ) -> Result<Value, RpcError> {
        let UserMessage { text, scenarios, .. } = said(&ask.content_data)?;
        if ask.mode.is_some() && !caller.scopes.has(Scope::Approve) {
            let told = "the token allows no answers for the user, and so no mode either";
            return Err(RpcError::new(Code::PermissionDenied, told));
        }
        let session = match ask.server_session_id {
            Some(session) => {
                self.open_session(session).await?;
                session
            }
            // Sent again, it is the session that was made for it.
            None => match self.inner.records.sent(&ask.client_id).await? {
                Some(message) => message.entity.session_id,
                None => {
                    if ask
                        .project_id
                        .is_some_and(|project| !defaults.open.contains(&project))
                    {
                        let told = "no folder with this id is open on the device that asks";
                        return Err(RpcError::new(Code::ProjectNotFound, told));
                    }
                    SessionId::new(self.inner.clock.stamp().mint().uuid())
                }
            },
        };
        let send = Send {
            client_id: ask.client_id,
            text,
            scenarios,
            new_session: NewSession {
                id: session,
                client_id: ask.client_session_id,
                user: caller.user,
                device: caller.device,
                project: ask.project_id.or(defaults.project),
                mode: ask.mode.unwrap_or(defaults.mode),
                agent_prompt: ask.agent_prompt.map(|prompt| prompt.into_string()),
                parent: None,
            },
        };
        let (message, offsets) = self.send_telling(send).await?;
        let sent = Sent {
            session_id: message.session_id,
            turn_id: None,
            message_id: message.id,
        };
        action(sent, self.updates_at(&offsets).await?)
    }

    pub(super) async fn message_list(
        &self,
        ask: MessageList,
    ) -> Result<Page<Message, OffsetCursor>, RpcError> {
        self.known_session(ask.session_id).await?;
        let (session, cursor) = (ask.session_id, ask.cursor.map(OffsetCursor::get));
        let (records, limit) = (&self.inner.records, count(ask.limit.get()));
        let read = match ask.order {
            MessageOrder::OldestFirst => {
                records
                    .messages_after(session, cursor.unwrap_or(0), limit + 1)
                    .await?
            }
            MessageOrder::NewestFirst => records.messages_before(session, cursor, limit + 1).await?,
        };
        let messages = self
            .readable(session, read)
            .into_iter()
            .map(|stored| stored.entity)
            .collect();
        Ok(page(messages, limit, |message: &Message| {
            OffsetCursor::new(message.global_offset)
        }))
    }

    pub(super) async fn message_get(&self, ask: MessageGet) -> Result<Item<Message>, RpcError> {
        let item = self.known_message(ask.message_id).await?.entity;
        Ok(Item { item })
    }

    pub(super) async fn known_message(&self, message: MessageId) -> Result<StoredMessage, RpcError> {
        let found = self.inner.records.by_id(message.uuid()).await?;
        found.ok_or_else(|| RpcError::new(Code::MessageNotFound, format!("there is no message {message}")))
    }
}

/// What a user says. Files are refused until they can be uploaded, which comes in a later version.
pub(super) fn said(content: &UserContent) -> Result<UserMessage, RpcError> {
    match content {
        UserContent::Text(text) => Ok(UserMessage {
            text: text.clone(),
            files: Vec::new(),
            scenarios: Vec::new(),
        }),
        UserContent::UserMessage(message) if message.files.is_empty() => Ok(message.clone()),
        UserContent::UserMessage(_) => {
            let told = "this version takes no files with a message; send it without them";
            let field = "content_data.data.files";
            Err(RpcError::field(Code::InvalidArgument, field, told))
        }
    }
}
