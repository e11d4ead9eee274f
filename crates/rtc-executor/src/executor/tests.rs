use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use rtc_tool::{
    Access, CallContext, Capabilities, Kind, Policy, Prepared, Progress, ProgressSender, Recovery, Subject,
    Tool, ToolError, handle,
};
use rtc_types::{ClientId, Code, DeviceId, MessageId, Mode, Rtc, RtcStatus, SessionId, Timestamp, TurnId};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Notify;
use uuid::Uuid;

use super::*;
use crate::{Claimed, Folders, Started};

/// What the engine was told, in order.
#[derive(Debug, Clone, PartialEq)]
enum Told {
    Claim(u32, bool),
    Executing,
    Finish(u32, Result<Value, String>, Vec<(String, Value)>),
    Unknown(String),
}

/// An engine with one call.
struct FakePort {
    call: OpenCallParts,
    claims: bool,
    told: Mutex<Vec<Told>>,
    /// Answers to `finish` before it is taken.
    refusals: Mutex<VecDeque<PortError>>,
    ended: Notify,
}

#[derive(Clone)]
struct OpenCallParts {
    tool: &'static str,
    mode: Mode,
    started: Option<Started>,
    attempt: u32,
    access: Access,
}

impl FakePort {
    fn new(tool: &'static str) -> Self {
        Self {
            call: OpenCallParts {
                tool,
                mode: Mode::Edit,
                started: None,
                attempt: 0,
                access: Access::Write,
            },
            claims: true,
            told: Mutex::default(),
            refusals: Mutex::default(),
            ended: Notify::new(),
        }
    }

    fn terms(&self) -> Terms {
        Terms {
            policy: Policy {
                mode: self.call.mode,
                ..Policy::default()
            },
            consent: None,
        }
    }

    fn told(&self) -> Vec<Told> {
        lock(&self.told).clone()
    }

    fn is_over(&self) -> bool {
        lock(&self.told)
            .iter()
            .any(|told| matches!(told, Told::Finish(..) | Told::Unknown(_)))
    }
}

fn rtc_id() -> RtcId {
    RtcId::new(Uuid::from_u128(5))
}

fn session() -> SessionId {
    SessionId::new(Uuid::from_u128(6))
}

#[async_trait]
impl Port for FakePort {
    async fn next(&self, _session: SessionId) -> Result<Option<RtcId>, PortError> {
        Ok((!self.is_over() && self.claims).then(rtc_id))
    }

    async fn load(&self, rtc: RtcId) -> Result<Option<crate::OpenCall>, PortError> {
        if self.is_over() {
            return Ok(None);
        }
        let now = Timestamp::UNIX_EPOCH;
        Ok(Some(crate::OpenCall {
            rtc: Rtc {
                id: rtc,
                client_id: ClientId::new("c").unwrap(),
                session_id: session(),
                device_id: DeviceId::new(Uuid::nil()),
                turn_id: TurnId::new(Uuid::nil()),
                message_id: MessageId::new(Uuid::nil()),
                output_message_id: None,
                offset: 1,
                tool_name: self.call.tool.into(),
                parameters: json!({}),
                status: RtcStatus::Pending,
                attempt: self.call.attempt,
                approval: None,
                answered_by: None,
                preview: None,
                outcome: None,
                effect: None,
                result: None,
                error_message: None,
                created_at: now,
                updated_at: now,
                completed_at: None,
            },
            kind: Kind::Device,
            access: self.call.access,
            project: None,
            tree: session(),
            terms: self.terms(),
            started: self.call.started.clone(),
            root: None,
        }))
    }

    async fn begun(&self, _: Option<ProjectId>) -> Result<Vec<RtcId>, PortError> {
        Ok(self.call.started.iter().map(|_| rtc_id()).collect())
    }

    async fn claim(
        &self,
        _session: SessionId,
        _rtc: RtcId,
        attempt: u32,
        mark: Option<(Value, String)>,
    ) -> Result<Claimed, PortError> {
        lock(&self.told).push(Told::Claim(attempt, mark.is_some()));
        Ok(if self.claims {
            Claimed::Yes(self.terms())
        } else {
            Claimed::No
        })
    }

    async fn executing(&self, _session: SessionId, _rtc: RtcId) -> Result<(), PortError> {
        lock(&self.told).push(Told::Executing);
        Ok(())
    }

    async fn finish(
        &self,
        _session: SessionId,
        _rtc: RtcId,
        attempt: u32,
        result: Result<Value, ToolError>,
        seen: Vec<(String, Value)>,
    ) -> Result<(), PortError> {
        if let Some(refusal) = lock(&self.refusals).pop_front() {
            return Err(refusal);
        }
        lock(&self.told).push(Told::Finish(attempt, result.map_err(|error| error.message), seen));
        self.ended.notify_one();
        Ok(())
    }

    async fn outcome_unknown(
        &self,
        _session: SessionId,
        _rtc: RtcId,
        evidence: String,
    ) -> Result<(), PortError> {
        lock(&self.told).push(Told::Unknown(evidence));
        Ok(())
    }

    async fn seen(&self, _session: SessionId, path: &str) -> Result<Option<Value>, PortError> {
        Ok((path == "/stored").then(|| json!("from the store")))
    }

    fn trouble(&self, _session: SessionId, _code: Code, _reason: &str) {}

    fn progress(&self, _rtc: RtcId, _progress: Progress) {}
}

#[derive(Deserialize, JsonSchema)]
struct NoArgs {}

/// What a fake tool does.
#[derive(Clone, Copy, PartialEq)]
enum Does {
    Read,
    Effect,
    RefuseToPrepare,
    Slow,
    WaitForCancel,
    OpenProtected,
    Note,
}

struct Fake {
    name: &'static str,
    does: Does,
    recovery: fn() -> Recovery,
    runs: Arc<AtomicUsize>,
    gate: Arc<Notify>,
}

impl Tool for Fake {
    type Args = NoArgs;
    type Output = Value;

    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> String {
        "For tests.".into()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    fn subject(&self, _args: &NoArgs) -> Result<Subject, ToolError> {
        Ok(Subject::read("/"))
    }

    async fn prepare(&self, _context: &CallContext, _args: &NoArgs) -> Result<Option<Prepared>, ToolError> {
        match self.does {
            Does::RefuseToPrepare => Err(ToolError::execution("not read yet")),
            Does::Effect => Ok(Some(Prepared {
                mark: json!({"hash": 1}),
                plan: Box::new(()),
            })),
            _ => Ok(None),
        }
    }

    async fn execute(
        &self,
        context: CallContext,
        _args: NoArgs,
        _prepared: Option<Prepared>,
        _progress: ProgressSender,
    ) -> Result<Value, ToolError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        match self.does {
            Does::Slow => self.gate.notified().await,
            Does::WaitForCancel => {
                self.gate.notify_one();
                context.cancel.cancelled().await;
                return Err(ToolError::cancelled());
            }
            Does::OpenProtected => context.permit.check(Access::Write, "/.git/config")?,
            Does::Note => {
                let before = context.seen.get("/stored").await?;
                context.seen.note("/stored", Value::Null);
                let after = context.seen.get("/stored").await?;
                return Ok(json!([before, after]));
            }
            Does::Read | Does::Effect | Does::RefuseToPrepare => {}
        }
        Ok(json!("done"))
    }

    async fn recover(&self, _: &CallContext, _: &NoArgs, _: &Value) -> Result<Recovery, ToolError> {
        Ok((self.recovery)())
    }
}

struct Bench {
    port: Arc<FakePort>,
    executor: Executor,
    runs: Arc<AtomicUsize>,
    gate: Arc<Notify>,
    _folder: tempfile::TempDir,
}

fn bench(does: Does, change: impl FnOnce(&mut FakePort)) -> Bench {
    bench_with(does, || Recovery::NotApplied, change)
}

fn bench_with(does: Does, recovery: fn() -> Recovery, change: impl FnOnce(&mut FakePort)) -> Bench {
    patient_bench(does, recovery, change, Duration::ZERO)
}

fn patient_bench(
    does: Does,
    recovery: fn() -> Recovery,
    change: impl FnOnce(&mut FakePort),
    patience: Duration,
) -> Bench {
    let folder = tempfile::tempdir().unwrap();
    let mut port = FakePort::new("fake");
    change(&mut port);
    let port = Arc::new(port);
    let (runs, gate) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let mut tools = Registry::default();
    tools.register(handle(Fake {
        name: "fake",
        does,
        recovery,
        runs: runs.clone(),
        gate: gate.clone(),
    }));
    #[allow(clippy::disallowed_methods, reason = "a test makes its folders")]
    std::fs::create_dir(folder.path().join("scratch")).unwrap();
    let places = Folders::new(folder.path().into()).unwrap();
    let executor = Executor::new(port.clone(), tools, Arc::new(places), patience);
    Bench {
        port,
        executor,
        runs,
        gate,
        _folder: folder,
    }
}

fn finished(attempt: u32) -> Told {
    Told::Finish(attempt, Ok(json!("done")), Vec::new())
}

#[tokio::test]
async fn a_read_is_claimed_without_a_mark_and_an_effect_with_one() {
    for (does, mark) in [(Does::Read, false), (Does::Effect, true)] {
        let bench = bench(does, |_| {});
        bench.executor.wake(session());
        bench.port.ended.notified().await;
        assert_eq!(bench.port.told(), [Told::Claim(1, mark), finished(1)]);
    }
}

#[tokio::test]
async fn a_call_runs_once_however_many_ask_for_it() {
    let bench = bench(Does::Slow, |_| {});
    let asked: Vec<_> = (0..5)
        .map(|_| {
            let executor = bench.executor.clone();
            tokio::spawn(async move { executor.run(rtc_id()).await.unwrap() })
        })
        .collect();
    bench.executor.wake(session());
    while bench.runs.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    bench.gate.notify_one();
    for asked in asked {
        assert_eq!(asked.await.unwrap(), Ran::Ended);
    }
    assert_eq!(
        bench.executor.run(rtc_id()).await.unwrap(),
        Ran::Waits,
        "it has ended"
    );
    assert_eq!(bench.runs.load(Ordering::SeqCst), 1);
}

/// A worker that leaves calls to others for a second.
fn patient(does: Does) -> Bench {
    let recovery = || Recovery::Neither("nothing is known".into());
    patient_bench(does, recovery, |_| {}, Duration::from_secs(1))
}

#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_takes_is_run_by_the_worker() {
    let bench = patient(Does::Effect);
    let before = tokio::time::Instant::now();
    bench.executor.wake(session());
    bench.port.ended.notified().await;
    assert_eq!(before.elapsed(), Duration::from_secs(1));
    assert_eq!(bench.port.told(), [Told::Claim(1, true), finished(1)]);
}

#[tokio::test(start_paused = true)]
async fn a_session_with_nothing_to_run_has_no_worker() {
    let bench = patient(Does::Effect);
    let workers = || lock(&bench.executor.inner.workers).len();
    for _ in 0..2 {
        bench.executor.wake(session());
        assert_eq!(workers(), 1);
        let gone = async {
            while workers() > 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let gone = tokio::time::timeout(Duration::from_secs(10), gone).await;
        assert!(gone.is_ok(), "its worker stays");
    }
    assert_eq!(bench.runs.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_somebody_takes_is_not_waited_for() {
    let bench = patient(Does::Effect);
    let before = tokio::time::Instant::now();
    bench.executor.wake(session());
    tokio::task::yield_now().await;
    assert_eq!(bench.executor.run(rtc_id()).await.unwrap(), Ran::Ended);
    assert_eq!(before.elapsed(), Duration::ZERO);
    tokio::time::advance(Duration::from_secs(5)).await;
    assert_eq!(
        bench.runs.load(Ordering::SeqCst),
        1,
        "the worker leaves it at that"
    );
}

#[tokio::test(start_paused = true)]
async fn the_worker_joins_a_run_that_is_under_way() {
    let bench = patient(Does::Slow);
    let executor = bench.executor.clone();
    let run = tokio::spawn(async move { executor.run(rtc_id()).await.unwrap() });
    while bench.runs.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    bench.executor.wake(session());
    tokio::time::advance(Duration::from_secs(5)).await;
    bench.gate.notify_one();
    assert_eq!(run.await.unwrap(), Ran::Ended);
    assert_eq!(bench.runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_run_goes_on_when_who_asked_for_it_is_gone() {
    let bench = bench(Does::Slow, |_| {});
    let executor = bench.executor.clone();
    let asked = tokio::spawn(async move { executor.run(rtc_id()).await });
    while bench.runs.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    asked.abort();
    assert!(asked.await.unwrap_err().is_cancelled());
    let executor = bench.executor.clone();
    let joins = tokio::spawn(async move { executor.run(rtc_id()).await.unwrap() });
    tokio::task::yield_now().await;
    bench.gate.notify_one();
    assert_eq!(joins.await.unwrap(), Ran::Ended);
    assert_eq!(bench.runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn what_an_earlier_start_left_decides() {
    let digest = blake3::hash(b"{}").to_hex().to_string();
    let started = |digest: &str| Started {
        attempt: 3,
        at: Timestamp::UNIX_EPOCH,
        args_digest: digest.into(),
        mark: json!({}),
    };
    let neither = "It was started at 1970-01-01T00:00:00Z. The file differs.";
    let foreign =
        "It was started at 1970-01-01T00:00:00Z. The arguments are not those that it was started with.";
    type Case<'c> = (&'c str, fn() -> Recovery, &'c [Told], usize);
    let cases: [Case<'_>; 4] = [
        (
            &digest,
            || Recovery::Applied(json!("as before")),
            &[Told::Finish(3, Ok(json!("as before")), vec![])],
            0,
        ),
        (
            &digest,
            || Recovery::NotApplied,
            &[Told::Claim(4, true), finished(4)],
            1,
        ),
        (
            &digest,
            || Recovery::Neither("The file differs.".into()),
            &[Told::Unknown(neither.into())],
            0,
        ),
        (
            "other",
            || Recovery::Applied(json!("x")),
            &[Told::Unknown(foreign.into())],
            0,
        ),
    ];
    for (digest, recovery, told, runs) in cases {
        let bench = bench_with(Does::Effect, recovery, |port| {
            port.call.started = Some(started(digest));
            port.call.attempt = 3;
        });
        bench.executor.run(rtc_id()).await.unwrap();
        assert_eq!(bench.port.told(), told);
        assert_eq!(bench.runs.load(Ordering::SeqCst), runs);
    }
}

#[tokio::test]
async fn a_call_that_cannot_be_prepared_ends_without_having_been_started() {
    let bench = bench(Does::RefuseToPrepare, |_| {});
    bench.executor.run(rtc_id()).await.unwrap();
    assert_eq!(
        bench.port.told(),
        [Told::Finish(0, Err("not read yet".into()), Vec::new())]
    );
}

#[tokio::test]
async fn what_is_not_claimed_does_not_run() {
    let bench = bench(Does::Effect, |port| port.claims = false);
    assert_eq!(bench.executor.run(rtc_id()).await.unwrap(), Ran::Waits);
    assert_eq!(bench.runs.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn an_unknown_tool_is_a_result() {
    let bench = bench(Does::Read, |port| port.call.tool = "gone");
    bench.executor.run(rtc_id()).await.unwrap();
    assert_eq!(
        bench.port.told(),
        [Told::Finish(
            0,
            Err("this device has no tool gone".into()),
            Vec::new()
        )]
    );
}

#[tokio::test]
async fn a_path_opened_in_the_middle_of_a_run_is_decided_on_again() {
    for (mode, allowed) in [(Mode::Edit, false), (Mode::Bypass, true)] {
        let bench = bench(Does::OpenProtected, |port| port.call.mode = mode);
        bench.executor.run(rtc_id()).await.unwrap();
        let told = bench.port.told();
        let Some(Told::Finish(_, result, _)) = told.last() else {
            panic!("{told:?}")
        };
        assert_eq!(result.is_ok(), allowed, "{mode}: {result:?}");
    }
}

#[tokio::test]
async fn what_a_call_sees_is_stored_with_its_result_and_known_to_itself_before() {
    let bench = bench(Does::Note, |_| {});
    bench.executor.run(rtc_id()).await.unwrap();
    let result = json!(["from the store", null]);
    let seen = vec![("/stored".to_owned(), Value::Null)];
    assert_eq!(bench.port.told()[1], Told::Finish(1, Ok(result), seen));
}

#[tokio::test]
async fn a_cancelled_call_ends() {
    let bench = bench(Does::WaitForCancel, |_| {});
    bench.executor.wake(session());
    bench.gate.notified().await;
    bench.executor.cancel(rtc_id());
    bench.port.ended.notified().await;
    let told = bench.port.told();
    assert!(
        matches!(told.last(), Some(Told::Finish(1, Err(_), _))),
        "{told:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_result_is_offered_until_it_is_taken() {
    let later = || PortError::Later {
        code: Code::DiskFull,
        reason: "the disk is full".into(),
    };
    let bench = bench(Does::Read, |port| {
        port.refusals = Mutex::new([(); 8].map(|()| later()).into());
    });
    let before = tokio::time::Instant::now();
    bench.executor.run(rtc_id()).await.unwrap();
    assert_eq!(before.elapsed().as_secs(), 1 + 2 + 4 + 8 + 16 + 30 + 30 + 30);
    assert_eq!(
        bench.runs.load(Ordering::SeqCst),
        1,
        "the tool is not run again for it"
    );
}

#[tokio::test(start_paused = true)]
async fn a_read_that_takes_a_while_is_shown_as_running() {
    let bench = bench(Does::Slow, |_| {});
    let executor = bench.executor.clone();
    let run = tokio::spawn(async move { executor.run(rtc_id()).await.unwrap() });
    while !bench.port.told().contains(&Told::Executing) {
        tokio::time::advance(Duration::from_millis(1)).await;
        tokio::task::yield_now().await;
    }
    bench.gate.notify_one();
    assert_eq!(run.await.unwrap(), Ran::Ended);
}

#[tokio::test]
async fn a_started_call_whose_tool_is_gone_has_an_unknown_outcome() {
    let bench = bench(Does::Effect, |port| {
        port.call.tool = "gone";
        port.call.started = Some(Started {
            attempt: 1,
            at: Timestamp::UNIX_EPOCH,
            args_digest: "d".into(),
            mark: json!({}),
        });
    });
    assert_eq!(bench.executor.run(rtc_id()).await.unwrap(), Ran::Waits);
    let told = bench.port.told();
    assert!(
        matches!(&told[..], [Told::Unknown(why)] if why.contains("no tool gone")),
        "{told:?}"
    );
}
