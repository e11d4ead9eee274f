//! An engine over a memory store, with a scripted model and without an executor.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt as _;
use rtc_engine::{Engine, Host, NewSession, Send, SessionState, TodoWrite, TurnContext};
use rtc_model::{AssistantBlock, Event, Model, ModelId, ModelStream, Reply, Request, StopReason, Usage};
use rtc_store::{Key, MemoryStore, Revision, Store};
use rtc_tool::{
    CallContext, Kind, Prepared, ProgressSender, Registry, Subject, Tool, ToolError, ToolHandle, handle,
};
use rtc_types::{
    ClientId, Clock, Code, DeviceId, Message, Mode, Preview, PreviewKind, ProjectId, RtcId, Session,
    SessionId, Timestamp, UserId,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// The device that asks its user itself.
pub(crate) const ASKS_ITSELF: u128 = 77;

/// How long a model waits for more of a reply.
pub(crate) const IDLE: Duration = Duration::from_secs(120);
/// Nothing here takes that long.
pub(crate) const BOUND: Duration = Duration::from_secs(20);

#[derive(Default)]
pub(crate) struct Script {
    pub(crate) replies: Mutex<VecDeque<Reply>>,
    pub(crate) requests: Mutex<Vec<Request>>,
    /// How long each reply takes, and each piece of one.
    pub(crate) takes: Mutex<Duration>,
    /// At its end it begins to answer, and says no more.
    pub(crate) begins: AtomicBool,
    /// What it says then, piece by piece, each after a pause; a piece of its own if there is none.
    pub(crate) pieces: Mutex<Vec<(Duration, String)>>,
    /// So many replies begin and fall silent, which their model finds after [`IDLE`].
    pub(crate) dies: AtomicUsize,
    pub(crate) woken: AtomicUsize,
}

impl Script {
    /// How often the executor was told to look.
    pub(crate) fn woken(&self) -> usize {
        self.woken.load(Ordering::SeqCst)
    }
}

/// Replies by the script; when it is at its end, it never answers.
pub(crate) struct Scripted(Arc<Script>, ModelId);

pub(crate) fn model_id() -> ModelId {
    ModelId {
        api: "test".into(),
        model: "m".into(),
    }
}

#[async_trait]
impl Model for Scripted {
    fn id(&self) -> &ModelId {
        &self.1
    }

    async fn stream(
        &self,
        request: &Request,
        cancel: CancellationToken,
    ) -> Result<ModelStream, rtc_model::Error> {
        self.0.requests.lock().unwrap().push(request.clone());
        let takes = *self.0.takes.lock().unwrap();
        if !takes.is_zero() {
            tokio::time::sleep(takes).await;
        }
        let dies = |left: usize| left.checked_sub(1);
        if self
            .0
            .dies
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, dies)
            .is_ok()
        {
            let delta = "so far".to_owned();
            let begun = futures::stream::iter([Ok(Event::Text { delta })]);
            let silent = futures::stream::once(async {
                tokio::time::sleep(IDLE).await;
                Err(rtc_model::Error::Stream {
                    reason: "it fell silent".into(),
                })
            });
            return Ok(Box::pin(begun.chain(silent)));
        }
        let Some(reply) = self.0.replies.lock().unwrap().pop_front() else {
            if self.0.begins.load(Ordering::SeqCst) {
                let mut pieces = self.0.pieces.lock().unwrap().clone();
                if pieces.is_empty() {
                    pieces.push((Duration::ZERO, "so far".to_owned()));
                }
                let begun = futures::stream::iter(pieces).then(|(pause, delta)| async move {
                    tokio::time::sleep(pause).await;
                    Ok(Event::Text { delta })
                });
                return Ok(Box::pin(begun.chain(futures::stream::pending())));
            }
            cancel.cancelled().await;
            return Err(rtc_model::Error::Cancelled);
        };
        let deltas = reply.blocks.iter().filter_map(|block| match block {
            AssistantBlock::Text { text } => Some(Ok(Event::Text { delta: text.clone() })),
            _ => None,
        });
        let events: Vec<_> = deltas.chain([Ok(Event::Done(reply.clone()))]).collect();
        let events = futures::stream::iter(events);
        if takes.is_zero() {
            return Ok(Box::pin(events));
        }
        Ok(Box::pin(events.then(move |event| async move {
            tokio::time::sleep(takes).await;
            event
        })))
    }
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Args {
    pub(crate) path: String,
}

pub(crate) struct Edit;

impl Tool for Edit {
    type Args = Args;
    type Output = Value;

    fn name(&self) -> &str {
        "edit"
    }

    fn description(&self) -> String {
        "For tests.".into()
    }

    fn subject(&self, args: &Args) -> Result<Subject, ToolError> {
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
}

/// A tool that the user answers, with any text.
pub(crate) struct Ask;

impl Tool for Ask {
    type Args = Args;
    type Output = Value;

    fn name(&self) -> &str {
        "ask"
    }

    fn kind(&self) -> Kind {
        Kind::User
    }

    fn description(&self) -> String {
        "For tests.".into()
    }

    fn subject(&self, args: &Args) -> Result<Subject, ToolError> {
        Ok(Subject::read(&args.path))
    }

    async fn execute(
        &self,
        _: CallContext,
        _: Args,
        _: Option<Prepared>,
        _: ProgressSender,
    ) -> Result<Value, ToolError> {
        unreachable!("the user answers it")
    }

    fn answer(&self, _: &Args, answer: Value) -> Result<Value, ToolError> {
        match answer {
            Value::String(_) => Ok(answer),
            _ => Err(ToolError::execution("the answer is a text")),
        }
    }
}

pub(crate) struct TestHost {
    pub(crate) script: Arc<Script>,
    tools: Registry,
}

#[async_trait]
impl Host for TestHost {
    async fn turn_context(&self, session: &Session) -> TurnContext {
        TurnContext {
            model: model_id(),
            system: session.agent_prompt.clone().unwrap_or_else(|| "system".into()),
            tools: Vec::new(),
            mode: session.mode,
            max_rounds: None,
            cleared: None,
        }
    }

    fn model(&self, _: &ModelId) -> Result<Arc<dyn Model>, rtc_model::Error> {
        Ok(Arc::new(Scripted(self.script.clone(), model_id())))
    }

    fn tools(&self) -> &Registry {
        &self.tools
    }

    async fn preview(&self, _: &Session, _: &Arc<dyn ToolHandle>, args: &Value) -> Option<Preview> {
        Some(Preview {
            kind: PreviewKind::Diff,
            text: format!("diff of {args}"),
            paths: vec!["/real".into()],
            program: None,
        })
    }

    fn wake(&self, _: SessionId) {
        self.script.woken.fetch_add(1, Ordering::SeqCst);
    }

    fn cancel(&self, _: RtcId) {}

    fn runs_here(&self, device: DeviceId) -> bool {
        device == DeviceId::new(Uuid::from_u128(2))
    }

    fn asks_itself(&self, device: DeviceId) -> bool {
        device == DeviceId::new(Uuid::from_u128(ASKS_ITSELF))
    }
}

/// A wall clock that stands still unless it is set.
#[derive(Default)]
pub(crate) struct TestClock(AtomicI64);

impl TestClock {
    /// Sets it to so many seconds after the epoch.
    pub(crate) fn set(&self, seconds: i64) {
        self.0.store(seconds, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.load(Ordering::SeqCst)).unwrap()
    }

    fn entropy(&self) -> u64 {
        Uuid::new_v4().as_u64_pair().1
    }
}

pub(crate) struct Bench {
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) engine: Engine,
    pub(crate) script: Arc<Script>,
}

pub(crate) async fn engine_on(store: Arc<MemoryStore>, script: Arc<Script>) -> Bench {
    Bench {
        engine: engine_over(store.clone(), script.clone()).await,
        store,
        script,
    }
}

/// An engine over any store.
pub(crate) async fn engine_over(store: Arc<dyn Store>, script: Arc<Script>) -> Engine {
    engine_of(1, store, script, Arc::default()).await
}

/// The engine of this user, with this clock.
pub(crate) async fn engine_of(
    user: u128,
    store: Arc<dyn Store>,
    script: Arc<Script>,
    clock: Arc<TestClock>,
) -> Engine {
    let mut tools = Registry::default();
    tools.register(handle(Edit));
    tools.register(handle(Ask));
    tools.register(handle(TodoWrite));
    let host = Arc::new(TestHost { script, tools });
    let user = UserId::new(Uuid::from_u128(user));
    Engine::open(store, user, clock, host).await.unwrap()
}

pub(crate) async fn bench(replies: Vec<Reply>) -> Bench {
    let script = Script {
        replies: Mutex::new(replies.into()),
        ..Script::default()
    };
    engine_on(Arc::new(MemoryStore::new()), Arc::new(script)).await
}

impl Bench {
    pub(crate) async fn send(&self, client_id: &str, text: &str) -> Result<Message, rtc_engine::Error> {
        self.engine.send(message(1, client_id, text, Mode::Manual)).await
    }

    pub(crate) async fn until(&self, number: u128, done: impl Fn(&SessionState) -> bool) -> SessionState {
        until(&self.engine, number, done).await
    }

    /// The same store after a restart, with the same script.
    pub(crate) async fn again(self) -> Bench {
        self.engine.shut_down();
        engine_on(self.store, self.script).await
    }

    /// The commit by which the lane of the first session is held.
    pub(crate) async fn held(&self) -> Revision {
        held(&self.store).await
    }

    pub(crate) async fn first_call(&self) -> RtcId {
        self.until(1, |state| !state.calls.is_empty()).await.calls[0]
            .stored
            .entity
            .id
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.script.requests.lock().unwrap().clone()
    }
}

/// The commit by which the lane of the first session is held.
pub(crate) async fn held(store: &MemoryStore) -> Revision {
    let keys = store.scan(&Key::from(Vec::new()), None, 1_000).await.unwrap();
    let mut lanes = keys.into_iter().filter(|(key, _)| {
        let key = key.as_bytes();
        key.ends_with(session(1).as_bytes()) && key[key.len() - 17] == b'L'
    });
    let (_, lane) = lanes.next().expect("the lane is held");
    assert!(lanes.next().is_none());
    lane.revision
}

/// Waits until a session is so.
pub(crate) async fn until(
    engine: &Engine,
    number: u128,
    done: impl Fn(&SessionState) -> bool,
) -> SessionState {
    let mut position = engine.position();
    let wait = async {
        loop {
            position.borrow_and_update();
            let state = engine.wake(session(number)).await.unwrap();
            if done(&state) {
                return state;
            }
            position.changed().await.unwrap();
        }
    };
    tokio::time::timeout(BOUND, wait).await.expect("it happens")
}

pub(crate) fn session(number: u128) -> SessionId {
    SessionId::new(Uuid::from_u128(number))
}

pub(crate) fn project() -> ProjectId {
    ProjectId::new(Uuid::from_u128(3))
}

pub(crate) fn message(number: u128, client_id: &str, text: &str, mode: Mode) -> Send {
    Send {
        client_id: ClientId::new(client_id).unwrap(),
        text: text.into(),
        scenarios: Vec::new(),
        new_session: NewSession {
            id: session(number),
            client_id: ClientId::new(format!("session-{number}")).unwrap(),
            user: UserId::new(Uuid::from_u128(1)),
            device: DeviceId::new(Uuid::from_u128(2)),
            project: Some(project()),
            mode,
            agent_prompt: None,
            parent: None,
        },
    }
}

pub(crate) fn says(text: &str) -> Reply {
    let blocks = vec![AssistantBlock::Text { text: text.into() }];
    Reply {
        blocks,
        stop: StopReason::EndTurn,
        usage: Usage::default(),
    }
}

pub(crate) fn calls(calls: &[(&str, &str, &str)]) -> Reply {
    let block = |(id, name, arguments): &(&str, &str, &str)| AssistantBlock::ToolCall {
        id: (*id).into(),
        name: (*name).into(),
        arguments: (*arguments).into(),
    };
    Reply {
        blocks: calls.iter().map(block).collect(),
        stop: StopReason::ToolUse,
        usage: Usage::default(),
    }
}

pub(crate) fn one_edit() -> Reply {
    calls(&[("a", "edit", "{\"path\":\"/x\"}")])
}

pub(crate) fn refusal<T: std::fmt::Debug>(result: Result<T, rtc_engine::Error>) -> Code {
    result.unwrap_err().code()
}
