//! Watching what is looked at: the folders that were listed lately, each alone, and with them the files in them.
//!
//! A whole tree is never watched: it may have more folders than the system has watches, and what nobody looks at need not
//! be told.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cap_std::fs::Dir;
use notify::event::{ModifyKind, RenameMode};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use rtc_types::ProjectId;

use crate::change::is_temporary;
use crate::resolve::{Target, locate};
use crate::{Error, Project, VPath};

/// Folders that are watched at a time; the one that was looked at longest ago makes room.
pub const MAX_WATCHED_FOLDERS: usize = 128;

/// Changes that wait to be taken. With more of them, only the folders in which they are told.
pub const MAX_PENDING_CHANGES: usize = 1_000;

/// What happened to a file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Happened {
    /// It is new, or another one took its name.
    Created,
    /// Its content or what is known of it changed; of a folder, anything in it may have.
    Changed,
    /// It is gone.
    Removed,
}

/// Something in a watched folder is not as it was.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Changed {
    /// The project, as it was named when the folder was looked at.
    pub project: ProjectId,
    /// The path.
    pub path: VPath,
    /// What happened.
    pub happened: Happened,
}

/// Watches folders of projects.
pub struct Watch {
    state: Arc<Mutex<State>>,
    /// `None` if the system has no watcher for this process.
    watcher: Mutex<Option<RecommendedWatcher>>,
}

#[derive(Default)]
struct State {
    /// The one that was looked at last comes last.
    watched: VecDeque<Watched>,
    /// What happened to a name of a watched folder, told by the folder's number: first and last.
    pending: BTreeMap<(u64, String), (Happened, Happened)>,
    /// Folders of which no more is known than that something happened.
    unclear: BTreeSet<u64>,
    next: u64,
}

struct Watched {
    number: u64,
    project: ProjectId,
    path: VPath,
    /// What the watcher knows it by.
    key: PathBuf,
    /// The key names this handle: while it is open, no other folder gets the same one.
    folder: Dir,
}

impl Watch {
    /// Watches nothing yet. `told` is called from a thread of the watcher whenever something has changed; it must not block.
    pub fn new(told: impl Fn() + Send + 'static) -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let hears = Arc::clone(&state);
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let mut state = lock(&hears);
            match event {
                Ok(event) => state.hear(&event),
                Err(error) => error.paths.iter().for_each(|path| state.is_unclear(path)),
            }
            let has_something = !state.pending.is_empty() || !state.unclear.is_empty();
            drop(state);
            if has_something {
                told();
            }
        });
        Self {
            state,
            watcher: Mutex::new(watcher.ok()),
        }
    }

    /// Watches the folder at `path` from now on, for as long as not too many others are looked at. `false` if the system
    /// does not: then nothing is told of it.
    ///
    /// # Errors
    /// As [`Project::resolve`], and [`Error::NotFolder`].
    pub fn look(&self, id: ProjectId, project: &Project, path: &VPath) -> Result<bool, Error> {
        let place = locate(project, path)?;
        let real = place.path();
        if !matches!(place.target, Target::Folder) {
            return Err(Error::NotFolder { path: real });
        }
        let mut watcher = self.watcher.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(watcher) = watcher.as_mut() else {
            return Ok(false);
        };
        let mut dropped = Vec::new();
        {
            let mut state = lock(&self.state);
            if let Some(at) = state.position(id, &real) {
                let watched = state.watched.remove(at);
                let is_same = watched
                    .as_ref()
                    .is_some_and(|watched| is_same_folder(&watched.folder, &place.folder));
                if is_same {
                    state.watched.extend(watched);
                    return Ok(true);
                }
                dropped.extend(watched);
            }
            while state.watched.len() >= MAX_WATCHED_FOLDERS {
                dropped.extend(state.watched.pop_front());
            }
        }
        // Without the lock: the watcher waits for its thread, which may wait for the lock.
        for watched in dropped {
            // A folder that is gone is not watched any more either.
            let _ = watcher.unwatch(&watched.key);
        }
        let key = key(project, &place.folder, &real);
        if watcher.watch(&key, RecursiveMode::NonRecursive).is_err() {
            return Ok(false);
        }
        let mut state = lock(&self.state);
        let number = state.next;
        state.next += 1;
        state.watched.push_back(Watched {
            number,
            project: id,
            path: real,
            key,
            folder: place.folder,
        });
        Ok(true)
    }

    /// What has changed since the last time, sorted. Files that a change of our own puts beside another one are left out.
    pub fn take(&self) -> Vec<Changed> {
        let mut state = lock(&self.state);
        let (pending, unclear) = (
            std::mem::take(&mut state.pending),
            std::mem::take(&mut state.unclear),
        );
        let mut changed = Vec::new();
        for watched in &state.watched {
            let (project, number) = (watched.project, watched.number);
            if unclear.contains(&number) {
                changed.push(Changed {
                    project,
                    path: watched.path.clone(),
                    happened: Happened::Changed,
                });
                continue;
            }
            let of_it = pending.range((number, String::new())..(number + 1, String::new()));
            for ((_, name), (first, last)) in of_it {
                let happened = match (watched.folder.symlink_metadata(name).is_ok(), first) {
                    (false, _) => Happened::Removed,
                    (true, Happened::Created) if *last != Happened::Removed => Happened::Created,
                    (true, _) => Happened::Changed,
                };
                changed.push(Changed {
                    project,
                    path: watched.path.child(name),
                    happened,
                });
            }
        }
        changed.sort();
        changed
    }
}

impl State {
    fn position(&self, project: ProjectId, path: &VPath) -> Option<usize> {
        let is = |watched: &Watched| watched.project == project && watched.path == *path;
        self.watched.iter().position(is)
    }

    fn hear(&mut self, event: &Event) {
        if event.need_rescan() {
            self.unclear = self.watched.iter().map(|watched| watched.number).collect();
            self.pending.clear();
            return;
        }
        let happened = match event.kind {
            EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(RenameMode::To)) => Happened::Created,
            EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From)) => Happened::Removed,
            EventKind::Modify(_) | EventKind::Any => Happened::Changed,
            EventKind::Access(_) | EventKind::Other => return,
        };
        for path in &event.paths {
            self.happened(path, happened);
        }
    }

    fn happened(&mut self, path: &Path, happened: Happened) {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return;
        };
        let Some(number) = self.number(folder) else {
            // Of a watched folder itself its parent tells, if anybody looks at that.
            return;
        };
        let Some(name) = name.to_str() else {
            self.unclear.insert(number);
            return;
        };
        if is_temporary(name) || self.unclear.contains(&number) {
            return;
        }
        if self.pending.len() >= MAX_PENDING_CHANGES {
            let folders = std::mem::take(&mut self.pending);
            self.unclear.extend(folders.into_keys().map(|(number, _)| number));
            self.unclear.insert(number);
            return;
        }
        let last = self
            .pending
            .entry((number, name.to_owned()))
            .or_insert((happened, happened));
        last.1 = happened;
    }

    fn is_unclear(&mut self, path: &Path) {
        let number = self.number(path).or_else(|| self.number(path.parent()?));
        self.unclear.extend(number);
    }

    fn number(&self, folder: &Path) -> Option<u64> {
        let watched = self.watched.iter().find(|watched| watched.key == folder);
        watched.map(|watched| watched.number)
    }
}

/// How the watcher is told a folder: by its handle where that has a name, so that no link leads it elsewhere.
fn key(project: &Project, folder: &Dir, path: &VPath) -> PathBuf {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd as _;
        let named = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        if named.exists() {
            return named;
        }
    }
    let _ = folder;
    project.real_root().join(path.relative())
}

fn is_same_folder(one: &Dir, other: &Dir) -> bool {
    let number = |folder: &Dir| {
        let metadata = folder.dir_metadata().ok()?;
        let identity = crate::stat::Metadata::of(&metadata).identity;
        Some((identity.dev, identity.ino))
    };
    number(one).is_some_and(|one| Some(one) == number(other))
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
