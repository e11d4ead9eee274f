//! One walk over a project folder, for everything that searches it.
//!
//! The tree is walked by path with ripgrep's walker; whoever reports something of an entry opens it again beneath
//! the project's handle first ([`open_file`]), so that a folder swapped for a link meanwhile shows nothing.

mod open;
pub(crate) mod path_pattern;
mod unreadable;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ignore::{DirEntry, WalkBuilder, WalkState};
use tokio_util::sync::CancellationToken;

pub(crate) use self::open::{is_there, open_file};
pub use self::unreadable::Unreadable;
use crate::stat::Metadata;
use crate::{Error, Kind, Project, VPath};

/// Asked, possibly from several threads, whether a file of a walk may be opened.
pub type FilePermit<'a> = &'a (dyn Fn(&VPath) -> bool + Sync);

/// Trees up to this many entries are walked on one thread: starting others takes longer than the walk. A larger
/// tree is begun again on several threads, which repeats so much work at most.
const SERIAL_ENTRIES: usize = 2_000;

/// Bytes of file content that one thread reads before others join it.
const SERIAL_BYTES: u64 = 8 << 20;

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
    serial_entries: usize,
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
            serial_entries: SERIAL_ENTRIES,
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
    /// visitor returns how many bytes it has read.
    ///
    /// # Errors
    /// [`Error::Cancelled`].
    pub(crate) fn run<V>(&self, visitor: impl Fn() -> V + Sync) -> Result<WalkTotals, Error>
    where
        V: FnMut(&WalkEntry) -> u64 + Send,
    {
        let totals = if self.is_file {
            visitor()(&WalkEntry {
                path: self.start.clone(),
                kind: WalkKind::File,
            });
            WalkTotals::default()
        } else {
            let builder = self.builder();
            match self.small_tree(&builder) {
                Some((entries, totals)) => {
                    self.visit_all(&entries, &visitor);
                    totals
                }
                None => self.walk_parallel(&builder, &visitor),
            }
        };
        if self.cancel.is_cancelled() {
            Err(Error::Cancelled)
        } else {
            Ok(totals)
        }
    }

    /// All entries, or nothing if they are too many for one thread.
    fn small_tree(&self, builder: &WalkBuilder) -> Option<(Vec<WalkEntry>, WalkTotals)> {
        let (mut entries, mut totals) = (Vec::new(), WalkTotals::default());
        for found in builder.build() {
            if self.cancel.is_cancelled() {
                break;
            }
            if entries.len() == self.serial_entries {
                return None;
            }
            match self.entry(found) {
                Ok(entry) => entries.extend(entry),
                Err(name) => totals.unreadable.add(name),
            }
        }
        Some((entries, totals))
    }

    /// Visits collected entries, on one thread as long as little is read.
    fn visit_all<V>(&self, entries: &[WalkEntry], visitor: &(impl Fn() -> V + Sync))
    where
        V: FnMut(&WalkEntry) -> u64 + Send,
    {
        let mut visit = visitor();
        let (mut read, mut done) = (0, 0);
        while done < entries.len() && (read < SERIAL_BYTES || self.threads == 1) {
            if self.cancel.is_cancelled() {
                return;
            }
            read += visit(&entries[done]);
            done += 1;
        }
        let rest = &entries[done..];
        let next = AtomicUsize::new(0);
        let work = |mut visit: V| {
            while let Some(entry) = rest.get(next.fetch_add(1, Ordering::Relaxed)) {
                if self.cancel.is_cancelled() {
                    return;
                }
                visit(entry);
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.threads.min(rest.len()) {
                scope.spawn(|| work(visitor()));
            }
            work(visit);
        });
    }

    fn walk_parallel<V>(&self, builder: &WalkBuilder, visitor: &(impl Fn() -> V + Sync)) -> WalkTotals
    where
        V: FnMut(&WalkEntry) -> u64 + Send,
    {
        let unreadable = Mutex::new(Unreadable::default());
        builder.build_parallel().run(|| {
            let mut visit = visitor();
            let unreadable = &unreadable;
            Box::new(move |found| {
                if self.cancel.is_cancelled() {
                    return WalkState::Quit;
                }
                match self.entry(found) {
                    Ok(Some(entry)) => {
                        visit(&entry);
                    }
                    Ok(None) => {}
                    Err(name) => lock(unreadable).add(name),
                }
                WalkState::Continue
            })
        });
        WalkTotals {
            unreadable: unreadable
                .into_inner()
                .unwrap_or_else(std::sync::PoisonError::into_inner),
        }
    }

    /// The entry as a virtual path; nothing for the start itself. What could not be read is named as far as it can be.
    fn entry(&self, found: Result<DirEntry, ignore::Error>) -> Result<Option<WalkEntry>, String> {
        let root = self.project.real_root();
        let found = found.map_err(|error| unreadable::name_of(root, &error, &self.start))?;
        if found.depth() == 0 {
            return Ok(None);
        }
        let path = virtual_path(root, found.path()).ok_or_else(|| unreadable::name(root, found.path()))?;
        let kind = match found.file_type() {
            Some(kind) if kind.is_file() => WalkKind::File,
            Some(kind) if kind.is_dir() => WalkKind::Folder,
            Some(kind) if kind.is_symlink() => WalkKind::Link,
            _ => WalkKind::Other,
        };
        Ok(Some(WalkEntry { path, kind }))
    }

    fn builder(&self) -> WalkBuilder {
        let start = self.on_disk(&self.start);
        let mut builder = WalkBuilder::new(&start);
        let (cancel, project) = (self.cancel.clone(), self.project.clone());
        builder
            .hidden(true)
            .follow_links(false)
            .require_git(false)
            // What is found depends on the project alone: not on folders above it, nor on the user's git settings.
            .parents(false)
            .git_global(false)
            .threads(self.threads)
            // `.git` stays out even where an ignore file lets hidden names in.
            .filter_entry(move |entry| {
                entry.depth() == 0
                    || (entry.file_name() != ".git"
                        && !cancel.is_cancelled()
                        && !is_own_data(&project, entry))
            });
        for (base, file) in self.outer_ignore_files() {
            builder.current_dir(base);
            // Most folders have no such file, and one that cannot be read has no rules.
            let _ = builder.add_ignore(file);
        }
        builder.current_dir(start);
        builder
    }

    /// The ignore files of the folders between the root and the start, with the folder that each speaks of; later
    /// ones count more. Ignore files below the start count more than all of them.
    fn outer_ignore_files(&self) -> Vec<(PathBuf, PathBuf)> {
        let mut folders: Vec<VPath> = self.start.ancestors().skip(1).collect();
        folders.reverse();
        [".git/info/exclude", ".gitignore", ".ignore"]
            .into_iter()
            .flat_map(|file| folders.iter().map(move |folder| (folder, file)))
            .map(|(folder, file)| (self.on_disk(folder), self.on_disk(folder).join(file)))
            .collect()
    }

    fn on_disk(&self, path: &VPath) -> PathBuf {
        self.project.real_root().join(path.native())
    }

    /// Another limit between one thread and several.
    #[cfg(test)]
    pub(crate) fn with_serial_entries(mut self, entries: usize) -> Self {
        self.serial_entries = entries;
        self.threads = 4;
        self
    }
}

/// Whether the walk would enter what it may not. Each folder is looked at: the number that comes with its name is another
/// one where something is mounted.
fn is_own_data(project: &Project, entry: &DirEntry) -> bool {
    if !project.has_own_data() || !entry.file_type().is_some_and(|kind| kind.is_dir()) {
        return false;
    }
    #[cfg(unix)]
    let found = entry.metadata().map(cap_std::fs::Metadata::from_just_metadata);
    #[cfg(not(unix))]
    let found = project.dir().symlink_metadata(
        entry
            .path()
            .strip_prefix(project.real_root())
            .unwrap_or(entry.path()),
    );
    // What cannot be looked at cannot be entered either, which the walk then tells.
    found.is_ok_and(|found| project.is_own_data(&Metadata::of(&found).identity))
}

/// What a path of this machine below `root` is called in the project.
fn virtual_path(root: &Path, path: &Path) -> Option<VPath> {
    Some(VPath::of_native(path.strip_prefix(root).ok()?))
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
