//! Kills at every passing of every change on the disk, once and twice.

use rtc_tests::Ended;

use crate::can_trace;
use crate::point::{Counts, Kind, Point};
use crate::reference::{Reference, first, further, watched, workplace};
use crate::tally::{VISITS, rounds, run_all};

/// Commits until a session's first message is acknowledged: the project, and the message.
const COMMITS_UNTIL_SENT: usize = 2;

/// In a sample: how often each point is visited, spread over a run.
const SAMPLED: usize = 3;

/// Where to kill: at the n-th passing of a point.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub(crate) point: Point,
    pub(crate) nth: usize,
}

impl std::fmt::Display for Case {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}, the {}. time", self.point, self.nth)
    }
}

/// The cases of a run with these counts: each of `counts`, or `most` of each point, the first and the last among
/// them.
pub(crate) fn cases(counts: &Counts, most: Option<usize>) -> Vec<Case> {
    let mut cases = Vec::new();
    for (&point, &count) in counts {
        let most = most.unwrap_or(count).min(count);
        for index in 0..most {
            let nth = if most == 1 {
                1
            } else {
                1 + index * (count - 1) / (most - 1)
            };
            cases.push(Case { point, nth });
        }
    }
    cases
}

#[test]
fn after_a_kill_the_next_run_ends_as_if_there_had_been_none() {
    if !can_trace() {
        return;
    }
    let reference = Reference::new();
    let chosen = match rounds() {
        None => cases(&reference.counts, Some(SAMPLED)),
        Some(rounds) => cases(&reference.counts, None)
            .into_iter()
            .flat_map(|case| {
                let visits = rounds.max(VISITS.div_ceil(reference.counts[&case.point]));
                std::iter::repeat_n(case, visits)
            })
            .collect(),
    };
    let tally = run_all("killed once", &chosen, |case| {
        let place = workplace();
        let (ended, counts) = watched(&place, &first(&place), |point, count| {
            point == case.point && count == case.nth
        });
        reference.judge(&place, is_sent(&counts));
        (ended == Ended::Killed).then(|| case.point.to_string())
    });
    // What sled writes in the background differs from run to run.
    let certain = chosen.iter().filter(|case| case.point.kind != Kind::Log).count();
    assert!(
        tally.all() >= certain,
        "kills that did not happen: {}",
        tally.missed
    );
    tally.report();
}

fn is_sent(counts: &Counts) -> bool {
    counts
        .get(&Point::after(Kind::Commit))
        .copied()
        .unwrap_or_default()
        >= COMMITS_UNTIL_SENT
}

/// A kill, and another one of the run that goes on.
struct Pair(Case, Case);

impl std::fmt::Display for Pair {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}; then {}", self.0, self.1)
    }
}

#[test]
fn a_kill_while_it_recovers_from_a_kill_changes_nothing_either() {
    if !can_trace() {
        return;
    }
    let reference = Reference::new();
    let seconds: Vec<Case> = [
        Kind::Opening,
        Kind::Commit,
        Kind::Temporary,
        Kind::Place,
        Kind::Removal,
        Kind::FolderSync,
    ]
    .into_iter()
    .flat_map(|kind| [Point::before(kind), Point::after(kind)])
    .flat_map(|point| (1..=2).map(move |nth| Case { point, nth }))
    .collect();
    let firsts = cases(
        &reference.counts,
        Some(if rounds().is_some() { SAMPLED } else { 1 }),
    );
    let mut pairs: Vec<Pair> = Vec::new();
    match rounds() {
        Some(_) => pairs.extend(
            firsts
                .iter()
                .flat_map(|one| seconds.iter().map(|two| Pair(*one, *two))),
        ),
        // Each of both lists, in pairs that differ.
        None => pairs.extend(
            firsts
                .iter()
                .zip(seconds.iter().cycle())
                .map(|(one, two)| Pair(*one, *two)),
        ),
    }
    let tally = run_all("killed twice", &pairs, |Pair(one, two)| {
        let place = workplace();
        let (_, counts) = watched(&place, &first(&place), |point, count| {
            point == one.point && count == one.nth
        });
        let (ended, _) = watched(&place, &further(&place), |point, count| {
            point == two.point && count == two.nth
        });
        reference.judge(&place, is_sent(&counts));
        (ended == Ended::Killed).then(|| two.point.to_string())
    });
    assert!(tally.all() * 2 > pairs.len(), "most pairs have a second kill");
    tally.report();
}
