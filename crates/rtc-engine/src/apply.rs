//! The rules of a session: `apply(state, command) -> step`, pure. No clock, no randomness, no I/O; the driver in
//! `lane.rs` makes the step durable and does what it says.

mod call;
pub(crate) mod damage;
mod fork;
pub(crate) mod lease;
mod reply;
mod stop;
mod transitions;

use std::sync::Arc;

use rtc_types::{
    ClientId, Code, ContentData, ErrorCategory, MessageRole, OwnerKind, Session, SessionStatus,
    StreamingStatus, Timestamp, Turn, TurnId, TurnStatus,
};

use crate::Error;
use crate::command::{Command, Done, Effect, Given, NewSession, Send, Step, Write};
use crate::draft::{Draft, NewMessage};
use crate::scenarios;
use crate::state::SessionState;
use crate::stored::{MessagePrivate, SessionPrivate, StoredSession, StoredTurn, TurnContext, TurnPrivate};

/// How much of the first message a session's title shows, in characters.
const TITLE: usize = 50;

/// How many messages may wait for a turn, the prompts that came with them counted. Whoever writes more is told.
const MOST_WAITING: usize = 256;

/// Applies a command to the state of a session. An error changes nothing.
pub fn apply(state: &SessionState, command: Command, given: &Given) -> Result<Step, Error> {
    refuse_deleted(state, &command)?;
    let mut draft = Draft::new(state, given);
    let done = match command {
        Command::Send(send) => send_message(&mut draft, send)?,
        Command::Begin { context } => begin(&mut draft, *context),
        Command::CannotBegin { message } => cannot_begin(&mut draft, message),
        Command::StreamStarted { turn, thinking } => reply::stream_started(&mut draft, turn, thinking)?,
        Command::Spill { message, text } => reply::spill(&mut draft, message, text),
        Command::Replied {
            turn,
            model,
            reply,
            calls,
        } => reply::replied(&mut draft, turn, &model, *reply, calls),
        Command::ReplyBrokeOff { turn } => reply::broke_off(&mut draft, turn),
        Command::ModelFailed {
            turn,
            category,
            message,
            retryable,
        } => reply::failed(&mut draft, turn, category, message, retryable),
        Command::Approve {
            rtc,
            decision,
            reason,
            device,
        } => call::approve(&mut draft, rtc, decision, reason, device)?,
        Command::Claim { rtc, attempt, mark } => call::claim(&mut draft, rtc, attempt, mark)?,
        Command::Executing { rtc } => call::executing(&mut draft, rtc),
        Command::Finish {
            rtc,
            attempt,
            outcome,
        } => call::finish(&mut draft, rtc, attempt, outcome),
        Command::HandIn {
            rtc,
            attempt,
            outcome,
            by,
        } => call::hand_in(&mut draft, rtc, attempt, outcome, by),
        Command::OutcomeUnknown { rtc, evidence } => call::outcome_unknown(&mut draft, rtc, evidence),
        Command::Resolve { rtc, decision } => call::resolve(&mut draft, rtc, decision)?,
        Command::Stop => stop::stop(&mut draft),
        Command::StopDeadline { rtc } => stop::deadline(&mut draft, rtc),
        Command::AskFor { rtc, preview } => call::ask_for(&mut draft, rtc, preview),
        Command::SetMode(mode) => {
            if let Some(session) = &mut draft.state.session {
                session.entity.mode = mode;
            }
            call::reconsider_approvals(&mut draft);
            Done::Ok
        }
        Command::Close => close(&mut draft),
        Command::Open => open(&mut draft),
        Command::Change { title, deleted_at } => change(&mut draft, title, deleted_at)?,
        Command::Fork(fork) => fork::fork(&mut draft, *fork)?,
        Command::ClearHistory => clear_history(&mut draft)?,
        Command::Lease { rtc, holder } => lease::take(&mut draft, rtc, holder)?,
        Command::Renew { rtc, holder, attempt } => lease::renew(&mut draft, rtc, holder, attempt)?,
        Command::LeaseTick { rtc, attempt } => lease::tick(&mut draft, rtc, attempt),
        Command::Sent { rtc, runs_here } => call::sent(&mut draft, rtc, runs_here),
        Command::Recover => recover(&mut draft),
    };
    let step = draft.finish(done);
    transitions::check(state, &step)?;
    Ok(step)
}

/// Nobody sees a deleted session: it takes nothing that a user asks for.
fn refuse_deleted(state: &SessionState, command: &Command) -> Result<(), Error> {
    let asks = matches!(
        command,
        Command::Send(_)
            | Command::SetMode(_)
            | Command::Change { .. }
            | Command::Open
            | Command::Close
            | Command::ClearHistory
    );
    match &state.session {
        Some(session) if asks && session.entity.deleted_at.is_some() => {
            Err(Error::refused(Code::SessionNotFound, "the session was deleted"))
        }
        _ => Ok(()),
    }
}

fn close(draft: &mut Draft) -> Done {
    let now = draft.now;
    match &mut draft.state.session {
        Some(session) if session.entity.status != SessionStatus::Closed => {
            session.entity.status = SessionStatus::Closed;
            session.entity.closed_at = Some(now);
        }
        _ => return Done::Ok,
    }
    stop::stop(draft)
}

fn open(draft: &mut Draft) -> Done {
    if let Some(session) = &mut draft.state.session
        && session.entity.status == SessionStatus::Closed
    {
        session.entity.status = SessionStatus::Idle;
        session.entity.closed_at = None;
    }
    Done::Ok
}

fn change(draft: &mut Draft, title: Option<String>, deleted_at: Option<Timestamp>) -> Result<Done, Error> {
    let Some(session) = &mut draft.state.session else {
        return Ok(Done::Ok);
    };
    if session.entity.status == SessionStatus::Closed {
        return Err(Error::refused(
            Code::SessionClosed,
            "the session is closed; open it before it is changed",
        ));
    }
    if let Some(title) = title {
        session.entity.title = title.trim().to_owned();
    }
    if deleted_at.is_some() {
        session.entity.deleted_at = deleted_at;
        // Nobody sees any more what goes on in it.
        return Ok(stop::stop(draft));
    }
    Ok(Done::Ok)
}

fn send_message(draft: &mut Draft, send: Send) -> Result<Done, Error> {
    let prompt = scenarios::prompt(&send.scenarios);
    let is_blank = send.text.trim().is_empty();
    if is_blank && prompt.is_none() {
        return Err(Error::refused(
            Code::InvalidArgument,
            "the message is empty; say what is to be done",
        ));
    }
    match &draft.state.session {
        Some(session) if session.entity.status == SessionStatus::Closed => {
            return Err(Error::refused(
                Code::SessionClosed,
                "the session is closed; open it again or begin a new one",
            ));
        }
        Some(_) if draft.state.waiting.len() >= MOST_WAITING => {
            return Err(Error::refused(
                Code::InvalidArgument,
                format!(
                    "{MOST_WAITING} messages wait for this turn already; stop it, or wait until it has ended"
                ),
            ));
        }
        Some(_) => {}
        None => {
            let titles = prompt.filter(|_| is_blank).map(|prompt| prompt.title);
            let title = titles.as_deref().unwrap_or(&send.text);
            draft.state.session = Some(new_session(draft.now, send.new_session.clone(), title));
        }
    }
    Ok(say(draft, send))
}

/// The message waits for a turn, with what the model reads of its scenarios; the turn begins now if there is none.
fn say(draft: &mut Draft, send: Send) -> Done {
    let message = draft.new_message(NewMessage {
        role: MessageRole::User,
        content: send.content(),
        status: StreamingStatus::Pending,
        turn: None,
        parent: None,
        client_id: Some(send.client_id.clone()),
        private: MessagePrivate::default(),
    });
    draft.write(Write::ClientId(send.client_id, message.entity.id));
    let told = message.entity.clone();
    draft.state.waiting.push(Arc::new(message));
    if let Some(prompt) = scenarios::prompt(&send.scenarios) {
        let prompt = draft.new_message(NewMessage {
            role: MessageRole::System,
            content: ContentData::Prompt(prompt),
            status: StreamingStatus::Pending,
            turn: None,
            parent: Some(told.id),
            client_id: None,
            private: MessagePrivate::default(),
        });
        draft.state.waiting.push(Arc::new(prompt));
    }
    if draft.state.turn.is_none() {
        draft.after(Effect::GatherContext);
    }
    Done::Message(Box::new(told))
}

/// Turns that have begun are in no later request; what waits for one is still answered.
fn clear_history(draft: &mut Draft) -> Result<Done, Error> {
    let waiting = draft
        .state
        .waiting
        .first()
        .map(|message| message.entity.global_offset);
    let last = waiting.map_or(draft.last_message(), |waiting| waiting - 1);
    let Some(session) = &mut draft.state.session else {
        return Ok(Done::Ok);
    };
    if session.entity.status == SessionStatus::Closed {
        return Err(Error::refused(
            Code::SessionClosed,
            "the session is closed; open it before its history is cleared",
        ));
    }
    if last > 0 && session.entity.cleared_offset != Some(last) {
        session.entity.cleared_offset = Some(last);
        draft.write(Write::Epoch);
    }
    Ok(Done::Ok)
}

pub(crate) fn new_session(now: Timestamp, new: NewSession, text: &str) -> StoredSession {
    let line = text.trim().lines().next().unwrap_or_default();
    let parent = new.parent.as_ref();
    StoredSession::new(
        Session {
            id: new.id,
            client_id: new.client_id,
            owner_kind: OwnerKind::User,
            owner_ref_id: new.user,
            device_id: new.device,
            project_id: new.project,
            title: line.chars().take(TITLE).collect(),
            status: SessionStatus::Active,
            mode: new.mode,
            todo_list: Vec::new(),
            created_at: now,
            updated_at: now,
            closed_at: None,
            deleted_at: None,
            agent_prompt: new.agent_prompt,
            root_client_session_id: parent.map(|parent| parent.root_client_id.clone()),
            root_server_session_id: parent.map(|parent| parent.root),
            parent_client_session_id: parent.map(|parent| parent.client_id.clone()),
            parent_server_session_id: parent.map(|parent| parent.session),
            sub_agent_parent_message_id: parent.and_then(|parent| parent.message),
            total_input_tokens: 0,
            total_output_tokens: 0,
            total_tokens: 0,
            total_cached_read_tokens: 0,
            total_cached_write_tokens: 0,
            total_reasoning_tokens: 0,
            last_token_update_at: None,
            cleared_offset: None,
        },
        SessionPrivate::default(),
    )
}

/// One turn takes over everything that waits.
fn begin(draft: &mut Draft, mut context: TurnContext) -> Done {
    if draft.state.turn.is_some() || draft.state.waiting.is_empty() {
        return Done::Ok;
    }
    let Some(mut turn) = new_turn(draft, TurnStatus::Running) else {
        return Done::Ok;
    };
    turn.private.max_rounds = context.max_rounds;
    let session = draft.state.session.as_ref();
    context.cleared = session.and_then(|session| session.entity.cleared_offset);
    let id = turn.entity.id;
    draft.state.turn = Some(turn);
    draft.take_over_waiting();
    draft.set_session_status(SessionStatus::Active);
    draft.write(Write::Context(id, Box::new(context)));
    draft.after(Effect::AskModel(id));
    Done::Ok
}

/// The same turn, without a request: the messages are answered with the next one.
fn cannot_begin(draft: &mut Draft, message: String) -> Done {
    if draft.state.turn.is_some() || draft.state.waiting.is_empty() {
        return Done::Ok;
    }
    let Some(turn) = new_turn(draft, TurnStatus::Running) else {
        return Done::Ok;
    };
    let id = turn.entity.id;
    draft.state.turn = Some(turn);
    draft.take_over_waiting();
    reply::failed(draft, id, ErrorCategory::System, message, true)
}

fn new_turn(draft: &mut Draft, status: TurnStatus) -> Option<StoredTurn> {
    let session_id = draft.state.session.as_ref()?.entity.id;
    let id = TurnId::new(draft.mint.uuid());
    let turn = Turn {
        id,
        client_id: ClientId::new(id.to_string()).expect("a UUID is a client id"),
        session_id,
        status,
        created_at: draft.now,
        started_at: (status == TurnStatus::Running).then_some(draft.now),
        completed_at: None,
        error_message: None,
    };
    Some(StoredTurn::new(turn, TurnPrivate::default()))
}

/// Goes on where the process ended. What the model was writing is lost and is asked for again; calls go back to the
/// executor, which looks at their marks.
fn recover(draft: &mut Draft) -> Done {
    reply::fail_streaming(draft);
    for call in &mut draft.state.calls {
        call.claimed = false;
    }
    lease::recover(draft);
    if draft.state.stopping {
        stop::recover(draft);
        return Done::Ok;
    }
    let Some(turn) = &draft.state.turn else {
        if !draft.state.waiting.is_empty() {
            draft.after(Effect::GatherContext);
        }
        return Done::Ok;
    };
    let id = turn.entity.id;
    if draft.state.calls.is_empty() {
        if turn.entity.status == TurnStatus::Interrupted {
            draft.set_turn_status(TurnStatus::Running);
        }
        draft.set_session_status(SessionStatus::Active);
        reply::ask_again(draft, id);
    } else {
        draft.after(Effect::WakeExecutor);
    }
    Done::Ok
}

#[cfg(test)]
mod tests;
