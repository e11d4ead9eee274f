//! Where in a turn a process is, told from outside by what it writes and to whom.

use std::collections::HashSet;

use rtc_tests::{Moment, SystemCall};

use crate::point::{Kind, Point};

/// What is in a stored mark and nowhere else; the digest of the call's arguments follows.
const IN_A_MARK: &[u8] = b"\"args_digest\":\"";

/// How long that digest is, in bytes.
const DIGEST_BYTES: usize = 64;

/// What a commit carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carries {
    /// The mark of a call: it may take effect from now on.
    Mark,
    /// The outcome of a call that had a mark.
    Outcome,
    /// Anything else.
    Other,
}

/// A point, and where in the turn it was passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) point: Point,
    /// Of a commit: what it carries.
    pub(crate) carries: Carries,
    /// Which call with an effect is between its mark and its outcome, from 0.
    pub(crate) running: Option<usize>,
    /// Whether that call has put a file in place.
    pub(crate) placed: bool,
    /// Which call with an effect has got its outcome since the model was asked.
    pub(crate) told: Option<usize>,
    /// Whether the model was asked by this process.
    pub(crate) asked: bool,
}

/// Follows one process.
#[derive(Debug, Default)]
pub(crate) struct Stage {
    digests: HashSet<Vec<u8>>,
    /// Whether there is a new mark among what was written since the last flush.
    marked: bool,
    calls: usize,
    running: Option<usize>,
    placed: bool,
    told: Option<usize>,
    asked: bool,
}

impl Stage {
    /// Takes the next point that the process has come to.
    pub(crate) fn passes(&mut self, call: &SystemCall, point: Point) -> Event {
        if point == Point::before(Kind::Log) {
            self.marked |= self.has_new_mark(&call.content);
        }
        let carries = match self.running {
            _ if self.marked => Carries::Mark,
            Some(_) => Carries::Outcome,
            None => Carries::Other,
        };
        let event = Event {
            point,
            carries,
            running: self.running,
            placed: self.placed,
            told: self.told,
            asked: self.asked,
        };
        if point.moment == Moment::Before {
            return event;
        }
        match point.kind {
            Kind::Commit => self.commit(carries),
            Kind::Place => self.placed = true,
            Kind::Request => (self.told, self.asked) = (None, true),
            _ => {}
        }
        // What it did counts for itself, too.
        Event {
            placed: self.placed,
            told: self.told.or(event.told),
            ..event
        }
    }

    fn commit(&mut self, carries: Carries) {
        match carries {
            Carries::Mark => {
                self.running = Some(self.calls);
                self.calls += 1;
                (self.marked, self.placed) = (false, false);
            }
            Carries::Outcome => self.told = self.running.take(),
            Carries::Other => {}
        }
    }

    fn has_new_mark(&mut self, written: &[u8]) -> bool {
        let mut found = false;
        for start in 0..written.len().saturating_sub(IN_A_MARK.len() + DIGEST_BYTES) {
            if let Some(rest) = written[start..].strip_prefix(IN_A_MARK) {
                found |= self.digests.insert(rest[..DIGEST_BYTES].to_vec());
            }
        }
        found
    }
}
