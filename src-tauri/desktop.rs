//! What all windows share: the engine once it is open, the sockets of pages, and what is to be told to a window.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rtc_app::{App, Options, Tokens};
use rtc_realtime::{Connection, Scopes, Services};
use rtc_types::{DeviceId, Project, UserId};
use serde::Serialize;
use tauri::ipc::Channel;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::arguments::Start;
use crate::sockets::{IpcSocket, Sockets};

/// How long the token of a page is valid; it gets the next one by itself.
const TOKEN_TIME: Duration = Duration::from_secs(10 * 60);

/// How long a call is left to the windows before it is run without one.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often, and after which time, it is tried again whether the program that used the data folder has ended.
const ENDING_TRIES: u32 = 15;
const ENDING_INTERVAL: Duration = Duration::from_millis(200);

/// How much may wait for a window whose page is not there yet; the oldest is dropped.
const WAITING: usize = 16;

/// What a window is told.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum WindowEvent {
    /// The user wants to work in a folder.
    Opened {
        /// It.
        project: Project,
    },
    /// Something that the user asked for does not work.
    Problem {
        /// What, and what can be done.
        text: String,
    },
}

/// Who is signed in, and the token that proves it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct SignIn {
    token: String,
    user_id: UserId,
    device_id: DeviceId,
}

/// The open engine.
pub(crate) struct Engine {
    app: App,
    tokens: Tokens,
    services: Services,
}

impl Engine {
    /// Opens the data folder, and lets go on what was left in the middle.
    pub(crate) async fn open(options: Options) -> Result<Self, rtc_app::Error> {
        let options = Options {
            patience: PATIENCE,
            asks_trust: true,
            ..options
        };
        let mut tries = 0;
        let app = loop {
            match App::open(options.clone()).await {
                // One that was closed a moment ago is still ending.
                Err(rtc_app::Error::InUse(_)) if tries < ENDING_TRIES => {
                    tries += 1;
                    tokio::time::sleep(ENDING_INTERVAL).await;
                }
                opened => break opened?,
            }
        };
        let tokens = app.tokens().await?;
        let services = app.services(&tokens, &CancellationToken::new());
        tokio::spawn(app.go_on());
        let watched = tokens.clone();
        tokio::spawn(async move { watched.watch().await });
        Ok(Self {
            app,
            tokens,
            services,
        })
    }

    /// Signs a page of this device in.
    pub(crate) fn sign_in(&self) -> SignIn {
        let (user_id, device_id) = (self.app.user(), self.app.device());
        SignIn {
            token: self.tokens.make(user_id, device_id, Scopes::all(), TOKEN_TIME),
            user_id,
            device_id,
        }
    }

    /// The project of a folder of this machine.
    pub(crate) async fn open_project(&self, folder: &Path) -> Result<Project, rtc_app::Error> {
        self.app.open_project(folder).await
    }

    /// Whether a call runs now, which an end of the program would break off.
    fn is_busy(&self) -> bool {
        self.app.running_calls() > 0
    }

    /// Speaks with a page, until the socket ends.
    pub(crate) async fn serve(&self, socket: IpcSocket) {
        Connection::run(socket, self.services.clone()).await;
    }

    /// Ends everything. What goes on goes on at the next start.
    fn shut_down(&self) {
        self.services.shutdown.cancel();
        self.app.shut_down();
    }
}

/// The engine, as far as it is open; an error is in words for the user.
type Opening = Option<Result<Arc<Engine>, String>>;

/// What all windows share.
pub(crate) struct Desktop {
    /// For what pages keep.
    pages: PathBuf,
    opening: watch::Sender<Opening>,
    /// Those of all pages.
    pub(crate) sockets: Sockets,
    windows: Mutex<HashMap<String, Window>>,
    /// Further starts that came before there was a window to show them in; nothing once there is one.
    early: Mutex<Option<Vec<Start>>>,
    /// The user is asked whether a window is to be closed.
    pub(crate) is_asking: AtomicBool,
}

/// How a window is told something.
#[derive(Default)]
struct Window {
    told: Option<Channel<WindowEvent>>,
    waiting: VecDeque<WindowEvent>,
}

impl Desktop {
    /// Before the engine is open. Pages keep in this folder what they keep.
    pub(crate) fn new(pages: PathBuf) -> Self {
        Self {
            pages,
            opening: watch::Sender::default(),
            sockets: Sockets::default(),
            windows: Mutex::default(),
            early: Mutex::new(Some(Vec::new())),
            is_asking: AtomicBool::new(false),
        }
    }

    /// For what pages keep.
    pub(crate) fn pages_folder(&self) -> &Path {
        &self.pages
    }

    /// The engine is open, or cannot be.
    pub(crate) fn opened(&self, engine: Result<Arc<Engine>, String>) {
        self.opening.send_replace(Some(engine));
    }

    /// The engine, once it is open.
    pub(crate) async fn engine(&self) -> Result<Arc<Engine>, String> {
        let mut opening = self.opening.subscribe();
        // The sender is a field of self.
        match opening
            .wait_for(Option::is_some)
            .await
            .map(|opening| opening.clone())
        {
            Ok(Some(engine)) => engine,
            _ => Err("the program ends".to_owned()),
        }
    }

    /// Whether a call runs now, which an end of the program would break off.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(&*self.opening.borrow(), Some(Ok(engine)) if engine.is_busy())
    }

    /// A further start, unless there is no window yet to show it in: then it is kept, as many as may wait.
    pub(crate) fn unless_early(&self, start: Start) -> Option<Start> {
        match &mut *self.early.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(early) => {
                early.truncate(WAITING - 1);
                early.push(start);
                None
            }
            None => Some(start),
        }
    }

    /// There is a window from now on. Gives the starts that came before it.
    pub(crate) fn shows(&self) -> Vec<Start> {
        let early = self.early.lock().unwrap_or_else(PoisonError::into_inner).take();
        early.unwrap_or_default()
    }

    /// Ends everything.
    pub(crate) fn shut_down(&self) {
        if let Some(Ok(engine)) = &*self.opening.borrow() {
            engine.shut_down();
        }
    }

    /// Opens a folder for a window, and tells it.
    pub(crate) async fn open_folder(&self, window: &str, folder: &Path) {
        let opened = match self.engine().await {
            Ok(engine) => engine
                .open_project(folder)
                .await
                .map_err(|error| error.to_string()),
            Err(error) => Err(error),
        };
        let event = match opened {
            Ok(project) => WindowEvent::Opened { project },
            Err(text) => WindowEvent::Problem { text },
        };
        self.tell(window, event);
    }

    /// The page of a window listens from now on.
    pub(crate) fn listen(&self, window: &str, told: Channel<WindowEvent>) {
        let mut windows = self.windows();
        let window = windows.entry(window.to_owned()).or_default();
        for event in window.waiting.drain(..) {
            // A page that is gone has another one behind it, which begins by what is stored.
            let _ = told.send(event);
        }
        window.told = Some(told);
    }

    /// The page of a window begins anew, or is gone.
    pub(crate) fn leave(&self, window: &str) {
        self.sockets.leave(window);
        if let Some(window) = self.windows().get_mut(window) {
            window.told = None;
        }
    }

    /// A window is closed.
    pub(crate) fn closed(&self, window: &str) {
        self.leave(window);
        self.windows().remove(window);
    }

    /// Tells a window something, as soon as its page is there.
    pub(crate) fn tell(&self, window: &str, event: WindowEvent) {
        let mut windows = self.windows();
        let window = windows.entry(window.to_owned()).or_default();
        match &window.told {
            Some(told) => _ = told.send(event),
            None => {
                if window.waiting.len() == WAITING {
                    window.waiting.pop_front();
                }
                window.waiting.push_back(event);
            }
        }
    }

    fn windows(&self) -> MutexGuard<'_, HashMap<String, Window>> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
