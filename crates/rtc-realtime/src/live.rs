//! The text of messages being written, at the pace of one connection.
//!
//! A client gets either the whole text so far, at most every [`LIVE_INTERVAL`], or each piece with its number. Pieces
//! begin with a whole text, unless the first is seen, and a missed one is made good by a whole text again.

use std::collections::VecDeque;
use std::sync::Arc;

use rtc_types::{MessageId, SessionId, UpdateEntity};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::limits::{HELD_PIECES, LIVE_INTERVAL, LIVE_MESSAGES};
use crate::page::update_data;
use crate::{LiveEvent, LiveText};

/// How a client wants text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The whole text so far.
    Full,
    /// The pieces.
    Delta,
}

/// What is known of the messages being written.
#[derive(Debug)]
pub(crate) struct Live {
    mode: Mode,
    /// Whether the client takes what is no update.
    takes_events: bool,
    /// The one that was silent longest comes first.
    tracks: Vec<Track>,
    /// Messages that were told of as whole, at most [`LIVE_MESSAGES`]: what is heard of them comes too late.
    ended: VecDeque<MessageId>,
    asking: bool,
    /// Not before this are whole texts asked for.
    next_ask: Instant,
}

#[derive(Debug)]
struct Track {
    session: SessionId,
    message: MessageId,
    /// Whether its whole text is wanted.
    wanted: bool,
    /// The piece that the client needs next.
    next: u64,
    /// Pieces that came while the whole text is wanted.
    held: Vec<Piece>,
}

/// What was added to a message.
#[derive(Debug)]
struct Piece {
    thinking: bool,
    delta: Arc<str>,
    sequence: u64,
}

impl Live {
    pub(crate) fn new(mode: Mode, takes_events: bool) -> Self {
        Self {
            mode,
            takes_events,
            tracks: Vec::new(),
            ended: VecDeque::new(),
            asking: false,
            next_ask: Instant::now(),
        }
    }

    /// Something happened; what of it is sent now. Without room nothing is: pieces are made good later.
    pub(crate) fn heard(&mut self, event: LiveEvent, has_room: bool) -> Option<Value> {
        let (session, message, piece) = match event {
            LiveEvent::Event(event) => {
                return (has_room && self.takes_events).then(|| Value::clone(&event));
            }
            LiveEvent::Text {
                session,
                message,
                thinking,
                delta,
                sequence,
            } => (
                session,
                message,
                Piece {
                    thinking,
                    delta,
                    sequence,
                },
            ),
        };
        if self.ended.contains(&message) {
            return None;
        }
        let known = self.tracks.iter().position(|track| track.message == message);
        let mut track = match known {
            Some(index) => self.tracks.remove(index),
            None => Track::new(session, message),
        };
        let mut sent = None;
        match self.mode {
            Mode::Full => track.wanted = true,
            Mode::Delta if track.wanted => track.hold(piece),
            Mode::Delta if piece.sequence == track.next && has_room => {
                track.next += 1;
                sent = Some(track.told(&piece));
            }
            // Part of a whole text that was sent.
            Mode::Delta if piece.sequence < track.next => {}
            Mode::Delta => {
                track.wanted = true;
                track.hold(piece);
            }
        }
        if self.tracks.len() == LIVE_MESSAGES {
            self.tracks.remove(0);
        }
        self.tracks.push(track);
        sent
    }

    /// When whole texts are to be asked for; nothing while none is wanted, or an answer is on its way.
    pub(crate) fn due(&self) -> Option<Instant> {
        let wants = !self.asking && self.tracks.iter().any(|track| track.wanted);
        wants.then_some(self.next_ask)
    }

    /// Not now: the client has enough to take.
    pub(crate) fn postpone(&mut self, now: Instant) {
        self.next_ask = now + LIVE_INTERVAL;
    }

    /// The messages whose whole text is asked for now.
    pub(crate) fn ask(&mut self, now: Instant) -> Vec<MessageId> {
        self.next_ask = now + LIVE_INTERVAL;
        self.asking = true;
        let wanted = self.tracks.iter_mut().filter(|track| track.wanted);
        wanted
            .map(|track| {
                // In full mode what comes from now on is wanted again; pieces stay held until the answer.
                track.wanted = self.mode == Mode::Delta;
                track.message
            })
            .collect()
    }

    /// The answers; what of them is sent.
    pub(crate) fn answered(&mut self, answers: Vec<(MessageId, Option<LiveText>)>) -> Vec<Value> {
        self.asking = false;
        let mut sent = Vec::new();
        for (message, text) in answers {
            // One that ended meanwhile is not here: nothing late is told of it.
            let Some(index) = self.tracks.iter().position(|track| track.message == message) else {
                continue;
            };
            let Some(LiveText { update, sequence }) = text else {
                self.tracks.remove(index);
                continue;
            };
            let mut data = update_data(update, 0);
            if self.mode == Mode::Delta {
                data["sequence"] = sequence.into();
                sent.push(data);
                let track = &mut self.tracks[index];
                track.wanted = false;
                track.next = sequence + 1;
                for piece in std::mem::take(&mut track.held) {
                    if piece.sequence == track.next {
                        track.next += 1;
                        sent.push(track.told(&piece));
                    }
                }
            } else {
                sent.push(data);
            }
        }
        sent
    }

    /// Asking failed.
    pub(crate) fn not_answered(&mut self) {
        self.asking = false;
    }

    /// An update on its way to the client may end messages: an older text must not follow it.
    pub(crate) fn passed(&mut self, update: &Value) {
        let Some(entities) = update.get("data_list").and_then(Value::as_array) else {
            return;
        };
        let items = update["items"].as_array().map_or(&[][..], Vec::as_slice);
        for (item, entity) in items.iter().zip(entities) {
            let is_message = item["entity"] == json!(UpdateEntity::Message);
            let id = serde_json::from_value(item["entity_id"].clone()).ok();
            let Some(message) = id.filter(|_| is_message && entity["streaming_status"] != "streaming") else {
                continue;
            };
            self.tracks.retain(|track| track.message != message);
            if !self.ended.contains(&message) {
                self.ended.truncate(LIVE_MESSAGES - 1);
                self.ended.push_front(message);
            }
        }
    }
}

impl Track {
    fn new(session: SessionId, message: MessageId) -> Self {
        Self {
            session,
            message,
            wanted: false,
            next: 1,
            held: Vec::new(),
        }
    }

    /// Keeps a piece; if there are too many, none: the gap is then made good by a whole text again.
    fn hold(&mut self, piece: Piece) {
        if self.held.len() == HELD_PIECES {
            self.held.clear();
        }
        self.held.push(piece);
    }

    fn told(&self, piece: &Piece) -> Value {
        json!({
            "type": "delta",
            "data": {
                "session_id": self.session,
                "message_id": self.message,
                "thinking": piece.thinking,
                "sequence": piece.sequence,
                "delta": &*piece.delta,
            },
        })
    }
}

#[cfg(test)]
mod tests;
