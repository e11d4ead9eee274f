//! No step takes a record where its state machine does not lead: such a step is refused as a whole.

use std::fmt::Debug;

use rtc_types::{Code, UpdateAction, UpdateItem};

use crate::Error;
use crate::command::{Step, Write};
use crate::state::SessionState;

/// Refuses a step that breaks the table of a turn, a call, an approval or the session, or that writes a turn or a call
/// again which the state has no more, because it is over.
pub(super) fn check(before: &SessionState, step: &Step) -> Result<(), Error> {
    let session = before.session.as_ref();
    let last_rtc = session.map_or(0, |session| session.private.last_rtc);
    for write in &step.writes {
        match write {
            Write::Turn(turn) => {
                let id = turn.entity.id;
                let former = before.turn.as_ref().map(|former| &former.entity);
                let Some(former) = former.filter(|former| former.id == id) else {
                    let is_new = |item: &UpdateItem| {
                        item.entity_id == id.uuid() && item.action == UpdateAction::Created
                    };
                    begins(step.items.iter().any(is_new), "a turn")?;
                    continue;
                };
                let (from, to) = (former.status, turn.entity.status);
                let is_allowed = from == to && !from.is_terminal() || from.may_become(to);
                allow(is_allowed, "a turn", from, to)?;
            }
            Write::Rtc(rtc) => {
                let former = before.calls.iter().map(|call| &call.stored.entity);
                let Some(former) = former.into_iter().find(|former| former.id == rtc.entity.id) else {
                    // A new one has a number that none had.
                    begins(rtc.entity.offset > last_rtc, "a call")?;
                    continue;
                };
                let (from, to) = (former.status, rtc.entity.status);
                let is_allowed = from == to && !from.is_terminal() || from.may_become(to);
                allow(is_allowed, "a call", from, to)?;
                if let Some((from, to)) = former.approval.as_ref().zip(rtc.entity.approval.as_ref()) {
                    let (from, to) = (from.state, to.state);
                    allow(from == to || from.may_become(to), "an approval", from, to)?;
                }
            }
            Write::Session(session) => {
                if let Some(former) = &before.session {
                    let (from, to) = (former.entity.status, session.entity.status);
                    allow(from == to || from.may_become(to), "a session", from, to)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn allow(is_allowed: bool, what: &str, from: impl Debug, to: impl Debug) -> Result<(), Error> {
    if is_allowed {
        return Ok(());
    }
    Err(Error::refused(
        Code::Internal,
        format!("{what} cannot go from {from:?} to {to:?}; nothing was changed"),
    ))
}

fn begins(is_new: bool, what: &str) -> Result<(), Error> {
    if is_new {
        return Ok(());
    }
    Err(Error::refused(
        Code::Internal,
        format!("{what} that is over cannot be written again; nothing was changed"),
    ))
}

#[cfg(test)]
mod tests {
    use rtc_types::{Approval, ApprovalState, RtcStatus, SessionStatus, TurnStatus};

    use super::super::tests::with_call;
    use super::*;

    /// Whether a step of this one write is let through.
    fn lets(before: &SessionState, write: Write) -> bool {
        let (_, mut step) = with_call();
        step.writes = vec![write];
        check(before, &step).is_ok()
    }

    #[test]
    fn a_step_that_breaks_a_table_is_refused() {
        let (state, step) = with_call();
        assert!(check(&state, &step).is_ok());
        for &from in TurnStatus::ALL {
            for &to in TurnStatus::ALL {
                let (mut before, mut turn) = (state.clone(), state.turn.clone().unwrap());
                before.turn.as_mut().unwrap().entity.status = from;
                turn.entity.status = to;
                let wanted = from.may_become(to) || from == to && !from.is_terminal();
                assert_eq!(
                    lets(&before, Write::Turn(turn)),
                    wanted,
                    "a turn, {from:?} to {to:?}"
                );
            }
        }
        for &from in RtcStatus::ALL {
            for &to in RtcStatus::ALL {
                let (mut before, mut rtc) = (state.clone(), state.calls[0].stored.clone());
                before.calls[0].stored.entity.status = from;
                rtc.entity.status = to;
                let wanted = from.may_become(to) || from == to && !from.is_terminal();
                assert_eq!(
                    lets(&before, Write::Rtc(Box::new(rtc))),
                    wanted,
                    "a call, {from:?} to {to:?}"
                );
            }
        }
        for &from in ApprovalState::ALL {
            for &to in ApprovalState::ALL {
                let approval = |state| {
                    Some(Approval {
                        state,
                        why: String::new(),
                        decision: None,
                        reason: None,
                        decided_at: None,
                        decided_by: None,
                    })
                };
                let (mut before, mut rtc) = (state.clone(), state.calls[0].stored.clone());
                before.calls[0].stored.entity.approval = approval(from);
                rtc.entity.approval = approval(to);
                let wanted = from.may_become(to) || from == to;
                assert_eq!(
                    lets(&before, Write::Rtc(Box::new(rtc))),
                    wanted,
                    "an approval, {from:?} to {to:?}"
                );
            }
        }
        for &from in SessionStatus::ALL {
            for &to in SessionStatus::ALL {
                let (mut before, mut session) = (state.clone(), state.session.clone().unwrap());
                before.session.as_mut().unwrap().entity.status = from;
                session.entity.status = to;
                let wanted = from.may_become(to) || from == to;
                assert_eq!(
                    lets(&before, Write::Session(Box::new(session))),
                    wanted,
                    "a session, {from:?} to {to:?}"
                );
            }
        }
    }

    #[test]
    fn a_refused_step_says_what_it_would_have_done() {
        let (state, step) = with_call();
        let mut turn = state.turn.clone().unwrap();
        turn.entity.status = TurnStatus::Pending;
        let step = Step {
            writes: vec![Write::Turn(turn)],
            ..step
        };
        let error = check(&state, &step).unwrap_err();
        insta::assert_snapshot!(error, @"a turn cannot go from Interrupted to Pending; nothing was changed");
    }

    #[test]
    fn what_the_state_has_no_more_is_not_written_again() {
        let (state, _) = with_call();
        let (turn, rtc) = (state.turn.clone().unwrap(), state.calls[0].stored.clone());
        let mut before = state.clone();
        before.calls.clear();
        assert!(!lets(&before, Write::Rtc(Box::new(rtc))));
        before.turn = None;
        assert!(!lets(&before, Write::Turn(turn)));
    }
}
