//! The tool `script`.

use std::time::Duration;

use rtc_tool::{
    Access, CallContext, Capabilities, ErrorKind, Prepared, ProgressSender, Recovery, Subject, Tool,
    ToolError,
};
use rtc_tools::{FileCalls, Lines, Write, WriteArgs, WriteMode};
use rtc_types::{Preview, PreviewKind, Program};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;

use crate::evidence::evidence;
use crate::limits::{DEFAULT_TIMEOUT_MS, MAX_CODE_BYTES, MAX_DEPTH, MAX_TIMEOUT_MS};
use crate::program::{digest, digest_of_save, is_deeper};
use crate::run::{self, Order, STOP_GRACE};
use crate::saved::script_path;
use crate::told::{self, Output};
use crate::workers::Workers;

/// The name of the tool.
pub const TOOL: &str = "script";

/// How many scripts run at a time; the others wait. To save one needs no place: it has the turn to change its project,
/// for which those that run may be waiting.
const MAX_SCRIPTS: usize = 4;

/// How long the syntax of a script may take to be read.
const CHECK_TIME: Duration = Duration::from_secs(10);

/// Runs JavaScript over the files of the project.
pub struct Script {
    workers: Workers,
    grace: Duration,
    places: Semaphore,
}

impl Script {
    /// A script tool with these workers.
    pub fn new(workers: Workers) -> Self {
        Self {
            workers,
            grace: STOP_GRACE,
            places: Semaphore::new(MAX_SCRIPTS),
        }
    }

    /// With another time than [`STOP_GRACE`] in which a script that is to end may end by itself.
    #[must_use]
    pub fn with_grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }
}

/// Arguments of [`Script`].
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptArgs {
    /// What the script does, in at most 20 characters; the user reads it.
    pub title: String,
    /// Run `code`, run the saved script `name`, or save `code` as `name`.
    #[serde(default)]
    pub action: Action,
    /// JavaScript, for `eval` and `save`.
    pub code: Option<String>,
    /// Name of the saved script, for `run` and `save`.
    pub name: Option<String>,
    /// What the script sees as `params`.
    #[serde(default)]
    pub params: Map<String, Value>,
    /// How long it may run, in milliseconds; at most 600000.
    #[serde(default = "default_timeout")]
    #[schemars(range(min = 1))]
    pub timeout: u64,
}

/// What is done with a script.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The code runs.
    #[default]
    Eval,
    /// A saved script runs.
    Run,
    /// The code is saved.
    Save,
}

fn default_timeout() -> u64 {
    DEFAULT_TIMEOUT_MS
}

/// What a call is about, its arguments checked.
enum Checked<'a> {
    Eval(&'a str),
    /// The path of the script.
    Run(String),
    Save(WriteArgs),
}

impl ScriptArgs {
    fn checked(&self) -> Result<Checked<'_>, ToolError> {
        if self.title.trim().is_empty() {
            return Err(ToolError::invalid(
                "`title` is empty; say in a few words what the script does",
            ));
        }
        if !(1..=MAX_TIMEOUT_MS).contains(&self.timeout) {
            return Err(ToolError::invalid(format!(
                "`timeout` is from 1 to {MAX_TIMEOUT_MS} milliseconds, got {}",
                self.timeout
            )));
        }
        if self.params.values().any(|value| is_deeper(value, MAX_DEPTH)) {
            return Err(ToolError::invalid(format!(
                "`params` is nested more than {MAX_DEPTH} deep; put data into files"
            )));
        }
        match self.action {
            Action::Eval => Ok(Checked::Eval(self.code("eval")?)),
            Action::Run => match &self.code {
                Some(_) => Err(ToolError::invalid(
                    "`code` is for `eval` and `save`; `run` runs a saved script",
                )),
                None => Ok(Checked::Run(self.path("run")?)),
            },
            Action::Save => Ok(Checked::Save(WriteArgs {
                content: self.code("save")?.to_owned(),
                path: self.path("save")?,
                mode: WriteMode::Overwrite,
            })),
        }
    }

    fn code(&self, action: &str) -> Result<&str, ToolError> {
        let code = self.code.as_deref().unwrap_or_default();
        if code.trim().is_empty() {
            return Err(ToolError::invalid(format!(
                "`code` is required for the action `{action}`"
            )));
        }
        fitting(code)?;
        Ok(code)
    }

    fn path(&self, action: &str) -> Result<String, ToolError> {
        let required = || ToolError::invalid(format!("`name` is required for the action `{action}`"));
        script_path(self.name.as_deref().ok_or_else(required)?)
    }
}

fn fitting(code: &str) -> Result<(), ToolError> {
    if code.len() > MAX_CODE_BYTES {
        return Err(ToolError::invalid(format!(
            "the code has {} bytes, {MAX_CODE_BYTES} at most can be run; put data into files",
            code.len()
        )));
    }
    Ok(())
}

/// What is durable before a script begins.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mark {
    /// Something runs.
    Ran {
        /// Its digest.
        digest: String,
        /// Which start of the call this is.
        attempt: u32,
    },
    /// The mark of the write.
    Saved(Value),
}

/// What goes on after that.
enum Plan {
    /// The code as it was when the call was prepared.
    Run(String),
    Save(Prepared),
}

fn encoded(value: &impl Serialize) -> Result<Value, ToolError> {
    serde_json::to_value(value).map_err(|error| ToolError::execution(error.to_string()))
}

impl Tool for Script {
    type Args = ScriptArgs;
    type Output = Output;

    fn name(&self) -> &str {
        TOOL
    }

    fn description(&self) -> String {
        "Runs JavaScript over the files of the project: for work on many files, for counting, for computing. Top-level \
         `await` works; `return` or the last expression is the result. There is `rtcAgent.fs` with ls(path), \
         read(path, {offset, limit}), readBytes(path), write(path, text, {mode}), edit(path, old, new, {all}), \
         grep(pattern, {path, glob, output_mode, …}), find(pattern, {path}), stat(path), mkdir(path), move(from, to), \
         remove(path, {recursive}), all with `await`; `rtcAgent.system` with delay, uuid, now, random, time, timezone; \
         `params`; `console`. ls gives names, grep {path, line, text}, find paths. Nothing else is reached: no network, \
         no programs, no modules. A file must be read before it is written over, as with the tools. `save` keeps a \
         script in /.rtc/scripts under `name`, `run` runs it with `params`."
            .to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            streaming: true,
            // It ends by itself when it is told to, and then says what it has changed.
            supports_cancel: false,
            timeout: None,
            max_concurrency: None,
        }
    }

    fn subject(&self, args: &ScriptArgs) -> Result<Subject, ToolError> {
        Ok(match args.checked()? {
            Checked::Eval(code) => Subject {
                access: Access::Exec,
                paths: Vec::new(),
                digest: Some(digest(code, &args.params)),
            },
            Checked::Run(path) => Subject {
                access: Access::Exec,
                paths: vec![path],
                digest: None,
            },
            // Its own digest, so that a Yes to it is a rule for nothing else, least of all for what scripts change.
            Checked::Save(write) => Subject {
                digest: Some(digest_of_save(&write.path, &write.content)),
                ..Subject::write(write.path)
            },
        })
    }

    async fn preview(&self, context: &CallContext, args: &ScriptArgs) -> Result<Option<Preview>, ToolError> {
        let (text, paths) = match args.checked()? {
            Checked::Eval(code) => (code.to_owned(), Vec::new()),
            Checked::Run(path) => (saved_code(context, &path).await?, vec![path]),
            Checked::Save(write) => (write.content, vec![write.path]),
        };
        self.workers.get_ready().await;
        let program = (args.action != Action::Save).then(|| Program {
            digest: digest(&text, &args.params),
            params: Value::Object(args.params.clone()),
        });
        Ok(Some(Preview {
            kind: PreviewKind::Code,
            text,
            paths,
            program,
        }))
    }

    async fn prepare(&self, context: &CallContext, args: &ScriptArgs) -> Result<Option<Prepared>, ToolError> {
        let ran = |code: &str| Mark::Ran {
            digest: digest(code, &args.params),
            attempt: context.attempt,
        };
        // Its mark is made durable first, which takes its time.
        self.workers.get_ready().await;
        let (mark, plan) = match args.checked()? {
            Checked::Eval(code) => (ran(code), Plan::Run(code.to_owned())),
            Checked::Run(path) => {
                let code = frozen_code(context, &path).await?;
                (ran(&code), Plan::Run(code))
            }
            Checked::Save(write) => {
                self.check(context, &write.content).await?;
                let prepared = Write.prepare(context, &write).await?;
                let lost = || ToolError::execution("the write of the script was not prepared");
                let prepared = prepared.ok_or_else(lost)?;
                (Mark::Saved(prepared.mark.clone()), Plan::Save(prepared))
            }
        };
        Ok(Some(Prepared {
            mark: encoded(&mark)?,
            plan: Box::new(plan),
        }))
    }

    async fn execute(
        &self,
        context: CallContext,
        args: ScriptArgs,
        prepared: Option<Prepared>,
        progress: ProgressSender,
    ) -> Result<Output, ToolError> {
        let prepared = match prepared {
            Some(prepared) => prepared,
            None => {
                let lost = || ToolError::execution("the script was not prepared");
                self.prepare(&context, &args).await?.ok_or_else(lost)?
            }
        };
        let lost = |_| ToolError::execution("what was prepared belongs to another tool; nothing was run");
        match (*prepared.plan.downcast::<Plan>().map_err(lost)?, args.checked()?) {
            (Plan::Save(prepared), Checked::Save(write)) => {
                let written = Write.execute(context, write, Some(prepared), progress).await?;
                Ok(saved(written.path))
            }
            (Plan::Run(code), _) => {
                let _place = tokio::select! {
                    biased;
                    () = context.cancel.cancelled() => return Err(ToolError::cancelled()),
                    place = self.places.acquire() => place.ok(),
                };
                let order = Order {
                    code,
                    params: Value::Object(args.params.clone()),
                    only_check: false,
                    timeout: Duration::from_millis(args.timeout),
                    grace: self.grace,
                };
                let ran = run::run(&self.workers, &context, order, Some(&progress)).await?;
                told::outcome(
                    ran,
                    args.name.filter(|_| args.action == Action::Run),
                    args.timeout,
                )
            }
            (Plan::Save(_), _) => Err(ToolError::execution("what was prepared belongs to another call")),
        }
    }

    async fn recover(
        &self,
        context: &CallContext,
        args: &ScriptArgs,
        mark: &Value,
    ) -> Result<Recovery, ToolError> {
        match (Mark::deserialize(mark), args.checked()?) {
            (Ok(Mark::Saved(mark)), Checked::Save(write)) => {
                Ok(match Write.recover(context, &write, &mark).await? {
                    Recovery::Applied(_) => Recovery::Applied(encoded(&saved(write.path))?),
                    other => other,
                })
            }
            (Ok(Mark::Ran { attempt, .. }), _) => Ok(Recovery::Neither(evidence(context, attempt).await)),
            _ => Ok(Recovery::Neither("Its mark cannot be read.".to_owned())),
        }
    }
}

impl Script {
    /// Fails if the code cannot be read as JavaScript.
    async fn check(&self, context: &CallContext, code: &str) -> Result<(), ToolError> {
        let order = Order {
            code: code.to_owned(),
            params: Value::Null,
            only_check: true,
            timeout: CHECK_TIME,
            grace: self.grace,
        };
        let ran = run::run(&self.workers, context, order, None).await?;
        match ran.ended {
            Ok(_) => Ok(()),
            Err(failure) => {
                let line = failure
                    .line
                    .map(|line| format!(" (line {line})"))
                    .unwrap_or_default();
                let why = failure.limit.map_or(failure.message, |limit| {
                    limit.reason(u64::try_from(CHECK_TIME.as_millis()).unwrap_or(0))
                });
                Err(ToolError::invalid(format!(
                    "the script was not saved: {why}{line}"
                )))
            }
        }
    }
}

fn saved(path: String) -> Output {
    let name = path
        .rsplit_once('/')
        .map_or(path.as_str(), |(_, name)| name)
        .trim_end_matches(".ts")
        .to_owned();
    Output {
        result: Some(json!(format!(
            "saved as {path}; run it with the action `run` and the name `{name}`"
        ))),
        name: Some(name),
        logs: Vec::new(),
        warnings: Vec::new(),
        errors: Vec::new(),
        duration_ms: None,
    }
}

/// The code of a saved script as it was when the call was made; what the user approved is what runs.
async fn frozen_code(context: &CallContext, path: &str) -> Result<String, ToolError> {
    let frozen = context.extensions.get::<Preview>();
    match frozen.as_deref() {
        Some(frozen) if frozen.kind == PreviewKind::Code => Ok(frozen.text.clone()),
        // If it still cannot be read, that is the reason.
        Some(_) => Err(match saved_code(context, path).await {
            Ok(_) => ToolError::new(
                ErrorKind::Stale,
                format!("`{path}` could not be read when it was called, but can be now; call it again"),
            ),
            Err(error) => error,
        }),
        None => saved_code(context, path).await,
    }
}

async fn saved_code(context: &CallContext, path: &str) -> Result<String, ToolError> {
    let code = FileCalls::new(context.clone())
        .read(path, Lines::default())
        .await?;
    match code {
        Value::String(code) => {
            fitting(&code)?;
            Ok(code)
        }
        _ => Err(ToolError::execution(format!("`{path}` has no text"))),
    }
}
