//! The worker processes: one is kept warm.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rtc_hub::{Child, ChildCommand, Peer, spawn};
use rtc_tool::{Registry, ToolError};
use tokio::io::AsyncReadExt as _;

use crate::worker::WORKER_COMMAND;

/// How much of what a worker says of itself is logged at a time, in bytes.
const LOG_BYTES: usize = 4096;

/// What the engine is told by variables. It would keep the compiled form of all that it runs, each script included, in
/// files below the user's home; and it would bring WebAssembly into each world, which no script reaches.
const ENGINE_SWITCHES: [(&str, &str); 2] = [("V82JSC_NO_BC_CACHE", "1"), ("QJS_NO_WASM", "1")];

/// Starts workers and keeps one that has nothing to do. Cheap to clone.
#[derive(Clone)]
pub struct Workers {
    inner: Arc<Inner>,
}

struct Inner {
    command: ChildCommand,
    idle: Mutex<Option<Worker>>,
    /// Held while a worker is looked for or started, so that a call takes the one that is being started for it.
    starting: tokio::sync::Mutex<()>,
}

/// A worker that runs nothing. Dropping it ends its process.
pub(crate) struct Worker {
    pub(crate) peer: Peer,
    child: Child,
}

impl Workers {
    /// Workers that are this program, run with [`WORKER_COMMAND`].
    pub fn new(program: PathBuf) -> Self {
        let command = ChildCommand {
            program,
            arguments: vec![OsString::from(WORKER_COMMAND)],
            environment: ENGINE_SWITCHES
                .map(|(name, value)| (name.into(), value.into()))
                .to_vec(),
        };
        Self {
            inner: Arc::new(Inner {
                command,
                idle: Mutex::default(),
                starting: tokio::sync::Mutex::default(),
            }),
        }
    }

    /// The warm worker, or a new one.
    pub(crate) async fn take(&self) -> Result<Worker, ToolError> {
        let _one = self.inner.starting.lock().await;
        let idle = self.idle().take();
        match idle.filter(|worker| !worker.peer.is_closed()) {
            Some(worker) => Ok(worker),
            None => self.start().await,
        }
    }

    /// Starts a worker, if there is no warm one, for a script that will probably run. It makes itself ready on its own,
    /// during all that comes before the script: above all the user's Yes. If that fails, [`Workers::take`] tells why.
    pub(crate) async fn get_ready(&self) {
        let _one = self.inner.starting.lock().await;
        let is_there = self.idle().as_ref().is_some_and(|idle| !idle.peer.is_closed());
        if !is_there && let Ok(worker) = self.start().await {
            self.give_back(worker);
        }
    }

    /// Gives a worker back whose script has ended.
    pub(crate) fn give_back(&self, worker: Worker) {
        if !worker.peer.is_closed() {
            let mut idle = self.idle();
            // One that has died meanwhile is no reason to drop one that lives.
            if idle.as_ref().is_none_or(|idle| idle.peer.is_closed()) {
                *idle = Some(worker);
            }
        }
    }

    async fn start(&self) -> Result<Worker, ToolError> {
        let failed = |error: rtc_hub::Error| ToolError::execution(format!("no script can run: {error}"));
        let mut child = spawn(self.inner.command.clone()).await.map_err(failed)?;
        let (Some(reader), Some(writer)) = (child.stdout.take(), child.stdin.take()) else {
            return Err(failed(rtc_hub::Error::Closed));
        };
        if let Some(mut stderr) = child.stderr.take() {
            let id = child.id;
            tokio::spawn(async move {
                let mut bytes = vec![0; LOG_BYTES];
                while let Ok(count @ 1..) = stderr.read(&mut bytes).await {
                    let text = String::from_utf8_lossy(&bytes[..count]);
                    tracing::debug!(worker = id, "{}", text.trim_end());
                }
            });
        }
        Ok(Worker {
            peer: Peer::start(reader, writer, Registry::default()),
            child,
        })
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Option<Worker>> {
        self.inner.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Worker {
    /// Kills the worker, and says how it had ended if it had by itself.
    pub(crate) async fn end(self) -> String {
        self.peer.close();
        match self.child.end().await {
            Some(status) => status.to_string(),
            None => "it is not known how".to_owned(),
        }
    }
}
