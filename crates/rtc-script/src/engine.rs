//! The JavaScript engine of the worker: a thread that runs one script after the other, each in a fresh runtime.
//!
//! The next runtime is made while nobody waits for it. A script reaches nothing but the operations in [`ops`].

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use deno_core::error::{JsError, exception_to_err};
use deno_core::{JsRuntime, OpState, PollEventLoopOptions, RuntimeOptions, v8};
use rtc_hub::Host;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::limits::{Limit, MAX_MEMORY_BYTES, MAX_RESULT_BYTES};
use unawaited::{Left, Unawaited};

mod failure;
mod last_expression;
mod ops;
mod unawaited;

pub(crate) use failure::Failure;

/// Scripts that wait for the engine; the worker serves one at a time.
const JOB_QUEUE: usize = 1;
/// The stack of the engine's thread, in bytes; the engine itself ends a recursion at 1 MiB.
const STACK_BYTES: usize = 16 << 20;
/// What a script is called in its own errors.
const SCRIPT_NAME: &str = "script.js";
/// Makes the world that a script sees.
const PRELUDE: &str = include_str!("engine/prelude.js");

/// A line of the console.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) level: Level,
    pub(crate) text: String,
    /// The line of the script that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<u32>,
}

/// How loud a line of the console is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Level {
    Log,
    Warning,
    Error,
}

/// What to run.
pub(crate) struct Job {
    pub(crate) code: String,
    pub(crate) params: Value,
    /// Only looks whether the code can be read.
    pub(crate) only_check: bool,
    pub(crate) host: Option<Arc<Host>>,
    /// Not bounded itself: the limits of the console bound it.
    pub(crate) console: mpsc::UnboundedSender<Entry>,
    pub(crate) control: Arc<Control>,
    /// Told when the engine is ready and the script begins.
    pub(crate) begun: oneshot::Sender<()>,
    pub(crate) reply: oneshot::Sender<Result<Option<Value>, Failure>>,
}

/// Ends a running script from outside, and knows why it was ended.
#[derive(Default)]
pub(crate) struct Control {
    reason: OnceLock<Limit>,
    stop: CancellationToken,
    isolate: Mutex<Option<v8::IsolateHandle>>,
    /// The last line that called something; 0 if there was none.
    line: AtomicU32,
}

impl Control {
    /// Ends the script. The first reason is the one that counts.
    pub(crate) fn end(&self, why: Limit) {
        let _ = self.reason.set(why);
        self.stop.cancel();
        if let Some(isolate) = &*self.isolate.lock().unwrap_or_else(PoisonError::into_inner) {
            isolate.terminate_execution();
        }
    }

    fn begin(&self, isolate: v8::IsolateHandle) {
        let mut place = self.isolate.lock().unwrap_or_else(PoisonError::into_inner);
        if self.stop.is_cancelled() {
            isolate.terminate_execution();
        }
        *place = Some(isolate);
    }

    fn at(&self, line: u32) {
        if line > 0 {
            self.line.store(line, Ordering::Relaxed);
        }
    }

    fn last_line(&self) -> Option<u32> {
        Some(self.line.load(Ordering::Relaxed)).filter(|line| *line > 0)
    }
}

/// The way to the engine's thread.
pub(crate) struct Engine {
    jobs: mpsc::Sender<Job>,
    is_ready: watch::Receiver<bool>,
}

impl Engine {
    /// Starts the thread, which makes its first runtime at once.
    pub(crate) fn start() -> std::io::Result<Self> {
        let (jobs, receiver) = mpsc::channel(JOB_QUEUE);
        let (ready, is_ready) = watch::channel(false);
        std::thread::Builder::new()
            .name("script".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || work(receiver, &ready))?;
        Ok(Self { jobs, is_ready })
    }

    /// Hands over a script; its reply comes by itself. `false` if the engine has broken down.
    pub(crate) async fn run(&self, job: Job) -> bool {
        self.jobs.send(job).await.is_ok()
    }

    /// Turns true when the world of the next script is there, and false when a script takes it.
    pub(crate) fn is_ready(&self) -> watch::Receiver<bool> {
        self.is_ready.clone()
    }
}

fn work(mut jobs: mpsc::Receiver<Job>, ready: &watch::Sender<bool>) {
    let reactor = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(reactor) => reactor,
        Err(error) => {
            tracing::error!(%error, "the engine has no event loop");
            return;
        }
    };
    let _inside = reactor.enter();
    loop {
        let mut world = match World::new() {
            Ok(world) => world,
            Err(error) => {
                tracing::error!(error, "the engine did not start");
                return;
            }
        };
        ready.send_replace(true);
        let Some(job) = jobs.blocking_recv() else { return };
        ready.send_replace(false);
        let Job {
            code,
            params,
            only_check,
            host,
            console,
            control,
            begun,
            reply,
        } = job;
        // Whoever asked may have gone.
        let _ = begun.send(());
        control.begin(world.runtime.v8_isolate().thread_safe_handle());
        let unawaited = Unawaited::watch(world.runtime.v8_isolate(), control.clone());
        world.state.borrow_mut().put(ops::Running {
            params,
            host: host.filter(|_| !only_check),
            console,
            control: control.clone(),
            entries: 0,
            bytes: 0,
            host_calls: 0,
            waiting: ops::Waiting::default(),
            unawaited: unawaited.clone(),
        });
        let ended = reactor.block_on(world.run(&code, only_check, &control, &unawaited));
        // Whoever asked may have gone. A large world takes its time to be taken down, which no reply waits for.
        let _ = reply.send(ended);
        unawaited.clear();
        drop(world);
    }
}

/// One runtime, for one script.
struct World {
    runtime: JsRuntime,
    state: Rc<RefCell<OpState>>,
    /// Runs the main function of a script.
    start: v8::Global<v8::Function>,
    /// Tells what something failed with.
    failed: v8::Global<v8::Function>,
}

impl World {
    fn new() -> Result<Self, String> {
        let mut runtime = JsRuntime::new(RuntimeOptions {
            extensions: vec![ops::rtc_script::init()],
            create_params: Some(v8::CreateParams::default().heap_limits(0, MAX_MEMORY_BYTES)),
            ..RuntimeOptions::default()
        });
        let made = runtime
            .execute_script("prelude.js", PRELUDE)
            .map_err(|error| error.to_string())?;
        let [start, failed] = functions(&mut runtime, &made).ok_or("the prelude gives no two functions")?;
        let state = runtime.op_state();
        Ok(Self {
            runtime,
            state,
            start,
            failed,
        })
    }

    async fn run(
        &mut self,
        code: &str,
        only_check: bool,
        control: &Control,
        unawaited: &Unawaited,
    ) -> Result<Option<Value>, Failure> {
        let ended = self.run_freely(code, only_check, control, unawaited).await;
        if let Some(limit) = control.reason.get() {
            return Err(Failure::limit(*limit, control.last_line()));
        }
        // Nobody ended it, so the engine did, for want of memory.
        if self.runtime.v8_isolate().is_execution_terminating() {
            return Err(Failure::limit(Limit::Memory, control.last_line()));
        }
        ended.map_err(|ended| match ended {
            Ended::Failed(failure) => failure,
            Ended::Terminated => Failure::limit(Limit::Memory, control.last_line()),
        })
    }

    async fn run_freely(
        &mut self,
        code: &str,
        only_check: bool,
        control: &Control,
        unawaited: &Unawaited,
    ) -> Result<Option<Value>, Ended> {
        self.check(code)?;
        if only_check {
            return Ok(None);
        }
        let main = self.compile(code)?;
        let ended = self.runtime.call_with_args(&self.start, &[main]);
        let ended = self
            .runtime
            .with_event_loop_promise(ended, PollEventLoopOptions::default());
        let told = tokio::select! {
            biased;
            () = control.stop.cancelled() => return Err(Ended::Terminated),
            ended = unawaited.unless_left(ended) => ended,
        };
        let told = match told {
            Ok(ended) => ended.map_err(|error| failure::of_core(&error))?,
            Err(left) => return Err(self.left(left)),
        };
        let told = text(&mut self.runtime, &told);
        // What the script began and did not wait for is part of it.
        let rest = tokio::select! {
            biased;
            () = control.stop.cancelled() => return Err(Ended::Terminated),
            rest = unawaited.unless_left(self.runtime.run_event_loop(PollEventLoopOptions::default())) => rest,
        };
        match rest {
            Ok(rest) => rest.map_err(|error| failure::of_core(&error))?,
            Err(left) => return Err(self.left(left)),
        }
        if told.len() > MAX_RESULT_BYTES {
            return Err(Ended::Failed(Failure::limit(Limit::Result, None)));
        }
        failure::of_prelude(&told)
    }

    /// What failed where nothing waited for it, in words.
    fn left(&mut self, left: Left) -> Ended {
        let value = match left {
            Left::Thrown(failure) => return Ended::Failed(failure),
            Left::Rejected(value) => value,
        };
        let told = {
            deno_core::scope!(scope, self.runtime);
            let (value, failed) = (v8::Local::new(scope, value), v8::Local::new(scope, &self.failed));
            let nothing = v8::undefined(scope).into();
            let told = failed.call(scope, nothing, &[value]);
            told.map(|told| told.to_rust_string_lossy(scope))
        };
        // It catches what the value throws, so that only an end from outside ends it.
        let Some(told) = told else {
            return Ended::Terminated;
        };
        match failure::of_prelude(&told) {
            Err(Ended::Failed(failure)) => Ended::Failed(failure.in_promise()),
            Err(terminated @ Ended::Terminated) => terminated,
            Ok(_) => Ended::Terminated,
        }
    }

    /// Fails if the code is not the body of a function. Nothing of it runs.
    fn check(&mut self, code: &str) -> Result<(), Ended> {
        self.parse_body(code)
            .map_err(|error| match failure::of_js(&error) {
                Ended::Failed(failure) => Ended::Failed(failure.with_syntax_hint(code)),
                terminated @ Ended::Terminated => terminated,
            })
    }

    /// The script as a function that has not run yet, its last expression as its result.
    fn compile(&mut self, code: &str) -> Result<v8::Global<v8::Value>, Ended> {
        let mut budget = last_expression::MAX_TRIED_BYTES;
        for candidate in last_expression::candidates(code) {
            if budget < 3 * code.len() {
                break;
            }
            budget -= 3 * code.len();
            // Both must be right: `for (…)` alone is no statement, but with a `return` behind it it is.
            if self.parse(&arrow(&code[..candidate.start])).is_err() {
                continue;
            }
            let with_return = candidate.returned(code);
            if self.parse_body(&with_return).is_ok() {
                return self.function_of(&with_return);
            }
        }
        self.function_of(code)
    }

    /// Makes the function of a body that [`World::parse_body`] has found to be one.
    fn function_of(&mut self, body: &str) -> Result<v8::Global<v8::Value>, Ended> {
        self.runtime
            .execute_script(SCRIPT_NAME, arrow(body))
            .map_err(|error| failure::of_js(&error))
    }

    /// Whether the text is a body, and does not close the function early so that the rest of it runs at once.
    ///
    /// It is put into two functions. Behind the `}` of the first only `)` or `,` may follow, and behind that of the
    /// second neither: no text closes both early.
    fn parse_body(&mut self, body: &str) -> Result<(), Box<JsError>> {
        self.parse(&arrow(body))?;
        self.parse(&format!("{{async function script() {{{body}\n}}}}"))
    }

    /// Reads a program without running it.
    fn parse(&mut self, program: &str) -> Result<(), Box<JsError>> {
        deno_core::scope!(scope, self.runtime);
        let origin = v8::String::new(scope, SCRIPT_NAME).map(|name| {
            v8::ScriptOrigin::new(
                scope,
                name.into(),
                0,
                0,
                false,
                0,
                None,
                false,
                false,
                false,
                None,
            )
        });
        v8::tc_scope!(let scope, scope);
        let source = v8::String::new(scope, program);
        if source.is_some_and(|source| v8::Script::compile(scope, source, origin.as_ref()).is_some()) {
            return Ok(());
        }
        let thrown = scope.exception().unwrap_or_else(|| v8::undefined(scope).into());
        Err(exception_to_err(scope, thrown, false, false))
    }
}

/// A function with this body, on one line with its first line, so that line numbers are right.
fn arrow(body: &str) -> String {
    format!("(async () => {{{body}\n}})")
}

/// Why a script has no result.
pub(crate) enum Ended {
    /// It was ended from outside.
    Terminated,
    Failed(Failure),
}

/// The functions of a list.
fn functions<const N: usize>(
    runtime: &mut JsRuntime,
    list: &v8::Global<v8::Value>,
) -> Option<[v8::Global<v8::Function>; N]> {
    deno_core::scope!(scope, runtime);
    let list = v8::Local::<v8::Array>::try_from(v8::Local::new(scope, list)).ok()?;
    let functions: Vec<_> = (0..list.length())
        .filter_map(|index| {
            let function = v8::Local::<v8::Function>::try_from(list.get_index(scope, index)?).ok()?;
            Some(v8::Global::new(scope, function))
        })
        .collect();
    functions.try_into().ok()
}

fn text(runtime: &mut JsRuntime, value: &v8::Global<v8::Value>) -> String {
    deno_core::scope!(scope, runtime);
    let local = v8::Local::new(scope, value);
    local.to_rust_string_lossy(scope)
}
