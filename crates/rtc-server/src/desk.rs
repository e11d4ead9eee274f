//! Where a command reaches the engine: in its own process, or in one that runs already, over its port. Either way it
//! calls the methods that every client calls, and reads the user's stream.

mod here;
mod link;
mod lists;
mod there;

use std::path::Path;

use anyhow::Result;
use rtc_app::{App, Instance, Models, Options};
use rtc_realtime::Position;
use rtc_types::{ClientId, DeviceId, Mode, Project, ProjectId, RtcId, SessionId, SessionStatus, Update};
use rtc_wire::LiveEvent;
use rtc_wire::rpc::{Call, RpcError, SessionGet, SessionOpen};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::watch;

use crate::args::AppArgs;
use crate::exit::UsageError;
use here::Here;
pub(crate) use there::There;

/// Why nothing came of a call.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The engine did not do it.
    #[error("{}", .0.message)]
    Refused(RpcError),
    /// The answer is larger than one may be.
    #[error("the answer is too large")]
    TooLarge,
    /// The connection to the running engine broke off. What was asked for may have been done.
    #[error("the connection to the running engine broke off")]
    Lost,
    /// It does not come back.
    #[error(
        "the running engine ended, or does not answer any more. What was done so far is kept, and goes on when \
         `rtc-headless serve` is started again on this data folder; `rtc-headless run --continue` looks after it, too"
    )]
    Gone,
}

impl Error {
    /// Whether an error is that the connection broke off.
    pub(crate) fn is_lost(error: &anyhow::Error) -> bool {
        matches!(error.downcast_ref(), Some(Self::Lost))
    }
}

/// What a command wants of the engine.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// The model for new turns.
    pub(crate) model: Option<String>,
    /// How many replies it may give in a new turn.
    pub(crate) max_rounds: Option<u32>,
    /// Others reach it, too.
    pub(crate) shared: bool,
}

/// A message that is to be sent. Sent again, it is the same message.
#[derive(Debug, Clone)]
pub(crate) struct NewMessage {
    pub(crate) client_id: ClientId,
    pub(crate) text: String,
    /// Nothing: a new session.
    pub(crate) session: Option<SessionId>,
    /// The folder of a new session.
    pub(crate) project: Option<ProjectId>,
    /// The mode of a new session; nothing: as it is configured.
    pub(crate) mode: Option<Mode>,
}

/// The engine, as commands reach it.
pub(crate) enum Desk {
    /// In this process.
    Here(Box<Here>),
    /// In another one.
    There(There),
}

impl Desk {
    /// The engine that runs on the data folder, else one in this process, which is then the only one.
    pub(crate) async fn open(app: &AppArgs, wanted: Wanted) -> Result<Self> {
        if let Some(there) = There::find(app, &wanted).await? {
            return Ok(Self::There(there));
        }
        if wanted.shared {
            let told = "--ask wait waits for another client, and no engine runs on this data folder that one could \
                        connect to: start `rtc-headless serve` first, or use --ask prompt";
            return Err(UsageError(told.into()).into());
        }
        let options = Options {
            data: app.data.clone(),
            config: app.config.clone(),
            model: wanted.model.clone(),
            max_rounds: wanted.max_rounds,
            ..Options::default()
        };
        match App::open(options).await {
            Ok(app) => Ok(Self::Here(Box::new(Here::new(app, wanted.model)))),
            Err(rtc_app::Error::InUse(folder)) => {
                let holder = Instance::holder(Some(folder.clone())).await?;
                let who = holder.map_or_else(|| "another process".to_owned(), |id| format!("process {id}"));
                Err(UsageError(format!(
                    "{who} is using the data folder {}, and has no port over which a command could speak to it; wait for \
                     its end or stop it, or name another folder with --data",
                    folder.display()
                ))
                .into())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Calls a method.
    pub(crate) async fn call<C: Call>(&self, request: C) -> Result<C::Result> {
        match self {
            Self::Here(here) => here.call(request).await,
            Self::There(there) => there.call(request).await,
        }
    }

    /// Sends a message; its session.
    pub(crate) async fn send(&self, message: NewMessage) -> Result<SessionId> {
        match self {
            Self::Here(here) => here.send(message).await,
            Self::There(there) => there.send(message).await,
        }
    }

    /// The project of a folder of this machine.
    pub(crate) async fn open_project(&self, root: &Path) -> Result<Project> {
        match self {
            Self::Here(here) => Ok(here.app().open_project(root).await?),
            Self::There(there) => there.open_project(root).await,
        }
    }

    /// Wakes a session: what goes on in it and was left goes on.
    pub(crate) async fn wake(&self, session_id: SessionId) -> Result<()> {
        let session = self.call(SessionGet { session_id }).await?.item;
        // Whoever only wants to see how it ended does not open it again.
        if session.status != SessionStatus::Closed {
            self.call(SessionOpen { session_id }).await?;
        }
        Ok(())
    }

    /// Where the user's stream stands; changes as updates are committed. Closed when the engine cannot be reached any
    /// more.
    pub(crate) fn position(&self) -> watch::Receiver<Position> {
        match self {
            Self::Here(here) => here.app().engine().position(),
            Self::There(there) => there.link().position(),
        }
    }

    /// Some of the updates after a position, which moves behind them; it stays where there are no more.
    pub(crate) async fn updates(&self, after: &mut Position) -> Result<Vec<Update>> {
        match self {
            Self::Here(here) => here.updates(after).await,
            Self::There(there) => Ok(there.link().updates(after).await?),
        }
    }

    /// What is told at once and kept nowhere.
    pub(crate) fn live(&self) -> Live {
        match self {
            Self::Here(here) => Live::Here(here.app().engine().live()),
            Self::There(there) => Live::There(there.link().live()),
        }
    }

    /// This device.
    pub(crate) fn device(&self) -> DeviceId {
        match self {
            Self::Here(here) => here.app().device(),
            Self::There(there) => there.link().device(),
        }
    }

    /// Whether other clients reach this engine.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::There(_))
    }

    /// What to tell a user who has a key but has named no model. A running engine's is not this user's to choose.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Here(here) => Models::of(here.app().config()).hint(here.model()),
            Self::There(_) => None,
        }
    }

    /// Looks for a running engine whose connection broke off, for a bounded time.
    pub(crate) async fn come_back(&self) -> Result<()> {
        match self {
            Self::Here(_) => Err(Error::Gone.into()),
            Self::There(there) => there.come_back().await,
        }
    }

    /// Ends what is in this process. What goes on goes on at the next start.
    pub(crate) fn close(&self) {
        if let Self::Here(here) = self {
            here.app().shut_down();
        }
    }
}

/// What is told at once and kept nowhere, as it comes.
pub(crate) enum Live {
    Here(broadcast::Receiver<rtc_engine::Live>),
    There(broadcast::Receiver<LiveEvent>),
}

impl Live {
    /// The next; an error if some were missed, or there are no more.
    pub(crate) async fn next(&mut self) -> Result<LiveEvent, RecvError> {
        match self {
            Self::Here(live) => live.recv().await.map(here::told),
            Self::There(live) => live.recv().await,
        }
    }
}

/// What a running call tells the user, in its own words.
pub(crate) fn told(live: &LiveEvent) -> Option<(RtcId, &str)> {
    match live {
        LiveEvent::Progress(progress) => match &progress.progress {
            rtc_types::Progress::Text { text } => Some((progress.rtc_id, text)),
            rtc_types::Progress::Custom { .. } => None,
        },
        LiveEvent::Delta(_) | LiveEvent::Trouble(_) | LiveEvent::File(_) | LiveEvent::Update(_) => None,
    }
}
