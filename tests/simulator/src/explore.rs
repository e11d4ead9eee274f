//! Kills a scenario at every effect.

use std::fmt;
use std::sync::Arc;

use fastrand::Rng;

use crate::points::{Point, Wanted};
use crate::run::{Ended, run};
use crate::{Sabotage, Scenario, judge};

/// One run in so many is killed a second time …
const KILLED_AGAIN: u32 = 4;
/// … at so many of its effects.
const SECOND_KILLS: usize = 2;

/// Of the runs after a kill of a scenario with clients one in so many has them; the others are the user's.
const FOLLOWED: u32 = 8;

/// What went wrong, and where.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The scenario.
    pub scenario: Scenario,
    /// The effects after which the product was killed, in order; none: the run that nobody killed.
    pub killed_after: Vec<String>,
    /// What went wrong.
    pub what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}: {}", self.scenario.seed, self.what)?;
        writeln!(f, "killed after {:?}", self.killed_after)?;
        write!(f, "{:#?}", self.scenario)
    }
}

/// The effects of a scenario that nobody kills, in order.
pub fn effects(scenario: &Scenario) -> Result<Vec<String>, String> {
    let ended = run(
        &Arc::new(scenario.clone()),
        None,
        Wanted::Everything,
        true,
        Sabotage::None,
    )?;
    Ok(ended.points.into_iter().map(|point| point.after).collect())
}

/// Runs the scenario, then starts it again on the image of the world after each effect. Gives the number of these
/// points; each was run to its end and judged.
pub fn explore(scenario: &Scenario, sabotage: Sabotage) -> Result<u64, Box<Failure>> {
    let scenario = Arc::new(scenario.clone());
    let failed = |killed_after: &[&Point], what: String| {
        Box::new(Failure {
            scenario: (*scenario).clone(),
            killed_after: killed_after.iter().map(|point| point.after.clone()).collect(),
            what,
        })
    };
    let reference = run(&scenario, None, Wanted::Everything, true, sabotage)
        .and_then(|ended| judge::sound(&scenario, &ended).map(|()| ended))
        .map_err(|what| failed(&[], what))?;
    let calm = scenario
        .is_calm()
        .then(|| judge::Reference::checked(&scenario, &reference))
        .transpose()
        .map_err(|what| failed(&[], what))?;
    let judged = |ended: Ended| -> Result<Ended, String> {
        judge::sound(&scenario, &ended)?;
        if let Some(calm) = &calm {
            calm.check(&ended)?;
        }
        Ok(ended)
    };
    let mut rng = Rng::with_seed(scenario.seed);
    let mut points = 0;
    for point in &reference.points {
        let again = match rng.u32(..KILLED_AGAIN) {
            0 => Wanted::Some(SECOND_KILLS, rng.u64(..)),
            _ => Wanted::Nothing,
        };
        let is_followed = rng.u32(..FOLLOWED) == 0;
        let second = run(&scenario, Some(point), again, is_followed, sabotage)
            .and_then(judged)
            .map_err(|what| failed(&[point], what))?;
        points += 1;
        for other in &second.points {
            let is_followed = rng.u32(..FOLLOWED) == 0;
            run(&scenario, Some(other), Wanted::Nothing, is_followed, sabotage)
                .and_then(judged)
                .map_err(|what| failed(&[point, other], what))?;
            points += 1;
        }
    }
    Ok(points)
}
