//! No timer forgets: however long something waits for the user, it goes on when they are back.

use std::time::Duration;

use rtc_engine::{Command, Outcome, SessionState};
use rtc_types::{ApprovalDecision, ApprovalState, DeviceId, Mode, RtcStatus};
use serde_json::json;
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
