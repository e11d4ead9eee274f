//! What the model says.

use rtc_model::{AssistantBlock, ModelId, Reply, StopReason};
use rtc_tool::{Consent, ToolError, Verdict, decide};
use rtc_types::{
    Approval, ApprovalState, ClientId, Code, Content, ContentData, ErrorCategory, ErrorContent, MessageId,
    MessageRole, Rtc, RtcId, RtcStatus, SessionStatus, StreamingStatus, ToolCall, TurnId, TurnStatus,
    UpdateAction,
};
use serde_json::Value;

use super::call;
use crate::command::{Done, Effect, Plan, PlannedCall};
use crate::draft::{Draft, NewMessage};
use crate::state::Call;
use crate::stored::{ProviderReply, RtcPrivate, StoredRtc};
use crate::{Error, own_tools};

pub(super) fn is_running(draft: &Draft, turn: TurnId) -> bool {
    draft
        .state
        .turn
        .as_ref()
        .is_some_and(|active| active.entity.id == turn && active.entity.status == TurnStatus::Running)
}

pub(super) fn stream_started(draft: &mut Draft, turn: TurnId, thinking: bool) -> Result<Done, Error> {
    if !is_running(draft, turn) {
        return Err(Error::refused(Code::TurnNotFound, "the turn is over"));
    }
    let content = text_content(thinking, String::new());
    let round = draft
        .state
        .turn
        .as_ref()
        .map_or(0, |turn| turn.private.rounds + 1);
    let mut new = NewMessage::of_turn(turn, MessageRole::Assistant, content, round);
    new.status = StreamingStatus::Streaming;
    let message = draft.new_message(new);
    let id = message.entity.id;
    draft.state.streaming.push(message);
    Ok(Done::Stream(id))
}

fn text_content(thinking: bool, text: String) -> ContentData {
    if thinking {
        ContentData::Thinking(text)
    } else {
        ContentData::Markdown(text)
    }
}

fn is_thinking(content: &Content) -> bool {
    matches!(content.parse(), Some(ContentData::Thinking(_)))
}

pub(super) fn spill(draft: &mut Draft, message: MessageId, text: String) -> Done {
    draft.provisional = true;
    let now = draft.now;
    let Some(open) = draft
        .state
        .streaming
        .iter_mut()
        .find(|open| open.entity.id == message)
    else {
        return Done::Ok;
    };
    open.entity.content = text_content(is_thinking(&open.entity.content), text).into();
    open.entity.updated_at = now;
    let open = open.clone();
    draft.put_message_silently(open);
    Done::Ok
}

/// What was being written ends, with the text so far.
pub(super) fn close_streaming(draft: &mut Draft, status: StreamingStatus) {
    for mut message in std::mem::take(&mut draft.state.streaming) {
        message.entity.streaming_status = status;
        message.entity.updated_at = draft.now;
        draft.put_message(message, UpdateAction::Updated);
    }
}

pub(super) fn fail_streaming(draft: &mut Draft) {
    close_streaming(draft, StreamingStatus::Failed);
}

/// What came of it stays as it is, and is no part of the conversation; the next one has messages of its own.
pub(super) fn broke_off(draft: &mut Draft, turn: TurnId) -> Done {
    if is_running(draft, turn) {
        fail_streaming(draft);
    }
    Done::Ok
}

pub(super) fn failed(
    draft: &mut Draft,
    turn: TurnId,
    category: ErrorCategory,
    message: String,
    retryable: bool,
) -> Done {
    if !is_running(draft, turn) {
        return Done::Ok;
    }
    fail_streaming(draft);
    let error = ErrorContent {
        category,
        title: "The model gave no answer".into(),
        message,
        retryable,
    };
    end_with(draft, turn, error);
    Done::Ok
}

/// One step for the whole reply: its messages, its calls, and the turn's new state.
pub(super) fn replied(
    draft: &mut Draft,
    turn: TurnId,
    model: &ModelId,
    reply: Reply,
    calls: Vec<PlannedCall>,
) -> Done {
    if !is_running(draft, turn) {
        return Done::Ok;
    }
    let round = match &mut draft.state.turn {
        Some(active) => {
            active.private.rounds += 1;
            active.private.rounds
        }
        None => return Done::Ok,
    };
    count_tokens(draft, &reply);
    write_texts(draft, turn, round, model, &reply);
    let (called, is_cut) = (!calls.is_empty(), reply.stop == StopReason::MaxTokens);
    for planned in calls {
        call_of_reply(draft, turn, round, planned);
    }
    if !draft.state.calls.is_empty() {
        draft.set_turn_status(TurnStatus::Interrupted);
        draft.set_session_status(SessionStatus::Idle);
        draft.after(Effect::WakeExecutor);
    } else if called {
        ask_again(draft, turn);
    } else {
        if is_cut {
            tell_of_the_cut(draft, turn);
        }
        draft.end_turn(TurnStatus::Completed);
    }
    Done::Ok
}

/// An answer that ends in the middle must not look whole.
fn tell_of_the_cut(draft: &mut Draft, turn: TurnId) {
    let error = ErrorContent {
        category: ErrorCategory::Context,
        title: "The answer is cut off".into(),
        message:
            "the answer reached the model's limit of tokens and ends in the middle; say “continue” to let it \
                  go on, or give the model a larger `max_output` in the configuration"
                .into(),
        retryable: true,
    };
    write_error(draft, turn, error);
}

/// The model goes on with the results of its calls, unless it has replied as often as it may: then the turn ends with
/// everything that was done, and the next message goes on from there.
pub(super) fn ask_again(draft: &mut Draft, turn: TurnId) {
    let reached = draft.state.turn.as_ref().and_then(|active| {
        let private = &active.private;
        private.max_rounds.filter(|most| private.rounds >= *most)
    });
    let Some(most) = reached else {
        draft.after(Effect::AskModel(turn));
        return;
    };
    let error = ErrorContent {
        category: ErrorCategory::Budget,
        title: "The turn ends at its limit".into(),
        message: format!(
            "the limit of replies in a turn ({most}) is reached, and the model is not done; what it did is kept, \
             and the next message goes on from there"
        ),
        retryable: true,
    };
    end_with(draft, turn, error);
}

/// The turn ends with an error that the user sees.
fn end_with(draft: &mut Draft, turn: TurnId, error: ErrorContent) {
    write_error(draft, turn, error);
    draft.end_turn(TurnStatus::Failed);
}

pub(super) fn write_error(draft: &mut Draft, turn: TurnId, error: ErrorContent) {
    if let Some(active) = &mut draft.state.turn {
        active.entity.error_message = Some(error.message.clone());
    }
    let content = ContentData::Error(error);
    draft.new_message(NewMessage::of_turn(turn, MessageRole::Assistant, content, 0));
}

fn count_tokens(draft: &mut Draft, reply: &Reply) {
    let (usage, now) = (reply.usage, draft.now);
    if let Some(session) = &mut draft.state.session {
        let entity = &mut session.entity;
        for (total, more) in [
            (&mut entity.total_input_tokens, usage.input),
            (&mut entity.total_output_tokens, usage.output),
            (&mut entity.total_cached_read_tokens, usage.cached_read),
            (&mut entity.total_cached_write_tokens, usage.cached_write),
            (&mut entity.total_reasoning_tokens, usage.reasoning),
            (&mut entity.total_tokens, usage.total()),
        ] {
            *total = total.saturating_add(more);
        }
        entity.last_token_update_at = Some(now);
    }
}

/// Messages of the texts; those that were streamed are completed, in order.
fn write_texts(draft: &mut Draft, turn: TurnId, round: u32, model: &ModelId, reply: &Reply) {
    let needs_provider = reply
        .blocks
        .iter()
        .any(|block| matches!(block, AssistantBlock::Provider { .. }));
    let mut provider = needs_provider.then(|| ProviderReply {
        api: model.api.clone(),
        model: model.model.clone(),
        blocks: reply.blocks.clone(),
    });
    let mut streamed = std::mem::take(&mut draft.state.streaming).into_iter().peekable();
    let mut spent = Some(reply.usage);
    for block in &reply.blocks {
        let (thinking, text) = match block {
            AssistantBlock::Thinking { text } => (true, text),
            AssistantBlock::Text { text } => (false, text),
            AssistantBlock::ToolCall { .. } | AssistantBlock::Provider { .. } => continue,
        };
        let content = text_content(thinking, text.clone());
        let fits = streamed
            .peek()
            .is_some_and(|open| is_thinking(&open.entity.content) == thinking);
        let mut message = match streamed.next_if(|_| fits) {
            Some(open) => open,
            None => draft.new_message(NewMessage::of_turn(
                turn,
                MessageRole::Assistant,
                content.clone(),
                round,
            )),
        };
        message.entity.content = content.into();
        message.entity.streaming_status = StreamingStatus::Completed;
        message.entity.updated_at = draft.now;
        if let Some(usage) = spent.take() {
            message.entity.input_tokens = Some(usage.input);
            message.entity.output_tokens = Some(usage.output);
            message.entity.total_tokens = Some(usage.total());
            message.entity.cached_tokens = Some(usage.cached_read);
            message.entity.reasoning_tokens = Some(usage.reasoning);
        }
        message.private.round = round;
        message.private.provider = provider.take();
        draft.put_message(message, UpdateAction::Updated);
    }
    if let Some(provider) = provider {
        // A reply of nothing but calls and opaque blocks: an empty thought carries them.
        let mut new = NewMessage::of_turn(
            turn,
            MessageRole::Assistant,
            ContentData::Thinking(String::new()),
            round,
        );
        new.private.provider = Some(provider);
        draft.new_message(new);
    }
    // Text that was streamed and is not part of the reply.
    draft.state.streaming = streamed.collect();
    fail_streaming(draft);
}

fn call_of_reply(draft: &mut Draft, turn: TurnId, round: u32, planned: PlannedCall) {
    let PlannedCall {
        id,
        tool_name,
        input,
        plan,
    } = planned;
    let written = ToolCall {
        id: id.clone(),
        tool_name: tool_name.clone(),
        input: input.clone(),
        output: None,
        status: None,
    };
    let message = draft.new_message(NewMessage::of_turn(
        turn,
        MessageRole::Tool,
        ContentData::ToolcallInput(written),
        round,
    ));
    let (kind, parameters, subject, preview, looked, verdict) = match plan {
        Plan::Invalid(error) => {
            let ended = call::Ended::failed(error);
            call::write_output(
                draft,
                turn,
                message.entity.id,
                &id,
                &tool_name,
                &input,
                round,
                &ended,
            );
            return;
        }
        Plan::Todo(steps) => {
            let ended = call::Ended::completed(Value::String(own_tools::noted(steps.len())));
            if let Some(session) = &mut draft.state.session {
                session.entity.todo_list = steps;
            }
            call::write_output(
                draft,
                turn,
                message.entity.id,
                &id,
                &tool_name,
                &input,
                round,
                &ended,
            );
            return;
        }
        Plan::Run {
            kind,
            parameters,
            subject,
            preview,
            looked,
        } => {
            let verdict = decide(&draft.policy(), &tool_name, kind, &subject, Consent::None);
            (kind, parameters, subject, preview, looked, verdict)
        }
    };
    let is_unseen = !looked && matches!(verdict, Verdict::Ask(_));
    let (approval, denied) = match verdict {
        Verdict::Ask(why) if looked => (Some(open_approval(why)), None),
        // The mode or a rule has changed since it was planned: it is looked at before it is asked about, as when it is
        // claimed.
        Verdict::Ask(_) | Verdict::Allow => (None, None),
        Verdict::Deny(why) => (None, Some(why)),
    };
    let rtc = new_rtc(
        draft,
        turn,
        message.entity.id,
        &tool_name,
        parameters,
        approval,
        preview,
    );
    let private = RtcPrivate {
        call_id: id,
        input,
        kind,
        subject,
        round,
        unsure: false,
        mark: None,
        lease: None,
    };
    let stored = StoredRtc::new(rtc, private);
    draft.put_rtc(stored.clone());
    if is_unseen || (denied.is_none() && !stored.is_settled()) {
        draft.after(Effect::Preview(stored.entity.id));
    }
    draft.state.calls.push(Call {
        stored,
        claimed: false,
    });
    if let Some(why) = denied {
        let rtc = draft.state.calls.last().map(|call| call.stored.entity.id);
        if let Some(rtc) = rtc {
            call::end_call(draft, rtc, call::Ended::rejected(why), false);
        }
    }
}

pub(super) fn open_approval(why: String) -> Approval {
    Approval {
        state: ApprovalState::Open,
        why,
        decision: None,
        reason: None,
        decided_at: None,
        decided_by: None,
    }
}

fn new_rtc(
    draft: &mut Draft,
    turn: TurnId,
    message: MessageId,
    tool_name: &str,
    parameters: Value,
    approval: Option<Approval>,
    preview: Option<rtc_types::Preview>,
) -> Rtc {
    let id = RtcId::new(draft.mint.uuid());
    let client_id = ClientId::new(draft.mint.uuid().to_string()).expect("a UUID is a client id");
    let session = draft
        .state
        .session
        .as_mut()
        .expect("a session exists before any call of it");
    session.private.last_rtc += 1;
    Rtc {
        id,
        client_id,
        session_id: session.entity.id,
        device_id: session.entity.device_id,
        turn_id: turn,
        message_id: message,
        output_message_id: None,
        offset: session.private.last_rtc,
        tool_name: tool_name.to_owned(),
        parameters,
        status: RtcStatus::Pending,
        attempt: 0,
        approval,
        answered_by: None,
        preview,
        outcome: None,
        effect: None,
        result: None,
        error_message: None,
        created_at: draft.now,
        updated_at: draft.now,
        completed_at: None,
    }
}

impl From<Result<Value, ToolError>> for call::Ended {
    fn from(result: Result<Value, ToolError>) -> Self {
        match result {
            Ok(value) => Self::completed(value),
            Err(error) => Self::failed(error),
        }
    }
}
