//! The named points, and as many kills at each of them as are promised.

use std::collections::BTreeMap;
use std::fmt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rtc_tests::model_server::Dialect;
use rtc_tests::{Ended, Moment, assert_none_left_by};

use crate::can_trace;
use crate::point::{Kind, Point};
use crate::stage::{Carries, Event};
use crate::tally::{VISITS, rounds, run_all};
use crate::turn::{LAST_OF_A_REPLY, SCRIPT, Silence, Turn, Whole, lengths};

/// How often each point is hit in every test run.
const SAMPLED: usize = 20;

/// How often each point is hit in a full run of one round, and for each round.
const A_ROUND: usize = 50;

/// How many runs may end before they come to their point, one after the other.
pub(crate) const TRIES: u64 = 8;

/// How many steps a recovery is thought to have at most; a kill is at one of the first ones.
const STEPS_OF_RECOVERY: u64 = 14;

/// How long a silent model's reply may take to be read.
const BOUND: Duration = Duration::from_secs(60);

/// A named point: how a process is brought to it.
pub(crate) struct Named {
    pub(crate) name: &'static str,
    pub(crate) way: Way,
}

pub(crate) enum Way {
    /// At one of the passings for which this holds.
    At(fn(&Event) -> bool),
    /// When some bytes of a reply are read, and the model is silent.
    Silence,
    /// At a step of the run after another kill.
    Again,
}

pub(crate) const NAMED: &[Named] = &[
    Named {
        name: "before a commit",
        way: Way::At(|event| event.point == Point::before(Kind::Commit)),
    },
    Named {
        name: "after a commit",
        way: Way::At(|event| event.point == Point::after(Kind::Commit)),
    },
    Named {
        name: "at the mark of a call that begins",
        way: Way::At(|event| event.point.kind == Kind::Commit && event.carries == Carries::Mark),
    },
    Named {
        name: "at the outcome of a call",
        way: Way::At(|event| event.point.kind == Kind::Commit && event.carries == Carries::Outcome),
    },
    Named {
        name: "in the write of a file",
        way: Way::At(|event| of_a_file(event) && !event.placed),
    },
    Named {
        name: "after the rename, before the outcome",
        way: Way::At(|event| of_a_file(event) && event.placed),
    },
    Named {
        name: "in a streamed reply",
        way: Way::Silence,
    },
    Named {
        name: "in a script",
        way: Way::At(|event| event.running == Some(SCRIPT) && outside_of_the_store(event)),
    },
    Named {
        name: "between result and next request",
        way: Way::At(|event| {
            event.told.is_some_and(|told| LAST_OF_A_REPLY.contains(&told)) && is_certain(event)
        }),
    },
    Named {
        name: "in a recovery",
        way: Way::Again,
    },
];

/// What is written behind a commit differs from run to run.
fn is_certain(event: &Event) -> bool {
    event.point.kind != Kind::Log
}

fn outside_of_the_store(event: &Event) -> bool {
    is_certain(event) && event.point.kind != Kind::Commit
}

/// Whether this is a step of a call that changes a file by itself.
fn of_a_file(event: &Event) -> bool {
    event.running.is_some_and(|call| call != SCRIPT) && outside_of_the_store(event)
}

/// One kill that is wanted.
struct Visit {
    named: &'static Named,
    number: u64,
}

impl fmt::Display for Visit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}, visit {}", self.named.name, self.number)
    }
}

/// Numbers that look random and are the same in every run (SplitMix64).
pub(crate) struct Choice(u64);

impl Choice {
    pub(crate) fn new(name: &str, visit: u64, attempt: u64) -> Self {
        Self((name.len() as u64) << 40 | visit << 8 | attempt)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }

    pub(crate) fn below_length(&mut self, length: usize) -> usize {
        let length = u64::try_from(length).expect("a length is an u64");
        usize::try_from(self.below(length)).expect("it is below a length")
    }

    pub(crate) fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below_length(list.len())]
    }
}

/// Turns that nobody killed, by the way in which the model is asked.
struct Wholes([(Dialect, Whole); 2]);

impl Wholes {
    fn new() -> Self {
        Self([Dialect::Chat, Dialect::Messages].map(|dialect| (dialect, Whole::new(dialect))))
    }

    /// Kills a run, and judges the one that goes on; until a kill came to its point.
    fn visit(&self, visit: &Visit) -> bool {
        let (dialect, whole) = &self.0[usize::from(visit.number % 2 == 1)];
        (0..TRIES).any(|attempt| {
            let mut choice = Choice::new(visit.named.name, visit.number, attempt);
            match visit.named.way {
                Way::At(holds) => {
                    let mut turn = Turn::new(*dialect);
                    let killed = kill_at(&mut turn, holds, whole, &mut choice);
                    whole.judge(&turn);
                    killed
                }
                Way::Silence => kill_in_a_reply(*dialect, whole, &mut choice),
                Way::Again => kill_again(*dialect, whole, &mut choice),
            }
        })
    }
}

/// Kills a turn at one of the passings for which `holds` holds.
fn kill_at(turn: &mut Turn, holds: fn(&Event) -> bool, whole: &Whole, choice: &mut Choice) -> bool {
    let passings = whole.events.iter().filter(|event| holds(event)).count();
    let mut left = choice.below_length(passings);
    let ended = turn.watched(false, |event| {
        if !holds(&event) {
            return false;
        }
        let is_it = left == 0;
        left = left.saturating_sub(1);
        is_it
    });
    ended == Ended::Killed
}

fn kill_in_a_reply(dialect: Dialect, whole: &Whole, choice: &mut Choice) -> bool {
    let (results, length) = choice.of(&lengths(dialect));
    let bytes = choice.below_length(length);
    let mut turn = Turn::silent(dialect, Some(Silence { results, bytes }));
    let mut command = turn.command(false);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("rtc-headless starts");
    let start = Instant::now();
    while !turn.server.is_read_up_to_a_stall() {
        let ended = child.try_wait().expect("it is ours");
        assert!(ended.is_none(), "it ended before the model was silent: {ended:?}");
        assert!(start.elapsed() < BOUND, "it is stuck before the model was silent");
        std::thread::yield_now();
    }
    child.kill().expect("it is ours");
    let status = child.wait().expect("it is ours");
    assert_none_left_by(child.id());
    let killed = status.code().is_none();
    if killed {
        turn.was_killed();
    }
    whole.judge(&turn);
    killed
}

/// Kills a turn, and then the run that goes on before it asks the model.
fn kill_again(dialect: Dialect, whole: &Whole, choice: &mut Choice) -> bool {
    let first = choice.of(&[2, 3, 4, 5, 7, 8]);
    let Way::At(holds) = NAMED[first].way else {
        panic!("{} is no first point", NAMED[first].name)
    };
    let mut turn = Turn::new(dialect);
    kill_at(&mut turn, holds, whole, choice);
    let mut left = choice.below(STEPS_OF_RECOVERY);
    let ended = turn.watched(true, |event| {
        if event.asked || !is_certain(&event) {
            return false;
        }
        let is_it = left == 0;
        left = left.saturating_sub(1);
        is_it
    });
    whole.judge(&turn);
    ended == Ended::Killed
}

#[test]
fn each_named_point_is_hit_as_often_as_promised_and_nothing_is_lost_or_done_twice() {
    if !can_trace() {
        return;
    }
    let wholes = Wholes::new();
    let wanted = match rounds() {
        None => SAMPLED,
        Some(rounds) => VISITS.max(A_ROUND * rounds),
    };
    let visits: Vec<Visit> = (0..wanted as u64)
        .flat_map(|number| NAMED.iter().map(move |named| Visit { named, number }))
        .collect();
    let tally = run_all("killed at named points", &visits, |visit| {
        wholes.visit(visit).then(|| visit.named.name.to_owned())
    });
    tally.report();
    let counts: BTreeMap<&str, usize> = NAMED
        .iter()
        .map(|named| {
            (
                named.name,
                tally.kills.get(named.name).copied().unwrap_or_default(),
            )
        })
        .collect();
    assert!(counts.values().all(|count| *count >= wanted), "{counts:?}");
}

/// The points are what their names say: each is passed where the turn has it, and by no other call.
#[test]
fn a_turn_passes_the_named_points() {
    if !can_trace() {
        return;
    }
    let whole = Whole::new(Dialect::Chat);
    let mut told = Vec::new();
    for named in NAMED {
        if let Way::At(holds) = named.way {
            let passed: Vec<&Event> = whole.events.iter().filter(|event| holds(event)).collect();
            let of = |moment| passed.iter().filter(|event| event.point.moment == moment).count();
            told.push(format!(
                "{:3} before, {:3} after: {}",
                of(Moment::Before),
                of(Moment::After),
                named.name
            ));
        }
    }
    insta::assert_snapshot!(told.join("\n"), @r"
     19 before,   0 after: before a commit
      0 before,  19 after: after a commit
      4 before,   4 after: at the mark of a call that begins
      4 before,   4 after: at the outcome of a call
     37 before,  34 after: in the write of a file
      6 before,   9 after: after the rename, before the outcome
     60 before,  60 after: in a script
      2 before,   4 after: between result and next request
    ");
}
