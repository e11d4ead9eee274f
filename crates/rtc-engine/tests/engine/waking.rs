//! A session that sleeps is woken by many at once, and is one session all the same.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use rtc_engine::{Command, Error, SessionState, StoredTurn};
use rtc_model::Item;
use rtc_store::{Batch, Entry, Key, MemoryStore, Offset, Position, Receipt, Revision, Room, Store};
use rtc_types::{ContentData, Mode, TurnStatus};
use tokio::sync::watch;

use crate::bench::*;

/// How many wake the session, each in its way.
const MANY: usize = 16;
/// How often a read lets the others go on before it gives what it has read.
const YIELDS: usize = 8;

/// A memory store whose reads wait at a gate and let others go on, and which keeps by which commits a lane was taken.
struct Gated {
    within: Arc<MemoryStore>,
    is_open: watch::Sender<bool>,
    taken: Mutex<BTreeSet<Revision>>,
}

impl Gated {
    async fn gate(&self) {
        let mut is_open = self.is_open.subscribe();
        is_open
            .wait_for(|is_open| *is_open)
            .await
            .expect("the gate is there");
        for _ in 0..YIELDS {
            tokio::task::yield_now().await;
        }
    }
}

#[async_trait]
impl Store for Gated {
    async fn commit(&self, batch: Batch) -> Result<Receipt, rtc_store::Error> {
        let receipt = self.within.commit(batch).await;
        let held = held(&self.within).await;
        self.taken.lock().unwrap().insert(held);
        receipt
    }

    async fn get(&self, key: &Key) -> Result<Option<Entry>, rtc_store::Error> {
        self.gate().await;
        self.within.get(key).await
    }

    async fn scan(
        &self,
        prefix: &Key,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Vec<(Key, Entry)>, rtc_store::Error> {
        self.gate().await;
        self.within.scan(prefix, after, limit).await
    }

    async fn scan_back(
        &self,
        prefix: &Key,
        before: Option<&Key>,
        limit: usize,
    ) -> Result<Vec<(Key, Entry)>, rtc_store::Error> {
        self.gate().await;
        self.within.scan_back(prefix, before, limit).await
    }

    async fn read_stream(
        &self,
        stream: &Key,
        after: Offset,
        limit: usize,
    ) -> Result<Vec<(Offset, Vec<u8>)>, rtc_store::Error> {
        self.gate().await;
        self.within.read_stream(stream, after, limit).await
    }

    async fn position(&self, stream: &Key) -> Result<Position, rtc_store::Error> {
        self.gate().await;
        self.within.position(stream).await
    }

    async fn room(&self) -> Room {
        self.within.room().await
    }
}

#[tokio::test]
async fn of_many_who_wake_a_session_at_once_one_takes_its_lane_and_all_are_answered() {
    // A call is open, which its executor is told of once by whatever goes on with it.
    let before = bench(vec![one_edit()]).await;
    before
        .engine
        .send(message(1, "c0", "x", Mode::Bypass))
        .await
        .unwrap();
    before.first_call().await;
    before.engine.shut_down();

    let gated = Arc::new(Gated {
        within: before.store.clone(),
        is_open: watch::Sender::new(true),
        taken: Mutex::default(),
    });
    let script = Arc::new(Script::default());
    let engine = engine_over(gated.clone(), script.clone()).await;
    gated.is_open.send_replace(false);
    let all = (0..MANY).map(|n| -> BoxFuture<'_, Result<(), Error>> {
        let engine = &engine;
        match n % 3 {
            0 => async move { engine.wake(session(1)).await.map(drop) }.boxed(),
            1 => async move {
                let rename = Command::Change {
                    title: Some(format!("title {n}")),
                    deleted_at: None,
                };
                engine.tell(session(1), rename).await.map(drop)
            }
            .boxed(),
            _ => async move {
                let sent = message(1, &format!("c{n}"), "more", Mode::Bypass);
                engine.send(sent).await.map(drop)
            }
            .boxed(),
        }
    });
    let opens = async {
        tokio::task::yield_now().await;
        gated.is_open.send_replace(true);
    };
    let told = futures::future::join(futures::future::join_all(all), opens);
    let (told, ()) = tokio::time::timeout(BOUND, told).await.expect("all are answered");
    for (n, told) in told.into_iter().enumerate() {
        assert!(told.is_ok(), "{n}: {told:?}");
    }
    assert_eq!(gated.taken.lock().unwrap().len(), 1, "the lane is taken once");
    assert_eq!(script.woken(), 1, "one recovery");
    let said = engine.wake(session(1)).await.unwrap().waiting.len();
    assert_eq!(said, MANY / 3, "and all that was said waits for the turn");
}

#[tokio::test(start_paused = true)]
async fn of_two_messages_at_once_to_an_idle_session_one_begins_the_turn_and_the_other_is_taken_into_it() {
    let bench = bench(vec![says("hi"); 21]).await;
    bench.send("first", "hello").await.unwrap();
    bench.until(1, SessionState::is_idle).await;
    *bench.script.takes.lock().unwrap() = Duration::from_secs(1);
    for round in 0..10 {
        let before = bench.requests().len();
        let words = [format!("one {round}"), format!("other {round}")];
        let send = |at: usize| bench.send(&words[at], &words[at]);
        // Which of them comes first is up to chance in life.
        let (one, other) = match round % 2 {
            0 => tokio::join!(send(0), send(1)),
            _ => tokio::join!(send(1), send(0)),
        };
        let (one, other) = (one.unwrap(), other.unwrap());
        let mut said = [one, other];
        said.sort_by_key(|message| message.global_offset);
        let said = said.map(|message| match message.content.parse() {
            Some(ContentData::Text(text)) => text,
            other => panic!("{other:?}"),
        });
        bench.until(1, SessionState::is_idle).await;
        let asked = bench.requests();
        assert_eq!(asked.len(), before + 1, "round {round}: both are answered once");
        let said_there = asked[before].items.iter().filter_map(|item| match item {
            Item::User { text } => Some(text.clone()),
            _ => None,
        });
        let read: Vec<String> = said_there.filter(|text| words.contains(text)).collect();
        assert_eq!(read, said, "round {round}");
    }
    let turns = bench.engine.turns(session(1)).await.unwrap();
    assert_eq!(turns.len(), 11);
    let is_over = |turn: &StoredTurn| turn.entity.status == TurnStatus::Completed;
    assert!(turns.iter().all(is_over), "{turns:?}");
}
