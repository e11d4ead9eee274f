//! The worker processes: one is kept warm.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use rtc_hub::{Child, ChildCommand, Confinement, Peer, RemoteCall, spawn};
use rtc_tool::{CallContext, Registry, ToolError, ToolStreamItem};
use rtc_types::{RtcId, SessionId};
use serde_json::json;
use tokio::io::AsyncReadExt as _;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::worker::{CONFINEMENT, READY, WORKER_COMMAND};

/// How long a worker may take, after a script, until it is ready for the next one: to let go of what the script left, and
/// to make a new world. One that takes longer is ended.
const READY_AGAIN_TIME: Duration = Duration::from_secs(1);

/// How long a new worker may take to answer.
const ANSWER_TIME: Duration = Duration::from_secs(10);

/// How much of what a worker says of itself is logged at a time, in bytes.
const LOG_BYTES: usize = 4096;

/// What a worker is told by variables. The engine would keep the compiled form of all that it runs, each script included,
/// in files below the user's home; and it would bring WebAssembly into each world, which no script reaches. The allocator
/// would take a gigabyte in advance, which is as much as a worker may have.
const SWITCHES: [(&str, &str); 3] = [
    ("V82JSC_NO_BC_CACHE", "1"),
    ("QJS_NO_WASM", "1"),
    ("MIMALLOC_ARENA_EAGER_COMMIT", "0"),
];

/// Starts workers and keeps one that has nothing to do. Cheap to clone.
#[derive(Clone)]
pub struct Workers {
    inner: Arc<Inner>,
}

struct Inner {
    command: ChildCommand,
    idle: Mutex<Option<Worker>>,
    /// Held while a worker is looked for or started, or makes itself ready again, so that a call takes that one.
    starting: Arc<tokio::sync::Mutex<()>>,
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
            environment: SWITCHES.map(|(name, value)| (name.into(), value.into())).to_vec(),
        };
        Self {
            inner: Arc::new(Inner {
                command,
                idle: Mutex::default(),
                starting: Arc::default(),
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
    pub async fn get_ready(&self) {
        // One that is being started, or becomes ready again, will do.
        let Ok(_one) = self.inner.starting.try_lock() else {
            return;
        };
        let is_there = self.idle().as_ref().is_some_and(|idle| !idle.peer.is_closed());
        if !is_there && let Ok(worker) = self.start().await {
            self.keep(worker);
        }
    }

    /// Gives a worker back whose script, the call of `context`, has ended by itself. It is kept once it is ready again,
    /// and ended if that takes too long; nobody waits for it but the next script.
    pub(crate) fn give_back(&self, worker: Worker, context: &CallContext) {
        let ready = worker.peer.call(RemoteCall {
            call_id: context.rtc,
            session_id: context.session,
            attempt: context.attempt,
            tool: READY.to_owned(),
            arguments: json!({}),
            deadline: None,
            cancel: CancellationToken::new(),
            host: None,
        });
        // If another worker is being started meanwhile, the next script has that one.
        let first = self.inner.starting.clone().try_lock_owned();
        let workers = self.clone();
        tokio::spawn(async move {
            let _first = first;
            let answers = ready.filter_map(async |item| match item {
                ToolStreamItem::Terminal(outcome) => Some(outcome),
                ToolStreamItem::Progress(_) => None,
            });
            let mut answers = std::pin::pin!(answers);
            match tokio::time::timeout(READY_AGAIN_TIME, answers.next()).await {
                Ok(Some(Ok(_))) => workers.keep(worker),
                _ => tracing::debug!("a worker did not become ready again, and is ended"),
            }
        });
    }

    fn keep(&self, worker: Worker) {
        if !worker.peer.is_closed() {
            let mut idle = self.idle();
            // One that has died meanwhile is no reason to drop one that lives.
            if idle.as_ref().is_none_or(|idle| idle.peer.is_closed()) {
                *idle = Some(worker);
            }
        }
    }

    /// What confines a worker, as one tells it that was started for the question.
    ///
    /// # Errors
    /// If none can be started or it does not answer in time.
    pub async fn confinement(&self) -> Result<Confinement, ToolError> {
        let broken = || ToolError::execution("a worker for scripts did not tell what confines it");
        let worker = self.start().await?;
        let answers = worker.peer.call(RemoteCall {
            call_id: RtcId::new(Uuid::nil()),
            session_id: SessionId::new(Uuid::nil()),
            attempt: 1,
            tool: CONFINEMENT.to_owned(),
            arguments: json!({}),
            deadline: None,
            cancel: CancellationToken::new(),
            host: None,
        });
        let answers = answers.filter_map(async |item| match item {
            ToolStreamItem::Terminal(outcome) => Some(outcome),
            ToolStreamItem::Progress(_) => None,
        });
        let mut answers = std::pin::pin!(answers);
        let answer = tokio::time::timeout(ANSWER_TIME, answers.next()).await;
        let told = answer.ok().flatten().ok_or_else(broken)?;
        serde_json::from_value(told?).map_err(|_| broken())
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
            Some(status) => format!("{status}{}", likely_cause(status)),
            None => "it is not known how".to_owned(),
        }
    }
}

/// Why a process most likely ended as it did, where a script is the reason.
fn likely_cause(status: ExitStatus) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;

        use rustix::process::Signal;
        let signals = [Signal::SEGV, Signal::BUS, Signal::ABORT, Signal::KILL];
        if signals
            .iter()
            .any(|signal| Some(signal.as_raw()) == status.signal())
        {
            return "; most likely the script took too much memory: handle less at a time, and await calls before \
                    making more";
        }
    }
    let _ = status;
    ""
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::sync::Arc;

    use async_trait::async_trait;
    use rtc_tool::{Access, Extensions, NoTurns, Permit, Seen};
    use rtc_types::{RtcId, SessionId};
    use serde_json::Value;
    use tokio::time::Instant;

    use super::*;

    struct Nothing;

    impl Permit for Nothing {
        fn check(&self, _: Access, _: &str) -> Result<(), ToolError> {
            Ok(())
        }
    }

    #[async_trait]
    impl Seen for Nothing {
        async fn get(&self, _: &str) -> Result<Option<Value>, ToolError> {
            Ok(None)
        }

        fn note(&self, _: &str, _: Value) {}
    }

    /// It runs and says nothing, as one does that still lets go of what its script left.
    #[tokio::test(start_paused = true)]
    async fn a_worker_that_is_not_ready_again_in_time_is_ended() {
        let context = CallContext {
            session: SessionId::new(uuid::Uuid::nil()),
            rtc: RtcId::new(uuid::Uuid::nil()),
            attempt: 1,
            cancel: CancellationToken::new(),
            permit: Arc::new(Nothing),
            seen: Arc::new(Nothing),
            turns: Arc::new(NoTurns),
            extensions: Extensions::default(),
        };
        let workers = Workers {
            inner: Arc::new(Inner {
                command: ChildCommand {
                    program: "/bin/sleep".into(),
                    arguments: vec!["600".into()],
                    environment: Vec::new(),
                },
                idle: Mutex::default(),
                starting: Arc::default(),
            }),
        };
        let first = workers.take().await.unwrap();
        let (id, peer) = (first.child.id, first.peer.clone());
        let begun = Instant::now();
        workers.give_back(first, &context);
        assert_eq!(
            begun.elapsed(),
            Duration::ZERO,
            "whoever gives it back does not wait"
        );
        let next = workers.take().await.unwrap();
        assert_eq!(begun.elapsed(), READY_AGAIN_TIME);
        assert_ne!(next.child.id, id);
        peer.closed().await;
        // A new one is kept as it is: it makes itself ready while nobody waits.
        workers.keep(next);
        workers.take().await.unwrap();
        assert_eq!(begun.elapsed(), READY_AGAIN_TIME);
    }
}
