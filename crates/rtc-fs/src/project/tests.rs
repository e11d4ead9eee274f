use super::*;
use std::io::Read as _;

use tokio_util::sync::CancellationToken;

fn path(text: &str) -> VPath {
    VPath::parse(text).unwrap()
}

/// A project in a folder of its own, beside which there is something that must stay out of reach.
fn project() -> (tempfile::TempDir, Project) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("root/src/deep")).unwrap();
    fs::create_dir(folder.path().join("outside")).unwrap();
    fs::write(folder.path().join("outside/secret.txt"), "secret").unwrap();
    fs::write(folder.path().join("root/src/main.rs"), "fn main() {}\n").unwrap();
    fs::write(folder.path().join("root/readme.md"), "hello\n").unwrap();
    let project = Project::open(&folder.path().join("root")).unwrap();
    (folder, project)
}

#[test]
fn a_root_that_cannot_be_opened_says_why() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let error = |name: &str| {
        let text = Project::open(&folder.path().join(name)).unwrap_err().to_string();
        text.replace(&folder.path().display().to_string(), "")
    };
    insta::assert_snapshot!(error("missing"), @"the folder `/missing` does not exist; create it, or choose another folder");
    insta::assert_snapshot!(error("file"), @"`/file` is not a folder; choose the folder that contains it");
    insta::assert_snapshot!(error("file/below"), @"the folder `/file/below` does not exist; create it, or choose another folder");
    let refused = Error::RootUnreadable {
        root: PathBuf::from("/data"),
        reason: "permission denied".to_owned(),
    };
    insta::assert_snapshot!(refused, @"the folder `/data` cannot be opened (permission denied); give this user the right to read it, or choose another folder");
}

#[test]
fn listings_are_sorted_and_bounded() {
    let (folder, project) = project();
    for name in ["b", "a", "c"] {
        fs::write(folder.path().join("root/src/deep").join(name), "").unwrap();
    }
    let names = |limit| {
        let listing = project
            .list(&path("/src/deep"), limit, &CancellationToken::new())
            .unwrap();
        (
            listing
                .entries
                .into_iter()
                .map(|entry| entry.name)
                .collect::<Vec<_>>()
                .join(" "),
            listing.total,
        )
    };
    assert_eq!(names(10), ("a b c".to_owned(), 3));
    assert_eq!(names(2), ("a b".to_owned(), 3));
    let root = project
        .list(&VPath::root(), 10, &CancellationToken::new())
        .unwrap();
    let kinds: Vec<(&str, Kind)> = root
        .entries
        .iter()
        .map(|entry| (entry.name.as_str(), entry.kind))
        .collect();
    assert_eq!(kinds, [("readme.md", Kind::File), ("src", Kind::Folder)]);
    insta::assert_snapshot!(project.list(&path("/src/depe/x"), 10, &CancellationToken::new()).unwrap_err(), @"`/src/depe/x` does not exist; the nearest folder that does is `/src`");
    insta::assert_snapshot!(project.list(&path("/readme.md"), 10, &CancellationToken::new()).unwrap_err(), @"`/readme.md` is not a folder");
    insta::assert_snapshot!(project.list(&path("/readme.md/x"), 10, &CancellationToken::new()).unwrap_err(), @"`/readme.md` is not a folder");
}

#[test]
fn stat_tells_kind_size_and_identity() {
    let (_folder, project) = project();
    let file = project.stat(&path("/readme.md")).unwrap();
    assert_eq!((file.kind, file.size, file.identity.size), (Kind::File, 6, 6));
    assert_eq!(project.stat(&path("/readme.md")).unwrap().identity, file.identity);
    assert_eq!(project.stat(&VPath::root()).unwrap().kind, Kind::Folder);
    assert_eq!(project.stat(&path("/src")).unwrap().path, path("/src"));
    let text = serde_json::to_string(&file.identity).unwrap();
    assert_eq!(serde_json::from_str::<Identity>(&text).unwrap(), file.identity);
}

#[test]
fn opening_tells_files_from_folders() {
    let (_folder, project) = project();
    let mut opened = project.open_file(&path("/src/./main.rs")).unwrap();
    let mut text = String::new();
    opened.file.read_to_string(&mut text).unwrap();
    assert_eq!(
        (opened.path, text.as_str()),
        (path("/src/main.rs"), "fn main() {}\n")
    );
    insta::assert_snapshot!(project.open_file(&path("/src")).unwrap_err(), @"`/src` is a folder, not a file; list it, or name a file in it");
    insta::assert_snapshot!(project.open_file(&path("/src/none/at/all")).unwrap_err(), @"`/src/none/at/all` does not exist; the nearest folder that does is `/src`");
    assert_eq!(project.resolve_new(&path("/src/new/file")).unwrap().kind, None);
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn inside_the_project_they_are_followed_to_the_real_path() {
        let (folder, project) = project();
        let root = folder.path().join("root");
        symlink("src", root.join("code")).unwrap();
        symlink("../readme.md", root.join("src/doc")).unwrap();
        symlink(root.join("src/main.rs"), root.join("absolute")).unwrap();
        symlink("code/deep/../doc", root.join("chain")).unwrap();
        for (given, real) in [
            ("/code", "/src"),
            ("/code/main.rs", "/src/main.rs"),
            ("/code/doc", "/readme.md"),
            ("/absolute", "/src/main.rs"),
            ("/chain", "/readme.md"),
        ] {
            assert_eq!(project.resolve(&path(given)).unwrap().path, path(real), "{given}");
        }
        assert_eq!(
            project.open_file(&path("/code/doc")).unwrap().path,
            path("/readme.md")
        );
        assert_eq!(
            project.resolve_new(&path("/code/new.rs")).unwrap().path,
            path("/src/new.rs")
        );
        let listing = project
            .list(&VPath::root(), 100, &CancellationToken::new())
            .unwrap();
        let code = listing.entries.iter().find(|entry| entry.name == "code").unwrap();
        assert_eq!((code.kind, code.target.as_deref()), (Kind::Link, Some("src")));
    }

    #[test]
    fn out_of_the_project_they_are_refused_everywhere() {
        let (folder, project) = project();
        let root = folder.path().join("root");
        symlink("../outside", root.join("out")).unwrap();
        symlink(folder.path().join("outside/secret.txt"), root.join("absolute")).unwrap();
        symlink("src/../../outside/secret.txt", root.join("climbing")).unwrap();
        symlink("out/secret.txt", root.join("through")).unwrap();
        symlink("../../outside/new", root.join("src/dangling_outside")).unwrap();
        for given in [
            "/out",
            "/out/secret.txt",
            "/out/new.txt",
            "/absolute",
            "/climbing",
            "/through",
            "/src/dangling_outside",
        ] {
            let path = path(given);
            for error in [
                project.resolve(&path).unwrap_err(),
                project.resolve_new(&path).unwrap_err(),
                project.open_file(&path).unwrap_err(),
                project.stat(&path).unwrap_err(),
                project.list(&path, 10, &CancellationToken::new()).unwrap_err(),
            ] {
                assert!(matches!(error, Error::Outside { .. }), "{given}: {error}");
            }
        }
        insta::assert_snapshot!(project.open_file(&path("/through")).unwrap_err(), @"`/through` leaves the project folder through the link `/out`; only what is inside the project can be used");
    }

    #[test]
    fn dangling_links_and_loops_are_their_own_errors() {
        let (folder, project) = project();
        let root = folder.path().join("root");
        symlink("nowhere/at/all", root.join("dangling")).unwrap();
        symlink("two", root.join("one")).unwrap();
        symlink("one", root.join("two")).unwrap();
        symlink(".", root.join("self")).unwrap();
        insta::assert_snapshot!(project.open_file(&path("/dangling")).unwrap_err(), @"`/dangling` goes through the link `/dangling`, whose target `nowhere/at/all` does not exist");
        assert!(matches!(
            project.resolve_new(&path("/dangling")),
            Err(Error::DanglingLink { .. })
        ));
        insta::assert_snapshot!(project.open_file(&path("/one/x")).unwrap_err(), @"`/one/x` goes through links that lead in a circle (at `/one`)");
        assert_eq!(
            project.resolve(&path("/self/self/readme.md")).unwrap().path,
            path("/readme.md")
        );
        let deep = format!("{}/readme.md", "/self".repeat(crate::MAX_LINKS + 1));
        assert!(matches!(
            project.resolve(&path(&deep)),
            Err(Error::LinkLoop { .. })
        ));
    }

    #[test]
    fn a_folder_that_is_swapped_for_a_link_never_leads_out() {
        let (folder, project) = project();
        let root = folder.path().join("root");
        fs::create_dir(root.join("real")).unwrap();
        fs::write(root.join("real/secret.txt"), "inside").unwrap();
        symlink("../outside", root.join("link")).unwrap();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    fs::rename(root.join("real"), root.join("x")).unwrap();
                    fs::rename(root.join("link"), root.join("real")).unwrap();
                    fs::rename(root.join("real"), root.join("link")).unwrap();
                    fs::rename(root.join("x"), root.join("real")).unwrap();
                }
            });
            for _ in 0..5_000 {
                if let Ok(mut opened) = project.open_file(&path("/real/secret.txt")) {
                    let mut text = String::new();
                    opened.file.read_to_string(&mut text).unwrap();
                    assert_eq!(text, "inside");
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn pipes_are_not_opened() {
        let (folder, project) = project();
        let pipe = folder.path().join("root/pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        assert_eq!(project.stat(&path("/pipe")).unwrap().kind, Kind::Other);
        assert!(matches!(
            project.open_file(&path("/pipe")),
            Err(Error::NotRegular { .. })
        ));
    }

    #[test]
    fn a_folder_that_is_moved_away_stays_the_project() {
        let (folder, project) = project();
        fs::rename(folder.path().join("root"), folder.path().join("moved")).unwrap();
        symlink("outside", folder.path().join("root")).unwrap();
        assert_eq!(project.stat(&path("/readme.md")).unwrap().size, 6);
        assert!(matches!(
            project.stat(&path("/secret.txt")),
            Err(Error::NotFound { .. })
        ));
    }
}

#[test]
fn names_that_look_the_same_are_found_with_a_note() {
    let (folder, project) = project();
    let root = folder.path().join("root");
    fs::write(root.join("my\u{a0}notes\u{202f}v1.txt"), "x").unwrap();
    fs::create_dir(root.join("re\u{301}sume\u{301}")).unwrap();
    let opened = project.open_file(&path("/my notes v1.txt")).unwrap();
    assert_eq!(opened.path, path("/my\u{a0}notes\u{202f}v1.txt"));
    insta::assert_snapshot!(opened.note.unwrap(), @r"`my notes v1.txt` does not exist exactly so; `my\u{a0}notes\u{202f}v1.txt` was used, which looks the same");
    let folder_found = project.resolve(&path("/r\u{e9}sum\u{e9}")).unwrap();
    assert_eq!(
        (folder_found.path, folder_found.kind),
        (path("/re\u{301}sume\u{301}"), Some(Kind::Folder))
    );

    fs::write(root.join("my notes\u{a0}v1.txt"), "y").unwrap();
    insta::assert_snapshot!(project.open_file(&path("/my notes v1.txt")).unwrap_err(), @r"`/my notes v1.txt` does not exist exactly so, and several names look like it: `my notes\u{a0}v1.txt`, `my\u{a0}notes\u{202f}v1.txt`");
    fs::write(root.join("my notes v1.txt"), "z").unwrap();
    let exact = project.open_file(&path("/my notes v1.txt")).unwrap();
    assert_eq!((exact.path, exact.note), (path("/my notes v1.txt"), None));
}

#[test]
fn the_programs_own_data_is_out_of_reach_by_whatever_path() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    let own = root.join("a/App Data");
    fs::create_dir_all(own.join("store")).unwrap();
    fs::write(own.join("store/db"), "secret\n").unwrap();
    fs::write(root.join("a/other.txt"), "secret\n").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("a/App Data/store", root.join("link")).unwrap();
    let project = Project::open_apart(&root, &own).unwrap();
    let cancel = CancellationToken::new();
    for name in [
        "/a/App Data",
        "/a/App Data/store/db",
        "/a/App\u{a0}Data/store/db",
        "/a/App Data/new",
        "/link/db",
    ] {
        let refused = project.resolve_new(&path(name));
        assert!(
            matches!(refused, Err(Error::OwnData { .. })),
            "{name}: {refused:?}"
        );
    }
    assert!(project.open_file(&path("/a/other.txt")).is_ok());
    // Nor as a part of something larger.
    let refused = project.gather(&path("/a"), &cancel);
    insta::assert_snapshot!(refused.unwrap_err(), @"`/a/App Data` holds this program's own data, which no call may touch");
    #[cfg(unix)]
    assert_eq!(walked(&project), ["/a", "/a/other.txt", "/link"]);
}

/// The paths of a walk over everything, sorted.
fn walked(project: &Project) -> Vec<String> {
    let cancel = CancellationToken::new();
    let walk = crate::walk::Walk::begin(project, &VPath::root(), &cancel).unwrap();
    let seen = std::sync::Mutex::new(Vec::new());
    walk.run(|| {
        |entry: &crate::walk::WalkEntry, _: &crate::walk::Load<'_>| {
            seen.lock().unwrap().push(entry.path.to_string());
        }
    })
    .unwrap();
    let mut seen = seen.into_inner().unwrap();
    seen.sort();
    seen
}

#[test]
fn a_folder_in_the_programs_own_data_is_no_project() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("own");
    fs::create_dir_all(own.join("store")).unwrap();
    for root in [own.clone(), own.join("store")] {
        let refused = Project::open_apart(&root, &own);
        assert!(
            matches!(refused, Err(Error::OwnDataRoot { .. })),
            "{}",
            root.display()
        );
    }
    assert!(Project::open_apart(folder.path(), &own).is_ok());
    assert!(Project::open_apart(&own, &folder.path().join("not there")).is_ok());
}

#[cfg(unix)]
#[test]
fn own_data_that_cannot_be_looked_at_opens_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (root, own) = (folder.path().join("root"), folder.path().join("own"));
    fs::create_dir(&root).unwrap();
    std::os::unix::fs::symlink("own", &own).unwrap();
    let refused = Project::open_apart(&root, &own);
    assert!(matches!(refused, Err(Error::Io { .. })), "{refused:?}");
}

/// The name of what is mounted comes with the number of what is below it.
#[cfg(target_os = "linux")]
#[test]
fn own_data_that_is_mounted_in_the_project_is_not_walked() {
    struct Mounted<'a>(&'a Path);

    impl Drop for Mounted<'_> {
        fn drop(&mut self) {
            let _ = std::process::Command::new("umount").arg(self.0).status();
        }
    }

    let folder = tempfile::tempdir().unwrap();
    let (root, own) = (folder.path().join("root"), folder.path().join("own"));
    let place = root.join("a/mounted");
    fs::create_dir_all(&place).unwrap();
    fs::create_dir(&own).unwrap();
    fs::write(own.join("db"), "secret\n").unwrap();
    let mut command = std::process::Command::new("mount");
    command.arg("--bind").args([&own, &place]);
    if !command.status().is_ok_and(|status| status.success()) {
        // Only root can mount a folder.
        return;
    }
    let _mounted = Mounted(&place);
    let project = Project::open_apart(&root, &own).unwrap();
    assert_eq!(walked(&project), ["/a"]);
}

/// What a text shows of a name with control characters finds it again, and is no other name's.
#[cfg(unix)]
#[test]
fn a_path_is_found_again_as_it_is_shown() {
    let (folder, project) = project();
    let names = ["a\nb", "a\tb", "\u{1b}[31mred", "plain", r"a\u{7}b", r"a\u{a}b"];
    for name in names {
        fs::write(folder.path().join("root/src").join(name), name).unwrap();
    }
    for name in names {
        let shown = VPath::parse("/src").unwrap().child(name).to_string();
        assert!(!shown.contains(char::is_control), "{shown:?}");
        let place = project.resolve(&path(&shown)).unwrap();
        assert_eq!((place.path.as_str(), place.note), (shown.as_str(), None));
        let contents = project
            .read_bytes(&path(&shown), 100, &CancellationToken::new())
            .unwrap();
        assert_eq!(contents.bytes, name.as_bytes(), "{shown}");
    }
    assert!(project.resolve(&path(r"/src/a\u{8}b")).is_err());
    // A name that looks like the spelling of one that does not exist.
    let meant = project.resolve(&path(r"/src/a\u{7}b")).unwrap();
    assert_eq!(meant.path.as_str(), r"/src/a\u{5c}u{7}b");
    insta::assert_snapshot!(meant.note.unwrap(), @r"`a\u{7}b` does not exist exactly so; `a\u{5c}u{7}b` was used, which looks the same");
    let created = project.resolve_new(&path(r"/src/a\u{1}b")).unwrap();
    assert_eq!(created.path.as_str(), r"/src/a\u{1}b");
    assert_eq!(created.path.native(), Path::new("src/a\u{1}b"));
}
