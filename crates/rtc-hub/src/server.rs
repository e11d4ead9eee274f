//! Serving a call: runs a tool for the other side.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::{FutureExt, StreamExt};
use rtc_tool::{
    Access, CallContext, ErrorKind, Extensions, NoTurns, Permit, Seen, ToolError, ToolStream, ToolStreamItem,
};
use rtc_types::RtcId;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::frame::{Call, Frame, HostCall, Outcome};
use crate::host::{Deadline, Host, HostCalls};
use crate::peer::{MAX_HOST_CALLS_WAITING, Shared, lock};
use crate::{Error, MAX_FRAME_BYTES};

/// How long after its deadline a tool may take to end by itself.
pub const SERVER_GRACE: Duration = Duration::from_millis(20);
/// The longest time that a call is given, a day: a later deadline is taken for this one.
pub const MAX_DEADLINE: Duration = Duration::from_secs(24 * 60 * 60);

/// Runs the call and sends everything that it gives. There is always a terminal, and it waits for room.
pub(crate) async fn serve(shared: Arc<Shared>, call: Call, cancel: CancellationToken) {
    let id = call.call_id;
    let serving = Serving { shared: &shared, id };
    let outcome = match begin(&shared, call, cancel.clone()) {
        Ok((stream, deadline)) => forward(&shared, id, stream, deadline, &cancel).await,
        Err(error) => Err(error),
    };
    // Before the terminal: with it the caller may use the id again.
    drop(serving);
    if let Err(Error::TooLarge(bytes)) = shared.send(&Frame::Terminal(id, outcome)).await {
        let why = format!("the result has {bytes} bytes, {MAX_FRAME_BYTES} at most can be passed on");
        // Otherwise the connection is over, and nobody waits for it.
        let _ = shared
            .send(&Frame::Terminal(id, Err(ToolError::execution(why))))
            .await;
    }
}

/// A call on the list of those that are served: taken off it whatever becomes of it.
struct Serving<'s> {
    shared: &'s Shared,
    id: RtcId,
}

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        lock(&self.shared.serving).remove(&self.id);
    }
}

fn begin(
    shared: &Arc<Shared>,
    call: Call,
    cancel: CancellationToken,
) -> Result<(ToolStream, Option<Instant>), ToolError> {
    let Some(tool) = shared.tools.get(&call.tool) else {
        return Err(ToolError::not_found(format!(
            "there is no tool {} here",
            call.tool
        )));
    };
    let arguments = tool.check(call.arguments)?;
    let asking = Asking {
        shared: shared.clone(),
        call: call.call_id,
        room: Semaphore::new(MAX_HOST_CALLS_WAITING),
    };
    let mut extensions = Extensions::default().with(Arc::new(Host::new(Arc::new(asking))));
    let deadline = call
        .deadline_ms
        .map(|milliseconds| Instant::now() + Duration::from_millis(milliseconds).min(MAX_DEADLINE));
    if let Some(at) = deadline {
        extensions = extensions.with(Arc::new(Deadline(at)));
    }
    let context = CallContext {
        session: call.session_id,
        rtc: call.call_id,
        attempt: call.attempt,
        cancel,
        permit: Arc::new(Nothing),
        seen: Arc::new(Nothing),
        turns: Arc::new(NoTurns),
        extensions,
    };
    Ok((tool.execute(context, arguments, None), deadline))
}

async fn forward(
    shared: &Shared,
    id: RtcId,
    mut stream: ToolStream,
    deadline: Option<Instant>,
    cancel: &CancellationToken,
) -> Outcome {
    let mut seq = 0;
    loop {
        let late = async {
            match deadline {
                Some(at) => tokio::time::sleep_until(at + SERVER_GRACE).await,
                None => std::future::pending().await,
            }
        };
        let item = tokio::select! {
            biased;
            () = late => {
                // On a busy machine both have come by now: what it says itself counts.
                if let Some(Some(ToolStreamItem::Terminal(outcome))) = stream.next().now_or_never() {
                    return outcome;
                }
                cancel.cancel();
                return Err(ToolError::new(ErrorKind::Timeout, "it did not end at its deadline"));
            }
            item = stream.next() => item,
        };
        match item {
            Some(ToolStreamItem::Progress(progress)) => {
                match shared.send(&Frame::Progress(id, seq, progress)).await {
                    Ok(()) => seq += 1,
                    Err(error) => {
                        return Err(ToolError::execution(format!("its progress was lost: {error}")));
                    }
                }
            }
            Some(ToolStreamItem::Terminal(outcome)) => return outcome,
            None => return Err(ToolError::execution("the tool ended without a result")),
        }
    }
}

/// The questions of a served call go back over the connection.
struct Asking {
    shared: Arc<Shared>,
    call: RtcId,
    /// At the bound a question waits here; it is first come, first asked.
    room: Semaphore,
}

#[async_trait]
impl HostCalls for Asking {
    async fn call(&self, ordinal: u64, name: &str, arguments: Value) -> Outcome {
        let question = HostCall {
            call_id: self.call,
            ordinal,
            name: name.to_owned(),
            arguments,
        };
        // It is never closed.
        let _room = self.room.acquire().await;
        self.shared.ask(question).await
    }
}

/// What a served tool has around it: no files and no knowledge of them. Everything of that kind it asks its caller for.
struct Nothing;

impl Permit for Nothing {
    fn check(&self, _access: Access, path: &str) -> Result<(), ToolError> {
        Err(ToolError::denied(format!(
            "{path} is not reached from another process"
        )))
    }
}

#[async_trait]
impl Seen for Nothing {
    async fn get(&self, _path: &str) -> Result<Option<Value>, ToolError> {
        Ok(None)
    }

    fn note(&self, _path: &str, _known: Value) {}
}
