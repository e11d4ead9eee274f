//! One life of the product: started on an image of the world, until everything is over.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rtc_app::EnginePort;
use rtc_engine::{Engine, Host, StoredMessage, StoredRtc, StoredTurn, TurnContext};
use rtc_executor::{Executor, Places};
use rtc_model::{Model, ModelId};
use rtc_store::MemoryStore;
use rtc_tool::{Extensions, Registry, ToolError, ToolHandle};
use rtc_types::{ContentData, Mode, Preview, RtcId, Session, SessionId};
use serde_json::Value;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::Sabotage;
use crate::client::{self, Client, Kept};
use crate::clock::WorldClock;
use crate::model::{self, PlannedModel};
use crate::others;
use crate::points::{Point, Wanted};
use crate::port::Turns;
use crate::scenario::Scenario;
use crate::store::WatchedStore;
use crate::tools::{self, Bench};
use crate::user::{self, DEVICE, Others, USER, session_id};
use crate::world::{Facts, Known, World};

/// How long a store that has stopped is left so, until the user starts the product again.
const STOPPED: Duration = Duration::from_secs(5);

/// Virtual time in which everything must be over; the longest wait, for room on the disk, is a few times 30 s.
const LONG: Duration = Duration::from_secs(10 * 60);
/// The same where the user thinks for days.
const LONG_WITH_THOUGHT: Duration = Duration::from_secs(40 * 24 * 3_600);

/// How a run ended.
pub(crate) struct Ended {
    pub(crate) facts: Facts,
    pub(crate) sessions: Vec<SessionEnd>,
    /// How many sessions there are.
    pub(crate) count: usize,
    /// Where it could have been killed.
    pub(crate) points: Vec<Point>,
}

/// What is stored of a session at the end.
pub(crate) struct SessionEnd {
    pub(crate) id: SessionId,
    /// Every message, with what it says.
    pub(crate) messages: Vec<(StoredMessage, ContentData)>,
    pub(crate) calls: Vec<StoredRtc>,
    pub(crate) turns: Vec<StoredTurn>,
    pub(crate) is_idle: bool,
    pub(crate) mode: Mode,
}

/// Runs a scenario from a point, or from the beginning. An error says what went wrong on the way.
pub(crate) fn run(
    scenario: &Arc<Scenario>,
    from: Option<&Point>,
    wanted: Wanted,
    with_clients: bool,
    sabotage: Sabotage,
) -> Result<Ended, String> {
    let (facts, store) = match from {
        Some(point) => (point.facts.clone(), point.store.image(0)),
        None => {
            let known = |session| Known {
                id: (!scenario.is_copy(session)).then(|| session_id(session)),
                ..Known::default()
            };
            let facts = Facts {
                users: (0..scenario.sessions.len()).map(known).collect(),
                clients: scenario.clients.iter().map(Kept::first).collect(),
                ..Facts::default()
            };
            (facts, MemoryStore::new())
        }
    };
    let world = Arc::new(World::new(
        facts,
        Arc::new(store),
        scenario.jump,
        wanted,
        sabotage,
    ));
    let mut is_restart = from.is_some();
    let (sessions, count) = loop {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .map_err(|error| error.to_string())?;
        let lived = runtime.block_on(live(&world, scenario, is_restart, with_clients));
        // Whatever still waits for time is dropped with it.
        drop(runtime);
        // What was seen may be why it does not go on.
        if let Some(wrong) = world.seen_wrong() {
            return Err(wrong);
        }
        match lived? {
            Lived::ToTheEnd(sessions, count) => break (sessions, count),
            Lived::UntilItFailed => is_restart = true,
        }
    };
    Ok(Ended {
        sessions,
        count,
        facts: world.with(|facts| facts.clone()),
        points: world.take_points(),
    })
}

/// How a life of the product ended.
enum Lived {
    /// Everything is over. What is stored, and of how many sessions.
    ToTheEnd(Vec<SessionEnd>, usize),
    /// The disk of its store failed, so that the user starts it again.
    UntilItFailed,
}

async fn live(
    world: &Arc<World>,
    scenario: &Arc<Scenario>,
    is_restart: bool,
    with_clients: bool,
) -> Result<Lived, String> {
    let bench = Arc::new(Bench {
        world: world.clone(),
        scenario: scenario.clone(),
    });
    let life = world.with(|facts| {
        facts.lives += 1;
        facts.lives
    });
    let port = EnginePort::default();
    let tools = tools::of_executor().clone();
    let executor = Executor::new(
        crate::port::to(port.clone(), turns(world, scenario), false),
        tools,
        Arc::new(OneBench(bench.clone())),
        Duration::ZERO,
    );
    let host = Arc::new(WorldHost {
        model: Arc::new(PlannedModel {
            world: world.clone(),
            scenario: scenario.clone(),
            id: model::id(),
        }),
        executor: executor.clone(),
        life,
        is_deaf: is_restart && world.sabotage == Sabotage::NeverWakes,
    });
    let stopped = CancellationToken::new();
    let store = Arc::new(WatchedStore {
        world: world.clone(),
        full: scenario.full,
        broken: scenario.broken,
        stopped: stopped.clone(),
    });
    let had_failed = world.with(|facts| facts.has_failed);
    let fails_now = || !had_failed && world.with(|facts| facts.has_failed);
    let engine = match Engine::open(store, USER, Arc::new(WorldClock(world.clone())), host).await {
        Err(_) if fails_now() => return Ok(Lived::UntilItFailed),
        opened => opened.map_err(|error| error.to_string())?,
    };
    port.connect(&engine, DEVICE);
    for session in 0..scenario.sessions.len() {
        let Some(id) = world.session_id(session) else {
            continue;
        };
        match found(&engine, id).await {
            Err(_) if fails_now() => return Ok(Lived::UntilItFailed),
            found => found.map_err(|error| format!("session {session}: {error}"))?,
        }
    }
    let mut runners = JoinSet::new();
    let clock = world.clone();
    runners.spawn(async move { clock.wakes_late().await });
    if scenario.others {
        let places = Arc::new(OneBench(bench));
        let ids = world.clone();
        let count = scenario.sessions.len();
        let ids = move || (0..count).filter_map(|session| ids.session_id(session)).collect();
        let would_run = others::would_run(
            engine.clone(),
            port,
            executor.clone(),
            places,
            world.sabotage,
            ids,
        );
        runners.spawn(would_run);
    }
    let mut clients = JoinSet::new();
    let count = if with_clients { scenario.clients.len() } else { 0 };
    for number in 0..count {
        let services = client::services(world, &engine);
        clients.spawn(Client::new(world, scenario, number, services).follow());
    }
    let others = Others {
        answer: scenario.clients[..count].iter().any(|plan| plan.answers),
        act: scenario.clients[..count].iter().any(|plan| plan.acts),
    };
    let slept = (scenario.jump).map_or(0, |jump| jump.seconds.unsigned_abs());
    let long = match scenario.thinks {
        true => LONG_WITH_THOUGHT,
        false => LONG + Duration::from_secs(slept),
    };
    let acting = tokio::time::timeout(long, user::act(world, scenario, &engine, others));
    let acted = tokio::select! {
        biased;
        acted = acting => acted,
        () = restarted(&stopped) => return Ok(Lived::UntilItFailed),
    };
    acted.unwrap_or_else(|_| Err("it does not go on".to_owned()))?;
    if stopped.is_cancelled() {
        // What is kept in memory is not what is stored.
        return Ok(Lived::UntilItFailed);
    }
    let had_failed = world.with(|facts| facts.has_failed);
    let fails_now = || !had_failed && world.with(|facts| facts.has_failed);
    let looked = look(world, scenario, &engine, count > 0).await;
    if fails_now() {
        return Ok(Lived::UntilItFailed);
    }
    let (ends, count) = looked?;
    drop((clients, runners));
    executor.shut_down();
    engine.shut_down();
    Ok(Lived::ToTheEnd(ends, count))
}

/// Who waits for a turn before a change.
fn turns(world: &World, scenario: &Scenario) -> Turns {
    let is_late = |session: &usize| scenario.sessions[*session].late > 0;
    match world.sabotage {
        Sabotage::TakesNoTurns => Turns::Nobody,
        Sabotage::LateTakeNoTurns => {
            let late = (0..scenario.sessions.len()).filter(is_late);
            Turns::AllBut(late.map(session_id).collect())
        }
        _ => Turns::All,
    }
}

/// When the user starts the product again, because its store has stopped.
async fn restarted(stopped: &CancellationToken) {
    stopped.cancelled().await;
    tokio::time::sleep(STOPPED).await;
}

/// What is stored at the end, and of how many sessions; what clients keep is the same.
async fn look(
    world: &World,
    scenario: &Scenario,
    engine: &Engine,
    with_clients: bool,
) -> Result<(Vec<SessionEnd>, usize), String> {
    if with_clients {
        client::caught_up(world, engine).await?;
    }
    let mut ends = Vec::with_capacity(scenario.sessions.len());
    for session in 0..scenario.sessions.len() {
        let id = world.session_id(session);
        let id = id.ok_or_else(|| format!("session {session} was not begun"))?;
        ends.push(end(engine, id).await.map_err(|error| error.to_string())?);
    }
    if with_clients && world.seen_wrong().is_none() {
        client::check(world, scenario, engine, &ends).await?;
    }
    let count = match scenario.has_copies() {
        true => engine.sessions().await.map_err(|error| error.to_string())?.len(),
        false => ends.len(),
    };
    Ok((ends, count))
}

/// What must hold of a session as it was found, before anything of it goes on; that no message is missing is seen at the
/// end.
async fn found(engine: &Engine, session: SessionId) -> Result<(), String> {
    let turns = engine.turns(session).await.map_err(|error| error.to_string())?;
    let open = turns
        .iter()
        .filter(|turn| !turn.entity.status.is_terminal())
        .count();
    if open > 1 {
        return Err(format!("{open} turns are open"));
    }
    Ok(())
}

async fn end(engine: &Engine, session: SessionId) -> Result<SessionEnd, rtc_engine::Error> {
    let state = engine.wake(session).await?;
    let mut messages = Vec::new();
    for message in engine.messages(session).await? {
        let content = message.entity.content.parse();
        let content = content
            .ok_or_else(|| rtc_engine::Error::Unreadable(message.entity.content.as_str().to_owned()))?;
        messages.push((message, content));
    }
    Ok(SessionEnd {
        id: session,
        messages,
        calls: engine.rtcs(session).await?,
        turns: engine.turns(session).await?,
        is_idle: state.is_idle() && state.calls.is_empty() && state.streaming.is_empty() && !state.stopping,
        mode: state.mode(),
    })
}

/// Every call runs at the same bench.
struct OneBench(Arc<Bench>);

#[async_trait]
impl Places for OneBench {
    async fn of(&self, _: Option<std::path::PathBuf>) -> Result<Extensions, ToolError> {
        Ok(Extensions::default().with(self.0.clone()))
    }
}

struct WorldHost {
    model: Arc<PlannedModel>,
    executor: Executor,
    life: u32,
    is_deaf: bool,
}

#[async_trait]
impl Host for WorldHost {
    async fn turn_context(&self, session: &Session) -> TurnContext {
        TurnContext {
            model: model::id(),
            // A turn keeps what it began with.
            system: format!("life {}", self.life),
            tools: Vec::new(),
            mode: session.mode,
            max_rounds: None,
            cleared: None,
        }
    }

    fn model(&self, _: &ModelId) -> Result<Arc<dyn Model>, rtc_model::Error> {
        Ok(self.model.clone())
    }

    fn tools(&self) -> &Registry {
        tools::of_engine()
    }

    async fn preview(&self, session: &Session, tool: &Arc<dyn ToolHandle>, args: &Value) -> Option<Preview> {
        self.executor.preview(session.id, None, tool, args).await
    }

    fn wake(&self, session: SessionId) {
        if !self.is_deaf {
            self.executor.wake(session);
        }
    }

    fn cancel(&self, rtc: RtcId) {
        self.executor.cancel(rtc);
    }
}
