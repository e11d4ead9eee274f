use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::*;

fn project(files: &[(&str, &str)]) -> (TempDir, Project) {
    let folder = TempDir::new().unwrap();
    for (path, content) in files {
        let full = folder.path().join(path);
        fs::create_dir_all(full.parent().unwrap()).unwrap();
        fs::write(full, content).unwrap();
    }
    let project = Project::open(folder.path()).unwrap();
    (folder, project)
}

fn path(text: &str) -> VPath {
    VPath::parse(text).unwrap()
}

fn gather(project: &Project, at: &str) -> Result<Gathered, Error> {
    project.gather(&path(at), &CancellationToken::new())
}

fn tree(root: &Path) -> String {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let is_folder = entry.file_type().unwrap().is_dir();
            let name = entry.path().strip_prefix(root).unwrap().display().to_string();
            found.push(name + if is_folder { "/" } else { "" });
            if is_folder {
                folders.push(entry.path());
            }
        }
    }
    found.sort();
    found.join(" ")
}

#[test]
fn folders_are_made_once_with_those_on_the_way() {
    let (folder, project) = project(&[("file", "")]);
    let mut told = Told::default();
    assert!(project.make_folder(&path("/a/b/c"), &mut told).unwrap());
    assert!(!project.make_folder(&path("/a/b"), &mut told).unwrap());
    assert_eq!(
        told.0,
        [
            "keep /a",
            "made /a",
            "keep /a/b",
            "made /a/b",
            "keep /a/b/c",
            "made /a/b/c"
        ]
    );
    let note = &mut |_: PreImage| Ok(());
    assert!(!project.make_folder(&path("/"), note).unwrap());
    assert!(matches!(
        project.make_folder(&path("/file"), note),
        Err(Error::Exists { .. })
    ));
    assert!(matches!(
        project.make_folder(&path("/file/x"), note),
        Err(Error::NotFolder { .. })
    ));
    assert_eq!(tree(folder.path()), "a/ a/b/ a/b/c/ file");
}

#[test]
fn what_is_removed_can_be_brought_back() {
    let (folder, project) = project(&[("d/x", "one"), ("d/e/y", "two"), ("stays", "")]);
    let gathered = gather(&project, "/d").unwrap();
    let paths: Vec<_> = gathered.paths().map(VPath::as_str).collect();
    assert_eq!(paths, ["/d", "/d/e", "/d/e/y", "/d/x"]);
    let mut kept = Vec::new();
    let keep = &mut |image: PreImage| {
        kept.push(image);
        Ok(())
    };
    project
        .remove(&gathered, "call", keep, &CancellationToken::new())
        .unwrap();
    assert_eq!(tree(folder.path()), "stays");
    let before: Vec<_> = kept
        .iter()
        .map(|image| (image.path.as_str(), image.before(b"").unwrap()))
        .collect();
    let file = |text: &str| Some(text.as_bytes().to_vec());
    assert_eq!(
        before,
        [
            ("/d/x", file("one")),
            ("/d/e/y", file("two")),
            ("/d/e", None),
            ("/d", None)
        ]
    );
    let was_folder: Vec<_> = kept.iter().map(|image| image.before == There::Folder).collect();
    assert_eq!(was_folder, [false, false, true, true]);
}

#[test]
fn what_is_moved_is_kept_at_both_ends() {
    let (folder, project) = project(&[("d/x", "one"), ("d/e/y", "two")]);
    let gathered = gather(&project, "/d").unwrap();
    let mut kept = Vec::new();
    let keep = &mut |image: PreImage| {
        kept.push((image.path.to_string(), image.before.is_some()));
        Ok(())
    };
    let moved = project.rename(&gathered, &path("/new/place"), keep, &CancellationToken::new());
    assert_eq!(moved.unwrap(), path("/new/place"));
    assert_eq!(
        tree(folder.path()),
        "new/ new/place/ new/place/e/ new/place/e/y new/place/x"
    );
    let expected = [
        ("/new/place", false),
        ("/d", true),
        ("/new/place/e", false),
        ("/d/e", true),
        ("/new/place/e/y", false),
        ("/d/e/y", true),
        ("/new/place/x", false),
        ("/d/x", true),
    ];
    assert_eq!(kept, expected.map(|(path, before)| (path.to_owned(), before)));
}

/// What a change tells, in its order.
#[derive(Default)]
struct Told(Vec<String>);

impl Witness for Told {
    fn keep(&mut self, image: PreImage) -> Result<(), Error> {
        self.0.push(format!("keep {}", image.path));
        Ok(())
    }

    fn made(&mut self, path: &VPath) {
        self.0.push(format!("made {path}"));
    }
}

#[test]
fn each_change_is_told_as_made_when_it_is() {
    let (_folder, project) = project(&[("d/x", "one"), ("e", "two")]);
    let cancel = CancellationToken::new();
    let mut told = Told::default();
    project
        .remove(&gather(&project, "/d").unwrap(), "call", &mut told, &cancel)
        .unwrap();
    assert_eq!(told.0, ["keep /d/x", "made /d/x", "keep /d", "made /d"]);
    let gathered = gather(&project, "/e").unwrap();
    let mut told = Told::default();
    project
        .rename(&gathered, &path("/f/g"), &mut told, &cancel)
        .unwrap();
    assert_eq!(told.0, ["keep /f/g", "keep /e", "made /e", "made /f/g"]);
    // It is not there any more.
    let mut told = Told::default();
    assert!(project.remove(&gathered, "call", &mut told, &cancel).is_err());
    assert_eq!(told.0, [""; 0]);
}

#[test]
fn a_change_whose_pre_image_is_not_kept_is_not_made() {
    let (folder, project) = project(&[("x", "one")]);
    let gathered = gather(&project, "/x").unwrap();
    let keep = &mut |image: PreImage| {
        Err(Error::NotKept {
            path: image.path,
            reason: "no room".into(),
        })
    };
    assert!(
        project
            .remove(&gathered, "call", keep, &CancellationToken::new())
            .is_err()
    );
    assert!(
        project
            .rename(&gathered, &path("/y"), keep, &CancellationToken::new())
            .is_err()
    );
    assert_eq!(tree(folder.path()), "x");
}

#[test]
fn a_file_that_changes_meanwhile_stays() {
    let (folder, project) = project(&[("x", "one")]);
    let gathered = gather(&project, "/x").unwrap();
    let keep = &mut |_: PreImage| {
        fs::write(folder.path().join("x"), "another").unwrap();
        Ok(())
    };
    let removed = project.remove(&gathered, "call", keep, &CancellationToken::new());
    assert!(matches!(removed, Err(Error::ChangedSince { .. })));
    let moved = project.rename(&gathered, &path("/y"), keep, &CancellationToken::new());
    assert!(matches!(moved, Err(Error::ChangedSince { .. })));
    assert_eq!(tree(folder.path()), "x");
}

#[test]
fn what_is_refused_says_why() {
    let (folder, project) = project(&[("d/x", ""), ("f", "")]);
    for number in 0..=MAX_ARRANGED {
        fs::create_dir_all(folder.path().join("many").join(number.to_string())).unwrap();
    }
    let gathered = gather(&project, "/d").unwrap();
    let mut told = vec![
        gather(&project, "/").unwrap_err(),
        gather(&project, "/no/x").unwrap_err(),
        gather(&project, "/many").unwrap_err(),
        project.destinations(&gathered, &path("/f")).unwrap_err(),
        project.destinations(&gathered, &path("/d/e/f")).unwrap_err(),
    ];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("x", folder.path().join("d/link")).unwrap();
        std::os::unix::fs::symlink("/", folder.path().join("out")).unwrap();
        told.push(gather(&project, "/d/link").unwrap_err());
        told.push(gather(&project, "/d").unwrap_err());
        told.push(gather(&project, "/out/tmp").unwrap_err());
        told.push(project.destinations(&gathered, &path("/out/new")).unwrap_err());
    }
    let told: Vec<String> = told.iter().map(Error::to_string).collect();
    insta::assert_snapshot!(told.join("\n"), @"
    the path `/` cannot be used: it is the project folder itself
    `/no/x` does not exist; the nearest folder that does is `/`
    more than 1000 files and folders are in `/many`; move or remove a part of them at a time
    `/f` already exists; use mode `overwrite`, or another path
    the path `/d/e/f` cannot be used: it is inside of `/d`, which is to be moved there
    `/d/link` is a link; links are neither moved nor removed here
    `/d/link` is a link; links are neither moved nor removed here
    `/out/tmp` leaves the project folder through the link `/out`; only what is inside the project can be used
    `/out/new` leaves the project folder through the link `/out`; only what is inside the project can be used
    ");
}

#[test]
fn what_is_saved_while_it_is_removed_stays() {
    for step in ["moved away", "moved back"] {
        let (folder, project) = project(&[("x", "before")]);
        let gathered = gather(&project, "/x").unwrap();
        let at = folder.path().join("x");
        let mut kept = None;
        let keep = &mut |image: PreImage| {
            // Right before it is moved away.
            fs::write(&at, "first").unwrap();
            kept = Some(image);
            Ok(())
        };
        let again = at.clone();
        let on_each = move |now: &'static str| {
            if (now, step) == ("moved away", "moved back") {
                fs::write(&again, "second").unwrap();
            }
        };
        let removed = crate::step::on_each(on_each, || {
            project.remove(&gathered, "call", keep, &CancellationToken::new())
        });
        assert!(matches!(removed, Err(Error::ChangedSince { .. })), "{removed:?}");
        assert_eq!(
            fs::read_to_string(&at).unwrap(),
            if step == "moved back" { "second" } else { "first" }
        );
        assert_eq!(tree(folder.path()), "x");

        // The process ends before it is given back.
        let left = folder.path().join(temporary_name(&path("/x"), "call"));
        fs::rename(&at, &left).unwrap();
        let recovered = project.recover_kept(&kept.unwrap(), "call", &CancellationToken::new());
        assert_eq!(recovered.unwrap(), crate::Recovery::Neither);
        assert_eq!(tree(folder.path()), "x");
    }
}
