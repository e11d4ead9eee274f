//! The entries of a folder in pages, with what is known of each.

use std::collections::BinaryHeap;

use cap_std::fs::{Dir, DirEntry};
use tokio_util::sync::CancellationToken;

use crate::resolve::{Target, locate};
use crate::spelling::spelled;
use crate::stat::Metadata;
use crate::{Error, Kind, Project, VPath};

/// Entries that are gone through between two looks at the cancellation.
pub(crate) const LOOKED_AT: usize = 1_024;

/// Some children of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Children {
    /// Where the folder really is.
    pub path: VPath,
    /// The children, sorted by name.
    pub items: Vec<Child>,
    /// Whether there are more after these.
    pub more: bool,
}

/// A child of a folder, links not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    /// Its name, as it is spelled in a [`VPath`].
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// What a link contains.
    pub target: Option<String>,
    /// The size of a file in bytes.
    pub size: Option<u64>,
    /// When its content last changed, in nanoseconds since 1970; `None` if it went meanwhile.
    pub mtime_ns: Option<i64>,
}

impl Project {
    /// The first `limit` children, by name, of the folder at `path` whose names come after `after`. What is kept in memory
    /// is as large as the page, however large the folder is.
    ///
    /// # Errors
    /// As [`Project::resolve`], and [`Error::NotFolder`], [`Error::Cancelled`].
    pub fn children(
        &self,
        path: &VPath,
        after: Option<&str>,
        limit: usize,
        cancel: &CancellationToken,
    ) -> Result<Children, Error> {
        let place = locate(self, path)?;
        let real = place.path();
        match place.target {
            Target::Folder => {}
            Target::Leaf { .. } => return Err(Error::NotFolder { path: real }),
            Target::Missing { .. } => {
                return Err(Error::NotFound {
                    path: path.clone(),
                    nearest: place.folder_path,
                });
            }
        }
        let key = |entry: DirEntry| {
            let name = entry.file_name();
            let shown = spelled(&name).into_owned();
            after
                .is_none_or(|after| shown.as_str() > after)
                .then_some((shown, name))
        };
        let (first, total) = first_entries(&place.folder, &real, limit, cancel, key)?;
        let more = total > first.len();
        let mut items = Vec::with_capacity(first.len());
        for (number, (shown, name)) in first.into_iter().enumerate() {
            if number % LOOKED_AT == 0 && cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let found = place.folder.symlink_metadata(&name).ok();
            let found = found.map(|metadata| Metadata::of(&metadata));
            let kind = found.as_ref().map_or(Kind::Other, |found| found.kind);
            let target = (kind == Kind::Link)
                .then(|| place.folder.read_link_contents(&name).ok())
                .flatten();
            items.push(Child {
                name: shown,
                kind,
                target: target.map(|target| spelled(target.as_os_str()).into_owned()),
                size: found
                    .as_ref()
                    .filter(|_| kind == Kind::File)
                    .map(|found| found.identity.size),
                mtime_ns: found.as_ref().map(|found| found.identity.mtime_ns),
            });
        }
        Ok(Children {
            path: real,
            items,
            more,
        })
    }
}

/// The first `limit` entries of `folder`, which is at `path`, by their keys, and how many have one. What is kept in memory
/// is as large as what is asked for.
///
/// # Errors
/// [`Error::Cancelled`], and what the system says.
pub(crate) fn first_entries<K: Ord>(
    folder: &Dir,
    path: &VPath,
    limit: usize,
    cancel: &CancellationToken,
    key: impl Fn(DirEntry) -> Option<K>,
) -> Result<(Vec<K>, usize), Error> {
    let failed = |source| Error::from_io(path, source);
    let mut first: BinaryHeap<K> = BinaryHeap::new();
    let mut total = 0_usize;
    for (number, entry) in folder.entries().map_err(failed)?.enumerate() {
        if number % LOOKED_AT == 0 && cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let Some(key) = key(entry.map_err(failed)?) else {
            continue;
        };
        total += 1;
        if first.len() < limit {
            first.push(key);
        } else if let Some(mut last) = first.peek_mut()
            && key < *last
        {
            *last = key;
        }
    }
    Ok((first.into_sorted_vec(), total))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walk::tests::{project, vpath, write};

    fn pages(project: &Project, limit: usize) -> Vec<Vec<Child>> {
        let (mut pages, mut after) = (Vec::new(), None::<String>);
        loop {
            let page = project
                .children(&VPath::root(), after.as_deref(), limit, &CancellationToken::new())
                .expect("a page");
            after = page.items.last().map(|child| child.name.clone());
            pages.push(page.items);
            if !page.more {
                return pages;
            }
        }
    }

    #[test]
    fn pages_together_are_the_folder_in_order() {
        let (folder, project) = project(&[("b", "12"), ("a/x", ""), ("c", ""), ("é", ""), ("d", "")]);
        let all = pages(&project, 100).concat();
        let names: Vec<&str> = all.iter().map(|child| child.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c", "d", "é"]);
        assert_eq!((all[0].kind, all[0].size), (Kind::Folder, None));
        assert_eq!((all[1].kind, all[1].size), (Kind::File, Some(2)));
        assert!(
            all.iter()
                .all(|child| child.mtime_ns.is_some_and(|time| time > 0))
        );
        for limit in 1..=6 {
            let pages = pages(&project, limit);
            assert!(pages.iter().all(|page| page.len() <= limit));
            assert_eq!(pages.concat(), all, "{limit}");
        }
        drop(folder);
    }

    #[test]
    fn only_folders_have_children() {
        let (_folder, project) = project(&[("f", "")]);
        let of = |path| project.children(&vpath(path), None, 10, &CancellationToken::new());
        assert!(matches!(of("/f"), Err(Error::NotFolder { .. })));
        assert!(matches!(of("/none"), Err(Error::NotFound { .. })));
        let cancelled = CancellationToken::new();
        cancelled.cancel();
        let ended = project.children(&VPath::root(), None, 10, &cancelled);
        assert!(matches!(ended, Err(Error::Cancelled)));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_name_that_is_no_unicode_is_written_escaped_and_found_so() {
        use std::os::unix::ffi::OsStrExt as _;

        let (folder, project) = project(&[]);
        let strange = |name: &[u8]| folder.path().join(std::ffi::OsStr::from_bytes(name));
        std::fs::write(strange(b"caf\xe9.txt"), "coffee").expect("a file");
        std::fs::create_dir(strange(b"\xff\xfe")).expect("a folder");
        write(folder.path(), "two\nlines", "");
        let all = pages(&project, 100).concat();
        let names: Vec<&str> = all.iter().map(|child| child.name.as_str()).collect();
        assert_eq!(names, [r"\x{ff}\x{fe}", r"caf\x{e9}.txt", r"two\u{a}lines"]);

        let cancel = CancellationToken::new();
        let path = vpath(r"/caf\x{e9}.txt");
        let read = project.read_bytes(&path, 100, &cancel).expect("it is read");
        assert_eq!((read.bytes.as_slice(), &read.path), (&b"coffee"[..], &path));
        let planned = project.plan_save(&path, "tea", "t", &cancel).expect("a plan");
        project
            .apply(planned, &mut |_| Ok(()), &cancel)
            .expect("it is written");
        assert_eq!(std::fs::read(strange(b"caf\xe9.txt")).expect("the file"), b"tea");
        let inner = vpath(r"/\x{ff}\x{fe}/new");
        let planned = project.plan_save(&inner, "x", "t", &cancel).expect("a plan");
        project
            .apply(planned, &mut |_| Ok(()), &cancel)
            .expect("it is written");
        assert_eq!(std::fs::read(strange(b"\xff\xfe/new")).expect("the file"), b"x");
        assert_eq!(
            std::fs::read_dir(folder.path()).expect("the folder").count(),
            3,
            "nothing else was made"
        );
    }
}
