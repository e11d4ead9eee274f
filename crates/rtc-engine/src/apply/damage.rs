//! After damage: a session whose record may be older than what was done in it.
//!
//! What seems to be open may have been done since: nothing of it goes on. Everything ends as failed, each call with its one
//! result, and nobody's Yes from before holds.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rtc_tool::Kind;
use rtc_types::{
    ApprovalState, Code, ContentData, Effect as Changed, ErrorCategory, ErrorContent, MessageId, MessageRole,
    Mode, RtcStatus, Rule, RuleEffect, SessionStatus, StreamingStatus, ToolCall, TurnId, TurnStatus,
};
use serde_json::json;

use super::{call, new_turn, reply};
use crate::command::{Done, Given, Step, Write};
use crate::draft::Draft;
use crate::state::{Call, SessionState};
use crate::stored::{StoredMessage, StoredRtc, StoredSession, StoredTurn};

/// All that can be read of a session.
#[derive(Debug, Clone)]
pub(crate) struct Remains {
    pub(crate) session: StoredSession,
    /// Whether the record of the session is made anew.
    pub(crate) is_new: bool,
    pub(crate) turns: Vec<StoredTurn>,
    pub(crate) messages: Vec<StoredMessage>,
    pub(crate) rtcs: Vec<StoredRtc>,
    /// The last place of a message that there is, also of one that cannot be read.
    pub(crate) last_message: u32,
    /// Likewise of a call.
    pub(crate) last_rtc: u32,
}

/// What was open in a session and was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Ended {
    pub(crate) turns: usize,
    pub(crate) calls: usize,
}

/// Of the rules that are left, those that still hold: a refusal of the same may be among those that are lost.
pub(crate) fn still_hold(mut rules: Vec<Rule>) -> Vec<Rule> {
    rules.retain(|rule| rule.effect == RuleEffect::Deny);
    rules
}

/// Ends everything that is open.
pub(crate) fn end_all(remains: Remains, given: &Given) -> (Step, Ended) {
    let Remains {
        mut session,
        is_new,
        turns,
        messages,
        rtcs,
        last_message,
        last_rtc,
    } = remains;
    let before = (!is_new).then(|| session.clone());
    let private = &mut session.private;
    private.last_message = private.last_message.max(last_message);
    private.last_rtc = private.last_rtc.max(last_rtc);
    private.rules = still_hold(std::mem::take(&mut private.rules));
    if session.entity.mode != Mode::Plan {
        session.entity.mode = Mode::Manual;
    }
    let is_active = session.entity.status == SessionStatus::Active;
    let of_messages = Messages::of(&messages);
    let updated_at = session.entity.updated_at;
    let state = SessionState {
        session: before,
        streaming: of_messages.streaming,
        ..SessionState::new()
    };
    let mut draft = Draft::new(&state, given);
    draft.state.session = Some(session);
    let mut ended = Ended::default();
    reply::fail_streaming(&mut draft);

    let mut unanswered = of_messages.unanswered;
    let mut calls: HashMap<TurnId, Vec<StoredRtc>> = HashMap::new();
    for stored in rtcs {
        let input = stored.entity.message_id;
        let is_open = !stored.entity.status.is_terminal();
        if is_open && let Some((output, call)) = of_messages.outputs.get(&input) {
            ended.calls += 1;
            draft.put_rtc(as_told(stored, *output, call));
        } else if is_open || unanswered.contains_key(&input) {
            calls.entry(stored.entity.turn_id).or_default().push(stored);
        }
    }
    let mut waiting: Vec<_> = of_messages.waiting.into_iter().map(Arc::new).collect();
    for mut turn in turns {
        let id = turn.entity.id;
        let is_open = !turn.entity.status.is_terminal();
        let its_calls = calls.remove(&id).unwrap_or_default();
        let its_inputs = unanswered.values().any(|input| input.entity.turn_id == Some(id));
        if !is_open && its_calls.is_empty() && !its_inputs {
            continue;
        }
        let last = of_messages.last_of_turn.get(&id).copied().unwrap_or_default();
        turn.private.last_message = turn.private.last_message.max(last);
        draft.state.turn = Some(turn);
        ended.calls += end_calls(&mut draft, its_calls, &mut unanswered);
        ended.calls += answer(&mut draft, Some(id), &mut unanswered);
        if is_open {
            // What waits is part of the conversation, as after a stop.
            draft.state.waiting.append(&mut waiting);
            draft.take_over_waiting();
            fail_turn(&mut draft);
            ended.turns += 1;
        } else if let Some(turn) = draft.state.turn.take() {
            draft.write(Write::Turn(turn));
        }
    }
    // Calls of turns that are lost.
    let others = calls.into_values().flatten().collect();
    ended.calls += end_calls(&mut draft, others, &mut unanswered);
    let turns: HashSet<_> = unanswered.values().map(|input| input.entity.turn_id).collect();
    for turn in turns {
        ended.calls += answer(&mut draft, turn, &mut unanswered);
    }
    if !waiting.is_empty() {
        draft.state.waiting = waiting;
        draft.state.turn = new_turn(&mut draft, TurnStatus::Pending);
        draft.take_over_waiting();
        fail_turn(&mut draft);
        ended.turns += 1;
    }
    if is_active {
        draft.set_session_status(SessionStatus::Idle);
    }
    let mut step = draft.finish(Done::Ok);
    if ended == Ended::default() {
        // Nothing has happened in it: it stays where it is in the list.
        for write in &mut step.writes {
            if let Write::Session(session) = write {
                session.entity.updated_at = updated_at;
            }
        }
    }
    (step, ended)
}

/// The messages of a session, sorted out.
struct Messages {
    streaming: Vec<StoredMessage>,
    waiting: Vec<StoredMessage>,
    /// Calls without a result, by their messages.
    unanswered: HashMap<MessageId, StoredMessage>,
    /// Results, by the messages of their calls.
    outputs: HashMap<MessageId, (MessageId, ToolCall)>,
    last_of_turn: HashMap<TurnId, u32>,
}

impl Messages {
    fn of(messages: &[StoredMessage]) -> Self {
        let mut sorted = Self {
            streaming: Vec::new(),
            waiting: Vec::new(),
            unanswered: HashMap::new(),
            outputs: HashMap::new(),
            last_of_turn: HashMap::new(),
        };
        for message in messages {
            let entity = &message.entity;
            if let Some(turn) = entity.turn_id {
                let last = sorted.last_of_turn.entry(turn).or_default();
                *last = (*last).max(entity.turn_offset);
            }
            if entity.streaming_status == StreamingStatus::Streaming {
                sorted.streaming.push(message.clone());
            }
            let is_asked = matches!(entity.role, MessageRole::User | MessageRole::System);
            if entity.streaming_status == StreamingStatus::Pending && entity.turn_id.is_none() && is_asked {
                sorted.waiting.push(message.clone());
            }
            match entity.content.parse() {
                Some(ContentData::ToolcallInput(_)) => {
                    sorted.unanswered.insert(entity.id, message.clone());
                }
                Some(ContentData::ToolcallOutput(call)) => {
                    if let Some(input) = entity.parent_message_id {
                        sorted.outputs.insert(input, (entity.id, call));
                    }
                }
                _ => {}
            }
        }
        let outputs = &sorted.outputs;
        sorted.unanswered.retain(|input, _| !outputs.contains_key(input));
        sorted
    }
}

/// A call whose record is older than its result: it ended as that says.
fn as_told(mut stored: StoredRtc, output: MessageId, call: &ToolCall) -> StoredRtc {
    let told = call.output.clone().unwrap_or_default();
    let status = call.status.filter(|status| status.is_terminal());
    let entity = &mut stored.entity;
    entity.status = status.unwrap_or(RtcStatus::Failed);
    if entity.status == RtcStatus::Completed {
        entity.result = Some(json!(told));
    } else {
        entity.error_message = Some(told);
        entity.effect = Some(Changed::Unknown);
    }
    entity.outcome = None;
    entity.output_message_id = Some(output);
    close(&mut stored);
    stored
}

/// Nobody is asked about it any more, and nobody runs it.
fn close(stored: &mut StoredRtc) {
    let approval = stored.entity.approval.as_mut();
    if let Some(approval) = approval.filter(|approval| approval.state == ApprovalState::Open) {
        approval.state = ApprovalState::Withdrawn;
    }
    stored.private.mark = None;
    stored.private.lease = None;
}

/// Ends calls that have no result, in their order, and gives how many were open.
fn end_calls(
    draft: &mut Draft,
    mut calls: Vec<StoredRtc>,
    unanswered: &mut HashMap<MessageId, StoredMessage>,
) -> usize {
    calls.sort_by_key(|stored| stored.entity.offset);
    let mut open = 0;
    for mut stored in calls {
        let entity = &stored.entity;
        unanswered.remove(&entity.message_id);
        let ended = if entity.status.is_terminal() {
            // Its result is what is lost; it is the one that its record has.
            call::Ended {
                status: entity.status,
                result: entity.result.clone(),
                error: entity.error_message.clone(),
                effect: entity.effect,
            }
        } else {
            open += 1;
            let changes = !stored.only_looks() && stored.private.kind != Kind::User;
            unknown(changes)
        };
        close(&mut stored);
        let rtc = stored.entity.id;
        draft.state.calls.push(Call {
            stored,
            claimed: false,
        });
        call::end_call(draft, rtc, ended, false);
    }
    open
}

/// Gives a result to each call of a turn of which nothing but its message is left, and gives how many there were.
fn answer(
    draft: &mut Draft,
    turn: Option<TurnId>,
    unanswered: &mut HashMap<MessageId, StoredMessage>,
) -> usize {
    let is_its = |message: &StoredMessage| message.entity.turn_id == turn;
    let mut its: Vec<_> = unanswered.extract_if(|_, message| is_its(message)).collect();
    its.sort_by_key(|(_, message)| message.entity.global_offset);
    let mut answered = 0;
    for (input, message) in its {
        let (Some(turn), Some(ContentData::ToolcallInput(call))) = (turn, message.entity.content.parse())
        else {
            continue;
        };
        let round = message.private.round;
        let ended = unknown(true);
        call::write_output(
            draft,
            turn,
            input,
            &call.id,
            &call.tool_name,
            &call.input,
            round,
            &ended,
        );
        answered += 1;
    }
    answered
}

/// The end of a call of which it is not known what became of it.
fn unknown(changes: bool) -> call::Ended {
    let (effect, then) = if changes {
        let then = "it may have taken effect. Look at what is there before you repeat it";
        (Changed::Unknown, then)
    } else {
        (Changed::None, "it changes nothing, and can be made again")
    };
    call::Ended {
        status: RtcStatus::Failed,
        result: None,
        error: Some(format!(
            "what was stored of this call was damaged, and its result is not known ({}): {then}",
            Code::StoreDamaged
        )),
        effect: Some(effect),
    }
}

fn fail_turn(draft: &mut Draft) {
    let Some(turn) = draft.state.turn.as_ref().map(|turn| turn.entity.id) else {
        return;
    };
    let error = ErrorContent {
        category: ErrorCategory::System,
        title: "What was stored was damaged".into(),
        message: format!(
            "the sessions were damaged on the disk, and this is what could be saved ({}). What was going on, and what was \
             done last, may be missing here although it was done. Nothing of it goes on by itself: look at what is there, \
             then say what is to be done",
            Code::StoreDamaged
        ),
        retryable: false,
    };
    reply::write_error(draft, turn, error);
    draft.end_turn(TurnStatus::Failed);
}
