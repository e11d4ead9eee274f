//! Makes a scenario that fails smaller, as long as it fails.

use crate::{
    Begins, Call, ClientPlan, CopyPlan, Failure, Folders, Jump, Message, Round, Sabotage, Scenario,
    SessionPlan, Tool, When, explore,
};

/// How many smaller scenarios are tried at most.
const MOST_TRIES: usize = 2_000;

/// The smallest scenario found that still fails, whatever it fails by.
pub fn shrink(failure: Box<Failure>, sabotage: Sabotage) -> Box<Failure> {
    let mut smallest = failure;
    let mut tries = 0;
    'smaller: loop {
        for candidate in candidates(&smallest.scenario) {
            tries += 1;
            if tries > MOST_TRIES {
                return smallest;
            }
            if let Err(failure) = explore(&candidate, sabotage) {
                smallest = failure;
                continue 'smaller;
            }
        }
        return smallest;
    }
}

/// Scenarios with one thing less.
fn candidates(scenario: &Scenario) -> Vec<Scenario> {
    let mut all = Vec::new();
    if scenario.full.is_some() {
        all.push(Scenario {
            full: None,
            ..scenario.clone()
        });
    }
    if scenario.broken.is_some() {
        all.push(Scenario {
            broken: None,
            ..scenario.clone()
        });
    }
    let with = |change: fn(&mut Scenario)| {
        let mut smaller = scenario.clone();
        change(&mut smaller);
        smaller
    };
    let plainer = [
        with(|scenario| scenario.jump = None),
        with(|scenario| {
            scenario.jump = scenario.jump.map(|jump| Jump {
                wakes_late: false,
                ..jump
            })
        }),
        with(|scenario| scenario.thinks = false),
        with(|scenario| scenario.others = false),
    ];
    all.extend(plainer.into_iter().filter(|plainer| plainer != scenario));
    all.extend(without_one(&scenario.clients).map(|clients| Scenario {
        clients,
        ..scenario.clone()
    }));
    all.extend(
        with_one_smaller(&scenario.clients, smaller_client).map(|clients| Scenario {
            clients,
            ..scenario.clone()
        }),
    );
    for folders in [Folders::Apart, Folders::Shared] {
        if scenario.folders > folders {
            all.push(Scenario {
                folders,
                ..scenario.clone()
            });
        }
    }
    let with = |sessions| Scenario {
        sessions,
        ..scenario.clone()
    };
    if scenario.sessions.len() > 1 {
        all.extend(without_one(&scenario.sessions).map(with));
    }
    all.extend(with_one_smaller(&scenario.sessions, smaller_session).map(with));
    all.retain(is_possible);
    all
}

/// Whether the first session begins by itself, and each copy is one of a message that there is.
fn is_possible(scenario: &Scenario) -> bool {
    let Some((first, others)) = scenario.sessions.split_first() else {
        return false;
    };
    let copied = others.iter().filter_map(|plan| plan.copy.as_ref());
    first.copy.is_none() && first.late == 0 && { copied }.all(|copy| copy.message < first.messages.len())
}

fn smaller_client(client: &ClientPlan) -> Vec<ClientPlan> {
    let with = |change: fn(&mut ClientPlan)| {
        let mut plan = client.clone();
        change(&mut plan);
        plan
    };
    let all = [
        with(|plan| plan.answers = false),
        with(|plan| plan.acts = false),
        with(|plan| plan.troubled = false),
        with(|plan| plan.pieces = false),
        with(|plan| plan.begins = Begins::Empty),
    ];
    all.into_iter().filter(|plan| plan != client).collect()
}

fn smaller_session(session: &SessionPlan) -> Vec<SessionPlan> {
    let mut all = Vec::new();
    let with = |messages| SessionPlan {
        messages,
        ..session.clone()
    };
    if session.messages.len() > 1 {
        all.extend(without_one(&session.messages).map(with));
    }
    let without = |change: fn(&mut SessionPlan)| {
        let mut plan = session.clone();
        change(&mut plan);
        plan
    };
    let plainer = [
        without(|plan| (plan.stop, plan.closes) = (None, false)),
        without(|plan| plan.closes = false),
        without(|plan| plan.clears = None),
        without(|plan| plan.clears = plan.clears.map(|from| from.min(2))),
        without(|plan| plan.late = 0),
    ];
    all.extend(plainer.into_iter().filter(|plainer| plainer != session));
    if let Some(copy) = &session.copy {
        let (message, from) = (copy.message, copy.from);
        let smaller = [(message.saturating_sub(1), from), (message, from / 2)];
        let smaller = smaller.into_iter().filter(|smaller| *smaller != (message, from));
        all.push(SessionPlan {
            copy: None,
            ..session.clone()
        });
        all.extend(smaller.map(|(message, from)| SessionPlan {
            copy: Some(CopyPlan { message, from }),
            ..session.clone()
        }));
    }
    all.extend(without_one(&session.set_modes).map(|set_modes| SessionPlan {
        set_modes,
        ..session.clone()
    }));
    all.extend(with_one_smaller(&session.messages, smaller_message).map(with));
    all
}

fn smaller_message(message: &Message) -> Vec<Message> {
    let with = |rounds| Message {
        rounds,
        ..message.clone()
    };
    let mut all: Vec<Message> = without_one(&message.rounds).map(with).collect();
    if message.fails || message.when != When::Idle {
        all.push(Message {
            fails: false,
            when: When::Idle,
            ..message.clone()
        });
    }
    all.extend(with_one_smaller(&message.rounds, smaller_round).map(with));
    all
}

fn smaller_round(round: &Round) -> Vec<Round> {
    let with = |calls| Round {
        calls,
        ..round.clone()
    };
    let mut all: Vec<Round> = Vec::new();
    if round.calls.len() > 1 {
        all.extend(without_one(&round.calls).map(with));
    }
    if round.thinks || round.slow || round.cut || round.breaks || round.pieces > 0 {
        all.push(Round {
            thinks: false,
            slow: false,
            cut: false,
            breaks: false,
            pieces: 0,
            calls: round.calls.clone(),
        });
    }
    all.extend(with_one_smaller(&round.calls, smaller_call).map(with));
    all
}

fn smaller_call(call: &Call) -> Vec<Call> {
    let mut all = Vec::new();
    if call.slow || call.fails {
        all.push(Call {
            slow: false,
            fails: false,
            fails_late: false,
            ..call.clone()
        });
    }
    if call.tool != Tool::Read {
        all.push(Call {
            tool: Tool::Read,
            fails_late: false,
            ..call.clone()
        });
    }
    all
}

fn without_one<T: Clone>(all: &[T]) -> impl Iterator<Item = Vec<T>> {
    (0..all.len()).map(|at| {
        let mut fewer = all.to_vec();
        fewer.remove(at);
        fewer
    })
}

fn with_one_smaller<T: Clone>(all: &[T], smaller: impl Fn(&T) -> Vec<T>) -> impl Iterator<Item = Vec<T>> {
    let mut made = Vec::new();
    for (at, one) in all.iter().enumerate() {
        for other in smaller(one) {
            let mut changed = all.to_vec();
            changed[at] = other;
            made.push(changed);
        }
    }
    made.into_iter()
}
