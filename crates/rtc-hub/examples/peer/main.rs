//! The other side of the tests: serves their tools over stdin and stdout; or, with a path, is the parent of such a
//! process, which locks the file of that path.

#![allow(clippy::unwrap_used, reason = "it is a part of the tests")]

mod tools;

use std::process::ExitCode;
use std::sync::Arc;

use async_trait::async_trait;
use rtc_hub::{ChildCommand, HostCalls, Outcome, Peer, RemoteCall, spawn};
use rtc_tool::{Registry, terminal_of};
use rtc_types::{RtcId, SessionId};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

fn main() -> ExitCode {
    match std::env::args().nth(1) {
        None => rtc_hub::run_worker(tools::registry()),
        Some(path) => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(parent(path));
            ExitCode::FAILURE
        }
    }
}

async fn parent(path: String) {
    let command = ChildCommand {
        program: std::env::current_exe().unwrap(),
        arguments: Vec::new(),
        environment: Vec::new(),
    };
    let mut child = spawn(command).await.unwrap();
    let (reader, writer) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
    let peer = Peer::start(reader, writer, Registry::default());
    let call = peer.call(RemoteCall {
        call_id: RtcId::new(Uuid::from_u128(1)),
        session_id: SessionId::new(Uuid::from_u128(1)),
        attempt: 1,
        tool: "hold".to_owned(),
        arguments: json!({"text": path}),
        deadline: None,
        cancel: CancellationToken::new(),
        host: Some(Arc::new(Tells)),
    });
    drop(terminal_of(call).await);
}

/// Passes on that the lock is held.
struct Tells;

#[async_trait]
impl HostCalls for Tells {
    #[expect(clippy::disallowed_macros, reason = "the test reads it")]
    async fn call(&self, _ordinal: u64, name: &str, _arguments: Value) -> Outcome {
        println!("{name}");
        Ok(Value::Null)
    }
}
