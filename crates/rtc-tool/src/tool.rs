//! The two traits: typed for authors, erased for everyone else.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::time::Duration;

use async_trait::async_trait;
use rtc_types::Preview;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{CallContext, Kind, ProgressSender, ToolError, ToolStream};

/// What a call does to what it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Looks.
    Read,
    /// Changes.
    Write,
    /// Runs a program.
    Exec,
}

/// What a call is about: permissions are decided on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// What it does.
    pub access: Access,
    /// Virtual paths that it names.
    pub paths: Vec<String>,
    /// Digest of the program, for `Exec`.
    pub digest: Option<String>,
}

impl Subject {
    /// Reads this path.
    pub fn read(path: impl Into<String>) -> Self {
        Self {
            access: Access::Read,
            paths: vec![path.into()],
            digest: None,
        }
    }

    /// Changes this path.
    pub fn write(path: impl Into<String>) -> Self {
        Self {
            access: Access::Write,
            paths: vec![path.into()],
            digest: None,
        }
    }
}

/// What a tool can do, and what is enforced around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether it sends progress. Progress of a tool that does not say so ends its call with an error.
    pub streaming: bool,
    /// Whether a cancelled call is dropped (`true`) or runs on with its result thrown away (`false`).
    pub supports_cancel: bool,
    /// How long a call may be prepared, then how long it may run, and how long each look at it may take (what an approval
    /// shows, what an earlier start left); `None`: as long as it likes. Then its token is cancelled. Whatever blocks a thread
    /// goes on there until it looks at the token, and nobody waits for it, but for a running call that cannot be dropped.
    pub timeout: Option<Duration>,
    /// How many calls may run at a time; `None`: any number.
    pub max_concurrency: Option<usize>,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self {
            streaming: false,
            supports_cancel: true,
            timeout: None,
            max_concurrency: None,
        }
    }
}

/// What a model is told of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Description {
    /// Its name.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// JSON Schema of its arguments, without references.
    pub input_schema: Value,
}

/// The first half of a call with an effect.
pub struct Prepared {
    /// Enough to tell later, from what is there then, whether the effect took place. Made durable before `execute`.
    pub mark: Value,
    /// What `execute` goes on with.
    pub plan: Box<dyn Any + Send>,
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared")
            .field("mark", &self.mark)
            .finish_non_exhaustive()
    }
}

/// What became of a call that was started when its process died.
#[derive(Debug, Clone, PartialEq)]
pub enum Recovery {
    /// The effect took place; this is the call's result.
    Applied(Value),
    /// It did not: the call may run (again).
    NotApplied,
    /// Neither can be said. The text is the evidence.
    Neither(String),
}

/// A tool, for its author.
pub trait Tool: Send + Sync + 'static {
    /// Its arguments. Their schema is what the model is shown.
    type Args: DeserializeOwned + JsonSchema + Send + Sync + 'static;
    /// Its result; the JSON form is stored and sent, the model reads [`crate::model_text`] of it.
    type Output: Serialize + Send + 'static;

    /// Its name, unique in a registry.
    fn name(&self) -> &str;

    /// Who runs it.
    fn kind(&self) -> Kind {
        Kind::Device
    }

    /// What the model is told of it.
    fn description(&self) -> String;

    /// What it can do.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    /// What a call is about. Fails where the arguments make no sense whatever is on disk.
    fn subject(&self, args: &Self::Args) -> Result<Subject, ToolError>;

    /// What an approval shows; reads, never changes.
    fn preview(
        &self,
        _context: &CallContext,
        _args: &Self::Args,
    ) -> impl Future<Output = Result<Option<Preview>, ToolError>> + Send {
        async { Ok(None) }
    }

    /// Everything but the effect: checks, reads, computes. `None` for a tool without an effect.
    fn prepare(
        &self,
        _context: &CallContext,
        _args: &Self::Args,
    ) -> impl Future<Output = Result<Option<Prepared>, ToolError>> + Send {
        async { Ok(None) }
    }

    /// Does it. `prepared` is what `prepare` gave.
    fn execute(
        &self,
        context: CallContext,
        args: Self::Args,
        prepared: Option<Prepared>,
        progress: ProgressSender,
    ) -> impl Future<Output = Result<Self::Output, ToolError>> + Send;

    /// What became of a call that was started with this mark.
    fn recover(
        &self,
        _context: &CallContext,
        _args: &Self::Args,
        _mark: &Value,
    ) -> impl Future<Output = Result<Recovery, ToolError>> + Send {
        async { Ok(Recovery::NotApplied) }
    }

    /// For tools that the user answers: checks the answer and makes the result of it.
    fn answer(&self, _args: &Self::Args, _answer: Value) -> Result<Self::Output, ToolError> {
        Err(ToolError::execution("this tool takes no answer from the user"))
    }
}

/// A tool, for everyone else: of any process, with JSON arguments. Made by [`crate::handle`].
#[async_trait]
pub trait ToolHandle: Send + Sync + 'static {
    /// What a model is told of it, its name included.
    fn describe(&self) -> &Description;

    /// Who runs it.
    fn kind(&self) -> Kind;

    /// What it can do.
    fn capabilities(&self) -> &Capabilities;

    /// Turns the arguments of a model into checked ones: near misses are mended, anything else is an error that names
    /// the field. Checking checked arguments changes nothing.
    fn check(&self, args: Value) -> Result<Value, ToolError>;

    /// What a call is about.
    fn subject(&self, args: &Value) -> Result<Subject, ToolError>;

    /// What an approval shows.
    async fn preview(&self, context: &CallContext, args: &Value) -> Result<Option<Preview>, ToolError>;

    /// Everything but the effect.
    async fn prepare(&self, context: &CallContext, args: &Value) -> Result<Option<Prepared>, ToolError>;

    /// Does it: `Progress*`, then exactly one `Terminal`.
    fn execute(&self, context: CallContext, args: Value, prepared: Option<Prepared>) -> ToolStream;

    /// What became of a call that was started with this mark.
    async fn recover(&self, context: &CallContext, args: &Value, mark: &Value)
    -> Result<Recovery, ToolError>;

    /// Makes the result of the user's answer.
    fn answer(&self, args: &Value, answer: Value) -> Result<Value, ToolError>;
}
