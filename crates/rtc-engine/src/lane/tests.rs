use async_trait::async_trait;
use rtc_model::{Model, ModelId};
use rtc_store::MemoryStore;
use rtc_tool::{Registry, ToolHandle};
use rtc_types::{ClientId, Clock, DeviceId, Mode, Preview, Session, Timestamp, UserId};
use serde_json::Value;
use uuid::Uuid;

use super::*;
use crate::command::NewSession;
use crate::engine::Engine;
use crate::host::Host;
use crate::stored::TurnContext;

/// A program without a model: each turn fails at once.
#[derive(Default)]
struct NoModel(Registry);

#[async_trait]
impl Host for NoModel {
    async fn turn_context(&self, session: &Session) -> TurnContext {
        TurnContext {
            model: ModelId {
                api: "test".into(),
                model: "m".into(),
            },
            system: String::new(),
            tools: Vec::new(),
            mode: session.mode,
            max_rounds: None,
            cleared: None,
        }
    }

    fn model(&self, _: &ModelId) -> Result<Arc<dyn Model>, rtc_model::Error> {
        Err(rtc_model::Error::Refused {
            reason: "there is none".into(),
        })
    }

    fn tools(&self) -> &Registry {
        &self.0
    }

    async fn preview(&self, _: &Session, _: &Arc<dyn ToolHandle>, _: &Value) -> Option<Preview> {
        None
    }

    fn wake(&self, _: SessionId) {}

    fn cancel(&self, _: RtcId) {}
}

/// A wall clock that stands still.
struct Stopped;

impl Clock for Stopped {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn entropy(&self) -> u64 {
        Uuid::new_v4().as_u64_pair().1
    }
}

fn session() -> SessionId {
    SessionId::new(Uuid::from_u128(1))
}

/// An engine with a session in which nothing goes on, and the way to its lane.
async fn idle() -> (Engine, LaneSender) {
    let user = UserId::new(Uuid::from_u128(2));
    let store = Arc::new(MemoryStore::new());
    let host = Arc::new(NoModel::default());
    let engine = Engine::open(store, user, Arc::new(Stopped), host).await.unwrap();
    let send = Send {
        client_id: ClientId::new("c1").unwrap(),
        text: "hello".into(),
        scenarios: Vec::new(),
        new_session: NewSession {
            id: session(),
            client_id: ClientId::new("s1").unwrap(),
            user,
            device: DeviceId::new(Uuid::from_u128(3)),
            project: None,
            mode: Mode::Manual,
            agent_prompt: None,
            parent: None,
        },
    };
    engine.send(send).await.unwrap();
    let mut position = engine.position();
    while !engine.wake(session()).await.unwrap().is_idle() {
        position.changed().await.unwrap();
    }
    let lane = engine.inner.lanes.lock().await[&session()].clone();
    (engine, lane)
}

/// Whether the lane is still there.
async fn is_awake(engine: &Engine) -> bool {
    engine.inner.lanes.lock().await.contains_key(&session())
}

/// Longer than a lane stays without being asked, and as much again.
const LONG: Duration = CHECKPOINT_TTL.saturating_mul(2);

#[tokio::test(start_paused = true)]
async fn a_lane_to_which_somebody_has_a_way_does_not_end() {
    let (engine, held) = idle().await;
    tokio::time::sleep(LONG).await;
    held.tell(Command::SetMode(Mode::Edit)).await.unwrap();
    assert!(is_awake(&engine).await);
    drop(held);
    tokio::time::sleep(LONG).await;
    assert!(!is_awake(&engine).await, "it ends once nobody has");
    assert_eq!(engine.wake(session()).await.unwrap().mode(), Mode::Edit);
}

#[tokio::test(start_paused = true)]
async fn what_is_told_at_the_moment_in_which_a_lane_would_end_is_done() {
    let (engine, held) = idle().await;
    // Its time is over, and it waits for the list of lanes.
    let lanes = engine.inner.lanes.lock().await;
    tokio::time::sleep(LONG).await;
    let (reply, receipt) = oneshot::channel();
    let command = Box::new(Command::SetMode(Mode::Edit));
    held.0.send(Told::Command(command, reply)).await.unwrap();
    // Whoever told it goes on without its way to the lane.
    drop((held, lanes));
    receipt.await.expect("it is answered").unwrap();
    assert_eq!(engine.wake(session()).await.unwrap().mode(), Mode::Edit);
}
