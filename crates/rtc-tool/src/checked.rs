//! The checker around every handle: the form of the stream, panics, deadline, cancellation and concurrency.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use async_trait::async_trait;
use futures::{FutureExt, StreamExt, stream};
use rtc_types::Preview;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

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

async fn guarded<T>(name: &str, call: impl Future<Output = Result<T, ToolError>>) -> Result<T, ToolError> {
    AssertUnwindSafe(call)
        .catch_unwind()
        .await
        .unwrap_or_else(|_| Err(panicked(name)))
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
        self.inner.check(args)
    }

    fn subject(&self, args: &Value) -> Result<Subject, ToolError> {
        self.inner.subject(args)
    }

    async fn preview(&self, context: &CallContext, args: &Value) -> Result<Option<Preview>, ToolError> {
        guarded(&self.describe().name, self.inner.preview(context, args)).await
    }

    async fn prepare(&self, context: &CallContext, args: &Value) -> Result<Option<Prepared>, ToolError> {
        guarded(&self.describe().name, self.inner.prepare(context, args)).await
    }

    fn execute(&self, context: CallContext, args: Value, prepared: Option<Prepared>) -> ToolStream {
        let name = self.describe().name.clone();
        let capabilities = self.capabilities().clone();
        let (running, inner) = (self.running.clone(), self.inner.clone());
        let cancel = context.cancel.clone();
        let started = async move {
            let place: Option<OwnedSemaphorePermit> = match running {
                Some(running) => running.acquire_owned().await.ok(),
                None => None,
            };
            // A stream is lazy: nothing of the call runs before its first poll, which is below.
            let call =
                match std::panic::catch_unwind(AssertUnwindSafe(|| inner.execute(context, args, prepared))) {
                    Ok(call) => call,
                    Err(_) => stream::iter([ToolStreamItem::Terminal(Err(panicked(&name)))]).boxed(),
                };
            let deadline = capabilities
                .timeout
                .map(|timeout| tokio::time::Instant::now() + timeout);
            Call {
                name,
                capabilities,
                call,
                cancel,
                deadline,
                _place: place,
            }
        };
        Box::pin(stream::once(started).flat_map(|call| stream::unfold(Some(call), Call::next)))
    }

    async fn recover(
        &self,
        context: &CallContext,
        args: &Value,
        mark: &Value,
    ) -> Result<Recovery, ToolError> {
        guarded(&self.describe().name, self.inner.recover(context, args, mark)).await
    }

    fn answer(&self, args: &Value, answer: Value) -> Result<Value, ToolError> {
        self.inner.answer(args, answer)
    }
}

struct Call {
    name: String,
    capabilities: Capabilities,
    call: ToolStream,
    cancel: tokio_util::sync::CancellationToken,
    deadline: Option<tokio::time::Instant>,
    _place: Option<OwnedSemaphorePermit>,
}

impl Call {
    async fn next(state: Option<Call>) -> Option<(ToolStreamItem, Option<Call>)> {
        let mut this = state?;
        let deadline = async {
            match this.deadline {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        let cancelled = async {
            // A tool that does not support it is left to finish; whoever cancelled throws its result away.
            if this.capabilities.supports_cancel {
                this.cancel.cancelled().await;
                // The tool's own answer to the cancellation is better than ours: it knows what it has done.
                tokio::time::sleep(CANCEL_GRACE).await;
            } else {
                std::future::pending::<()>().await;
            }
        };
        let item = tokio::select! {
            biased;
            item = AssertUnwindSafe(this.call.next()).catch_unwind() => match item {
                Ok(Some(ToolStreamItem::Progress(_))) if !this.capabilities.streaming => Err(ToolError::execution(
                    format!("the tool {} sent progress without saying that it would", this.name),
                )),
                Ok(Some(ToolStreamItem::Progress(progress))) => {
                    return Some((ToolStreamItem::Progress(progress), Some(this)));
                }
                Ok(Some(ToolStreamItem::Terminal(result))) => result,
                Ok(None) => Err(ToolError::execution(format!("the tool {} ended without a result", this.name))),
                Err(_) => Err(panicked(&this.name)),
            },
            () = deadline => {
                this.cancel.cancel();
                let timeout = this.capabilities.timeout.unwrap_or_default();
                Err(ToolError::new(ErrorKind::Timeout, format!("it took longer than {} ms", timeout.as_millis())))
            }
            () = cancelled => Err(ToolError::cancelled()),
        };
        Some((ToolStreamItem::Terminal(item), None))
    }
}

/// How long a cancelled tool may take to end by itself.
const CANCEL_GRACE: std::time::Duration = std::time::Duration::from_millis(50);

#[cfg(test)]
mod tests;
