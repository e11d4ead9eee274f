//! Finding files and folders by their names.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::walk::path_pattern::PathPattern;
use crate::walk::{FilePermit, Load, Told, Unreadable, Walk, WalkEntry, WalkKind, count, is_there, lock};
use crate::{Error, Kind, Project, VPath};

/// How many paths `find` shows by default.
pub const DEFAULT_FIND_LIMIT: usize = 1_000;

/// How many paths `find` shows at most.
pub const MAX_FIND_LIMIT: usize = 20_000;

/// What to find, and where.
#[derive(Debug, Clone)]
pub struct FindQuery {
    /// A glob. `*` and `?` stay within one name, `**` crosses folders, `{a,b}` and `[x]` work. Without a `/` it is
    /// matched against names at any depth, with one against the path below `path` and the absolute path; with one
    /// at its end it finds folders only.
    pub pattern: String,
    /// The folder to search below, also when it is hidden or ignored itself.
    pub path: VPath,
    /// Paths to show; 0 for as many as can be had ([`MAX_FIND_LIMIT`]).
    pub head_limit: usize,
}

impl FindQuery {
    /// A search for `pattern` in the whole project, with the defaults of the `find` tool.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self {
            pattern: pattern.into(),
            path: VPath::root(),
            head_limit: DEFAULT_FIND_LIMIT,
        }
    }
}

/// Something that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Found {
    /// Its path; that of a link is its own, not that of its target.
    pub path: VPath,
    /// Whether it is a folder, or a link to one.
    pub folder: bool,
}

/// What `find` found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FindResult {
    /// The first paths in their order.
    pub found: Vec<Found>,
    /// How many there are.
    pub total: u64,
    /// Paths that matched and may not be seen without being asked for by name.
    pub refused: u64,
    /// Folders that could not be read.
    pub unreadable: Unreadable,
    /// Whether the pattern speaks of hidden names, which are left out.
    pub names_hidden: bool,
}

impl FindResult {
    /// The result as the model reads it: one path a line, a folder with a trailing `/`.
    pub fn render(&self) -> String {
        let mut text = String::new();
        if self.found.is_empty() {
            text.push_str("No files found\n");
        }
        for found in &self.found {
            let end = if found.folder { "/" } else { "" };
            let _ = writeln!(text, "{}{end}", found.path);
        }
        let shown = self.found.len() as u64;
        let mut note = |note: String| {
            let _ = writeln!(text, "[{note}]");
        };
        if shown < self.total {
            let least = if self.unreadable.count > 0 {
                "at least "
            } else {
                ""
            };
            note(format!(
                "{shown} of {least}{} shown; narrow the pattern or the path",
                self.total
            ));
        }
        if self.refused > 0 {
            note(format!(
                "{} not shown: permission is needed",
                count(self.refused, "path")
            ));
        }
        if let Some(unreadable) = self.unreadable.note() {
            note(unreadable);
        }
        if self.found.is_empty() && self.names_hidden {
            note(
                "hidden files and folders are left out unless `path` names the folder; list it instead"
                    .to_owned(),
            );
        }
        text.pop();
        text
    }
}

/// Finds below `query.path`. Hidden and ignored files and `.git` are left out; links are not followed, and shown
/// only if they lead to something inside the project.
///
/// `permit` is asked for each path that matches; those that it refuses are counted.
///
/// # Errors
/// [`Error::InvalidPattern`], [`Error::Cancelled`], and those of finding `query.path`.
pub fn find(
    project: &Project,
    query: &FindQuery,
    permit: FilePermit<'_>,
    cancel: &CancellationToken,
) -> Result<FindResult, Error> {
    find_telling(project, query, permit, &|_| {}, cancel)
}

/// The same; `told` gets the path of everything that is found, as soon as it is.
///
/// # Errors
/// As [`find`].
pub fn find_telling(
    project: &Project,
    query: &FindQuery,
    permit: FilePermit<'_>,
    told: Told<'_>,
    cancel: &CancellationToken,
) -> Result<FindResult, Error> {
    let pattern = PathPattern::parse(&query.pattern)?;
    let walk = Walk::begin(project, &query.path, cancel)?;
    find_by(&pattern, query, &walk, permit, told)
}

/// The first hits in path order, and the counts of all.
struct Hits {
    keep: usize,
    kept: BTreeMap<VPath, bool>,
    total: u64,
    refused: u64,
}

impl Hits {
    fn add(&mut self, path: &VPath, folder: bool) {
        self.total += 1;
        let full = self.kept.len() >= self.keep;
        if full && self.kept.last_key_value().is_some_and(|(last, _)| path > last) {
            return;
        }
        self.kept.insert(path.clone(), folder);
        if self.kept.len() > self.keep {
            self.kept.pop_last();
        }
    }
}

fn find_by(
    pattern: &PathPattern,
    query: &FindQuery,
    walk: &Walk<'_>,
    permit: FilePermit<'_>,
    told: Told<'_>,
) -> Result<FindResult, Error> {
    let keep = if query.head_limit == 0 {
        MAX_FIND_LIMIT
    } else {
        query.head_limit.min(MAX_FIND_LIMIT)
    };
    let hits = Mutex::new(Hits {
        keep,
        kept: BTreeMap::new(),
        total: 0,
        refused: 0,
    });
    let totals = walk.run(|| {
        |entry: &WalkEntry, _: &Load<'_>| {
            let Some(folder) = matches(pattern, walk, entry) else {
                return;
            };
            if permit(&entry.path) {
                told(&format_args!("{}{}", entry.path, if folder { "/" } else { "" }));
                lock(&hits).add(&entry.path, folder);
            } else {
                lock(&hits).refused += 1;
            }
        }
    })?;
    let hits = hits
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let (mut total, mut found) = (hits.total, Vec::with_capacity(hits.kept.len()));
    for (path, folder) in hits.kept {
        if walk.cancel().is_cancelled() {
            return Err(Error::Cancelled);
        }
        // Gone since, or now reached through a link: then it was never there.
        if is_there(walk.project(), &path) {
            found.push(Found { path, folder });
        } else {
            total -= 1;
        }
    }
    let names_hidden = query
        .pattern
        .split('/')
        .any(|name| name.starts_with('.') && name.len() > 1);
    Ok(FindResult {
        found,
        total,
        refused: hits.refused,
        unreadable: totals.unreadable,
        names_hidden,
    })
}

/// Whether the entry is meant, and if so, whether it is a folder.
fn matches(pattern: &PathPattern, walk: &Walk<'_>, entry: &WalkEntry) -> Option<bool> {
    let matches = |folder: bool| pattern.matches(walk.start(), &entry.path, folder);
    if entry.kind != WalkKind::Link {
        let folder = entry.kind == WalkKind::Folder;
        return matches(folder).then_some(folder);
    }
    // Following a link costs several system calls, so its name is looked at first.
    if !matches(true) {
        return None;
    }
    let folder = walk.project().resolve(&entry.path).ok()?.kind == Some(Kind::Folder);
    matches(folder).then_some(folder)
}

#[cfg(test)]
mod tests;
