//! Lanes over a memory store, with a scripted model and without an executor: what the driver adds to the rules.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use rtc_engine::{
    Command, Done, Engine, Host, Live, NewSession, Offset, Outcome, Send, SessionState, TodoWrite,
    TurnContext, UserCommand,
};
use rtc_model::{
    AssistantBlock, Event, Item, Model, ModelId, ModelStream, Reply, Request, StopReason, Usage,
};
use rtc_store::MemoryStore;
use rtc_tool::{
    CallContext, Prepared, ProgressSender, Registry, Subject, Tool, ToolError, ToolHandle, handle,
};
use rtc_types::{
    ApprovalDecision, ClientId, Clock, Code, DeviceId, Message, Mode, Preview, PreviewKind, ProjectId, RtcId,
    RtcStatus, Session, SessionId, Timestamp, TurnStatus, UserId,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Nothing here takes that long.
const BOUND: Duration = Duration::from_secs(20);

#[derive(Default)]
struct Script {
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<Request>>,
}

/// Replies by the script; when it is at its end, it never answers.
struct Scripted(Arc<Script>, ModelId);

fn model_id() -> ModelId {
    ModelId {
        api: "test".into(),
        model: "m".into(),
    }
}

#[async_trait]
impl Model for Scripted {
    fn id(&self) -> &ModelId {
        &self.1
    }

    async fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> Result<ModelStream, rtc_model::Error> {
        self.0.requests.lock().unwrap().push(request);
        let Some(reply) = self.0.replies.lock().unwrap().pop_front() else {
            cancel.cancelled().await;
            return Err(rtc_model::Error::Cancelled);
        };
        let deltas = reply.blocks.iter().filter_map(|block| match block {
            AssistantBlock::Text { text } => Some(Ok(Event::Text { delta: text.clone() })),
            _ => None,
        });
        let events: Vec<_> = deltas.chain([Ok(Event::Done(reply.clone()))]).collect();
        Ok(Box::pin(futures::stream::iter(events)))
    }
}

#[derive(Deserialize, JsonSchema)]
struct Args {
    path: String,
}

struct Edit;

impl Tool for Edit {
    type Args = Args;
    type Output = Value;

    fn name(&self) -> &str {
        "edit"
    }

    fn description(&self) -> String {
        "For tests.".into()
    }

    fn subject(&self, args: &Args) -> Result<Subject, ToolError> {
        Ok(Subject::write(&args.path))
    }

    async fn execute(
        &self,
        _: CallContext,
        _: Args,
        _: Option<Prepared>,
        _: ProgressSender,
    ) -> Result<Value, ToolError> {
        unreachable!("there is no executor here")
    }
}

struct TestHost {
    script: Arc<Script>,
    tools: Registry,
}

#[async_trait]
impl Host for TestHost {
    async fn turn_context(&self, session: &Session) -> TurnContext {
        TurnContext {
            model: model_id(),
            system: "system".into(),
            tools: Vec::new(),
            mode: session.mode,
            max_rounds: None,
        }
    }

    fn model(&self, _: &ModelId) -> Result<Arc<dyn Model>, rtc_model::Error> {
        Ok(Arc::new(Scripted(self.script.clone(), model_id())))
    }

    fn tools(&self) -> &Registry {
        &self.tools
    }

    async fn preview(&self, _: &Session, _: &Arc<dyn ToolHandle>, args: &Value) -> Option<Preview> {
        Some(Preview {
            kind: PreviewKind::Diff,
            text: format!("diff of {args}"),
            paths: vec!["/real".into()],
            program: None,
        })
    }

    fn wake(&self, _: SessionId) {}

    fn cancel(&self, _: RtcId) {}
}

struct TestClock;

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn entropy(&self) -> u64 {
        Uuid::new_v4().as_u64_pair().1
    }
}

struct Bench {
    store: Arc<MemoryStore>,
    engine: Engine,
    script: Arc<Script>,
}

async fn engine_on(store: Arc<MemoryStore>, script: Arc<Script>) -> Bench {
    let mut tools = Registry::default();
    tools.register(handle(Edit));
    tools.register(handle(TodoWrite));
    let host = Arc::new(TestHost {
        script: script.clone(),
        tools,
    });
    let user = UserId::new(Uuid::from_u128(1));
    let engine = Engine::open(store.clone(), user, Arc::new(TestClock), host)
        .await
        .unwrap();
    Bench {
        store,
        engine,
        script,
    }
}

async fn bench(replies: Vec<Reply>) -> Bench {
    let script = Script {
        replies: Mutex::new(replies.into()),
        ..Script::default()
    };
    engine_on(Arc::new(MemoryStore::new()), Arc::new(script)).await
}

impl Bench {
    async fn send(&self, client_id: &str, text: &str) -> Result<Message, rtc_engine::Error> {
        self.engine.send(message(1, client_id, text, Mode::Manual)).await
    }

    async fn until(&self, number: u128, done: impl Fn(&SessionState) -> bool) -> SessionState {
        let mut position = self.engine.position();
        let wait = async {
            loop {
                position.borrow_and_update();
                let state = self.engine.wake(session(number)).await.unwrap();
                if done(&state) {
                    return state;
                }
                position.changed().await.unwrap();
            }
        };
        tokio::time::timeout(BOUND, wait).await.expect("it happens")
    }

    async fn first_call(&self) -> RtcId {
        self.until(1, |state| !state.calls.is_empty()).await.calls[0]
            .stored
            .entity
            .id
    }

    fn requests(&self) -> Vec<Request> {
        self.script.requests.lock().unwrap().clone()
    }
}

fn session(number: u128) -> SessionId {
    SessionId::new(Uuid::from_u128(number))
}

fn project() -> ProjectId {
    ProjectId::new(Uuid::from_u128(3))
}

fn message(number: u128, client_id: &str, text: &str, mode: Mode) -> Send {
    Send {
        client_id: ClientId::new(client_id).unwrap(),
        text: text.into(),
        new_session: NewSession {
            id: session(number),
            client_id: ClientId::new(format!("session-{number}")).unwrap(),
            user: UserId::new(Uuid::from_u128(1)),
            device: DeviceId::new(Uuid::from_u128(2)),
            project: Some(project()),
            mode,
        },
    }
}

fn says(text: &str) -> Reply {
    let blocks = vec![AssistantBlock::Text { text: text.into() }];
    Reply {
        blocks,
        stop: StopReason::EndTurn,
        usage: Usage::default(),
    }
}

fn calls(calls: &[(&str, &str, &str)]) -> Reply {
    let block = |(id, name, arguments): &(&str, &str, &str)| AssistantBlock::ToolCall {
        id: (*id).into(),
        name: (*name).into(),
        arguments: (*arguments).into(),
    };
    Reply {
        blocks: calls.iter().map(block).collect(),
        stop: StopReason::ToolUse,
        usage: Usage::default(),
    }
}

fn one_edit() -> Reply {
    calls(&[("a", "edit", "{\"path\":\"/x\"}")])
}

fn refusal<T: std::fmt::Debug>(result: Result<T, rtc_engine::Error>) -> Code {
    result.unwrap_err().code()
}

#[tokio::test]
async fn sending_twice_is_sending_once() {
    let bench = bench(vec![says("hi")]).await;
    let first = bench.send("c1", "hello").await.unwrap();
    bench.until(1, SessionState::is_idle).await;
    let again = bench.send("c1", "hello").await.unwrap();
    assert_eq!(again.id, first.id);
    assert_eq!(
        refusal(bench.send("c1", "something else").await),
        Code::ClientIdConflict
    );
    assert_eq!(
        refusal(bench.engine.send(message(2, "c1", "hello", Mode::Edit)).await),
        Code::ClientIdConflict
    );
    assert_eq!(bench.requests().len(), 1);
    assert_eq!(bench.engine.messages(session(1)).await.unwrap().len(), 2);
}

#[tokio::test]
async fn an_approval_shows_what_would_change_and_its_rule_holds_for_all_sessions() {
    let bench = bench(vec![one_edit()]).await;
    bench.send("c1", "edit x").await.unwrap();
    let rtc = bench.first_call().await;
    let stored = bench.engine.rtc(rtc).await.unwrap().unwrap();
    assert_eq!(stored.entity.preview.unwrap().text, "diff of {\"path\":\"/x\"}");
    let device = DeviceId::new(Uuid::from_u128(2));
    let approve = |decision| Command::Approve {
        rtc,
        decision,
        reason: None,
        device,
    };
    bench
        .engine
        .tell(session(1), approve(ApprovalDecision::Never))
        .await
        .unwrap();
    assert_eq!(bench.engine.rules(Some(project())).await.unwrap().len(), 1);
    assert_eq!(
        refusal(
            bench
                .engine
                .tell(session(1), approve(ApprovalDecision::Once))
                .await
        ),
        Code::ApprovalClosed
    );
    // Another session, even one that asks nothing: the rule is the user's.
    bench.until(1, |state| state.calls.is_empty()).await;
    bench.engine.tell(session(1), Command::Stop).await.unwrap();
    bench
        .script
        .replies
        .lock()
        .unwrap()
        .extend([one_edit(), says("so be it")]);
    bench
        .engine
        .send(message(2, "c2", "edit x", Mode::Bypass))
        .await
        .unwrap();
    bench.until(2, SessionState::is_idle).await;
    let rtcs = bench.engine.rtcs(session(2)).await.unwrap();
    assert_eq!(rtcs[0].entity.status, RtcStatus::Rejected);
}

#[tokio::test]
async fn unknown_tools_and_impossible_arguments_are_told_to_the_model() {
    let reply = calls(&[
        ("a", "eddit", "{}"),
        ("b", "edit", "{\"path\": "),
        ("c", "edit", "{\"path\": 7}"),
        (
            "d",
            "todoWrite",
            "{\"todos\":[{\"content\":\"Do\",\"status\":\"pending\",\"active_form\":\"Doing\"}]}",
        ),
        ("d", "edit", ""),
    ]);
    let bench = bench(vec![reply, says("sorry")]).await;
    bench.send("c1", "x").await.unwrap();
    bench.until(1, SessionState::is_idle).await;
    let requests = bench.requests();
    let results = requests[1].items.iter().filter_map(|item| match item {
        Item::ToolResult { text, call_id, .. } => Some((text.as_str(), call_id.clone())),
        _ => None,
    });
    let (texts, ids): (Vec<_>, HashSet<_>) = results.unzip();
    insta::assert_snapshot!(texts.join("\n"), @"
    [Tool Error] eddit failed: there is no tool eddit; there are edit, todoWrite
    [Tool Error] edit failed: the arguments are not valid JSON (EOF while parsing a value at line 1 column 9)
    [Tool Error] edit failed: `path` must be a string, got 7
    The list has 1 steps now.
    [Tool Error] edit failed: `path` is required and missing
    ");
    assert_eq!(ids.len(), 5, "an id that the model used twice is made unique");
    let stored = bench.engine.session(session(1)).await.unwrap().unwrap();
    assert_eq!(stored.entity.todo_list.len(), 1);
}

#[tokio::test]
async fn a_call_cut_off_by_the_token_limit_never_runs() {
    let cut = Reply {
        stop: StopReason::MaxTokens,
        ..one_edit()
    };
    let bench = bench(vec![cut, says("again")]).await;
    bench
        .engine
        .send(message(1, "c1", "x", Mode::Bypass))
        .await
        .unwrap();
    bench.until(1, SessionState::is_idle).await;
    assert!(bench.engine.rtcs(session(1)).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_stream_of_updates_has_every_change_in_order_without_a_gap() {
    let bench = bench(vec![one_edit(), says("done")]).await;
    bench
        .engine
        .send(message(1, "c1", "x", Mode::Bypass))
        .await
        .unwrap();
    let rtc = bench.first_call().await;
    let outcome = Outcome {
        result: Ok(json!("ok")),
        seen: vec![("/x".into(), json!({"hash": "h"}))],
    };
    bench
        .engine
        .tell(
            session(1),
            Command::Finish {
                rtc,
                attempt: 0,
                outcome,
            },
        )
        .await
        .unwrap();
    bench.until(1, SessionState::is_idle).await;
    let updates = bench.engine.updates(Offset(0), 100).await.unwrap();
    let offsets: Vec<_> = updates.iter().map(|update| update.offset).collect();
    assert_eq!(
        offsets,
        (1..=u64::try_from(updates.len()).unwrap()).collect::<Vec<_>>()
    );
    assert!(
        updates
            .iter()
            .all(|update| update.items.len() == update.data_list.len())
    );
    assert!(
        updates
            .iter()
            .flat_map(|update| &update.data_list)
            .all(Value::is_object)
    );
    assert_eq!(
        bench.engine.seen(session(1), "/x").await.unwrap(),
        Some(json!({"hash": "h"}))
    );
    assert_eq!(bench.engine.updates(Offset(2), 1).await.unwrap()[0].offset, 3);
}

#[tokio::test]
async fn a_lane_that_another_engine_took_over_ends() {
    let bench = bench(vec![one_edit()]).await;
    bench.send("c1", "x").await.unwrap();
    let rtc = bench.first_call().await;
    let second = engine_on(bench.store.clone(), Arc::new(Script::default())).await;
    second
        .engine
        .tell(session(1), Command::SetMode(Mode::Bypass))
        .await
        .unwrap();
    let late = Command::Finish {
        rtc,
        attempt: 0,
        outcome: Outcome::failed(ToolError::execution("late")),
    };
    assert!(
        bench.engine.tell(session(1), late).await.is_err(),
        "it would write over what the other knows"
    );
    assert_eq!(second.engine.wake(session(1)).await.unwrap().calls.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_reply_waits_for_room_on_the_disk_and_nothing_new_is_begun_meanwhile() {
    let bench = bench(Vec::new()).await;
    let mut live = bench.engine.live();
    bench.send("c1", "hello").await.unwrap();
    bench.until(1, |state| state.turn.is_some()).await;
    // The model is asked again after a restart; this time it answers, and there is no room for what it says.
    bench.engine.shut_down();
    bench.script.replies.lock().unwrap().push_back(says("hi"));
    let again = engine_on(bench.store.clone(), bench.script.clone()).await;
    drop(live);
    live = again.engine.live();
    bench.store.set_full(true);
    let _ = again.engine.wake(session(1)).await;
    let trouble = async {
        loop {
            if let Live::Trouble { code, .. } = live.recv().await.unwrap() {
                return code;
            }
        }
    };
    assert_eq!(
        tokio::time::timeout(BOUND, trouble).await.unwrap(),
        Code::DiskFull
    );
    assert_eq!(refusal(again.send("c2", "more").await), Code::DiskFull);
    bench.store.set_full(false);
    again.until(1, SessionState::is_idle).await;
    assert_eq!(
        again.engine.messages(session(1)).await.unwrap().len(),
        2,
        "the reply was not lost"
    );
}

#[tokio::test]
async fn stop_ends_the_request_to_the_model() {
    let bench = bench(Vec::new()).await;
    bench.send("c1", "x").await.unwrap();
    bench.until(1, |state| state.turn.is_some()).await;
    assert_eq!(
        bench.engine.tell(session(1), Command::Stop).await.unwrap(),
        Done::Ok
    );
    assert!(bench.engine.wake(session(1)).await.unwrap().is_idle());
    let turns = bench.engine.turns(session(1)).await.unwrap();
    assert_eq!(turns[0].entity.status, TurnStatus::Cancelled);
}

#[tokio::test]
async fn a_folder_is_one_project_however_often_it_is_opened() {
    let bench = bench(Vec::new()).await;
    let open = || UserCommand::OpenProject {
        device: DeviceId::new(Uuid::from_u128(2)),
        root: "/some/folder".into(),
    };
    let first = bench.engine.tell_user(open()).await.unwrap();
    assert_eq!(bench.engine.tell_user(open()).await.unwrap(), first);
    let trust = UserCommand::Trust {
        project: first.id,
        trusted: true,
    };
    assert!(bench.engine.tell_user(trust).await.unwrap().trusted);
    let second = engine_on(bench.store.clone(), Arc::new(Script::default())).await;
    assert!(
        second.engine.project(first.id).await.unwrap().trusted,
        "it is stored"
    );
    let unknown = UserCommand::Trust {
        project: ProjectId::new(Uuid::nil()),
        trusted: true,
    };
    assert_eq!(
        refusal(bench.engine.tell_user(unknown).await),
        Code::InvalidArgument
    );
}
