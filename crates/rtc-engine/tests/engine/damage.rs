//! A record that cannot be read stops only what needs it.

use std::sync::{Arc, Mutex};

use rtc_engine::{Command, Live, SessionState, UserCommand};
use rtc_model::Request;
use rtc_store::{Batch, Key, MemoryStore, Store};
use rtc_types::{ApprovalDecision, Code, DeviceId, Mode, SessionId};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::bench::*;

/// What a record is damaged to.
const DAMAGES: [&[u8]; 2] = [b"", b"{\"version\":1,\"ent\xff\x00"];

/// The sessions: with a call that was refused, of words alone, and with a call that waits for a Yes.
const REFUSED: u128 = 1;
const WORDS: u128 = 2;
const WAITING: u128 = 3;

/// A store with something of each kind.
async fn filled() -> Arc<MemoryStore> {
    let other_edit = calls(&[("b", "edit", "{\"path\":\"/y\"}")]);
    let bench = bench(vec![one_edit(), says("done"), says("hi"), other_edit]).await;
    let device = DeviceId::new(Uuid::from_u128(2));
    let opened = UserCommand::OpenProject {
        device,
        root: "/projects/notes".into(),
        trusted: true,
    };
    bench.engine.tell_user(opened).await.unwrap();
    bench.send("c1", "edit x").await.unwrap();
    let rtc = bench.first_call().await;
    let never = Command::Approve {
        rtc,
        decision: ApprovalDecision::Never,
        reason: None,
        device,
    };
    bench.engine.tell(session(REFUSED), never).await.unwrap();
    bench.until(REFUSED, SessionState::is_idle).await;
    for (number, client_id) in [(WORDS, "c2"), (WAITING, "c3")] {
        let send = message(number, client_id, "hello", Mode::Manual);
        bench.engine.send(send).await.unwrap();
        bench
            .until(number, |state| state.is_idle() || !state.calls.is_empty())
            .await;
    }
    bench.engine.shut_down();
    bench.store.clone()
}

async fn rows(store: &MemoryStore) -> Vec<(Key, Vec<u8>)> {
    let rows = store.scan(&Key::default(), None, usize::MAX).await.unwrap();
    rows.into_iter().map(|(key, entry)| (key, entry.value)).collect()
}

/// An engine on a copy of the store in which a record is another one.
async fn damaged(store: &MemoryStore, key: &Key, value: &[u8]) -> Bench {
    let copy = store.crash(usize::MAX);
    let mut batch = Batch::new();
    batch.put(key.clone(), value);
    copy.commit(batch).await.unwrap();
    let script = Script {
        replies: Mutex::new([says("again"), says("again")].into()),
        ..Script::default()
    };
    engine_on(Arc::new(copy), Arc::new(script)).await
}

/// The turns of a session that can be read.
async fn turns(bench: &Bench, number: u128) -> Vec<Value> {
    let ask = json!({"session_id": session(number), "limit": 50});
    match bench.ask("v1.turn.list", ask).await {
        Ok(mut reply) => match reply["result"]["items"].take() {
            Value::Array(turns) => turns,
            other => panic!("{other}"),
        },
        Err(_) => Vec::new(),
    }
}

/// Says something more in a session, and waits until it was answered, or not: an error is told.
async fn goes_on(bench: &Bench, number: u128) -> Result<(), Code> {
    let send = message(number, &format!("more-{number}"), "go on", Mode::Manual);
    let before = turns(bench, number).await;
    let mut position = bench.engine.position();
    let wait = async {
        bench.engine.send(send).await?;
        loop {
            position.borrow_and_update();
            if bench.engine.wake(session(number)).await?.is_idle() {
                return Ok::<_, rtc_engine::Error>(());
            }
            position.changed().await.unwrap();
        }
    };
    let ended = tokio::time::timeout(BOUND, wait).await.expect("it happens");
    ended.map_err(|error| error.code())?;
    let now = turns(bench, number).await;
    let turn = now.iter().find(|turn| !before.contains(turn)).unwrap();
    if turn["status"] == json!("completed") {
        return Ok(());
    }
    assert_eq!(turn["status"], json!("failed"), "{turn}");
    assert!(turn.to_string().contains("what is stored is damaged"), "{turn}");
    Err(Code::StoreDamaged)
}

fn mentions(bytes: &[u8], id: SessionId) -> bool {
    bytes.windows(16).any(|part| part == id.as_bytes())
}

#[tokio::test]
async fn any_record_that_cannot_be_read_leaves_the_others_as_they_are() {
    let store = filled().await;
    let whole = rows(&store).await;
    let healthy: Vec<Request> = {
        let bench = damaged(&store, &whole[0].0, &whole[0].1).await;
        goes_on(&bench, REFUSED).await.unwrap();
        bench.requests()
    };
    let mut refused = 0;
    for (key, value) in &whole {
        for damage in DAMAGES {
            // What has no content cannot be damaged.
            if value.is_empty() {
                continue;
            }
            let bench = damaged(&store, key, damage).await;
            let of = |number| mentions(key.as_bytes(), session(number)) || mentions(value, session(number));
            let listed = bench.engine.sessions().await.unwrap();
            assert!(listed.len() >= 2, "{key}");
            bench.engine.unfinished().await.unwrap();
            assert!(bench.engine.projects().await.len() <= 1);

            // One that it is not of goes on; one that it is of, too, as it would have, or says why it does not.
            let other = if of(WORDS) { REFUSED } else { WORDS };
            assert_eq!(goes_on(&bench, other).await, Ok(()), "{key}");
            if other != REFUSED {
                let before = bench.requests().len();
                match goes_on(&bench, REFUSED).await {
                    Ok(()) => assert_eq!(bench.requests()[before..], healthy, "{key}"),
                    Err(code) => {
                        assert_eq!(code, Code::StoreDamaged, "{key}");
                        assert_eq!(bench.requests().len(), before, "{key}: nothing else is asked");
                        refused += 1;
                    }
                }
            }
            for number in [REFUSED, WORDS, WAITING] {
                for method in ["v1.message.list", "v1.turn.list", "v1.rtc.list"] {
                    let ask = json!({"session_id": session(number), "limit": 50});
                    let read = bench.ask(method, ask).await;
                    assert!(
                        read.is_ok() || read == Err("store.damaged".into()),
                        "{key}: {read:?}"
                    );
                }
                if let Err(error) = bench.engine.wake(session(number)).await {
                    assert_eq!(error.code(), Code::StoreDamaged, "{key}: {error}");
                }
            }
            let kept = bench.store.get(key).await.unwrap().unwrap().value;
            assert_eq!(kept, damage, "{key}: it is not written over");
        }
    }
    assert!(refused >= 10, "{refused}");
}

/// The key of a record whose value holds this text.
async fn key_of(store: &MemoryStore, text: &str) -> Key {
    let found = rows(store).await.into_iter().find(|(_, value)| {
        let value = String::from_utf8_lossy(value);
        value.contains(text)
    });
    found.unwrap().0
}

async fn troubles(live: &mut tokio::sync::broadcast::Receiver<Live>) -> Vec<String> {
    let mut told = Vec::new();
    while let Ok(live) = live.try_recv() {
        if let Live::Trouble { code, message, .. } = live {
            told.push(format!("{code}: {message}"));
        }
    }
    told
}

#[tokio::test]
async fn a_session_that_cannot_be_read_is_told_by_its_id() {
    let store = filled().await;
    let key = key_of(&store, "\"session-2\"").await;
    let bench = damaged(&store, &key, b"").await;
    let mut live = bench.engine.live();
    assert_eq!(bench.engine.sessions().await.unwrap().len(), 2);
    insta::assert_snapshot!(troubles(&mut live).await.join("\n"), @"store.damaged: what is stored is damaged: session 00000000-0000-0000-0000-000000000002 cannot be read (EOF while parsing a value at line 1 column 0); nothing was deleted, and what does not need it goes on");
    let ask = json!({"session_id": session(WORDS)});
    assert_eq!(
        bench.ask("v1.session.get", ask).await,
        Err("store.damaged".into())
    );
}

#[tokio::test]
async fn a_message_that_cannot_be_read_is_left_out_of_a_page_and_never_of_a_request() {
    let store = filled().await;
    let key = key_of(&store, "edit x").await;
    let bench = damaged(&store, &key, b"torn").await;
    let mut live = bench.engine.live();
    for (order, limit) in [("oldest_first", 50), ("newest_first", 50), ("oldest_first", 1)] {
        let ask = json!({"session_id": session(REFUSED), "limit": limit, "order": order});
        let page = bench.result("v1.message.list", ask).await;
        let items = page["items"].as_array().unwrap();
        assert!(!items.is_empty());
        assert!(
            items.iter().all(|item| item["global_offset"] != json!(1)),
            "{page}"
        );
        let told = troubles(&mut live).await.join("\n");
        assert!(told.contains("message 1 of session"), "{told}");
    }
    assert_eq!(goes_on(&bench, REFUSED).await, Err(Code::StoreDamaged));
    let turns = json!(turns(&bench, REFUSED).await);
    assert!(turns.to_string().contains("message 1 of session"), "{turns}");
    assert!(bench.requests().is_empty());
}

#[tokio::test]
async fn rules_that_cannot_be_read_allow_nothing_until_they_begin_anew() {
    let store = filled().await;
    let key = key_of(&store, "\"effect\"").await;
    let bench = damaged(&store, &key, b"torn").await;
    let mut live = bench.engine.live();
    assert_eq!(
        refusal(bench.engine.rules(Some(project())).await),
        Code::StoreDamaged
    );
    // A mode that asks for nothing asks now, also when it is changed to afterwards.
    *bench.script.replies.lock().unwrap() = [one_edit(), says("done")].into();
    bench
        .engine
        .send(message(4, "c4", "edit", Mode::Bypass))
        .await
        .unwrap();
    let state = bench.until(4, |state| !state.calls.is_empty()).await;
    assert!(state.waits_for_user().is_some());
    let told = troubles(&mut live).await.join("\n");
    assert!(told.contains("the permission rules cannot be read"), "{told}");
    let set = |mode| bench.engine.tell(session(4), Command::SetMode(mode));
    set(Mode::Edit).await.unwrap();
    set(Mode::Bypass).await.unwrap();
    let state = bench.engine.wake(session(4)).await.unwrap();
    assert!(state.waits_for_user().is_some());
    let policy = bench
        .engine
        .policy(&state.session.clone().unwrap())
        .await
        .unwrap();
    assert_eq!((policy.mode, policy.rules.len()), (Mode::Manual, 0));

    // An answer that makes a rule: what stood there is kept.
    let never = Command::Approve {
        rtc: state.calls[0].stored.entity.id,
        decision: ApprovalDecision::Never,
        reason: None,
        device: DeviceId::new(Uuid::from_u128(2)),
    };
    bench.engine.tell(session(4), never).await.unwrap();
    assert_eq!(bench.engine.rules(Some(project())).await.unwrap().len(), 1);
    let rows = rows(&bench.store).await;
    assert_eq!(rows.iter().filter(|(_, value)| value == b"torn").count(), 1);
}

#[tokio::test]
async fn a_folder_that_cannot_be_read_stops_its_own_sessions_only() {
    let store = filled().await;
    let key = key_of(&store, "/projects/notes").await;
    let project: Value = serde_json::from_slice(&store.get(&key).await.unwrap().unwrap().value).unwrap();
    let project = serde_json::from_value(project["id"].clone()).unwrap();
    let mut inside = message(5, "c5", "hello", Mode::Manual);
    inside.new_session.project = Some(project);
    let first = engine_on(Arc::new(store.crash(usize::MAX)), Arc::new(Script::default())).await;
    first.engine.send(inside).await.unwrap();
    first.engine.shut_down();

    let bench = damaged(&first.store, &key, b"torn").await;
    assert_eq!(refusal(bench.engine.wake(session(5)).await), Code::StoreDamaged);
    assert_eq!(goes_on(&bench, WORDS).await, Ok(()));
}
