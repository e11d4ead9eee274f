//! The tools: one for each way in which a call can be left by a crash.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rtc_engine::TodoWrite;
use rtc_tool::{
    Access, CallContext, Kind, Prepared, ProgressSender, Recovery, Registry, Subject, ToolError, handle,
};
use rtc_types::{ApprovalDecision, Mode, Preview, PreviewKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Sabotage;
use crate::scenario::{Scenario, Tool};
use crate::world::World;

/// Longer than a call runs without being shown as running, and longer than a stop waits.
const SLOW: Duration = Duration::from_millis(700);

/// What the tools of a run work on. They are made once; this comes with each call.
pub(crate) struct Bench {
    pub(crate) world: Arc<World>,
    pub(crate) scenario: Arc<Scenario>,
}

/// The tools, as an executor has them.
pub(crate) fn of_executor() -> &'static Registry {
    static TOOLS: OnceLock<Registry> = OnceLock::new();
    TOOLS.get_or_init(|| {
        let mut tools = Registry::default();
        tools.register(handle(Read));
        tools.register(handle(Write));
        tools.register(handle(Script));
        tools.register(handle(Ask));
        tools
    })
}

/// The tools, as the engine has them.
pub(crate) fn of_engine() -> &'static Registry {
    static TOOLS: OnceLock<Registry> = OnceLock::new();
    TOOLS.get_or_init(|| {
        let mut tools = of_executor().clone();
        tools.register(handle(TodoWrite));
        tools
    })
}

impl Bench {
    fn of(context: &CallContext) -> Result<Arc<Self>, ToolError> {
        let bench = context.extensions.get::<Self>();
        bench.ok_or_else(|| ToolError::execution("there is no world"))
    }

    async fn take_time(&self, call: &str) {
        if self.scenario.call(call).is_some_and(|call| call.slow) {
            tokio::time::sleep(SLOW).await;
        }
    }

    /// The user must have said Yes to this call, or to the like of it, before it has an effect.
    fn check_consent(&self, call: &str, tool: Tool) {
        let session_of = |id: &str| {
            id.split('.')
                .next()
                .and_then(|number| number.parse::<usize>().ok())
        };
        let plan = session_of(call).and_then(|session| Some((session, self.scenario.sessions.get(session)?)));
        let Some((session, plan)) = plan else {
            return self
                .world
                .wrong(format!("{call} takes effect, which nobody called"));
        };
        let is_of_tool = |id: &str| self.scenario.call(id).is_some_and(|other| other.tool == tool);
        let of_tool = |id: &str| session_of(id) == Some(session) && is_of_tool(id);
        let folder = self.scenario.folder(session);
        let in_folder = |id: &str| {
            session_of(id).is_some_and(|other| self.scenario.folder(other) == folder) && is_of_tool(id)
        };
        let answered = self.world.with(|facts| facts.answered.clone());
        let yes = answered.iter().any(|(id, decision)| match decision {
            ApprovalDecision::Once => &**id == call,
            // Each script is another program; all changes in a folder are of one file.
            ApprovalDecision::Session => &**id == call || (tool == Tool::Write && of_tool(id)),
            ApprovalDecision::Project => &**id == call || (tool == Tool::Write && in_folder(id)),
            ApprovalDecision::Reject | ApprovalDecision::Never => false,
        });
        let never = answered
            .iter()
            .any(|(id, decision)| *decision == ApprovalDecision::Never && tool == Tool::Write && of_tool(id));
        let may = |mode| match mode {
            Mode::Bypass => true,
            Mode::Plan => false,
            Mode::Manual => yes,
            Mode::Edit | Mode::Auto => yes || tool == Tool::Write,
        };
        // A copy begins in the mode that the first session has then.
        let (session, plan) = match &plan.copy {
            Some(_) => (0, &self.scenario.sessions[0]),
            None => (session, plan),
        };
        // Which of them held when it was claimed is not known here; that one of them did is enough. The last one may be
        // set already, without the user knowing it.
        let known = self.world.with(|facts| facts.users[session].modes_set);
        let set = plan.set_modes.iter().take(known + 1).map(|(_, mode)| *mode);
        let modes: Vec<Mode> = std::iter::once(plan.mode).chain(set).collect();
        if never || !modes.iter().copied().any(may) {
            self.world
                .wrong(format!("{call} takes effect in modes {modes:?} without a Yes"));
        }
    }

    fn end(&self, call: &str) -> Result<(), ToolError> {
        match self.scenario.call(call) {
            Some(plan) if plan.fails_late && self.world.sabotage == Sabotage::DeniesEffects => {
                Err(ToolError::invalid(format!("{call} was not made")))
            }
            Some(plan) if plan.fails => Err(ToolError::execution(format!("it ran {call} and failed"))),
            _ => Ok(()),
        }
    }
}

/// While a file is being changed.
struct Changing {
    bench: Arc<Bench>,
    path: String,
}

impl Changing {
    fn begin(bench: &Arc<Bench>, path: &str) -> Self {
        bench.world.begin_change(path);
        Self {
            bench: bench.clone(),
            path: path.to_owned(),
        }
    }
}

impl Drop for Changing {
    fn drop(&mut self) {
        self.bench.world.end_change(&self.path);
    }
}

#[derive(Deserialize, JsonSchema)]
struct ReadArgs {
    path: String,
}

struct Read;

impl rtc_tool::Tool for Read {
    type Args = ReadArgs;
    type Output = Value;

    fn name(&self) -> &str {
        "read"
    }

    fn description(&self) -> String {
        "Reads.".to_owned()
    }

    fn subject(&self, args: &ReadArgs) -> Result<Subject, ToolError> {
        Ok(Subject::read(&args.path))
    }

    async fn execute(
        &self,
        context: CallContext,
        args: ReadArgs,
        _: Option<Prepared>,
        _: ProgressSender,
    ) -> Result<Value, ToolError> {
        let bench = Bench::of(&context)?;
        let content = bench.world.with(|facts| facts.files.get(&args.path).cloned());
        match content {
            Some(content) => Ok(json!(content)),
            None => Err(ToolError::not_found(format!("there is no {}", args.path))),
        }
    }
}

#[derive(Deserialize, JsonSchema)]
struct WriteArgs {
    path: String,
    text: String,
}

struct Write;

impl rtc_tool::Tool for Write {
    type Args = WriteArgs;
    type Output = Value;

    fn name(&self) -> &str {
        "write"
    }

    fn description(&self) -> String {
        "Writes.".to_owned()
    }

    fn subject(&self, args: &WriteArgs) -> Result<Subject, ToolError> {
        Ok(Subject::write(&args.path))
    }

    async fn preview(&self, _: &CallContext, args: &WriteArgs) -> Result<Option<Preview>, ToolError> {
        Ok(Some(Preview {
            kind: PreviewKind::Diff,
            text: args.text.clone(),
            paths: vec![args.path.clone()],
            program: None,
        }))
    }

    async fn prepare(&self, context: &CallContext, args: &WriteArgs) -> Result<Option<Prepared>, ToolError> {
        let before = Bench::of(context)?
            .world
            .with(|facts| facts.files.get(&args.path).cloned());
        Ok(Some(Prepared {
            mark: json!({"before": before}),
            plan: Box::new(before),
        }))
    }

    async fn execute(
        &self,
        context: CallContext,
        args: WriteArgs,
        prepared: Option<Prepared>,
        _: ProgressSender,
    ) -> Result<Value, ToolError> {
        let bench = Bench::of(&context)?;
        let _changing = Changing::begin(&bench, &args.path);
        bench.take_time(&args.text).await;
        let now = bench.world.with(|facts| facts.files.get(&args.path).cloned());
        let planned_on = prepared.and_then(|prepared| prepared.plan.downcast::<Option<String>>().ok());
        if planned_on.as_deref() != Some(&now) {
            bench.world.wrong(format!(
                "somebody came between the plan of {} and its effect",
                args.text
            ));
        }
        context.permit.check(Access::Write, &args.path)?;
        let fails_late = bench
            .scenario
            .call(&args.text)
            .is_some_and(|call| call.fails_late);
        if !fails_late {
            bench.end(&args.text)?;
        }
        bench.check_consent(&args.text, Tool::Write);
        let runs_again = fails_late && bench.world.sabotage == Sabotage::FailedRunAgain;
        for _ in 0..if runs_again { 2 } else { 1 } {
            bench.world.effect(
                || format!("write {}", args.text),
                |facts| {
                    facts.applied.push(args.text.as_str().into());
                    facts.files.insert(args.path.clone(), args.text.clone());
                },
            );
        }
        bench.end(&args.text)?;
        context.seen.note(&args.path, json!(args.text));
        Ok(json!(format!("wrote {}", args.text)))
    }

    async fn recover(
        &self,
        context: &CallContext,
        args: &WriteArgs,
        mark: &Value,
    ) -> Result<Recovery, ToolError> {
        let bench = Bench::of(context)?;
        let now = bench.world.with(|facts| facts.files.get(&args.path).cloned());
        if bench.world.sabotage == Sabotage::RecoverLies {
            return Ok(Recovery::NotApplied);
        }
        Ok(if now.as_ref() == Some(&args.text) {
            Recovery::Applied(json!(format!("wrote {}", args.text)))
        } else if json!(now) == mark["before"] {
            Recovery::NotApplied
        } else {
            bench.world.wrong(format!(
                "whether {} took effect cannot be said: somebody else wrote meanwhile",
                args.text
            ));
            Recovery::Neither("Somebody else wrote.".to_owned())
        })
    }
}

#[derive(Deserialize, JsonSchema)]
struct ScriptArgs {
    code: String,
}

struct Script;

impl rtc_tool::Tool for Script {
    type Args = ScriptArgs;
    type Output = Value;

    fn name(&self) -> &str {
        "script"
    }

    fn description(&self) -> String {
        "Runs a program.".to_owned()
    }

    fn subject(&self, args: &ScriptArgs) -> Result<Subject, ToolError> {
        Ok(Subject {
            access: Access::Exec,
            paths: Vec::new(),
            digest: Some(args.code.clone()),
        })
    }

    async fn prepare(&self, _: &CallContext, _: &ScriptArgs) -> Result<Option<Prepared>, ToolError> {
        Ok(Some(Prepared {
            mark: Value::Null,
            plan: Box::new(()),
        }))
    }

    async fn execute(
        &self,
        context: CallContext,
        args: ScriptArgs,
        _: Option<Prepared>,
        _: ProgressSender,
    ) -> Result<Value, ToolError> {
        let bench = Bench::of(&context)?;
        bench.take_time(&args.code).await;
        bench.check_consent(&args.code, Tool::Script);
        bench.world.effect(
            || format!("script {}", args.code),
            |facts| facts.applied.push(args.code.as_str().into()),
        );
        bench.end(&args.code)?;
        Ok(json!(format!("ran {}", args.code)))
    }

    async fn recover(&self, context: &CallContext, _: &ScriptArgs, _: &Value) -> Result<Recovery, ToolError> {
        Ok(
            if Bench::of(context)?.world.sabotage == Sabotage::ScriptsRunAgain {
                Recovery::NotApplied
            } else {
                Recovery::Neither("Nobody can tell.".to_owned())
            },
        )
    }
}

#[derive(Deserialize, JsonSchema)]
struct AskArgs {
    question: String,
}

struct Ask;

impl rtc_tool::Tool for Ask {
    type Args = AskArgs;
    type Output = Value;

    fn name(&self) -> &str {
        "ask"
    }

    fn kind(&self) -> Kind {
        Kind::User
    }

    fn description(&self) -> String {
        "Asks.".to_owned()
    }

    fn subject(&self, _: &AskArgs) -> Result<Subject, ToolError> {
        Ok(Subject {
            access: Access::Read,
            paths: Vec::new(),
            digest: None,
        })
    }

    async fn execute(
        &self,
        _: CallContext,
        _: AskArgs,
        _: Option<Prepared>,
        _: ProgressSender,
    ) -> Result<Value, ToolError> {
        Err(ToolError::execution("the user answers it"))
    }

    fn answer(&self, args: &AskArgs, answer: Value) -> Result<Value, ToolError> {
        Ok(json!({"question": args.question, "answer": answer}))
    }
}
