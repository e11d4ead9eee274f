//! `v1.session.fork`.

use rtc_realtime::Caller;
use rtc_types::{Code, ContentData, Message, SessionId};
use rtc_wire::rpc::{Forked, MAX_FORK_MESSAGES, RpcError, SessionFork};
use serde_json::Value;

use super::session::said;
use super::{Defaults, action};
use crate::command::{Fork, NewSession, Send};
use crate::engine::Engine;
use crate::fork::history;
use crate::stored::Origin;

/// How many updates the reply of a fork carries at most. Those of a longer copy come on the topic channel alone.
const REPLY_UPDATES: usize = 5;

/// How many messages the copy has at most, of those that were asked for.
fn most(limit: u64) -> usize {
    let most = u64::from(MAX_FORK_MESSAGES);
    usize::try_from(limit.clamp(1, most)).unwrap_or(usize::MAX)
}

impl Engine {
    pub(super) async fn session_fork(
        &self,
        caller: &Caller,
        ask: SessionFork,
        defaults: Defaults,
    ) -> Result<Value, RpcError> {
        let said = said(&ask.content_data)?;
        let content = ContentData::from(said.clone());
        if let Some(before) = self.forked_before(&ask, &content).await? {
            return action(self.forked(&before).await?, Vec::new());
        }
        let old = self.living_session(ask.old_server_session_id).await?.entity;
        let records = &self.inner.records;
        let history = history(
            records.messages(old.id).await?,
            records.turns(old.id).await?,
            ask.old_server_message_id,
            old.cleared_offset,
            ask.limit.map(most),
        )?;
        let fork = Fork {
            send: Send {
                client_id: ask.new_client_message_id.clone(),
                text: said.text,
                scenarios: said.scenarios,
                new_session: NewSession {
                    id: SessionId::new(self.inner.clock.stamp().mint().uuid()),
                    client_id: ask.new_client_session_id.clone(),
                    user: caller.user,
                    device: caller.device,
                    // A folder is one of its device.
                    project: if caller.device == old.device_id {
                        old.project_id
                    } else {
                        defaults.project
                    },
                    mode: old.mode,
                    agent_prompt: old.agent_prompt,
                    parent: None,
                },
            },
            origin: Origin {
                session: old.id,
                message: ask.old_server_message_id,
            },
            title: old.title,
            history,
        };
        match self.fork(fork).await {
            Ok((message, offsets)) => {
                let updates = if offsets.len() <= REPLY_UPDATES {
                    self.updates_at(&offsets).await?
                } else {
                    Vec::new()
                };
                action(self.forked(&message).await?, updates)
            }
            // The same was asked for at the same time.
            Err(error) if error.code() == Code::ClientIdConflict => {
                match self.forked_before(&ask, &content).await? {
                    Some(before) => action(self.forked(&before).await?, Vec::new()),
                    None => Err(error.into()),
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The message that was written anew when the same was asked for before.
    async fn forked_before(
        &self,
        ask: &SessionFork,
        content: &ContentData,
    ) -> Result<Option<Message>, RpcError> {
        let Some(message) = self.inner.records.sent(&ask.new_client_message_id).await? else {
            return Ok(None);
        };
        let message = message.entity;
        let session = self.known_session(message.session_id).await?;
        let origin = Origin {
            session: ask.old_server_session_id,
            message: ask.old_server_message_id,
        };
        let is_same = session.private.origin == Some(origin)
            && session.entity.client_id == ask.new_client_session_id
            && message.content.parse().as_ref() == Some(content);
        if !is_same {
            let told = "another message was sent under this client id";
            return Err(RpcError::field(
                Code::ClientIdConflict,
                "new_client_message_id",
                told,
            ));
        }
        Ok(Some(message))
    }

    /// What is told of the session that begins with the copy before this message.
    async fn forked(&self, message: &Message) -> Result<Forked, RpcError> {
        let limit = usize::try_from(message.global_offset).unwrap_or(usize::MAX);
        let read = self.inner.records.messages_after(message.session_id, 0, limit);
        let messages = read.await?.items.into_iter().map(|stored| stored.entity.id);
        Ok(Forked {
            session_id: message.session_id,
            turn_id: None,
            message_ids: messages.collect(),
        })
    }
}
