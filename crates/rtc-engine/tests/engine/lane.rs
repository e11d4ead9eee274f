//! Lanes: what the driver adds to the rules.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use rtc_engine::{Command, Done, Live, Offset, Outcome, SessionState, UserCommand};
use rtc_model::{Item, Reply, StopReason};
use rtc_store::{MemoryStore, VALUE_BYTES};
use rtc_tool::ToolError;
use rtc_types::{ApprovalDecision, Code, DeviceId, Mode, ProjectId, RtcStatus, TurnStatus, UserId};
use serde_json::{Value, json};
use tracing::field::Field;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use uuid::Uuid;

use crate::bench::*;

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
    [Tool Error] eddit failed: there is no tool eddit; there are edit, ask, todoWrite
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
    let open_trusted = |root: &str, trusted| UserCommand::OpenProject {
        device: DeviceId::new(Uuid::from_u128(2)),
        root: root.into(),
        trusted,
    };
    let open = || open_trusted("/some/folder", false);
    let first = bench.engine.tell_user(open()).await.unwrap();
    assert!(!first.trusted);
    assert_eq!(bench.engine.tell_user(open()).await.unwrap(), first);
    for (again, trusted) in [(false, false), (true, true), (false, true)] {
        let opened = bench
            .engine
            .tell_user(open_trusted("/other", again))
            .await
            .unwrap();
        assert_eq!(opened.trusted, trusted, "what was said stays said");
    }
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
        Code::ProjectNotFound
    );
}

#[tokio::test]
async fn an_engine_is_ready_while_it_takes_new_work() {
    let bench = bench(Vec::new()).await;
    bench.engine.ready().await.unwrap();
    bench.store.set_full(true);
    assert_eq!(refusal(bench.engine.ready().await), Code::DiskFull);
    bench.store.set_full(false);
    bench.engine.ready().await.unwrap();
    bench.engine.shut_down();
    assert_eq!(refusal(bench.engine.ready().await), Code::ShuttingDown);
}

#[tokio::test]
async fn twenty_calls_in_a_row_take_the_lane_once() {
    let replies = (0..20).map(|_| one_edit()).chain([says("done")]);
    let traced = Arc::new(Traced::default());
    let _tracing = tracing::subscriber::set_default(traced.clone());
    let bench = bench(replies.collect()).await;
    bench
        .engine
        .send(message(1, "c1", "x", Mode::Bypass))
        .await
        .unwrap();
    let taken = bench.held().await;
    let mut before = None;
    for _ in 0..20 {
        let next = |state: &SessionState| state.calls.first().map(|call| call.stored.entity.id);
        let state = bench
            .until(1, |state| next(state).is_some() && next(state) != before)
            .await;
        let rtc = next(&state).unwrap();
        before = Some(rtc);
        let finish = Command::Finish {
            rtc,
            attempt: 0,
            outcome: Outcome::of(Ok(json!("r"))),
        };
        bench.engine.tell(session(1), finish).await.unwrap();
    }
    bench.until(1, SessionState::is_idle).await;
    assert_eq!(bench.engine.rtcs(session(1)).await.unwrap().len(), 20);
    assert_eq!(bench.held().await, taken);
    assert_eq!(traced.count("the lane is taken"), 1);
    let bench = bench.again().await;
    bench.engine.tell(session(1), Command::Stop).await.unwrap();
    bench.send("c2", "again").await.unwrap();
    assert_ne!(bench.held().await, taken, "another start takes it anew");
    assert_eq!(traced.count("the lane is taken"), 2);
}

/// What the engine told to whoever has switched tracing on.
#[derive(Default)]
struct Traced(Mutex<Vec<String>>);

impl Traced {
    fn count(&self, message: &str) -> usize {
        let told = self.0.lock().unwrap();
        told.iter().filter(|told| *told == message).count()
    }
}

impl Subscriber for Traced {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("rtc_engine")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut |field: &Field, value: &dyn std::fmt::Debug| {
            if field.name() == "message" {
                self.0.lock().unwrap().push(format!("{value:?}"));
            }
        });
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn a_result_that_is_too_large_to_be_kept_ends_its_call_with_words() {
    let bench = bench(vec![one_edit(), says("done")]).await;
    bench
        .engine
        .send(message(1, "c1", "x", Mode::Bypass))
        .await
        .unwrap();
    let rtc = bench.first_call().await;
    let finish = Command::Finish {
        rtc,
        attempt: 0,
        outcome: Outcome::of(Ok(json!("x".repeat(VALUE_BYTES)))),
    };
    bench.engine.tell(session(1), finish).await.unwrap();
    bench.until(1, SessionState::is_idle).await;
    let ended = bench.engine.rtc(rtc).await.unwrap().unwrap().entity;
    assert_eq!(ended.status, RtcStatus::Failed);
    let told = ended.error_message.unwrap();
    assert!(told.contains("too large to be kept"), "{told}");
    assert_eq!(bench.requests().len(), 2);
}

#[tokio::test]
async fn a_step_of_many_records_is_told_whole_in_order_and_to_its_own_user_alone() {
    const CALLS: usize = 150;
    let store = Arc::new(MemoryStore::new());
    let args = "{\"path\":\"/x\"}";
    let ids: Vec<String> = (0..CALLS).map(|n| format!("call-{n}")).collect();
    let many: Vec<_> = ids.iter().map(|id| (id.as_str(), "edit", args)).collect();
    let mut engines = Vec::new();
    for user in [1, 8] {
        let script = Script::default();
        script.replies.lock().unwrap().push_back(calls(&many));
        let engine = engine_of(user, store.clone(), Arc::new(script), Arc::default()).await;
        let mut first = message(user, "c1", "x", Mode::Bypass);
        first.new_session.user = UserId::new(Uuid::from_u128(user));
        engines.push((user, first, engine));
    }
    // Both at once, so that their rows come between each other.
    let sent = engines
        .iter()
        .map(|(_, first, engine)| engine.send(first.clone()));
    for sent in futures::future::join_all(sent).await {
        sent.unwrap();
    }
    for (user, _, engine) in &engines {
        until(engine, *user, |state| state.calls.len() == CALLS).await;
        let updates = engine.updates(Offset(0), 1_000).await.unwrap();
        let offsets: Vec<u64> = updates.iter().map(|update| update.offset).collect();
        assert_eq!(offsets, (1..=updates.len() as u64).collect::<Vec<_>>());
        assert!(
            updates.iter().any(|update| update.items.len() == 200),
            "it takes several rows"
        );
        let mut told = HashSet::new();
        for update in &updates {
            assert!(update.items.len() <= 200 && update.items.len() == update.data_list.len());
            for (item, data) in update.items.iter().zip(&update.data_list) {
                assert_eq!(data["id"], json!(item.entity_id));
                let of = data.get("session_id").unwrap_or(&data["id"]);
                assert_eq!(of, &json!(session(*user)), "{item:?}");
                told.insert(item.entity_id);
            }
        }
        // The session, its turn, the message, and each call with its record.
        let rtcs = engine.rtcs(session(*user)).await.unwrap();
        let messages = engine.messages(session(*user)).await.unwrap();
        assert_eq!((rtcs.len(), messages.len()), (CALLS, CALLS + 1));
        let all = rtcs.iter().map(|rtc| rtc.entity.id.uuid());
        let all = all.chain(messages.iter().map(|message| message.entity.id.uuid()));
        assert!({ all }.all(|id| told.contains(&id)));
    }
}

#[tokio::test]
async fn what_is_asked_in_one_session_holds_up_no_other() {
    let bench = bench(vec![one_edit(), one_edit(), says("done")]).await;
    bench.send("c1", "x").await.unwrap();
    let waits = |state: &SessionState| state.waits_for_user().is_some();
    bench.until(1, waits).await;
    bench
        .engine
        .send(message(2, "c2", "y", Mode::Bypass))
        .await
        .unwrap();
    let state = bench.until(2, |state| !state.calls.is_empty()).await;
    let finish = Command::Finish {
        rtc: state.calls[0].stored.entity.id,
        attempt: 0,
        outcome: Outcome::of(Ok(json!("edited"))),
    };
    bench.engine.tell(session(2), finish).await.unwrap();
    bench.until(2, SessionState::is_idle).await;
    bench.until(1, waits).await;
}
