//! Stop means stop: afterwards nothing of the turn runs, asks or starts anything.
//!
//! A call that may have an effect gets some time to say what it did; that the turn is being stopped is stored, so that
//! a process that ends in between does not go on with it at the next start.

use rtc_tool::ToolError;
use rtc_types::{
    ApprovalState, Effect as Changed, OutcomeKnown, RtcId, RtcStatus, StreamingStatus, TurnStatus,
};
use serde_json::Value;

use super::{call, new_turn, reply};
use crate::command::{Done, Effect};
use crate::draft::Draft;
use crate::state::Call;

pub(super) fn stop(draft: &mut Draft) -> Done {
    if draft.state.turn.is_none() && !draft.state.waiting.is_empty() {
        // It was about to begin.
        draft.state.turn = new_turn(draft, TurnStatus::Pending);
    }
    // What waits is part of the conversation, and is answered with the next message. What is said from now on is not
    // stopped.
    draft.take_over_waiting();
    if draft.state.stopping {
        return Done::Ok;
    }
    draft.after(Effect::CancelModel);
    let first = draft
        .state
        .calls
        .first()
        .map(|first| (first.stored.entity.id, may_tell(first), first.claimed));
    if let Some((rtc, tells, is_claimed)) = first {
        // Also one that is only being prepared.
        draft.after(Effect::CancelCall(rtc));
        if tells {
            draft.state.stopping = true;
            // Nobody is asked any more; a call that waited for an answer is looked at once more instead.
            withdraw_approvals(draft);
            if !is_claimed {
                draft.after(Effect::WakeExecutor);
            }
            draft.after(Effect::StopTimer(rtc));
            return Done::Ok;
        }
    }
    end(draft, None);
    Done::Ok
}

fn withdraw_approvals(draft: &mut Draft) {
    for index in 0..draft.state.calls.len() {
        let approval = draft.state.calls[index].stored.entity.approval.as_mut();
        if let Some(approval) = approval.filter(|approval| approval.state == ApprovalState::Open) {
            approval.state = ApprovalState::Withdrawn;
            call::put(draft, index);
        }
    }
}

/// Whether an executor will say what became of the call: it runs, or its mark is going to be looked at.
fn may_tell(call: &Call) -> bool {
    call.claimed
        || (call.stored.private.mark.is_some() && call.stored.entity.outcome != Some(OutcomeKnown::Unknown))
}

/// The call that was given time did not end in it.
pub(super) fn deadline(draft: &mut Draft, rtc: RtcId) -> Done {
    let same = draft
        .state
        .calls
        .first()
        .is_some_and(|first| first.stored.entity.id == rtc);
    if draft.state.stopping && same {
        end(draft, None);
    }
    Done::Ok
}

/// After a restart: what is left of a stop.
pub(super) fn recover(draft: &mut Draft) {
    if draft.state.calls.first().is_some_and(may_tell) {
        draft.after(Effect::WakeExecutor);
    } else {
        end(draft, None);
    }
}

/// The call ended, was found not to have run (an error that says so), or cannot be judged (`None`), in time.
pub(super) fn ended_in_time(draft: &mut Draft, rtc: RtcId, result: Option<Result<Value, ToolError>>) {
    end(draft, result.map(|result| (rtc, result)));
}

fn end(draft: &mut Draft, ended: Option<(RtcId, Result<Value, ToolError>)>) {
    draft.state.stopping = false;
    // The text so far is what the user saw; it stays part of the conversation.
    reply::close_streaming(draft, StreamingStatus::Completed);
    let open: Vec<RtcId> = draft
        .state
        .calls
        .iter()
        .map(|call| call.stored.entity.id)
        .collect();
    for rtc in open {
        let result = ended
            .as_ref()
            .filter(|(other, _)| *other == rtc)
            .map(|(_, result)| result);
        end_one(draft, rtc, result);
    }
    if draft.state.turn.is_some() {
        draft.end_turn(TurnStatus::Cancelled);
    }
}

fn end_one(draft: &mut Draft, rtc: RtcId, result: Option<&Result<Value, ToolError>>) {
    let Some(call) = draft.state.calls.iter().find(|call| call.stored.entity.id == rtc) else {
        return;
    };
    let private = &call.stored.private;
    let effect = match result {
        _ if !call.stored.may_have_run() && !private.unsure => Changed::None,
        Some(Ok(_)) => Changed::Applied,
        Some(Err(error)) if error.says_nothing_changed() && !private.unsure => Changed::None,
        Some(Err(_)) | None => Changed::Unknown,
    };
    let why = match effect {
        Changed::None => "the user stopped the turn; nothing was changed by this call",
        Changed::Applied => "the user stopped the turn; this call had already taken effect",
        Changed::Unknown => {
            "the user stopped the turn while this call ran; whether it took effect is not known, look before you \
             repeat it"
        }
    };
    let entity = &call.stored.entity;
    let found = entity.error_message.as_ref().filter(|_| entity.outcome.is_some());
    let why = match (effect, result) {
        (Changed::Unknown, None) if let Some(evidence) = found => format!(
            "the call was started and the program ended before its result was known; then the user stopped the turn. \
             {evidence} Look at what is there before you repeat it."
        ),
        // What it could still say may be all that is known of its effect.
        (Changed::Unknown, Some(Err(error))) => format!("{why}. It says: {}", error.message),
        _ => why.to_owned(),
    };
    let ended = call::Ended {
        status: RtcStatus::Rejected,
        result: result.and_then(|result| result.as_ref().ok().cloned()),
        error: Some(why),
        effect: Some(effect),
    };
    call::end_call(draft, rtc, ended, false);
}
