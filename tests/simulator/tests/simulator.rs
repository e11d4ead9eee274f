//! A million kills, and faults made on purpose that they find.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]
#![allow(clippy::disallowed_macros, reason = "a test tells how much it did")]

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use rtc_simulator::{Failure, Sabotage, Scenario, SessionPlan, effects, explore, shrink};

/// A fifth of the time would go into the system's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many points are run, unless `RTC_SIM_POINTS` says otherwise.
const POINTS: u64 = 1_000_000;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is a number, not {text}")),
    )
}

/// From the first seed on until there are so many points, on all processors. Gives points and scenarios.
fn explore_many(first: u64, points: u64) -> Result<(u64, u64), Box<Failure>> {
    let (seed, done) = (AtomicU64::new(first), AtomicU64::new(0));
    let failure: Mutex<Option<Box<Failure>>> = Mutex::new(None);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while done.load(Ordering::Relaxed) < points && failure.lock().unwrap().is_none() {
                    let scenario = Scenario::of_seed(seed.fetch_add(1, Ordering::Relaxed));
                    match explore(&scenario, Sabotage::None) {
                        Ok(count) => _ = done.fetch_add(count, Ordering::Relaxed),
                        Err(found) => _ = failure.lock().unwrap().get_or_insert(found),
                    }
                }
            });
        }
    });
    match failure.into_inner().unwrap() {
        Some(failure) => Err(failure),
        None => Ok((done.into_inner(), seed.into_inner() - first)),
    }
}

/// `RTC_SIM_SEED` runs one scenario, `RTC_SIM_FIRST` begins with another seed than 0.
#[test]
fn whatever_is_killed_wherever_ends_as_if_nothing_had_happened() {
    let start = std::time::Instant::now();
    let found = match number("RTC_SIM_SEED") {
        Some(seed) => explore(&Scenario::of_seed(seed), Sabotage::None).map(|points| (points, 1)),
        None => explore_many(
            number("RTC_SIM_FIRST").unwrap_or(0),
            number("RTC_SIM_POINTS").unwrap_or(POINTS),
        ),
    };
    match found {
        Ok((points, scenarios)) => {
            println!(
                "{points} points of {scenarios} scenarios in {:.1?}",
                start.elapsed()
            );
        }
        Err(failure) => {
            let seed = failure.scenario.seed;
            let small = shrink(failure.clone(), Sabotage::None);
            panic!(
                "{failure}\n\nmade smaller: {small}\n\nagain: RTC_SIM_SEED={seed} cargo test -p rtc-simulator"
            );
        }
    }
}

/// The first scenario that shows the fault, made smaller.
fn found(sabotage: Sabotage) -> Box<Failure> {
    let failure = (0..1_000)
        .find_map(|seed| explore(&Scenario::of_seed(seed), sabotage).err())
        .expect("the fault is found");
    shrink(failure, sabotage)
}

fn size(scenario: &Scenario) -> (usize, usize) {
    let messages = scenario.sessions.iter().flat_map(|session| &session.messages);
    let calls = messages
        .flat_map(|message| &message.rounds)
        .flat_map(|round| &round.calls);
    (scenario.sessions.len(), calls.count())
}

#[test]
fn a_change_that_is_made_twice_is_found() {
    let failure = found(Sabotage::RecoverLies);
    assert!(failure.what.contains("took effect 2 times"), "{failure}");
    assert_eq!(size(&failure.scenario), (1, 1), "{failure}");
}

#[test]
fn a_script_that_runs_again_by_itself_is_found() {
    let failure = found(Sabotage::ScriptsRunAgain);
    assert!(failure.what.contains("took effect 2 times"), "{failure}");
    assert_eq!(size(&failure.scenario), (1, 1), "{failure}");
}

#[test]
fn a_call_that_nobody_takes_up_again_is_found() {
    let failure = found(Sabotage::NeverWakes);
    assert!(failure.what.contains("it does not go on"), "{failure}");
    assert_eq!(size(&failure.scenario), (1, 1), "{failure}");
}

#[test]
fn an_effect_without_a_yes_is_found() {
    let failure = found(Sabotage::MishearsTheUser);
    assert!(failure.what.contains("without a Yes"), "{failure}");
    assert_eq!(size(&failure.scenario), (1, 1), "{failure}");
}

#[test]
fn a_result_that_the_model_is_not_sent_is_found() {
    let failure = found(Sabotage::LosesResults);
    assert!(failure.what.contains("no result for"), "{failure}");
    assert_eq!(size(&failure.scenario), (1, 1), "{failure}");
}

#[test]
fn a_stop_that_is_missed_is_found() {
    let failure = found(Sabotage::MissesStops);
    assert!(
        failure.what.contains("was stopped, and the model is asked"),
        "{failure}"
    );
    assert_eq!(size(&failure.scenario), (1, 1), "{failure}");
}

#[test]
fn a_message_that_the_model_is_not_sent_is_found() {
    let failure = found(Sabotage::HidesWhatWasSaid);
    assert!(failure.what.contains("the model has read Some([])"), "{failure}");
    assert_eq!(size(&failure.scenario), (1, 0), "{failure}");
}

#[test]
fn a_request_that_says_otherwise_what_was_sent_before_is_found() {
    let failure = found(Sabotage::RewritesThePast);
    assert!(failure.what.contains("changes what was sent before"), "{failure}");
}

#[test]
fn a_record_that_changes_when_it_is_over_is_found() {
    let failure = found(Sabotage::ReopensWhatIsOver);
    assert!(failure.what.contains("has changed"), "{failure}");
    assert_eq!(size(&failure.scenario), (1, 0), "{failure}");
}

/// The same with a client, which is what is left of it.
fn found_by_a_client(sabotage: Sabotage) -> String {
    let failure = found(sabotage);
    assert_eq!(failure.scenario.clients.len(), 1, "{failure}");
    assert!(size(&failure.scenario).1 <= 2, "{failure}");
    failure.what
}

/// How it shows that an update is missing: by the next one, or at the end.
const SKIPPED: [&str; 2] = ["the connection tells of update", "do not come to it"];

#[test]
fn an_update_that_a_connection_skips_is_found() {
    let what = found_by_a_client(Sabotage::SkipsUpdates);
    assert!(SKIPPED.iter().any(|seen| what.contains(seen)), "{what}");
}

#[test]
fn a_cursor_that_runs_ahead_of_what_is_kept_is_found() {
    let what = found_by_a_client(Sabotage::CursorRunsAhead);
    assert!(what.contains("client 0 has"), "{what}");
}

#[test]
fn a_recovery_that_is_not_whole_is_found() {
    let what = found_by_a_client(Sabotage::RecoversAPart);
    assert!(SKIPPED.iter().any(|seen| what.contains(seen)), "{what}");
}

#[test]
fn a_call_that_is_shown_to_whoever_shows_no_approvals_is_found() {
    let what = found_by_a_client(Sabotage::ShowsEverything);
    assert!(what.contains("a call that waits for a Yes"), "{what}");
}

#[test]
fn text_that_comes_late_is_found() {
    let what = found_by_a_client(Sabotage::TellsLate);
    assert!(what.contains("is told live, and it is whole"), "{what}");
}

#[test]
fn a_message_that_is_sent_anew_under_another_id_is_found() {
    let what = found_by_a_client(Sabotage::SendsAnew);
    let seen = ["the user said", "sessions, not", "cleared"];
    assert!(seen.iter().any(|seen| what.contains(seen)), "{what}");
}

#[test]
fn files_that_everybody_changes_at_once_are_found() {
    let failure = found(Sabotage::TakesNoTurns);
    let seen = ["at a time", "somebody came between", "somebody else wrote"];
    assert!(seen.iter().any(|seen| failure.what.contains(seen)), "{failure}");
    let (sessions, calls) = size(&failure.scenario);
    assert!(sessions <= 2 && calls <= 2, "{failure}");
}

#[test]
fn a_copy_that_is_made_once_more_is_found() {
    let failure = found(Sabotage::CopiesAgain);
    assert!(failure.what.contains("there are 3 sessions, not 2"), "{failure}");
    assert_eq!(size(&failure.scenario), (2, 0), "{failure}");
}

#[test]
fn a_call_that_runs_again_in_a_copy_is_found() {
    let failure = found(Sabotage::CopiesRunCalls);
    let seen = ["took effect 2 times", "a call of the session that was copied"];
    assert!(seen.iter().any(|seen| failure.what.contains(seen)), "{failure}");
    assert_eq!(size(&failure.scenario), (2, 1), "{failure}");
}

#[test]
fn a_copy_of_which_the_model_reads_a_part_is_found() {
    let failure = found(Sabotage::CopiesAPart);
    assert!(
        failure.what.contains("in the copy the model does not read"),
        "{failure}"
    );
    assert_eq!(size(&failure.scenario), (2, 0), "{failure}");
}

#[test]
fn a_commit_that_failed_and_is_taken_for_done_is_found() {
    let failure = found(Sabotage::TakesFailedForDone);
    assert!(size(&failure.scenario).1 <= 1, "{failure}");
}

#[test]
fn what_cannot_be_read_and_is_taken_for_nothing_is_found() {
    let failure = found(Sabotage::TakesUnreadForNothing);
    assert!(size(&failure.scenario).1 <= 1, "{failure}");
}

#[test]
fn a_history_that_is_not_cleared_is_found() {
    let failure = found(Sabotage::ForgetsToClear);
    assert!(
        failure
            .what
            .contains("was cleared, and the model reads message 0"),
        "{failure}"
    );
    assert!(size(&failure.scenario).1 <= 1, "{failure}");
}

#[test]
fn what_is_given_up_because_the_user_takes_days_is_found() {
    let failure = found(Sabotage::GivesUp);
    assert!(failure.what.contains("and not by the user"), "{failure}");
    assert_eq!(size(&failure.scenario), (1, 1), "{failure}");
}

#[test]
fn a_call_that_two_run_is_found() {
    let failure = found(Sabotage::RunsUnclaimed);
    let seen = [
        "took effect 2 times",
        "at a time",
        "somebody came between",
        "without a Yes",
    ];
    assert!(seen.iter().any(|seen| failure.what.contains(seen)), "{failure}");
    assert_eq!(size(&failure.scenario), (1, 1), "{failure}");
}

/// The clock jumps by hours, and nothing has taken an hour.
#[test]
fn a_deadline_by_the_wall_clock_is_found() {
    let failure = found(Sabotage::EndsByTheWallClock);
    assert!(failure.what.contains("and not by the user"), "{failure}");
    let jump = failure.scenario.jump.expect("the clock jumps");
    assert!(jump.seconds > 0 && !jump.wakes_late, "{failure}");
    assert!(size(&failure.scenario).1 <= 1, "{failure}");
}

#[test]
fn a_close_that_stops_nothing_is_found() {
    let failure = found(Sabotage::ClosesWithoutAStop);
    assert!(
        failure.what.contains("was stopped, and the model is asked"),
        "{failure}"
    );
    assert!(failure.scenario.sessions[0].closes, "{failure}");
    assert_eq!(size(&failure.scenario), (1, 1), "{failure}");
}

#[test]
fn a_child_that_begins_late_and_waits_for_no_turn_is_found() {
    let failure = found(Sabotage::LateTakeNoTurns);
    let seen = ["at a time", "somebody came between", "somebody else wrote"];
    assert!(seen.iter().any(|seen| failure.what.contains(seen)), "{failure}");
    assert!(failure.scenario.sessions[1].late > 0, "{failure}");
    assert_eq!(size(&failure.scenario), (2, 2), "{failure}");
}

#[test]
fn a_change_that_failed_after_its_effect_and_is_made_again_is_found() {
    let failure = found(Sabotage::FailedRunAgain);
    assert!(failure.what.contains("took effect 2 times"), "{failure}");
    assert_eq!(size(&failure.scenario), (1, 1), "{failure}");
}

#[test]
fn a_change_that_failed_after_its_effect_and_is_denied_is_found() {
    let failure = found(Sabotage::DeniesEffects);
    assert!(failure.what.contains("took effect 1 times, and is"), "{failure}");
    assert_eq!(size(&failure.scenario), (1, 1), "{failure}");
}

/// What is rare is there, also in the part of the seeds in which faults are looked for.
#[test]
fn whatever_is_rare_happens() {
    let scenarios: Vec<Scenario> = (0..3_000).map(Scenario::of_seed).collect();
    let count = |has: fn(&Scenario) -> bool| scenarios.iter().filter(|scenario| has(scenario)).count();
    for (what, times) in [
        ("copy", count(Scenario::has_copies)),
        ("broken disk", count(|scenario| scenario.broken.is_some())),
        ("jump", count(|scenario| scenario.jump.is_some())),
        (
            "timers that jump",
            count(|scenario| scenario.jump.is_some_and(|jump| jump.wakes_late)),
        ),
        (
            "late failure",
            count(|scenario| {
                let mut calls = scenario.sessions.iter().flat_map(SessionPlan::calls);
                calls.any(|call| call.fails_late)
            }),
        ),
        ("thought", count(|scenario| scenario.thinks)),
        ("others", count(|scenario| scenario.others)),
        (
            "clearing",
            count(|scenario| scenario.sessions.iter().any(|plan| plan.clears.is_some())),
        ),
        (
            "closing",
            count(|scenario| scenario.sessions.iter().any(|plan| plan.closes)),
        ),
        (
            "late child",
            count(|scenario| scenario.sessions.iter().any(|plan| plan.late > 0)),
        ),
    ] {
        assert!(times >= 5, "{what}: {times}");
    }
    let acts = |scenario: &&Scenario| scenario.clients.iter().any(|client| client.acts);
    let heard: Vec<String> = scenarios
        .iter()
        .filter(acts)
        .flat_map(|scenario| effects(scenario).unwrap())
        .collect();
    for act in ["Say", "Stop", "Copy"] {
        let what = format!("client 0 hears of {act}");
        assert!(heard.iter().any(|effect| effect.starts_with(&what)), "{act}");
    }
}

/// What a failure is told with is enough to see it again.
#[test]
fn a_seed_is_the_same_run_each_time() {
    for seed in 0..200 {
        let scenario = Scenario::of_seed(seed);
        assert_eq!(effects(&scenario), effects(&Scenario::of_seed(seed)), "{seed}");
    }
}

#[test]
fn a_commit_that_is_lost_is_found() {
    let failure = found(Sabotage::ForgetsCommits);
    assert!(size(&failure.scenario).1 <= 1, "{failure}");
}
