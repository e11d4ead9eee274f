//! Runs cases several at a time, and counts what came of them.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

use crate::journal::Journal;

/// How many cases run at a time.
const AT_A_TIME: usize = 2;

/// Held by each case while it runs, and alone by what counts steps that a slow run has more of.
pub(crate) static BUSY: RwLock<()> = RwLock::new(());

/// In a full run: how often each point is visited at least.
pub(crate) const VISITS: usize = 50;

/// How often every passing of every point is to be visited, and each point at least [`VISITS`] times; `None`: only a
/// sample is.
pub(crate) fn rounds() -> Option<usize> {
    let rounds = std::env::var("RTC_CRASH_ROUNDS").ok()?;
    Some(rounds.parse().expect("RTC_CRASH_ROUNDS is a number"))
}

/// What came of cases.
pub(crate) struct Tally {
    title: &'static str,
    /// Kills by point.
    pub(crate) kills: BTreeMap<String, usize>,
    /// Cases whose run ended before it came to the point.
    pub(crate) missed: usize,
    failures: Vec<String>,
}

/// Runs cases, several at a time; those that an earlier run has done are only counted. `run` gives the point of the
/// (last) kill, if it came to one.
pub(crate) fn run_all<C: std::fmt::Display + Sync>(
    title: &'static str,
    cases: &[C],
    run: impl Fn(&C) -> Option<String> + Sync,
) -> Tally {
    let mut tally = Tally {
        title,
        kills: BTreeMap::new(),
        missed: 0,
        failures: Vec::new(),
    };
    let mut journal = Journal::open(title);
    let mut left = Vec::new();
    for case in cases {
        match journal.take(&case.to_string()) {
            Some(point) => tally.count(point),
            None => left.push(case),
        }
    }
    let (next, tally) = (AtomicUsize::new(0), Mutex::new(tally));
    let work = || {
        while let Some(&case) = left.get(next.fetch_add(1, Ordering::Relaxed)) {
            let _busy = BUSY.read().unwrap_or_else(PoisonError::into_inner);
            let outcome = catch_unwind(AssertUnwindSafe(|| run(case)));
            let mut tally = tally.lock().expect("no case panics with it");
            match outcome {
                Ok(point) => {
                    journal.note(&case.to_string(), point.as_deref());
                    tally.count(point);
                }
                Err(panic) => {
                    let why = panic.downcast_ref::<String>().cloned();
                    tally
                        .failures
                        .push(format!("{case}: {}", why.unwrap_or_default()));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(work);
        }
    });
    tally.into_inner().expect("no case panics with it")
}

impl Tally {
    fn count(&mut self, point: Option<String>) {
        match point {
            Some(point) => *self.kills.entry(point).or_default() += 1,
            None => self.missed += 1,
        }
    }

    /// How many kills there were.
    pub(crate) fn all(&self) -> usize {
        self.kills.values().sum()
    }

    /// Prints the counts, and fails if a case did. `cargo xtask crash` reads them.
    pub(crate) fn report(&self) {
        // At once: other tests print at the same time.
        let mut told = format!("{}: {} kills\n", self.title, self.all());
        for (point, count) in &self.kills {
            told.push_str(&format!("{count:6}  {point}\n"));
        }
        println!("{told}{:6}  the run ended before", self.missed);
        let failures = &self.failures;
        assert!(
            failures.is_empty(),
            "{} failures:\n{}",
            failures.len(),
            failures.join("\n")
        );
    }
}
