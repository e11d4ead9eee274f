//! One run of a script in a worker: its console, its end, and that it really ends.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use rtc_fs::PreImageFolder;
use rtc_hub::{HostCalls, RemoteCall};
use rtc_tool::{CallContext, Progress, ProgressSender, ToolError, ToolStreamItem};
use rtc_types::{RtcId, SessionId};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::engine::{Entry, Failure};
use crate::host::ScriptFiles;
use crate::limits::{Limit, MAX_CONSOLE_BYTES, MAX_CONSOLE_ENTRIES};
use crate::told;
use crate::worker::{BEGUN, CONSOLE, ENGINE, EngineArgs, EngineOutput};
use crate::workers::Workers;

/// How long a script that was told to end may take to do so, before its worker is killed.
pub const STOP_GRACE: Duration = Duration::from_millis(10);

/// How long a worker may take until it is ready for a script.
const READY_TIME: Duration = Duration::from_secs(60);

/// What to run.
pub(crate) struct Order {
    pub(crate) code: String,
    pub(crate) params: Value,
    pub(crate) only_check: bool,
    pub(crate) timeout: Duration,
    /// [`STOP_GRACE`], except in tests on slow machines.
    pub(crate) grace: Duration,
}

/// How it went.
pub(crate) struct Ran {
    pub(crate) console: Vec<Entry>,
    pub(crate) ended: Result<Option<Value>, Failure>,
    /// The files and folders that it changed.
    pub(crate) changed: Vec<String>,
    pub(crate) duration: Duration,
}

/// Runs a script. `Err` if no worker could be had, and so nothing was run.
pub(crate) async fn run(
    workers: &Workers,
    context: &CallContext,
    order: Order,
    progress: Option<&ProgressSender>,
) -> Result<Ran, ToolError> {
    let worker = workers.take().await?;
    let mut began = Instant::now();
    let files = Arc::new(ScriptFiles::new(context));
    let told_to_end = CancellationToken::new();
    let arguments = EngineArgs {
        code: order.code,
        params: order.params,
        only_check: order.only_check,
        timeout_ms: u64::try_from(order.timeout.as_millis()).unwrap_or(u64::MAX),
    };
    let mut stream = worker.peer.call(RemoteCall {
        call_id: context.rtc,
        session_id: context.session,
        attempt: context.attempt,
        tool: ENGINE.to_owned(),
        arguments: serde_json::to_value(arguments).unwrap_or_default(),
        // The engine's own, from when the script begins.
        deadline: None,
        cancel: told_to_end.clone(),
        // What is only read has nothing to ask for.
        host: (!order.only_check).then(|| files.clone() as Arc<dyn HostCalls>),
    });
    let mut console = Console::default();
    // Only a script that can have an effect has a mark, whose evidence this is.
    let printed = Printed::of(context).filter(|_| progress.is_some());
    if let Some(printed) = &printed {
        printed.begin().await;
    }
    let mut limit = None;
    let mut is_begun = false;
    // First the time to get ready, then the time that the script has, then the time that it has to end.
    let mut until = began + READY_TIME;
    let ended = loop {
        tokio::select! {
            biased;
            () = context.cancel.cancelled(), if limit.is_none() => {
                limit = Some(Limit::Stopped);
                until = Instant::now() + order.grace;
                files.end();
                told_to_end.cancel();
            }
            () = tokio::time::sleep_until(until) => {
                if limit.is_some() || !is_begun {
                    break None;
                }
                // The worker knows its time, and is ending the script by itself.
                limit = Some(Limit::Time);
                until += order.grace;
                files.end();
            }
            item = stream.next() => match item {
                Some(ToolStreamItem::Progress(Progress::Custom { subkind, .. })) if subkind == BEGUN => {
                    if !is_begun && limit.is_none() {
                        began = Instant::now();
                        until = began + order.timeout;
                    }
                    is_begun = true;
                }
                Some(ToolStreamItem::Progress(item)) => {
                    if let Some(entry) = console.take(item)
                        && let Some(progress) = progress
                    {
                        if let Some(printed) = &printed {
                            printed.add(entry).await;
                        }
                        progress.send(Progress::Text { text: entry.text.clone() }).await;
                    }
                }
                Some(ToolStreamItem::Terminal(outcome)) => break Some(outcome),
                None => break None,
            },
        }
    };
    drop(stream);
    let duration = began.elapsed();
    files.end();
    let ended = match ended {
        // It did not end in time: its process does.
        None => {
            worker.end().await;
            Err(console.cut_off(
                limit,
                "no worker was ready for the script, so it did not run".to_owned(),
            ))
        }
        Some(_) if worker.peer.is_closed() => {
            let status = worker.end().await;
            Err(console.cut_off(limit, format!("the process of the script ended ({status})")))
        }
        Some(outcome) => match outcome_of(outcome) {
            Ok(ended) => {
                // One that was ended may have left more than can be let go of soon: its process ends, when the worker
                // is dropped.
                let is_whole = |failure: &Failure| matches!(failure.limit, None | Some(Limit::Result));
                if ended.as_ref().err().is_none_or(is_whole) {
                    workers.give_back(worker, context);
                }
                ended
            }
            // The engine itself did not say that the script has ended, so that it may still run there.
            Err(error) => {
                worker.end().await;
                Err(console.cut_off(limit, error.message))
            }
        },
    };
    // Only now: the script is over by all means, while a change under way still comes to its end.
    let changed = files.changed().await;
    Ok(Ran {
        console: console.entries,
        ended,
        changed,
        duration,
    })
}

/// What the engine says of the end of a script; `Err` if it is not the engine that says it.
fn outcome_of(outcome: Result<Value, ToolError>) -> Result<Result<Option<Value>, Failure>, ToolError> {
    match outcome {
        Ok(value) => match EngineOutput::deserialize(value) {
            Ok(output) => Ok(Ok(output.result)),
            Err(error) => Err(ToolError::execution(format!(
                "the result cannot be read: {error}"
            ))),
        },
        Err(error) => match error.details.as_ref().map(Failure::deserialize) {
            Some(Ok(failure)) => Ok(Err(failure)),
            _ => Err(error),
        },
    }
}

/// Keeps what a script prints for the case that this process dies. What cannot be kept is not: it is evidence only.
struct Printed {
    folder: Arc<PreImageFolder>,
    session: SessionId,
    rtc: RtcId,
    attempt: u32,
}

impl Printed {
    fn of(context: &CallContext) -> Option<Self> {
        let folder = context.extensions.get::<PreImageFolder>()?;
        Some(Self {
            folder,
            session: context.session,
            rtc: context.rtc,
            attempt: context.attempt,
        })
    }

    async fn add(&self, entry: &Entry) {
        let text = format!("{}\n", told::line(entry));
        let session = self.session;
        self.file(move |folder| folder.print(session, &text)).await;
    }

    /// Forgets what the session's last script printed. That of this one stays until the next one begins: its outcome
    /// must be durable first.
    async fn begin(&self) {
        let (session, rtc, attempt) = (self.session, self.rtc, self.attempt);
        self.file(move |folder| folder.begin_printing(session, rtc, attempt))
            .await;
    }

    async fn file(&self, work: impl FnOnce(&PreImageFolder) -> Result<(), rtc_fs::Error> + Send + 'static) {
        let folder = self.folder.clone();
        let done = tokio::task::spawn_blocking(move || work(&folder)).await;
        if let Ok(Err(error)) = done {
            tracing::debug!(%error, "what the script prints is not kept");
        }
    }
}

/// What a script wrote, within the limits whatever the worker sends.
#[derive(Default)]
struct Console {
    entries: Vec<Entry>,
    bytes: usize,
}

impl Console {
    fn take(&mut self, item: Progress) -> Option<&Entry> {
        let Progress::Custom { subkind, payload } = item else {
            return None;
        };
        let entry = Entry::deserialize(payload).ok().filter(|_| subkind == CONSOLE)?;
        self.bytes += entry.text.len();
        if self.entries.len() >= MAX_CONSOLE_ENTRIES || self.bytes > MAX_CONSOLE_BYTES {
            return None;
        }
        self.entries.push(entry);
        self.entries.last()
    }

    /// The failure of a script that could not say itself where it was.
    fn cut_off(&self, limit: Option<Limit>, message: String) -> Failure {
        Failure {
            message,
            line: self.entries.last().and_then(|entry| entry.line),
            limit,
        }
    }
}
