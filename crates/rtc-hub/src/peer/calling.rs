//! A remote call as the stream that its caller reads.

use std::sync::Arc;

use futures::stream;
use rtc_tool::{ErrorKind, ToolError, ToolStream, ToolStreamItem};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{CALLER_GRACE, RemoteCall, Shared, lock};
use crate::MAX_DEADLINE;
use crate::frame::{Call, Frame};

enum State {
    Refused(ToolError),
    New(Box<RemoteCall>, mpsc::Receiver<ToolStreamItem>, Guard),
    Running(Running),
    Ended,
}

struct Running {
    items: mpsc::Receiver<ToolStreamItem>,
    deadline: Option<Instant>,
    cancel: CancellationToken,
    told_to_end: bool,
    guard: Guard,
}

/// Takes the call off the list, and tells the other side if it still runs there.
struct Guard {
    shared: Arc<Shared>,
    frame: Frame,
    running: bool,
}

pub(super) fn stream(
    shared: Arc<Shared>,
    call: RemoteCall,
    items: mpsc::Receiver<ToolStreamItem>,
    refused: Option<ToolError>,
) -> ToolStream {
    let state = match refused {
        Some(error) => State::Refused(error),
        None => {
            let frame = Frame::Cancel(call.call_id);
            let guard = Guard {
                shared,
                frame,
                running: false,
            };
            State::New(Box::new(call), items, guard)
        }
    };
    Box::pin(stream::unfold(state, next))
}

async fn next(state: State) -> Option<(ToolStreamItem, State)> {
    let failed = |error| Some((ToolStreamItem::Terminal(Err(error)), State::Ended));
    let mut running = match state {
        State::Ended => return None,
        State::Refused(error) => return failed(error),
        State::New(call, items, guard) => match begin(*call, items, guard).await {
            Ok(running) => running,
            Err(error) => return failed(error),
        },
        State::Running(running) => running,
    };
    loop {
        let deadline = async {
            match running.deadline {
                Some(at) => tokio::time::sleep_until(at + CALLER_GRACE).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            item = running.items.recv() => return match item {
                Some(item @ ToolStreamItem::Progress(_)) => Some((item, State::Running(running))),
                Some(item @ ToolStreamItem::Terminal(_)) => {
                    running.guard.running = false;
                    Some((item, State::Ended))
                }
                None => {
                    running.guard.running = false;
                    failed(running.guard.shared.gone())
                }
            },
            () = deadline => {
                return failed(ToolError::new(ErrorKind::Timeout, "it did not end at its deadline"));
            }
            () = running.cancel.cancelled(), if !running.told_to_end => {
                running.told_to_end = true;
                // The other side's own terminal follows; if the connection is over, there is none to wait for.
                let _ = running.guard.shared.send(&running.guard.frame).await;
            }
        }
    }
}

async fn begin(
    call: RemoteCall,
    items: mpsc::Receiver<ToolStreamItem>,
    mut guard: Guard,
) -> Result<Running, ToolError> {
    let frame = Frame::Call(Call {
        call_id: call.call_id,
        session_id: call.session_id,
        attempt: call.attempt,
        tool: call.tool,
        arguments: call.arguments,
        deadline_ms: call
            .deadline
            .map(|deadline| u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX)),
    });
    let deadline = call
        .deadline
        .map(|deadline| Instant::now() + deadline.min(MAX_DEADLINE));
    let sent = guard.shared.send(&frame).await;
    sent.map_err(|error| ToolError::execution(error.to_string()))?;
    guard.running = true;
    Ok(Running {
        items,
        deadline,
        cancel: call.cancel,
        told_to_end: false,
        guard,
    })
}

impl Drop for Guard {
    fn drop(&mut self) {
        let Frame::Cancel(call) = self.frame else { return };
        lock(&self.shared.calls).remove(&call);
        if !self.running || self.shared.closed.is_cancelled() {
            return;
        }
        let line = self.frame.encode();
        // A broken pipe is told to those who read from it.
        if let Err(line) = self.shared.outgoing.try_send(line)
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let shared = self.shared.clone();
            runtime.spawn(async move {
                tokio::select! {
                    () = shared.closed.cancelled() => {}
                    _ = shared.outgoing.send(line) => {}
                }
            });
        }
    }
}
