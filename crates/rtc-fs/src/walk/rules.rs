//! Which entries of a walk are left out: the rules of ripgrep, read from regular files alone and up to a bound.
//!
//! In the order in which they count: `.ignore`, `.gitignore` and `.git/info/exclude`, of each kind the nearest folder
//! first, then what the user has git leave out everywhere. `.rgignore` is not read, nor anything of the folders above the
//! project, nor where a `.git` that is a file leads to. A link is followed inside the project.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder, Glob};

use super::Unreadable;
use crate::{Error, Project, VPath};

/// Bytes of one file of rules, 1 MiB. A larger one has no rules, which is told.
pub(crate) const MAX_RULES_BYTES: u64 = 1 << 20;

/// Rules in one file. One with more has none, which is told: they are compiled in one go, which nothing can interrupt.
pub(crate) const MAX_RULES: usize = 20_000;

/// What the user's own file of rules is called where it cannot be read.
const USERS_FILE: &str = "git's excludes file of this user";

/// The rules that hold in a folder: its own, and behind them those of the folders around it.
#[derive(Debug)]
pub(super) struct Rules {
    outer: Option<Arc<Rules>>,
    /// Bytes of a path, without its first `/`, that lead to the folder.
    base: usize,
    /// Of `.ignore`, `.gitignore` and `.git/info/exclude`, see [`KINDS`].
    own: [Gitignore; KINDS.len()],
}

/// The files in a folder that have rules, as they count, and what of them stands in the folder.
const KINDS: [(&str, &str); 3] = [
    (".ignore", ".ignore"),
    (".gitignore", ".gitignore"),
    (".git", ".git/info/exclude"),
];

/// Which of [`KINDS`] may be in a folder.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Present([bool; KINDS.len()]);

impl Present {
    pub(super) const UNKNOWN: Self = Self([true; KINDS.len()]);

    /// Notes an entry of the folder.
    pub(super) fn note(&mut self, name: &[u8]) {
        if name.first() != Some(&b'.') {
            return;
        }
        for (there, (entry, _)) in self.0.iter_mut().zip(KINDS) {
            *there |= name == entry.as_bytes();
        }
    }
}

impl Rules {
    /// What the user has git leave out in all projects.
    pub(super) fn of_user(project: &Project, unreadable: &mut Unreadable) -> Option<Arc<Self>> {
        let path = project.users_excludes()?;
        let read = match open_regular(path) {
            Ok(file) => read(file),
            Err(error) if is_missing(&error) => return None,
            Err(error) => Err(error),
        };
        let Ok(rules) = read.and_then(|bytes| compile(&bytes)) else {
            unreadable.add(USERS_FILE.to_owned());
            return None;
        };
        let own = [Gitignore::empty(), Gitignore::empty(), rules];
        Some(Arc::new(Self {
            outer: None,
            base: 0,
            own,
        }))
    }

    /// Those that hold in `folder`, which may have the files that are `present`, inside of a folder where `outer` hold.
    pub(super) fn of(
        folder: &VPath,
        present: Present,
        outer: Option<Arc<Self>>,
        project: &Project,
        unreadable: &mut Unreadable,
    ) -> Option<Arc<Self>> {
        if !present.0.contains(&true) {
            return outer;
        }
        let mut own = [const { None }; KINDS.len()];
        for ((own, there), (_, file)) in own.iter_mut().zip(present.0).zip(KINDS) {
            if !there {
                continue;
            }
            let Ok(path) = folder.join(file) else { continue };
            let bytes = match project.open_file(&path) {
                Ok(opened) => read(opened.file),
                Err(
                    Error::NotFound { .. }
                    | Error::NotFolder { .. }
                    | Error::IsFolder { .. }
                    | Error::DanglingLink { .. },
                ) => continue,
                Err(error) => Err(io::Error::other(error)),
            };
            match bytes.and_then(|bytes| compile(&bytes)) {
                Ok(rules) => *own = Some(rules),
                Err(_) => unreadable.add(path.to_string()),
            }
        }
        if own.iter().flatten().all(Gitignore::is_empty) {
            return outer;
        }
        Some(Arc::new(Self {
            outer,
            base: folder.relative().len() + usize::from(!folder.is_root()),
            own: own.map(|rules| rules.unwrap_or_else(Gitignore::empty)),
        }))
    }

    /// Whether the entry at `path`, without its first `/`, is left out, or let in whatever else would leave it out.
    pub(super) fn matched(&self, path: &str, is_folder: bool) -> Match<()> {
        let mut found: [Match<&Glob>; KINDS.len()] = [const { Match::None }; KINDS.len()];
        let mut at = Some(self);
        while let Some(rules) = at {
            let below = path.get(rules.base..).unwrap_or(path);
            for (found, own) in found.iter_mut().zip(&rules.own) {
                if found.is_none() {
                    *found = own.matched(below, is_folder);
                }
            }
            at = rules.outer.as_deref();
        }
        let [ignore, git, exclude] = found;
        ignore.or(git).or(exclude).map(|_| ())
    }
}

/// Opens a file by its path on this machine, without waiting for a pipe.
fn open_regular(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    options.open(path)
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn read(file: File) -> io::Result<Vec<u8>> {
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_RULES_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_RULES_BYTES {
        return Err(io::Error::other("it is too large"));
    }
    Ok(bytes)
}

/// The rules in a file; lines that are none are left out, as ripgrep does.
fn compile(bytes: &[u8]) -> io::Result<Gitignore> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let mut builder = GitignoreBuilder::new("");
    let mut count = 0;
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(line) = std::str::from_utf8(line) else {
            continue;
        };
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        count += 1;
        if count > MAX_RULES {
            return Err(io::Error::other("it has too many rules"));
        }
        let _ = builder.add_line(None, line);
    }
    builder.build().map_err(io::Error::other)
}
