//! No step takes a record where its state machine does not lead: such a step is refused as a whole.

use std::fmt::Debug;

use rtc_types::Code;

use crate::Error;
use crate::command::{Step, Write};
use crate::state::SessionState;

/// Refuses a step that breaks the table of a turn, a call, an approval or the session.
pub(super) fn check(before: &SessionState, step: &Step) -> Result<(), Error> {
    for write in &step.writes {
        match write {
            Write::Turn(turn) => {
                let former = before.turn.as_ref().map(|former| &former.entity);
                if let Some(former) = former.filter(|former| former.id == turn.entity.id) {
                    let (from, to) = (former.status, turn.entity.status);
                    let is_allowed = from == to && !from.is_terminal() || from.may_become(to);
                    allow(is_allowed, "a turn", from, to)?;
                }
            }
            Write::Rtc(rtc) => {
                let former = before.calls.iter().map(|call| &call.stored.entity);
                let Some(former) = former.into_iter().find(|former| former.id == rtc.entity.id) else {
                    continue;
                };
                let (from, to) = (former.status, rtc.entity.status);
                allow(from == to || from.may_become(to), "a call", from, to)?;
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

#[cfg(test)]
mod tests {
    use rtc_types::{RtcStatus, SessionStatus, TurnStatus};

    use super::super::tests::with_call;
    use super::*;

    #[test]
    fn a_step_that_breaks_a_table_is_refused() {
        let (state, step) = with_call();
        assert!(check(&state, &step).is_ok());
        let with = |write: Write| Step {
            writes: vec![write],
            ..step.clone()
        };
        let refused = |write: Write| check(&state, &with(write)).unwrap_err().to_string();

        let mut turn = state.turn.clone().unwrap();
        turn.entity.status = TurnStatus::Pending;
        insta::assert_snapshot!(refused(Write::Turn(turn)), @"a turn cannot go from Interrupted to Pending; nothing was changed");
        let mut rtc = state.calls[0].stored.clone();
        rtc.entity.status = RtcStatus::Pending;
        let mut before = state.clone();
        before.calls[0].stored.entity.status = RtcStatus::Executing;
        let error = check(&before, &with(Write::Rtc(Box::new(rtc)))).unwrap_err();
        insta::assert_snapshot!(error, @"a call cannot go from Executing to Pending; nothing was changed");
        let mut before = state.clone();
        before.session.as_mut().unwrap().entity.status = SessionStatus::Closed;
        let mut session = state.session.clone().unwrap();
        session.entity.status = SessionStatus::Active;
        let error = check(&before, &with(Write::Session(Box::new(session)))).unwrap_err();
        insta::assert_snapshot!(error, @"a session cannot go from Closed to Active; nothing was changed");
    }
}
