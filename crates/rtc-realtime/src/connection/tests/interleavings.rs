//! Whatever happens in whatever order: in the end a client has the stream, each offset once, in order.

use std::collections::VecDeque;

use proptest::collection::vec;
use proptest::prelude::*;
use rtc_wire::centrifuge::{Push, PushEvent, Reply};

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Commit(u64, u8),
    /// The stream begins anew.
    Reset,
    /// The client does what it needs to be subscribed.
    Subscribe,
    Unsubscribe,
    /// The socket breaks.
    Cut,
    /// The client takes what comes, at most so many replies.
    Take(usize),
    /// Everything happens that can.
    Settle,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..6u64, 0..4u8).prop_map(|(count, kind)| Step::Commit(count, kind)),
        1 => (900..1300u64, 0..1u8).prop_map(|(count, kind)| Step::Commit(count, kind)),
        1 => Just(Step::Commit(5, 4)),
        1 => Just(Step::Reset),
        4 => Just(Step::Subscribe),
        1 => Just(Step::Unsubscribe),
        2 => Just(Step::Cut),
        5 => (1..8usize).prop_map(Step::Take),
        3 => Just(Step::Settle),
    ]
}

/// A client that keeps its position together with what it has.
#[derive(Default)]
struct Follower {
    client: Option<Client>,
    subscribed: bool,
    id: u32,
    epoch: String,
    /// Everything after `start`.
    start: u64,
    got: Vec<u64>,
    /// Where history has to reach, and the pushes that come after it.
    filling: Option<u64>,
    pushed: VecDeque<u64>,
}

impl Follower {
    fn last(&self) -> u64 {
        self.start + self.got.len() as u64
    }

    fn take_offset(&mut self, offset: u64) {
        assert_eq!(offset, self.last() + 1, "each offset once, in order");
        self.got.push(offset);
    }

    async fn subscribe(&mut self, world: &World) {
        if self.client.is_none() {
            let client = world.open(2);
            client.send(r#"{"id":1,"connect":{"token":"good"}}"#).await;
            self.client = Some(client);
            self.subscribed = false;
        }
        if !self.subscribed {
            self.id += 1;
            let frame = match self.epoch.as_str() {
                "" => subscribe(self.id + 1, &topic()),
                epoch => recover(self.id + 1, self.last(), epoch),
            };
            self.try_send(&frame).await;
            self.subscribed = true;
        }
    }

    /// Sends, unless the way is full and stays so: then the client breaks off.
    async fn try_send(&mut self, frame: &str) {
        let Some(client) = &self.client else { return };
        let sent = tokio::time::timeout(Duration::from_millis(5), client.peer.send(frame)).await;
        if !matches!(sent, Ok(Ok(()))) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        self.client = None;
        self.subscribed = false;
        self.filling = None;
        self.pushed.clear();
    }

    async fn ask_history(&mut self) {
        let since = json!({"offset": self.last(), "epoch": self.epoch});
        let frame = history(1_000_000, json!({"limit": 400, "since": since}));
        self.try_send(&frame).await;
    }

    /// Takes one reply, if one comes within some time.
    async fn take(&mut self) -> bool {
        let Some(client) = &mut self.client else {
            return false;
        };
        let Ok(reply) = tokio::time::timeout(Duration::from_millis(5), client.next()).await else {
            return false;
        };
        match reply {
            Err(_) => self.cut(),
            Ok(Reply::Result {
                outcome: Outcome::Subscribe(result),
                ..
            }) => {
                if self.epoch != result.epoch {
                    assert!(!result.recovered);
                    self.epoch = result.epoch.clone();
                    self.start = result.offset;
                    self.got.clear();
                }
                if result.recovered {
                    assert_eq!(result.offset, self.last());
                    result
                        .publications
                        .iter()
                        .for_each(|publication| self.take_offset(publication.offset));
                } else if result.offset > self.last() {
                    self.filling = Some(result.offset);
                    self.ask_history().await;
                }
            }
            Ok(Reply::Result {
                outcome: Outcome::History(page),
                ..
            }) => {
                let Some(target) = self.filling else { return true };
                for publication in page.publications {
                    if publication.offset <= target {
                        self.take_offset(publication.offset);
                    }
                }
                if self.last() < target {
                    self.ask_history().await;
                } else {
                    self.filling = None;
                    while let Some(offset) = self.pushed.pop_front() {
                        self.take_offset(offset);
                    }
                }
            }
            Ok(Reply::Push(Push {
                event: PushEvent::Publication(publication),
                ..
            })) => {
                // Sent before an unsubscribe was read.
                if self.filling.is_some() {
                    self.pushed.push_back(publication.offset);
                } else if self.subscribed {
                    self.take_offset(publication.offset);
                }
            }
            // The stream began anew, or history of the old one is asked for: once more from the start.
            Ok(
                Reply::Push(Push {
                    event: PushEvent::Unsubscribe(_),
                    ..
                })
                | Reply::Error { .. },
            ) => self.cut(),
            Ok(Reply::Ping) => self.try_send("{}").await,
            Ok(_) => {}
        }
        true
    }
}

async fn play(steps: Vec<Step>) {
    let world = World::new();
    world.source.commit_many(3);
    let mut follower = Follower::default();
    let mut epoch = 1;
    for step in steps {
        match step {
            Step::Commit(count, kind) => {
                for _ in 0..count {
                    world.source.commit(match kind {
                        0 => Some(Stored::Update(json!({"id": "M"}))),
                        1 => None,
                        2 => Some(Stored::Unreadable),
                        3 => Some(Stored::Approval),
                        _ => Some(Stored::Update("x".repeat(PAGE_BYTES / 3).into())),
                    });
                }
            }
            Step::Reset => {
                epoch += 1;
                world.source.reset(&format!("e{epoch}"));
            }
            Step::Subscribe => follower.subscribe(&world).await,
            Step::Unsubscribe if follower.subscribed && follower.filling.is_none() => {
                // What was pushed until the answer is taken as well; a client that does not want it breaks off.
                follower
                    .try_send(&json!({"id": 999_999, "unsubscribe": {"channel": topic()}}).to_string())
                    .await;
                while follower.take().await {}
                follower.subscribed = false;
            }
            Step::Unsubscribe => {}
            Step::Cut => follower.cut(),
            Step::Take(count) => {
                for _ in 0..count {
                    follower.take().await;
                }
            }
            Step::Settle => settle().await,
        }
    }
    // In the end it comes once more and takes everything.
    for _ in 0..50 {
        follower.subscribe(&world).await;
        while follower.take().await {}
        let is_there = follower.epoch == world.source.epoch() && follower.last() == world.source.latest();
        if is_there && follower.subscribed {
            return;
        }
    }
    panic!(
        "{} of {} in {}",
        follower.last(),
        world.source.latest(),
        follower.epoch
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn a_client_ends_with_the_stream(steps in vec(step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(play(steps));
    }
}
