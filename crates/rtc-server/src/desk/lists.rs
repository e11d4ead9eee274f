//! Whole lists, read page by page.

use anyhow::Result;
use rtc_types::{Message, Rtc, Session, SessionId, Turn};
use rtc_wire::rpc::{
    Bounded, Call, MAX_PAGE, MessageList, MessageOrder, Page, RtcList, SessionList, TurnList,
};

use super::{Desk, Error};

impl Desk {
    /// The sessions, the one that changed last first.
    pub(crate) async fn sessions(&self) -> Result<Vec<Session>> {
        self.all(|cursor, limit| SessionList {
            cursor,
            limit: Bounded::new(limit),
        })
        .await
    }

    /// The messages of a session, in order.
    pub(crate) async fn messages(&self, session_id: SessionId) -> Result<Vec<Message>> {
        self.all(|cursor, limit| MessageList {
            session_id,
            cursor,
            limit: Bounded::new(limit),
            order: MessageOrder::default(),
        })
        .await
    }

    /// The turns of a session.
    pub(crate) async fn turns(&self, session_id: SessionId) -> Result<Vec<Turn>> {
        self.all(|cursor, limit| TurnList {
            session_id,
            cursor,
            limit: Bounded::new(limit),
        })
        .await
    }

    /// The calls of a session, in order.
    pub(crate) async fn rtcs(&self, session_id: SessionId) -> Result<Vec<Rtc>> {
        self.all(|cursor, limit| RtcList {
            session_id,
            cursor,
            limit: Bounded::new(limit),
        })
        .await
    }

    /// All entries of a list. Where a page is too large to be sent, the next attempt asks for half as many.
    pub(crate) async fn all<C, T, K>(&self, ask: impl Fn(Option<K>, u64) -> C) -> Result<Vec<T>>
    where
        C: Call<Result = Page<T, K>>,
        K: Clone,
    {
        let mut all = Vec::new();
        let mut cursor = None;
        let mut limit = u64::from(MAX_PAGE);
        loop {
            let page = match self.call(ask(cursor.clone(), limit)).await {
                Err(error) if limit > 1 && matches!(error.downcast_ref(), Some(Error::TooLarge)) => {
                    limit /= 2;
                    continue;
                }
                page => page?,
            };
            all.extend(page.items);
            match page.next_cursor {
                Some(next) => cursor = Some(next),
                None => return Ok(all),
            }
        }
    }
}
