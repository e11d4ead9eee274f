//! What happens in few scenarios only. Each kind is made apart from everything else, which is the same with and without it.

use fastrand::Rng;

use super::{Broken, CopyPlan, Folders, Jump, SMALL, Scenario, SessionPlan, Tool};

/// One scenario in so many has a copy: it is twice as large, and each of its runs takes twice as long.
const WITH_COPIES: u8 = 56;
/// Of those in which a client acts for the user, one in so many: there are few.
const ACTING_WITH_COPIES: u8 = 6;
/// In one of so many the disk of the store breaks.
const WITH_BROKEN_DISK: u8 = 12;

/// In one of so many the clock jumps.
const WITH_JUMP: u8 = 8;
/// In one of so many, of those without clients, the user thinks for more than a day.
const WITH_THOUGHT: u8 = 16;
/// In one of so many others would run the calls.
const WITH_OTHERS: u8 = 40;
/// In one of so many, of those without a copy, the history of a session is cleared.
const WITH_CLEARING: u8 = 16;

/// Adds what is rare.
pub(super) fn add(scenario: &mut Scenario) {
    let seed = scenario.seed;
    if let Some(client) = scenario.clients.first_mut() {
        client.acts = numbers(seed, 8).bool();
    }
    scenario.sessions.extend(copy(scenario));
    scenario.broken = broken(seed);
    scenario.jump = jump(seed);
    let mut rng = numbers(seed, 9);
    for plan in &mut scenario.sessions {
        let rounds = plan.messages.iter_mut().flat_map(|message| &mut message.rounds);
        for call in rounds.flat_map(|round| &mut round.calls) {
            call.fails_late = rng.bool() && call.fails && call.tool == Tool::Write;
        }
    }
    let mut rng = numbers(seed, 4);
    // Whoever is connected is pinged all the time.
    scenario.thinks = rng.u8(..WITH_THOUGHT) == 0 && scenario.clients.is_empty();
    scenario.others = numbers(seed, 5).u8(..WITH_OTHERS) == 0;
    let mut rng = numbers(seed, 6);
    if rng.u8(..WITH_CLEARING) == 0 && !scenario.has_copies() {
        let session = rng.usize(..scenario.sessions.len());
        scenario.sessions[session].clears = Some(rng.u32(1..10));
    }
    let mut rng = numbers(seed, 7);
    for plan in &mut scenario.sessions {
        plan.closes = rng.bool() && plan.stop.is_some();
    }
    if scenario.folders == Folders::Family {
        for plan in scenario.sessions.iter_mut().skip(1) {
            plan.late = rng.u32(..8);
        }
    }
}

fn jump(seed: u64) -> Option<Jump> {
    let mut rng = numbers(seed, 3);
    (rng.u8(..WITH_JUMP) == 0).then(|| {
        let at = rng.u64(1..150);
        let seconds = [8 * 3_600, 8 * 3_600, -3_600, -8 * 3_600][rng.usize(..4)];
        Jump {
            at,
            seconds,
            wakes_late: seconds > 0 && rng.bool(),
        }
    })
}

/// Random numbers of one kind.
fn numbers(seed: u64, kind: u64) -> Rng {
    let mut mixed = Rng::with_seed(seed ^ kind.rotate_right(8));
    Rng::with_seed(mixed.u64(..))
}

fn copy(scenario: &Scenario) -> Option<SessionPlan> {
    let mut rng = numbers(scenario.seed, 1);
    let acts = scenario.clients.iter().any(|client| client.acts);
    let one_in = if acts { ACTING_WITH_COPIES } else { WITH_COPIES };
    if rng.u8(..one_in) > 0 {
        return None;
    }
    let messages = scenario.sessions.first()?.messages.len();
    let mut plan = SessionPlan::random(&mut rng, SMALL);
    // The mode is that of the first session when it is copied.
    plan.set_modes.clear();
    plan.copy = Some(CopyPlan {
        // The last ones have most before them.
        message: rng.usize(..messages).max(rng.usize(..messages)),
        from: rng.u32(..12),
    });
    Some(plan)
}

fn broken(seed: u64) -> Option<Broken> {
    let mut rng = numbers(seed, 2);
    if rng.u8(..WITH_BROKEN_DISK) > 0 {
        return None;
    }
    Some(match rng.u8(..4) {
        0 => Broken::Commit {
            at: rng.u32(1..20),
            applied: false,
        },
        1 => Broken::Commit {
            at: rng.u32(1..20),
            applied: true,
        },
        // Most of them come late: a step reads several times.
        _ => Broken::Read { at: rng.u32(1..250) },
    })
}
