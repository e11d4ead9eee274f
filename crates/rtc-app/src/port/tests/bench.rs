//! The real engine and executor with the port between them; model, tools and files are here.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::time::Duration;

use rtc_engine::{Host, NewSession, Parent, Send, StoredRtc, TurnContext};
use rtc_executor::{Executor, Places};
use rtc_model::{
    AssistantBlock, Event, Item, Model, ModelId, ModelStream, Reply, Request, StopReason, Usage,
};
use rtc_store::{MemoryStore, Store};
use rtc_tool::{
    CallContext, Extensions, Prepared, ProgressSender, Recovery, Registry, Subject, Tool, ToolHandle, handle,
};
use rtc_types::{ClientId, Clock, Mode, Preview, Session, Timestamp, UserId};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::*;

pub(super) const PROJECT: ProjectId = ProjectId::new(Uuid::from_u128(3));
const USER: UserId = UserId::new(Uuid::from_u128(1));
const DEVICE: DeviceId = DeviceId::new(Uuid::from_u128(2));

/// The files, which outlive a crash, and what happens to them.
#[derive(Default)]
pub(super) struct Desk {
    files: Mutex<BTreeMap<String, String>>,
    /// What happened, in order.
    events: Mutex<Vec<String>>,
    /// The change that is being made.
    changing: Mutex<Option<String>>,
    /// Changes that are held up at their beginning.
    before: Held,
    /// Changes that are held up once they are made.
    after: Held,
}

/// Changes that are held up, by their text.
type Held = Mutex<HashMap<String, Arc<Semaphore>>>;

fn hold(held: &Held, text: &str) -> Arc<Semaphore> {
    let gate = Arc::new(Semaphore::new(0));
    held.lock().unwrap().insert(text.to_owned(), gate.clone());
    gate
}

async fn pass(held: &Held, text: &str) {
    let gate = held.lock().unwrap().get(text).cloned();
    if let Some(gate) = gate {
        gate.acquire().await.unwrap().forget();
    }
}

impl Desk {
    /// Holds the change up before it is made, until a permit is added.
    pub(super) fn hold(&self, text: &str) -> Arc<Semaphore> {
        hold(&self.before, text)
    }

    /// Holds the change up when it is made, before anybody hears of it.
    pub(super) fn hold_after(&self, text: &str) -> Arc<Semaphore> {
        hold(&self.after, text)
    }

    pub(super) fn events(&self) -> Vec<String> {
        std::mem::take(&mut self.events.lock().unwrap())
    }

    fn tell(&self, event: String) {
        self.events.lock().unwrap().push(event);
    }

    fn content(&self, path: &str) -> Option<String> {
        self.files.lock().unwrap().get(path).cloned()
    }

    async fn change(&self, path: &str, text: &str) {
        let other = self.changing.lock().unwrap().replace(text.to_owned());
        assert_eq!(other, None, "two changes at a time");
        self.tell(format!("{text} begins"));
        pass(&self.before, text).await;
        self.files
            .lock()
            .unwrap()
            .insert(path.to_owned(), text.to_owned());
        self.tell(format!("{text} is made"));
        pass(&self.after, text).await;
        self.changing.lock().unwrap().take();
    }

    fn of(context: &CallContext) -> Arc<Self> {
        context.extensions.get().unwrap()
    }
}

#[derive(Deserialize, JsonSchema)]
struct At {
    path: String,
}

struct Look;

impl Tool for Look {
    type Args = At;
    type Output = Value;

    fn name(&self) -> &str {
        "look"
    }

    fn description(&self) -> String {
        "Looks.".into()
    }

    fn subject(&self, args: &At) -> Result<Subject, ToolError> {
        Ok(Subject::read(&args.path))
    }

    async fn execute(
        &self,
        context: CallContext,
        args: At,
        _: Option<Prepared>,
        _: ProgressSender,
    ) -> Result<Value, ToolError> {
        assert!(context.turns.take().await.is_err(), "what looks has no turn");
        Ok(json!(Desk::of(&context).content(&args.path)))
    }
}

#[derive(Deserialize, JsonSchema)]
struct PutArgs {
    path: String,
    text: String,
}

struct Put;

impl Tool for Put {
    type Args = PutArgs;
    type Output = Value;

    fn name(&self) -> &str {
        "put"
    }

    fn description(&self) -> String {
        "Changes a file.".into()
    }

    fn subject(&self, args: &PutArgs) -> Result<Subject, ToolError> {
        Ok(Subject::write(&args.path))
    }

    async fn prepare(&self, context: &CallContext, args: &PutArgs) -> Result<Option<Prepared>, ToolError> {
        let before = Desk::of(context).content(&args.path);
        Ok(Some(Prepared {
            mark: json!({"before": before}),
            plan: Box::new(before),
        }))
    }

    async fn execute(
        &self,
        context: CallContext,
        args: PutArgs,
        prepared: Option<Prepared>,
        _: ProgressSender,
    ) -> Result<Value, ToolError> {
        let desk = Desk::of(&context);
        let planned_on = prepared.unwrap().plan.downcast::<Option<String>>().unwrap();
        assert_eq!(desk.content(&args.path), *planned_on, "somebody came in between");
        drop(context.turns.take().await.unwrap());
        desk.change(&args.path, &args.text).await;
        Ok(json!("put"))
    }

    async fn recover(
        &self,
        context: &CallContext,
        args: &PutArgs,
        mark: &Value,
    ) -> Result<Recovery, ToolError> {
        let desk = Desk::of(context);
        desk.tell(format!("{} is looked at", args.text));
        let now = desk.content(&args.path);
        Ok(if now.as_ref() == Some(&args.text) {
            Recovery::Applied(json!("put"))
        } else if json!(now) == mark["before"] {
            Recovery::NotApplied
        } else {
            Recovery::Neither("Somebody else wrote.".into())
        })
    }
}

#[derive(Deserialize, JsonSchema)]
struct ProgramArgs {
    texts: Vec<String>,
}

/// Makes several changes.
struct Program;

impl Tool for Program {
    type Args = ProgramArgs;
    type Output = Value;

    fn name(&self) -> &str {
        "program"
    }

    fn description(&self) -> String {
        "Runs.".into()
    }

    fn subject(&self, args: &ProgramArgs) -> Result<Subject, ToolError> {
        Ok(Subject {
            access: Access::Exec,
            paths: Vec::new(),
            digest: Some(args.texts.concat()),
        })
    }

    async fn prepare(&self, _: &CallContext, _: &ProgramArgs) -> Result<Option<Prepared>, ToolError> {
        Ok(Some(Prepared {
            mark: Value::Null,
            plan: Box::new(()),
        }))
    }

    async fn execute(
        &self,
        context: CallContext,
        args: ProgramArgs,
        _: Option<Prepared>,
        _: ProgressSender,
    ) -> Result<Value, ToolError> {
        for text in args.texts {
            let _turn = context.turns.take().await?;
            Desk::of(&context).change("/x", &text).await;
        }
        Ok(json!("ran"))
    }
}

/// Makes the calls that the user names, by the tool and its texts, with commas between them.
struct Obedient(ModelId);

fn id() -> ModelId {
    ModelId {
        api: "test".into(),
        model: "obedient".into(),
    }
}

fn calls_for(text: &str) -> Vec<AssistantBlock> {
    let call = |(number, order): (usize, &str)| {
        let mut words = order.split_whitespace();
        let (name, words) = (words.next().unwrap(), words.collect::<Vec<_>>());
        let arguments = match name {
            "look" => json!({"path": "/x"}),
            "put" => json!({"path": "/x", "text": words[0]}),
            _ => json!({"texts": words}),
        };
        AssistantBlock::ToolCall {
            id: format!("{number} {text}"),
            name: name.to_owned(),
            arguments: arguments.to_string(),
        }
    };
    text.split(", ").enumerate().map(call).collect()
}

#[async_trait]
impl Model for Obedient {
    fn id(&self) -> &ModelId {
        &self.0
    }

    async fn stream(&self, request: &Request, _: CancellationToken) -> Result<ModelStream, rtc_model::Error> {
        let reply = match request.items.last() {
            Some(Item::User { text }) if text != "hello" => Reply {
                blocks: calls_for(text),
                stop: StopReason::ToolUse,
                usage: Usage::default(),
            },
            _ => Reply {
                blocks: vec![AssistantBlock::Text { text: "done".into() }],
                stop: StopReason::EndTurn,
                usage: Usage::default(),
            },
        };
        Ok(Box::pin(futures::stream::iter([Ok(Event::Done(reply))])))
    }
}

struct TestHost {
    tools: Registry,
    executor: Executor,
    /// Sessions that nobody wakes.
    asleep: Vec<SessionId>,
}

#[async_trait]
impl Host for TestHost {
    async fn turn_context(&self, session: &Session) -> TurnContext {
        TurnContext {
            model: id(),
            system: String::new(),
            tools: Vec::new(),
            mode: session.mode,
            max_rounds: None,
            cleared: None,
        }
    }

    fn model(&self, _: &ModelId) -> Result<Arc<dyn Model>, rtc_model::Error> {
        Ok(Arc::new(Obedient(id())))
    }

    fn tools(&self) -> &Registry {
        &self.tools
    }

    async fn preview(&self, _: &Session, _: &Arc<dyn ToolHandle>, _: &Value) -> Option<Preview> {
        None
    }

    fn wake(&self, session: SessionId) {
        if !self.asleep.contains(&session) {
            self.executor.wake(session);
        }
    }

    fn cancel(&self, rtc: RtcId) {
        self.executor.cancel(rtc);
    }
}

struct TestClock;

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn entropy(&self) -> u64 {
        Uuid::new_v4().as_u64_pair().1
    }
}

struct OneDesk(Arc<Desk>);

#[async_trait]
impl Places for OneDesk {
    async fn of(&self, _: Option<PathBuf>) -> Result<Extensions, ToolError> {
        Ok(Extensions::default().with(self.0.clone()))
    }
}

pub(super) struct Bench {
    pub(super) engine: Engine,
    pub(super) executor: Executor,
    pub(super) desk: Arc<Desk>,
    pub(super) store: Arc<MemoryStore>,
}

pub(super) fn session(number: u128) -> SessionId {
    SessionId::new(Uuid::from_u128(0x100 + number))
}

/// Lets everything go on that can. Time is virtual: it goes by when nothing else does.
pub(super) async fn settled() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

impl Bench {
    pub(super) async fn new() -> Self {
        Self::on(Arc::new(MemoryStore::new()), Arc::default(), &[]).await
    }

    async fn on(store: Arc<MemoryStore>, desk: Arc<Desk>, asleep: &[u128]) -> Self {
        Self::over(store.clone(), store, desk, asleep).await
    }

    /// `opened` is what the engine sees of the store.
    pub(super) async fn over(
        opened: Arc<dyn Store>,
        store: Arc<MemoryStore>,
        desk: Arc<Desk>,
        asleep: &[u128],
    ) -> Self {
        let mut tools = Registry::default();
        tools.register(handle(Look));
        tools.register(handle(Put));
        tools.register(handle(Program));
        let port = EnginePort::default();
        let places = Arc::new(OneDesk(desk.clone()));
        let executor = Executor::new(Arc::new(port.clone()), tools.clone(), places, Duration::ZERO);
        let host = Arc::new(TestHost {
            tools,
            executor: executor.clone(),
            asleep: asleep.iter().map(|number| session(*number)).collect(),
        });
        let engine = Engine::open(opened, USER, Arc::new(TestClock), host)
            .await
            .unwrap();
        port.connect(&engine, DEVICE);
        Self {
            engine,
            executor,
            desk,
            store,
        }
    }

    /// After a crash now: the files as they are, the store as far as it is durable. Sessions that are `asleep` are woken
    /// by nobody.
    pub(super) async fn crash(self, asleep: &[u128]) -> Self {
        let image = Arc::new(self.store.image(0));
        self.executor.shut_down();
        self.engine.shut_down();
        settled().await;
        *self.desk.changing.lock().unwrap() = None;
        Self::on(image, self.desk, asleep).await
    }

    /// Says something in a session. A new one is begun by `parent`, or by the user.
    pub(super) async fn say(&self, number: u128, parent: Option<u128>, text: &str) {
        self.try_to_say(number, parent, text).await.unwrap();
    }

    /// The same, which the engine may not be able to take.
    pub(super) async fn try_to_say(
        &self,
        number: u128,
        parent: Option<u128>,
        text: &str,
    ) -> Result<(), rtc_engine::Error> {
        let parent = match parent {
            Some(parent) => {
                let parent = self.engine.session(session(parent)).await.unwrap().unwrap();
                Some(Parent::of(&parent.entity, None))
            }
            None => None,
        };
        let send = Send {
            client_id: ClientId::new(format!("{number}-{}", text.replace([' ', ','], "-"))).unwrap(),
            text: text.into(),
            scenarios: Vec::new(),
            new_session: NewSession {
                id: session(number),
                client_id: ClientId::new(format!("session-{number}")).unwrap(),
                user: USER,
                device: DEVICE,
                project: Some(PROJECT),
                mode: Mode::Bypass,
                agent_prompt: None,
                parent,
            },
        };
        self.engine.send(send).await?;
        settled().await;
        Ok(())
    }

    pub(super) async fn is_idle(&self, number: u128) -> bool {
        self.engine.wake(session(number)).await.unwrap().is_idle()
    }

    pub(super) async fn calls(&self, number: u128) -> Vec<StoredRtc> {
        self.engine.rtcs(session(number)).await.unwrap()
    }
}
