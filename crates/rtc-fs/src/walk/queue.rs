//! What a walk still has to do, shared by its threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use super::listing::Name;
use super::{Folder, lock};

/// Names that a thread takes at a time at most.
const MAX_TAKEN: usize = 64;

/// Something to do.
#[derive(Debug)]
pub(super) enum Work {
    /// A folder to be read.
    Folder(Folder),
    /// Names of a folder that has been read.
    Names(Folder, Vec<Name>),
}

#[derive(Debug, Default)]
struct State {
    /// Names are taken first and the last folder next, so that of the folders around it no more is kept than their
    /// names.
    names: Vec<(Folder, Vec<Name>)>,
    folders: Vec<Folder>,
    /// Threads that are at work, and may find more of it.
    busy: usize,
}

/// The queue of one walk. What waits in it are names of folders that were read, each once.
#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    waiting: AtomicUsize,
}

impl Queue {
    /// A queue with one folder.
    pub(super) fn new(start: Folder) -> Self {
        Self {
            state: Mutex::new(State {
                folders: vec![start],
                ..State::default()
            }),
            changed: Condvar::new(),
            waiting: AtomicUsize::new(0),
        }
    }

    /// The next piece of work. Waits while there is none and another thread may still find some; `None` at the end.
    pub(super) fn take(&self) -> Option<Taken<'_>> {
        let mut state = lock(&self.state);
        loop {
            if let Some(work) = Self::next(&mut state) {
                state.busy += 1;
                return Some(Taken { queue: self, work });
            }
            if state.busy == 0 {
                return None;
            }
            self.waiting.fetch_add(1, Ordering::Relaxed);
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn next(state: &mut State) -> Option<Work> {
        let Some((folder, names)) = state.names.last_mut() else {
            return state.folders.pop().map(Work::Folder);
        };
        if names.len() > MAX_TAKEN {
            let taken = names.split_off(names.len() - MAX_TAKEN);
            return Some(Work::Names(folder.clone(), taken));
        }
        state
            .names
            .pop()
            .map(|(folder, names)| Work::Names(folder, names))
    }

    /// Whether a thread waits for work: who has names left then gives some back.
    pub(super) fn is_hungry(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Adds the names of a folder.
    pub(super) fn add_names(&self, folder: Folder, names: Vec<Name>) {
        if !names.is_empty() {
            let several = names.len() > 1;
            lock(&self.state).names.push((folder, names));
            self.tell(several);
        }
    }

    /// Adds folders.
    pub(super) fn add_folders(&self, folders: &mut Vec<Folder>) {
        if !folders.is_empty() {
            let several = folders.len() > 1;
            lock(&self.state).folders.append(folders);
            self.tell(several);
        }
    }

    fn tell(&self, several: bool) {
        if several {
            self.changed.notify_all();
        } else {
            self.changed.notify_one();
        }
    }
}

/// A piece of work. It is done when this is dropped, also by a panic, so that nobody waits for ever.
#[derive(Debug)]
pub(super) struct Taken<'a> {
    queue: &'a Queue,
    pub(super) work: Work,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.queue.state);
        state.busy -= 1;
        if state.busy == 0 {
            self.queue.changed.notify_all();
        }
    }
}
