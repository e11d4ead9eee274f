//! All that change files of one project take turns, over the real engine and executor. The files themselves notice when
//! two change them at a time, or somebody comes between a plan and its change.

mod bench;
mod failing;

use std::time::Duration;

use rtc_store::MemoryStore;
use rtc_types::{Effect, RtcStatus};

use self::bench::{Bench, PROJECT, session, settled};
use self::failing::FailsOnce;
use super::*;

#[tokio::test(start_paused = true)]
async fn children_of_one_root_write_in_the_order_in_which_they_asked() {
    let bench = Bench::new().await;
    bench.say(1, None, "hello").await;
    let a1 = bench.desk.hold("a1");
    bench.say(2, Some(1), "put a1, put a2").await;
    bench.say(3, Some(1), "put b1, look").await;
    // A child of a child is of the same tree.
    bench.say(4, Some(3), "put c1").await;
    assert_eq!(bench.desk.events(), ["a1 begins"]);
    assert_eq!(bench.executor.running(), 3);
    // Who only looks does not wait, whoever it is.
    bench.say(5, None, "look").await;
    bench.say(6, Some(1), "look").await;
    assert!(bench.is_idle(5).await && bench.is_idle(6).await);
    a1.add_permits(1);
    settled().await;
    insta::assert_snapshot!(bench.desk.events().join("\n"), @r"
    a1 is made
    b1 begins
    b1 is made
    c1 begins
    c1 is made
    a2 begins
    a2 is made
    ");
    for number in 1..=6 {
        assert!(bench.is_idle(number).await, "{number}");
    }
    assert_eq!(bench.executor.running(), 0);
}

#[tokio::test(start_paused = true)]
async fn two_roots_take_turns() {
    let bench = Bench::new().await;
    bench.say(1, None, "hello").await;
    let (x1, x2) = (bench.desk.hold("x1"), bench.desk.hold("x2"));
    bench.say(2, Some(1), "put x1").await;
    bench.say(3, Some(1), "put x2").await;
    bench.say(4, Some(1), "put x3").await;
    bench.say(5, None, "put y1, put y2").await;
    x1.add_permits(1);
    settled().await;
    // The other root came last, and is next.
    assert_eq!(
        bench.desk.events(),
        ["x1 begins", "x1 is made", "y1 begins", "y1 is made", "x2 begins"]
    );
    x2.add_permits(1);
    settled().await;
    assert_eq!(
        bench.desk.events(),
        ["x2 is made", "y2 begins", "y2 is made", "x3 begins", "x3 is made"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_program_takes_a_turn_for_each_change_and_so_does_the_user() {
    let bench = Bench::new().await;
    let (p1, p2) = (bench.desk.hold("p1"), bench.desk.hold("p2"));
    bench.say(1, None, "program p1 p2 p3").await;
    bench.say(2, None, "put a1").await;
    let executor = bench.executor.clone();
    let by_hand = tokio::spawn(async move { executor.turn_of_user(Some(PROJECT)).await.unwrap() });
    settled().await;
    assert_eq!(bench.desk.events(), ["p1 begins"]);
    p1.add_permits(1);
    settled().await;
    assert_eq!(bench.desk.events(), ["p1 is made", "a1 begins", "a1 is made"]);
    // It is the user's turn now, for as long as it takes.
    let turn = by_hand.await.unwrap();
    settled().await;
    assert_eq!(bench.desk.events(), [""; 0]);
    drop(turn);
    settled().await;
    assert_eq!(bench.desk.events(), ["p2 begins"]);
    p2.add_permits(1);
    settled().await;
    assert_eq!(bench.desk.events(), ["p2 is made", "p3 begins", "p3 is made"]);
    assert!(bench.is_idle(1).await && bench.is_idle(2).await);
}

#[tokio::test(start_paused = true)]
async fn a_writer_that_is_stopped_while_it_waits_writes_nothing_and_holds_nobody_up() {
    let bench = Bench::new().await;
    let a1 = bench.desk.hold("a1");
    bench.say(1, None, "put a1").await;
    bench.say(2, None, "put b1").await;
    bench.say(3, None, "put c1").await;
    bench.engine.tell(session(2), Command::Stop).await.unwrap();
    settled().await;
    // At once, although somebody else still writes.
    assert!(bench.is_idle(2).await);
    assert_eq!(bench.executor.running(), 2);
    let stopped = &bench.calls(2).await[0].entity;
    assert_eq!(
        (stopped.status, stopped.effect),
        (RtcStatus::Rejected, Some(Effect::None))
    );
    a1.add_permits(1);
    settled().await;
    insta::assert_snapshot!(bench.desk.events().join("\n"), @r"
    a1 begins
    a1 is made
    c1 begins
    c1 is made
    ");
}

/// Until then a crash would leave it to be looked at, and a change by somebody else would hide what became of it.
#[tokio::test(start_paused = true)]
async fn a_turn_lasts_until_the_result_is_stored() {
    let bench = Bench::new().await;
    let a1 = bench.desk.hold("a1");
    bench.say(1, None, "put a1").await;
    bench.store.set_full(true);
    a1.add_permits(1);
    settled().await;
    bench.store.set_full(false);
    bench.say(2, None, "put b1").await;
    // The result has found no room, and is not offered again yet.
    assert_eq!(bench.desk.events(), ["a1 begins", "a1 is made"]);
    assert_eq!(bench.calls(1).await[0].entity.status, RtcStatus::Executing);
    tokio::time::sleep(Duration::from_secs(1)).await;
    settled().await;
    assert_eq!(bench.calls(1).await[0].entity.status, RtcStatus::Completed);
    assert_eq!(bench.desk.events(), ["b1 begins", "b1 is made"]);
}

/// The first change is made and nobody has heard of it when the process dies; another one waits. After the start only
/// the one that waited is woken: it must not write before it was looked at what became of the first.
#[tokio::test(start_paused = true)]
async fn after_a_crash_what_was_begun_is_looked_at_before_anybody_writes() {
    let bench = Bench::new().await;
    let _a1 = bench.desk.hold_after("a1");
    bench.say(1, None, "put a1").await;
    bench.say(2, None, "put b1").await;
    assert_eq!(bench.desk.events(), ["a1 begins", "a1 is made"]);
    let bench = bench.crash(&[1]).await;
    bench.engine.wake(session(2)).await.unwrap();
    settled().await;
    insta::assert_snapshot!(bench.desk.events().join("\n"), @r"
    a1 is looked at
    b1 begins
    b1 is made
    ");
    let first = &bench.calls(1).await[0].entity;
    assert_eq!((first.status, first.outcome), (RtcStatus::Completed, None));
    assert!(bench.is_idle(1).await && bench.is_idle(2).await);
}

/// The same where the user saves a file before any session is woken.
#[tokio::test(start_paused = true)]
async fn after_a_crash_the_user_does_not_write_before_either() {
    let bench = Bench::new().await;
    let _a1 = bench.desk.hold("a1");
    bench.say(1, None, "put a1").await;
    let bench = bench.crash(&[1]).await;
    let a1 = bench.desk.hold("a1");
    let executor = bench.executor.clone();
    let by_hand = tokio::spawn(async move { executor.turn_of_user(Some(PROJECT)).await.unwrap() });
    settled().await;
    // It had not been made, so it is made now, in its turn.
    assert_eq!(bench.desk.events(), ["a1 begins", "a1 is looked at", "a1 begins"]);
    assert!(!by_hand.is_finished());
    a1.add_permits(1);
    drop(by_hand.await.unwrap());
    assert_eq!(bench.desk.events(), ["a1 is made"]);
}

/// Far more than one call makes.
const MOST_READS: u32 = 200;

/// Wherever the read is, the executor looks again; the user at most says it again, or opens the session again.
#[tokio::test(start_paused = true)]
async fn a_read_that_fails_once_leaves_no_call_standing() {
    for nth in 1.. {
        assert!(nth < MOST_READS, "a call reads without end");
        let store = Arc::new(MemoryStore::new());
        let opened = Arc::new(FailsOnce::new(store.clone()));
        let bench = Bench::over(opened.clone(), store, Arc::default(), &[]).await;
        opened.fail(nth);
        if bench.try_to_say(1, None, "put a1").await.is_err() {
            bench.say(1, None, "put a1").await;
        }
        // Longer than anybody waits before trying again, and opened again.
        tokio::time::sleep(Duration::from_secs(60)).await;
        let _ = bench.engine.wake(session(1)).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        let has_failed = opened.has_failed();
        opened.fail(0);
        assert!(bench.is_idle(1).await, "read {nth}");
        let calls = bench.calls(1).await;
        assert!(
            calls
                .iter()
                .all(|call| call.entity.status == RtcStatus::Completed),
            "read {nth}: {calls:?}"
        );
        let made = bench
            .desk
            .events()
            .iter()
            .filter(|event| *event == "a1 is made")
            .count();
        // A turn whose request could not be read has failed, and has no call.
        assert_eq!(made, calls.len(), "read {nth}");
        if !has_failed {
            assert_eq!(made, 1);
            return;
        }
    }
}
