//! One walk over a project folder, for everything that searches it.
//!
//! Each folder is opened beneath the project's handle and through no link, also none that was put in its place meanwhile.
//! Whoever reports something of an entry opens it in the same way ([`open_file`]). What is left out is told in
//! [`rules`].

mod listing;
mod open;
pub(crate) mod path_pattern;
mod queue;
mod rules;
mod unreadable;

use std::ffi::OsStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use cap_std::fs::Dir;
use ignore::Match;
use tokio_util::sync::CancellationToken;

use self::listing::{Lister, Name};
use self::open::open_folder;
pub(crate) use self::open::{is_there, open_file};
use self::queue::{Queue, Work};
use self::rules::Rules;
pub use self::unreadable::Unreadable;
use crate::stat::Metadata;
use crate::{Error, Kind, MAX_PATH_BYTES, Project, VPath};

/// Asked, possibly from several threads, whether a file of a walk may be opened.
pub type FilePermit<'a> = &'a (dyn Fn(&VPath) -> bool + Sync);

/// Told, possibly from several threads and in no certain order, each hit of a search as soon as it is found.
pub type Told<'a> = &'a (dyn Fn(&dyn std::fmt::Display) + Sync);

/// How much one thread does before others join it: starting them takes longer than a small walk does. Bytes of file content
/// that are read, and [`ENTRY_COST`] for each entry.
const SERIAL_COST: u64 = 1 << 20;

/// What an entry costs beside the bytes that are read of it, in bytes.
const ENTRY_COST: u64 = 4 << 10;

/// Threads of one walk at most.
const MAX_WALK_THREADS: usize = 8;

/// What an entry is; links are not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WalkKind {
    File,
    Folder,
    Link,
    /// A pipe, socket or device.
    Other,
}

/// One entry of a walk, not the place where it began.
#[derive(Debug)]
pub(crate) struct WalkEntry {
    pub(crate) path: VPath,
    pub(crate) kind: WalkKind,
}

/// What a walk tells besides its entries.
#[derive(Debug, Clone, Default)]
pub(crate) struct WalkTotals {
    /// Folders that could not be read.
    pub(crate) unreadable: Unreadable,
}

/// A walk that is ready to begin: the place where it starts exists inside the project.
#[derive(Debug)]
pub(crate) struct Walk<'a> {
    project: &'a Project,
    start: VPath,
    is_file: bool,
    cancel: &'a CancellationToken,
    serial_cost: u64,
    threads: usize,
}

impl<'a> Walk<'a> {
    /// A walk below `path`, links on the way to it followed inside the project. If `path` is a file, that file is
    /// the only entry.
    ///
    /// # Errors
    /// As [`Project::resolve`], [`Error::NotRegular`] for what is neither file nor folder, and [`Error::GitFolder`].
    pub(crate) fn begin(
        project: &'a Project,
        path: &VPath,
        cancel: &'a CancellationToken,
    ) -> Result<Self, Error> {
        let resolved = project.resolve(path)?;
        let start = resolved.path;
        if start.segments().any(|name| name == ".git") {
            return Err(Error::GitFolder { path: start });
        }
        let is_file = match resolved.kind {
            Some(Kind::File) => true,
            Some(Kind::Folder) => false,
            _ => return Err(Error::NotRegular { path: start }),
        };
        let threads =
            std::thread::available_parallelism().map_or(1, |threads| threads.get().min(MAX_WALK_THREADS));
        Ok(Self {
            project,
            start,
            is_file,
            cancel,
            serial_cost: SERIAL_COST,
            threads,
        })
    }

    /// The project that is walked.
    pub(crate) fn project(&self) -> &'a Project {
        self.project
    }

    /// Where the walk begins, without links.
    pub(crate) fn start(&self) -> &VPath {
        &self.start
    }

    /// What ends the walk early.
    pub(crate) fn cancel(&self) -> &'a CancellationToken {
        self.cancel
    }

    /// Shows every entry to one of the visitors that `visitor` makes, one for each thread, in no certain order. A
    /// visitor says how many bytes it is going to read.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub(crate) fn run<V>(&self, visitor: impl Fn() -> V + Sync) -> Result<WalkTotals, Error>
    where
        V: FnMut(&WalkEntry, &Load<'_>) + Send,
    {
        let totals = if self.is_file {
            let entry = WalkEntry {
                path: self.start.clone(),
                kind: WalkKind::File,
            };
            visitor()(&entry, &Load::nobody_joins());
            WalkTotals::default()
        } else {
            self.walk(&visitor)
        };
        if self.cancel.is_cancelled() {
            Err(Error::Cancelled)
        } else {
            Ok(totals)
        }
    }

    /// One thread begins; once there is enough to do, others join it.
    fn walk<V>(&self, visitor: &(impl Fn() -> V + Sync)) -> WalkTotals
    where
        V: FnMut(&WalkEntry, &Load<'_>) + Send,
    {
        let mut unreadable = Unreadable::default();
        let start = Folder {
            path: self.start.clone(),
            rules: self.outer_rules(&mut unreadable),
        };
        let queue = Queue::new(start);
        let unreadable = Mutex::new(unreadable);
        let work = |load: &Load<'_>| {
            Worker {
                walk: self,
                queue: &queue,
                unreadable: &unreadable,
                load,
                visit: visitor(),
                lister: Lister::default(),
            }
            .work();
        };
        std::thread::scope(|scope| {
            let join = || {
                for _ in 1..self.threads {
                    scope.spawn(|| work(&Load::nobody_joins()));
                }
            };
            work(&Load {
                left: AtomicU64::new(self.serial_cost.saturating_add(1)),
                join: &join,
            });
        });
        WalkTotals {
            unreadable: unreadable
                .into_inner()
                .unwrap_or_else(std::sync::PoisonError::into_inner),
        }
    }

    /// The rules of the folders between the root and the start, and those of the user.
    fn outer_rules(&self, unreadable: &mut Unreadable) -> Option<Arc<Rules>> {
        let mut folders: Vec<VPath> = self.start.ancestors().skip(1).collect();
        folders.reverse();
        let users = Rules::of_user(self.project, unreadable, self.cancel);
        folders.iter().fold(users, |outer, folder| {
            Rules::of(folder, None, outer, self.project, unreadable, self.cancel)
        })
    }

    /// Others join after another amount of work.
    #[cfg(test)]
    pub(crate) fn with_serial_cost(mut self, cost: u64) -> Self {
        self.serial_cost = cost;
        self.threads = 4;
        self
    }
}

/// A folder of a walk, and the rules that hold where it lies.
#[derive(Debug, Clone)]
struct Folder {
    path: VPath,
    rules: Option<Arc<Rules>>,
}

/// What a thread has done, so that others join it when it is much.
pub(crate) struct Load<'a> {
    /// What is left until then; 0 from then on.
    left: AtomicU64,
    join: &'a dyn Fn(),
}

impl Load<'_> {
    pub(crate) fn nobody_joins() -> Self {
        Self {
            left: AtomicU64::new(0),
            join: &|| {},
        }
    }

    /// Tells of bytes that are about to be read.
    pub(crate) fn add(&self, bytes: u64) {
        let left = self.left.load(Ordering::Relaxed);
        if left == 0 {
            return;
        }
        let left = left.saturating_sub(bytes);
        self.left.store(left, Ordering::Relaxed);
        if left == 0 {
            (self.join)();
        }
    }
}

/// One thread of a walk.
struct Worker<'a, V> {
    walk: &'a Walk<'a>,
    queue: &'a Queue,
    unreadable: &'a Mutex<Unreadable>,
    load: &'a Load<'a>,
    visit: V,
    lister: Lister,
}

impl<V> Worker<'_, V>
where
    V: FnMut(&WalkEntry, &Load<'_>),
{
    fn work(mut self) {
        while let Some(mut taken) = self.queue.take() {
            if self.walk.cancel.is_cancelled() {
                return;
            }
            match &mut taken.work {
                Work::Folder(folder) => self.enter(folder),
                Work::Names(folder, names) => self.go_through(folder, std::mem::take(names)),
            }
        }
    }

    /// Shows a folder, and reads it.
    fn enter(&mut self, folder: &Folder) {
        let opened = open_folder(self.walk.project, &folder.path);
        if opened.as_ref().is_ok_and(|opened| self.is_own_data(opened)) {
            return;
        }
        if folder.path != self.walk.start {
            let entry = WalkEntry {
                path: folder.path.clone(),
                kind: WalkKind::Folder,
            };
            self.show(&entry);
        }
        let Ok(opened) = opened else {
            return self.tell(&folder.path);
        };
        let listing = self.lister.list(&opened, self.walk.cancel);
        if listing.fault.is_some() {
            self.tell(&folder.path);
        }
        let mut unreadable = Unreadable::default();
        let rules = Rules::of(
            &folder.path,
            Some(listing.present),
            folder.rules.clone(),
            self.walk.project,
            &mut unreadable,
            self.walk.cancel,
        );
        if unreadable.count > 0 {
            lock(self.unreadable).take_over(unreadable);
        }
        let folder = Folder {
            path: folder.path.clone(),
            rules,
        };
        self.queue.add_names(folder, listing.names);
    }

    /// Whether this is what the walk may not enter. The folder itself is looked at: the number that comes with its name is
    /// another one where something is mounted.
    fn is_own_data(&self, folder: &Dir) -> bool {
        let project = self.walk.project;
        project.has_own_data()
            && folder
                .dir_metadata()
                .is_ok_and(|found| project.is_own_data(&Metadata::of(&found).identity))
    }

    /// Shows what is not left out of a folder; the folders in it are left to be read.
    fn go_through(&mut self, folder: &Folder, mut names: Vec<Name>) {
        let mut folders = Vec::new();
        let mut text = folder.path.relative().to_owned();
        if !text.is_empty() {
            text.push('/');
        }
        let base = text.len();
        while let Some(name) = names.pop() {
            if self.walk.cancel.is_cancelled() {
                return;
            }
            if !names.is_empty() && self.queue.is_hungry() {
                let half = names.split_off(names.len() / 2);
                self.queue.add_names(folder.clone(), half);
            }
            let is_folder = name.kind == WalkKind::Folder;
            text.truncate(base);
            text.push_str(&name.name.to_string_lossy());
            match folder
                .rules
                .as_ref()
                .map_or(Match::None, |rules| rules.matched(&text, is_folder))
            {
                Match::Ignore(()) => continue,
                Match::None if name.hidden => continue,
                Match::None | Match::Whitelist(()) => {}
            }
            let Some(path) = path_of(&folder.path, &name.name) else {
                lock(self.unreadable).add(format!("{}", folder.path.child(&name.name)));
                continue;
            };
            if is_folder {
                folders.push(Folder {
                    path,
                    rules: folder.rules.clone(),
                });
            } else {
                self.show(&WalkEntry {
                    path,
                    kind: name.kind,
                });
            }
        }
        self.queue.add_folders(&mut folders);
    }

    fn show(&mut self, entry: &WalkEntry) {
        self.load.add(ENTRY_COST);
        (self.visit)(entry, self.load);
    }

    fn tell(&self, unreadable: &VPath) {
        lock(self.unreadable).add(unreadable.to_string());
    }
}

/// The path of something in a folder; `None` where none can be written.
fn path_of(folder: &VPath, name: &OsStr) -> Option<VPath> {
    let path = folder.child(name);
    if path.as_str().len() < MAX_PATH_BYTES {
        return Some(path);
    }
    VPath::parse(path.as_str()).ok()
}

/// Locks a collection of hits. A visitor that panicked leaves counts that are still whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// `1 file`, `2 files`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    if number == 1 {
        format!("1 {noun}")
    } else {
        format!("{number} {noun}s")
    }
}

#[cfg(test)]
pub(crate) mod tests;
