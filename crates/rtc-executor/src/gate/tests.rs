use std::collections::HashMap;

use futures::FutureExt;
use proptest::prelude::*;
use uuid::Uuid;

use super::*;

#[derive(Debug, Clone, Copy)]
enum Step {
    /// Somebody of this root comes.
    Join(u8),
    /// One of those that are there goes: the one with the turn, or one that waits and was stopped.
    Leave(prop::sample::Index),
    /// The one with the turn goes.
    Pass,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..4_u8).prop_map(Step::Join),
        1 => any::<prop::sample::Index>().prop_map(Step::Leave),
        3 => Just(Step::Pass),
    ]
}

/// One that waits.
struct Waiting {
    who: u32,
    root: u8,
    /// How many of its root came before it and are still there.
    ahead: u32,
    /// How many turns each other root was given meanwhile.
    overtaken: HashMap<u8, u32>,
}

/// What must hold after whoever had the turn has gone.
fn passed_on(queue: &Queue<u8, u32>, last: u8, waiting: &mut Vec<Waiting>) {
    let Some((root, who)) = queue.holder else {
        assert!(waiting.is_empty(), "nobody has the turn, and somebody waits");
        return;
    };
    let first = waiting.iter().find(|other| other.root == root);
    assert_eq!(
        first.map(|first| first.who),
        Some(who),
        "the first of its root comes first"
    );
    if waiting.iter().any(|other| other.root != last) {
        assert_ne!(root, last, "another root waits");
    }
    waiting.retain(|other| other.who != who);
    for other in waiting {
        if other.root == root {
            continue;
        }
        let turns = other.overtaken.entry(root).or_default();
        *turns += 1;
        assert!(
            *turns <= other.ahead + 1,
            "{} of root {} waits for {turns} turns of root {root}",
            other.who,
            other.root
        );
    }
}

proptest! {
    #[test]
    fn turns_are_in_order_within_a_root_and_alternate_between_roots(
        steps in prop::collection::vec(step(), 0..200),
    ) {
        let mut queue = Queue::default();
        let mut waiting: Vec<Waiting> = Vec::new();
        let mut next = 0;
        for step in steps {
            let holder = queue.holder;
            match step {
                Step::Join(root) => {
                    next += 1;
                    let at_once = queue.join(root, next);
                    prop_assert_eq!(at_once, holder.is_none());
                    if at_once {
                        prop_assert_eq!(queue.holder, Some((root, next)));
                    } else {
                        prop_assert_eq!(queue.holder, holder, "there is one at a time");
                        let ahead = waiting.iter().filter(|other| other.root == root).count();
                        let ahead = u32::try_from(ahead).unwrap();
                        waiting.push(Waiting { who: next, root, ahead, overtaken: HashMap::new() });
                    }
                }
                Step::Leave(any) if !waiting.is_empty() => {
                    let gone = waiting.remove(any.index(waiting.len()));
                    prop_assert_eq!(queue.leave(gone.who), None);
                    prop_assert_eq!(queue.holder, holder, "who waits takes no turn away");
                }
                Step::Leave(_) | Step::Pass => {
                    let Some((last, who)) = holder else { continue };
                    let told = queue.leave(who);
                    prop_assert_eq!(told, queue.holder.map(|(_, who)| who));
                    passed_on(&queue, last, &mut waiting);
                }
            }
        }
        // Whatever happened, everybody comes to their turn.
        while let Some((last, who)) = queue.holder {
            queue.leave(who);
            passed_on(&queue, last, &mut waiting);
        }
        prop_assert!(queue.waiting.is_empty());
    }
}

fn project(number: u128) -> Option<ProjectId> {
    Some(ProjectId::new(Uuid::from_u128(number)))
}

fn tree(number: u128) -> Root {
    Root::Tree(SessionId::new(Uuid::from_u128(number)))
}

/// A future of a turn that has been asked for.
macro_rules! asked {
    ($gate:expr, $project:expr, $root:expr) => {{
        let mut turn = Box::pin($gate.enter($project, $root));
        let now = (&mut turn).now_or_never();
        assert!(now.is_none(), "it waits");
        turn
    }};
}

fn is_empty(gate: &Gate) -> bool {
    let waits = gate.lock();
    waits.projects.is_empty() && waits.told.is_empty()
}

#[tokio::test]
async fn one_at_a_time_has_the_turn_of_a_project() {
    let gate = Arc::new(Gate::default());
    let first = gate.enter(project(1), tree(1)).await;
    assert!(!first.waited());
    let elsewhere = gate.enter(project(2), tree(1)).await;
    let nowhere = gate.enter(None, tree(1)).await;
    assert!(!elsewhere.waited() && !nowhere.waited(), "other files are others");
    let mut second = asked!(gate, project(1), tree(1));
    let mut by_hand = asked!(gate, project(1), Root::User);
    drop(first);
    assert!(
        (&mut second).now_or_never().is_none(),
        "the user is another than the tree that had its turn"
    );
    let by_hand = (&mut by_hand).now_or_never().expect("it is the user's turn");
    assert!(by_hand.waited());
    drop(by_hand);
    drop(second.await);
    drop((elsewhere, nowhere));
    assert!(is_empty(&gate), "nothing is kept");
}

#[tokio::test]
async fn who_does_not_wait_any_more_is_passed_over() {
    let gate = Arc::new(Gate::default());
    let first = gate.enter(project(1), tree(1)).await;
    let gone = asked!(gate, project(1), tree(2));
    let told = asked!(gate, project(1), tree(3));
    let last = asked!(gate, project(1), tree(1));
    drop(gone);
    drop(first);
    // It is its turn, and it goes without having heard of it.
    drop(told);
    drop(last.await);
    assert!(is_empty(&gate), "nothing is kept");
}
