//! A store whose reads fail, one of them, at any place: an error is an error. It is not kept, not taken for an answer, and
//! nothing stays as if it went on.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use rtc_engine::{Command, Engine, Outcome, SessionState};
use rtc_store::{Batch, Entry, Error, Key, MemoryStore, Offset, Position, Receipt, Room, Store};
use rtc_types::{Code, Mode, RtcStatus, SessionStatus, TurnStatus};
use rtc_wire::rpc::{CallKind, Method};
use serde_json::{Value, json};

use crate::bench::*;
use crate::rpc::caller;
use crate::strangers::{self, Things};

/// No method reads that often.
const MOST_READS: u64 = 100;
/// How often the model is asked for one reply while the store fails.
const MOST_REQUESTS: usize = 4;

/// A memory store of which the reads are counted, and one or two of them fail.
pub(crate) struct FailsToRead {
    within: Arc<MemoryStore>,
    reads: AtomicU64,
    fails_at: AtomicU64,
    fails_again_at: AtomicU64,
    is_gone: AtomicBool,
}

impl FailsToRead {
    pub(crate) fn new(within: Arc<MemoryStore>) -> Self {
        Self {
            within,
            reads: AtomicU64::new(0),
            fails_at: AtomicU64::new(0),
            fails_again_at: AtomicU64::new(0),
            is_gone: AtomicBool::new(false),
        }
    }

    /// How many reads there were.
    pub(crate) fn reads(&self) -> u64 {
        self.reads.load(Ordering::SeqCst)
    }

    /// The `nth` read from now on fails, and no other.
    fn fail(&self, nth: u64) {
        self.fails_at.store(self.reads() + nth, Ordering::SeqCst);
    }

    /// So does this one, counted from that one.
    fn fail_again(&self, further: u64) {
        let first = self.fails_at.load(Ordering::SeqCst);
        self.fails_again_at.store(first + further, Ordering::SeqCst);
    }

    /// Whether every read fails from now on.
    fn is_gone(&self, is_gone: bool) {
        self.is_gone.store(is_gone, Ordering::SeqCst);
    }

    /// From now on no read fails. Gives whether the one that was to fail has not come.
    fn has_not_failed(&self) -> bool {
        self.fails_again_at.store(0, Ordering::SeqCst);
        self.fails_at.swap(0, Ordering::SeqCst) > self.reads()
    }

    fn read(&self) -> Result<(), Error> {
        let read = self.reads.fetch_add(1, Ordering::SeqCst) + 1;
        let fails = [&self.fails_at, &self.fails_again_at].map(|at| at.load(Ordering::SeqCst));
        if !fails.contains(&read) && !self.is_gone.load(Ordering::SeqCst) {
            return Ok(());
        }
        Err(Error::Io {
            action: "read",
            path: PathBuf::from("memory"),
            source: Arc::new(io::Error::other("a fault was injected")),
        })
    }
}

#[async_trait]
impl Store for FailsToRead {
    async fn commit(&self, batch: Batch) -> Result<Receipt, Error> {
        self.within.commit(batch).await
    }

    async fn get(&self, key: &Key) -> Result<Option<Entry>, Error> {
        self.read()?;
        self.within.get(key).await
    }

    async fn scan(
        &self,
        prefix: &Key,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Vec<(Key, Entry)>, Error> {
        self.read()?;
        self.within.scan(prefix, after, limit).await
    }

    async fn scan_back(
        &self,
        prefix: &Key,
        before: Option<&Key>,
        limit: usize,
    ) -> Result<Vec<(Key, Entry)>, Error> {
        self.read()?;
        self.within.scan_back(prefix, before, limit).await
    }

    async fn read_stream(
        &self,
        stream: &Key,
        after: Offset,
        limit: usize,
    ) -> Result<Vec<(Offset, Vec<u8>)>, Error> {
        self.read()?;
        self.within.read_stream(stream, after, limit).await
    }

    async fn position(&self, stream: &Key) -> Result<Position, Error> {
        self.read()?;
        self.within.position(stream).await
    }

    async fn room(&self) -> Room {
        self.within.room().await
    }
}

/// An engine over such a store, and what it is looked at through.
struct Failing {
    bench: Bench,
    store: Arc<FailsToRead>,
}

async fn failing(replies: Vec<rtc_model::Reply>) -> Failing {
    let within = Arc::new(MemoryStore::new());
    let store = Arc::new(FailsToRead::new(within.clone()));
    let script = Arc::new(Script::default());
    script.replies.lock().unwrap().extend(replies);
    let engine = engine_over(store.clone(), script.clone()).await;
    let bench = Bench {
        store: within,
        engine,
        script,
    };
    Failing { bench, store }
}

/// With an open call about which the user is asked.
async fn with_things() -> (Failing, Things) {
    let failing = failing(vec![one_edit()]).await;
    failing.bench.send("c1", "edit x").await.unwrap();
    let things = failing.bench.things().await;
    // What follows from the reply is done, so that only the method reads.
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
    (failing, things)
}

/// What is asked of a method, and what it gives where nothing fails: for an action whether it is done.
async fn asked(failing: &Failing, method: Method, things: &Things) -> Option<Result<Value, String>> {
    let data = strangers::ask(method, things)?;
    let told = failing
        .bench
        .ask_by(&caller(2, true), method.as_str(), data)
        .await;
    Some(match method.kind() {
        CallKind::Query => told,
        CallKind::Action => told.map(|_| Value::Null),
    })
}

#[tokio::test(start_paused = true)]
async fn a_read_that_fails_is_an_error_and_never_an_answer() {
    for &method in Method::ALL {
        let mut nth = 0;
        loop {
            nth += 1;
            assert!(nth < MOST_READS, "{method} reads without an end");
            let (failing, things) = with_things().await;
            failing.store.fail(nth);
            let Some(told) = asked(&failing, method, &things).await else {
                break;
            };
            let is_over = failing.store.has_not_failed();
            let (other, others) = with_things().await;
            let wanted = asked(&other, method, &others).await.unwrap();
            match &told {
                Ok(told) => assert_eq!(
                    Ok(shape(told)),
                    wanted.as_ref().map(shape),
                    "{method}, read {nth}"
                ),
                Err(code) => {
                    let is_failure = [Code::Internal, Code::ShuttingDown].map(|code| code.as_str());
                    assert!(
                        is_failure.contains(&code.as_str()) || wanted.as_ref().err() == Some(code),
                        "{method}, read {nth}: {code}"
                    );
                }
            }
            // It is asked again, of the same engine and after a restart.
            for restarts in [false, true] {
                let again = if restarts {
                    let script = failing.bench.script.clone();
                    failing.bench.engine.shut_down();
                    Failing {
                        bench: engine_on(failing.bench.store.clone(), script).await,
                        store: failing.store.clone(),
                    }
                } else {
                    Failing {
                        bench: Bench {
                            engine: failing.bench.engine.clone(),
                            store: failing.bench.store.clone(),
                            script: failing.bench.script.clone(),
                        },
                        store: failing.store.clone(),
                    }
                };
                let told = asked(&again, method, &things).await.unwrap();
                assert_eq!(
                    told.as_ref().map(shape),
                    wanted.as_ref().map(shape),
                    "{method}, read {nth}, restarts: {restarts}"
                );
            }
            if is_over {
                break;
            }
        }
    }
}

/// A value without what differs between two engines: ids.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields
                .iter()
                .filter(|(name, _)| *name != "id" && !name.ends_with("_id"));
            kept.map(|(name, value)| (name.clone(), shape(value))).collect()
        }
        Value::Array(items) => items.iter().map(shape).collect(),
        other => other.clone(),
    }
}

impl Failing {
    /// Waits until nothing goes on, also in what clients are told, however long the store takes to recover.
    async fn until_over(&self) -> SessionState {
        let wait = async {
            loop {
                if let Ok(Some(stored)) = self.bench.engine.session(session(1)).await
                    && stored.entity.status != SessionStatus::Active
                    && stored.private.turn.is_none()
                    && let Ok(state) = self.bench.engine.wake(session(1)).await
                {
                    return state;
                }
                // Nobody asks for the session meanwhile.
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            }
        };
        let most = std::time::Duration::from_secs(120);
        tokio::time::timeout(most, wait)
            .await
            .expect("nothing stays as if it went on")
    }

    fn engine(&self) -> &Engine {
        &self.bench.engine
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_ends_also_if_a_read_fails_while_it_goes_on() {
    for nth in 1..20 {
        let failing = failing(vec![says("one")]).await;
        failing.bench.send("c1", "hello").await.unwrap();
        failing.store.fail(nth);
        failing.until_over().await;
        failing.store.has_not_failed();
        let turns = failing.engine().turns(session(1)).await.unwrap();
        assert_eq!(turns.len(), 1, "read {nth}");
        assert!(turns[0].entity.status.is_terminal(), "read {nth}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_is_done_or_can_be_said_again_if_a_read_fails() {
    for nth in 1..12 {
        let failing = failing(Vec::new()).await;
        failing.bench.send("c1", "hello").await.unwrap();
        failing
            .bench
            .until(1, |_| !failing.bench.requests().is_empty())
            .await;
        failing.store.fail(nth);
        let stop = json!({"session_id": session(1)});
        if failing.bench.ask("v1.turn.stop", stop.clone()).await.is_err() {
            failing.bench.ask("v1.turn.stop", stop).await.unwrap();
        }
        failing.until_over().await;
        failing.store.has_not_failed();
        let turns = failing.engine().turns(session(1)).await.unwrap();
        assert_eq!(
            turns.iter().map(|turn| turn.entity.status).collect::<Vec<_>>(),
            [TurnStatus::Cancelled],
            "read {nth}"
        );
    }
}

/// Also if a further read fails while its session comes back.
#[tokio::test(start_paused = true)]
async fn a_call_whose_result_could_not_be_taken_is_looked_at_again() {
    for further in 0..12 {
        looked_at_again(further).await;
    }
}

async fn looked_at_again(further: u64) {
    let failing = failing(vec![one_edit(), says("done")]).await;
    failing
        .engine()
        .send(message(1, "c1", "edit x", Mode::Bypass))
        .await
        .unwrap();
    let rtc = failing.bench.first_call().await;
    let claim = Command::Claim {
        rtc,
        attempt: 1,
        mark: Some((json!({}), "digest".to_owned())),
    };
    failing.engine().tell(session(1), claim).await.unwrap();
    let woken = failing.bench.script.woken();
    let finish = || Command::Finish {
        rtc,
        attempt: 1,
        outcome: Outcome::of(Ok(json!("edited"))),
    };
    failing.store.fail(1);
    if further > 0 {
        failing.store.fail_again(further);
    }
    let told = failing.engine().tell(session(1), finish()).await;
    assert_eq!(told.unwrap_err().code(), Code::Internal);
    tokio::time::timeout(BOUND, async {
        while failing.bench.script.woken() == woken {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    })
    .await
    .unwrap_or_else(|_| panic!("the executor is not told to look, further read {further}"));
    failing.store.has_not_failed();
    // It finds that the change was made.
    failing.engine().tell(session(1), finish()).await.unwrap();
    failing.until_over().await;
    let call = failing.engine().rtc(rtc).await.unwrap().unwrap().entity;
    assert_eq!(call.status, RtcStatus::Completed);
    assert_eq!(
        failing.bench.requests().len(),
        2,
        "the model is asked once for each reply"
    );
}

#[tokio::test(start_paused = true)]
async fn a_session_whose_store_is_gone_for_an_hour_is_tried_now_and_then_and_goes_on_afterwards() {
    const HOUR: u64 = 60 * 60;
    /// From one try to the next, in seconds, once it has failed some times.
    const MOST_WAIT: u64 = 30;
    let (failing, _) = with_things().await;
    failing.store.is_gone(true);
    // However many find that it is gone, one comes back.
    for _ in 0..8 {
        let told = failing
            .engine()
            .tell(session(1), Command::SetMode(Mode::Bypass))
            .await;
        assert!(told.is_err());
    }
    let before = failing.store.reads();
    tokio::time::sleep(Duration::from_secs(HOUR)).await;
    let tries = failing.store.reads() - before;
    assert!(
        (HOUR / MOST_WAIT - 2..=HOUR / MOST_WAIT + 5).contains(&tries),
        "{tries} tries"
    );
    let woken = failing.bench.script.woken();
    failing.store.is_gone(false);
    tokio::time::timeout(Duration::from_secs(MOST_WAIT + 1), async {
        while failing.bench.script.woken() == woken {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    })
    .await
    .expect("the session goes on by itself");
    failing.engine().tell(session(1), Command::Stop).await.unwrap();
    failing.until_over().await;
}

/// A request costs money; a reply that the store cannot take is paid for and lost.
#[tokio::test(start_paused = true)]
async fn a_model_is_not_asked_for_ever_if_reads_fail_while_it_replies() {
    const STEP: Duration = Duration::from_millis(500);
    const STEPS: u32 = 2 * 60 * 60;
    // With a reply that takes longer than a session that comes back is looked after, and one that is quicker.
    for takes in [STEP * 2, Duration::from_secs(20)] {
        let failing = failing((0..2_000).map(|_| says("one")).collect()).await;
        *failing.bench.script.takes.lock().unwrap() = takes;
        failing.bench.send("c1", "hello").await.unwrap();
        let mut asked = 0;
        for _ in 0..STEPS {
            tokio::time::sleep(STEP).await;
            let requests = failing.bench.requests().len();
            if requests > asked {
                asked = requests;
                failing.store.fail(1);
            }
        }
        assert_eq!(asked, MOST_REQUESTS, "{takes:?}");
        let requests = failing.bench.requests();
        assert!(requests.windows(2).all(|two| two[0] == two[1]), "{takes:?}");
        let turns = failing.engine().turns(session(1)).await.unwrap();
        assert_eq!(turns[0].entity.status, TurnStatus::Failed, "{takes:?}");
        let said = failing.engine().messages(session(1)).await.unwrap();
        let told = said
            .iter()
            .any(|message| message.entity.content.as_str().contains("the store failed"));
        assert!(told, "{said:?}");

        // The next message has requests of its own, also one after the other has gone lost.
        *failing.bench.script.takes.lock().unwrap() = STEP;
        failing.store.has_not_failed();
        failing.bench.send("c2", "again").await.unwrap();
        failing
            .bench
            .until(1, |_| failing.bench.requests().len() > asked)
            .await;
        failing.store.fail(1);
        tokio::time::sleep(STEP * 120).await;
        failing.until_over().await;
        assert_eq!(failing.bench.requests().len(), asked + 2, "{takes:?}");
        let turns = failing.engine().turns(session(1)).await.unwrap();
        let completed = turns
            .iter()
            .filter(|turn| turn.entity.status == TurnStatus::Completed);
        assert_eq!((turns.len(), completed.count()), (2, 1), "{takes:?}");
    }
}
