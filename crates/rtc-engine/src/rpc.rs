//! The methods of the engine: what clients may ask of sessions, messages, turns and calls.

mod call;
mod fork;
mod session;
mod turn;

use rtc_realtime::Caller;
use rtc_types::{Code, Mode, ProjectId, SessionId, Update};
use rtc_wire::rpc::{Page, Reply, Request, RpcError, Success};
use serde::Serialize;
use serde_json::Value;

use crate::Error;
use crate::command::Command;
use crate::engine::Engine;
use crate::source::reply_for_caller;
use crate::stored::StoredSession;

/// What a new session is made of where the request does not say.
#[derive(Debug, Clone, Default)]
pub struct Defaults {
    /// Its folder.
    pub project: Option<ProjectId>,
    /// The folders that a request may name: those of the caller's device that are open.
    pub open: Vec<ProjectId>,
    /// Its mode.
    pub mode: Mode,
}

impl From<Error> for RpcError {
    fn from(error: Error) -> Self {
        RpcError::new(error.code(), error.to_string())
    }
}

impl Engine {
    /// Does what a client asks for. Nothing, if the method is not one of the engine's. Who may ask was looked at before.
    ///
    /// # Errors
    /// Those of the method, as the table has them.
    pub async fn call(
        &self,
        caller: &Caller,
        request: Request,
        defaults: Defaults,
    ) -> Option<Result<Value, RpcError>> {
        let answer = match request {
            Request::SessionList(ask) => query(self.session_list(ask).await),
            Request::SessionGet(ask) => query(self.session_get(ask).await),
            Request::SessionOpen(ask) => self.done(ask.session_id, Command::Open).await,
            Request::SessionClose(ask) => self.done(ask.session_id, Command::Close).await,
            Request::SessionUpdate(ask) => self.session_update(ask).await,
            Request::SessionSetMode(ask) => self.session_set_mode(ask).await,
            Request::SessionFork(ask) => self.session_fork(caller, ask, defaults).await,
            Request::HistoryClear(ask) => self.done(ask.session_id, Command::ClearHistory).await,
            Request::MessageSend(ask) => self.message_send(caller, ask, defaults).await,
            Request::MessageList(ask) => query(self.message_list(ask).await),
            Request::MessageGet(ask) => query(self.message_get(ask).await),
            Request::TurnList(ask) => query(self.turn_list(ask).await),
            Request::TurnGet(ask) => query(self.turn_get(ask).await),
            Request::TurnStop(ask) => self.turn_stop(ask.session_id).await,
            Request::RtcList(ask) => query(self.rtc_list(caller, ask).await),
            Request::RtcGet(ask) => query(self.rtc_get(caller, ask).await),
            Request::RtcPreview(ask) => query(self.rtc_preview(caller, ask).await),
            Request::RtcApprove(ask) => self.rtc_approve(caller, ask).await,
            Request::RtcResolve(ask) => self.rtc_resolve(caller, ask).await,
            Request::RtcClaim(ask) => self.rtc_claim(caller, ask).await,
            Request::RtcRenew(ask) => self.rtc_renew(caller, ask).await,
            Request::RtcSubmitResult(ask) => self.rtc_submit_result(caller, ask).await,
            Request::RtcUpdateStatus(ask) => self.rtc_update_status(caller, ask).await,
            _ => return None,
        };
        let asks_itself = self.inner.host.asks_itself(caller.device);
        Some(answer.map(|reply| reply_for_caller(reply, caller, asks_itself)))
    }

    /// Tells a session something of which the client learns only that it is done.
    async fn done(&self, session: SessionId, command: Command) -> Result<Value, RpcError> {
        let (_, updates) = self.ask(session, command).await?;
        action(Success::DONE, updates)
    }

    async fn known_session(&self, session: SessionId) -> Result<StoredSession, RpcError> {
        let found = self.session(session).await?;
        found.ok_or_else(|| RpcError::new(Code::SessionNotFound, format!("there is no session {session}")))
    }

    /// One that is there for more than a look back.
    async fn living_session(&self, session: SessionId) -> Result<StoredSession, RpcError> {
        let found = self.known_session(session).await?;
        if found.entity.deleted_at.is_some() {
            return Err(RpcError::new(Code::SessionNotFound, "the session was deleted"));
        }
        Ok(found)
    }

    /// One that takes what is asked of it.
    async fn open_session(&self, session: SessionId) -> Result<StoredSession, RpcError> {
        let found = self.living_session(session).await?;
        if found.entity.status == rtc_types::SessionStatus::Closed {
            let told = "the session is closed; open it first";
            return Err(RpcError::new(Code::SessionClosed, told));
        }
        Ok(found)
    }
}

fn query<T: Serialize>(result: Result<T, RpcError>) -> Result<Value, RpcError> {
    Reply::new(result?).into_value()
}

fn action<T: Serialize>(result: T, updates: Vec<Update>) -> Result<Value, RpcError> {
    Reply::with_updates(result, updates).into_value()
}

/// A page of at most `limit` of what was read, one more than that if there is more.
fn page<T, C>(mut items: Vec<T>, limit: usize, cursor: impl Fn(&T) -> C) -> Page<T, C> {
    let has_more = items.len() > limit;
    items.truncate(limit);
    let next_cursor = items.last().filter(|_| has_more).map(cursor);
    Page { items, next_cursor }
}

/// How many a page takes.
fn count(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}
