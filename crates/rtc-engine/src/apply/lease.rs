//! A call that an executor elsewhere has claimed: it holds the call for as long as it renews.
//!
//! How long that is, is counted in ticks of a timer, never by the wall clock, which may jump. After a restart the count
//! begins again: the executor may still be at work, and comes back.

use std::time::Duration;

use rtc_tool::{Kind, Verdict};
use rtc_types::{ApprovalState, Code, OutcomeKnown, RtcId, RtcStatus, Timestamp};
use uuid::Uuid;

use super::call;
use crate::Error;
use crate::command::{Done, Effect};
use crate::draft::Draft;
use crate::stored::Lease;

/// How long a claim holds at least after it was made or renewed.
pub(crate) const LEASE: Duration = Duration::from_secs(30);
/// How long a tick is.
pub(crate) const LEASE_TICK: Duration = Duration::from_secs(10);
/// After how many ticks without a renewal the claim is lost: the first of them may come at once.
const TICKS: u8 = 4;

/// Takes the first open call for an executor elsewhere. What has become stricter since the call was made counts.
pub(super) fn take(draft: &mut Draft, rtc: RtcId, holder: Uuid) -> Result<Done, Error> {
    let index = call::open(draft, rtc, Code::RtcInvalidState)?;
    let refused = |code: Code, why: &str| Err(Error::refused(code, why));
    let call = &draft.state.calls[index];
    let (entity, private) = (&call.stored.entity, &call.stored.private);
    match &private.lease {
        Some(lease) if lease.holder == holder => return renew(draft, rtc, holder, None),
        Some(_) => return refused(Code::RtcClaimed, "another executor has claimed the call"),
        None => {}
    }
    if private.kind != Kind::Device {
        return refused(
            Code::RtcInvalidState,
            "the user answers this call; nobody runs it",
        );
    }
    if entity.outcome == Some(OutcomeKnown::Unknown) {
        let why = "the call was started and nobody knows how it ended; the user decides first";
        return refused(Code::RtcInvalidState, why);
    }
    if call.claimed || private.mark.is_some() {
        return refused(Code::RtcClaimed, "the device runs the call itself");
    }
    if index != 0 {
        let why = "an earlier call of this session has no result yet";
        return refused(Code::RtcInvalidState, why);
    }
    if draft.state.stopping {
        return refused(Code::RtcInvalidState, "the call is being stopped");
    }
    let approval = entity.approval.as_ref().map(|approval| approval.state);
    if approval == Some(ApprovalState::Open) {
        return refused(Code::ApprovalRequired, "the call waits for the user's answer");
    }
    match call::verdict(draft, call) {
        Verdict::Allow if call.stored.is_settled() => {}
        Verdict::Allow | Verdict::Ask(_) => {
            draft.after(Effect::Preview(rtc));
            return Ok(Done::NotClaimed);
        }
        Verdict::Deny(why) => {
            call::end_call(draft, rtc, call::Ended::rejected(why), true);
            return Ok(Done::NotClaimed);
        }
    }
    let now = draft.now;
    let stored = &mut draft.state.calls[index].stored;
    stored.entity.attempt += 1;
    stored.entity.status = RtcStatus::Executing;
    stored.private.lease = Some(Lease {
        holder,
        since: now,
        ticks: 0,
    });
    call::put(draft, index);
    follow(draft, index);
    Ok(Done::Leased(until(now)))
}

/// Whether a claim is of this connection, or of the start that whoever is there names: it has come back over another one.
pub(crate) fn is_of(lease: &Lease, current: u32, holder: Uuid, attempt: Option<u32>) -> bool {
    attempt.map_or(lease.holder == holder, |attempt| attempt == current)
}

/// The executor still runs it. Nothing is written: after a restart the count begins again anyway.
pub(super) fn renew(
    draft: &mut Draft,
    rtc: RtcId,
    holder: Uuid,
    attempt: Option<u32>,
) -> Result<Done, Error> {
    let index = call::open(draft, rtc, Code::RtcInvalidState)?;
    let call = &mut draft.state.calls[index];
    let current = call.stored.entity.attempt;
    match &mut call.stored.private.lease {
        Some(lease) if is_of(lease, current, holder, attempt) => {
            lease.holder = holder;
            lease.ticks = 0;
            Ok(Done::Leased(until(draft.now)))
        }
        Some(_) => Err(Error::refused(
            Code::RtcClaimed,
            "another executor has claimed the call; say which start of it still runs, if it is yours",
        )),
        None if call.claimed => Err(Error::refused(
            Code::RtcClaimed,
            "the device runs the call itself",
        )),
        None => Err(Error::refused(
            Code::RtcInvalidState,
            "the call is not claimed: the claim was never made, or ran out",
        )),
    }
}

/// Time has passed. Of a claim that is lost, a call that only looks is free for others; any other may have run.
pub(super) fn tick(draft: &mut Draft, rtc: RtcId, attempt: u32) -> Done {
    let index = draft.state.calls.iter().position(|call| {
        let stored = &call.stored;
        stored.entity.id == rtc && stored.entity.attempt == attempt && stored.private.lease.is_some()
    });
    let Some(index) = index else { return Done::Ok };
    let stored = &mut draft.state.calls[index].stored;
    let only_looks = stored.only_looks();
    let Some(lease) = &mut stored.private.lease else {
        return Done::Ok;
    };
    lease.ticks += 1;
    if lease.ticks < TICKS {
        follow(draft, index);
        return Done::Ok;
    }
    let since = lease.since;
    stored.private.lease = None;
    if only_looks {
        draft.after(Effect::WakeExecutor);
    } else {
        stored.entity.outcome = Some(OutcomeKnown::Unknown);
        stored.entity.error_message = Some(format!(
            "It was claimed at {since} by another executor, which has not been heard of since."
        ));
    }
    call::put(draft, index);
    Done::Ok
}

/// After a restart: the executors elsewhere know nothing of it and get all their time again.
pub(super) fn recover(draft: &mut Draft) {
    for index in 0..draft.state.calls.len() {
        if let Some(lease) = &mut draft.state.calls[index].stored.private.lease {
            lease.ticks = 0;
            follow(draft, index);
        }
    }
}

fn follow(draft: &mut Draft, index: usize) {
    let entity = &draft.state.calls[index].stored.entity;
    draft.after(Effect::LeaseTimer(entity.id, entity.attempt));
}

/// As clients are told; it holds at least that long.
fn until(now: Timestamp) -> Timestamp {
    now.checked_add(LEASE).unwrap_or(now)
}
