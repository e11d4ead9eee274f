//! Records by key: how a step becomes a batch and how what is stored is read.

use std::sync::Arc;

use rtc_store::{Batch, Durability, Entry, Key, Offset, Revision, Store};
use rtc_types::{
    Mint, ProjectId, RtcId, Session, SessionId, Timestamp, TurnId, Update, UpdateEntity, UpdateId, UpdateItem,
};
use rtc_wire::Gone;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::command::{Step, Write};
use crate::state::{Call, SessionState};
use crate::stored::{
    SessionOutline, StoredMessage, StoredRtc, StoredSession, StoredTurn, TurnContext, decode, encode,
};
use crate::user::Rules;
use crate::{Error, Keys};

/// How many records one read takes.
const PAGE: usize = 500;

/// How many changed entities one update tells of; a larger step makes several.
const ROW_ITEMS: usize = 200;

/// An entry of the topic stream: thin, the entities are filled in at delivery.
#[derive(Serialize, Deserialize)]
struct Row {
    id: UpdateId,
    items: Vec<UpdateItem>,
}

/// What was read, and what of it could not be.
pub(crate) struct Readable<T> {
    pub(crate) items: Vec<T>,
    /// By their keys.
    pub(crate) damaged: Vec<(Key, Error)>,
}

/// The records of one user.
#[derive(Clone)]
pub(crate) struct Records {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) keys: Keys,
}

impl Records {
    /// The batch of a step. The update goes to the user's stream also while nobody listens.
    pub(crate) fn batch(&self, session: SessionId, step: &Step, mint: &mut Mint, rules: &Rules) -> Batch {
        let keys = self.keys;
        let mut batch = Batch::new();
        for write in &step.writes {
            match write {
                Write::Session(stored) => {
                    batch.put(keys.session(session), stored.encode());
                }
                Write::Turn(stored) => {
                    let key = keys.turn(session, stored.entity.id);
                    batch.put(keys.index(stored.entity.id.uuid()), key.as_bytes());
                    batch.put(key, stored.encode());
                }
                Write::Message(stored) => {
                    let key = keys.message(session, stored.entity.global_offset);
                    batch.put(keys.index(stored.entity.id.uuid()), key.as_bytes());
                    batch.put(key, stored.encode());
                }
                Write::Rtc(stored) => {
                    let key = keys.rtc(session, stored.entity.offset);
                    batch.put(keys.index(stored.entity.id.uuid()), key.as_bytes());
                    batch.put(key, stored.encode());
                }
                Write::Context(turn, context) => {
                    batch.put(keys.context(session, *turn), encode(context));
                }
                Write::Seen(path, Value::Null) => {
                    batch.delete(keys.seen(session, path));
                }
                Write::Seen(path, known) => {
                    batch.put(keys.seen(session, path), encode(known));
                }
                Write::ClientId(client_id, message) => {
                    let key = keys.client_id(client_id);
                    batch.require(key.clone(), rtc_store::Expect::Absent);
                    batch.put(key, encode(message));
                }
                Write::Rule(rule) => rules.add(&mut batch, keys, (**rule).clone()),
                Write::Epoch => {
                    batch.put(keys.epoch(), encode(&()));
                }
            }
        }
        if step.provisional {
            batch.durability(Durability::Lazy);
        } else {
            for items in step.items.chunks(ROW_ITEMS) {
                let id = UpdateId::new(mint.uuid());
                batch.append(
                    keys.topic(),
                    encode(&Row {
                        id,
                        items: items.to_vec(),
                    }),
                );
            }
        }
        batch
    }

    /// Which commit began the user's stream anew, if one did: the last clearing of a history.
    pub(crate) async fn renewed(&self) -> Result<Option<Revision>, Error> {
        let entry = self.store.get(&self.keys.epoch()).await?;
        Ok(entry.map(|entry| entry.revision))
    }

    async fn read<T: DeserializeOwned>(&self, key: &Key) -> Result<Option<T>, Error> {
        match self.store.get(key).await {
            Ok(Some(entry)) => self.decode(key, &entry.value).map(Some),
            Ok(None) => Ok(None),
            Err(error @ rtc_store::Error::Damaged { .. }) => Err(self.unreadable(key, &error.to_string())),
            Err(error) => Err(error.into()),
        }
    }

    fn decode<T: DeserializeOwned>(&self, key: &Key, value: &[u8]) -> Result<T, Error> {
        decode(value).map_err(|error| match error {
            Error::Unreadable(reason) => self.unreadable(key, &reason),
            other => other,
        })
    }

    /// The error of one record.
    fn unreadable(&self, key: &Key, reason: &str) -> Error {
        Error::Unreadable(format!("{} cannot be read ({reason})", self.keys.name(key)))
    }

    /// All records of a kind; one that cannot be read is an error.
    async fn read_all<T: DeserializeOwned>(&self, prefix: &Key) -> Result<Vec<T>, Error> {
        let mut read = self.read_readable(prefix, None, usize::MAX).await?;
        match read.damaged.pop() {
            Some((_, error)) => Err(error),
            None => Ok(read.items),
        }
    }

    /// The records after one, at most `limit` that can be read, and those that cannot.
    async fn read_readable<T: DeserializeOwned>(
        &self,
        prefix: &Key,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Readable<T>, Error> {
        let (mut items, mut damaged) = (Vec::new(), Vec::new());
        let mut after = after.cloned();
        while items.len() < limit {
            let count = PAGE.min(limit - items.len());
            let page = self.store.scan(prefix, after.as_ref(), count).await?;
            let is_last = page.len() < count;
            after = page.last().map(|(last, _)| last.clone());
            self.sort_out(page, &mut items, &mut damaged);
            if is_last {
                break;
            }
        }
        Ok(Readable { items, damaged })
    }

    fn sort_out<T: DeserializeOwned>(
        &self,
        page: Vec<(Key, Entry)>,
        items: &mut Vec<T>,
        damaged: &mut Vec<(Key, Error)>,
    ) {
        for (key, entry) in page {
            match self.decode(&key, &entry.value) {
                Ok(item) => items.push(item),
                Err(error) => {
                    tracing::error!(%error, "a record is left out");
                    damaged.push((key, error));
                }
            }
        }
    }

    pub(crate) async fn sessions(&self) -> Result<Readable<StoredSession>, Error> {
        self.read_readable(&self.keys.sessions(), None, usize::MAX).await
    }

    pub(crate) async fn session(&self, session: SessionId) -> Result<Option<StoredSession>, Error> {
        self.read(&self.keys.session(session)).await
    }

    /// What is open, of all sessions.
    pub(crate) async fn outlines(&self) -> Result<Vec<SessionOutline>, Error> {
        let sessions = self.keys.sessions();
        Ok(self.read_readable(&sessions, None, usize::MAX).await?.items)
    }

    /// The first open calls of the sessions in a project, as far as they were started: only a first one can have been.
    pub(crate) async fn begun(&self, project: Option<ProjectId>) -> Result<Vec<StoredRtc>, Error> {
        let mut begun = Vec::new();
        for SessionOutline { entity, private } in self.outlines().await? {
            let Some(&first) = private.calls.first() else {
                continue;
            };
            if entity.project_id != project {
                continue;
            }
            let call: StoredRtc = match self.required(&self.keys.rtc(entity.id, first)).await {
                Ok(call) => call,
                // Its session does not go on.
                Err(Error::Unreadable(_)) => continue,
                Err(error) => return Err(error),
            };
            if call.private.mark.is_some() && call.entity.outcome.is_none() {
                begun.push(call);
            }
        }
        Ok(begun)
    }

    pub(crate) async fn messages(&self, session: SessionId) -> Result<Vec<StoredMessage>, Error> {
        self.read_all(&self.keys.messages(session)).await
    }

    pub(crate) async fn rtcs(&self, session: SessionId) -> Result<Vec<StoredRtc>, Error> {
        self.read_all(&self.keys.rtcs(session)).await
    }

    pub(crate) async fn turns(&self, session: SessionId) -> Result<Vec<StoredTurn>, Error> {
        self.read_all(&self.keys.turns(session)).await
    }

    /// The messages after one, at most `limit`.
    pub(crate) async fn messages_after(
        &self,
        session: SessionId,
        after: u32,
        limit: usize,
    ) -> Result<Readable<StoredMessage>, Error> {
        let after = self.keys.message(session, after);
        self.read_readable(&self.keys.messages(session), Some(&after), limit)
            .await
    }

    /// The messages before one, or the last ones, at most `limit`, the last one first.
    pub(crate) async fn messages_before(
        &self,
        session: SessionId,
        before: Option<u32>,
        limit: usize,
    ) -> Result<Readable<StoredMessage>, Error> {
        let mut before = before.map(|before| self.keys.message(session, before));
        let prefix = self.keys.messages(session);
        let (mut items, mut damaged) = (Vec::new(), Vec::new());
        while items.len() < limit {
            let count = limit - items.len();
            let page = self.store.scan_back(&prefix, before.as_ref(), count).await?;
            let is_last = page.len() < count;
            before = page.last().map(|(last, _)| last.clone());
            self.sort_out(page, &mut items, &mut damaged);
            if is_last {
                break;
            }
        }
        Ok(Readable { items, damaged })
    }

    /// The turns after one, at most `limit`.
    pub(crate) async fn turns_after(
        &self,
        session: SessionId,
        after: Option<TurnId>,
        limit: usize,
    ) -> Result<Readable<StoredTurn>, Error> {
        let after = after.map(|turn| self.keys.turn(session, turn));
        self.read_readable(&self.keys.turns(session), after.as_ref(), limit)
            .await
    }

    /// The calls after one, at most `limit`.
    pub(crate) async fn rtcs_after(
        &self,
        session: SessionId,
        after: u32,
        limit: usize,
    ) -> Result<Readable<StoredRtc>, Error> {
        let after = self.keys.rtc(session, after);
        self.read_readable(&self.keys.rtcs(session), Some(&after), limit)
            .await
    }

    pub(crate) async fn context(
        &self,
        session: SessionId,
        turn: TurnId,
    ) -> Result<Option<TurnContext>, Error> {
        self.read(&self.keys.context(session, turn)).await
    }

    pub(crate) async fn seen(&self, session: SessionId, path: &str) -> Result<Option<Value>, Error> {
        self.read(&self.keys.seen(session, path)).await
    }

    pub(crate) async fn rtc(&self, rtc: RtcId) -> Result<Option<StoredRtc>, Error> {
        self.by_id(rtc.uuid()).await
    }

    /// The message that was sent under this client id. One that is lost was sent all the same.
    pub(crate) async fn sent(&self, client_id: &rtc_types::ClientId) -> Result<Option<StoredMessage>, Error> {
        let key = self.keys.client_id(client_id);
        let Some(message) = self.read::<rtc_types::MessageId>(&key).await? else {
            return Ok(None);
        };
        let found = self.by_id(message.uuid()).await?;
        found
            .map(Some)
            .ok_or_else(|| self.unreadable(&key, "it names nothing"))
    }

    pub(crate) async fn by_id<T: DeserializeOwned>(&self, id: uuid::Uuid) -> Result<Option<T>, Error> {
        let index = self.keys.index(id);
        let Some(entry) = self.store.get(&index).await? else {
            return Ok(None);
        };
        // What an index names is never removed.
        let found = self.read(&Key::from(entry.value)).await?;
        found
            .map(Some)
            .ok_or_else(|| self.unreadable(&index, "it names nothing"))
    }

    /// The control state of a lane: what is open, by the lists on the session's record.
    pub(crate) async fn state(&self, session: SessionId) -> Result<SessionState, Error> {
        let mut state = SessionState::new();
        let Some(stored) = self.session(session).await? else {
            return Ok(state);
        };
        if let Some(turn) = stored.private.turn {
            state.turn = self.read(&self.keys.turn(session, turn)).await?;
        }
        for &offset in &stored.private.waiting {
            state.waiting.push(Arc::new(
                self.required(&self.keys.message(session, offset)).await?,
            ));
        }
        for &offset in &stored.private.streaming {
            state
                .streaming
                .push(self.required(&self.keys.message(session, offset)).await?);
        }
        for &offset in &stored.private.calls {
            let stored: StoredRtc = self.required(&self.keys.rtc(session, offset)).await?;
            state.calls.push(Call {
                stored,
                claimed: false,
            });
        }
        state.stopping = stored.private.stopping;
        state.session = Some(stored);
        Ok(state)
    }

    async fn required<T: DeserializeOwned>(&self, key: &Key) -> Result<T, Error> {
        let found = self.read(key).await?;
        found.ok_or_else(|| self.unreadable(key, "it is missing"))
    }

    /// The user's updates after an offset, with the entities as they are now.
    pub(crate) async fn updates(
        &self,
        after: Offset,
        limit: usize,
        now: Timestamp,
    ) -> Result<Vec<Update>, Error> {
        let mut updates = Vec::new();
        for (offset, row) in self.store.read_stream(&self.keys.topic(), after, limit).await? {
            updates.push(self.update(offset, &row, now).await?);
        }
        Ok(updates)
    }

    /// One of them, from its row.
    pub(crate) async fn update(&self, offset: Offset, row: &[u8], now: Timestamp) -> Result<Update, Error> {
        let Row { id, items } = decode(row)?;
        let mut data_list = Vec::with_capacity(items.len());
        for item in &items {
            data_list.push(match self.entity(item).await? {
                Some(entity) => entity,
                None => json(&Gone {
                    id: item.entity_id,
                    deleted_at: now,
                })?,
            });
        }
        Ok(Update {
            id,
            items,
            data_list,
            offset: offset.0,
        })
    }

    async fn entity(&self, item: &UpdateItem) -> Result<Option<Value>, Error> {
        let id = item.entity_id;
        match item.entity {
            UpdateEntity::Session => {
                let stored = self.session(SessionId::new(id)).await?;
                stored.map(|stored| json(&stored.entity)).transpose()
            }
            UpdateEntity::Turn => {
                let stored: Option<StoredTurn> = self.by_id(id).await?;
                stored.map(|stored| json(&stored.entity)).transpose()
            }
            UpdateEntity::Message => {
                let stored: Option<StoredMessage> = self.by_id(id).await?;
                stored.map(|stored| json(&stored.entity)).transpose()
            }
            UpdateEntity::Rtc => {
                let stored: Option<StoredRtc> = self.by_id(id).await?;
                stored.map(|stored| json(&stored.entity)).transpose()
            }
            UpdateEntity::File => Ok(None),
        }
    }

    /// Sessions as lists show them, the newest first.
    pub(crate) async fn listed(&self) -> Result<Readable<Session>, Error> {
        let Readable { items, damaged } = self.sessions().await?;
        let mut all: Vec<Session> = items
            .into_iter()
            .map(|stored| stored.entity)
            .filter(|session| session.deleted_at.is_none())
            .collect();
        all.sort_by(|a, b| b.updated_at.cmp(&a.updated_at).then(b.id.cmp(&a.id)));
        Ok(Readable { items: all, damaged })
    }
}

fn json<E: Serialize>(entity: &E) -> Result<Value, Error> {
    serde_json::to_value(entity).map_err(|error| Error::Unreadable(error.to_string()))
}
