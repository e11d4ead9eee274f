use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::preimage::{Kept, MAX_WHOLE_KEPT_BYTES};
use crate::{Gathered, WriteMode};

/// A project, with what its changes kept.
struct Place {
    folder: TempDir,
    project: Project,
    cancel: CancellationToken,
    kept: Vec<PreImage>,
}

fn path(text: &str) -> VPath {
    VPath::parse(text).unwrap()
}

impl Place {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let folder = TempDir::new().unwrap();
        for (name, content) in files {
            let full = folder.path().join(name);
            fs::create_dir_all(full.parent().unwrap()).unwrap();
            fs::write(full, content).unwrap();
        }
        Self {
            project: Project::open(folder.path()).unwrap(),
            folder,
            cancel: CancellationToken::new(),
            kept: Vec::new(),
        }
    }

    fn full(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn content(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.full(name)).ok()
    }

    fn apply(&mut self, planned: Planned) {
        let keep = &mut |image| {
            self.kept.push(image);
            Ok(())
        };
        self.project.apply(planned, keep, &self.cancel).unwrap();
    }

    fn edit(&mut self, name: &str, old: &str, new: &str) {
        let planned = self
            .project
            .plan_edit(&path(name), old, new, false, "t", &self.cancel);
        self.apply(planned.unwrap());
    }

    fn write(&mut self, name: &str, content: &str) {
        let mode = WriteMode::Overwrite;
        let planned = self
            .project
            .plan_write(&path(name), content, mode, "t", &self.cancel);
        self.apply(planned.unwrap());
    }

    fn gather(&self, name: &str) -> Gathered {
        self.project.gather(&path(name), &self.cancel).unwrap()
    }

    fn remove(&mut self, name: &str) {
        let gathered = self.gather(name);
        let keep = &mut |image| {
            self.kept.push(image);
            Ok(())
        };
        self.project
            .remove(&gathered, "call", keep, &self.cancel)
            .unwrap();
    }

    fn rename(&mut self, from: &str, to: &str) {
        let gathered = self.gather(from);
        let keep = &mut |image| {
            self.kept.push(image);
            Ok(())
        };
        self.project
            .rename(&gathered, &path(to), keep, &self.cancel)
            .unwrap();
    }

    fn plan(&self, name: &str, extent: Extent<'_>) -> Result<RevertPlan, Error> {
        let images: Vec<_> = self
            .kept
            .iter()
            .filter(|image| image.path == path(name))
            .cloned()
            .collect();
        self.project.plan_revert(&images, extent, "undo", &self.cancel)
    }

    fn refusal(&self, name: &str, extent: Extent<'_>) -> ThreeWay {
        match self.plan(name, extent).unwrap() {
            RevertPlan::Refused(three) => *three,
            RevertPlan::Ready(ready) => panic!("{ready:?}"),
        }
    }

    /// Puts back everything that was kept, path by path; what that keeps takes its place.
    fn undo(&mut self, extent: Extent<'_>) {
        let mut paths: Vec<VPath> = Vec::new();
        for image in &self.kept {
            if !paths.contains(&image.path) {
                paths.push(image.path.clone());
            }
        }
        let mut order = Vec::new();
        for (at, path) in paths.iter().enumerate() {
            let RevertPlan::Ready(ready) = self.plan(path.as_str(), extent).unwrap() else {
                panic!("{path} has changed");
            };
            order.push((ready.rank(at), path));
        }
        order.sort();
        let mut kept = Vec::new();
        for (_, path) in order {
            let RevertPlan::Ready(ready) = self.plan(path.as_str(), extent).unwrap() else {
                panic!("{path} has changed");
            };
            let keep = &mut |image| {
                kept.push(image);
                Ok(())
            };
            self.project.revert(ready, keep, &self.cancel).unwrap();
        }
        self.kept = kept;
    }
}

/// Every file with its content and mode, and every folder.
fn tree(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = entry.path().strip_prefix(root).unwrap().display().to_string();
            if entry.file_type().unwrap().is_dir() {
                found.push(format!("{name}/"));
                folders.push(entry.path());
            } else {
                let content = fs::read(entry.path()).unwrap();
                #[cfg(unix)]
                let mode = std::os::unix::fs::PermissionsExt::mode(&entry.metadata().unwrap().permissions());
                #[cfg(not(unix))]
                let mode = 0;
                found.push(format!("{name} {mode:o} {}", content.escape_ascii()));
            }
        }
    }
    found.sort();
    found
}

/// A change of the place.
type Changing = fn(&mut Place);

/// Whatever was done, its undo leads back to the byte, the undo of that forward, and so on.
#[test]
fn every_kind_of_change_goes_back_and_forth() {
    let table: &[(&str, Changing)] = &[
        ("an edit", |place| place.edit("/a.txt", "two", "2")),
        ("a write", |place| place.write("/a.txt", "other\n")),
        ("several of one file", |place| {
            place.edit("/a.txt", "two", "2");
            place.write("/a.txt", "other\n");
            place.edit("/a.txt", "other", "one\ntwo");
        }),
        ("a new file in new folders", |place| {
            place.write("/n/m/b.txt", "x")
        }),
        ("two of them", |place| {
            place.write("/n/m/b.txt", "x");
            place.write("/n/c.txt", "y");
        }),
        ("a new file that is empty", |place| place.write("/empty", "")),
        ("one that is removed again", |place| {
            place.write("/n/b.txt", "x");
            place.remove("/n/b.txt");
        }),
        ("a removal", |place| place.remove("/d")),
        ("a removal of what was edited", |place| {
            place.edit("/d/e/run.sh", "#!", "# !");
            place.remove("/d");
        }),
        ("a move of a folder", |place| place.rename("/d", "/n/m/e")),
        ("a move there and back", |place| {
            place.rename("/d/e", "/e");
            place.rename("/e", "/d/e");
        }),
        ("a move of a file, and an edit", |place| {
            place.rename("/d/e/run.sh", "/run.sh");
            place.edit("/run.sh", "#!", "# !");
        }),
        ("folders", |place| {
            let keep = &mut |image| {
                place.kept.push(image);
                Ok(())
            };
            place.project.make_folder(&path("/n/m/o"), keep).unwrap();
        }),
        ("a file in a folder that was made for it", |place| {
            let keep = &mut |image| {
                place.kept.push(image);
                Ok(())
            };
            place.project.make_folder(&path("/n"), keep).unwrap();
            place.write("/n/m/x", "x");
        }),
        ("binary and Latin-1", |place| {
            place.edit("/latin", "one", "two");
            let bytes = place
                .project
                .plan_bytes(&path("/bin"), b"\0\x02".to_vec(), "t", &place.cancel);
            place.apply(bytes.unwrap());
        }),
    ];
    for (what, change) in table {
        let mut place = Place::new(&[
            ("a.txt", b"one\r\ntwo\nthree"),
            ("d/e/run.sh", b"#!/bin/sh\n"),
            ("d/x", b""),
            ("latin", b"caf\xe9 one\n"),
            ("bin", b"\0\x01"),
        ]);
        fs::create_dir(place.full("d/nothing")).unwrap();
        #[cfg(unix)]
        fs::set_permissions(
            place.full("d/e/run.sh"),
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )
        .unwrap();
        let before = tree(place.folder.path());
        change(&mut place);
        let after = tree(place.folder.path());
        for round in 0..3 {
            place.undo(Extent::All);
            assert_eq!(tree(place.folder.path()), before, "{what}, round {round}");
            place.undo(Extent::All);
            assert_eq!(tree(place.folder.path()), after, "{what}, round {round}");
        }
    }
}

#[test]
fn what_was_changed_since_is_refused_with_all_three() {
    let mut place = Place::new(&[("a.txt", b"1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n")]);
    place.edit("/a.txt", "2\n3", "two\n3");
    place.edit("/a.txt", "11", "eleven");
    fs::write(
        place.full("a.txt"),
        "1\ntwo\n3\n4\n5\n6\n7\n8\n9\nten\neleven\n12\n",
    )
    .unwrap();
    let three = place.refusal("/a.txt", Extent::All);
    assert_eq!(three.free, [1]);
    insta::assert_snapshot!(three.changed.unwrap() + &three.since.unwrap(), @"
    --- /a.txt
    +++ /a.txt
    @@ -1,5 +1,5 @@
     1
    -2
    +two
     3
     4
     5
    @@ -8,5 +8,5 @@
     8
     9
     10
    -11
    +eleven
     12
    --- /a.txt
    +++ /a.txt
    @@ -7,6 +7,6 @@
     7
     8
     9
    -10
    +ten
     eleven
     12
    ");
    assert_eq!(place.refusal("/a.txt", Extent::Hunks(&[1, 2])).free, [1]);
    let number = place.plan("/a.txt", Extent::Hunks(&[3])).unwrap_err();
    assert_eq!(number.to_string(), "the diff of `/a.txt` has no hunk 3; it has 2");
}

#[test]
fn hunks_go_back_where_their_lines_are_now() {
    let mut place = Place::new(&[("a.txt", b"1\r\n2\r\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n")]);
    place.edit("/a.txt", "2\n3", "two\nand more\n3");
    place.edit("/a.txt", "11\n", "");
    let is = |place: &Place, text: &str| assert_eq!(place.content("a.txt").unwrap(), text.as_bytes());
    is(&place, "1\r\ntwo\r\nand more\r\n3\n4\n5\n6\n7\n8\n9\n10\n12\n");
    // Somebody else adds lines in front, in the middle, and changes the last one.
    fs::write(
        place.full("a.txt"),
        "0\n0\n1\r\ntwo\r\nand more\r\n3\n4\n5\nfive\n6\n7\n8\n9\n10\ntwelve\n",
    )
    .unwrap();
    let images = place.kept.clone();
    let refused = place.refusal("/a.txt", Extent::All);
    assert_eq!(refused.free, [1]);
    place.undo(Extent::Hunks(&[1]));
    is(&place, "0\n0\n1\r\n2\r\n3\n4\n5\nfive\n6\n7\n8\n9\n10\ntwelve\n");
    // That, too, can be undone.
    place.undo(Extent::All);
    fs::write(
        place.full("a.txt"),
        "0\n0\n1\r\ntwo\r\nand more\r\n3\n4\n5\nfive\n6\n7\n8\n9\n10\n12\n",
    )
    .unwrap();
    place.kept = images;
    assert_eq!(place.refusal("/a.txt", Extent::All).free, [1, 2]);
    place.undo(Extent::Hunks(&[2]));
    is(
        &place,
        "0\n0\n1\r\ntwo\r\nand more\r\n3\n4\n5\nfive\n6\n7\n8\n9\n10\n11\n12\n",
    );
}

#[test]
fn every_hunk_of_a_new_file_is_the_file() {
    let mut place = Place::new(&[]);
    place.write("/n/a.txt", "1\n");
    place.undo(Extent::Hunks(&[1]));
    assert_eq!(tree(place.folder.path()), [""; 0]);
}

#[test]
fn what_somebody_else_removed_or_made_is_refused() {
    let mut place = Place::new(&[("a", b"1\n"), ("b", b"1\n"), ("c", b"1\n")]);
    place.write("/a", "2\n");
    place.remove("/b");
    place.remove("/c");
    fs::remove_file(place.full("a")).unwrap();
    fs::write(place.full("b"), "other\n").unwrap();
    fs::create_dir(place.full("c")).unwrap();
    assert_eq!(place.refusal("/a", Extent::All).now, There::Nothing);
    assert_eq!(
        place.refusal("/b", Extent::All).now,
        There::File(Hash::of(b"other\n"))
    );
    assert_eq!(place.refusal("/c", Extent::All).now, There::Folder);
    // What is as it was already is no reason to refuse.
    fs::write(place.full("a"), "1\n").unwrap();
    let RevertPlan::Ready(ready) = place.plan("/a", Extent::All).unwrap() else {
        panic!("nothing is to be done");
    };
    assert!(!ready.is_some());
    #[cfg(unix)]
    {
        fs::remove_file(place.full("a")).unwrap();
        fs::write(place.full("elsewhere"), "2\n").unwrap();
        std::os::unix::fs::symlink("elsewhere", place.full("a")).unwrap();
        let error = place.plan("/a", Extent::All).unwrap_err();
        assert!(matches!(error, Error::ChangedSince { .. }), "{error}");
    }
}

#[test]
fn a_folder_that_something_was_put_in_stays() {
    let mut place = Place::new(&[]);
    place.write("/n/m/a", "1\n");
    fs::write(place.full("n/mine"), "").unwrap();
    place.undo(Extent::All);
    let names: Vec<_> = tree(place.folder.path())
        .iter()
        .map(|line| line.split(' ').next().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["n/", "n/mine"]);
}

/// As after a kill between the file and its folders, or a file that somebody removed by hand.
#[test]
fn the_folders_of_a_file_that_is_gone_already_go_as_well() {
    let mut place = Place::new(&[]);
    place.write("/n/m/a", "1\n");
    fs::remove_file(place.full("n/m/a")).unwrap();
    let kept = place.kept.clone();
    place.undo(Extent::All);
    assert_eq!(tree(place.folder.path()), [""; 0]);
    place.kept = kept;
    let RevertPlan::Ready(ready) = place.plan("/n/m/a", Extent::All).unwrap() else {
        panic!("nothing is to be done");
    };
    let nothing = &mut |_| panic!("nothing is there to keep");
    assert!(!place.project.revert(ready, nothing, &place.cancel).unwrap());
}

#[test]
fn what_changes_between_plan_and_effect_stays() {
    let mut place = Place::new(&[("a", b"1\n")]);
    place.write("/a", "2\n");
    place.write("/b", "2\n");
    for name in ["a", "b"] {
        let RevertPlan::Ready(ready) = place.plan(&format!("/{name}"), Extent::All).unwrap() else {
            panic!("it has not changed yet");
        };
        fs::write(place.full(name), "3\n").unwrap();
        let kept = &mut |_| panic!("nothing is kept of what is not changed");
        let error = place.project.revert(ready, kept, &place.cancel).unwrap_err();
        assert!(matches!(error, Error::ChangedSince { .. }), "{error}");
        assert_eq!(place.content(name).unwrap(), b"3\n");
    }
}

#[test]
fn of_a_large_file_the_places_are_kept() {
    let line = "0123456789abcdef\n";
    let large = line.repeat(MAX_WHOLE_KEPT_BYTES as usize / line.len() + 1);
    let before = format!("{large}one\n{large}");
    let mut place = Place::new(&[("a", before.as_bytes())]);
    place.edit("/a", "one", "two");
    assert!(matches!(place.kept[0].kept, Kept::Spans(_)));
    let difference = Difference::of(&place.kept[0], &place.kept[0]);
    assert_eq!((difference.diff, difference.lines), (None, None));
    let kept = place.kept.clone();
    place.undo(Extent::All);
    assert!(place.content("a").unwrap() == before.as_bytes());
    fs::write(place.full("a"), "short\n").unwrap();
    place.kept = kept;
    let refused = place.refusal("/a", Extent::All);
    assert_eq!(
        (refused.changed, refused.since, refused.free),
        (None, None, vec![])
    );
}

#[test]
fn a_difference_is_that_of_all_its_changes() {
    let mut place = Place::new(&[("a", b"1\n2\n3\n")]);
    place.edit("/a", "1", "one");
    place.edit("/a", "3\n", "3\n4\n5\n");
    let difference = Difference::of(&place.kept[0], &place.kept[1]);
    assert_eq!((difference.lines, difference.hunks), (Some((3, 1)), 1));
    insta::assert_snapshot!(difference.diff.unwrap(), @"
    --- /a
    +++ /a
    @@ -1,3 +1,5 @@
    -1
    +one
     2
     3
    +4
    +5
    ");
}

proptest::proptest! {
    /// Of two sets of lines changed apart from each other, putting back ours leaves theirs.
    #[test]
    fn what_others_changed_stays(
        ours in proptest::collection::vec(0_usize..40, 1..4),
        theirs in proptest::collection::vec(0_usize..40, 1..4),
        with in proptest::prop_oneof!["", "new\n", "one\ntwo\n"],
    ) {
        let far = |one: &usize| theirs.iter().all(|other| one.abs_diff(*other) > 8);
        proptest::prop_assume!(ours.iter().all(far));
        let text = |mine: bool, foreign: bool| -> String {
            (0..40).map(|line| match line {
                line if mine && ours.contains(&line) => with.clone(),
                line if foreign && theirs.contains(&line) => format!("other {line}\n{with}"),
                line => format!("{line}\n"),
            }).collect()
        };
        let mut place = Place::new(&[("a", text(false, false).as_bytes())]);
        place.write("/a", &text(true, false));
        fs::write(place.full("a"), text(true, true)).unwrap();
        let free = place.refusal("/a", Extent::All).free;
        place.undo(Extent::Hunks(&free));
        proptest::prop_assert_eq!(
            String::from_utf8(place.content("a").unwrap()).unwrap(),
            text(false, true)
        );
    }
}
