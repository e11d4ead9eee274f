//! Answers a script's file calls.

use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rtc_hub::{HostCalls, Outcome};
use rtc_tool::{CallContext, ToolError};
use rtc_tools::{EditArgs, FileCalls, FindArgs, GrepArgs, Lines, WriteArgs};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::limits::MAX_HOST_CALLS;

/// The files of one run. The hub asks one question after the other.
pub(crate) struct ScriptFiles {
    files: FileCalls,
    ended: CancellationToken,
    /// Questions so far.
    asked: AtomicU64,
    /// Held while a question is answered.
    busy: tokio::sync::Mutex<()>,
}

impl ScriptFiles {
    /// The files that the call may use. They are no longer answered for once `end` was called.
    pub(crate) fn new(context: &CallContext) -> Self {
        let ended = context.cancel.child_token();
        Self {
            files: FileCalls::new(CallContext {
                cancel: ended.clone(),
                ..context.clone()
            }),
            ended,
            asked: AtomicU64::new(0),
            busy: tokio::sync::Mutex::default(),
        }
    }

    /// From now on no question is answered; one that is being answered is cut short where that leaves no trace.
    pub(crate) fn end(&self) {
        self.ended.cancel();
    }

    /// What was changed, once nothing is being changed any more.
    pub(crate) async fn changed(&self) -> Vec<String> {
        self.end();
        drop(self.busy.lock().await);
        self.files.changed()
    }
}

#[derive(Deserialize)]
struct AtPath {
    path: String,
}

#[derive(Deserialize)]
struct ReadPart {
    path: String,
    offset: Option<i64>,
    limit: Option<u64>,
}

#[derive(Deserialize)]
struct Rename {
    from: String,
    to: String,
}

#[derive(Deserialize)]
struct Remove {
    path: String,
    recursive: bool,
}

#[async_trait]
impl HostCalls for ScriptFiles {
    async fn call(&self, _ordinal: u64, name: &str, arguments: Value) -> Outcome {
        let _busy = self.busy.lock().await;
        if self.ended.is_cancelled() {
            return Err(ToolError::cancelled());
        }
        // The worker ends such a script by itself; this holds whatever the worker does, and however it numbers them.
        if self.asked.fetch_add(1, Ordering::Relaxed) >= MAX_HOST_CALLS {
            return Err(ToolError::execution(format!(
                "{MAX_HOST_CALLS} calls are as many as a script may make"
            )));
        }
        let files = &self.files;
        match name {
            "fs.list" => files.list(&args::<AtPath>(arguments)?.path).await,
            "fs.read" => {
                let ReadPart { path, offset, limit } = args(arguments)?;
                files.read(&path, Lines { offset, limit }).await
            }
            "fs.read_bytes" => {
                let bytes = files.read_bytes(&args::<AtPath>(arguments)?.path).await?;
                Ok(json!(BASE64_STANDARD.encode(bytes)))
            }
            "fs.write" => files.write(args::<WriteArgs>(arguments)?).await,
            "fs.edit" => files.edit(args::<EditArgs>(arguments)?).await,
            "fs.grep" => files.grep(args::<GrepArgs>(with_all(arguments))?).await,
            "fs.find" => files.find(args::<FindArgs>(with_all(arguments))?).await,
            "fs.stat" => files.stat(&args::<AtPath>(arguments)?.path).await,
            "fs.make_folder" => files.make_folder(&args::<AtPath>(arguments)?.path).await,
            "fs.rename" => {
                let Rename { from, to } = args(arguments)?;
                files.rename(&from, &to).await
            }
            "fs.remove" => {
                let Remove { path, recursive } = args(arguments)?;
                files.remove(&path, recursive).await
            }
            _ => Err(ToolError::not_found(format!("there is no {name}"))),
        }
    }
}

fn args<T: DeserializeOwned>(arguments: Value) -> Result<T, ToolError> {
    serde_json::from_value(arguments).map_err(|error| ToolError::invalid(error.to_string()))
}

/// A program takes all that there is, where a model is shown the beginning.
fn with_all(arguments: Value) -> Value {
    let Value::Object(given) = arguments else {
        return arguments;
    };
    let mut all = Map::from_iter([("head_limit".to_owned(), json!(0))]);
    all.extend(given);
    Value::Object(all)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rtc_tool::{Access, Extensions, NoTurns, Permit, Seen};
    use rtc_types::{RtcId, SessionId};

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

    #[tokio::test]
    async fn questions_are_counted_here_whatever_number_they_say() {
        let files = ScriptFiles::new(&CallContext {
            session: SessionId::new(uuid::Uuid::nil()),
            rtc: RtcId::new(uuid::Uuid::nil()),
            attempt: 1,
            cancel: CancellationToken::new(),
            permit: Arc::new(Nothing),
            seen: Arc::new(Nothing),
            turns: Arc::new(NoTurns),
            extensions: Extensions::default(),
        });
        for _ in 0..MAX_HOST_CALLS {
            let error = files.call(1, "no", Value::Null).await.unwrap_err();
            assert_eq!(error.message, "there is no no");
        }
        let error = files.call(1, "no", Value::Null).await.unwrap_err();
        assert_eq!(error.message, "10000 calls are as many as a script may make");
    }
}
