//! Which entries of a walk are left out: the rules of ripgrep, read from regular files alone and up to a bound.
//!
//! In the order in which they count: `.ignore`, `.gitignore` and `.git/info/exclude`, of each kind the nearest folder
//! first, then what the user has git leave out everywhere. In a repository of git inside of another one, the `.gitignore`
//! and `.git/info/exclude` of the outer one do not count. `.rgignore` is not read, nor anything of the folders above the
//! project, nor where a `.git` that is a file leads to. A link is followed inside the project.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder, Glob};
use tokio_util::sync::CancellationToken;

use super::{Unreadable, is_there};
use crate::{Error, Project, VPath};

/// Bytes of one file of rules, 1 MiB. A larger one has no rules, which is told.
pub(crate) const MAX_RULES_BYTES: u64 = 1 << 20;

/// Rules in one file. One with more has none, which is told.
pub(crate) const MAX_RULES: usize = 20_000;

/// Bytes of one rule, about as many as a path has at most. A file with a longer one has none, which is told.
pub(crate) const MAX_RULE_BYTES: usize = 4_096;

/// Rules that are compiled in one go, which nothing can interrupt.
const COMPILED_AT_ONCE: usize = 500;

/// What the user's own file of rules is called where it cannot be read.
const USERS_FILE: &str = "git's excludes file of this user";

/// The rules of one file, in pieces; the last one that matches counts.
type Compiled = Vec<Gitignore>;

/// The rules that hold in a folder: its own, and behind them those of the folders around it.
#[derive(Debug)]
pub(super) struct Rules {
    outer: Option<Arc<Rules>>,
    /// Bytes of a path, without its first `/`, that lead to the folder.
    base: usize,
    /// In the order of [`FILES`], and behind them those of the user.
    own: [Compiled; FILES.len() + 1],
    /// Whether a repository of git begins here.
    repository: bool,
}

/// The files in a folder that have rules, as they count.
const FILES: [&str; 3] = [".ignore", ".gitignore", ".git/info/exclude"];

/// Those of them that are git's own.
const OF_GIT: std::ops::Range<usize> = 1..3;

/// What of [`FILES`] is in a folder; of the last one, the folder that it is in.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Present([bool; FILES.len()]);

impl Present {
    /// Looks for them.
    fn look(project: &Project, folder: &VPath) -> Self {
        Self([".ignore", ".gitignore", ".git"].map(|name| is_there(project, &folder.child(name))))
    }

    /// Notes an entry of the folder.
    pub(super) fn note(&mut self, name: &[u8]) {
        let [ignore, git_ignore, git] = &mut self.0;
        match name {
            b".ignore" => *ignore = true,
            b".gitignore" => *git_ignore = true,
            b".git" => *git = true,
            _ => {}
        }
    }

    fn repository(self) -> bool {
        self.0[2]
    }
}

impl Rules {
    /// What the user has git leave out in all projects.
    pub(super) fn of_user(
        project: &Project,
        unreadable: &mut Unreadable,
        cancel: &CancellationToken,
    ) -> Option<Arc<Self>> {
        let path = project.users_excludes()?;
        let read = match open_regular(path) {
            Ok(file) => read(file),
            Err(error) if is_missing(&error) => return None,
            Err(error) => Err(error),
        };
        let Ok(rules) = read.and_then(|bytes| compile(&bytes, cancel)) else {
            unreadable.add(USERS_FILE.to_owned());
            return None;
        };
        Some(Arc::new(Self {
            outer: None,
            base: 0,
            own: [vec![], vec![], vec![], rules],
            repository: false,
        }))
    }

    /// Those that hold in `folder`, in which is what is `present` (where that is not known, it is looked for), inside of a
    /// folder where `outer` hold.
    pub(super) fn of(
        folder: &VPath,
        present: Option<Present>,
        outer: Option<Arc<Self>>,
        project: &Project,
        unreadable: &mut Unreadable,
        cancel: &CancellationToken,
    ) -> Option<Arc<Self>> {
        let present = present.unwrap_or_else(|| Present::look(project, folder));
        if !present.0.contains(&true) {
            return outer;
        }
        let mut own = [const { Compiled::new() }; FILES.len() + 1];
        for ((own, there), file) in own.iter_mut().zip(present.0).zip(FILES) {
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
            match bytes.and_then(|bytes| compile(&bytes, cancel)) {
                Ok(rules) => *own = rules,
                Err(_) => unreadable.add(path.to_string()),
            }
        }
        let repository = present.repository();
        if !repository && own.iter().all(Vec::is_empty) {
            return outer;
        }
        Some(Arc::new(Self {
            outer,
            base: folder.relative().len() + usize::from(!folder.is_root()),
            own,
            repository,
        }))
    }

    /// Whether the entry at `path`, without its first `/`, is left out, or let in whatever else would leave it out.
    pub(super) fn matched(&self, path: &str, is_folder: bool) -> Match<()> {
        let mut found: [Match<&Glob>; FILES.len() + 1] = [const { Match::None }; FILES.len() + 1];
        let (mut at, mut left) = (Some(self), false);
        while let Some(rules) = at {
            let below = path.get(rules.base..).unwrap_or(path);
            for (kind, (found, own)) in found.iter_mut().zip(&rules.own).enumerate() {
                if left && OF_GIT.contains(&kind) {
                    continue;
                }
                let mut pieces = own.iter().rev();
                while found.is_none()
                    && let Some(piece) = pieces.next()
                {
                    *found = piece.matched(below, is_folder);
                }
            }
            left |= rules.repository;
            at = rules.outer.as_deref();
        }
        found.into_iter().fold(Match::None, Match::or).map(|_| ())
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

/// The rules in a file; lines that are none are left out, as ripgrep does. After a cancellation, any of them.
fn compile(bytes: &[u8], cancel: &CancellationToken) -> io::Result<Compiled> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let mut lines = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(line) = std::str::from_utf8(line) else {
            continue;
        };
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line.len() > MAX_RULE_BYTES || lines.len() == MAX_RULES {
            return Err(io::Error::other("it has too many rules, or too long ones"));
        }
        lines.push(line);
    }
    let mut compiled = Compiled::new();
    for piece in lines.chunks(COMPILED_AT_ONCE) {
        if cancel.is_cancelled() {
            break;
        }
        let mut builder = GitignoreBuilder::new("");
        for line in piece {
            let _ = builder.add_line(None, line);
        }
        compiled.push(builder.build().map_err(io::Error::other)?);
    }
    Ok(compiled)
}
