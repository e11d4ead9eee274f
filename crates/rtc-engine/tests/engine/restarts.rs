//! What a start reads, and what it repairs.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use rtc_engine::{Command, Done, Outcome, Resolution, SessionState};
use rtc_store::{Key, MemoryStore, Store as _};
use rtc_types::Mode;
use serde_json::json;

use crate::bench::*;
use crate::failing::FailsToRead;

/// Sessions of long ago, and how many messages each has.
const OTHERS: usize = 40;

/// What the next process has to go on with: the engine ended in the middle of a call.
async fn in_the_middle(others: usize) -> Arc<MemoryStore> {
    let bench = bench(Vec::new()).await;
    for number in 0..others {
        let number = 100 + u128::try_from(number).unwrap();
        bench.script.replies.lock().unwrap().push_back(says("hi"));
        let (mode, client_id) = (Mode::Bypass, format!("o{number}"));
        bench
            .engine
            .send(message(number, &client_id, "hello", mode))
            .await
            .unwrap();
        bench.until(number, SessionState::is_idle).await;
    }
    bench.script.replies.lock().unwrap().push_back(one_edit());
    bench
        .engine
        .send(message(1, "c1", "x", Mode::Bypass))
        .await
        .unwrap();
    let claim = Command::Claim {
        rtc: bench.first_call().await,
        attempt: 1,
        mark: Some((json!({}), "digest".to_owned())),
    };
    bench.engine.tell(session(1), claim).await.unwrap();
    bench.engine.shut_down();
    bench.store
}

#[tokio::test(start_paused = true)]
async fn a_session_goes_on_at_once_and_the_others_are_not_read_for_it() {
    let mut reads = Vec::new();
    for others in [0, OTHERS] {
        let within = in_the_middle(others).await;
        let store = Arc::new(FailsToRead::new(within));
        let script = Arc::new(Script::default());
        script.replies.lock().unwrap().push_back(says("done"));
        let engine = engine_over(store.clone(), script.clone()).await;
        let unfinished = engine.unfinished().await.unwrap();
        assert_eq!(
            unfinished.iter().map(|(open, _)| *open).collect::<Vec<_>>(),
            [session(1)]
        );
        let state = engine.wake(session(1)).await.unwrap();
        assert!(script.woken() > 0, "the executor is told to look");
        let finish = Command::Finish {
            rtc: state.calls[0].stored.entity.id,
            attempt: 1,
            outcome: Outcome::of(Ok(json!("edited"))),
        };
        engine.tell(session(1), finish).await.unwrap();
        until(&engine, 1, SessionState::is_idle).await;
        assert_eq!(script.requests.lock().unwrap().len(), 1);
        reads.push(store.reads());
    }
    assert_eq!(reads[0], reads[1], "the other sessions cost nothing");
}

/// The messages and calls as they are stored.
async fn stored(bench: &Bench) -> Vec<(Key, Vec<u8>)> {
    // The kind of a record is the byte behind version and user.
    let is_of = |key: &Key| matches!(key.as_bytes()[17], b'M' | b'R');
    let all = bench
        .store
        .scan(&Key::from(Vec::new()), None, 10_000)
        .await
        .unwrap();
    let kept = all.into_iter().filter(|(key, _)| is_of(key));
    kept.map(|(key, entry)| (key, entry.value)).collect()
}

#[tokio::test(start_paused = true)]
async fn what_a_start_repaired_stays_as_it_is_at_every_later_one() {
    // A reply with two calls: of the first one nobody knows how it ended, and the second was never begun.
    let twice = calls(&[
        ("a", "edit", "{\"path\":\"/x\"}"),
        ("b", "edit", "{\"path\":\"/y\"}"),
    ]);
    let bench = bench(vec![twice]).await;
    bench.script.begins.store(true, Ordering::SeqCst);
    bench
        .engine
        .send(message(1, "c1", "x", Mode::Bypass))
        .await
        .unwrap();
    let rtc = bench.first_call().await;
    let claim = Command::Claim {
        rtc,
        attempt: 1,
        mark: Some((json!({}), "digest".to_owned())),
    };
    bench.engine.tell(session(1), claim).await.unwrap();
    let bench = bench.again().await;
    let evidence = "Neither can be said.".to_owned();
    for command in [
        Command::OutcomeUnknown { rtc, evidence },
        Command::Resolve {
            rtc,
            decision: Resolution::Tell,
        },
    ] {
        bench.engine.tell(session(1), command).await.unwrap();
    }
    // The turn is stopped before the second one: it gets its result as well. The next message begins another turn, whose
    // answer breaks off in the middle with each process.
    bench
        .ask("v1.turn.stop", json!({"session_id": session(1)}))
        .await
        .unwrap();
    bench.send("c2", "go on").await.unwrap();
    let mut bench = bench;
    let is_writing = |state: &SessionState| !state.streaming.is_empty();
    bench.until(1, is_writing).await;
    let mut repaired = Vec::new();
    for _ in 0..3 {
        bench = bench.again().await;
        bench.until(1, is_writing).await;
        repaired.push(stored(&bench).await);
    }
    // Each restart closes what the one before had begun to write; all else is the same to the byte.
    for pair in repaired.windows(2) {
        let begun = pair[0].iter().filter(|record| !pair[1].contains(record));
        assert_eq!(begun.count(), 1, "the message that was being written");
    }
    let requests = bench.requests();
    let after = &requests[1..];
    assert_eq!(after.len(), 4);
    for request in after {
        assert_eq!(request, &after[0]);
        let results: Vec<_> = request
            .items
            .iter()
            .filter_map(|item| match item {
                rtc_model::Item::ToolResult { call_id, .. } => Some(call_id.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(results, ["a", "b"]);
    }
}

/// The mode became stricter while the call ran, and the process died before its effect. While the user is asked, others
/// change the folder: of a start that is known to have changed nothing it could not be said afterwards.
#[tokio::test(start_paused = true)]
async fn a_start_that_changed_nothing_is_forgotten_where_the_user_is_asked_first() {
    let bench = engine_on(in_the_middle(0).await, Arc::default()).await;
    let rtc = bench.first_call().await;
    bench
        .engine
        .tell(session(1), Command::SetMode(Mode::Manual))
        .await
        .unwrap();
    let mark = Some((json!({}), "digest".to_owned()));
    // The executor has looked at what the first start left.
    let claim = Command::Claim {
        rtc,
        attempt: 2,
        mark,
    };
    let told = bench.engine.tell(session(1), claim).await.unwrap();
    assert!(matches!(told, Done::NotClaimed), "{told:?}");
    let bench = bench.again().await;
    let state = bench.until(1, |state| state.waits_for_user().is_some()).await;
    assert_eq!(state.calls[0].stored.private.mark, None);
}
