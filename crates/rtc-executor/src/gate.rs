//! Whose turn it is to change the files of a project.
//!
//! Within a tree of sessions changes come in the order in which they were asked for, and trees take turns, one change
//! each. Nothing of it is kept: one process at a time has the store, and with it the folders.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rtc_types::{ProjectId, SessionId};
use tokio::sync::oneshot;

/// Who takes turns with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Root {
    /// The session at the top of a tree, for all of the tree.
    Tree(SessionId),
    /// The user's own hand.
    User,
}

/// The turns of all projects. The files outside of any project are as those of one more.
///
/// As many wait as there are sessions and connections at most: a session runs one call at a time, and a call asks for one
/// turn at a time; so does an answer of a connection, which has only so many.
#[derive(Default)]
pub(crate) struct Gate {
    waits: Mutex<Waits>,
}

#[derive(Default)]
struct Waits {
    /// Only those in which somebody has the turn.
    projects: HashMap<Option<ProjectId>, Queue<Root, Ticket>>,
    /// To whom it is told that it is their turn.
    told: HashMap<Ticket, oneshot::Sender<()>>,
    last: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Ticket(u64);

impl Gate {
    /// Waits for a turn. Who does not wait any more, having dropped this, is passed over.
    pub(crate) async fn enter(self: &Arc<Self>, project: Option<ProjectId>, root: Root) -> Held {
        let (mut held, told) = self.join(project, root);
        if let Some(told) = told {
            held.waited = true;
            // It is dropped without a word only with the gate itself.
            let _ = told.await;
        }
        held
    }

    fn join(
        self: &Arc<Self>,
        project: Option<ProjectId>,
        root: Root,
    ) -> (Held, Option<oneshot::Receiver<()>>) {
        let waits = &mut *self.lock();
        waits.last += 1;
        let ticket = Ticket(waits.last);
        let is_next = waits.projects.entry(project).or_default().join(root, ticket);
        let told = (!is_next).then(|| {
            let (sender, told) = oneshot::channel();
            waits.told.insert(ticket, sender);
            told
        });
        let held = Held {
            gate: self.clone(),
            project,
            ticket,
            waited: false,
        };
        (held, told)
    }

    fn leave(&self, project: Option<ProjectId>, ticket: Ticket) {
        let waits = &mut *self.lock();
        waits.told.remove(&ticket);
        let Some(queue) = waits.projects.get_mut(&project) else {
            return;
        };
        match queue.leave(ticket) {
            Some(next) => {
                // Who is gone already leaves in a moment, and passes it on.
                if let Some(told) = waits.told.remove(&next) {
                    let _ = told.send(());
                }
            }
            None if queue.holder.is_none() => drop(waits.projects.remove(&project)),
            None => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waits> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A turn, or a place in the queue for one. Dropping it passes the turn on.
pub(crate) struct Held {
    gate: Arc<Gate>,
    project: Option<ProjectId>,
    ticket: Ticket,
    waited: bool,
}

impl Held {
    /// Whether somebody else had the turn before, so that things may have changed meanwhile.
    pub(crate) fn waited(&self) -> bool {
        self.waited
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.gate.leave(self.project, self.ticket);
    }
}

/// Who has the turn, and who comes next.
struct Queue<R, W> {
    holder: Option<(R, W)>,
    /// Those that wait, by root, the one that waits longest first. None of the lines is empty.
    waiting: VecDeque<(R, VecDeque<W>)>,
}

impl<R, W> Default for Queue<R, W> {
    fn default() -> Self {
        Self {
            holder: None,
            waiting: VecDeque::new(),
        }
    }
}

impl<R: Copy + PartialEq, W: Copy + PartialEq> Queue<R, W> {
    /// Whether it is its turn at once.
    fn join(&mut self, root: R, who: W) -> bool {
        if self.holder.is_none() {
            self.holder = Some((root, who));
            return true;
        }
        match self.waiting.iter_mut().find(|(other, _)| *other == root) {
            Some((_, line)) => line.push_back(who),
            None => self.waiting.push_back((root, VecDeque::from([who]))),
        }
        false
    }

    /// Whose turn it is now, if it was the turn of the one that leaves.
    fn leave(&mut self, who: W) -> Option<W> {
        if let Some((root, holder)) = self.holder
            && holder == who
        {
            self.holder = self.next(root);
            return self.holder.map(|(_, next)| next);
        }
        for (_, line) in &mut self.waiting {
            line.retain(|other| *other != who);
        }
        self.waiting.retain(|(_, line)| !line.is_empty());
        None
    }

    /// Another root than the last one, if one waits.
    fn next(&mut self, last: R) -> Option<(R, W)> {
        let other = self.waiting.iter().position(|(root, _)| *root != last);
        let (root, mut line) = self.waiting.remove(other.unwrap_or(0))?;
        let who = line.pop_front()?;
        if !line.is_empty() {
            self.waiting.push_back((root, line));
        }
        Some((root, who))
    }
}

#[cfg(test)]
mod tests;
