//! Where in a turn a process is, told from outside by what it writes and to whom.

use rtc_tests::{Moment, SystemCall};

use crate::point::{Kind, Point};
use crate::turn::SCRIPT;

/// What is in a stored mark and nowhere else; the digest of the call's arguments follows.
const IN_A_MARK: &[u8] = b"\"args_digest\":\"";

/// What is in a stored result of a call.
const IN_AN_OUTCOME: &[u8] = b"toolcall_output";

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

/// How far the script has come, as far as the disk tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Script {
    /// There is no mark of it.
    #[default]
    NotBegun,
    /// Its mark is written, and may be found or not.
    Written,
    /// Its mark is durable.
    Marked,
    /// So it is, and its outcome is perhaps written.
    PerhapsOver,
    /// Its outcome is durable.
    Over,
}

/// What may become of a script of a process that was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Unknown {
    /// Nothing but its result: it had not begun, or was over.
    #[default]
    Never,
    /// Its result, or that its outcome is unknown.
    Perhaps,
    /// That its outcome is unknown: it had begun and has no outcome.
    Always,
}

/// Follows one process.
#[derive(Debug, Default)]
pub(crate) struct Stage {
    /// Of the calls with an effect, in the order in which their marks were first written.
    digests: Vec<Vec<u8>>,
    script: Script,
    /// Whether there is a new mark among what was written since the last flush.
    marked: bool,
    calls: usize,
    running: Option<usize>,
    placed: bool,
    told: Option<usize>,
    asked: bool,
}

fn has(written: &[u8], part: &[u8]) -> bool {
    written.windows(part.len()).any(|window| window == part)
}

impl Stage {
    /// Takes the next point that the process has come to.
    pub(crate) fn passes(&mut self, call: &SystemCall, point: Point) -> Event {
        if point == Point::before(Kind::Log) {
            self.marked |= self.has_new_mark(&call.content);
            self.script = match self.script {
                Script::NotBegun if self.digests.len() > SCRIPT => Script::Written,
                Script::Marked if has(&call.content, IN_AN_OUTCOME) => Script::PerhapsOver,
                other => other,
            };
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

    /// The stage of the process that goes on with what this one has left.
    pub(crate) fn after_a_kill(&self) -> Self {
        Self {
            digests: self.digests.clone(),
            script: self.script,
            ..Self::default()
        }
    }

    /// What may become of the script if the process is killed now.
    pub(crate) fn unknown(&self) -> Unknown {
        match self.script {
            Script::NotBegun | Script::Over => Unknown::Never,
            Script::Written | Script::PerhapsOver => Unknown::Perhaps,
            Script::Marked => Unknown::Always,
        }
    }

    fn commit(&mut self, carries: Carries) {
        self.script = match self.script {
            Script::Written => Script::Marked,
            Script::PerhapsOver => Script::Over,
            other => other,
        };
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
                let digest = &rest[..DIGEST_BYTES];
                if !self.digests.iter().any(|known| known == digest) {
                    self.digests.push(digest.to_vec());
                    found = true;
                }
            }
        }
        found
    }
}
