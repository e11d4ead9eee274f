//! Calls that an executor elsewhere claims, as clients ask for it.

use std::time::Duration;

use rtc_engine::SessionState;
use rtc_types::{OutcomeKnown, RtcId};
use serde_json::{Value, json};

use crate::bench::*;

/// No claim is lost before that.
const MOST_OF_A_CLAIM: Duration = Duration::from_secs(29);

/// An engine whose first call may run.
async fn with_call() -> (Bench, RtcId) {
    let bench = bench(vec![one_edit(), says("done")]).await;
    bench.send("c1", "edit x").await.unwrap();
    let rtc = bench.first_call().await;
    (bench, rtc)
}

async fn approve(bench: &Bench, rtc: RtcId) {
    let yes = json!({"rtc_id": rtc, "decision": "once"});
    bench.ask("v1.rtc.approve", yes).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_call_is_claimed_renewed_and_handed_in() {
    let (bench, rtc) = with_call().await;
    let of = json!({ "rtc_id": rtc });
    let nobody = json!({"rtc_id": session(77)});
    for (method, ask, code) in [
        ("v1.rtc.claim", &nobody, "rtc.not_found"),
        ("v1.rtc.renew", &nobody, "rtc.not_found"),
        ("v1.rtc.claim", &of, "approval.required"),
        ("v1.rtc.renew", &of, "rtc.invalid_state"),
    ] {
        assert_eq!(
            bench.ask(method, ask.clone()).await.unwrap_err(),
            code,
            "{method}"
        );
    }
    approve(&bench, rtc).await;
    for method in ["v1.rtc.claim", "v1.rtc.renew"] {
        let of_another_device = bench.ask_as(3, method, of.clone()).await;
        assert_eq!(
            of_another_device.unwrap_err(),
            "auth.permission_denied",
            "{method}"
        );
    }
    let claimed = bench.ask("v1.rtc.claim", of.clone()).await.unwrap();
    assert_eq!(
        claimed["result"],
        json!({"tool": "edit", "parameters": {"path": "/x"}, "lease_until": "1970-01-01T00:00:30Z"})
    );
    assert_eq!(claimed["updates"][0]["data_list"][0]["status"], "executing");
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_secs(20)).await;
        let renewed = bench.ask("v1.rtc.renew", of.clone()).await.unwrap();
        assert_eq!(
            renewed,
            json!({"result": {"lease_until": "1970-01-01T00:00:30Z"}})
        );
    }
    let submit = json!({"rtc_id": rtc, "success": true, "result": "edited"});
    bench.ask("v1.rtc.submit_result", submit).await.unwrap();
    bench.until(1, SessionState::is_idle).await;
    for method in ["v1.rtc.claim", "v1.rtc.renew"] {
        assert_eq!(
            bench.ask(method, of.clone()).await.unwrap_err(),
            "rtc.invalid_state",
            "{method}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_is_not_renewed_is_told_as_lost() {
    let (bench, rtc) = with_call().await;
    approve(&bench, rtc).await;
    let of = json!({ "rtc_id": rtc });
    bench.ask("v1.rtc.claim", of.clone()).await.unwrap();
    let begun = tokio::time::Instant::now();
    tokio::time::sleep(MOST_OF_A_CLAIM).await;
    assert_eq!(bench.engine.rtc(rtc).await.unwrap().unwrap().entity.outcome, None);
    let unknown = |state: &SessionState| state.calls[0].stored.entity.outcome == Some(OutcomeKnown::Unknown);
    bench.until(1, unknown).await;
    let held = begun.elapsed().as_secs();
    assert!((30..=40).contains(&held), "held for {held} s");
    assert_eq!(
        bench.ask("v1.rtc.renew", of.clone()).await.unwrap_err(),
        "rtc.invalid_state"
    );
    assert_eq!(
        bench.ask("v1.rtc.claim", of).await.unwrap_err(),
        "rtc.invalid_state"
    );
    let told = bench.result("v1.rtc.get", json!({ "rtc_id": rtc })).await;
    assert_eq!(
        (&told["item"]["status"], &told["item"]["outcome"]),
        (&json!("executing"), &json!("unknown"))
    );
    assert_eq!(bench.requests().len(), 1, "the turn waits for the user");
}

#[tokio::test(start_paused = true)]
async fn a_claim_lives_over_a_restart() {
    let (bench, rtc) = with_call().await;
    approve(&bench, rtc).await;
    let of = json!({ "rtc_id": rtc });
    bench.ask("v1.rtc.claim", of.clone()).await.unwrap();
    let bench = bench.again().await;
    let state = bench.engine.wake(session(1)).await.unwrap();
    assert!(state.next_for_executor().is_none(), "the device does not run it");
    bench.ask("v1.rtc.renew", of.clone()).await.unwrap();
    let bench = bench.again().await;
    bench.engine.wake(session(1)).await.unwrap();
    tokio::time::sleep(MOST_OF_A_CLAIM).await;
    let unknown = |state: &SessionState| state.calls[0].stored.entity.outcome == Some(OutcomeKnown::Unknown);
    bench.until(1, unknown).await;
    // It comes back after all.
    let submit = json!({"rtc_id": rtc, "success": true, "result": "edited"});
    bench.ask("v1.rtc.submit_result", submit).await.unwrap();
    bench.until(1, SessionState::is_idle).await;
    let told: Value = bench.result("v1.rtc.get", of).await;
    assert_eq!(told["item"]["status"], "completed");
    assert_eq!(told["item"].get("outcome"), None);
}
