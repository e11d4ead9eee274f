//! Power cuts. What a kill cannot show is a flush that was forgotten: the system still has what was written.
//!
//! The process is followed onto a [`Device`]. In the moment in which it tells anybody anything, what a power cut may
//! leave is put in the place of its folders, and the next run has to go on from that as it does after a kill. What it
//! has told is: a request to the model, what it prints in the end and that it ends; in `serve` what a client is sent;
//! and a file of the project that is put in place, by which a change may not be made a second time.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rtc_tests::model_server::Dialect;
use rtc_tests::{Ended, Moment, SystemCall, finish, text};

use crate::can_trace;
use crate::device::{Device, Image, Reached};
use crate::named::Choice;
use crate::point::Kind;
use crate::stage::{Event, Unknown};
use crate::tally::{rounds, run_all};
use crate::turn::{Past, Turn, Whole};

/// How many cuts there are in each test run, of `run` and of `serve`.
const SAMPLED: usize = 20;

/// How often a part of what was written is left for a flush that was forgotten.
const SEEDS: u64 = 8;

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

/// Runs the turn until the cut, and judges the run that goes on. Gives what was told.
fn cut_run(whole: &Whole, cut: Cut, forgets: fn(&SystemCall) -> bool) -> Told {
    let mut turn = Turn::new(Dialect::Chat);
    let device = Device::new(turn.place.path(), forgets);
    cut_next(whole, &mut turn, false, device, cut)
}

/// Cuts the next run of a turn, and judges the one after it. Gives what was told.
fn cut_next(whole: &Whole, turn: &mut Turn, go_on: bool, device: Device, cut: Cut) -> Told {
    let mut cutter = Cutter::new(turn, device, cut);
    let ended = watched(turn, go_on, |call, event, unknown| {
        cutter.sees(call, event, unknown)
    });
    let left = cutter.end(ended);
    left.put(turn);
    let before = turn.place.files();
    let went_on = finish(turn.command(true));
    let told = text(&went_on.stderr);
    assert!(went_on.status.success(), "{}: {told}", went_on.status);
    whole.judge_end(turn, &before);
    left.told
}

fn watched(
    turn: &mut Turn,
    go_on: bool,
    kill: impl FnMut(&SystemCall, Option<Event>, Unknown) -> bool,
) -> Ended {
    let mut command = turn.traceable(go_on);
    command.args(["--output", "json"]);
    turn.watch_calls(command, kill)
}

/// What a turn tells that nobody cuts off, in order.
fn told() -> Vec<Told> {
    let mut all = Vec::new();
    let ended = watched(&mut Turn::new(Dialect::Chat), false, |call, event, _| {
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
    let tally = run_all("power cut", &cuts(told.len()), |cut| {
        Some(cut_run(&whole, *cut, |_| false).to_string())
    });
    tally.report();
}

/// A kill after the n-th step, from 0, and then a cut in the run that goes on.
struct After(usize, Cut);

impl fmt::Display for After {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "killed at step {}; then {}", self.0, self.1)
    }
}

/// Whether it may be killed now: after each change but those of the database, which flushes them as it likes.
fn is_step(event: &Event) -> bool {
    event.point.moment == Moment::After && !matches!(event.point.kind, Kind::Log | Kind::Worker)
}

/// Kills a run and cuts the next one: that has found what the system still had, and must not build on it what it tells.
/// Nothing if the kill came between two of the steps that are looked for.
fn cut_after_a_kill(whole: &Whole, After(step, cut): &After) -> Option<Told> {
    let mut turn = Turn::new(Dialect::Chat);
    let mut device = Device::new(turn.place.path(), |_| false);
    let (mut step, mut is_sent, mut is_begun) = (*step, false, false);
    watched(&mut turn, false, |call, event, _| {
        device.take(call);
        is_sent |= Told::of(call, event) == Some(Told::Request);
        let Some(event) = event else { return false };
        is_begun |= event.point.kind == Kind::Commit;
        if !is_step(&event) {
            return false;
        }
        let is_it = step == 0;
        step -= usize::from(!is_it);
        // In between it is not known whether there is a message to go on with.
        is_it && is_begun == is_sent
    });
    let is_known = device.goes_on();
    (is_known && is_begun == is_sent).then(|| cut_next(whole, &mut turn, is_sent, device, *cut))
}

#[test]
fn what_is_told_after_a_kill_is_there_after_a_power_cut() {
    if !can_trace() {
        return;
    }
    let whole = Whole::new(Dialect::Chat);
    let told = told().len();
    let steps = whole.events.iter().filter(|event| is_step(event)).count();
    // The run that goes on tells the less the later the kill was.
    let of = |index: usize, all: usize, reached| {
        let step = index * steps / all;
        let nth = index * 7 % (1 + told * (steps - step) / steps);
        let seed = index as u64;
        After(step, Cut { nth, reached, seed })
    };
    let all = rounds().map_or(SAMPLED, |rounds| steps * rounds);
    let cases: Vec<After> = (0..all)
        .map(|index| of(index, all, LEFT[index % LEFT.len()]))
        .collect();
    let tally = run_all("power cut after a kill", &cases, |case| {
        cut_after_a_kill(&whole, case).map(|told| told.to_string())
    });
    tally.report();
    assert!(tally.all() * 2 > cases.len(), "most kills have a cut after them");
}

/// A flush, by what it is of and its path.
type Forgotten = (&'static str, fn(&SystemCall) -> bool);

/// The flushes on which something depends. What is told is lost without any of them.
const FORGOTTEN: &[Forgotten] = &[
    ("the log", |call| call.path.ends_with("store/db/db")),
    ("the settings of the database", |call| {
        call.path.ends_with("store/db/conf")
    }),
    ("the names in the database", |call| {
        call.path.ends_with("store/db")
    }),
    ("the names in the store", |call| call.path.ends_with("data/store")),
    ("the names in the data folder", |call| call.path.ends_with("data")),
    ("the name of the data folder", |call| {
        call.path.join("data").is_dir()
    }),
    ("who the installation is", |call| is_named(call, "identity.json.")),
    ("what the store is", |call| is_named(call, "store.new")),
    ("a large value", |call| is_in(call, "staging")),
    ("the name of a large value", |call| is_in(call, "blobs")),
    ("the folder of a large value", |call| {
        call.path.ends_with("store/blobs")
    }),
    ("a file of the project", |call| {
        is_in(call, "project") && !call.path.is_dir()
    }),
    ("the names in the project", |call| call.path.ends_with("project")),
    ("the names in a new folder", |call| {
        call.path.ends_with("project/notes")
    }),
    ("what was in a file", |call| is_named(call, "1.bytes")),
    ("of what it was the content", |call| is_named(call, "1.json.new")),
    ("the names of old contents", |call| is_in(call, "pre-images")),
    ("the folder of old contents", |call| {
        call.path.ends_with("data/pre-images")
    }),
];

fn is_named(call: &SystemCall, beginning: &str) -> bool {
    let name = call.path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with(beginning))
}

fn is_in(call: &SystemCall, folder: &str) -> bool {
    let above = call.path.parent();
    above.is_some_and(|above| above.ends_with(folder))
}

/// A device that forgets one kind of flush takes back what was told; if that were not found, nothing would be proven.
#[test]
fn a_flush_that_is_forgotten_is_found() {
    if !can_trace() {
        return;
    }
    let whole = Whole::new(Dialect::Chat);
    // When everything was told but that it has ended.
    let nth = told().iter().rposition(|told| *told == Told::Request);
    let nth = nth.expect("the model is asked");
    // What is written in two parts has to be there with one of them only.
    let some = (0..SEEDS).map(|seed| (Reached::Some, seed));
    let cuts = [(Reached::Nothing, 0)].into_iter().chain(some);
    let cuts: Vec<Cut> = cuts.map(|(reached, seed)| Cut { nth, reached, seed }).collect();
    let is_found = |forgets| {
        let is_found = |cut: &Cut| catch_unwind(AssertUnwindSafe(|| cut_run(&whole, *cut, forgets))).is_err();
        cuts.iter().any(is_found)
    };
    let missed: Vec<&str> = FORGOTTEN
        .iter()
        .filter(|(_, forgets)| !is_found(*forgets))
        .map(|(name, _)| *name)
        .collect();
    assert_eq!(missed, [""; 0], "forgotten, and nobody noticed");
}
