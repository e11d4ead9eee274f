//! Remote tool calls.

use rtc_realtime::{Caller, Scope};
use rtc_tool::{ErrorKind, Kind, ToolError};
use rtc_types::{
    ApprovalDecision, ApprovalState, Code, Rtc, RtcId, RtcStatus, Update, UpdateAction, UpdateEntity,
    UpdateId, UpdateItem,
};
use rtc_wire::rpc::{
    Claimed, Item, Page, Previewed, Renewed, ReportedStatus, Resolution as Answer, RpcError, RtcApprove,
    RtcClaim, RtcGet, RtcList, RtcPreview, RtcRenew, RtcResolve, RtcSubmitResult, RtcUpdateStatus, Success,
};
use serde_json::Value;

use super::{action, count, page};
use crate::apply::lease::is_of;
use crate::command::{Command, Done, Outcome, Resolution};
use crate::engine::Engine;
use crate::state::Call;
use crate::stored::StoredRtc;

impl Engine {
    pub(super) async fn rtc_list(&self, caller: &Caller, ask: RtcList) -> Result<Page<Rtc, RtcId>, RpcError> {
        self.known_session(ask.session_id).await?;
        let after = match ask.cursor {
            Some(cursor) => {
                let last = self.known_rtc(cursor).await?.entity;
                if last.session_id != ask.session_id {
                    return Err(not_found(cursor));
                }
                last.offset
            }
            None => 0,
        };
        let limit = count(ask.limit.get());
        let read = self.inner.records.rtcs_after(ask.session_id, after, limit + 1);
        let rtcs = self.readable(ask.session_id, read.await?);
        let rtcs = rtcs.into_iter().map(|stored| stored.entity).collect();
        let mut page = page(rtcs, limit, |rtc: &Rtc| rtc.id);
        page.items.retain(|rtc| self.is_shown(caller, rtc));
        Ok(page)
    }

    pub(super) async fn rtc_get(&self, caller: &Caller, ask: RtcGet) -> Result<Item<Rtc>, RpcError> {
        let item = self.shown_rtc(caller, ask.rtc_id).await?.entity;
        Ok(Item { item })
    }

    pub(super) async fn rtc_preview(&self, caller: &Caller, ask: RtcPreview) -> Result<Previewed, RpcError> {
        let stored = self.shown_rtc(caller, ask.rtc_id).await?;
        if !stored.asks_blindly() {
            let preview = stored.entity.preview;
            return Ok(Previewed { preview });
        }
        // What could not be shown when the call was made may be by now.
        self.settle(&stored).await?;
        let preview = self.shown_rtc(caller, ask.rtc_id).await?.entity.preview;
        Ok(Previewed { preview })
    }

    pub(super) async fn rtc_approve(&self, caller: &Caller, ask: RtcApprove) -> Result<Value, RpcError> {
        let session = self.shown_rtc(caller, ask.rtc_id).await?.entity.session_id;
        let approve = Command::Approve {
            rtc: ask.rtc_id,
            decision: ask.decision,
            reason: ask.reason.map(|reason| reason.into_string()),
            device: caller.device,
        };
        let (_, updates) = self.ask(session, approve).await?;
        action(Success::DONE, updates)
    }

    pub(super) async fn rtc_resolve(&self, caller: &Caller, ask: RtcResolve) -> Result<Value, RpcError> {
        let session = self.shown_rtc(caller, ask.rtc_id).await?.entity.session_id;
        let resolve = Command::Resolve {
            rtc: ask.rtc_id,
            decision: match ask.decision {
                Answer::Retry => Resolution::Retry,
                Answer::Done => Resolution::Done,
                Answer::Tell => Resolution::Tell,
            },
        };
        let (_, updates) = self.ask(session, resolve).await?;
        action(Success::DONE, updates)
    }

    pub(super) async fn rtc_claim(&self, caller: &Caller, ask: RtcClaim) -> Result<Value, RpcError> {
        let stored = self.shown_rtc(caller, ask.rtc_id).await?;
        owns(caller, &stored)?;
        if !stored.is_settled() && !stored.entity.status.is_terminal() {
            // What is claimed is what was looked at.
            self.settle(&stored).await?;
        }
        let claim = Command::Lease {
            rtc: ask.rtc_id,
            holder: caller.connection.uuid(),
        };
        let (done, updates) = self.ask(stored.entity.session_id, claim).await?;
        if let Done::Leased(until) = done {
            let claimed = Claimed {
                tool: stored.entity.tool_name,
                parameters: stored.entity.parameters,
                attempt: self.known_rtc(ask.rtc_id).await?.entity.attempt,
                lease_until: Some(until),
            };
            return action(claimed, updates);
        }
        let ended = self.known_rtc(ask.rtc_id).await?.entity.status.is_terminal();
        Err(if ended {
            let told = "a rule or the mode forbids the call by now; it was refused";
            RpcError::new(Code::RtcInvalidState, told)
        } else {
            RpcError::new(Code::ApprovalRequired, "the user is asked about the call first")
        })
    }

    pub(super) async fn rtc_renew(&self, caller: &Caller, ask: RtcRenew) -> Result<Value, RpcError> {
        let stored = self.shown_rtc(caller, ask.rtc_id).await?;
        owns(caller, &stored)?;
        let renew = Command::Renew {
            rtc: ask.rtc_id,
            holder: caller.connection.uuid(),
            attempt: ask.attempt,
        };
        let (done, updates) = self.ask(stored.entity.session_id, renew).await?;
        let lease_until = match done {
            Done::Leased(until) => Some(until),
            _ => None,
        };
        action(Renewed { lease_until }, updates)
    }

    pub(super) async fn rtc_submit_result(
        &self,
        caller: &Caller,
        ask: RtcSubmitResult,
    ) -> Result<Value, RpcError> {
        let stored = self.shown_rtc(caller, ask.rtc_id).await?;
        let is_question = stored.private.kind == Kind::User;
        if !is_question {
            owns(caller, &stored)?;
            if !caller.scopes.has(Scope::Execute) {
                let told = "the token allows no calls to be run";
                return Err(RpcError::new(Code::PermissionDenied, told));
            }
        }
        if stored.entity.status.is_terminal() {
            // Whoever did not hear of it learns how it ended, and who answered.
            let is_the_same = ask.client_id.as_ref() == Some(&stored.entity.client_id);
            let is_anothers = is_question && stored.entity.answered_by != Some(caller.device);
            let updates = if is_the_same && !is_anothers {
                Vec::new()
            } else {
                vec![self.healing(&stored)?]
            };
            return action(Success::DONE, updates);
        }
        same_client_id(ask.client_id.as_ref(), &stored)?;
        let result = match (ask.success, ask.result, ask.error) {
            (true, Some(result), _) => Ok(result),
            (true, None, _) if !is_question && !self.inner.host.runs_here(stored.entity.device_id) => {
                Ok(Value::Null)
            }
            (true, None, _) => {
                let told = "the call has no outcome of the device's own run; hand in the result";
                return Err(RpcError::field(Code::RtcInvalidResult, "result", told));
            }
            (false, _, error) => Err(error.map_or_else(
                || "the call failed, and the client did not say why".to_owned(),
                |error| error.into_string(),
            )),
        };
        let by = Some(caller.device);
        let mut updates = if is_question {
            match result {
                Ok(answer) => self.answer_telling(ask.rtc_id, answer, by).await?,
                Err(why) => self.dismiss_telling(ask.rtc_id, &why, by).await?,
            }
        } else {
            self.free_for(caller, &stored, ask.attempt).await?;
            let result = result.map_err(|why| ToolError::new(ErrorKind::Execution, why));
            let attempt = ask.attempt.unwrap_or(stored.entity.attempt);
            self.hand_in(&stored, attempt, Outcome::of(result), by).await?
        };
        if updates.is_empty() {
            // Somebody else was first.
            updates.push(self.healing(&self.known_rtc(ask.rtc_id).await?)?);
        }
        action(Success::DONE, updates)
    }

    pub(super) async fn rtc_update_status(
        &self,
        caller: &Caller,
        ask: RtcUpdateStatus,
    ) -> Result<Value, RpcError> {
        let stored = self.shown_rtc(caller, ask.rtc_id).await?;
        owns(caller, &stored)?;
        same_client_id(ask.client_id.as_ref(), &stored)?;
        let (is, shall) = (stored.entity.status, RtcStatus::from(ask.status));
        if is == shall {
            return action(Success::DONE, Vec::new());
        }
        if is.is_terminal() {
            let told = format!("the call has ended as {is:?}; it cannot become {shall:?}");
            return Err(RpcError::new(Code::RtcInvalidState, told));
        }
        let session = stored.entity.session_id;
        let kind = match ask.status {
            ReportedStatus::Executing => {
                let rtc = ask.rtc_id;
                if let Some(call) = self.answered(caller, &stored).await?
                    && call.stored.waits_for_approval()
                {
                    // Its device has asked its user itself.
                    let approve = Command::Approve {
                        rtc,
                        decision: ApprovalDecision::Once,
                        reason: None,
                        device: caller.device,
                    };
                    self.tell(session, approve).await?;
                }
                let (_, updates) = self.ask(session, Command::Executing { rtc }).await?;
                return action(Success::DONE, updates);
            }
            ReportedStatus::Failed => ErrorKind::Execution,
            ReportedStatus::Timeout => ErrorKind::Timeout,
            ReportedStatus::Rejected => ErrorKind::PermissionDenied,
        };
        self.free_for(caller, &stored, None).await?;
        let told = format!("the device says that it ended as {shall:?}");
        let outcome = Outcome::failed(ToolError::new(kind, told));
        let attempt = stored.entity.attempt;
        let updates = self
            .hand_in(&stored, attempt, outcome, Some(caller.device))
            .await?;
        action(Success::DONE, updates)
    }

    /// The call, if it is open. Refused while the user is asked about it, unless the caller's device asks its user itself.
    async fn answered(&self, caller: &Caller, stored: &StoredRtc) -> Result<Option<Call>, RpcError> {
        let state = self.wake(stored.entity.session_id).await?;
        let Some(call) = state.call(stored.entity.id) else {
            return Ok(None);
        };
        if call.stored.waits_for_approval() && !self.asks_itself(caller, &call.stored.entity) {
            let told = "the call waits for the user's answer";
            return Err(RpcError::new(Code::ApprovalRequired, told));
        }
        Ok(Some(call.clone()))
    }

    /// Whether a client may say how a start of a call ended: nobody is asked for it, nobody runs it here, and no other
    /// executor has claimed it.
    async fn free_for(
        &self,
        caller: &Caller,
        stored: &StoredRtc,
        attempt: Option<u32>,
    ) -> Result<(), RpcError> {
        let Some(call) = self.answered(caller, stored).await? else {
            return Ok(());
        };
        let claimed = |told: &str| Err(RpcError::new(Code::RtcClaimed, told));
        if call.claimed {
            return claimed("the device runs the call itself");
        }
        let (current, connection) = (call.stored.entity.attempt, caller.connection.uuid());
        match &call.stored.private.lease {
            Some(lease) if attempt.is_none() && !is_of(lease, current, connection, None) => {
                claimed("another executor has claimed the call; say which start of it ended, if it was yours")
            }
            None if attempt.is_none() && current > 1 => claimed(
                "the call was started more than once; hand in a result that says which start of it ended",
            ),
            _ => Ok(()),
        }
    }

    /// Whether the user of a client without approvals is asked about a call by that client itself.
    fn asks_itself(&self, caller: &Caller, rtc: &Rtc) -> bool {
        !caller.approvals && rtc.device_id == caller.device && self.inner.host.asks_itself(caller.device)
    }

    /// A client that asks nobody for a Yes would run a call that waits for one: it is shown none, as in the stream.
    fn is_shown(&self, caller: &Caller, rtc: &Rtc) -> bool {
        let approval = rtc.approval.as_ref().map(|approval| approval.state);
        caller.approvals || approval != Some(ApprovalState::Open) || self.asks_itself(caller, rtc)
    }

    /// A call, if it is shown to the caller; else there is none for it.
    pub async fn shown_rtc(&self, caller: &Caller, rtc: RtcId) -> Result<StoredRtc, RpcError> {
        let stored = self.known_rtc(rtc).await?;
        if !self.is_shown(caller, &stored.entity) {
            return Err(not_found(rtc));
        }
        Ok(stored)
    }

    async fn known_rtc(&self, rtc: RtcId) -> Result<StoredRtc, RpcError> {
        let found = self.rtc(rtc).await?;
        found.ok_or_else(|| not_found(rtc))
    }

    /// The call as it is stored, for a client that does not know that it has ended.
    fn healing(&self, stored: &StoredRtc) -> Result<Update, RpcError> {
        let data = serde_json::to_value(&stored.entity)
            .map_err(|error| RpcError::new(Code::Internal, error.to_string()))?;
        Ok(Update {
            id: UpdateId::new(self.inner.clock.stamp().mint().uuid()),
            items: vec![UpdateItem {
                entity: UpdateEntity::Rtc,
                action: UpdateAction::Updated,
                entity_id: stored.entity.id.uuid(),
            }],
            data_list: vec![data],
            offset: 0,
        })
    }
}

fn not_found(rtc: RtcId) -> RpcError {
    RpcError::new(Code::RtcNotFound, format!("there is no call {rtc}"))
}

/// Calls run on the device of their session, and nobody else says how they ended.
fn owns(caller: &Caller, stored: &StoredRtc) -> Result<(), RpcError> {
    if caller.device == stored.entity.device_id {
        return Ok(());
    }
    let told = "the call belongs to another device, which runs it";
    Err(RpcError::new(Code::PermissionDenied, told))
}

fn same_client_id(given: Option<&rtc_types::ClientId>, stored: &StoredRtc) -> Result<(), RpcError> {
    match given {
        Some(given) if *given != stored.entity.client_id => {
            let told = "the client id is not that of this call";
            Err(RpcError::field(Code::RtcClientIdMismatch, "client_id", told))
        }
        _ => Ok(()),
    }
}
