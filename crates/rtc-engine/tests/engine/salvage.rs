//! After damage: nothing goes on by itself, no call is left without its one result, nothing is allowed that may have been
//! forbidden, and what is lost is seen to be lost.

use std::collections::HashMap;
use std::sync::Arc;

use rtc_engine::{Command, Salvaged, SessionState, UserCommand, salvage};
use rtc_store::{Batch, Key, MemoryStore, Store};
use rtc_types::{
    ApprovalDecision, ApprovalState, Code, ContentData, DeviceId, Effect, MessageId, Mode, ProjectId,
    RtcStatus, StreamingStatus, TurnStatus, UserId,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::bench::*;

const DEVICE: DeviceId = DeviceId::new(Uuid::from_u128(2));
/// A session in which a rule was made, one of words alone, one whose call was started, one with a call that waits for a Yes
/// and a message that waits for its turn, and one whose model is silent.
const RULE: u128 = 1;
const WORDS: u128 = 2;
const STARTED: u128 = 3;
const WAITING: u128 = 4;
const SILENT: u128 = 5;

async fn rows(store: &MemoryStore) -> Vec<(Key, Vec<u8>)> {
    let rows = store.scan(&Key::default(), None, usize::MAX).await.unwrap();
    rows.into_iter().map(|(key, entry)| (key, entry.value)).collect()
}

/// A store with something of each kind, and the folder of its sessions.
async fn filled() -> (Arc<MemoryStore>, ProjectId) {
    let edit = || {
        calls(&[
            ("b", "edit", "{\"path\":\"/y\"}"),
            ("c", "edit", "{\"path\":\"/z\"}"),
        ])
    };
    let bench = bench(vec![one_edit(), says("done"), says("hi"), edit(), edit()]).await;
    let opened = UserCommand::OpenProject {
        device: DEVICE,
        root: "/projects/notes".into(),
        trusted: true,
    };
    let project = bench.engine.tell_user(opened).await.unwrap().id;
    let send = async |number, client_id: &str, mode| {
        let mut send = message(number, client_id, "hello", mode);
        send.new_session.project = Some(project);
        bench.engine.send(send).await.unwrap();
    };
    send(RULE, "c1", Mode::Manual).await;
    let state = bench.until(RULE, |state| !state.calls.is_empty()).await;
    let never = Command::Approve {
        rtc: state.calls[0].stored.entity.id,
        decision: ApprovalDecision::Never,
        reason: None,
        device: DEVICE,
    };
    bench.engine.tell(session(RULE), never).await.unwrap();
    bench.until(RULE, SessionState::is_idle).await;
    send(WORDS, "c2", Mode::Manual).await;
    bench.until(WORDS, SessionState::is_idle).await;
    send(STARTED, "c3", Mode::Bypass).await;
    let state = bench.until(STARTED, |state| !state.calls.is_empty()).await;
    let claim = Command::Claim {
        rtc: state.calls[0].stored.entity.id,
        attempt: 1,
        mark: Some((json!({"path": "/y"}), "digest".into())),
    };
    bench.engine.tell(session(STARTED), claim).await.unwrap();
    send(WAITING, "c4", Mode::Manual).await;
    bench.until(WAITING, |state| !state.calls.is_empty()).await;
    send(WAITING, "c5", Mode::Manual).await;
    send(SILENT, "c6", Mode::Edit).await;
    bench.until(SILENT, |state| state.turn.is_some()).await;
    bench.engine.shut_down();
    (bench.store.clone(), project)
}

/// An engine on the store without some of its rows, after it was mended.
async fn salvaged(store: &MemoryStore, lost: impl Fn(&Key, &[u8]) -> bool) -> (Bench, Salvaged) {
    let copy = store.crash(usize::MAX);
    let mut batch = Batch::new();
    for (key, value) in rows(&copy).await {
        if lost(&key, &value) {
            batch.delete(key);
        }
    }
    copy.commit(batch).await.unwrap();
    let copy = Arc::new(copy);
    let user = UserId::new(Uuid::from_u128(1));
    let salvaged = salvage(copy.clone(), user, DEVICE, &TestClock::default())
        .await
        .unwrap();
    (engine_on(copy, Arc::new(Script::default())).await, salvaged)
}

fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

fn kind(key: &Key) -> u8 {
    key.as_bytes()[17]
}

/// What must be so of every session that can be read, whatever was lost.
async fn judge(bench: &Bench, case: &str) {
    assert_eq!(bench.engine.unfinished().await.unwrap().len(), 0, "{case}");
    for listed in bench.engine.sessions().await.unwrap() {
        assert_eq!(listed.mode, Mode::Manual, "{case}");
        let id = listed.id;
        let (Ok(turns), Ok(rtcs)) = (bench.engine.turns(id).await, bench.engine.rtcs(id).await) else {
            panic!("{case}: no turn and no call was damaged");
        };
        assert!(
            turns.iter().all(|turn| turn.entity.status.is_terminal()),
            "{case}"
        );
        for rtc in &rtcs {
            let (entity, private) = (&rtc.entity, &rtc.private);
            assert!(entity.status.is_terminal(), "{case}: {entity:?}");
            assert!(private.mark.is_none() && private.lease.is_none(), "{case}");
            let approval = entity.approval.as_ref().map(|approval| approval.state);
            assert_ne!(approval, Some(ApprovalState::Open), "{case}");
        }
        let Ok(messages) = bench.engine.messages(id).await else {
            // One is lost; it is told, and the session does not go on.
            continue;
        };
        let mut outputs: HashMap<MessageId, u32> = HashMap::new();
        let mut inputs = Vec::new();
        for (message, offset) in messages.iter().zip(1..) {
            let entity = &message.entity;
            assert_eq!(entity.global_offset, offset, "{case}");
            let status = entity.streaming_status;
            let is_over = matches!(status, StreamingStatus::Completed | StreamingStatus::Failed);
            assert!(is_over, "{case}: {entity:?}");
            match entity.content.parse() {
                Some(ContentData::ToolcallInput(_)) => inputs.push(entity.id),
                Some(ContentData::ToolcallOutput(_)) => {
                    *outputs.entry(entity.parent_message_id.unwrap()).or_default() += 1;
                }
                _ => {}
            }
        }
        for input in inputs {
            assert_eq!(outputs.get(&input), Some(&1), "{case}: one result");
        }
    }
}

#[tokio::test]
async fn what_was_open_has_ended_and_no_effect_is_said_not_to_be() {
    let (store, _) = filled().await;
    let (bench, salvaged) = salvaged(&store, |_, _| false).await;
    let expected = Salvaged {
        sessions: 5,
        turns: 3,
        calls: 4,
        messages: salvaged.messages,
        ..Salvaged::default()
    };
    assert_eq!(salvaged, expected);
    judge(&bench, "all is there").await;
    for number in [STARTED, WAITING] {
        for rtc in bench.engine.rtcs(session(number)).await.unwrap() {
            assert_eq!(rtc.entity.status, RtcStatus::Failed);
            assert_eq!(
                rtc.entity.effect,
                Some(Effect::Unknown),
                "also one that seems not to be started"
            );
            assert!(rtc.entity.error_message.unwrap().contains("store.damaged"));
        }
    }
    for number in [STARTED, WAITING, SILENT] {
        let turns = bench.engine.turns(session(number)).await.unwrap();
        let turn = &turns.last().unwrap().entity;
        assert_eq!(turn.status, TurnStatus::Failed);
        assert!(turn.error_message.as_ref().unwrap().contains("store.damaged"));
    }
    assert!(bench.requests().is_empty(), "the model is asked nothing");

    // Sent again, a message is the one that it was.
    let before = bench.engine.messages(session(WAITING)).await.unwrap().len();
    bench
        .engine
        .send(message(WAITING, "c5", "hello", Mode::Manual))
        .await
        .unwrap();
    assert_eq!(
        bench.engine.messages(session(WAITING)).await.unwrap().len(),
        before
    );
    assert!(bench.engine.wake(session(WAITING)).await.unwrap().is_idle());

    // A new one goes on, with the results and with what waited.
    *bench.script.replies.lock().unwrap() = [says("again")].into();
    bench
        .engine
        .send(message(WAITING, "c7", "go on", Mode::Manual))
        .await
        .unwrap();
    bench.until(WAITING, SessionState::is_idle).await;
    let request = format!("{:?}", bench.requests());
    assert_eq!(
        request.matches("it may have taken effect").count(),
        2,
        "{request}"
    );
    assert_eq!(request.matches("\"hello\"").count(), 2, "{request}");
}

#[tokio::test]
async fn no_yes_from_before_holds_and_every_no_does() {
    let (store, project) = filled().await;
    let (bench, _) = salvaged(&store, |_, _| false).await;
    let rules = bench.engine.rules(Some(project)).await.unwrap();
    assert_eq!(rules.len(), 1, "what was forbidden is known");
    // A session of a mode that asks nothing asks, and what is forbidden stays so.
    *bench.script.replies.lock().unwrap() = [
        calls(&[
            ("a", "edit", "{\"path\":\"/other\"}"),
            ("b", "edit", "{\"path\":\"/x\"}"),
        ]),
        says("done"),
    ]
    .into();
    let mut send = message(9, "c9", "edit", Mode::Bypass);
    send.new_session.project = Some(project);
    bench.engine.send(send).await.unwrap();
    let state = bench.until(9, |state| !state.calls.is_empty()).await;
    assert_eq!(state.calls.len(), 1, "the other one was refused");
    assert!(state.waits_for_user().is_some());
    let policy = bench
        .engine
        .policy(&state.session.clone().unwrap())
        .await
        .unwrap();
    assert_eq!((policy.mode, policy.rules.len()), (Mode::Manual, 1));
    assert!(
        bench
            .engine
            .projects()
            .await
            .iter()
            .all(|project| !project.trusted)
    );

    // Until an answer makes a rule.
    let always = Command::Approve {
        rtc: state.calls[0].stored.entity.id,
        decision: ApprovalDecision::Project,
        reason: None,
        device: DEVICE,
    };
    bench.engine.tell(session(9), always).await.unwrap();
    assert_eq!(bench.engine.rules(Some(project)).await.unwrap().len(), 2);
    let state = bench.engine.wake(session(9)).await.unwrap();
    let policy = bench.engine.policy(&state.session.unwrap()).await.unwrap();
    assert_eq!(policy.mode, Mode::Bypass);

    // A second damage: the Yes is gone, the No stays. Without any rules, everything is asked, too.
    let (bench, _) = salvaged_again(&bench).await;
    assert_eq!(bench.engine.rules(Some(project)).await.unwrap(), rules);
    let (bench, _) = salvaged(&store, |key, _| kind(key) == b'G').await;
    assert_eq!(bench.engine.rules(Some(project)).await.unwrap(), []);
    let stored = bench.engine.session(session(WORDS)).await.unwrap().unwrap();
    assert_eq!(bench.engine.policy(&stored).await.unwrap().mode, Mode::Manual);
}

async fn salvaged_again(bench: &Bench) -> (Bench, Salvaged) {
    bench.engine.shut_down();
    salvaged(&bench.store, |_, _| false).await
}

#[tokio::test]
async fn whatever_row_is_lost_the_rest_is_whole() {
    let (store, _) = filled().await;
    let whole = rows(&store).await;
    for (lost, value) in &whole {
        let (bench, salvaged) = salvaged(&store, |key, _| key == lost).await;
        let case = format!("{lost}: {}", String::from_utf8_lossy(value));
        assert_eq!(salvaged.sessions, 5, "{case}");
        assert_eq!(salvaged.nameless, usize::from(kind(lost) == b'S'), "{case}");
        judge(&bench, &case).await;
        assert!(bench.requests().is_empty(), "{case}");
        // A session without all of its messages, or without its folder, can be read and does not go on.
        let is_whole = !matches!(kind(lost), b'M' | b'P' | b'S');
        *bench.script.replies.lock().unwrap() = [says("again")].into();
        for number in [RULE, WORDS] {
            let ask = json!({"session_id": session(number), "limit": 50});
            let page = bench.ask("v1.message.list", ask).await.unwrap();
            assert!(!page["result"]["items"].as_array().unwrap().is_empty(), "{case}");
        }
        if is_whole {
            let send = message(WORDS, "more", "go on", Mode::Manual);
            bench.engine.send(send).await.unwrap();
            bench.until(WORDS, SessionState::is_idle).await;
            assert_eq!(bench.requests().len(), 1, "{case}");
        }
    }
}

#[tokio::test]
async fn a_session_that_lacks_a_message_is_shown_and_asks_no_model() {
    let (store, _) = filled().await;
    let hi = |key: &Key, value: &[u8]| kind(key) == b'M' && has(value, "\\\"hi\\\"");
    let (bench, salvaged) = salvaged(&store, hi).await;
    assert_eq!(salvaged.lost, 1);
    *bench.script.replies.lock().unwrap() = [says("again")].into();
    bench
        .engine
        .send(message(WORDS, "more", "go on", Mode::Manual))
        .await
        .unwrap();
    bench.until(WORDS, SessionState::is_idle).await;
    assert!(bench.requests().is_empty());
    let ask = json!({"session_id": session(WORDS), "limit": 50});
    let turns: Value = bench.result("v1.turn.list", ask).await;
    assert!(turns.to_string().contains("message 2 of session"), "{turns}");
}

#[tokio::test]
async fn a_message_that_is_lost_is_not_taken_for_a_new_one() {
    let (store, _) = filled().await;
    // Its record, and the way to it.
    let sent = bench_message(&store).await;
    let of = |key: &Key, value: &[u8]| match kind(key) {
        b'M' => has(value, &format!("\"id\":\"{sent}\"")),
        b'I' => key.as_bytes().ends_with(sent.uuid().as_bytes()),
        _ => false,
    };
    let (bench, _) = salvaged(&store, of).await;
    let again = bench
        .engine
        .send(message(WORDS, "c2", "hello", Mode::Manual))
        .await;
    assert_eq!(refusal(again), Code::StoreDamaged);
    assert!(bench.requests().is_empty());
}

/// The message that was sent as `c2`.
async fn bench_message(store: &MemoryStore) -> MessageId {
    let rows = rows(store).await;
    let found = rows
        .iter()
        .find(|(key, _)| kind(key) == b'K' && key.as_bytes().ends_with(b"c2"));
    serde_json::from_slice(&found.unwrap().1).unwrap()
}

#[tokio::test]
async fn records_that_are_older_than_what_followed_count_for_nothing() {
    let (store, _) = filled().await;
    // As after the loss of a page with the newest session record: it says that nothing is open, and fewer messages.
    let mut old = Batch::new();
    for (key, value) in rows(&store).await {
        if kind(&key) == b'S' && key.as_bytes().ends_with(session(WAITING).as_bytes()) {
            let mut value: Value = serde_json::from_slice(&value).unwrap();
            value["private"]["last_message"] = json!(1);
            value["private"]["last_rtc"] = json!(0);
            for list in ["calls", "waiting", "streaming"] {
                value["private"][list] = json!([]);
            }
            value["private"]["turn"] = Value::Null;
            old.put(key, value.to_string());
        }
    }
    let copy = store.crash(usize::MAX);
    copy.commit(old).await.unwrap();
    let (bench, salvaged) = salvaged(&copy, |_, _| false).await;
    assert_eq!((salvaged.turns, salvaged.calls, salvaged.lost), (3, 4, 0));
    judge(&bench, "an older session").await;
    *bench.script.replies.lock().unwrap() = [says("again")].into();
    let before = bench.engine.messages(session(WAITING)).await.unwrap();
    bench
        .engine
        .send(message(WAITING, "c7", "go on", Mode::Manual))
        .await
        .unwrap();
    bench.until(WAITING, SessionState::is_idle).await;
    let after = bench.engine.messages(session(WAITING)).await.unwrap();
    assert_eq!(after[..before.len()], before, "nothing is written over");
}
