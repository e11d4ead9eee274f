//! Calls that an executor elsewhere has claimed.

use super::*;
use crate::stored::Lease;

const HOLDER: u128 = 7;

/// From the connection that claims it first.
fn renew(rtc: RtcId) -> Command {
    Command::Renew {
        rtc,
        holder: Uuid::from_u128(HOLDER),
        attempt: None,
    }
}

impl Lane {
    fn lease(&mut self, rtc: RtcId, holder: u128) -> Result<Done, Error> {
        self.try_tell(Command::Lease {
            rtc,
            holder: Uuid::from_u128(holder),
        })
    }

    fn tick(&mut self, rtc: RtcId) {
        let attempt = self.rtc(rtc).attempt;
        self.tell(Command::LeaseTick { rtc, attempt });
    }

    fn held(&self) -> Option<Lease> {
        self.state.calls[0].stored.private.lease
    }
}

fn code(refused: Result<Done, Error>) -> Code {
    refused.unwrap_err().code()
}

#[test]
fn a_claimed_call_is_one_executors_and_nobody_elses() {
    let mut lane = Lane::with_calls(vec![edit("a"), edit("b")]);
    let (first, second) = (lane.open(0), lane.open(1));
    assert_eq!(
        code(lane.lease(second, HOLDER)),
        Code::RtcInvalidState,
        "not its turn"
    );
    let Done::Leased(until) = lane.lease(first, HOLDER).unwrap() else {
        panic!("it is not claimed")
    };
    assert!(until > lane.rtc(first).updated_at);
    assert_eq!(lane.effects, [Effect::LeaseTimer(first, 1)]);
    assert_eq!(
        (lane.rtc(first).status, lane.rtc(first).attempt),
        (RtcStatus::Executing, 1)
    );
    assert!(
        lane.state.next_for_executor().is_none(),
        "the device leaves it alone"
    );
    assert!(lane.claim(0, true).is_err());
    assert_eq!(code(lane.lease(first, HOLDER + 1)), Code::RtcClaimed);
    assert!(
        matches!(lane.lease(first, HOLDER), Ok(Done::Leased(_))),
        "asked again, it is the same claim"
    );
    assert_eq!(lane.rtc(first).attempt, 1);
    lane.finish(first, 1, Ok(json!("done")));
    assert_eq!(lane.output(first), "done");
    assert_eq!(
        code(lane.lease(first, HOLDER)),
        Code::RtcInvalidState,
        "it has ended"
    );
    assert!(lane.lease(second, HOLDER).is_ok());
}

#[test]
fn what_the_device_runs_cannot_be_claimed() {
    let mut lane = Lane::with_calls(vec![edit("a")]);
    let rtc = lane.open(0);
    lane.claim(0, true).unwrap();
    assert_eq!(code(lane.lease(rtc, HOLDER)), Code::RtcClaimed);
    assert_eq!(code(lane.try_tell(renew(rtc))), Code::RtcClaimed);
    // Nor after a crash, while it is looked at what the start left.
    lane.tell(Command::Recover);
    assert_eq!(code(lane.lease(rtc, HOLDER)), Code::RtcClaimed);
}

#[test]
fn a_call_that_needs_a_yes_cannot_be_claimed_without() {
    let mut lane = Lane::with_calls(vec![script("a")]);
    let rtc = lane.open(0);
    assert_eq!(code(lane.lease(rtc, HOLDER)), Code::ApprovalRequired);
    lane.tell(Command::Approve {
        rtc,
        decision: ApprovalDecision::Once,
        reason: None,
        device: DeviceId::new(Uuid::nil()),
    });
    assert!(lane.lease(rtc, HOLDER).is_ok());
}

#[test]
fn what_has_become_stricter_since_counts() {
    let mut lane = Lane::with_calls(vec![edit("a"), edit("b")]);
    let (first, second) = (lane.open(0), lane.open(1));
    lane.tell(Command::SetMode(Mode::Manual));
    assert_eq!(lane.lease(first, HOLDER).unwrap(), Done::NotClaimed);
    assert_eq!(lane.effects, [Effect::Preview(first)], "the user is asked");
    lane.tell(Command::SetMode(Mode::Plan));
    assert_eq!(lane.lease(first, HOLDER).unwrap(), Done::NotClaimed);
    assert_eq!(lane.rtc(first).status, RtcStatus::Rejected);
    assert_eq!(lane.state.calls[0].stored.entity.id, second);
}

#[test]
fn a_claim_that_is_renewed_never_ends() {
    let mut lane = Lane::with_calls(vec![edit("a")]);
    let rtc = lane.open(0);
    lane.lease(rtc, HOLDER).unwrap();
    for _ in 0..20 {
        for _ in 0..3 {
            lane.tick(rtc);
            assert_eq!(lane.effects, [Effect::LeaseTimer(rtc, 1)], "it is looked again");
        }
        assert!(matches!(lane.tell(renew(rtc)), Done::Leased(_)));
        assert!(
            lane.effects.is_empty(),
            "there is one timer, however often it is renewed"
        );
    }
    assert!(lane.held().is_some());
}

#[test]
fn of_a_lost_claim_a_call_that_only_looks_is_free_for_others() {
    let mut lane = Lane::with_calls(vec![read("a")]);
    let rtc = lane.open(0);
    lane.lease(rtc, HOLDER).unwrap();
    (0..4).for_each(|_| lane.tick(rtc));
    assert_eq!(lane.effects, [Effect::WakeExecutor]);
    assert_eq!((lane.held(), lane.rtc(rtc).outcome), (None, None));
    assert_eq!(code(lane.try_tell(renew(rtc))), Code::RtcInvalidState);
    assert!(lane.state.next_for_executor().is_some());
    lane.lease(rtc, HOLDER + 1).unwrap();
    assert_eq!(lane.rtc(rtc).attempt, 2);
    // A timer of the claim before says nothing of this one.
    for _ in 0..9 {
        lane.tell(Command::LeaseTick { rtc, attempt: 1 });
        assert!(lane.effects.is_empty());
    }
    assert!(lane.held().is_some());
}

#[test]
fn of_a_lost_claim_a_call_with_an_effect_may_have_run() {
    let mut lane = Lane::with_calls(vec![edit("a")]);
    let rtc = lane.open(0);
    lane.lease(rtc, HOLDER).unwrap();
    (0..4).for_each(|_| lane.tick(rtc));
    assert_eq!(lane.rtc(rtc).outcome, Some(rtc_types::OutcomeKnown::Unknown));
    assert!(lane.effects.is_empty(), "nobody runs it again by itself");
    insta::assert_snapshot!(lane.rtc(rtc).error_message.as_deref().unwrap(), @"It was claimed at 2027-01-15T08:00:00.004Z by another executor, which has not been heard of since.");
    assert_eq!(
        code(lane.lease(rtc, HOLDER + 1)),
        Code::RtcInvalidState,
        "the user decides first"
    );
    // Whoever had it comes back after all: then it is known.
    let mut back = lane.clone();
    back.finish(rtc, 1, Ok(json!("done")));
    assert_eq!(
        (back.rtc(rtc).status, back.rtc(rtc).outcome),
        (RtcStatus::Completed, None)
    );
    lane.tell(Command::Resolve {
        rtc,
        decision: Resolution::Retry,
    });
    assert!(lane.lease(rtc, HOLDER + 1).is_ok());
    lane.finish(rtc, 2, Err(ToolError::invalid("no")));
    assert_eq!(
        lane.rtc(rtc).effect,
        Some(Changed::Unknown),
        "the first start may have had its effect"
    );
}

#[test]
fn a_claim_lives_over_a_restart_with_all_its_time() {
    let mut lane = Lane::with_calls(vec![edit("a")]);
    let rtc = lane.open(0);
    lane.lease(rtc, HOLDER).unwrap();
    (0..3).for_each(|_| lane.tick(rtc));
    lane.tell(Command::Recover);
    assert!(lane.effects.contains(&Effect::LeaseTimer(rtc, 1)));
    assert!(lane.state.next_for_executor().is_none());
    (0..3).for_each(|_| lane.tick(rtc));
    assert!(lane.held().is_some());
    lane.tick(rtc);
    assert!(lane.held().is_none());
}

#[test]
fn stop_ends_a_claimed_call_and_says_what_is_known() {
    for (call, effect) in [(edit("a"), Changed::Unknown), (read("a"), Changed::None)] {
        let mut lane = Lane::with_calls(vec![call]);
        let rtc = lane.open(0);
        lane.lease(rtc, HOLDER).unwrap();
        lane.tell(Command::Stop);
        assert_eq!(
            (lane.rtc(rtc).status, lane.rtc(rtc).effect),
            (RtcStatus::Rejected, Some(effect))
        );
        assert!(lane.state.is_idle());
        lane.tell(Command::LeaseTick { rtc, attempt: 1 });
        lane.finish(rtc, 1, Ok(json!("late")));
        assert_eq!(lane.rtc(rtc).status, RtcStatus::Rejected);
    }
}

#[test]
fn an_error_of_an_effect_elsewhere_leaves_its_effect_open() {
    for (call, effect) in [(edit("a"), Some(Changed::Unknown)), (read("a"), None)] {
        let mut lane = Lane::with_calls(vec![call]);
        let rtc = lane.open(0);
        lane.lease(rtc, HOLDER).unwrap();
        lane.finish(rtc, 1, Err(ToolError::execution("broke")));
        assert_eq!(
            (lane.rtc(rtc).status, lane.rtc(rtc).effect),
            (RtcStatus::Failed, effect)
        );
    }
}
