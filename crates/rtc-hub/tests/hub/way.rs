//! The ways to a tool.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use rtc_hub::{Child, ChildCommand, Deadline, Host, HostCalls, Outcome, Peer, RemoteCall, spawn};
use rtc_tool::{
    Access, CallContext, Extensions, NoTurns, Permit, Registry, Seen, ToolError, ToolStream, ToolStreamItem,
};
use rtc_types::{RtcId, SessionId};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::tools::registry;

/// A call of a test.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    pub(crate) deadline: Option<Duration>,
    /// Cancelled after so many items.
    pub(crate) cancel_after: Option<usize>,
}

impl Case {
    pub(crate) fn new(tool: &'static str, arguments: Value) -> Self {
        Self {
            tool,
            arguments,
            deadline: None,
            cancel_after: None,
        }
    }
}

/// Answers with the question, and refuses `secret`.
#[derive(Default)]
pub(crate) struct Answers {
    pub(crate) asked: Mutex<Vec<(u64, String)>>,
}

#[async_trait]
impl HostCalls for Answers {
    async fn call(&self, ordinal: u64, name: &str, arguments: Value) -> Outcome {
        self.asked.lock().unwrap().push((ordinal, name.to_owned()));
        if name == "secret" {
            return Err(ToolError::denied("nobody may know"));
        }
        Ok(json!([name, arguments]))
    }
}

struct Anything;

impl Permit for Anything {
    fn check(&self, _access: Access, _path: &str) -> Result<(), ToolError> {
        Ok(())
    }
}

#[async_trait]
impl Seen for Anything {
    async fn get(&self, _path: &str) -> Result<Option<Value>, ToolError> {
        Ok(None)
    }

    fn note(&self, _path: &str, _known: Value) {}
}

pub(crate) fn id(number: u128) -> RtcId {
    RtcId::new(Uuid::from_u128(number))
}

pub(crate) fn session() -> SessionId {
    SessionId::new(Uuid::from_u128(1))
}

/// Reads a whole stream, also past its end.
pub(crate) async fn collect(
    mut stream: ToolStream,
    case: &Case,
    cancel: &CancellationToken,
) -> Vec<ToolStreamItem> {
    let mut items = Vec::new();
    while let Some(item) = stream.next().await {
        items.push(item);
        if case.cancel_after == Some(items.len()) {
            cancel.cancel();
        }
    }
    items
}

pub(crate) async fn in_process(case: &Case) -> Vec<ToolStreamItem> {
    let tool = registry().get(case.tool).unwrap().clone();
    let mut extensions = Extensions::default().with(Arc::new(Host::new(Arc::new(Answers::default()))));
    if let Some(deadline) = case.deadline {
        extensions = extensions.with(Arc::new(Deadline(tokio::time::Instant::now() + deadline)));
    }
    let context = CallContext {
        session: session(),
        rtc: id(7),
        attempt: 1,
        cancel: CancellationToken::new(),
        permit: Arc::new(Anything),
        seen: Arc::new(Anything),
        turns: Arc::new(NoTurns),
        extensions,
    };
    let cancel = context.cancel.clone();
    match tool.check(case.arguments.clone()) {
        Ok(arguments) => collect(tool.execute(context, arguments, None), case, &cancel).await,
        Err(error) => vec![ToolStreamItem::Terminal(Err(error))],
    }
}

pub(crate) fn remote(call: RtcId, case: &Case) -> RemoteCall {
    RemoteCall {
        call_id: call,
        session_id: session(),
        attempt: 1,
        tool: case.tool.to_owned(),
        arguments: case.arguments.clone(),
        deadline: case.deadline,
        cancel: CancellationToken::new(),
        host: Some(Arc::new(Answers::default())),
    }
}

pub(crate) async fn over(peer: &Peer, case: &Case) -> Vec<ToolStreamItem> {
    let call = remote(id(7), case);
    let cancel = call.cancel.clone();
    collect(peer.call(call), case, &cancel).await
}

/// Two peers with a pipe of `capacity` bytes in between: the caller, and the one with the tools.
pub(crate) fn pipe(capacity: usize) -> (Peer, Peer) {
    let (near, far) = tokio::io::duplex(capacity);
    let (reader, writer) = tokio::io::split(near);
    let caller = Peer::start(reader, writer, Registry::default());
    let (reader, writer) = tokio::io::split(far);
    (caller, Peer::start(reader, writer, registry()))
}

/// The program of the other side: the example that is built beside the tests.
pub(crate) fn command() -> ChildCommand {
    let tests = std::env::current_exe().unwrap();
    let built = tests.parent().and_then(std::path::Path::parent).unwrap();
    let program = built
        .join("examples")
        .join("peer")
        .with_extension(std::env::consts::EXE_EXTENSION);
    assert!(
        program.exists(),
        "{} is not built: run the tests of the whole package",
        program.display()
    );
    ChildCommand {
        program,
        arguments: Vec::new(),
        environment: Vec::new(),
    }
}

/// A peer in another process, which lives as long as the child is held.
pub(crate) async fn process() -> (Peer, Child) {
    let mut child = spawn(command()).await.unwrap();
    let (reader, writer) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    (Peer::start(reader, writer, Registry::default()), child)
}
