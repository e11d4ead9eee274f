//! The state machines, as tables: what stands here is allowed, and every other pair is refused.

use std::fmt::Debug;

use rtc_types::{ApprovalState, RtcStatus, SessionStatus, TurnStatus};

fn assert_table<S: Copy + PartialEq + Debug>(all: &[S], allowed: &[(S, S)], may_become: fn(S, S) -> bool) {
    for &from in all {
        for &to in all {
            let expected = allowed.contains(&(from, to));
            assert_eq!(may_become(from, to), expected, "{from:?} -> {to:?}");
        }
    }
}

/// A turn begins `running`, or `pending` where it is stopped before it could run. `merged` is a state of others: here
/// messages that wait have no turn before they are taken over.
#[test]
fn turns() {
    use TurnStatus::*;
    let allowed = [
        (Pending, Running),
        (Pending, Merged),
        (Pending, Failed),
        (Pending, Cancelled),
        (Running, Interrupted),
        (Running, Completed),
        (Running, Failed),
        (Running, Cancelled),
        (Interrupted, Running),
        (Interrupted, Failed),
        (Interrupted, Cancelled),
    ];
    assert_table(TurnStatus::ALL, &allowed, TurnStatus::may_become);
    let over = [Completed, Failed, Cancelled, Merged];
    for &status in TurnStatus::ALL {
        assert_eq!(status.is_terminal(), over.contains(&status), "{status:?}");
    }
}

/// A call that is started again stays `executing`; one that ends needs not have been sent.
#[test]
fn calls() {
    use RtcStatus::*;
    let allowed = [
        (Pending, Sent),
        (Pending, Executing),
        (Pending, Completed),
        (Pending, Failed),
        (Pending, Timeout),
        (Pending, Rejected),
        (Sent, Executing),
        (Sent, Completed),
        (Sent, Failed),
        (Sent, Timeout),
        (Sent, Rejected),
        (Executing, Completed),
        (Executing, Failed),
        (Executing, Timeout),
        (Executing, Rejected),
    ];
    assert_table(RtcStatus::ALL, &allowed, RtcStatus::may_become);
    let over = [Completed, Failed, Timeout, Rejected];
    for &status in RtcStatus::ALL {
        assert_eq!(status.is_terminal(), over.contains(&status), "{status:?}");
    }
}

/// A closed session is opened before anything begins in it.
#[test]
fn sessions() {
    use SessionStatus::*;
    let allowed = [
        (Active, Idle),
        (Active, Closed),
        (Idle, Active),
        (Idle, Closed),
        (Closed, Idle),
    ];
    assert_table(SessionStatus::ALL, &allowed, SessionStatus::may_become);
}

/// An approval is answered once, or withdrawn; a yes is asked for again where the rules have become stricter meanwhile.
#[test]
fn approvals() {
    use ApprovalState::*;
    let allowed = [
        (Open, Approved),
        (Open, Rejected),
        (Open, Withdrawn),
        (Approved, Open),
    ];
    assert_table(ApprovalState::ALL, &allowed, ApprovalState::may_become);
}
