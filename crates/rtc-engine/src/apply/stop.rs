//! Stop means stop: afterwards nothing of the turn runs, asks or starts anything.

use rtc_tool::ToolError;
use rtc_types::{ApprovalState, Effect as Changed, RtcId, RtcStatus, StreamingStatus, TurnStatus};
use serde_json::Value;

use super::{call, reply};
use crate::command::{Done, Effect};
use crate::draft::Draft;

pub(super) fn stop(draft: &mut Draft) -> Done {
    if draft.state.stopping {
        return Done::Ok;
    }
    draft.after(Effect::CancelModel);
    match draft.state.calls.iter().find(|call| call.claimed) {
        Some(running) => {
            let rtc = running.stored.entity.id;
            draft.state.stopping = true;
            draft.after(Effect::CancelCall(rtc));
            draft.after(Effect::StopTimer);
        }
        None => end(draft, None),
    }
    Done::Ok
}

/// The running call did not end in time.
pub(super) fn deadline(draft: &mut Draft) -> Done {
    if draft.state.stopping {
        end(draft, None);
    }
    Done::Ok
}

/// The running call ended after Stop was pressed and before its time was over.
pub(super) fn ended_in_time(draft: &mut Draft, rtc: RtcId, result: Result<Value, ToolError>) {
    end(draft, Some((rtc, result)));
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
    // Messages that waited are part of the conversation, and are answered with the next one.
    if draft.state.turn.is_some() {
        draft.take_over_waiting();
        draft.end_turn(TurnStatus::Cancelled);
    }
}

fn end_one(draft: &mut Draft, rtc: RtcId, result: Option<&Result<Value, ToolError>>) {
    let Some(call) = draft
        .state
        .calls
        .iter_mut()
        .find(|call| call.stored.entity.id == rtc)
    else {
        return;
    };
    let marked = call.stored.private.mark.is_some();
    let effect = match result {
        Some(Ok(_)) if marked => Changed::Applied,
        Some(_) => Changed::None,
        None if marked => Changed::Unknown,
        None => Changed::None,
    };
    if let Some(approval) = call
        .stored
        .entity
        .approval
        .as_mut()
        .filter(|a| a.state == ApprovalState::Open)
    {
        approval.state = ApprovalState::Withdrawn;
    }
    let why = match effect {
        Changed::None => "the user stopped the turn; nothing was changed by this call",
        Changed::Applied => "the user stopped the turn; this call had already taken effect",
        Changed::Unknown => {
            "the user stopped the turn while this call ran; whether it took effect is not known, look before you \
             repeat it"
        }
    };
    let ended = call::Ended {
        status: RtcStatus::Rejected,
        result: result.and_then(|result| result.as_ref().ok().cloned()),
        error: Some(why.to_owned()),
        effect: Some(effect),
    };
    call::end_call(draft, rtc, ended, false);
}
