//! The engine in this process.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use rtc_app::App;
use rtc_engine::{Live, NewSession, Offset, Send};
use rtc_realtime::{Caller, ConnectionId, Position, Rpc, Scopes};
use rtc_types::{ClientId, SessionId, Update};
use rtc_wire::rpc::{Call, Reply};
use rtc_wire::{CallProgress, LiveEvent, TextDelta, Trouble};
use uuid::Uuid;

use super::{Error, NewMessage};

/// How many updates are read at a time.
const PAGE: usize = 200;

/// The engine in this process.
pub(crate) struct Here {
    app: App,
    rpc: Arc<dyn Rpc>,
    caller: Caller,
    model: Option<String>,
}

impl Here {
    pub(super) fn new(app: App, model: Option<String>) -> Self {
        let caller = Caller {
            user: app.user(),
            device: app.device(),
            scopes: Scopes::all(),
            connection: ConnectionId::new(Uuid::now_v7()),
            approvals: true,
        };
        Self {
            rpc: app.rpc(),
            app,
            caller,
            model,
        }
    }

    pub(super) fn app(&self) -> &App {
        &self.app
    }

    /// The model that was named.
    pub(super) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    pub(super) async fn call<C: Call>(&self, request: C) -> Result<C::Result> {
        let data = serde_json::to_value(request)?;
        let called = self.rpc.call(&self.caller, C::METHOD.as_str(), data).await;
        let reply: Reply<C::Result> = serde_json::from_value(called.map_err(Error::Refused)?)?;
        Ok(reply.result)
    }

    /// Not as other clients do it: nothing here limits how long a message may be.
    pub(super) async fn send(&self, message: NewMessage) -> Result<SessionId> {
        let session = message.session.unwrap_or_else(|| SessionId::new(Uuid::now_v7()));
        let sent = self.app.engine().send(Send {
            client_id: message.client_id,
            text: message.text,
            scenarios: Vec::new(),
            new_session: NewSession {
                id: session,
                client_id: ClientId::new(session.to_string()).context("a UUID is a client id")?,
                user: self.app.user(),
                device: self.app.device(),
                project: message.project,
                mode: message.mode.or(self.app.config().mode).unwrap_or_default(),
                agent_prompt: None,
                parent: None,
            },
        });
        Ok(sent.await?.session_id)
    }

    pub(super) async fn updates(&self, after: &mut Position) -> Result<Vec<Update>> {
        // Whatever the position says: it comes after the commit, and what was read already may show the commit's effect.
        let updates = self.app.engine().updates(Offset(after.offset), PAGE).await?;
        if let Some(last) = updates.last() {
            after.offset = last.offset;
        }
        Ok(updates)
    }
}

/// What the engine tells at once, as it goes to clients.
pub(super) fn told(live: Live) -> LiveEvent {
    match live {
        Live::Text {
            session,
            message,
            thinking,
            delta,
            sequence,
        } => LiveEvent::Delta(TextDelta {
            session_id: session,
            message_id: message,
            thinking,
            sequence,
            delta,
        }),
        Live::Progress { rtc, progress } => LiveEvent::Progress(CallProgress {
            rtc_id: rtc,
            progress,
        }),
        Live::Trouble {
            session,
            code,
            message,
        } => LiveEvent::Trouble(Trouble {
            session_id: session,
            code,
            message,
        }),
        Live::File(changed) => LiveEvent::File(changed),
    }
}
