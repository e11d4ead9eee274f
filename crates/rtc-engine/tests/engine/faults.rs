//! A fault of the program in what the engine calls: it ends what it was about, and neither the process nor anything else.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use async_trait::async_trait;
use rtc_engine::{Asked, Command, Engine, Host, SessionState, TurnContext};
use rtc_model::{Event, Model, ModelId, ModelStream, Request};
use rtc_store::MemoryStore;
use rtc_tool::{
    CallContext, Kind, Prepared, ProgressSender, Registry, Subject, Tool, ToolError, ToolHandle, handle,
};
use rtc_types::{
    ApprovalDecision, Code, DeviceId, Mode, Preview, RtcId, Session, SessionId, TurnStatus, UserId,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::bench::{Args, TestClock, calls, message, model_id, says, session, until};

/// Where the program has a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum In {
    Nothing,
    Context,
    Opening,
    Asking,
    Reply,
    Subject,
    Preview,
    Answer,
}

const ALL: [In; 8] = [
    In::Nothing,
    In::Context,
    In::Opening,
    In::Asking,
    In::Reply,
    In::Subject,
    In::Preview,
    In::Answer,
];

/// Where the fault is now.
#[derive(Default)]
struct Place(AtomicU8);

impl Place {
    fn is(&self, place: In) {
        self.0.store(place as u8, Ordering::SeqCst);
    }

    /// The fault, if it is here.
    fn at(&self, place: In) {
        assert!(
            self.0.load(Ordering::SeqCst) != place as u8,
            "a fault in {place:?}, as the test wants it"
        );
    }
}

/// Calls both tools once, then says that it is done.
struct Faulty {
    place: Arc<Place>,
    id: ModelId,
}

#[async_trait]
impl Model for Faulty {
    fn id(&self) -> &ModelId {
        &self.id
    }

    async fn stream(&self, request: &Request, _: CancellationToken) -> Result<ModelStream, rtc_model::Error> {
        self.place.at(In::Asking);
        let is_answered = matches!(request.items.last(), Some(rtc_model::Item::ToolResult { .. }));
        let reply = if is_answered {
            says("done")
        } else {
            let args = "{\"path\":\"/x\"}";
            calls(&[("a", "ask", args), ("b", "edit", args)])
        };
        let place = self.place.clone();
        let events = (0..2).map(move |n| {
            if n == 0 {
                return Ok(Event::Text { delta: "so".into() });
            }
            place.at(In::Reply);
            Ok(Event::Done(reply.clone()))
        });
        Ok(Box::pin(futures::stream::iter(events)))
    }
}

/// A tool that the user answers, or one that an executor would run.
struct FaultyTool {
    place: Arc<Place>,
    kind: Kind,
}

impl Tool for FaultyTool {
    type Args = Args;
    type Output = Value;

    fn name(&self) -> &str {
        match self.kind {
            Kind::User => "ask",
            _ => "edit",
        }
    }

    fn kind(&self) -> Kind {
        self.kind
    }

    fn description(&self) -> String {
        "For tests.".into()
    }

    fn subject(&self, args: &Args) -> Result<Subject, ToolError> {
        self.place.at(In::Subject);
        Ok(Subject::write(&args.path))
    }

    async fn execute(
        &self,
        _: CallContext,
        _: Args,
        _: Option<Prepared>,
        _: ProgressSender,
    ) -> Result<Value, ToolError> {
        unreachable!("there is no executor here")
    }

    fn answer(&self, _: &Args, answer: Value) -> Result<Value, ToolError> {
        self.place.at(In::Answer);
        Ok(answer)
    }
}

struct FaultyHost {
    place: Arc<Place>,
    tools: Registry,
}

#[async_trait]
impl Host for FaultyHost {
    async fn turn_context(&self, session: &Session) -> TurnContext {
        self.place.at(In::Context);
        TurnContext {
            model: model_id(),
            system: "system".into(),
            tools: Vec::new(),
            mode: session.mode,
            max_rounds: None,
            cleared: None,
        }
    }

    fn model(&self, _: &ModelId) -> Result<Arc<dyn Model>, rtc_model::Error> {
        self.place.at(In::Opening);
        Ok(Arc::new(Faulty {
            place: self.place.clone(),
            id: model_id(),
        }))
    }

    fn tools(&self) -> &Registry {
        &self.tools
    }

    async fn preview(&self, _: &Session, _: &Arc<dyn ToolHandle>, _: &Value) -> Option<Preview> {
        self.place.at(In::Preview);
        None
    }

    fn wake(&self, _: SessionId) {}

    fn cancel(&self, _: RtcId) {}
}

async fn engine(place: &Arc<Place>) -> Engine {
    let mut tools = Registry::default();
    for kind in [Kind::User, Kind::Device] {
        let place = place.clone();
        tools.register(handle(FaultyTool { place, kind }));
    }
    let place = place.clone();
    let host = Arc::new(FaultyHost { place, tools });
    let user = UserId::new(Uuid::from_u128(1));
    Engine::open(
        Arc::new(MemoryStore::new()),
        user,
        Arc::new(TestClock::default()),
        host,
    )
    .await
    .unwrap()
}

/// Sends a message, says no and gives answers until nothing goes on, and tells how its turn ended.
async fn turn(engine: &Engine, place: &Place, client_id: &str) -> TurnStatus {
    let before = engine.turns(session(1)).await.unwrap();
    engine
        .send(message(1, client_id, "x", Mode::Manual))
        .await
        .unwrap();
    loop {
        let state = until(engine, 1, |state| {
            state.is_idle() || state.waits_for_user().is_some()
        })
        .await;
        let Some((call, asked)) = state.waits_for_user() else {
            break;
        };
        let rtc = call.stored.entity.id;
        match asked {
            Asked::Question => {
                if let Err(error) = engine.answer(rtc, json!("blue")).await {
                    assert_eq!(error.code(), Code::RtcInvalidResult);
                    place.is(In::Nothing);
                }
            }
            Asked::Approval | Asked::Outcome => {
                let no = Command::Approve {
                    rtc,
                    decision: ApprovalDecision::Reject,
                    reason: None,
                    device: DeviceId::new(Uuid::from_u128(2)),
                };
                engine.tell(session(1), no).await.unwrap();
            }
        }
    }
    let turns = engine.turns(session(1)).await.unwrap();
    let new: Vec<_> = turns.iter().filter(|turn| !before.contains(turn)).collect();
    assert_eq!(new.len(), 1);
    new[0].entity.status
}

#[tokio::test(start_paused = true)]
async fn a_fault_ends_the_turn_or_the_call_that_it_is_in_and_the_next_turn_works() {
    for faulty in ALL {
        let place = Arc::new(Place::default());
        let engine = engine(&place).await;
        place.is(faulty);
        let ended = turn(&engine, &place, "c1").await;
        let wanted = match faulty {
            In::Context | In::Opening | In::Asking | In::Reply => TurnStatus::Failed,
            In::Nothing | In::Subject | In::Preview | In::Answer => TurnStatus::Completed,
        };
        assert_eq!(ended, wanted, "{faulty:?}");
        for call in engine.rtcs(session(1)).await.unwrap() {
            assert!(call.entity.status.is_terminal(), "{faulty:?}");
        }
        place.is(In::Nothing);
        assert_eq!(
            turn(&engine, &place, "c2").await,
            TurnStatus::Completed,
            "{faulty:?}"
        );
        let state: SessionState = engine.wake(session(1)).await.unwrap();
        assert!(state.is_idle(), "{faulty:?}");
    }
}
