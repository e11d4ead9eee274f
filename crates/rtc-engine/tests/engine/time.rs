//! No timer forgets: however long something waits for the user, it goes on when they are back.

use std::sync::Arc;
use std::time::Duration;

use rtc_engine::{Command, Outcome, SessionState};
use rtc_store::MemoryStore;
use rtc_types::{ApprovalDecision, ApprovalState, DeviceId, Mode, OutcomeKnown, RtcStatus, TurnStatus};
use serde_json::json;
use tokio::time::Instant;
use uuid::Uuid;

use crate::bench::*;

/// A long weekend, and more than anything that is swept has.
const DAYS: Duration = Duration::from_secs(4 * 24 * 60 * 60);

#[tokio::test(start_paused = true)]
async fn what_waits_for_the_user_waits_for_days_and_goes_on_once() {
    let reply = calls(&[
        ("a", "edit", "{\"path\":\"/x\"}"),
        ("b", "ask", "{\"path\":\"/x\"}"),
    ]);
    for restarts in [false, true] {
        let mut bench = bench(vec![reply.clone(), says("done")]).await;
        bench
            .engine
            .send(message(1, "c1", "x", Mode::Manual))
            .await
            .unwrap();
        let rtc = bench.first_call().await;
        let turn = bench.until(1, |state| state.turn.is_some()).await.turn.unwrap();

        tokio::time::sleep(DAYS).await;
        if restarts {
            bench = bench.again().await;
        }
        let open = bench.engine.rtc(rtc).await.unwrap().unwrap().entity;
        assert_eq!(open.approval.unwrap().state, ApprovalState::Open);
        let no = Command::Approve {
            rtc,
            decision: ApprovalDecision::Reject,
            reason: None,
            device: DeviceId::new(Uuid::from_u128(2)),
        };
        bench.engine.tell(session(1), no).await.unwrap();
        let asked = bench.until(1, |state| state.calls.len() == 1).await.calls[0]
            .stored
            .entity
            .id;

        tokio::time::sleep(DAYS).await;
        if restarts {
            bench = bench.again().await;
        }
        assert_eq!(bench.requests().len(), 1, "nobody has answered");
        bench.engine.answer(asked, json!("blue")).await.unwrap();
        bench.until(1, SessionState::is_idle).await;
        assert_eq!(bench.requests().len(), 2, "the turn goes on once");
        let ended = bench.engine.rtc(asked).await.unwrap().unwrap().entity;
        assert_eq!(
            (ended.status, ended.turn_id),
            (RtcStatus::Completed, turn.entity.id)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_lane_keeps_in_memory_is_let_go_and_the_turn_sends_the_same() {
    let mut asked = Vec::new();
    for waits in [Duration::ZERO, DAYS] {
        let bench = bench(vec![one_edit(), one_edit(), says("done")]).await;
        bench
            .engine
            .send(message(1, "c1", "x", Mode::Bypass))
            .await
            .unwrap();
        let taken = bench.held().await;
        for round in 0..2 {
            let state = bench
                .until(1, |state| {
                    bench.requests().len() == round + 1 && !state.calls.is_empty()
                })
                .await;
            tokio::time::sleep(waits).await;
            let finish = Command::Finish {
                rtc: state.calls[0].stored.entity.id,
                attempt: 0,
                outcome: Outcome::of(Ok(json!("r"))),
            };
            bench.engine.tell(session(1), finish).await.unwrap();
        }
        bench.until(1, SessionState::is_idle).await;
        assert_eq!(bench.held().await, taken, "a lane with an open turn stays");
        asked.push(bench.requests());

        tokio::time::sleep(waits).await;
        bench.send("c2", "again").await.unwrap();
        assert_eq!(bench.held().await == taken, waits.is_zero(), "an idle lane ends");
        bench.until(1, |state| state.turn.is_some()).await;
    }
    assert_eq!(asked[0], asked[1]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_may_take_as_long_as_its_model_goes_on() {
    const REPLY: Duration = Duration::from_secs(4 * 60);
    const ROUNDS: usize = 30;
    let replies = std::iter::repeat_n(one_edit(), ROUNDS).chain([says("done")]);
    let bench = bench(replies.collect()).await;
    *bench.script.takes.lock().unwrap() = REPLY;
    let begun = Instant::now();
    bench
        .engine
        .send(message(1, "c1", "x", Mode::Bypass))
        .await
        .unwrap();
    loop {
        tokio::time::sleep(REPLY).await;
        let state = bench.engine.wake(session(1)).await.unwrap();
        let Some(call) = state.calls.first() else {
            if state.is_idle() {
                break;
            }
            continue;
        };
        let finish = Command::Finish {
            rtc: call.stored.entity.id,
            attempt: 0,
            outcome: Outcome::of(Ok(json!("r"))),
        };
        bench.engine.tell(session(1), finish).await.unwrap();
    }
    assert!(begun.elapsed() > REPLY * u32::try_from(ROUNDS).unwrap());
    let turns = bench.engine.turns(session(1)).await.unwrap();
    assert_eq!(turns[0].entity.status, TurnStatus::Completed);
    assert_eq!(bench.requests().len(), ROUNDS + 1, "each round is asked once");
}

#[tokio::test(start_paused = true)]
async fn a_wall_clock_that_jumps_ends_nothing_and_keeps_nothing_alive() {
    const NOW: i64 = 1_800_000_000;
    for jump in [-5 * 60 * 60, 0, 5 * 60 * 60] {
        let script = Arc::new(Script::default());
        script.replies.lock().unwrap().extend([one_edit(), one_edit()]);
        let clock = Arc::new(TestClock::default());
        clock.set(NOW);
        let store = Arc::new(MemoryStore::new());
        let bench = Bench {
            engine: engine_of(1, store.clone(), script.clone(), clock.clone()).await,
            store,
            script,
        };
        bench
            .engine
            .send(message(1, "c1", "x", Mode::Bypass))
            .await
            .unwrap();
        // A claim holds for its half minute, and not much longer.
        let rtc = bench.first_call().await;
        let of = json!({ "rtc_id": rtc });
        bench.ask("v1.rtc.claim", of.clone()).await.unwrap();
        let claimed = Instant::now();
        clock.set(NOW + jump);
        tokio::time::sleep(Duration::from_secs(29)).await;
        let call = bench.engine.rtc(rtc).await.unwrap().unwrap().entity;
        assert_eq!(call.outcome, None, "{jump}");
        bench
            .until(1, |state| {
                state.calls[0].stored.entity.outcome == Some(OutcomeKnown::Unknown)
            })
            .await;
        let held = claimed.elapsed().as_secs();
        assert!((30..=40).contains(&held), "{jump}: held for {held} s");
        // A stop waits half a second for the running call.
        let done = json!({"rtc_id": rtc, "decision": "done"});
        bench.ask("v1.rtc.resolve", done).await.unwrap();
        let second = bench
            .until(1, |state| {
                state
                    .calls
                    .first()
                    .is_some_and(|call| call.stored.entity.id != rtc)
            })
            .await
            .calls[0]
            .stored
            .entity
            .id;
        let claim = Command::Claim {
            rtc: second,
            attempt: 1,
            mark: Some((json!({}), "digest".to_owned())),
        };
        bench.engine.tell(session(1), claim).await.unwrap();
        let stopped = Instant::now();
        clock.set(NOW - jump);
        bench
            .ask("v1.turn.stop", json!({"session_id": session(1)}))
            .await
            .unwrap();
        assert_eq!(stopped.elapsed(), Duration::from_millis(500), "{jump}");
        bench.until(1, SessionState::is_idle).await;
    }
}
