//! The life of a call.

use rtc_tool::{Consent, ErrorKind, Kind, ToolError, Verdict, decide, grant, model_text};
use rtc_types::{
    ApprovalDecision, ApprovalState, Code, ContentData, DeviceId, Effect as Changed, MessageId, MessageRole,
    OutcomeKnown, Preview, PreviewKind, RtcId, RtcStatus, RuleId, SessionStatus, ToolCall, ToolCallId,
    TurnId, TurnStatus,
};
use serde_json::{Value, json};

use super::{reply, stop};
use crate::Error;
use crate::command::{Done, Effect, Outcome, Resolution, Write};
use crate::draft::{Draft, NewMessage};
use crate::state::Call;
use crate::stored::{Mark, shows};

/// How a call ended.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    pub(super) status: RtcStatus,
    pub(super) result: Option<Value>,
    pub(super) error: Option<String>,
    pub(super) effect: Option<Changed>,
}

impl Ended {
    pub(super) fn completed(value: Value) -> Self {
        Self {
            status: RtcStatus::Completed,
            result: Some(value),
            error: None,
            effect: None,
        }
    }

    pub(super) fn rejected(why: String) -> Self {
        Self {
            status: RtcStatus::Rejected,
            result: None,
            error: Some(why),
            effect: Some(Changed::None),
        }
    }

    pub(super) fn failed(error: ToolError) -> Self {
        let status = match error.kind {
            ErrorKind::Timeout => RtcStatus::Timeout,
            ErrorKind::PermissionDenied => RtcStatus::Rejected,
            _ => RtcStatus::Failed,
        };
        Self {
            status,
            result: error.details,
            error: Some(error.message),
            effect: None,
        }
    }

    /// An earlier start of the call may have taken effect, whatever became of this one.
    fn after_unknown_start(&mut self) {
        if self.status == RtcStatus::Completed
            || matches!(self.effect, Some(Changed::Applied | Changed::Unknown))
        {
            return;
        }
        self.effect = Some(Changed::Unknown);
        let error = self.error.get_or_insert_default();
        error.push_str("\n[an earlier start of this call may have taken effect: look before you repeat it]");
    }

    /// What the model reads.
    pub(super) fn text(&self, tool: &str) -> String {
        let reason = self.error.as_deref().unwrap_or_default();
        match self.status {
            RtcStatus::Failed => format!("[Tool Error] {tool} failed: {reason}"),
            RtcStatus::Timeout if self.effect == Some(Changed::Unknown) => format!(
                "[Tool Timeout] {tool} timed out: {reason}; whether it took effect is not known, look before you repeat it"
            ),
            RtcStatus::Timeout => format!("[Tool Timeout] {tool} timed out: {reason}"),
            RtcStatus::Rejected => format!("[Tool Rejected] {tool} was rejected: {reason}"),
            RtcStatus::Completed => self.result.as_ref().map(model_text).unwrap_or_default(),
            RtcStatus::Pending | RtcStatus::Sent | RtcStatus::Executing => {
                format!("[Tool Pending] {tool} has no result yet")
            }
        }
    }
}

fn find(draft: &Draft, rtc: RtcId) -> Option<usize> {
    draft
        .state
        .calls
        .iter()
        .position(|call| call.stored.entity.id == rtc)
}

pub(super) fn open(draft: &Draft, rtc: RtcId, code: Code) -> Result<usize, Error> {
    find(draft, rtc).ok_or_else(|| Error::refused(code, "the call has ended already; nothing was changed"))
}

/// Writes the call as it now is.
pub(super) fn put(draft: &mut Draft, index: usize) {
    let now = draft.now;
    let call = &mut draft.state.calls[index];
    call.stored.entity.updated_at = now;
    let stored = call.stored.clone();
    draft.put_rtc(stored);
}

pub(super) fn verdict(draft: &Draft, call: &Call) -> Verdict {
    let (entity, private) = (&call.stored.entity, &call.stored.private);
    let paths = call.stored.consented();
    let consent = paths.as_deref().map_or(Consent::None, Consent::Given);
    decide(
        &draft.policy(),
        &entity.tool_name,
        private.kind,
        &call.stored.subject(),
        consent,
    )
}

pub(super) fn approve(
    draft: &mut Draft,
    rtc: RtcId,
    decision: ApprovalDecision,
    reason: Option<String>,
    device: DeviceId,
) -> Result<Done, Error> {
    let index = open(draft, rtc, Code::ApprovalClosed)?;
    let (now, rule_id) = (draft.now, RuleId::new(draft.mint.uuid()));
    let project = draft
        .state
        .session
        .as_ref()
        .and_then(|session| session.entity.project_id);
    let stored = &mut draft.state.calls[index].stored;
    let tool = stored.entity.tool_name.clone();
    let subject = stored.subject();
    let yes = match decision {
        ApprovalDecision::Once | ApprovalDecision::Session | ApprovalDecision::Project => true,
        ApprovalDecision::Reject | ApprovalDecision::Never => false,
    };
    let Some(approval) = stored.entity.approval.as_mut() else {
        return Err(Error::refused(
            Code::RtcInvalidState,
            "the call needs no approval",
        ));
    };
    if approval.state != ApprovalState::Open {
        return if approval.decision == Some(decision) {
            Ok(Done::Ok)
        } else {
            Err(Error::refused(
                Code::ApprovalClosed,
                "the approval was answered already; the first answer stands",
            ))
        };
    }
    approval.state = if yes {
        ApprovalState::Approved
    } else {
        ApprovalState::Rejected
    };
    approval.decision = Some(decision);
    approval.reason = reason.clone();
    approval.decided_at = Some(now);
    approval.decided_by = Some(device);
    put(draft, index);
    if let Some(rule) = grant(decision, rule_id, project, &tool, &subject, now) {
        // What is said in a session without a folder holds there and nowhere else.
        let of_session = decision == ApprovalDecision::Session || project.is_none();
        match &mut draft.state.session {
            Some(session) if of_session => session.private.rules.push(rule),
            _ => draft.add_rule(rule),
        }
        reconsider_approvals(draft);
    }
    if yes {
        draft.after(Effect::WakeExecutor);
    } else {
        let why = match reason.filter(|reason| !reason.trim().is_empty()) {
            Some(reason) => format!("the call was refused: {reason}"),
            None => "the user said no".to_owned(),
        };
        end_call(draft, rtc, Ended::rejected(why), true);
    }
    Ok(Done::Ok)
}

/// After a new rule or mode: approvals that are open and not needed any more are given.
pub(super) fn reconsider_approvals(draft: &mut Draft) {
    for index in 0..draft.state.calls.len() {
        let call = &draft.state.calls[index];
        let is_open = call
            .stored
            .entity
            .approval
            .as_ref()
            .is_some_and(|approval| approval.state == ApprovalState::Open);
        if !is_open || verdict(draft, call) != Verdict::Allow {
            continue;
        }
        let now = draft.now;
        if let Some(approval) = draft.state.calls[index].stored.entity.approval.as_mut() {
            approval.state = ApprovalState::Approved;
            approval.decided_at = Some(now);
        }
        put(draft, index);
        draft.after(Effect::WakeExecutor);
    }
}

/// Takes the first open call. What has become stricter since the call was made counts.
pub(super) fn claim(
    draft: &mut Draft,
    rtc: RtcId,
    attempt: u32,
    mark: Option<(Value, String)>,
) -> Result<Done, Error> {
    let index = open(draft, rtc, Code::RtcInvalidState)?;
    let invalid = |why: &str| Err(Error::refused(Code::RtcInvalidState, why));
    if draft.state.calls[index].stored.private.kind != Kind::Device {
        return invalid("the user answers this call; nobody runs it");
    }
    if index != 0 {
        return invalid("an earlier call of this session has no result yet");
    }
    if draft.state.calls[0].claimed {
        return invalid("the call is running already");
    }
    if draft.state.calls[0].stored.private.lease.is_some() {
        return invalid("an executor elsewhere has claimed the call");
    }
    if draft.state.calls[0].stored.entity.outcome == Some(OutcomeKnown::Unknown) {
        return invalid("the call was started and nobody knows how it ended; the user decides first");
    }
    if draft.state.stopping {
        // Its mark was looked at: an earlier start changed nothing.
        stop::ended_in_time(draft, rtc, Some(Err(ToolError::cancelled())));
        return Ok(Done::NotClaimed);
    }
    let approval = draft.state.calls[0]
        .stored
        .entity
        .approval
        .as_ref()
        .map(|approval| approval.state);
    if approval == Some(ApprovalState::Open) {
        forget_start(draft);
        return Ok(Done::NotClaimed);
    }
    match verdict(draft, &draft.state.calls[0]) {
        Verdict::Allow if draft.state.calls[0].stored.is_settled() => {}
        Verdict::Allow | Verdict::Ask(_) => {
            forget_start(draft);
            draft.after(Effect::Preview(rtc));
            return Ok(Done::NotClaimed);
        }
        Verdict::Deny(why) => {
            end_call(draft, rtc, Ended::rejected(why), true);
            return Ok(Done::NotClaimed);
        }
    }
    let now = draft.now;
    let call = &mut draft.state.calls[0];
    if attempt != call.stored.entity.attempt + 1 {
        return invalid("the call was started by somebody else in between");
    }
    call.claimed = true;
    call.stored.entity.attempt = attempt;
    // Without an effect nothing needs to be durable: after a crash the call simply runs again.
    if let Some((tool, args_digest)) = mark {
        call.stored.private.mark = Some(Mark {
            attempt,
            started_at: now,
            args_digest,
            tool,
        });
        call.stored.entity.status = RtcStatus::Executing;
        put(draft, 0);
    }
    Ok(Done::Claimed)
}

/// Whoever claims has looked at the mark of an earlier start: it changed nothing. While the user is asked others change
/// the folder, and afterwards that could not be said any more.
fn forget_start(draft: &mut Draft) {
    if draft.state.calls[0].stored.private.mark.take().is_some() {
        put(draft, 0);
    }
}

/// A call that has become one to ask about. It was waited for what the approval shows; if nothing needs to be asked by
/// now, the executor looks again.
pub(super) fn ask_for(draft: &mut Draft, rtc: RtcId, preview: Option<Preview>) -> Done {
    let Some(index) = find(draft, rtc).filter(|_| !draft.state.stopping) else {
        return Done::Ok;
    };
    let call = &mut draft.state.calls[index];
    // What a user is shown, or has said Yes to, stays what it was; so does a program once it is known what it is. An
    // approval that became needless, and is needed again, was answered by nobody. Where nothing could be shown, what can
    // be shown by now is.
    if call.stored.asks_blindly() && preview.as_ref().is_some_and(shows) {
        // A Yes that is on its way was given to what was named, and covers no more.
        call.stored.entity.preview = preview.map(|preview| Preview {
            paths: Vec::new(),
            ..preview
        });
        put(draft, index);
        return Done::Ok;
    }
    let approval = call.stored.entity.approval.as_ref();
    let is_users = approval.is_some_and(|a| a.state == ApprovalState::Open || a.decision.is_some());
    if is_users || call.claimed {
        return Done::Ok;
    }
    if preview.is_some() && !call.stored.is_frozen() {
        call.stored.entity.preview = preview;
    }
    if !call.stored.is_settled() {
        // Not looked at again and again.
        call.stored.entity.preview = Some(Preview {
            kind: PreviewKind::Text,
            text: "What it would run cannot be shown.".to_owned(),
            paths: Vec::new(),
            program: None,
        });
    }
    match verdict(draft, &draft.state.calls[index]) {
        Verdict::Ask(why) => {
            draft.state.calls[index].stored.entity.approval = Some(reply::open_approval(why));
            put(draft, index);
        }
        Verdict::Allow | Verdict::Deny(_) => {
            put(draft, index);
            draft.after(Effect::WakeExecutor);
        }
    }
    Done::Ok
}

/// The device knows of the call. What runs here at once gets no flush for it: it joins the next commit.
pub(super) fn sent(draft: &mut Draft, rtc: RtcId, runs_here: bool) -> Done {
    if let Some(index) = find(draft, rtc) {
        let call = &mut draft.state.calls[index];
        if call.stored.entity.status == RtcStatus::Pending {
            call.stored.entity.status = RtcStatus::Sent;
            let waits = call.stored.private.kind == Kind::User || call.stored.waits_for_approval();
            if waits || !runs_here {
                put(draft, index);
            }
        }
    }
    Done::Ok
}

pub(super) fn executing(draft: &mut Draft, rtc: RtcId) -> Done {
    if let Some(index) = find(draft, rtc) {
        let call = &mut draft.state.calls[index].stored.entity;
        if call.status.may_become(RtcStatus::Executing) {
            call.status = RtcStatus::Executing;
            put(draft, index);
        }
    }
    Done::Ok
}

/// The result of a call. A late one, of a call that ended otherwise or was started again, is acknowledged and changes
/// nothing.
pub(super) fn finish(draft: &mut Draft, rtc: RtcId, attempt: u32, outcome: Outcome) -> Done {
    let Some(index) = find(draft, rtc) else {
        return Done::Ok;
    };
    if draft.state.calls[index].stored.entity.attempt != attempt {
        return Done::Ok;
    }
    for (path, known) in outcome.seen {
        draft.write(Write::Seen(path, known));
    }
    if draft.state.stopping && index == 0 {
        stop::ended_in_time(draft, rtc, Some(outcome.result));
        return Done::Ok;
    }
    let may_have_run = draft.state.calls[index].stored.may_have_run();
    let unsure = outcome
        .result
        .as_ref()
        .is_err_and(|error| may_have_run && !error.says_nothing_changed());
    let effect = unsure.then_some(Changed::Unknown);
    end_call(
        draft,
        rtc,
        Ended {
            effect,
            ..outcome.result.into()
        },
        true,
    );
    Done::Ok
}

/// The same from a client, which is noted: who answered the user's question, and that a device which asks its user itself
/// has done so.
pub(super) fn hand_in(
    draft: &mut Draft,
    rtc: RtcId,
    attempt: u32,
    outcome: Outcome,
    by: Option<DeviceId>,
) -> Done {
    let now = draft.now;
    let found = find(draft, rtc).map(|index| &mut draft.state.calls[index].stored);
    if let Some(stored) = found.filter(|stored| stored.entity.attempt == attempt) {
        if stored.private.kind == Kind::User {
            stored.entity.answered_by = by;
        }
        if stored.waits_for_approval()
            && let Some(approval) = &mut stored.entity.approval
        {
            let ran = outcome.result.is_ok();
            approval.state = if ran {
                ApprovalState::Approved
            } else {
                ApprovalState::Withdrawn
            };
            approval.decision = ran.then_some(ApprovalDecision::Once);
            approval.decided_at = Some(now);
            approval.decided_by = by;
        }
    }
    finish(draft, rtc, attempt, outcome)
}

pub(super) fn outcome_unknown(draft: &mut Draft, rtc: RtcId, evidence: String) -> Done {
    // Of the open calls only the first one can have been started.
    if find(draft, rtc) != Some(0) {
        return Done::Ok;
    }
    if draft.state.stopping {
        let evidence = ToolError::execution(evidence);
        stop::ended_in_time(draft, rtc, Some(Err(evidence)));
        return Done::Ok;
    }
    let call = &mut draft.state.calls[0];
    call.claimed = false;
    call.stored.private.lease = None;
    call.stored.entity.status = RtcStatus::Executing;
    call.stored.entity.outcome = Some(OutcomeKnown::Unknown);
    call.stored.entity.error_message = Some(evidence);
    put(draft, 0);
    Done::Ok
}

pub(super) fn resolve(draft: &mut Draft, rtc: RtcId, decision: Resolution) -> Result<Done, Error> {
    let index = open(draft, rtc, Code::RtcInvalidState)?;
    let call = &mut draft.state.calls[index];
    if call.stored.entity.outcome.is_none() {
        return Err(Error::refused(
            Code::RtcInvalidState,
            "the outcome of this call is not in doubt",
        ));
    }
    let evidence = call.stored.entity.error_message.take().unwrap_or_default();
    match decision {
        Resolution::Retry => {
            call.stored.entity.outcome = None;
            call.stored.private.mark = None;
            call.stored.private.unsure = true;
            put(draft, index);
            draft.after(Effect::WakeExecutor);
        }
        Resolution::Done => {
            let note = format!("The user looked and says that this call is done. {evidence}");
            end_call(
                draft,
                rtc,
                Ended {
                    effect: Some(Changed::Applied),
                    ..Ended::completed(json!(note))
                },
                true,
            );
        }
        Resolution::Tell => {
            let message = format!(
                "the call was started and the program ended before its result was known ({}). {evidence} Look at \
                 what is there before you repeat it.",
                Code::OutcomeUnknown
            );
            let ended = Ended {
                effect: Some(Changed::Unknown),
                ..Ended::failed(ToolError::execution(message))
            };
            end_call(draft, rtc, ended, true);
        }
    }
    Ok(Done::Ok)
}

/// Ends a call: its record, its output message and, after the last one and if `go_on`, the turn goes on.
pub(super) fn end_call(draft: &mut Draft, rtc: RtcId, mut ended: Ended, go_on: bool) {
    let Some(index) = find(draft, rtc) else { return };
    let Call { mut stored, .. } = draft.state.calls.remove(index);
    if stored.private.unsure {
        ended.after_unknown_start();
    }
    let private = &stored.private;
    let output = write_output(
        draft,
        stored.entity.turn_id,
        stored.entity.message_id,
        &private.call_id,
        &stored.entity.tool_name,
        &private.input,
        private.round,
        &ended,
    );
    let entity = &mut stored.entity;
    // Nobody is asked about what has ended.
    if let Some(approval) = &mut entity.approval
        && approval.state == ApprovalState::Open
    {
        approval.state = ApprovalState::Withdrawn;
    }
    entity.status = ended.status;
    entity.result = ended.result;
    entity.error_message = ended.error;
    entity.effect = ended.effect;
    entity.outcome = None;
    entity.output_message_id = Some(output);
    entity.updated_at = draft.now;
    entity.completed_at = Some(draft.now);
    stored.private.mark = None;
    stored.private.lease = None;
    let turn = stored.entity.turn_id;
    draft.put_rtc(stored);
    if !go_on {
        return;
    }
    if draft.state.calls.is_empty() {
        draft.set_turn_status(TurnStatus::Running);
        draft.set_session_status(SessionStatus::Active);
        reply::ask_again(draft, turn);
    } else {
        draft.after(Effect::WakeExecutor);
    }
}

/// The message that the model will read as the result.
#[expect(
    clippy::too_many_arguments,
    reason = "each is a field of the one message that is made"
)]
pub(super) fn write_output(
    draft: &mut Draft,
    turn: TurnId,
    parent: MessageId,
    id: &ToolCallId,
    tool_name: &str,
    input: &str,
    round: u32,
    ended: &Ended,
) -> MessageId {
    let call = ToolCall {
        id: id.clone(),
        tool_name: tool_name.to_owned(),
        input: input.to_owned(),
        output: Some(ended.text(tool_name)),
        status: Some(ended.status),
    };
    let mut new = NewMessage::of_turn(turn, MessageRole::Tool, ContentData::ToolcallOutput(call), round);
    new.parent = Some(parent);
    draft.new_message(new).entity.id
}
