//! The user writes a message of the first session anew, and goes on in the copy.

use rtc_engine::{Defaults, Error, StoredMessage};
use rtc_realtime::{Caller, ConnectionId, Scopes};
use rtc_types::{ClientId, ContentData, SessionId};
use rtc_wire::rpc::{Request, SessionFork, UserContent};
use serde_json::Value;
use uuid::Uuid;

use super::{DEVICE, Look, Session, USER, message_client_id, project_id, session_client_id, session_id};
use crate::Sabotage;
use crate::model::words;
use crate::scenario::CopyPlan;

impl Session<'_> {
    /// Makes the copy when its time has come. Asked for again under the same client ids, it is the same.
    pub(super) async fn copy(&self, plan: &CopyPlan) -> Result<Look, Error> {
        if !self.first_has(plan.message + 1, plan.from).await? {
            return Ok(Look::Waits);
        }
        let old = session_id(0);
        let said = ContentData::Text(words(0, plan.message));
        let is_said = |message: &StoredMessage| message.entity.content.parse().as_ref() == Some(&said);
        let Some(message) = self.engine.messages(old).await?.into_iter().find(is_said) else {
            self.world
                .wrong(format!("message {} is not there any more", plan.message));
            return Ok(Look::Waits);
        };
        let ask = SessionFork {
            old_server_session_id: old,
            old_server_message_id: message.entity.id,
            new_client_session_id: session_client_id(self.session),
            new_client_message_id: self.copy_client_id(),
            content_data: UserContent::Text(words(self.session, 0)),
            limit: None,
        };
        let defaults = Defaults {
            project: Some(project_id(0)),
            ..Defaults::default()
        };
        let answer = self
            .engine
            .call(&here(), Request::SessionFork(ask), defaults)
            .await;
        let answer = match answer {
            Some(Ok(answer)) => answer,
            Some(Err(error)) => {
                return Err(Error::Refused {
                    code: error.code,
                    message: error.message,
                });
            }
            None => return Err(Error::Ended),
        };
        let Some(id) = session_of(&answer) else {
            return Err(Error::Unreadable(answer.to_string()));
        };
        self.world.effect(
            || format!("copy {} is acknowledged", self.session),
            |facts| {
                let known = &mut facts.users[self.session];
                (known.id, known.said) = (Some(id), known.said.max(1));
            },
        );
        Ok(Look::Acted)
    }

    fn copy_client_id(&self) -> ClientId {
        let id = message_client_id(self.session, 0);
        let life = self.world.with(|facts| facts.lives);
        match self.world.sabotage {
            Sabotage::CopiesAgain => {
                ClientId::new(format!("{id}-{life}")).expect("a short text is a client id")
            }
            _ => id,
        }
    }
}

/// The user at the device of the sessions.
fn here() -> Caller {
    Caller {
        user: USER,
        device: DEVICE,
        scopes: Scopes::all(),
        connection: ConnectionId::new(Uuid::from_u128(4)),
        approvals: true,
    }
}

/// Which session an answer tells of.
fn session_of(answer: &Value) -> Option<SessionId> {
    let id = answer["result"]["session_id"].as_str()?;
    Some(SessionId::new(id.parse().ok()?))
}
