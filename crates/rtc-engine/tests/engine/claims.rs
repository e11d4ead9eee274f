//! Calls that an executor elsewhere claims, as clients ask for it.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use rtc_engine::{Command, Done, SessionState};
use rtc_realtime::{Caller, ConnectionId};
use rtc_types::{Mode, OutcomeKnown, RtcId};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::bench::*;
use crate::rpc::caller;

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
        json!({"tool": "edit", "parameters": {"path": "/x"}, "attempt": 1, "lease_until": "1970-01-01T00:00:30Z"})
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

/// A connection of the device of the session.
fn connection(number: u128) -> Caller {
    Caller {
        connection: ConnectionId::new(Uuid::from_u128(number)),
        ..caller(OWN, true)
    }
}

#[tokio::test(start_paused = true)]
async fn an_earlier_holder_that_comes_back_has_no_part_in_what_is_anothers_by_now() {
    let (bench, rtc) = with_call().await;
    approve(&bench, rtc).await;
    let of = json!({ "rtc_id": rtc });
    let (first, second, again) = (connection(11), connection(12), connection(13));
    let claimed = bench.ask_by(&first, "v1.rtc.claim", of.clone()).await.unwrap();
    assert_eq!(claimed["result"]["attempt"], 1);
    tokio::time::sleep(MOST_OF_A_CLAIM).await;
    let unknown = |state: &SessionState| state.calls[0].stored.entity.outcome == Some(OutcomeKnown::Unknown);
    bench.until(1, unknown).await;
    let retry = json!({"rtc_id": rtc, "decision": "retry"});
    bench.ask("v1.rtc.resolve", retry).await.unwrap();
    let claimed = bench.ask_by(&second, "v1.rtc.claim", of.clone()).await.unwrap();
    assert_eq!(claimed["result"]["attempt"], 2);
    let begun = tokio::time::Instant::now();

    let named = |attempt: u32| json!({"rtc_id": rtc, "attempt": attempt});
    let ended = json!({"rtc_id": rtc, "success": true, "result": "of the first"});
    let before = bench.engine.position().borrow().offset;
    for _ in 0..10 {
        for (method, ask) in [
            ("v1.rtc.claim", of.clone()),
            ("v1.rtc.renew", of.clone()),
            ("v1.rtc.renew", named(1)),
            ("v1.rtc.submit_result", ended.clone()),
            ("v1.rtc.update_status", json!({"rtc_id": rtc, "status": "failed"})),
        ] {
            let told = bench.ask_by(&first, method, ask).await;
            assert_eq!(told.unwrap_err(), "rtc.already_claimed", "{method}");
        }
        // What the first start came to is heard, and is not the result of the second.
        let mut late = ended.clone();
        late["attempt"] = json!(1);
        let told = bench.ask_by(&first, "v1.rtc.submit_result", late).await.unwrap();
        assert_eq!(told["updates"][0]["offset"], 0);
        assert_eq!(told["updates"][0]["data_list"][0]["status"], "executing");
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    assert_eq!(
        bench.engine.position().borrow().offset,
        before,
        "nothing was changed"
    );

    // The second one has the time that it has, and goes on over another connection.
    bench.ask_by(&again, "v1.rtc.renew", named(2)).await.unwrap();
    let renewed = begun.elapsed();
    for (who, ask) in [(&second, of.clone()), (&first, of.clone()), (&first, named(1))] {
        let told = bench.ask_by(who, "v1.rtc.renew", ask).await;
        assert_eq!(told.unwrap_err(), "rtc.already_claimed");
    }
    tokio::time::sleep(MOST_OF_A_CLAIM).await;
    for ask in [of.clone(), named(1)] {
        let told = bench.ask_by(&first, "v1.rtc.renew", ask).await;
        assert_eq!(told.unwrap_err(), "rtc.already_claimed");
    }
    bench.until(1, unknown).await;
    let held = (begun.elapsed() - renewed).as_secs();
    assert!((30..=40).contains(&held), "held for {held} s");
}

/// It says no attempt, so it could mean that of the other one.
#[tokio::test(start_paused = true)]
async fn an_earlier_holder_ends_nothing_that_was_started_again_also_where_nobody_holds_it() {
    let unknown = |state: &SessionState| state.calls[0].stored.entity.outcome == Some(OutcomeKnown::Unknown);
    let ends = |rtc: RtcId| {
        [
            ("v1.rtc.update_status", json!({"rtc_id": rtc, "status": "failed"})),
            (
                "v1.rtc.update_status",
                json!({"rtc_id": rtc, "status": "timeout"}),
            ),
            (
                "v1.rtc.update_status",
                json!({"rtc_id": rtc, "status": "rejected"}),
            ),
            ("v1.rtc.submit_result", json!({"rtc_id": rtc, "success": false})),
            (
                "v1.rtc.submit_result",
                json!({"rtc_id": rtc, "success": true, "result": "of the first"}),
            ),
        ]
    };
    for (method, ask) in ends(RtcId::new(Uuid::nil())) {
        let (bench, rtc) = with_call().await;
        approve(&bench, rtc).await;
        let (first, second) = (connection(11), connection(12));
        for (holder, attempt) in [(&first, 1), (&second, 2)] {
            let claimed = bench
                .ask_by(holder, "v1.rtc.claim", json!({ "rtc_id": rtc }))
                .await
                .unwrap();
            assert_eq!(claimed["result"]["attempt"], attempt);
            tokio::time::sleep(MOST_OF_A_CLAIM).await;
            bench.until(1, unknown).await;
            if attempt == 1 {
                let retry = json!({"rtc_id": rtc, "decision": "retry"});
                bench.ask("v1.rtc.resolve", retry).await.unwrap();
            }
        }
        let mut of_this = ask.clone();
        of_this["rtc_id"] = json!(rtc);
        let before = bench.engine.position().borrow().offset;
        let told = bench.ask_by(&first, method, of_this).await;
        assert_eq!(told.unwrap_err(), "rtc.already_claimed", "{method} {ask}");
        assert_eq!(bench.engine.position().borrow().offset, before, "{method} {ask}");
        // The second one comes back, and says which start it means.
        let ended = json!({"rtc_id": rtc, "success": true, "result": "of the second", "attempt": 2});
        bench
            .ask_by(&second, "v1.rtc.submit_result", ended)
            .await
            .unwrap();
        bench.until(1, SessionState::is_idle).await;
        let call = bench.engine.rtc(rtc).await.unwrap().unwrap().entity;
        assert_eq!(call.result, Some(json!("of the second")), "{method} {ask}");
    }
}

/// How far a call is.
#[derive(Debug, Clone, Copy)]
enum State {
    Asked,
    Allowed,
    /// By a connection of its device.
    Claimed,
    /// On its device itself.
    Running,
    /// Nobody knows how it ended.
    Unknown,
    /// The user has it run again.
    Retried,
    Ended,
}

/// A call in this state.
async fn in_state(state: State) -> (Bench, RtcId) {
    let (bench, rtc) = with_call().await;
    let unknown = |state: &SessionState| state.calls[0].stored.entity.outcome == Some(OutcomeKnown::Unknown);
    if !matches!(state, State::Asked) {
        approve(&bench, rtc).await;
    }
    match state {
        State::Asked | State::Allowed => {}
        State::Running => {
            let mark = Some((json!({}), "digest".to_owned()));
            let claim = Command::Claim {
                rtc,
                attempt: 1,
                mark,
            };
            bench.engine.tell(session(1), claim).await.unwrap();
        }
        State::Claimed | State::Unknown | State::Retried | State::Ended => {
            let of = json!({ "rtc_id": rtc });
            bench.ask_by(&connection(11), "v1.rtc.claim", of).await.unwrap();
        }
    }
    if matches!(state, State::Unknown | State::Retried) {
        tokio::time::sleep(MOST_OF_A_CLAIM).await;
        bench.until(1, unknown).await;
    }
    if matches!(state, State::Retried) {
        let retry = json!({"rtc_id": rtc, "decision": "retry"});
        bench.ask("v1.rtc.resolve", retry).await.unwrap();
    }
    if matches!(state, State::Ended) {
        let ended = json!({"rtc_id": rtc, "success": true, "result": "edited", "attempt": 1});
        bench
            .ask_by(&connection(11), "v1.rtc.submit_result", ended)
            .await
            .unwrap();
        bench.until(1, SessionState::is_idle).await;
    }
    (bench, rtc)
}

/// By another device never, and by another connection of its own where nobody has it and nobody is asked.
#[tokio::test(start_paused = true)]
async fn a_call_is_claimed_by_a_second_one_only_where_nobody_has_it_whatever_state_it_is_in() {
    for (state, claimed, renewed) in [
        (State::Asked, Err("approval.required"), "rtc.invalid_state"),
        (State::Allowed, Ok(1), "rtc.invalid_state"),
        (State::Claimed, Err("rtc.already_claimed"), "rtc.already_claimed"),
        (State::Running, Err("rtc.already_claimed"), "rtc.already_claimed"),
        (State::Unknown, Err("rtc.invalid_state"), "rtc.invalid_state"),
        (State::Retried, Ok(2), "rtc.invalid_state"),
        (State::Ended, Err("rtc.invalid_state"), "rtc.invalid_state"),
    ] {
        let (bench, rtc) = in_state(state).await;
        let before = bench.engine.position().borrow().offset;
        let of = json!({ "rtc_id": rtc });
        let of_attempt = json!({"rtc_id": rtc, "attempt": 1});
        for (method, ask) in [
            ("v1.rtc.claim", of.clone()),
            ("v1.rtc.renew", of.clone()),
            ("v1.rtc.renew", of_attempt),
            (
                "v1.rtc.update_status",
                json!({"rtc_id": rtc, "status": "executing"}),
            ),
            ("v1.rtc.update_status", json!({"rtc_id": rtc, "status": "failed"})),
            (
                "v1.rtc.submit_result",
                json!({"rtc_id": rtc, "success": true, "result": "x", "attempt": 1}),
            ),
        ] {
            let told = bench.ask_as(3, method, ask).await;
            assert_eq!(told.unwrap_err(), "auth.permission_denied", "{state:?}, {method}");
        }
        let told = bench.ask_by(&connection(12), "v1.rtc.renew", of.clone()).await;
        assert_eq!(told.unwrap_err(), renewed, "{state:?}");
        assert_eq!(
            bench.engine.position().borrow().offset,
            before,
            "{state:?}: nothing is changed"
        );
        let told = bench.ask_by(&connection(12), "v1.rtc.claim", of).await;
        let attempt = told.map(|told| told["result"]["attempt"].as_u64().unwrap());
        assert_eq!(attempt, claimed.map_err(str::to_owned), "{state:?}");
        let after = bench.engine.position().borrow().offset;
        assert_eq!(after > before, claimed.is_ok(), "{state:?}");
    }
}

/// Somebody who wants to run a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Executor {
    /// That of this process.
    Native,
    /// A connection of a device.
    Of { device: u128, connection: u128 },
}

/// The device of the session.
const OWN: u128 = 2;

fn executor() -> impl Strategy<Value = Executor> {
    prop_oneof![
        1 => Just(Executor::Native),
        3 => (2u128..4, 0u128..3).prop_map(|(device, connection)| Executor::Of { device, connection }),
    ]
}

impl Executor {
    fn is_of_the_session(self) -> bool {
        !matches!(self, Self::Of { device, .. } if device != OWN)
    }

    /// Whether it has got the call.
    async fn takes(self, bench: &Bench, rtc: RtcId) -> bool {
        match self {
            Self::Native => {
                let state = bench.engine.wake(session(1)).await.unwrap();
                let attempt = state.calls[0].stored.entity.attempt + 1;
                let mark = Some((json!({}), "digest".to_owned()));
                let claim = Command::Claim { rtc, attempt, mark };
                matches!(bench.engine.tell(session(1), claim).await, Ok(Done::Claimed))
            }
            Self::Of { device, connection } => {
                let connection = ConnectionId::new(Uuid::from_u128(connection));
                let caller = Caller {
                    connection,
                    ..caller(device, true)
                };
                let of = json!({ "rtc_id": rtc });
                bench.ask_by(&caller, "v1.rtc.claim", of).await.is_ok()
            }
        }
    }
}

/// Everybody at once, again and again: whoever had the call is gone, and the user says that it shall run again.
async fn race(rounds: Vec<Vec<Executor>>) -> Result<(), TestCaseError> {
    let bench = bench(vec![one_edit(), says("done")]).await;
    bench
        .engine
        .send(message(1, "c1", "edit x", Mode::Bypass))
        .await
        .unwrap();
    let rtc = bench.first_call().await;
    let mut attempt = 0;
    for executors in rounds {
        let all = executors.iter().map(async |executor| {
            let has_it = executor.takes(&bench, rtc).await;
            has_it.then_some(*executor)
        });
        // Asked again, whoever has it still has it.
        let have_it: BTreeSet<Executor> = futures::future::join_all(all)
            .await
            .into_iter()
            .flatten()
            .collect();
        let some = executors.iter().any(|executor| executor.is_of_the_session());
        prop_assert_eq!(have_it.len(), usize::from(some), "{:?}", have_it);
        prop_assert!(have_it.iter().all(|executor| executor.is_of_the_session()));
        let call = bench.engine.rtc(rtc).await.unwrap().unwrap().entity;
        prop_assert_eq!(call.attempt, attempt + u32::from(some));
        attempt = call.attempt;
        if !some {
            continue;
        }
        if have_it.contains(&Executor::Native) {
            let evidence = "it is gone".to_owned();
            let gone = Command::OutcomeUnknown { rtc, evidence };
            bench.engine.tell(session(1), gone).await.unwrap();
        }
        tokio::time::sleep(MOST_OF_A_CLAIM).await;
        let unknown =
            |state: &SessionState| state.calls[0].stored.entity.outcome == Some(OutcomeKnown::Unknown);
        bench.until(1, unknown).await;
        let retry = json!({"rtc_id": rtc, "decision": "retry"});
        bench.ask("v1.rtc.resolve", retry).await.unwrap();
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// A call is run on the device of its session, by one executor there, whoever wants it and however many at once.
    #[test]
    fn of_all_who_want_a_call_one_of_its_device_has_it(
        rounds in proptest::collection::vec(proptest::collection::vec(executor(), 1..8), 1..5),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(race(rounds))?;
    }
}
