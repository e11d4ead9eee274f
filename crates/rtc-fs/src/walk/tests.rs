use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicU64;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

/// A project with these files; a name that ends in `/` is an empty folder.
pub(crate) fn project(files: &[(&str, &str)]) -> (TempDir, Project) {
    let folder = TempDir::new().unwrap();
    for (path, content) in files {
        write(folder.path(), path, content);
    }
    let project = Project::open(folder.path()).unwrap();
    (folder, project)
}

pub(crate) fn write(root: &Path, path: &str, content: impl AsRef<[u8]>) {
    let full = root.join(path);
    if path.ends_with('/') {
        fs::create_dir_all(full).unwrap();
    } else {
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, content).unwrap();
    }
}

pub(crate) fn vpath(path: &str) -> VPath {
    VPath::parse(path).unwrap()
}

/// Everything that a walk shows, sorted; folders with a trailing `/`, links with `@`.
fn seen(walk: &Walk<'_>) -> Vec<String> {
    let seen = Mutex::new(BTreeSet::new());
    let visitor = || {
        |entry: &WalkEntry, _: &Load<'_>| {
            let mark = match entry.kind {
                WalkKind::File => "",
                WalkKind::Folder => "/",
                WalkKind::Link => "@",
                WalkKind::Other => "?",
            };
            assert!(
                lock(&seen).insert(format!("{}{mark}", entry.path)),
                "{} was shown twice",
                entry.path
            );
        }
    };
    walk.run(visitor).unwrap();
    seen.into_inner().unwrap().into_iter().collect()
}

fn walked(project: &Project, path: &str) -> Vec<String> {
    let cancel = CancellationToken::new();
    let walk = || Walk::begin(project, &vpath(path), &cancel).unwrap();
    let serial = seen(&walk().with_serial_cost(u64::MAX));
    assert_eq!(
        seen(&walk().with_serial_cost(0)),
        serial,
        "several threads see the same"
    );
    serial
}

#[test]
fn ignore_rules() {
    for (what, files, path, want) in [
        (
            "hidden and git",
            &[("a", ""), (".b", ""), (".c/d", ""), (".git/config", "")][..],
            "/",
            "/a",
        ),
        (
            "no git repository is needed",
            &[(".gitignore", "*.log"), ("a.log", ""), ("b", "")],
            "/",
            "/b",
        ),
        (
            ".ignore counts more",
            &[
                (".gitignore", "*.log"),
                (".ignore", "!a.log"),
                ("a.log", ""),
                ("b.log", ""),
            ],
            "/",
            "/a.log",
        ),
        (
            "deeper counts more",
            &[
                (".gitignore", "*.log"),
                ("d/.gitignore", "!a.log"),
                ("d/a.log", ""),
                ("a.log", ""),
            ],
            "/",
            "/d/ /d/a.log",
        ),
        (
            "an ignored folder is not entered",
            &[(".gitignore", "out/"), ("out/a", ""), ("in/a", "")],
            "/",
            "/in/ /in/a",
        ),
        (
            "anchored",
            &[(".gitignore", "/a"), ("a", ""), ("d/a", "")],
            "/",
            "/d/ /d/a",
        ),
        (
            "git's exclude file",
            &[(".git/info/exclude", "a"), ("a", ""), ("b", "")],
            "/",
            "/b",
        ),
        (
            "a repository in another one has git's rules of its own",
            &[
                (".gitignore", "*.log"),
                (".git/info/exclude", "*.txt"),
                (".ignore", "*.x"),
                ("in/.git/HEAD", ""),
                ("in/a.log", ""),
                ("in/b.txt", ""),
                ("in/c.x", ""),
                ("in/d/a.log", ""),
            ],
            "/",
            "/in/ /in/a.log /in/b.txt /in/d/ /in/d/a.log",
        ),
        (
            "also where the walk begins in it",
            &[(".gitignore", "*.log"), ("in/.git/HEAD", ""), ("in/d/a.log", "")],
            "/in/d",
            "/in/d/a.log",
        ),
        (
            "hidden, let in",
            &[(".gitignore", "!.ci\n!.git"), (".ci/a", ""), (".git/b", "")],
            "/",
            "/.ci/ /.ci/a",
        ),
        (
            "rules of folders above the start",
            &[
                (".gitignore", "*.log\n/d/x"),
                ("d/a.log", ""),
                ("d/x", ""),
                ("d/y", ""),
            ],
            "/d",
            "/d/y",
        ),
        (
            ".ignore above the start",
            &[(".ignore", "*.log"), ("d/a.log", ""), ("d/y", "")],
            "/d",
            "/d/y",
        ),
        (
            "git's exclude file above the start",
            &[(".git/info/exclude", "d/a"), ("d/a", ""), ("d/b", "")],
            "/d",
            "/d/b",
        ),
        (
            "nearer above the start counts more",
            &[
                (".gitignore", "*.log"),
                ("d/.gitignore", "!a.log"),
                ("d/e/a.log", ""),
                ("d/e/b.log", ""),
            ],
            "/d/e",
            "/d/e/a.log",
        ),
        (
            "the start may be hidden",
            &[(".rtc/scripts/a.ts", ""), (".rtc/.x", "")],
            "/.rtc",
            "/.rtc/scripts/ /.rtc/scripts/a.ts",
        ),
        (
            "the start may be ignored",
            &[(".gitignore", "out/"), ("out/a", "")],
            "/out",
            "/out/a",
        ),
        (
            "a hidden or ignored file as start",
            &[(".gitignore", ".env"), (".env", "")],
            "/.env",
            "/.env",
        ),
        ("an empty folder", &[("d/", "")], "/", "/d/"),
    ] {
        let (_folder, project) = project(files);
        assert_eq!(walked(&project, path).join(" "), want, "{what}");
    }
}

#[test]
fn folders_above_the_root_have_no_say() {
    let (folder, _) = project(&[
        (".gitignore", "*.log"),
        (".ignore", "*.txt"),
        ("in/a.log", ""),
        ("in/b.txt", ""),
    ]);
    let project = Project::open(&folder.path().join("in")).unwrap();
    assert_eq!(walked(&project, "/"), ["/a.log", "/b.txt"]);
}

#[test]
fn what_a_walk_does_not_begin_at() {
    let (_folder, project) = project(&[(".git/hooks/x", "")]);
    let cancel = CancellationToken::new();
    let error = |path: &str| {
        Walk::begin(&project, &vpath(path), &cancel)
            .unwrap_err()
            .to_string()
    };
    insta::assert_snapshot!(error("/.git/hooks"), @"`/.git/hooks` is in git's own folder, which is not searched; list or read it instead");
    insta::assert_snapshot!(error("/a/b"), @"`/a/b` does not exist; the nearest folder that does is `/`");
}

#[cfg(unix)]
#[test]
fn links_are_not_followed_nor_lead_out() {
    use std::os::unix::fs::symlink;

    let outside = TempDir::new().unwrap();
    write(outside.path(), "secret", "x");
    let (folder, project) = project(&[("real/a", "")]);
    symlink(outside.path(), folder.path().join("out")).unwrap();
    symlink("real", folder.path().join("in")).unwrap();
    assert_eq!(walked(&project, "/"), ["/in@", "/out@", "/real/", "/real/a"]);
    // A link to a folder inside is a name of that folder.
    assert_eq!(walked(&project, "/in"), ["/real/a"]);
    let cancel = CancellationToken::new();
    assert!(matches!(
        Walk::begin(&project, &vpath("/out"), &cancel),
        Err(Error::Outside { .. })
    ));
    assert!(matches!(
        Walk::begin(&project, &vpath("/out/secret"), &cancel),
        Err(Error::Outside { .. })
    ));
}

#[cfg(unix)]
#[test]
fn what_was_swapped_for_a_link_is_not_opened() {
    use std::os::unix::fs::symlink;

    let outside = TempDir::new().unwrap();
    write(outside.path(), "a", "secret");
    let (folder, project) = project(&[("d/a", "mine"), ("e", "mine"), ("f/a", "other")]);
    assert!(open_file(&project, &vpath("/d/a")).is_ok());
    fs::rename(folder.path().join("d"), folder.path().join("moved")).unwrap();
    symlink(outside.path(), folder.path().join("d")).unwrap();
    assert!(open_file(&project, &vpath("/d/a")).is_err());
    assert!(!is_there(&project, &vpath("/d/a")));
    assert!(is_there(&project, &vpath("/d")), "the link itself has a name");
    // Also within the project: what was permitted is not what would be read.
    fs::remove_file(folder.path().join("d")).unwrap();
    symlink("f", folder.path().join("d")).unwrap();
    assert!(open_file(&project, &vpath("/d/a")).is_err());
    fs::remove_file(folder.path().join("e")).unwrap();
    symlink("f/a", folder.path().join("e")).unwrap();
    assert!(open_file(&project, &vpath("/e")).is_err());
    assert!(open_file(&project, &vpath("/f")).is_err(), "a folder is no file");
    assert!(!is_there(&project, &vpath("/gone")));
}

#[cfg(unix)]
#[test]
fn a_name_that_is_no_unicode_is_walked_as_any_other() {
    use std::os::unix::ffi::OsStrExt as _;

    let (folder, project) = project(&[("a", "")]);
    fs::write(folder.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9")), "").unwrap();
    let cancel = CancellationToken::new();
    for cost in [0, u64::MAX] {
        let walk = Walk::begin(&project, &VPath::root(), &cancel)
            .unwrap()
            .with_serial_cost(cost);
        let seen = Mutex::new(Vec::new());
        let totals = walk.run(|| {
            |entry: &WalkEntry, _: &Load<'_>| {
                lock(&seen).push(entry.path.to_string());
                assert!(open_file(&project, &entry.path).is_ok());
            }
        });
        assert_eq!(totals.unwrap().unreadable.note(), None);
        let mut seen = seen.into_inner().unwrap();
        seen.sort();
        assert_eq!(seen, ["/a", r"/caf\x{e9}"]);
    }
}

#[test]
fn a_cancelled_walk_visits_nothing_more() {
    let files: Vec<String> = (0..200).map(|number| format!("f{number}")).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|name| (name.as_str(), "")).collect();
    let (_folder, project) = project(&files);
    for cost in [0, u64::MAX] {
        let cancel = CancellationToken::new();
        let visits = AtomicU64::new(0);
        let walk = Walk::begin(&project, &VPath::root(), &cancel)
            .unwrap()
            .with_serial_cost(cost);
        let ended = walk.run(|| {
            |_: &WalkEntry, _: &Load<'_>| {
                visits.fetch_add(1, Ordering::Relaxed);
                cancel.cancel();
            }
        });
        assert!(matches!(ended, Err(Error::Cancelled)));
        assert!(visits.into_inner() <= 4, "at most the visits that had begun");
    }
}

#[test]
fn others_join_when_much_is_read() {
    let files: Vec<String> = (0..50).map(|number| format!("f{number}")).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|name| (name.as_str(), "")).collect();
    let (_folder, project) = project(&files);
    let cancel = CancellationToken::new();
    let walk = Walk::begin(&project, &VPath::root(), &cancel)
        .unwrap()
        .with_serial_cost(SERIAL_COST);
    for (bytes, threads) in [(0, 1), (SERIAL_COST, 4)] {
        let (visitors, visits) = (AtomicU64::new(0), AtomicU64::new(0));
        walk.run(|| {
            visitors.fetch_add(1, Ordering::Relaxed);
            |_: &WalkEntry, load: &Load<'_>| {
                visits.fetch_add(1, Ordering::Relaxed);
                load.add(bytes);
            }
        })
        .unwrap();
        assert_eq!((visitors.into_inner(), visits.into_inner()), (threads, 50));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    /// A walk of a subfolder sees what a walk of the whole project sees there.
    #[test]
    fn a_subfolder_has_the_rules_of_the_whole(
        rules in prop::collection::vec("(!?/?(a|b|c|a/b|\\*|a\\*)/?\n){0,3}", 3),
        files in prop::collection::btree_set("(a|b|c)(/(a|b|c|ab)){1,3}x", 1..12),
    ) {
        let folder = TempDir::new().unwrap();
        for (base, rules) in ["", "a/", "a/b/"].iter().zip(&rules) {
            write(folder.path(), &format!("{base}.gitignore"), rules);
        }
        for file in &files {
            write(folder.path(), file, "");
        }
        let project = Project::open(folder.path()).unwrap();
        let whole = walked(&project, "/");
        // What the whole walk never enters may be named, and is searched then.
        for start in whole.iter().filter_map(|path| path.strip_suffix('/')) {
            let inside: Vec<String> =
                whole.iter().filter(|path| path.starts_with(&format!("{start}/")) && **path != format!("{start}/")).cloned().collect();
            prop_assert_eq!(walked(&project, start), inside);
        }
    }
}
