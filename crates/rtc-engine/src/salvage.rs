//! What was taken over from a damaged store is made whole: nothing of it goes on by itself, nothing is allowed that the
//! user may have forbidden, and what is lost is seen to be lost.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use futures::future::try_join_all;
use rtc_store::{Batch, Key, Store};
use rtc_types::{ClientId, Clock, DeviceId, MessageRole, Mode, Project, ProjectId, SessionId, UserId};
use uuid::Uuid;

use crate::apply::damage::{Remains, end_all};
use crate::apply::new_session;
use crate::command::{Given, NewSession};
use crate::records::{Readable, Records};
use crate::stored::{StoredMessage, StoredSession, StoredTurn, decode, encode};
use crate::user::Rules;
use crate::{Error, Keys, prompt};

/// How many keys one read takes.
const PAGE: usize = 1_000;

/// How many rows are written in one batch.
const ROWS: usize = 5_000;

/// How many batches are committed together.
const BATCHES: usize = 64;

/// What there is after damage, and what was ended or is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Salvaged {
    /// Sessions that can be read.
    pub sessions: usize,
    /// Of these, sessions whose own record was lost: what was said in them can be read, but not gone on with.
    pub nameless: usize,
    /// Messages that can be read.
    pub messages: usize,
    /// Messages that are lost. Their sessions can be read, but not gone on with.
    pub lost: usize,
    /// Turns that were going on or waited, and have ended.
    pub turns: usize,
    /// Calls without a result, which have ended as not known.
    pub calls: usize,
}

/// Makes whole what a store holds of a user. It must not be done twice for the same damage, nor on a store that is in use.
///
/// # Errors
/// The store's. What cannot be read is no error.
pub async fn salvage(
    store: Arc<dyn Store>,
    user: UserId,
    device: DeviceId,
    clock: &dyn Clock,
) -> Result<Salvaged, Error> {
    let records = Records {
        store,
        keys: Keys::new(user),
    };
    let mut salvage = Salvage {
        known: Known::read(&records).await?,
        records,
        clock,
        rows: Batch::new(),
        count: 0,
        batches: Vec::new(),
        salvaged: Salvaged::default(),
    };
    salvage.rules().await?;
    salvage.projects().await?;
    salvage.sessions(user, device).await?;
    salvage.write().await?;
    Ok(salvage.salvaged)
}

/// What leads to other records.
struct Known {
    /// The ids of turns, messages and calls whose place is known.
    places: HashSet<Uuid>,
    /// The keys of the ids under which messages were sent.
    sent: HashSet<Key>,
    projects: HashSet<ProjectId>,
}

impl Known {
    async fn read(records: &Records) -> Result<Self, Error> {
        let keys = records.keys;
        let mut known = Self {
            places: HashSet::new(),
            sent: HashSet::new(),
            projects: HashSet::new(),
        };
        each(&*records.store, &keys.indexes(), |key, value| {
            if !value.is_empty() {
                known.places.extend(keys.entity_of(&key));
            }
        })
        .await?;
        each(&*records.store, &keys.client_ids(), |key, _| {
            known.sent.insert(key);
        })
        .await?;
        Ok(known)
    }
}

/// All values under a prefix.
async fn each(store: &dyn Store, prefix: &Key, mut take: impl FnMut(Key, Vec<u8>)) -> Result<(), Error> {
    let mut after = None;
    loop {
        let page = store.scan(prefix, after.as_ref(), PAGE).await?;
        let Some((last, _)) = page.last() else {
            return Ok(());
        };
        after = Some(last.clone());
        for (key, entry) in page {
            take(key, entry.value);
        }
    }
}

struct Salvage<'a> {
    records: Records,
    clock: &'a dyn Clock,
    known: Known,
    /// Single rows, in any order.
    rows: Batch,
    count: usize,
    batches: Vec<Batch>,
    salvaged: Salvaged,
}

impl Salvage<'_> {
    /// A rule may be lost: no Yes holds any more, and everything is asked as if the rules could not be read.
    async fn rules(&mut self) -> Result<(), Error> {
        let rules = Rules::load(&*self.records.store, self.records.keys).await?;
        rules.doubt(&mut self.rows, self.records.keys);
        Ok(())
    }

    /// That a folder is not trusted any more may be lost, too.
    async fn projects(&mut self) -> Result<(), Error> {
        let keys = self.records.keys;
        let (rows, known) = (&mut self.rows, &mut self.known.projects);
        each(&*self.records.store, &keys.projects(), |key, value| {
            known.extend(keys.project_of(&key));
            if let Ok(project) = decode::<Project>(&value)
                && project.trusted
            {
                let trusted = false;
                rows.put(key, encode(&Project { trusted, ..project }));
            }
        })
        .await
    }

    async fn sessions(&mut self, user: UserId, device: DeviceId) -> Result<(), Error> {
        let sessions = self.records.sessions().await?.items;
        let named: HashSet<SessionId> = sessions.iter().map(|stored| stored.entity.id).collect();
        for stored in sessions {
            let remains = self.remains(stored).await?;
            self.session(remains).await?;
        }
        // Whose own record is lost.
        let mut after = None;
        loop {
            let (store, keys) = (&self.records.store, self.records.keys);
            let next = store.scan(&keys.all_messages(), after.as_ref(), 1).await?;
            let Some(session) = next.first().and_then(|(key, _)| keys.session_within(key)) else {
                return Ok(());
            };
            after = Some(keys.message(session, u32::MAX));
            if !named.contains(&session) {
                self.nameless(session, user, device).await?;
            }
        }
    }

    async fn nameless(&mut self, id: SessionId, user: UserId, device: DeviceId) -> Result<(), Error> {
        let messages = self.records.messages_after(id, 0, usize::MAX).await?.items;
        let (Some(first), Some(last)) = (messages.first(), messages.last()) else {
            return Ok(());
        };
        let said = messages
            .iter()
            .find(|message| message.entity.role == MessageRole::User)
            .and_then(|message| prompt::text(&message.entity.content));
        let new = NewSession {
            id,
            client_id: ClientId::new(id.to_string()).expect("a UUID is a client id"),
            user,
            device,
            // One that cannot be read: nothing goes on in a folder that it may not be of.
            project: Some(ProjectId::new(id.uuid())),
            mode: Mode::Manual,
            agent_prompt: None,
            parent: None,
        };
        let mut stored = new_session(first.entity.created_at, new, &said.unwrap_or_default());
        stored.entity.updated_at = last.entity.updated_at;
        self.salvaged.nameless += 1;
        let mut remains = self.remains(stored).await?;
        // So that it is written.
        remains.is_new = true;
        self.session(remains).await
    }

    async fn remains(&mut self, session: StoredSession) -> Result<Remains, Error> {
        let (records, keys, id) = (&self.records, self.records.keys, session.entity.id);
        let messages = records.messages_after(id, 0, usize::MAX).await?;
        let rtcs = records.rtcs_after(id, 0, usize::MAX).await?;
        let last = |damaged: &[(Key, Error)]| damaged.iter().filter_map(|(key, _)| keys.offset_of(key)).max();
        let offsets = messages.items.iter().map(|message| message.entity.global_offset);
        let last_message = offsets.max().max(last(&messages.damaged)).unwrap_or_default();
        let offsets = rtcs.items.iter().map(|rtc| rtc.entity.offset);
        let last_rtc = offsets.max().max(last(&rtcs.damaged)).unwrap_or_default();
        let turns: Readable<StoredTurn> = records.turns_after(id, None, usize::MAX).await?;
        self.lost(&session, &messages, last_message);
        Ok(Remains {
            session,
            is_new: false,
            turns: turns.items,
            messages: messages.items,
            rtcs: rtcs.items,
            last_message,
            last_rtc,
        })
    }

    /// In the place of each message that is lost there is one that cannot be read: otherwise a request would be made
    /// without it.
    fn lost(&mut self, session: &StoredSession, messages: &Readable<StoredMessage>, last: u32) {
        let keys = self.records.keys;
        let damaged = messages.damaged.iter().filter_map(|(key, _)| keys.offset_of(key));
        let read = messages.items.iter().map(|message| message.entity.global_offset);
        let there: BTreeSet<u32> = read.chain(damaged).collect();
        self.salvaged.lost += messages.damaged.len();
        for offset in 1..=last.max(session.private.last_message) {
            if !there.contains(&offset) {
                self.salvaged.lost += 1;
                self.put(keys.message(session.entity.id, offset), Vec::new());
            }
        }
    }

    async fn session(&mut self, remains: Remains) -> Result<(), Error> {
        let keys = self.records.keys;
        let session = remains.session.entity.id;
        self.salvaged.sessions += 1;
        self.salvaged.messages += remains.messages.len();
        if let Some(project) = remains.session.entity.project_id
            && self.known.projects.insert(project)
        {
            // Its record is lost. Without it, the session would go on in another folder.
            self.put(keys.project(project), Vec::new());
        }
        for turn in &remains.turns {
            let id = turn.entity.id;
            self.place(id.uuid(), keys.turn(session, id));
        }
        for message in &remains.messages {
            let entity = &message.entity;
            self.place(entity.id.uuid(), keys.message(session, entity.global_offset));
            if let Some(client_id) = &entity.client_id {
                let key = keys.client_id(client_id);
                if self.known.sent.insert(key.clone()) {
                    self.put(key, encode(&entity.id));
                }
            }
        }
        for rtc in &remains.rtcs {
            self.place(rtc.entity.id.uuid(), keys.rtc(session, rtc.entity.offset));
        }
        let given = Given {
            rules: Vec::new(),
            rules_are_damaged: true,
            stamp: self.clock.stamp(),
        };
        let (step, ended) = end_all(remains, &given);
        self.salvaged.turns += ended.turns;
        self.salvaged.calls += ended.calls;
        if !step.writes.is_empty() {
            let mut mint = self.clock.stamp().mint();
            let batch = self.records.batch(session, &step, &mut mint, &Rules::default());
            self.batches.push(batch);
        }
        if self.batches.len() >= BATCHES {
            self.write().await?;
        }
        Ok(())
    }

    fn place(&mut self, entity: Uuid, key: Key) {
        if self.known.places.insert(entity) {
            self.put(self.records.keys.index(entity), key.as_bytes().to_vec());
        }
    }

    fn put(&mut self, key: Key, value: Vec<u8>) {
        self.rows.put(key, value);
        self.count += 1;
        if self.count == ROWS {
            self.count = 0;
            self.batches.push(std::mem::take(&mut self.rows));
        }
    }

    /// Writes what has come together, with few flushes.
    async fn write(&mut self) -> Result<(), Error> {
        self.batches.push(std::mem::take(&mut self.rows));
        let commits = self
            .batches
            .drain(..)
            .map(|batch| self.records.store.commit(batch));
        try_join_all(commits).await?;
        Ok(())
    }
}
