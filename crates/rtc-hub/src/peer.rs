//! One end of a connection: calls the tools of the other side, and serves its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rtc_tool::{PROGRESS_QUEUE, Registry, ToolError, ToolStream, ToolStreamItem};
use rtc_types::{RtcId, SessionId};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::frame::{Frame, HostCall, Outcome};
use crate::host::HostCalls;
use crate::{Error, MAX_FRAME_BYTES, MAX_HOST_CALL_BYTES, MAX_HOST_CALL_VALUES, count_values, lines, server};

mod calling;
mod outgoing;

use outgoing::Outgoing;

/// How many frames may wait to be written. At the bound whoever sends waits; no frame is dropped.
pub const OUTGOING_QUEUE: usize = 64;
/// How many calls may run at a time in each direction. One more is refused.
pub const MAX_CALLS: usize = 64;
/// How many questions of one call may wait for their answers. At the bound the asking tool waits. Each has at most
/// [`crate::MAX_HOST_CALL_BYTES`] and [`crate::MAX_HOST_CALL_VALUES`].
pub const MAX_HOST_CALLS_WAITING: usize = 8;
/// How long after the deadline a caller waits for the other side's own terminal, before it makes one.
pub const CALLER_GRACE: Duration = Duration::from_millis(100);

/// One end of a connection. Clones share it; it is closed by [`Peer::close`] or by the other side.
#[derive(Clone)]
pub struct Peer {
    shared: Arc<Shared>,
}

/// A call of a tool of the other side.
pub struct RemoteCall {
    /// Names the call; one of the same name must not be running.
    pub call_id: RtcId,
    /// Whose call it is.
    pub session_id: SessionId,
    /// Which start of it this is.
    pub attempt: u32,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
    /// How long it may take.
    pub deadline: Option<Duration>,
    /// Tells the other side that it is to end.
    pub cancel: CancellationToken,
    /// Answers what the running tool asks; without it, asking is an error.
    pub host: Option<Arc<dyn HostCalls>>,
}

pub(crate) struct Shared {
    outgoing: Outgoing,
    calls: Mutex<HashMap<RtcId, Calling>>,
    asked: Mutex<HashMap<(RtcId, u64), oneshot::Sender<Outcome>>>,
    pub(crate) serving: Mutex<HashMap<RtcId, CancellationToken>>,
    pub(crate) tools: Registry,
    pub(crate) closed: CancellationToken,
    why: OnceLock<Error>,
}

/// A call that the other side runs.
struct Calling {
    items: mpsc::Sender<ToolStreamItem>,
    next_seq: u64,
    /// To the task that answers them; nobody without a host.
    questions: Option<mpsc::Sender<HostCall>>,
}

/// How many bytes a frame may have.
fn most_bytes(frame: &Frame) -> usize {
    match frame {
        Frame::HostCall(_) => MAX_HOST_CALL_BYTES,
        _ => MAX_FRAME_BYTES,
    }
}

/// Whether a question would take too much memory. A short one has no need to be counted.
fn has_too_many_values(line: &[u8]) -> bool {
    line.len() > MAX_HOST_CALL_VALUES && count_values(line) > MAX_HOST_CALL_VALUES
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Peer {
    /// Speaks over this pipe, and serves `tools`, on tasks of the current runtime.
    pub fn start(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + 'static,
        tools: Registry,
    ) -> Self {
        let shared = Arc::new(Shared {
            outgoing: Outgoing::new(writer),
            calls: Mutex::default(),
            asked: Mutex::default(),
            serving: Mutex::default(),
            tools,
            closed: CancellationToken::new(),
            why: OnceLock::new(),
        });
        tokio::spawn(write(shared.clone()));
        tokio::spawn(read(shared.clone(), reader));
        Self { shared }
    }

    /// Calls a tool of the other side. Nothing is sent before the first poll; dropping the stream cancels the call.
    pub fn call(&self, call: RemoteCall) -> ToolStream {
        let (items, receiver) = mpsc::channel(PROGRESS_QUEUE);
        let (questions, asked) = mpsc::channel(MAX_HOST_CALLS_WAITING);
        let calling = Calling {
            items,
            next_seq: 0,
            questions: call.host.is_some().then_some(questions),
        };
        let refused = {
            let mut calls = lock(&self.shared.calls);
            if self.shared.closed.is_cancelled() {
                Some(self.shared.gone())
            } else if calls.contains_key(&call.call_id) {
                Some(ToolError::execution("this very call is running already"))
            } else if calls.len() >= MAX_CALLS {
                Some(ToolError::execution(format!(
                    "{MAX_CALLS} calls are running already, try again"
                )))
            } else {
                calls.insert(call.call_id, calling);
                None
            }
        };
        if refused.is_none()
            && let Some(host) = call.host.clone()
        {
            tokio::spawn(answer(self.shared.clone(), call.call_id, host, asked));
        }
        calling::stream(self.shared.clone(), call, receiver, refused)
    }

    /// Waits until the connection is over, and says why.
    pub async fn closed(&self) -> Error {
        self.shared.closed.cancelled().await;
        self.shared.reason()
    }

    /// Whether the connection is over.
    pub fn is_closed(&self) -> bool {
        self.shared.closed.is_cancelled()
    }

    /// Closes it: open calls end with an error.
    pub fn close(&self) {
        self.shared.close(Error::Closed);
    }
}

impl Shared {
    /// Sends a frame, waiting for room. It is on its way when this returns, unless the connection is over.
    pub(crate) async fn send(&self, frame: &Frame) -> Result<(), Error> {
        let line = frame.encode();
        if line.len() > most_bytes(frame) {
            return Err(Error::TooLarge(line.len()));
        }
        if matches!(frame, Frame::HostCall(_)) && has_too_many_values(line.as_bytes()) {
            return Err(Error::TooManyValues(count_values(line.as_bytes())));
        }
        let sent = tokio::select! {
            biased;
            () = self.closed.cancelled() => return Err(self.reason()),
            sent = self.outgoing.send(line) => sent,
        };
        sent.map_err(|error| {
            self.close(error);
            self.reason()
        })
    }

    /// Asks the one who called `call`.
    pub(crate) async fn ask(&self, question: HostCall) -> Outcome {
        let key = (question.call_id, question.ordinal);
        let (answer, answered) = oneshot::channel();
        lock(&self.asked).insert(key, answer);
        let _asked = Asked { shared: self, key };
        if let Err(error) = self.send(&Frame::HostCall(question)).await {
            return Err(ToolError::execution(error.to_string()));
        }
        tokio::select! {
            answer = answered => answer.unwrap_or_else(|_| Err(self.gone())),
            () = self.closed.cancelled() => Err(self.gone()),
        }
    }

    fn reason(&self) -> Error {
        self.why.get().cloned().unwrap_or(Error::Closed)
    }

    /// What an open call ends with when the connection is over.
    fn gone(&self) -> ToolError {
        ToolError::execution(format!("the process that ran it has gone: {}", self.reason()))
    }

    fn close(&self, why: Error) {
        // The first reason is the one that counts.
        let _ = self.why.set(why);
        self.closed.cancel();
        // Their streams find nothing more to come.
        lock(&self.calls).clear();
        for cancel in lock(&self.serving).values() {
            cancel.cancel();
        }
    }

    /// Takes one frame in. An error closes the connection.
    async fn take(self: &Arc<Self>, frame: Frame) -> Result<(), Error> {
        match frame {
            Frame::Call(call) => {
                let cancel = self.closed.child_token();
                let refused = {
                    let mut serving = lock(&self.serving);
                    if serving.contains_key(&call.call_id) {
                        Some("this very call is running already".to_owned())
                    } else if serving.len() >= MAX_CALLS {
                        Some(format!("{MAX_CALLS} calls are running already, try again"))
                    } else {
                        serving.insert(call.call_id, cancel.clone());
                        None
                    }
                };
                match refused {
                    None => drop(tokio::spawn(server::serve(self.clone(), call, cancel))),
                    Some(why) => {
                        let refusal = Frame::Terminal(call.call_id, Err(ToolError::execution(why)));
                        self.send(&refusal).await?;
                    }
                }
            }
            // A call always comes before its cancellation: the pipe keeps the order.
            Frame::Cancel(call) => {
                if let Some(cancel) = lock(&self.serving).get(&call) {
                    cancel.cancel();
                }
            }
            Frame::Progress(call, seq, progress) => {
                let items = match lock(&self.calls).get_mut(&call) {
                    Some(calling) if calling.next_seq == seq => {
                        calling.next_seq += 1;
                        calling.items.clone()
                    }
                    Some(calling) => {
                        let expected = calling.next_seq;
                        return Err(Error::Protocol(format!(
                            "progress {seq} came where {expected} was next"
                        )));
                    }
                    // The caller has let go of it.
                    None => return Ok(()),
                };
                // A caller that does not read its progress holds up all that comes behind it on this connection, once its
                // queue is full. So far each connection has one caller at a time, which always reads.
                let _ = items.send(ToolStreamItem::Progress(progress)).await;
            }
            Frame::Terminal(call, outcome) => {
                let calling = lock(&self.calls).remove(&call);
                if let Some(calling) = calling {
                    // Behind its progress, in the same queue.
                    let _ = calling.items.send(ToolStreamItem::Terminal(outcome)).await;
                }
            }
            Frame::HostCall(question) => self.hand_over(question).await?,
            Frame::HostAnswer(call, ordinal, outcome) => {
                if let Some(waits) = lock(&self.asked).remove(&(call, ordinal)) {
                    let _ = waits.send(outcome);
                }
            }
        }
        Ok(())
    }

    /// Hands a question to the task that answers those of its call.
    async fn hand_over(&self, question: HostCall) -> Result<(), Error> {
        let (call, ordinal) = (question.call_id, question.ordinal);
        let questions = lock(&self.calls)
            .get(&call)
            .map(|calling| calling.questions.clone());
        let refused = match questions {
            None => "the call has ended",
            Some(None) => "this call has nobody to ask",
            Some(Some(questions)) => match questions.try_send(question) {
                Ok(()) => return Ok(()),
                Err(_) => "too many questions of this call wait for their answers",
            },
        };
        self.send(&Frame::HostAnswer(
            call,
            ordinal,
            Err(ToolError::execution(refused)),
        ))
        .await
    }
}

/// Answers the questions of a call, one after the other in the order in which they came, until it has ended.
async fn answer(
    shared: Arc<Shared>,
    call: RtcId,
    host: Arc<dyn HostCalls>,
    mut questions: mpsc::Receiver<HostCall>,
) {
    while let Some(question) = questions.recv().await {
        let outcome = host
            .call(question.ordinal, &question.name, question.arguments)
            .await;
        let sent = shared
            .send(&Frame::HostAnswer(call, question.ordinal, outcome))
            .await;
        if let Err(Error::TooLarge(bytes)) = sent {
            let why = format!("the answer has {bytes} bytes, {MAX_FRAME_BYTES} at most can be passed on");
            let refusal = Frame::HostAnswer(call, question.ordinal, Err(ToolError::execution(why)));
            // Otherwise the connection is over, and nobody waits for it.
            let _ = shared.send(&refusal).await;
        }
    }
}

/// A question that waits for its answer.
struct Asked<'s> {
    shared: &'s Shared,
    key: (RtcId, u64),
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        lock(&self.shared.asked).remove(&self.key);
    }
}

async fn write(shared: Arc<Shared>) {
    let broken = tokio::select! {
        biased;
        () = shared.closed.cancelled() => None,
        error = shared.outgoing.write() => Some(error),
    };
    if let Some(error) = broken {
        shared.close(error);
    }
    shared.outgoing.close();
}

async fn read(shared: Arc<Shared>, reader: impl AsyncRead + Send + Unpin) {
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    let over = async {
        loop {
            match lines::read(&mut reader, &mut line).await {
                Ok(true) => {}
                Ok(false) => return Error::Closed,
                Err(error) => return error,
            }
            // Before any of its values is made.
            if has_too_many_values(&line) && Frame::is_question(&line) {
                return Error::Protocol(format!("a question has more than {MAX_HOST_CALL_VALUES} values"));
            }
            let taken = match Frame::decode(&line) {
                Ok(frame) if line.len() > most_bytes(&frame) => Err(Error::Protocol(format!(
                    "a question has more than {MAX_HOST_CALL_BYTES} bytes"
                ))),
                Ok(frame) => shared.take(frame).await,
                Err(why) => Err(Error::Protocol(why)),
            };
            if let Err(error) = taken {
                return error;
            }
        }
    };
    let why = tokio::select! {
        biased;
        () = shared.closed.cancelled() => return,
        why = over => why,
    };
    shared.close(why);
}
