//! The worker process: serves the engine as a tool to the process that started it.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use rtc_hub::{Confinement, Host};
use rtc_tool::{
    CallContext, Capabilities, ErrorKind, Prepared, Progress, ProgressSender, Registry, Subject, Tool,
    ToolError, handle,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};

use crate::engine::{Control, Engine, Entry, Failure, Job};
use crate::limits::{Limit, MAX_CODE_BYTES, MAX_WORKER_BYTES};

/// The command that makes a worker of the program.
pub const WORKER_COMMAND: &str = "script-worker";

/// The name under which the engine is called.
pub(crate) const ENGINE: &str = "script_engine";

/// The name under which it is asked whether the engine is ready for the next script: the answer comes once it is.
pub(crate) const READY: &str = "script_ready";

/// The name under which it is asked what confines it.
pub(crate) const CONFINEMENT: &str = "script_confinement";

/// What a line of the console is called on its way.
pub(crate) const CONSOLE: &str = "console";

/// Tells that the engine was ready and the script has begun.
pub(crate) const BEGUN: &str = "begun";

/// What the engine is asked to do.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct EngineArgs {
    /// The code.
    pub(crate) code: String,
    /// What it sees as `params`.
    #[serde(default)]
    pub(crate) params: Value,
    /// Only look whether it can be read.
    #[serde(default)]
    pub(crate) only_check: bool,
    /// How long it may take once it has begun, in milliseconds.
    pub(crate) timeout_ms: u64,
}

/// What the engine gives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct EngineOutput {
    /// Nothing if the script gave nothing.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "rtc_hub::present"
    )]
    pub(crate) result: Option<Value>,
}

/// Runs this process as a worker: serves scripts over its standard input and output until the input ends.
pub fn worker() -> ExitCode {
    rtc_hub::limit_memory(MAX_WORKER_BYTES);
    // Before there is another thread.
    let confinement = rtc_hub::confine();
    let mut tools = Registry::default();
    drop(tools.register(handle(ConfinementTool { confinement })));
    match Engine::start() {
        Ok(engine) => {
            let is_ready = engine.is_ready();
            drop(tools.register(handle(EngineTool { engine })));
            drop(tools.register(handle(ReadyTool { is_ready })));
        }
        Err(error) => tracing::error!(%error, "the engine has no thread"),
    }
    rtc_hub::run_worker(tools)
}

struct EngineTool {
    engine: Engine,
}

impl Tool for EngineTool {
    type Args = EngineArgs;
    type Output = EngineOutput;

    fn name(&self) -> &str {
        ENGINE
    }

    fn description(&self) -> String {
        "Runs JavaScript.".to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            streaming: true,
            // It ends by itself when it is told to, and says on which line it was.
            supports_cancel: false,
            timeout: None,
            max_concurrency: Some(1),
        }
    }

    fn subject(&self, args: &EngineArgs) -> Result<Subject, ToolError> {
        if args.code.len() > MAX_CODE_BYTES {
            return Err(ToolError::invalid("the code is too long"));
        }
        Ok(Subject::read("/"))
    }

    async fn execute(
        &self,
        context: CallContext,
        args: EngineArgs,
        _prepared: Option<Prepared>,
        progress: ProgressSender,
    ) -> Result<EngineOutput, ToolError> {
        let (console, mut entries) = mpsc::unbounded_channel();
        let (begin, mut begun) = oneshot::channel();
        let (reply, mut replied) = oneshot::channel();
        let control = Arc::new(Control::default());
        // A dropped call leaves no script behind.
        let _abandoned = Abandoned(control.clone());
        let job = Job {
            code: args.code,
            params: args.params,
            only_check: args.only_check,
            host: context.extensions.get::<Host>(),
            console,
            control: control.clone(),
            begun: begin,
            reply,
        };
        if !self.engine.run(job).await {
            return Err(ToolError::execution("the script engine has broken down"));
        }
        // The time of a script does not begin while the engine still makes its world.
        let late = async {
            match (&mut begun).await {
                Ok(()) => {
                    let (subkind, payload) = (BEGUN.to_owned(), Value::Null);
                    progress.send(Progress::Custom { subkind, payload }).await;
                    tokio::time::sleep(Duration::from_millis(args.timeout_ms)).await;
                }
                // The engine has broken down, as its reply tells.
                Err(_) => std::future::pending().await,
            }
        };
        tokio::pin!(late);
        let (mut is_late, mut is_stopped) = (false, false);
        let ended = loop {
            tokio::select! {
                biased;
                () = &mut late, if !is_late => {
                    is_late = true;
                    control.end(Limit::Time);
                }
                () = context.cancel.cancelled(), if !is_stopped => {
                    is_stopped = true;
                    control.end(Limit::Stopped);
                }
                Some(entry) = entries.recv() => tell(&progress, entry).await,
                ended = &mut replied => break ended,
            }
        };
        // All that it wrote is here by now.
        while let Ok(entry) = entries.try_recv() {
            tell(&progress, entry).await;
        }
        match ended {
            Ok(Ok(result)) => Ok(EngineOutput { result }),
            Ok(Err(failure)) => Err(failure.into()),
            Err(_) => Err(ToolError::execution("the script engine has broken down")),
        }
    }
}

/// Tells what confines this process.
struct ConfinementTool {
    confinement: Confinement,
}

impl Tool for ConfinementTool {
    type Args = Nothing;
    type Output = Confinement;

    fn name(&self) -> &str {
        CONFINEMENT
    }

    fn description(&self) -> String {
        "Tells what confines the process.".to_owned()
    }

    fn subject(&self, _args: &Nothing) -> Result<Subject, ToolError> {
        Ok(Subject::read("/"))
    }

    async fn execute(
        &self,
        _context: CallContext,
        _args: Nothing,
        _prepared: Option<Prepared>,
        _progress: ProgressSender,
    ) -> Result<Confinement, ToolError> {
        Ok(self.confinement.clone())
    }
}

/// Tells when the engine is ready.
struct ReadyTool {
    is_ready: watch::Receiver<bool>,
}

/// Nothing is given for it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
struct Nothing {}

impl Tool for ReadyTool {
    type Args = Nothing;
    type Output = ();

    fn name(&self) -> &str {
        READY
    }

    fn description(&self) -> String {
        "Waits until the engine is ready for a script.".to_owned()
    }

    fn subject(&self, _args: &Nothing) -> Result<Subject, ToolError> {
        Ok(Subject::read("/"))
    }

    async fn execute(
        &self,
        _context: CallContext,
        _args: Nothing,
        _prepared: Option<Prepared>,
        _progress: ProgressSender,
    ) -> Result<(), ToolError> {
        let mut is_ready = self.is_ready.clone();
        let broken = |_| ToolError::execution("the script engine has broken down");
        is_ready.wait_for(|ready| *ready).await.map(drop).map_err(broken)
    }
}

struct Abandoned(Arc<Control>);

impl Drop for Abandoned {
    fn drop(&mut self) {
        self.0.end(Limit::Stopped);
    }
}

async fn tell(progress: &ProgressSender, entry: Entry) {
    // Text and numbers always have a JSON form.
    let payload = serde_json::to_value(entry).unwrap_or_default();
    let subkind = CONSOLE.to_owned();
    progress.send(Progress::Custom { subkind, payload }).await;
}

impl From<Failure> for ToolError {
    fn from(failure: Failure) -> Self {
        let kind = match failure.limit {
            Some(Limit::Time) => ErrorKind::Timeout,
            Some(_) | None => ErrorKind::Execution,
        };
        Self {
            details: serde_json::to_value(&failure).ok(),
            ..Self::new(kind, failure.message)
        }
    }
}
