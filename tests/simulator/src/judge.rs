//! What must hold at the end of every run, and that a killed run ends as the one that nobody killed.

mod copy;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rtc_engine::{StoredMessage, StoredRtc, StoredTurn};
use rtc_types::{
    ApprovalState, ContentData, Effect, MessageRole, RtcStatus, StreamingStatus, ToolCall, TurnStatus,
};

use serde_json::Value;

use crate::model::words;
use crate::run::{Ended, SessionEnd};
use crate::scenario::{Scenario, SessionPlan, Tool, call_id};
use crate::world::{Asked, Facts, is_script_output};

/// What must hold however the run went.
pub(crate) fn sound(scenario: &Scenario, ended: &Ended) -> Result<(), String> {
    let called = |id: &Arc<str>| {
        let of_id = |call: &StoredRtc| call.private.call_id.as_str() == &**id;
        ended
            .sessions
            .iter()
            .any(|session| session.calls.iter().any(of_id))
    };
    if let Some(id) = ended.facts.applied.iter().find(|id| !called(id)) {
        return Err(format!("{id} took effect, of which there is no record"));
    }
    for (number, (plan, session)) in scenario.sessions.iter().zip(&ended.sessions).enumerate() {
        let told = |what: String| format!("session {number}: {what}");
        over(session).map_err(told)?;
        let set = &plan.set_modes[..ended.facts.users[number].modes_set];
        if let Some(&(_, mode)) = set.last()
            && session.mode != mode
        {
            return Err(told(format!("the mode is {}, not {mode}", session.mode)));
        }
        results(session).map_err(told)?;
        not_given_up(plan, session).map_err(told)?;
        effects(scenario, session, &ended.facts).map_err(told)?;
        nothing_unheard(number, plan, session, &ended.facts).map_err(told)?;
        if let Some(plan) = &plan.copy {
            copy::check(number, plan, session, &ended.sessions[0], &ended.facts).map_err(told)?;
        }
    }
    if ended.count != ended.sessions.len() {
        let planned = ended.sessions.len();
        return Err(format!("there are {} sessions, not {planned}", ended.count));
    }
    requests_only_grow(scenario, &ended.facts)
}

/// Nothing is open, no turn, no call, no dialog.
fn over(session: &SessionEnd) -> Result<(), String> {
    if !session.is_idle {
        return Err("it is not idle".to_owned());
    }
    if let Some(turn) = session
        .turns
        .iter()
        .find(|turn| !turn.entity.status.is_terminal())
    {
        return Err(format!("a turn is {:?} at the end", turn.entity.status));
    }
    for call in &session.calls {
        if !call.entity.status.is_terminal() {
            return Err(format!("{} is {:?} at the end", id(call), call.entity.status));
        }
        let approval = call.entity.approval.as_ref().map(|approval| approval.state);
        if approval == Some(ApprovalState::Open) {
            return Err(format!("the dialog of {} is open at the end", id(call)));
        }
    }
    let open = |(message, _): &&(StoredMessage, ContentData)| {
        matches!(
            message.entity.streaming_status,
            StreamingStatus::Pending | StreamingStatus::Streaming
        )
    };
    match session.messages.iter().find(open) {
        Some((_, content)) => Err(format!("a message is open at the end: {content:?}")),
        None => Ok(()),
    }
}

/// Nothing was stopped but by the user.
fn not_given_up(plan: &SessionPlan, session: &SessionEnd) -> Result<(), String> {
    // A copy has the turn that went on in the other session, where it ends.
    if plan.stop.is_some() || plan.copy.is_some() {
        return Ok(());
    }
    let is_cancelled = |turn: &&StoredTurn| turn.entity.status == TurnStatus::Cancelled;
    match session.turns.iter().find(is_cancelled) {
        Some(_) => Err("a turn was stopped, and not by the user".to_owned()),
        None => Ok(()),
    }
}

/// Each call has one result, in the log as in the record.
fn results(session: &SessionEnd) -> Result<(), String> {
    let mut calls: HashMap<&str, (u32, Vec<&ToolCall>)> = HashMap::new();
    for content in whole(session) {
        match content {
            ContentData::ToolcallInput(call) => calls.entry(call.id.as_str()).or_default().0 += 1,
            ContentData::ToolcallOutput(call) => calls.entry(call.id.as_str()).or_default().1.push(call),
            _ => {}
        }
    }
    for (id, (inputs, outputs)) in &calls {
        if *inputs != 1 || outputs.len() != 1 {
            return Err(format!(
                "{id} was called {inputs} times and has {} results",
                outputs.len()
            ));
        }
    }
    for call in &session.calls {
        let status = calls.get(id(call)).and_then(|(_, outputs)| outputs[0].status);
        if status != Some(call.entity.status) {
            return Err(format!(
                "{} is {:?}, its result says {status:?}",
                id(call),
                call.entity.status
            ));
        }
    }
    Ok(())
}

/// Nothing has an effect twice, or without a Yes, or other than is said of it.
fn effects(scenario: &Scenario, session: &SessionEnd, facts: &Facts) -> Result<(), String> {
    for call in &session.calls {
        let id = id(call);
        let Some(planned) = scenario.call(id) else {
            return Err(format!("nobody called {id}"));
        };
        let count = |ids: &[Arc<str>]| ids.iter().filter(|other| &***other == id).count();
        let (applied, retried) = (count(&facts.applied), count(&facts.retried));
        if applied > 1 + retried {
            return Err(format!(
                "{id} took effect {applied} times, with {retried} retries"
            ));
        }
        if !matches!(planned.tool, Tool::Write | Tool::Script) {
            continue;
        }
        let entity = &call.entity;
        let said = match (entity.status, entity.effect) {
            (RtcStatus::Completed, _) if retried == 0 && planned.tool == Tool::Write => applied == 1,
            (RtcStatus::Completed, _) if entity.result == Some(Value::from(format!("ran {id}"))) => {
                applied >= 1
            }
            (_, Some(Effect::None)) => applied == 0,
            // What a tool said of itself: that nothing was changed.
            (RtcStatus::Failed, None) => applied == 0,
            (_, Some(Effect::Applied)) if planned.tool == Tool::Write => applied > 0,
            _ => true,
        };
        if !said {
            return Err(format!(
                "{id} took effect {applied} times, and is {:?} with {:?}",
                entity.status, entity.effect
            ));
        }
    }
    Ok(())
}

/// What the user said is in the log, once, and the model read it, unless the user stopped before it could.
fn nothing_unheard(
    number: usize,
    plan: &SessionPlan,
    session: &SessionEnd,
    facts: &Facts,
) -> Result<(), String> {
    let said: Vec<&String> = session
        .messages
        .iter()
        .filter_map(|(_, content)| match content {
            ContentData::Text(text) => Some(text),
            _ => None,
        })
        .collect();
    let copied = plan.copy.as_ref().map_or(0, |copy| copy.message);
    let planned: Vec<String> = (0..copied)
        .map(|message| words(0, message))
        .chain((0..plan.messages.len()).map(|message| words(number, message)))
        .collect();
    if !said.iter().copied().eq(&planned) {
        return Err(format!("the user said {planned:?}, the log has {said:?}"));
    }
    // By its place, for the clock and the ids may have gone back.
    let of_user = |message: &&StoredMessage| message.entity.role == MessageRole::User;
    let last = session.messages.iter().map(|(message, _)| message).rfind(of_user);
    let last_turn = last.and_then(|message| {
        let of_message = |turn: &&StoredTurn| Some(turn.entity.id) == message.entity.turn_id;
        session.turns.iter().find(of_message)
    });
    let ended_as = last_turn.map(|turn| turn.entity.status);
    // A turn fails where something of the conversation cannot be read: a request without it would be another one.
    if ended_as == Some(TurnStatus::Cancelled) || (ended_as == Some(TurnStatus::Failed) && facts.has_failed) {
        return Ok(());
    }
    let read = facts.asked.iter().rev().find(|asked| asked.session == number);
    match read {
        Some(asked) if asked.said == planned => Ok(()),
        // What must not be read any more is seen with each request.
        Some(asked) if plan.clears.is_some() && !asked.said.is_empty() && planned.ends_with(&asked.said) => {
            Ok(())
        }
        _ => Err(format!(
            "the model has read {:?} of {planned:?}",
            read.map(|asked| &asked.said)
        )),
    }
}

/// A request is what the one before it was, and more; or the same again.
fn requests_only_grow(scenario: &Scenario, facts: &Facts) -> Result<(), String> {
    let mut last: HashMap<usize, &Asked> = HashMap::new();
    for asked in &facts.asked {
        let Some(before) = last.insert(asked.session, asked) else {
            continue;
        };
        let session = asked.session;
        let is_another_turn = asked.last_said() != before.last_said();
        if scenario.sessions[session].clears.is_some() && is_another_turn {
            // It may begin anew, and then goes on from there.
            if asked.first_said() < before.first_said() {
                return Err(format!(
                    "a request of session {session} goes back to what was cleared"
                ));
            }
            continue;
        }
        if !asked.items.starts_with(&before.items) {
            return Err(format!(
                "a request of session {session} changes what was sent before"
            ));
        }
        // The same messages of the user: the same turn, with the context that it began with.
        if before.said == asked.said && before.context != asked.context {
            return Err(format!("a turn of session {session} goes on in another context"));
        }
    }
    Ok(())
}

/// How a calm scenario ends, however often it is killed. What is known of a script that may have run is left out.
pub(crate) struct Reference {
    files: BTreeMap<String, String>,
    conversations: Vec<Vec<ContentData>>,
    asked: Vec<Vec<Arc<Asked>>>,
}

impl Reference {
    /// Every call that was planned must have been made.
    pub(crate) fn checked(scenario: &Scenario, ended: &Ended) -> Result<Self, String> {
        for (number, (plan, session)) in scenario.sessions.iter().zip(&ended.sessions).enumerate() {
            let planned = plan.messages.iter().enumerate().flat_map(|(message, plan)| {
                plan.rounds.iter().enumerate().flat_map(move |(round, plan)| {
                    (0..plan.calls.len()).map(move |call| call_id(number, message, round, call))
                })
            });
            let made = whole(session).filter_map(|content| match content {
                ContentData::ToolcallInput(call) => Some(call.id.as_str()),
                _ => None,
            });
            let (planned, made): (Vec<_>, Vec<_>) = (planned.collect(), made.collect());
            if planned != made {
                return Err(format!("the calls are {made:?}, planned were {planned:?}"));
            }
        }
        Ok(Self::of(ended))
    }

    fn of(ended: &Ended) -> Self {
        Self {
            files: ended.facts.files.clone(),
            conversations: ended.sessions.iter().map(conversation).collect(),
            asked: distinct(&ended.facts),
        }
    }

    /// Whether this run ended likewise.
    pub(crate) fn check(&self, ended: &Ended) -> Result<(), String> {
        let other = Self::of(ended);
        if self.files != other.files {
            return Err(format!("the files are {:?}, not {:?}", other.files, self.files));
        }
        for (number, (calm, killed)) in self.conversations.iter().zip(&other.conversations).enumerate() {
            if calm != killed {
                return Err(format!(
                    "session {number}: the conversation is\n{killed:#?}\nnot\n{calm:#?}"
                ));
            }
        }
        if self.asked != other.asked {
            return Err("the model was sent something else".to_owned());
        }
        Ok(())
    }
}

/// The requests of each session in order, those that were sent again once.
fn distinct(facts: &Facts) -> Vec<Vec<Arc<Asked>>> {
    let mut all: Vec<Vec<Arc<Asked>>> = vec![Vec::new(); facts.users.len()];
    for asked in &facts.asked {
        let of_session = &mut all[asked.session];
        if of_session.last() != Some(asked) {
            of_session.push(asked.clone());
        }
    }
    all
}

/// What broke off is no part of the conversation.
fn whole(session: &SessionEnd) -> impl Iterator<Item = &ContentData> {
    let whole = |(message, _): &&(StoredMessage, ContentData)| {
        message.entity.streaming_status != StreamingStatus::Failed
    };
    session.messages.iter().filter(whole).map(|(_, content)| content)
}

/// What is known of a script that may have run is left out.
fn conversation(session: &SessionEnd) -> Vec<ContentData> {
    whole(session)
        .map(|content| match content {
            ContentData::ToolcallOutput(call)
                if is_script_output(&call.tool_name, call.output.as_deref().unwrap_or_default()) =>
            {
                ContentData::Text(format!("what became of {}", call.id))
            }
            _ => content.clone(),
        })
        .collect()
}

fn id(call: &StoredRtc) -> &str {
    call.private.call_id.as_str()
}
