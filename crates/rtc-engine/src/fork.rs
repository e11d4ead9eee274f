//! What a fork copies: the conversation up to one of the user's messages.

use std::collections::HashSet;

use rtc_types::{Code, MessageId, MessageRole, TurnId};

use crate::Error;
use crate::command::History;
use crate::prompt::Ranks;
use crate::stored::{StoredMessage, StoredTurn};

/// How many messages a fork copies where it is not told how many; a longer conversation needs a limit.
pub(crate) const MOST_COPIED: usize = 10_000;

/// What a model that answers the message `chosen` reads before it: whole turns, in their order, and what the user said
/// together with it. Of that, at most the last `limit` messages. `cleared` is the offset up to which the history was
/// cleared.
pub(crate) fn history(
    messages: Vec<StoredMessage>,
    turns: Vec<StoredTurn>,
    chosen: MessageId,
    cleared: Option<u32>,
    limit: Option<usize>,
) -> Result<History, Error> {
    let found = messages.iter().find(|message| message.entity.id == chosen);
    let Some(chosen) = found.map(|message| message.entity.clone()) else {
        return Err(Error::refused(
            Code::MessageNotFound,
            "the session has no message with this id",
        ));
    };
    if chosen.role != MessageRole::User {
        return Err(Error::refused(
            Code::ForkError,
            "only a message of the user can be written anew",
        ));
    }
    let places = messages.iter().map(|message| &message.entity);
    let ranks = Ranks::of(places.map(|place| (place.turn_id, place.role, place.global_offset)));
    let end = ranks.rank(chosen.turn_id, chosen.global_offset);
    let mut kept = Vec::new();
    let mut together = Vec::new();
    for mut message in messages {
        let turn = message.entity.turn_id;
        if turn.is_some() && turn != chosen.turn_id {
            let rank = ranks.rank(turn, message.entity.global_offset);
            if rank < end {
                kept.push((rank, message));
            }
        } else if matches!(message.entity.role, MessageRole::User | MessageRole::System)
            && message.entity.global_offset < chosen.global_offset
        {
            // What came with a message comes after it: with the chosen one it is left out.
            message.entity.turn_id = None;
            together.push(message);
        }
    }
    kept.sort_by_key(|(rank, message)| (*rank, message.entity.turn_offset, message.entity.global_offset));
    let mut cleared = kept
        .iter()
        .filter(|(rank, _)| cleared.is_some_and(|cleared| *rank <= cleared))
        .count();
    let mut messages: Vec<StoredMessage> = kept.into_iter().map(|(_, message)| message).collect();
    messages.extend(together);
    match limit {
        // The new one is one of them.
        Some(limit) => {
            let mut left_out = messages.len().saturating_sub(limit.saturating_sub(1));
            // A prompt goes with the message that it came with.
            let rest = messages[left_out..].iter();
            left_out += rest
                .take_while(|message| message.entity.role == MessageRole::System)
                .count();
            messages.drain(..left_out);
            cleared = cleared.saturating_sub(left_out);
        }
        None if messages.len() > MOST_COPIED => {
            let told = format!(
                "the session has {} messages before this one, and {MOST_COPIED} can be copied; say with `limit` how \
                 many of the newest are wanted",
                messages.len()
            );
            return Err(Error::refused(Code::ForkError, told));
        }
        None => {}
    }
    let wanted: HashSet<TurnId> = messages
        .iter()
        .filter_map(|message| message.entity.turn_id)
        .collect();
    let turns = turns
        .into_iter()
        .filter(|turn| wanted.contains(&turn.entity.id))
        .collect();
    Ok(History {
        turns,
        messages,
        cleared,
    })
}
