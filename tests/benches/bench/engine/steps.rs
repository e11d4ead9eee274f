//! A durable step: from a request to the model to the next one, its result durable in between, beside a step of other
//! engines, in turns.

use anyhow::Result;
use rtc_types::SessionId;
use uuid::Uuid;

use super::life::{self, Turn};
use super::peers::{Peer, Peers};
use super::{Effort, median};
use crate::bench::Folders;
use crate::bench::call::milliseconds;
use crate::bench::figure::{Figure, Measured, Unit};

/// A result of nothing much, as those of the others.
const BYTES: usize = 16;

/// Commits of a step of ours: the reply with its call, and the result. A step of the others is one.
const COMMITS: f64 = 2.0;

/// An engine beside ours, and what its steps took.
struct Beside {
    /// Why there is none.
    peer: Result<Peer, String>,
    took: Vec<f64>,
}

impl Beside {
    fn new(peer: Result<Peer>) -> Self {
        Self {
            peer: peer.map_err(|error| format!("{error:#}")),
            took: Vec::new(),
        }
    }

    fn run(&mut self, steps: usize) {
        if let Ok(peer) = &mut self.peer {
            match peer.steps(steps) {
                Ok(took) => self.took.push(took * 1e3),
                Err(error) => self.peer = Err(format!("{error:#}")),
            }
        }
    }

    /// Its row, and ours by it: a step, and one of the two commits of a step.
    fn figures(self, row: [&'static str; 2], ratios: [[&'static str; 2]; 2], ours: &[f64]) -> Vec<Figure> {
        let [name, what] = row;
        let not = |name, what, unit, why: &String| Figure {
            name,
            what,
            unit,
            measured: Measured::Not(why.clone()),
        };
        match self.peer {
            Ok(_) => {
                let by = median(ours) / median(&self.took);
                let ratios = ratios.into_iter().zip([by, by / COMMITS]);
                let ratios = ratios.map(|([name, what], by)| Figure::one(name, what, Unit::Count, by));
                let row = Figure::samples(name, what, Unit::Microseconds, self.took);
                std::iter::once(row).chain(ratios).collect()
            }
            Err(why) => {
                let ratios = ratios.map(|[name, what]| not(name, what, Unit::Count, &why));
                let row = not(name, what, Unit::Microseconds, &why);
                std::iter::once(row).chain(ratios).collect()
            }
        }
    }
}

/// Workflows of each, in memory and in turns. The first of each does not count.
pub(super) fn measure(folders: &Folders, peers: &Peers, effort: Effort) -> Result<Vec<Figure>> {
    let folder = tempfile::tempdir_in(&folders.memory)?;
    let made = |name| {
        let made = folder.path().join(name);
        std::fs::create_dir(&made).map(|()| made)
    };
    let (ours, of_restate, of_dbos) = (made("ours")?, made("restate")?, made("dbos")?);
    let installed = || peers.clone().map_err(anyhow::Error::msg);
    let mut restate = Beside::new(installed().and_then(|peers| Peer::restate(&peers, &of_restate)));
    let mut dbos = Beside::new(installed().and_then(|peers| Peer::dbos(&peers, &of_dbos)));
    let turn = Turn {
        replies: effort.steps,
        calls: 1,
        bytes: BYTES,
    };
    let took = life::live(&ours, async |life| {
        let mut took = Vec::new();
        for workflow in 0..=effort.workflows {
            let asked = life.turn(SessionId::new(Uuid::now_v7()), None, turn).await?;
            let whole = asked[effort.steps].duration_since(asked[0]);
            if workflow > 0 {
                took.push(milliseconds(whole) * 1e3 / effort.steps as f64);
            }
            for beside in [&mut restate, &mut dbos] {
                beside.run(effort.steps);
            }
            if workflow == 0 {
                restate.took.clear();
                dbos.took.clear();
            }
        }
        Ok(took)
    })?;
    let of_restate = restate.figures(
        ["step_restate", "a step of Restate"],
        [
            ["step_by_restate", "ours by that of Restate, of the medians"],
            ["commit_by_restate", "one of our two commits by it"],
        ],
        &took,
    );
    let of_dbos = dbos.figures(
        ["step_dbos", "a step of DBOS on SQLite"],
        [
            ["step_by_dbos", "ours by that of DBOS, of the medians"],
            ["commit_by_dbos", "one of our two commits by it"],
        ],
        &took,
    );
    let what = "durable step: request of the model → its call's result durable → next request, in memory";
    let mut figures = vec![Figure::samples("step", what, Unit::Microseconds, took)];
    figures.extend(of_restate);
    figures.extend(of_dbos);
    Ok(figures)
}
