//! Power cuts. What a kill cannot show is a flush that was forgotten: the system still has what was written.
//!
//! The process is followed onto a [`Device`]. In the moment in which it tells anybody anything, what a power cut may
//! leave is put in the place of its folders, and the next run has to go on from that as it does after a kill. What it
//! has told is: a request to the model, what it prints in the end and that it ends; in `serve` what a client is sent;
//! and a file of the project that is put in place, by which a change may not be made a second time.

use std::fmt;

use rtc_tests::model_server::Dialect;
use rtc_tests::{Ended, Moment, SystemCall, finish, text};

use crate::can_trace;
use crate::device::{Device, Image, Reached};
use crate::named::Choice;
use crate::point::Kind;
use crate::stage::{Event, Unknown};
use crate::tally::{rounds, run_all};
use crate::turn::{Turn, Whole};

/// How many cuts there are in each test run, of `run` and of `serve`.
const SAMPLED: usize = 20;

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
}

/// What a cut leaves.
pub(crate) struct Left {
    pub(crate) told: Told,
    image: Image,
    /// What may become of the script.
    unknown: Unknown,
}

impl Cutter {
    /// Of a process with this place; the device forgets the flushes for which `forgets` holds.
    pub(crate) fn new(turn: &Turn, cut: Cut, forgets: fn(&SystemCall) -> bool) -> Self {
        Self {
            device: Device::new(turn.place.path(), forgets),
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
        }
    }

    /// What is left of a process that has ended.
    pub(crate) fn end(mut self, ended: Ended) -> Left {
        match self.left.take() {
            Some(left) if ended == Ended::Killed => left,
            _ => self.leave(Told::End),
        }
    }
}

impl Left {
    /// The power is there again.
    pub(crate) fn put(&self, turn: &mut Turn) {
        self.image.put(turn.place.path());
        let is_over = matches!(self.told, Told::Output | Told::End);
        turn.was_cut(self.unknown, usize::from(!is_over));
    }
}

/// Runs the turn until the cut, and judges the run that goes on. Gives what was told.
fn cut_run(whole: &Whole, cut: Cut, forgets: fn(&SystemCall) -> bool) -> Told {
    let mut turn = Turn::new(Dialect::Chat);
    let mut cutter = Cutter::new(&turn, cut, forgets);
    let ended = watched(&mut turn, |call, event, unknown| {
        cutter.sees(call, event, unknown)
    });
    let left = cutter.end(ended);
    left.put(&mut turn);
    let before = turn.place.files();
    let went_on = finish(turn.command(true));
    let told = text(&went_on.stderr);
    assert!(went_on.status.success(), "{}: {told}", went_on.status);
    whole.judge_end(&turn, &before);
    left.told
}

fn watched(turn: &mut Turn, kill: impl FnMut(&SystemCall, Option<Event>, Unknown) -> bool) -> Ended {
    let mut command = turn.traceable(false);
    command.args(["--output", "json"]);
    turn.watch_calls(command, kill)
}

/// What a turn tells that nobody cuts off, in order.
fn told() -> Vec<Told> {
    let mut all = Vec::new();
    let ended = watched(&mut Turn::new(Dialect::Chat), |call, event, _| {
        all.extend(Told::of(call, event));
        false
    });
    assert_eq!(ended, Ended::Exited(0));
    all.push(Told::End);
    all
}

/// The cuts of a run that tells so many things: each with all that may be left, or a sample.
pub(crate) fn cuts(told: usize) -> Vec<Cut> {
    let of = |nth, reached, seed| Cut { nth, reached, seed };
    match rounds() {
        None => (0..SAMPLED)
            .map(|index| of(index * told / SAMPLED, LEFT[index % LEFT.len()], index as u64))
            .collect(),
        Some(rounds) => (0..rounds as u64)
            .flat_map(|seed| (0..told).map(move |nth| (nth, seed)))
            .flat_map(|(nth, seed)| LEFT.map(|reached| of(nth, reached, seed)))
            .collect(),
    }
}

#[test]
fn what_was_told_is_there_after_a_power_cut() {
    if !can_trace() {
        return;
    }
    let whole = Whole::new(Dialect::Chat);
    let told = told();
    println!("{told:?}");
    let tally = run_all("power cut", &cuts(told.len()), |cut| {
        Some(cut_run(&whole, *cut, |_| false).to_string())
    });
    tally.report();
}
