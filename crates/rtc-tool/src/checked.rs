//! The checker around every handle: the form of the stream, panics, deadline, cancellation and concurrency.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::{FutureExt, StreamExt, stream};
use rtc_types::Preview;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::{
    CallContext, Capabilities, Description, ErrorKind, Kind, Prepared, Recovery, Subject, ToolError,
    ToolHandle, ToolStream, ToolStreamItem,
};

pub(crate) struct Checked<H> {
    inner: Arc<H>,
    running: Option<Arc<Semaphore>>,
}

impl<H: ToolHandle> Checked<H> {
    pub(crate) fn new(inner: H) -> Self {
        let running = inner
            .capabilities()
            .max_concurrency
            .map(|most| Arc::new(Semaphore::new(most.max(1))));
        Self {
            inner: Arc::new(inner),
            running,
        }
    }
}

fn panicked(name: &str) -> ToolError {
    ToolError::execution(format!(
        "the tool {name} broke down; this is a fault of the program, not of the call"
    ))
}

fn caught<T>(name: &str, call: impl FnOnce() -> Result<T, ToolError>) -> Result<T, ToolError> {
    std::panic::catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| Err(panicked(name)))
}

fn too_long(timeout: Duration) -> ToolError {
    let why = format!("it took longer than {} ms", timeout.as_millis());
    ToolError::new(ErrorKind::Timeout, why)
}

impl<H: ToolHandle> Checked<H> {
    /// What has no effect: it is dropped when its time is over.
    async fn guarded<T>(&self, call: impl Future<Output = Result<T, ToolError>>) -> Result<T, ToolError> {
        let call = AssertUnwindSafe(call).catch_unwind();
        let ended = match self.capabilities().timeout {
            Some(timeout) => match tokio::time::timeout(timeout, call).await {
                Ok(ended) => ended,
                Err(_) => return Err(too_long(timeout)),
            },
            None => call.await,
        };
        ended.unwrap_or_else(|_| Err(panicked(&self.describe().name)))
    }
}

#[async_trait]
impl<H: ToolHandle> ToolHandle for Checked<H> {
    fn describe(&self) -> &Description {
        self.inner.describe()
    }

    fn kind(&self) -> Kind {
        self.inner.kind()
    }

    fn capabilities(&self) -> &Capabilities {
        self.inner.capabilities()
    }

    fn check(&self, args: Value) -> Result<Value, ToolError> {
        caught(&self.describe().name, || self.inner.check(args))
    }

    fn subject(&self, args: &Value) -> Result<Subject, ToolError> {
        caught(&self.describe().name, || self.inner.subject(args))
    }

    async fn preview(&self, context: &CallContext, args: &Value) -> Result<Option<Preview>, ToolError> {
        self.guarded(self.inner.preview(context, args)).await
    }

    async fn prepare(&self, context: &CallContext, args: &Value) -> Result<Option<Prepared>, ToolError> {
        self.guarded(self.inner.prepare(context, args)).await
    }

    fn execute(&self, context: CallContext, args: Value, prepared: Option<Prepared>) -> ToolStream {
        let name = self.describe().name.clone();
        let capabilities = self.capabilities().clone();
        let (running, inner) = (self.running.clone(), self.inner.clone());
        let cancel = context.cancel.clone();
        let started = async move {
            // A stream is lazy: nothing of the call runs before its first poll.
            let place: Option<OwnedSemaphorePermit> = match running {
                Some(running) => tokio::select! {
                    biased;
                    () = cancel.cancelled() => {
                        let ended = ToolStreamItem::Terminal(Err(ToolError::cancelled()));
                        return stream::iter([ended]).boxed();
                    }
                    place = running.acquire_owned() => place.ok(),
                },
                None => None,
            };
            let begin = AssertUnwindSafe(|| inner.execute(context, args, prepared));
            let call = match std::panic::catch_unwind(begin) {
                Ok(call) => call,
                Err(_) => stream::iter([ToolStreamItem::Terminal(Err(panicked(&name)))]).boxed(),
            };
            let deadline = capabilities.timeout.map(|timeout| Instant::now() + timeout);
            let call = Call {
                name,
                capabilities,
                call,
                cancel,
                deadline,
                is_late: false,
                let_go: None,
                _place: place,
            };
            stream::unfold(Some(call), Call::next).boxed()
        };
        Box::pin(stream::once(started).flatten())
    }

    async fn recover(
        &self,
        context: &CallContext,
        args: &Value,
        mark: &Value,
    ) -> Result<Recovery, ToolError> {
        self.guarded(self.inner.recover(context, args, mark)).await
    }

    fn answer(&self, args: &Value, answer: Value) -> Result<Value, ToolError> {
        caught(&self.describe().name, || self.inner.answer(args, answer))
    }
}

struct Call {
    name: String,
    capabilities: Capabilities,
    call: ToolStream,
    cancel: tokio_util::sync::CancellationToken,
    /// When it is told to end; nothing once it was.
    deadline: Option<Instant>,
    /// Whether it was told to end because it took too long.
    is_late: bool,
    /// When a cancelled call is let go, however much it goes on telling.
    let_go: Option<Instant>,
    _place: Option<OwnedSemaphorePermit>,
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

impl Call {
    async fn next(state: Option<Call>) -> Option<(ToolStreamItem, Option<Call>)> {
        let mut this = state?;
        let result = loop {
            // A tool that does not support it is left to finish, also after its deadline: it may still change something, and
            // has its turn as long as it may. Whoever cancelled throws its result away.
            let asked = this.capabilities.supports_cancel && this.let_go.is_none();
            tokio::select! {
                biased;
                () = until(this.deadline) => {
                    (this.deadline, this.is_late) = (None, true);
                    this.cancel.cancel();
                }
                () = until(this.let_go) => break Err(this.cancelled()),
                // The tool's own answer to the cancellation is better than ours: it knows what it has done.
                () = this.cancel.cancelled(), if asked => this.let_go = Some(Instant::now() + CANCEL_GRACE),
                item = AssertUnwindSafe(this.call.next()).catch_unwind() => match item {
                    Ok(Some(ToolStreamItem::Progress(_))) if !this.capabilities.streaming => {
                        let why = format!("the tool {} sent progress without saying that it would", this.name);
                        break Err(ToolError::execution(why));
                    }
                    Ok(Some(ToolStreamItem::Progress(progress))) => {
                        return Some((ToolStreamItem::Progress(progress), Some(this)));
                    }
                    Ok(Some(ToolStreamItem::Terminal(Err(error)))) if error.kind == ErrorKind::Cancelled => {
                        break Err(this.cancelled());
                    }
                    Ok(Some(ToolStreamItem::Terminal(result))) => break result,
                    Ok(None) => {
                        let why = format!("the tool {} ended without a result", this.name);
                        break Err(ToolError::execution(why));
                    }
                    Err(_) => break Err(panicked(&this.name)),
                },
            }
        };
        Some((ToolStreamItem::Terminal(result), None))
    }

    /// Why it was told to end.
    fn cancelled(&self) -> ToolError {
        match self.capabilities.timeout {
            Some(timeout) if self.is_late => too_long(timeout),
            _ => ToolError::cancelled(),
        }
    }
}

/// How long a cancelled tool may take to end by itself.
const CANCEL_GRACE: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests;
