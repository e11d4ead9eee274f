//! `engine`: what grows with history, how many commits there are room for, and a durable step beside other engines.

mod commits;
mod growth;
mod life;
mod peers;
mod space;
mod starts;
mod steps;

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::Folders;
use super::figure::{Figure, percentile};
pub(crate) use peers::Peers;

/// How much is done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Turns in each store of a history.
    pub(crate) turns: usize,
    /// Calls of a turn.
    pub(crate) calls: usize,
    /// Messages that a session has already.
    pub(crate) messages: [usize; 3],
    /// Sessions that a store has already.
    pub(crate) sessions: [usize; 2],
    /// Starts of each kind.
    pub(crate) starts: usize,
    /// Sessions of the large history, each with a hundred calls.
    pub(crate) large: usize,
    /// The same of the store that is damaged.
    pub(crate) damaged: usize,
    /// Rounds of commits.
    pub(crate) rounds: usize,
    /// How long each kind of commit is made in a round.
    pub(crate) time: Duration,
    /// Workflows of each engine.
    pub(crate) workflows: usize,
    /// Steps of each.
    pub(crate) steps: usize,
    /// Calls of the store whose space is measured.
    pub(crate) stored: usize,
}

impl Effort {
    /// That of a benchmark.
    pub(crate) const WHOLE: Self = Self {
        turns: 4,
        calls: 30,
        messages: [100, 1_000, 5_000],
        sessions: [100, 1_000],
        starts: 15,
        large: 320,
        damaged: 27,
        rounds: 5,
        time: Duration::from_millis(500),
        workflows: 15,
        steps: 100,
        stored: 100_000,
    };
}

/// What is done, in one line.
pub(crate) fn inputs(effort: Effort) -> String {
    let Effort {
        turns,
        calls,
        messages,
        sessions,
        starts,
        large,
        damaged,
        rounds,
        time,
        workflows,
        steps,
        stored,
    } = effort;
    format!(
        "{turns} turns of {calls} reads after {messages:?} messages and beside {sessions:?} sessions; {starts} starts of each \
         kind, the large history of {large} sessions with 100 results of 16 KiB, the damaged \
         store of {damaged} such; {rounds} rounds of {time:?} of commits; \
         {workflows} workflows of {steps} steps; {stored} calls for space"
    )
}

/// Runs it all.
pub(crate) fn measure(
    binary: &Path,
    folders: &Folders,
    peers: &Peers,
    effort: Effort,
) -> Result<Vec<Figure>> {
    let mut figures = growth::measure(binary, folders, effort)?;
    figures.extend(starts::measure(binary, folders, effort)?);
    figures.extend(commits::measure(folders, effort)?);
    figures.extend(steps::measure(folders, peers, effort)?);
    figures.extend(space::measure(folders, effort)?);
    Ok(figures)
}

fn median(samples: &[f64]) -> f64 {
    percentile(samples, 50).unwrap_or(f64::NAN)
}
