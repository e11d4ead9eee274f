//! The product's engine in this process, over its own store in a data folder, with a model and a tool that answer at
//! once: it makes histories of real records, and shows what a step costs beside model and tool.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use futures::{StreamExt as _, TryStreamExt as _};
use rtc_engine::{
    Command, Engine, Host, Keys, NewSession, Outcome, Send, TurnContext, UserCommand, WeakEngine,
};
use rtc_model::{
    AssistantBlock, Event, Item, Model, ModelId, ModelStream, Reply, Request, StopReason, Usage,
};
use rtc_store::{Key, Offset, SledOptions, SledStore, Store};
use rtc_tool::{
    CallContext, Prepared, ProgressSender, Registry, Subject, Tool, ToolError, ToolHandle, handle,
};
use rtc_types::{
    ClientId, Clock, Code, DeviceId, Mode, Preview, ProjectId, RtcId, Session, SessionId, Timestamp, UserId,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Who a data folder is of, in its file.
const IDENTITY: &str = "identity.json";
/// The store in a data folder.
const STORE: &str = "store";
/// How long a turn may take: one that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(60);
/// How many sessions make their history at once, so that their commits share flushes.
const AT_ONCE: usize = 16;
/// Keys of one look at the store.
const PAGE: usize = 500;

/// What the model does in a turn; it reads it in the message of the user.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Turn {
    /// Replies with calls; one more ends the turn.
    pub(super) replies: usize,
    /// Calls of each.
    pub(super) calls: usize,
    /// Bytes of each result.
    pub(super) bytes: usize,
}

/// A turn as the model reads it.
#[derive(Serialize, Deserialize)]
struct Message {
    number: Uuid,
    turn: Turn,
}

/// A running engine on a data folder.
pub(super) struct Life {
    engine: Engine,
    store: Arc<SledStore>,
    asked: Arc<Asked>,
    user: UserId,
    device: DeviceId,
}

/// When the model was asked in each turn.
#[derive(Default)]
struct Asked(Mutex<HashMap<Uuid, Vec<Instant>>>);

impl Asked {
    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, Vec<Instant>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is in a store, in bytes.
#[derive(Debug, Default)]
pub(super) struct Live {
    /// Keys and values.
    pub(super) values: u64,
    /// Rows of the user's stream.
    pub(super) rows: u64,
}

/// Does something with an engine on a data folder, which is made if there is none; afterwards the folder is closed.
pub(super) fn live<T>(data: &Path, work: impl AsyncFnOnce(&Life) -> Result<T>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let life = Life::open(data).await?;
        let done = work(&life).await;
        life.engine.shut_down();
        done
    })
    // The store closes with the runtime, whose tasks have it.
}

impl Life {
    async fn open(data: &Path) -> Result<Self> {
        let (user, device) = identity(data)?;
        let store = Arc::new(SledStore::open(&data.join(STORE), &SledOptions::default())?);
        let (wake, mut woken) = unbounded_channel();
        let asked = Arc::new(Asked::default());
        let mut tools = Registry::default();
        tools.register(handle(AtOnce));
        let host = Arc::new(Surroundings {
            asked: asked.clone(),
            tools,
            wake,
        });
        let engine = Engine::open(store.clone(), user, Arc::new(SystemClock), host).await?;
        let weak = engine.downgrade();
        tokio::spawn(async move {
            // Whoever is woken for a session while somebody runs its calls looks after them.
            let mut sessions: HashMap<SessionId, Arc<tokio::sync::Mutex<()>>> = HashMap::new();
            while let Some(session) = woken.recv().await {
                let (engine, alone) = (weak.clone(), sessions.entry(session).or_default().clone());
                tokio::spawn(async move {
                    let _alone = alone.lock().await;
                    run_calls(engine, session).await;
                });
            }
        });
        Ok(Self {
            engine,
            store,
            asked,
            user,
            device,
        })
    }

    /// The project of a folder.
    pub(super) async fn project(&self, root: &Path) -> Result<ProjectId> {
        let root = root.canonicalize()?;
        let open = UserCommand::OpenProject {
            device: self.device,
            root: root.to_str().context("a path that is text")?.to_owned(),
            trusted: true,
        };
        Ok(self.engine.tell_user(open).await?.id)
    }

    /// Has a turn in a session, which is made if there is none: when the model was asked, for each of its replies.
    pub(super) async fn turn(
        &self,
        session: SessionId,
        project: Option<ProjectId>,
        turn: Turn,
    ) -> Result<Vec<Instant>> {
        let number = Uuid::now_v7();
        let message = Message { number, turn };
        let send = Send {
            client_id: ClientId::new(number.to_string())?,
            text: serde_json::to_string(&message)?,
            scenarios: Vec::new(),
            new_session: NewSession {
                id: session,
                client_id: ClientId::new(session.to_string())?,
                user: self.user,
                device: self.device,
                project,
                mode: Mode::Bypass,
                agent_prompt: None,
                parent: None,
            },
        };
        let mut position = self.engine.position();
        self.engine.send(send).await?;
        let ending = async {
            loop {
                position.borrow_and_update();
                let asked = self.asked.lock().get(&number).map_or(0, Vec::len);
                // Nobody looks at the session before its last reply: that would cost time.
                if asked > turn.replies && self.engine.wake(session).await?.is_idle() {
                    return anyhow::Ok(());
                }
                position.changed().await?;
            }
        };
        let ended = tokio::time::timeout(LONGEST, ending).await;
        ended.with_context(|| format!("{turn:?} does not end"))??;
        let asked = self.asked.lock().remove(&number).unwrap_or_default();
        ensure!(
            asked.len() == turn.replies + 1,
            "{} requests for {turn:?}",
            asked.len()
        );
        Ok(asked)
    }

    /// Makes sessions with as many turns each.
    pub(super) async fn sessions(
        &self,
        sessions: usize,
        project: Option<ProjectId>,
        turns: usize,
        turn: Turn,
    ) -> Result<Vec<SessionId>> {
        let session = |_| async move {
            let session = SessionId::new(Uuid::now_v7());
            for _ in 0..turns {
                self.turn(session, project, turn).await?;
            }
            anyhow::Ok(session)
        };
        let made = futures::stream::iter(0..sessions).map(session);
        made.buffer_unordered(AT_ONCE).try_collect().await
    }

    /// What is in the store.
    pub(super) async fn live(&self) -> Result<Live> {
        let mut live = Live::default();
        let (everything, mut after) = (Key::from(Vec::new()), None);
        loop {
            let page = self.store.scan(&everything, after.as_ref(), PAGE).await?;
            let bytes = |(key, entry): &(Key, rtc_store::Entry)| key.as_bytes().len() + entry.value.len();
            live.values += page.iter().map(bytes).sum::<usize>() as u64;
            match page.into_iter().next_back() {
                Some((key, _)) => after = Some(key),
                None => break,
            }
        }
        let (topic, mut stands) = (Keys::new(self.user).topic(), Offset(0));
        loop {
            let rows = self.store.read_stream(&topic, stands, PAGE).await?;
            live.rows += rows
                .iter()
                .map(|(_, row)| row.len() + size_of::<u64>())
                .sum::<usize>() as u64;
            match rows.last() {
                Some((offset, _)) => stands = *offset,
                None => return Ok(live),
            }
        }
    }
}

/// Who a data folder is of; made up once.
fn identity(data: &Path) -> Result<(UserId, DeviceId)> {
    #[derive(Serialize, Deserialize)]
    struct Identity {
        user_id: UserId,
        device_id: DeviceId,
    }
    std::fs::create_dir_all(data)?;
    let path = data.join(IDENTITY);
    if !path.exists() {
        let identity = Identity {
            user_id: UserId::new(Uuid::now_v7()),
            device_id: DeviceId::new(Uuid::now_v7()),
        };
        std::fs::write(&path, serde_json::to_vec(&identity)?)?;
    }
    let Identity { user_id, device_id } = serde_json::from_slice(&std::fs::read(&path)?)?;
    Ok((user_id, device_id))
}

/// Claims the calls of a session, one after the other, and hands in their results, as an executor does.
async fn run_calls(engine: WeakEngine, session: SessionId) {
    let Some(engine) = engine.upgrade() else { return };
    let run = async {
        loop {
            let state = engine.wake(session).await?;
            let Some(call) = state.next_for_executor() else {
                return Ok::<_, rtc_engine::Error>(());
            };
            let entity = &call.stored.entity;
            let (rtc, attempt) = (entity.id, entity.attempt + 1);
            let claim = Command::Claim {
                rtc,
                attempt,
                mark: None,
            };
            engine.tell(session, claim).await?;
            let bytes = entity.parameters["bytes"].as_u64().unwrap_or_default();
            let result = json!({"content": text(usize::try_from(bytes).unwrap_or_default())});
            let outcome = Outcome::of(Ok(result));
            let finish = Command::Finish {
                rtc,
                attempt,
                outcome,
            };
            engine.tell(session, finish).await?;
        }
    };
    // At the end of the engine there is always somebody who comes too late.
    if let Err(error) = run.await
        && error.code() != Code::ShuttingDown
    {
        eprintln!("a call of {session} does not go on: {error}");
    }
}

/// Lines of text, so many bytes.
fn text(bytes: usize) -> String {
    let lines = (0..).map(|line| format!("{line:06}: what a line of a file may look like\n"));
    let mut text = String::with_capacity(bytes + 64);
    for line in lines.take_while(|_| bytes > 0) {
        if text.len() >= bytes {
            break;
        }
        text.push_str(&line);
    }
    text.truncate(bytes);
    text
}

struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn entropy(&self) -> u64 {
        Uuid::new_v4().as_u64_pair().1
    }
}

struct Surroundings {
    asked: Arc<Asked>,
    tools: Registry,
    wake: UnboundedSender<SessionId>,
}

fn model_id() -> ModelId {
    ModelId {
        api: "openai-chat".into(),
        model: "m-1".into(),
    }
}

#[async_trait]
impl Host for Surroundings {
    async fn turn_context(&self, session: &Session) -> TurnContext {
        TurnContext {
            model: model_id(),
            system: "You read files.".into(),
            tools: Vec::new(),
            mode: session.mode,
            max_rounds: None,
            cleared: None,
        }
    }

    fn model(&self, id: &ModelId) -> Result<Arc<dyn Model>, rtc_model::Error> {
        Ok(Arc::new(Planned(self.asked.clone(), id.clone())))
    }

    fn tools(&self) -> &Registry {
        &self.tools
    }

    async fn preview(&self, _: &Session, _: &Arc<dyn ToolHandle>, _: &Value) -> Option<Preview> {
        None
    }

    fn wake(&self, session: SessionId) {
        let _ = self.wake.send(session);
    }

    fn cancel(&self, _: RtcId) {}

    fn runs_here(&self, _: DeviceId) -> bool {
        true
    }
}

/// A model that does what the last message says.
struct Planned(Arc<Asked>, ModelId);

#[async_trait]
impl Model for Planned {
    fn id(&self) -> &ModelId {
        &self.1
    }

    async fn stream(&self, request: &Request, _: CancellationToken) -> Result<ModelStream, rtc_model::Error> {
        let now = Instant::now();
        let mut replied = 0;
        let said = request.items.iter().rev().find_map(|item| match item {
            Item::User { text } => Some(text),
            Item::Assistant { .. } => {
                replied += 1;
                None
            }
            Item::ToolResult { .. } => None,
        });
        let Message { number, turn } = said
            .and_then(|said| serde_json::from_str(said).ok())
            .expect("the last message of the user is one of a benchmark");
        self.0.lock().entry(number).or_default().push(now);
        let blocks = match replied < turn.replies {
            true => (0..turn.calls)
                .map(|call| AssistantBlock::ToolCall {
                    id: format!("call_{replied}_{call}"),
                    name: AtOnce::NAME.into(),
                    arguments: json!({"path": format!("/src/file_{call}.rs"), "bytes": turn.bytes})
                        .to_string(),
                })
                .collect(),
            false => vec![AssistantBlock::Text {
                text: "All of it was read.".into(),
            }],
        };
        let stop = match replied < turn.replies {
            true => StopReason::ToolUse,
            false => StopReason::EndTurn,
        };
        let usage = Usage::default();
        let reply = Reply { blocks, stop, usage };
        Ok(Box::pin(futures::stream::iter([Ok(Event::Done(reply))])))
    }
}

/// A tool that only looks.
struct AtOnce;

impl AtOnce {
    const NAME: &str = "read";
}

impl Tool for AtOnce {
    type Args = Value;
    type Output = Value;

    fn name(&self) -> &str {
        Self::NAME
    }

    fn description(&self) -> String {
        "Reads a file.".into()
    }

    fn subject(&self, args: &Value) -> Result<Subject, ToolError> {
        Ok(Subject::read(args["path"].as_str().unwrap_or_default()))
    }

    async fn execute(
        &self,
        _: CallContext,
        _: Value,
        _: Option<Prepared>,
        _: ProgressSender,
    ) -> Result<Value, ToolError> {
        Err(ToolError::execution(
            "its results are made by whoever claims the call",
        ))
    }
}
