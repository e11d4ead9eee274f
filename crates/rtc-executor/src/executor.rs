//! The native executor: a worker a session, one call at a time, each call run once.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rtc_tool::{CallContext, NoTurns, Policy, Registry, ToolHandle};
use rtc_types::{Code, Mode, Preview, PreviewKind, ProjectId, RtcId, SessionId};
use serde_json::Value;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{OnceCell, mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::call::Ran;
use crate::gate::Gate;
use crate::permit::PathPermit;
use crate::seen::SeenByCall;
use crate::{Places, Port, PortError, Terms};

/// A worker that is told to look while it works looks once more, however often it is told.
const WAKE_QUEUE: usize = 1;
/// How long a worker waits at most before it offers something again that the engine could not take.
const RETRY_MOST: Duration = Duration::from_secs(30);

/// Runs the calls of this device. Cheap to clone.
#[derive(Clone)]
pub struct Executor {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) port: Arc<dyn Port>,
    pub(crate) tools: Registry,
    pub(crate) places: Arc<dyn Places>,
    pub(crate) gate: Arc<Gate>,
    /// In which projects it was looked at what an earlier process began there.
    pub(crate) looked_back: Mutex<HashMap<Option<ProjectId>, Arc<OnceCell<()>>>>,
    shutdown: CancellationToken,
    workers: Mutex<HashMap<SessionId, mpsc::Sender<()>>>,
    running: Mutex<HashMap<RtcId, Running>>,
    /// How long a worker leaves a call to others.
    patience: Duration,
    /// Changes when a run begins.
    begun: watch::Sender<()>,
}

#[derive(Clone)]
struct Running {
    cancel: CancellationToken,
    ended: watch::Receiver<Option<Result<Ran, PortError>>>,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Executor {
    /// An executor with these tools, for calls in these places. For as long as `patience` its workers leave each call to
    /// whoever runs it by its id ([`run`](Self::run)): a window that follows the session.
    pub fn new(port: Arc<dyn Port>, tools: Registry, places: Arc<dyn Places>, patience: Duration) -> Self {
        Self {
            inner: Arc::new(Inner {
                port,
                tools,
                places,
                gate: Arc::default(),
                looked_back: Mutex::default(),
                shutdown: CancellationToken::new(),
                workers: Mutex::default(),
                running: Mutex::default(),
                patience,
                begun: watch::Sender::default(),
            }),
        }
    }

    /// Lets the session's worker look for calls that can run. Does not wait.
    pub fn wake(&self, session: SessionId) {
        let mut workers = lock(&self.inner.workers);
        if let Some(worker) = workers.get(&session)
            && !matches!(worker.try_send(()), Err(TrySendError::Closed(())))
        {
            // Full is as good: it is going to look anyway.
            return;
        }
        let (sender, receiver) = mpsc::channel(WAKE_QUEUE);
        let _ = sender.try_send(());
        workers.insert(session, sender);
        tokio::spawn(self.clone().work(session, receiver));
    }

    /// What an approval shows of a call. It is for the user's eyes, so it may read what a call may not.
    pub async fn preview(
        &self,
        session: SessionId,
        root: Option<PathBuf>,
        tool: &Arc<dyn ToolHandle>,
        args: &Value,
    ) -> Option<Preview> {
        let text = |text| Preview {
            kind: PreviewKind::Text,
            text,
            paths: Vec::new(),
            program: None,
        };
        let extensions = match self.inner.places.of(root).await {
            Ok(extensions) => extensions,
            Err(error) => return Some(text(error.to_string())),
        };
        let policy = Policy {
            mode: Mode::Bypass,
            ..Policy::default()
        };
        let terms = Terms {
            policy,
            consent: None,
        };
        let context = CallContext {
            session,
            rtc: RtcId::new(uuid::Uuid::nil()),
            attempt: 0,
            cancel: self.inner.shutdown.child_token(),
            permit: Arc::new(PathPermit::new(tool.describe().name.clone(), tool.kind(), terms)),
            seen: Arc::new(SeenByCall::new(self.inner.port.clone(), session)),
            turns: Arc::new(NoTurns),
            extensions,
        };
        match tool.preview(&context, args).await {
            Ok(preview) => preview,
            Err(error) => Some(text(format!("What it would change cannot be shown: {error}"))),
        }
    }

    /// How many calls run now.
    pub fn running(&self) -> usize {
        lock(&self.inner.running).len()
    }

    /// Tells a running call to end. Does not wait.
    pub fn cancel(&self, rtc: RtcId) {
        if let Some(running) = lock(&self.inner.running).get(&rtc) {
            running.cancel.cancel();
        }
    }

    /// Ends the workers and tells every running call to end.
    pub fn shut_down(&self) {
        self.inner.shutdown.cancel();
    }

    async fn work(self, session: SessionId, mut wakes: mpsc::Receiver<()>) {
        let shutdown = self.inner.shutdown.clone();
        let work = async {
            while self.is_woken(session, &mut wakes) {
                self.drain(session).await;
            }
        };
        tokio::select! {
            biased;
            () = shutdown.cancelled() => {}
            () = work => {}
        }
    }

    /// Whether the session's worker was told to look. If not it is none any more, and the next one to tell begins another.
    fn is_woken(&self, session: SessionId, wakes: &mut mpsc::Receiver<()>) -> bool {
        let mut workers = lock(&self.inner.workers);
        let is_woken = wakes.try_recv().is_ok();
        if !is_woken {
            workers.remove(&session);
        }
        is_woken
    }

    async fn drain(&self, session: SessionId) {
        let mut wait = Duration::from_secs(1);
        loop {
            let ran = match self.inner.port.next(session).await {
                Ok(Some(rtc)) => match self.is_left(session, rtc).await {
                    Ok(true) => self.run(rtc).await,
                    Ok(false) => continue,
                    Err(error) => Err(error),
                },
                Ok(None) => return,
                Err(error) => Err(error),
            };
            match ran {
                Ok(Ran::Ended) => wait = Duration::from_secs(1),
                Ok(Ran::Waits) => return,
                Err(PortError::Never(reason)) => {
                    self.inner.port.trouble(session, Code::Internal, &reason);
                    return;
                }
                Err(PortError::Later { code, reason }) => {
                    self.inner.port.trouble(session, code, &reason);
                    tokio::time::sleep(wait).await;
                    wait = (wait * 2).min(RETRY_MOST);
                }
            }
        }
    }

    /// Whether a call is still there to run, or to join, after others had time to take it.
    async fn is_left(&self, session: SessionId, rtc: RtcId) -> Result<bool, PortError> {
        let mut begun = self.inner.begun.subscribe();
        let over = tokio::time::sleep(self.inner.patience);
        tokio::pin!(over);
        loop {
            if self.inner.patience.is_zero() || lock(&self.inner.running).contains_key(&rtc) {
                return Ok(true);
            }
            tokio::select! {
                () = &mut over => return Ok(true),
                _ = begun.changed() => {}
            }
            if self.inner.port.next(session).await? != Some(rtc) {
                return Ok(false);
            }
        }
    }

    /// Runs a call by its id: what was approved is what runs. Single-flight: while it runs, everybody else who asks for
    /// it waits for the same run. The run goes on when nobody waits for it any more.
    pub async fn run(&self, rtc: RtcId) -> Result<Ran, PortError> {
        let mut ended = self.begin(rtc);
        // The sender is dropped at the end of its run, whatever happens there.
        let ended = ended.wait_for(Option::is_some).await;
        let ended = ended.ok().and_then(|ended| (*ended).clone());
        ended.unwrap_or_else(|| Err(PortError::Never("the run of the call broke down".into())))
    }

    /// Begins a run of its own, if none is under way. Gives how it ends.
    fn begin(&self, rtc: RtcId) -> watch::Receiver<Option<Result<Ran, PortError>>> {
        let mut running = lock(&self.inner.running);
        if let Some(other) = running.get(&rtc) {
            return other.ended.clone();
        }
        let (mine, ended) = watch::channel(None);
        let cancel = self.inner.shutdown.child_token();
        running.insert(
            rtc,
            Running {
                cancel: cancel.clone(),
                ended: ended.clone(),
            },
        );
        drop(running);
        let run = Run {
            executor: self.clone(),
            rtc,
            ended: mine,
        };
        let shutdown = self.inner.shutdown.clone();
        tokio::spawn(async move {
            tokio::select! {
                biased;
                () = shutdown.cancelled() => {}
                result = run.to_end(cancel) => drop(run.ended.send_replace(Some(result))),
            }
        });
        self.inner.begun.send_replace(());
        ended
    }
}

/// A run of a call.
struct Run {
    executor: Executor,
    rtc: RtcId,
    ended: watch::Sender<Option<Result<Ran, PortError>>>,
}

impl Run {
    async fn to_end(&self, cancel: CancellationToken) -> Result<Ran, PortError> {
        let inner = &self.executor.inner;
        let Some(call) = inner.port.load(self.rtc).await? else {
            return Ok(Ran::Waits);
        };
        let Some((call, turn)) = self.executor.in_turn(call, &cancel).await? else {
            return Ok(Ran::Waits);
        };
        let extensions = inner.places.of(call.root.clone()).await;
        crate::call::run(inner, call, turn, cancel, extensions).await
    }
}

/// Takes the call off the list of running ones, also when its run is dropped.
impl Drop for Run {
    fn drop(&mut self) {
        lock(&self.executor.inner.running).remove(&self.rtc);
    }
}

#[cfg(test)]
mod tests;
