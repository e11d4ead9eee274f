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
use crate::cut::{Cut, Cutter, LEFT, Told};
use crate::device::{Device, Reached};
use crate::named::Choice;
use crate::point::Kind;
use crate::stage::{Event, Unknown};
use crate::tally::{rounds, run_all};
use crate::turn::{Turn, Whole};

/// How many cuts there are in each test run, of `run` and of `serve`.
const SAMPLED: usize = 20;

/// How often a part of what was written is left for a flush that was forgotten.
const SEEDS: u64 = 8;

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

/// What the database flushes now and then by itself, and not because somebody waits for it. It does so often enough to
/// hide that a commit does not.
fn by_itself(call: &SystemCall) -> bool {
    call.name == "fsync" && call.path.ends_with("store/db/db")
}

#[test]
fn what_was_told_is_there_after_a_power_cut() {
    if !can_trace() {
        return;
    }
    let whole = Whole::new(Dialect::Chat);
    let told = told();
    let tally = run_all("power cut", &cuts(told.len()), |cut| {
        Some(cut_run(&whole, *cut, by_itself).to_string())
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

/// Kills a run after the n-th step. Gives whether there is a message to go on with; nothing where that is not known, or
/// not what the last calls have done.
fn kill(turn: &mut Turn, device: &mut Device, mut step: usize) -> Option<bool> {
    let (mut is_sent, mut is_begun) = (false, false);
    watched(turn, false, |call, event, _| {
        device.take(call);
        is_sent |= Told::of(call, event) == Some(Told::Request);
        let Some(event) = event else { return false };
        is_begun |= event.point.kind == Kind::Commit;
        if !is_step(&event) {
            return false;
        }
        let is_it = step == 0;
        step -= usize::from(!is_it);
        is_it && is_begun == is_sent
    });
    (device.goes_on() && is_begun == is_sent).then_some(is_sent)
}

/// Kills a run and cuts the next one: that has found what the system still had, and must not build on it what it tells.
fn cut_after_a_kill(whole: &Whole, After(step, cut): &After) -> Option<Told> {
    let mut turn = Turn::new(Dialect::Chat);
    let mut device = Device::new(turn.place.path(), |_| false);
    let is_sent = kill(&mut turn, &mut device, *step)?;
    Some(cut_next(whole, &mut turn, is_sent, device, *cut))
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

/// Whether the power may be cut now although nothing is told: before each change.
fn is_moment(event: &Event) -> bool {
    event.point.moment == Moment::Before && event.point.kind != Kind::Worker
}

/// Cuts a run before the n-th change, or one that goes on after a kill. Gives what it is before; nothing if the run had
/// ended, or went on from something that is not known.
fn cut_anywhere(whole: &Whole, After(step, cut): &After, after_a_kill: bool) -> Option<String> {
    let mut turn = Turn::new(Dialect::Chat);
    let mut device = Device::new(turn.place.path(), |_| false);
    let go_on = after_a_kill && kill(&mut turn, &mut device, *step)?;
    let past = turn.past();
    let (mut left, mut at) = (cut.nth, None);
    let ended = watched(&mut turn, go_on, |call, event, unknown| {
        device.take(call);
        let Some(event) = event.filter(is_moment) else {
            return false;
        };
        at = Some((event.point, unknown));
        let is_it = left == 0;
        left -= usize::from(!is_it);
        is_it
    });
    let (point, unknown) = at.filter(|_| ended == Ended::Killed)?;
    let mut choice = Choice::new("anywhere", cut.seed, cut.nth as u64);
    device.image(cut.reached, &mut choice).put(turn.place.path());
    turn.was_cut(past, unknown, true);
    whole.judge(&turn);
    Some(point.to_string())
}

#[test]
fn a_power_cut_at_any_time_takes_nothing_back_that_was_told() {
    if !can_trace() {
        return;
    }
    let whole = Whole::new(Dialect::Chat);
    let count = |is_it: fn(&Event) -> bool| whole.events.iter().filter(|event| is_it(event)).count();
    let (steps, moments) = (count(is_step), count(is_moment));
    let all = rounds().map_or(SAMPLED, |rounds| moments * rounds);
    let cases: Vec<After> = (0..all)
        .map(|index| {
            let (step, nth) = (index * 7 % steps, index * moments / all);
            let (reached, seed) = (LEFT[index % LEFT.len()], index as u64);
            After(step, Cut { nth, reached, seed })
        })
        .collect();
    let tally = run_all("power cut at any time", &cases, |case| {
        // Of the run that goes on, what it does first: it opens what is there, and recovers.
        let After(step, cut) = *case;
        let first = Cut {
            nth: cut.nth / 2,
            ..cut
        };
        let is_second = cut.seed % 2 == 1;
        cut_anywhere(
            &whole,
            &After(step, if is_second { first } else { cut }),
            is_second,
        )
    });
    tally.report();
    assert!(tally.all() * 2 > cases.len(), "most runs come to their cut");
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
    ("what was in a file", |call| is_named(call, "1.image.new")),
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
