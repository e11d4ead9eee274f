//! `script`: what a script costs.
//!
//! Measured through whole turns, because that is what a user waits for: from the end of the reply that calls the
//! script to the next request, commits and effect mark included. A plain read in the same turn is the part of it that
//! is not the script's.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use rtc_tests::model_server::Answer;
use serde_json::json;

use super::Folders;
use super::call::milliseconds;
use super::desk::{Desk, Request, tree_memory};
use super::figure::{Figure, Unit, percentile};

/// How much is done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Turns, each in a process of its own.
    pub(crate) turns: usize,
    /// How often the calls of a turn are repeated.
    pub(crate) rounds: usize,
}

impl Effort {
    /// That of a benchmark.
    pub(crate) const WHOLE: Self = Self { turns: 20, rounds: 5 };
}

/// How long the model thinks before it answers: any real one takes longer. Meanwhile the worker makes itself ready.
const THOUGHT: Duration = Duration::from_millis(50);
/// Reads of the script that reads.
const READS: usize = 200;
/// The time of the script that does not end.
const DEADLINE: Duration = Duration::from_millis(100);

/// A call of the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The first script.
    Cold,
    /// A plain read.
    Read,
    /// A script after the model has thought.
    Warm,
    /// A script at once after another.
    AtOnce,
    /// A script that reads.
    Reading,
    /// A script that does not end.
    Endless,
}

impl Step {
    fn answer(self, number: usize) -> Answer {
        let reading = format!(
            "let bytes = 0; for (let n = 0; n < {READS}; n++) bytes += (await rtcAgent.fs.read('/file.txt')).length; bytes"
        );
        let (code, timeout) = match self {
            Self::Read => {
                return Answer::reply().call(&format!("call_{number}"), "read", r#"{"path":"/file.txt"}"#);
            }
            Self::Cold | Self::Warm | Self::AtOnce => ("1 + 1", None),
            Self::Reading => (reading.as_str(), None),
            Self::Endless => ("for (;;);", Some(DEADLINE.as_millis())),
        };
        let mut arguments = json!({"title": "measured", "code": code});
        if let Some(timeout) = timeout {
            arguments["timeout"] = json!(u64::try_from(timeout).unwrap_or(u64::MAX));
        }
        Answer::reply().call(&format!("call_{number}"), "script", &arguments.to_string())
    }

    fn thought(self) -> Duration {
        match self {
            Self::AtOnce => Duration::ZERO,
            _ => THOUGHT,
        }
    }
}

/// The calls of a turn: the endless script is last, since its worker may have to be killed.
fn steps(effort: Effort) -> Vec<Step> {
    let mut steps = vec![Step::Cold];
    for _ in 0..effort.rounds {
        steps.extend([Step::Read, Step::Warm, Step::AtOnce, Step::Reading]);
    }
    steps.push(Step::Endless);
    steps
}

/// What is done, in one line.
pub(crate) fn inputs(effort: Effort) -> String {
    let Effort { turns, rounds } = effort;
    format!(
        "{turns} turns with {rounds} scripts of each kind (`1 + 1`; {READS} reads of a file of 2 kB), in memory, a process \
         and an empty store each; the model thinks {} ms before each reply unless it says \"at once\"",
        THOUGHT.as_millis()
    )
}

/// Runs it all.
pub(crate) fn measure(binary: &Path, folders: &Folders, effort: Effort) -> Result<Vec<Figure>> {
    let steps = steps(effort);
    let mut took: Vec<(Step, f64)> = Vec::new();
    let resident = Arc::new(Mutex::new(Vec::new()));
    for _ in 0..effort.turns {
        let mut answers: Vec<Answer> = steps.iter().zip(0..).map(|(step, n)| step.answer(n)).collect();
        answers.push(Answer::text("Done."));
        let (kept, before_steps) = (resident.clone(), steps.clone());
        let before = move |request: Request<'_>| {
            if let Some(step) = before_steps.get(request.number) {
                std::thread::sleep(step.thought());
                // All scripts have run, and their worker is there.
                if *step == Step::Endless
                    && let Ok(bytes) = tree_memory(request.process)
                {
                    kept.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(bytes as f64 / 1e6);
                }
            }
        };
        let content = "a line of a file that a script reads\n".repeat(54);
        let files = [("file.txt".to_owned(), content)];
        let turn = Desk::new(binary, &folders.memory, &files, answers, before)?.turn(1)?;
        let pauses = turn.pauses.into_iter().map(milliseconds);
        took.extend(steps.iter().copied().zip(pauses));
    }
    let of = |wanted: Step| -> Vec<f64> {
        let those = took.iter().filter(|(step, _)| *step == wanted);
        those.map(|(_, took)| *took).collect()
    };
    // Each warm script follows a plain read of its own.
    let warm_own = of(Step::Warm)
        .iter()
        .zip(of(Step::Read))
        .map(|(warm, read)| warm - read)
        .collect();
    let warm = percentile(&of(Step::Warm), 50).unwrap_or_default();
    let read_in_script = of(Step::Reading)
        .iter()
        .map(|took| (took - warm) * 1e3 / READS as f64)
        .collect();
    let late = of(Step::Endless)
        .iter()
        .map(|took| took - milliseconds(DEADLINE))
        .collect();
    let resident = resident.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let figure = |name, what, samples| Figure::samples(name, what, Unit::Milliseconds, samples);
    Ok(vec![
        figure(
            "cold",
            "first script, worker start included: end of reply → next request",
            of(Step::Cold),
        ),
        figure("warm", "next scripts: the same", of(Step::Warm)),
        figure(
            "warm_own",
            "next scripts: the same, less the plain read before",
            warm_own,
        ),
        figure(
            "warm_at_once",
            "script at once after a script: the same",
            of(Step::AtOnce),
        ),
        figure("read", "plain read in between: the same", of(Step::Read)),
        Figure::samples(
            "read_in_script",
            "read call within a script",
            Unit::Microseconds,
            read_in_script,
        ),
        figure("deadline", "endless script: its deadline → next request", late),
        Figure::samples(
            "memory",
            "memory of the process tree (PSS), warm worker included",
            Unit::Megabytes,
            resident,
        ),
    ])
}
