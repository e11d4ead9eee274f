//! A cut of the power in the moment in which a process tells anybody anything, and what it leaves.

use std::fmt;

use rtc_tests::{Ended, Moment, SystemCall};

use crate::device::{Device, Image, Reached};
use crate::named::Choice;
use crate::point::Kind;
use crate::stage::{Event, Unknown};
use crate::turn::{Past, Turn};

/// What may be left: the project may be ahead of the data that tells of it.
pub(crate) const LEFT: [Reached; 4] = [
    Reached::Nothing,
    Reached::Torn,
    Reached::Some,
    Reached::AllOf("project"),
];

/// What the process tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Told {
    /// The model is asked.
    Request,
    /// A file of the project is put in place.
    Place,
    /// A client is told of an update.
    Update,
    /// A client is told anything else.
    Reply,
    /// What came of it is printed.
    Output,
    /// The process has ended.
    End,
}

impl fmt::Display for Told {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Request => "when the model is asked",
            Self::Place => "when a file is put in place",
            Self::Update => "when a client is told of an update",
            Self::Reply => "when a client is told anything else",
            Self::Output => "when the outcome is printed",
            Self::End => "when the process has ended",
        })
    }
}

impl Told {
    /// What a call tells, if it is about to.
    pub(crate) fn of(call: &SystemCall, event: Option<Event>) -> Option<Self> {
        if call.moment == Moment::After {
            return None;
        }
        match event.map(|event| event.point.kind) {
            Some(Kind::Request) => call.content.starts_with(b"POST ").then_some(Self::Request),
            Some(Kind::Place) => Some(Self::Place),
            Some(Kind::Told) => Some(Self::Update),
            Some(Kind::Reply) => Some(Self::Reply),
            Some(_) => None,
            None => {
                (call.path.as_os_str() == "/dev/null" && has(&call.content, OUTCOME)).then_some(Self::Output)
            }
        }
    }
}

/// What is in the printed outcome.
const OUTCOME: &[u8] = b"\"session_id\"";

fn has(written: &[u8], part: &[u8]) -> bool {
    written.windows(part.len()).any(|window| window == part)
}

/// A cut of the power, at the n-th time that anything is told, from 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    pub(crate) nth: usize,
    pub(crate) reached: Reached,
    pub(crate) seed: u64,
}

impl fmt::Display for Cut {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { nth, reached, seed } = self;
        write!(
            formatter,
            "told {nth}, {reached:?} has reached the device, seed {seed}"
        )
    }
}

/// Follows a process onto a device until the cut.
pub(crate) struct Cutter {
    device: Device,
    cut: Cut,
    /// How often anything was told.
    pub(crate) told: Vec<Told>,
    /// The thread that tells what the cut is at, until it has done so.
    telling: Option<i32>,
    left: Option<Left>,
    /// What may become of the script now.
    unknown: Unknown,
    /// What was before this process.
    past: Past,
}

/// What a cut leaves.
pub(crate) struct Left {
    pub(crate) told: Told,
    image: Image,
    /// What may become of the script.
    unknown: Unknown,
    past: Past,
}

impl Cutter {
    /// Of the next process of this turn, whose place is on the device.
    pub(crate) fn new(turn: &Turn, device: Device, cut: Cut) -> Self {
        Self {
            device,
            past: turn.past(),
            cut,
            told: Vec::new(),
            telling: None,
            left: None,
            unknown: Unknown::default(),
        }
    }

    /// Takes the next call, and says whether the power is cut now: as soon as what the cut is at is told. What is left
    /// is what was so before that, or before what another thread has told meanwhile.
    pub(crate) fn sees(&mut self, call: &SystemCall, event: Option<Event>, unknown: Unknown) -> bool {
        self.device.take(call);
        self.unknown = unknown;
        let is_over = call.moment == Moment::After && self.telling == Some(call.thread);
        if let Some(told) = Told::of(call, event) {
            if self.told.len() == self.cut.nth {
                self.telling = Some(call.thread);
            }
            self.told.push(told);
            if self.telling.is_some() {
                let told = self.left.take().map_or(told, |left| left.told);
                self.left = Some(self.leave(told));
            }
        }
        is_over
    }

    fn leave(&self, told: Told) -> Left {
        let Cut { nth, reached, seed } = self.cut;
        let mut choice = Choice::new("power cut", seed, nth as u64);
        Left {
            told,
            image: self.device.image(reached, &mut choice),
            unknown: self.unknown,
            past: self.past,
        }
    }

    /// What is left of a process that has ended.
    pub(crate) fn end(mut self, ended: Ended) -> Left {
        match self.left.take() {
            Some(left) if ended == Ended::Killed => left,
            _ => {
                assert_eq!(ended, Ended::Exited(0), "it has ended by itself");
                self.leave(Told::End)
            }
        }
    }
}

impl Left {
    /// The power is there again.
    pub(crate) fn put(&self, turn: &mut Turn) {
        self.image.put(turn.place.path());
        let is_over = matches!(self.told, Told::Output | Told::End);
        turn.was_cut(self.past, self.unknown, !is_over);
    }
}
