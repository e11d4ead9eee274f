//! The whole, put together.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rtc_engine::{Engine, TodoWrite};
use rtc_executor::{Executor, Folders};
use rtc_model::ModelId;
use rtc_realtime::{Rpc, Services};
use rtc_script::{Confinement, Script, Workers};
use rtc_store::{SetAside, SledOptions, SledStore, Store};
use rtc_tool::{Registry, handle};
use rtc_types::{Clock, DeviceId, Project, UserId};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::data::Identity;
use crate::host::AppHost;
use crate::port::EnginePort;
use crate::realtime::{self, Realtime};
use crate::set_aside::Note;
use crate::{Config, Error, Instance, Models, SystemClock, Tokens, data, instance, models};

/// What an app is opened with.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The data folder; the platform's by default.
    pub data: Option<PathBuf>,
    /// The configuration file; none by default.
    pub config: Option<PathBuf>,
    /// The model for new turns; the configuration's by default.
    pub model: Option<String>,
    /// How many replies the model may give in a new turn; as many as it likes by default.
    pub max_rounds: Option<u32>,
    /// Whether clients on other devices that show no approvals are told of their own calls at once, and ask their users
    /// themselves. Never for calls that run on this machine; off by default.
    pub client_approves: bool,
    /// How long a call is left to a window that runs it by its id, before it is run without one; not at all by default.
    pub patience: Duration,
    /// Whether nothing is begun in a folder that the user has not trusted; by default whoever names a folder trusts it.
    pub asks_trust: bool,
    /// The program that is started for scripts, with [`SCRIPT_WORKER`](crate::SCRIPT_WORKER) as its argument; this program by default.
    pub script_worker: Option<PathBuf>,
}

/// What answers new turns.
struct Answering {
    model: ModelId,
    /// As it was named, if it was.
    name: Option<String>,
    /// How many replies it may give in each.
    max_rounds: Option<u32>,
    /// Whether clients on other devices ask their users themselves.
    client_approves: bool,
    /// How long a call is left to a window.
    patience: Duration,
    /// Whether nothing is begun in a folder that the user has not trusted.
    asks_trust: bool,
}

/// An open data folder with its engine and executor.
pub struct App {
    engine: Engine,
    executor: Executor,
    config: Config,
    user: UserId,
    device: DeviceId,
    realtime: Arc<Realtime>,
    /// Looks after what is kept, as long as this is there.
    _house: AbortOnDropHandle<()>,
}

impl App {
    /// Whether there is a data folder with anything in it. It is not made, and a wrong one is an error as with
    /// [`App::open`].
    pub async fn has_data(options: &Options) -> Result<bool, Error> {
        Config::load(options.config.as_deref())?;
        let folder = data::folder(options.data.clone())?;
        let looking = {
            let folder = folder.clone();
            tokio::task::spawn_blocking(move || data::is_used(&folder))
        };
        looking.await.map_err(|error| Error::Data {
            path: folder,
            reason: error.to_string(),
        })?
    }

    /// The folder for what the pages of a window keep, within the data folder and for its owner only; both are made, and the
    /// path has no links. It is there before the data folder is opened. Blocks.
    pub fn pages_folder(options: &Options) -> Result<PathBuf, Error> {
        let folder = data::folder(options.data.clone())?;
        data::is_used(&folder)?;
        let pages = folder.join(data::PAGES);
        data::make(&pages)?;
        data::real(&pages)
    }

    /// Opens the data folder, which is then this process's alone. A wrong configuration is told before anything is touched.
    pub async fn open(options: Options) -> Result<Self, Error> {
        let config = Config::load(options.config.as_deref())?;
        let answering = Answering {
            model: models::choose(&config, options.model.as_deref())?,
            name: options.model,
            max_rounds: options.max_rounds,
            client_approves: options.client_approves,
            patience: options.patience,
            asks_trust: options.asks_trust,
        };
        let folder = data::folder(options.data)?;
        let workers = Workers::new(match options.script_worker {
            Some(program) => program,
            None => this_program()?,
        });
        let opening = {
            let folder = folder.clone();
            tokio::task::spawn_blocking(move || -> Result<_, Error> {
                data::is_used(&folder)?;
                data::make(&folder)?;
                let (store, identity) = open_store(&folder)?;
                let note = store
                    .note()
                    .and_then(|note| serde_json::from_str::<Note>(note).ok());
                let told = note.and_then(|note| note.due(&folder, SystemClock.now()));
                Ok((store, identity, told))
            })
        };
        let (store, identity, set_aside) = opening.await.map_err(|error| Error::Data {
            path: folder.clone(),
            reason: error.to_string(),
        })??;
        if let Some(told) = &set_aside {
            tracing::error!("{told}");
        }
        Self::assemble(
            Arc::new(store),
            identity,
            &folder,
            config,
            answering,
            workers,
            set_aside,
        )
        .await
    }

    /// Puts everything together over an open store.
    async fn assemble(
        store: Arc<dyn Store>,
        identity: Identity,
        folder: &Path,
        config: Config,
        answering: Answering,
        workers: Workers,
        set_aside: Option<String>,
    ) -> Result<Self, Error> {
        let own_data = folder.to_owned();
        let port = EnginePort::default();
        let mut tools = Registry::default();
        for tool in rtc_tools::tools() {
            tools.register(tool);
        }
        tools.register(handle(Script::new(workers.clone())));
        let places = Arc::new(Folders::new(own_data.clone())?);
        let executor = Executor::new(
            Arc::new(port.clone()),
            tools.clone(),
            places.clone(),
            answering.patience,
        );
        tools.register(handle(TodoWrite));
        let listed = tools.clone();
        let clock = Arc::new(SystemClock);
        let host = Arc::new(AppHost {
            clock: clock.clone(),
            tools,
            model: answering.model,
            models: Models::of(&config),
            max_rounds: answering.max_rounds,
            engine: port.clone(),
            executor: executor.clone(),
            workers,
            client_approves: answering.client_approves,
        });
        let engine = Engine::open(store, identity.user_id, clock.clone(), host).await?;
        port.connect(&engine, identity.device_id);
        let realtime = Realtime {
            engine: engine.clone(),
            executor: executor.clone(),
            tools: listed,
            models: Models::of(&config),
            model: answering.name,
            mode: config.mode.unwrap_or_default(),
            asks_trust: answering.asks_trust,
            user: identity.user_id,
            device: identity.device_id,
            own_data: own_data.clone(),
            clock,
            places,
            set_aside,
            watch: realtime::watch(engine.clone()),
            projects: std::sync::Mutex::default(),
            retention: config.undo.retention(),
        };
        let realtime = Arc::new(realtime);
        let house = tokio::spawn(realtime.clone().keep_house());
        Ok(Self {
            realtime,
            _house: AbortOnDropHandle::new(house),
            engine,
            executor,
            config,
            user: identity.user_id,
            device: identity.device_id,
        })
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The user of this installation.
    pub fn user(&self) -> UserId {
        self.user
    }

    /// What the user has to know of the start: that what was stored could not be read, and where it is kept.
    pub fn notice(&self) -> Option<&str> {
        self.realtime.set_aside.as_deref()
    }

    /// This device.
    pub fn device(&self) -> DeviceId {
        self.device
    }

    /// The project of a folder of this machine. The folder must exist and be readable.
    pub async fn open_project(&self, root: &Path) -> Result<Project, Error> {
        self.realtime.open_project(root).await
    }

    /// What clients can call.
    pub fn rpc(&self) -> Arc<dyn Rpc> {
        self.realtime.clone()
    }

    /// What connections need from around them. They end with `shutdown`.
    pub fn services(&self, tokens: &Tokens, shutdown: &CancellationToken) -> Services {
        Services {
            authenticate: Arc::new(tokens.clone()),
            sources: self.realtime.clone(),
            rpc: self.realtime.clone(),
            clock: Arc::new(SystemClock),
            version: env!("CARGO_PKG_VERSION").into(),
            capabilities: ["approvals".to_owned()].into(),
            shutdown: shutdown.clone(),
        }
    }

    /// Wakes what an earlier process left in the middle.
    pub fn go_on(&self) -> impl Future<Output = ()> + Send + 'static {
        let realtime = self.realtime.clone();
        async move { realtime.go_on_from_before().await }
    }

    /// The tokens of this installation.
    pub async fn tokens(&self) -> Result<Tokens, Error> {
        self.in_data(|folder| Tokens::open(folder, Arc::new(SystemClock)))
            .await
    }

    /// The port that was open last on this data folder, if that is known.
    pub async fn last_port(&self) -> Result<Option<u16>, Error> {
        self.in_data(|folder| Ok(instance::last_port(folder))).await
    }

    /// Keeps the port for the next start.
    pub async fn keep_port(&self, port: u16) -> Result<(), Error> {
        self.in_data(move |folder| instance::keep_port(folder, port))
            .await
    }

    /// Tells other processes of this user how this one is reached.
    pub async fn announce(&self, instance: Instance) -> Result<(), Error> {
        self.in_data(move |folder| instance::announce(folder, &instance))
            .await
    }

    /// Tells them that it cannot be reached any more.
    pub async fn withdraw(&self) -> Result<(), Error> {
        self.in_data(instance::withdraw).await
    }

    /// Does something with the data folder that blocks.
    async fn in_data<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Path) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let folder = self.realtime.own_data.clone();
        let working = tokio::task::spawn_blocking(move || work(&folder));
        working.await.map_err(|error| Error::Data {
            path: self.realtime.own_data.clone(),
            reason: error.to_string(),
        })?
    }

    /// How many calls run now on this device.
    pub fn running_calls(&self) -> usize {
        self.executor.running()
    }

    /// Ends everything. What goes on goes on at the next start.
    pub fn shut_down(&self) {
        self.executor.shut_down();
        self.engine.shut_down();
    }
}

/// Opens the store of the data folder, or saves what can be read of it. Blocks.
fn open_store(folder: &Path) -> Result<(SledStore, Identity), Error> {
    let clock = SystemClock;
    let aside = data::unused(folder, &format!("{}.damaged", data::STORE), clock.now());
    let mend = |store, set_aside: &SetAside| {
        let Identity { user_id, device_id } = data::identity(folder)?;
        let salvaging = rtc_engine::salvage(store, user_id, device_id, &clock);
        let salvaged = Handle::current()
            .block_on(salvaging)
            .map_err(|error| match error {
                rtc_engine::Error::Store(error) => Box::from(rtc_store::Error::clone(&error)),
                other => Box::<dyn std::error::Error + Send + Sync>::from(other),
            })?;
        let note = Note::of(set_aside, &salvaged, &aside, clock.now());
        Ok(serde_json::to_string(&note)?)
    };
    let options = SledOptions::default();
    let opened = SledStore::open_or_set_aside(&folder.join(data::STORE), &aside, &options, &mend);
    let (store, _) = opened.map_err(|error| match error {
        // The user knows the folder that was named, not the one within.
        rtc_store::Error::Busy { .. } => Error::InUse(folder.to_owned()),
        rtc_store::Error::Io { .. } => Error::Data {
            path: folder.to_owned(),
            reason: error.to_string(),
        },
        other => other.into(),
    })?;
    // What they keep is the content of files of the user: for its owner only.
    data::make(&folder.join("scratch"))?;
    data::make(&folder.join("pre-images"))?;
    Ok((store, data::identity(folder)?))
}

/// What confines the process in which scripts run, as one tells it that is started for the question.
///
/// # Errors
/// [`Error::NoProgram`] if none can be started or it does not answer.
pub async fn script_confinement() -> Result<Confinement, Error> {
    let told = Workers::new(this_program()?).confinement().await;
    told.map_err(|error| Error::NoProgram(error.message))
}

/// The file of this program.
fn this_program() -> Result<PathBuf, Error> {
    // On Linux the running program itself, also where its file has been replaced by another version.
    let running = PathBuf::from("/proc/self/exe");
    if cfg!(target_os = "linux") && running.exists() {
        return Ok(running);
    }
    std::env::current_exe().map_err(|error| Error::NoProgram(error.to_string()))
}

#[cfg(test)]
mod tests;
