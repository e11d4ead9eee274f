//! No timer forgets: however long something waits for the user, it goes on when they are back.

use std::sync::Arc;
use std::sync::atomic::Ordering;
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
/// What the wall clock shows first, in seconds after the epoch.
const NOW: i64 = 1_800_000_000;

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

/// The machine sleeps for a night. Its wall clock has moved on when it wakes; its timers have, or have stood still.
async fn sleep_for_a_night(clock: &TestClock, timers_jump: bool) {
    const NIGHT: Duration = Duration::from_secs(8 * 60 * 60);
    clock.set(NOW + 8 * 60 * 60);
    if timers_jump {
        tokio::time::advance(NIGHT).await;
    }
}

/// In the middle of what the machine falls asleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asleep {
    /// Nothing of the reply has come.
    FirstByte,
    /// A part of it has; the connection is dead afterwards.
    Reply,
    /// The reply broke off, and is asked for again soon.
    Retry,
    /// A call runs here.
    Call,
    /// An executor elsewhere, which does not sleep, has claimed a call.
    Lease,
    /// A stop waits for the running call.
    Stop,
}

const ALL_ASLEEP: [Asleep; 6] = [
    Asleep::FirstByte,
    Asleep::Reply,
    Asleep::Retry,
    Asleep::Call,
    Asleep::Lease,
    Asleep::Stop,
];

#[tokio::test(start_paused = true)]
async fn a_machine_that_sleeps_for_a_night_ends_nothing_and_repeats_nothing() {
    for at in ALL_ASLEEP {
        for timers_jump in [false, true] {
            sleeps(at, timers_jump).await;
        }
    }
}

async fn sleeps(at: Asleep, timers_jump: bool) {
    let what = format!("{at:?}, timers jump: {timers_jump}");
    let asks = matches!(at, Asleep::FirstByte | Asleep::Reply | Asleep::Retry);
    let script = Arc::new(Script::default());
    {
        let mut replies = script.replies.lock().unwrap();
        replies.extend((!asks).then(one_edit));
        replies.push_back(says("done"));
    }
    if at == Asleep::FirstByte {
        *script.takes.lock().unwrap() = Duration::from_secs(60);
    }
    let dies = matches!(at, Asleep::Reply | Asleep::Retry);
    script.dies.store(usize::from(dies), Ordering::SeqCst);
    let clock = Arc::new(TestClock::default());
    clock.set(NOW);
    let store = Arc::new(MemoryStore::new());
    let engine = engine_of(1, store.clone(), script.clone(), clock.clone()).await;
    let bench = Bench {
        store,
        engine,
        script,
    };
    bench
        .engine
        .send(message(1, "c1", "x", Mode::Bypass))
        .await
        .unwrap();
    let mark = Some((json!({}), "digest".to_owned()));
    let claim = |rtc| Command::Claim {
        rtc,
        attempt: 1,
        mark: mark.clone(),
    };
    let finish = |rtc| Command::Finish {
        rtc,
        attempt: 1,
        outcome: Outcome::of(Ok(json!("edited"))),
    };
    match at {
        Asleep::FirstByte => {
            while bench.requests().is_empty() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            sleep_for_a_night(&clock, timers_jump).await;
        }
        Asleep::Reply => {
            bench.until(1, |state| !state.streaming.is_empty()).await;
            sleep_for_a_night(&clock, timers_jump).await;
        }
        Asleep::Retry => {
            bench.until(1, |state| !state.streaming.is_empty()).await;
            // It is found now that the reply is dead.
            tokio::time::sleep(IDLE + Duration::from_millis(1)).await;
            sleep_for_a_night(&clock, timers_jump).await;
        }
        Asleep::Call | Asleep::Stop => {
            let rtc = bench.first_call().await;
            bench.engine.tell(session(1), claim(rtc)).await.unwrap();
            let stop = async {
                if at == Asleep::Stop {
                    bench.engine.tell(session(1), Command::Stop).await.unwrap();
                }
            };
            let sleep = sleep_for_a_night(&clock, timers_jump);
            futures::join!(stop, sleep);
            let woken = Instant::now();
            if at == Asleep::Stop {
                bench.until(1, |state| state.turn.is_none()).await;
                assert!(woken.elapsed() <= Duration::from_millis(500), "{what}");
            } else {
                tokio::time::sleep(Duration::from_secs(1)).await;
                let call = bench.engine.rtc(rtc).await.unwrap().unwrap().entity;
                assert_eq!(
                    (call.status, call.outcome),
                    (RtcStatus::Executing, None),
                    "{what}"
                );
                bench.engine.tell(session(1), finish(rtc)).await.unwrap();
            }
        }
        Asleep::Lease => {
            let rtc = bench.first_call().await;
            let of = json!({ "rtc_id": rtc });
            bench.ask("v1.rtc.claim", of.clone()).await.unwrap();
            sleep_for_a_night(&clock, timers_jump).await;
            // It renews as it always does.
            for _ in 0..6 {
                tokio::time::sleep(Duration::from_secs(10)).await;
                bench.ask("v1.rtc.renew", of.clone()).await.unwrap();
            }
            let ended = json!({"rtc_id": rtc, "success": true, "result": "edited"});
            bench.ask("v1.rtc.submit_result", ended).await.unwrap();
        }
    }
    tokio::time::timeout(IDLE * 3, async {
        while !bench.engine.wake(session(1)).await.unwrap().is_idle() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    })
    .await
    .unwrap_or_else(|_| panic!("{what}: it does not go on by itself"));

    let turns = bench.engine.turns(session(1)).await.unwrap();
    let ended = match at {
        Asleep::Stop => TurnStatus::Cancelled,
        _ => TurnStatus::Completed,
    };
    assert_eq!(turns.len(), 1, "{what}");
    assert_eq!(turns[0].entity.status, ended, "{what}");
    let requests = bench.requests();
    let wanted = match at {
        Asleep::FirstByte | Asleep::Stop => 1,
        Asleep::Reply | Asleep::Retry | Asleep::Call | Asleep::Lease => 2,
    };
    assert_eq!(requests.len(), wanted, "{what}");
    if dies {
        assert_eq!(requests[0], requests[1], "{what}: the same is asked again");
    }
    for call in bench.engine.rtcs(session(1)).await.unwrap() {
        assert_eq!(call.entity.attempt, 1, "{what}: nothing is run twice");
        let status = match at {
            Asleep::Stop => RtcStatus::Rejected,
            _ => RtcStatus::Completed,
        };
        assert_eq!(call.entity.status, status, "{what}");
    }
}
