//! The whole, put together.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rtc_engine::{Command, Engine, Outcome, StoredRtc, TodoWrite, UserCommand};
use rtc_executor::{Executor, Folder};
use rtc_model::ModelId;
use rtc_store::{SledOptions, SledStore, Store};
use rtc_tool::{Kind, Registry, ToolError, ToolHandle, handle};
use rtc_types::{Code, DeviceId, Project, RtcId, SessionId, UserId};
use serde_json::Value;

use crate::data::Identity;
use crate::host::AppHost;
use crate::port::EnginePort;
use crate::{Config, Error, SystemClock, data, models};

/// What an app is opened with.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The data folder; the platform's by default.
    pub data: Option<PathBuf>,
    /// The configuration file; none by default.
    pub config: Option<PathBuf>,
    /// The model for new turns; the configuration's by default.
    pub model: Option<String>,
}

/// An open data folder with its engine and executor.
pub struct App {
    engine: Engine,
    executor: Executor,
    tools: Registry,
    config: Config,
    user: UserId,
    device: DeviceId,
}

impl App {
    /// Opens the data folder, which is then this process's alone. Fails before it has changed anything.
    pub async fn open(options: Options) -> Result<Self, Error> {
        let config = Config::load(options.config.as_deref())?;
        let model = models::choose(&config, options.model.as_deref())?;
        let folder = data::folder(options.data)?;
        let opening = {
            let folder = folder.clone();
            tokio::task::spawn_blocking(move || -> Result<_, Error> {
                data::make(&folder)?;
                let store = SledStore::open(&folder.join("store"), &SledOptions::default());
                let store = store.map_err(|error| match error {
                    // The user knows the folder that was named, not the one within.
                    rtc_store::Error::Busy { .. } => Error::InUse(folder.clone()),
                    other => other.into(),
                })?;
                Ok((store, data::identity(&folder)?))
            })
        };
        let (store, identity) = opening.await.map_err(|error| Error::Data {
            path: folder.clone(),
            reason: error.to_string(),
        })??;
        Self::assemble(Arc::new(store), identity, &folder, config, model).await
    }

    /// Puts everything together over an open store.
    async fn assemble(
        store: Arc<dyn Store>,
        identity: Identity,
        folder: &Path,
        config: Config,
        model: ModelId,
    ) -> Result<Self, Error> {
        let (scratch, pre_images) = (folder.join("scratch"), folder.join("pre-images"));
        data::make(&scratch)?;
        // What it keeps is the content of files of the user: for its owner only.
        data::make(&pre_images)?;
        let port = EnginePort::default();
        let mut tools = Registry::default();
        for tool in rtc_tools::tools() {
            tools.register(tool);
        }
        let executor = Executor::new(
            Arc::new(port.clone()),
            tools.clone(),
            Folder { scratch, pre_images },
        )?;
        tools.register(handle(TodoWrite));
        let clock = Arc::new(SystemClock::new());
        let host = Arc::new(AppHost {
            clock: clock.clone(),
            tools: tools.clone(),
            model,
            engine: port.0.clone(),
            executor: executor.clone(),
        });
        let engine = Engine::open(store, identity.user_id, clock, host).await?;
        // Set once, here: nothing before this line could have asked for it.
        let _ = port.0.set(engine.clone());
        Ok(Self {
            engine,
            executor,
            tools,
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

    /// This device.
    pub fn device(&self) -> DeviceId {
        self.device
    }

    /// The project of a folder of this machine. The folder must exist and be readable.
    pub async fn open_project(&self, root: &Path) -> Result<Project, Error> {
        let named = root.to_owned();
        let real = tokio::task::spawn_blocking(move || -> Result<PathBuf, Error> {
            rtc_fs::Project::open(&named)?;
            std::fs::canonicalize(&named).map_err(|error| Error::Data {
                path: named.clone(),
                reason: error.to_string(),
            })
        });
        let real = real.await.map_err(|error| Error::Data {
            path: root.to_owned(),
            reason: error.to_string(),
        })??;
        let root = real
            .to_str()
            .ok_or_else(|| Error::NotUnicode(real.clone()))?
            .to_owned();
        Ok(self
            .engine
            .tell_user(UserCommand::OpenProject {
                device: self.device,
                root,
            })
            .await?)
    }

    /// Hands in what the user answered to a call of a tool that the user answers. A wrong answer changes nothing.
    pub async fn answer(
        &self,
        session: SessionId,
        rtc: RtcId,
        answer: Value,
    ) -> Result<(), rtc_engine::Error> {
        let (stored, tool) = self.question(rtc).await?;
        let result =
            tool.answer(&stored.entity.parameters, answer)
                .map_err(|error| rtc_engine::Error::Refused {
                    code: Code::RtcInvalidResult,
                    message: error.to_string(),
                })?;
        self.finish(session, &stored, Ok(result)).await
    }

    /// The user, or nobody, answers such a call with nothing; the model is told why.
    pub async fn dismiss(&self, session: SessionId, rtc: RtcId, why: &str) -> Result<(), rtc_engine::Error> {
        let (stored, _) = self.question(rtc).await?;
        self.finish(session, &stored, Err(ToolError::denied(why))).await
    }

    async fn question(&self, rtc: RtcId) -> Result<(StoredRtc, &Arc<dyn ToolHandle>), rtc_engine::Error> {
        let not_found = || rtc_engine::Error::Refused {
            code: Code::RtcNotFound,
            message: format!("there is no call {rtc} that the user answers"),
        };
        let stored = self.engine.rtc(rtc).await?.ok_or_else(not_found)?;
        let tool = self
            .tools
            .get(&stored.entity.tool_name)
            .filter(|tool| tool.kind() == Kind::User);
        Ok((stored, tool.ok_or_else(not_found)?))
    }

    async fn finish(
        &self,
        session: SessionId,
        stored: &StoredRtc,
        result: Result<Value, ToolError>,
    ) -> Result<(), rtc_engine::Error> {
        let outcome = Outcome {
            result,
            seen: Vec::new(),
        };
        let command = Command::Finish {
            rtc: stored.entity.id,
            attempt: stored.entity.attempt,
            outcome,
        };
        self.engine.tell(session, command).await.map(|_| ())
    }

    /// Ends everything. What goes on goes on at the next start.
    pub fn shut_down(&self) {
        self.executor.shut_down();
        self.engine.shut_down();
    }
}

#[cfg(test)]
mod tests;
