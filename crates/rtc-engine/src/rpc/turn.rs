//! Turns.

use rtc_types::{Code, SessionId, Turn, TurnId};
use rtc_wire::rpc::{Item, Page, RpcError, Success, TurnGet, TurnList};
use serde_json::Value;

use super::{action, count, page};
use crate::command::Command;
use crate::engine::Engine;
use crate::stored::StoredTurn;

impl Engine {
    pub(super) async fn turn_list(&self, ask: TurnList) -> Result<Page<Turn, TurnId>, RpcError> {
        self.known_session(ask.session_id).await?;
        if let Some(cursor) = ask.cursor {
            let last = self.known_turn(cursor).await?.entity;
            if last.session_id != ask.session_id {
                return Err(not_found(cursor));
            }
        }
        let limit = count(ask.limit.get());
        let read = self
            .inner
            .records
            .turns_after(ask.session_id, ask.cursor, limit + 1);
        let turns = self.readable(ask.session_id, read.await?);
        let turns = turns.into_iter().map(|stored| stored.entity).collect();
        Ok(page(turns, limit, |turn: &Turn| turn.id))
    }

    pub(super) async fn turn_get(&self, ask: TurnGet) -> Result<Item<Turn>, RpcError> {
        let item = self.known_turn(ask.turn_id).await?.entity;
        Ok(Item { item })
    }

    /// Answers when it has stopped; the updates come on the topic channel.
    pub(super) async fn turn_stop(&self, session: SessionId) -> Result<Value, RpcError> {
        let mut position = self.position();
        self.ask(session, Command::Stop).await?;
        loop {
            position.borrow_and_update();
            let state = self.wake(session).await?;
            if !state.stopping {
                return action(Success::DONE, Vec::new());
            }
            if position.changed().await.is_err() {
                return Err(crate::Error::Ended.into());
            }
        }
    }

    async fn known_turn(&self, turn: TurnId) -> Result<StoredTurn, RpcError> {
        let found = self.inner.records.by_id(turn.uuid()).await?;
        found.ok_or_else(|| not_found(turn))
    }
}

fn not_found(turn: TurnId) -> RpcError {
    RpcError::new(Code::TurnNotFound, format!("there is no turn {turn}"))
}
