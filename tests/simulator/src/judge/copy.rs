//! What must hold of a session that began as a copy: it has what was said before, once, under ids of its own, and runs
//! nothing of it.

use std::collections::HashSet;

use rtc_engine::{StoredRtc, StoredTurn};
use rtc_model::Item;
use rtc_types::{MessageId, TurnId, TurnStatus};

use super::id;
use crate::model::words;
use crate::run::SessionEnd;
use crate::scenario::CopyPlan;
use crate::world::{Asked, Facts};

/// How the copy of a call reads that had no result yet.
const NO_RESULT: &str = "it had no result when the session was copied";

/// `number` is the copy's; `first` is what it was copied from.
pub(super) fn check(
    number: usize,
    plan: &CopyPlan,
    copy: &SessionEnd,
    first: &SessionEnd,
    facts: &Facts,
) -> Result<(), String> {
    records(number, copy, first)?;
    requests(number, plan, copy, facts)
}

/// The copy's records are its own, and lead to one another.
fn records(number: usize, copy: &SessionEnd, first: &SessionEnd) -> Result<(), String> {
    let own = format!("{number}.");
    if let Some(call) = copy.calls.iter().find(|call| !id(call).starts_with(&own)) {
        return Err(format!("{} is a call of the session that was copied", id(call)));
    }
    let messages = |end: &SessionEnd| -> HashSet<MessageId> {
        end.messages
            .iter()
            .map(|(message, _)| message.entity.id)
            .collect()
    };
    let turns = |end: &SessionEnd| -> HashSet<TurnId> {
        let id = |turn: &StoredTurn| turn.entity.id;
        end.turns.iter().map(id).collect()
    };
    let calls = |end: &SessionEnd| -> HashSet<_> {
        let id = |call: &StoredRtc| call.entity.id;
        end.calls.iter().map(id).collect()
    };
    let is_shared = !messages(copy).is_disjoint(&messages(first))
        || !turns(copy).is_disjoint(&turns(first))
        || !calls(copy).is_disjoint(&calls(first));
    if is_shared {
        return Err("a record has the id of one that was copied".to_owned());
    }
    let (own_messages, own_turns) = (messages(copy), turns(copy));
    for (place, (message, content)) in (1..).zip(&copy.messages) {
        let entity = &message.entity;
        let is_own = entity.session_id == copy.id
            && entity
                .parent_message_id
                .is_none_or(|id| own_messages.contains(&id))
            && entity.turn_id.is_none_or(|id| own_turns.contains(&id));
        if !is_own || entity.global_offset != place {
            return Err(format!(
                "message {place} of the copy leads elsewhere: {content:?}"
            ));
        }
    }
    Ok(())
}

/// The model reads in the copy what it reads in the session that was copied, up to the message that was written anew. Of
/// the turn that was not over by then it may be less.
fn requests(number: usize, plan: &CopyPlan, copy: &SessionEnd, facts: &Facts) -> Result<(), String> {
    let of = |session: usize| facts.asked.iter().filter(move |asked| asked.session == session);
    let mut said: Vec<String> = (0..plan.message).map(|message| words(0, message)).collect();
    said.push(words(number, 0));
    let Some(read) = of(number).next() else {
        // It was stopped before, or there was no room to begin.
        return Ok(());
    };
    if !read.said.starts_with(&said) {
        return Err(format!("the copy begins with {:?}, not {said:?}", read.said));
    }
    let anew = Item::User {
        text: words(0, plan.message),
    };
    let has_it = |asked: &&std::sync::Arc<Asked>| asked.whole.contains(&anew);
    let answered = of(0).find(has_it);
    // Where nobody asked the model for that message, what was asked before is the beginning of it.
    let Some(source) = answered.or_else(|| of(0).next_back()) else {
        return Ok(());
    };
    let source = source
        .whole
        .split(|item| *item == anew)
        .next()
        .unwrap_or_default();
    let own = Item::User {
        text: words(number, 0),
    };
    let copied = read.whole.split(|item| *item == own).next().unwrap_or_default();
    let is_same = |(one, other): &(&Item, &Item)| one == other || is_unfinished(one, other);
    let same = copied.iter().zip(source).take_while(is_same).count();
    let mut rest = copied[same..].iter();
    // What was said since waits in the copy as well.
    if answered.is_some()
        && let Some(item) = rest.find(|item| !matches!(item, Item::User { .. }))
    {
        return Err(format!("in the copy the model reads {item:?}, which nobody said"));
    }
    let was_over = copy
        .turns
        .iter()
        .all(|turn| turn.entity.status != TurnStatus::Cancelled);
    if was_over && same < source.len() {
        return Err(format!("in the copy the model does not read {:?}", source[same]));
    }
    Ok(())
}

/// Whether one is the copy of a call that had no result yet, and the other its result.
fn is_unfinished(one: &Item, other: &Item) -> bool {
    match (one, other) {
        (Item::ToolResult { call_id, text, .. }, Item::ToolResult { call_id: of, .. }) => {
            call_id == of && text.contains(NO_RESULT)
        }
        _ => false,
    }
}
