use std::fs::{self, File};
use std::path::PathBuf;

use super::*;
use crate::WriteMode;
use crate::preimage::{Kept, There};

pub(super) struct Folder {
    pub(super) directory: tempfile::TempDir,
    pub(super) project: Project,
    pub(super) cancel: CancellationToken,
}

impl Folder {
    pub(super) fn with(content: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("a.txt"), content).unwrap();
        let project = Project::open(directory.path()).unwrap();
        Self {
            directory,
            project,
            cancel: CancellationToken::new(),
        }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(super) fn content(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(super) fn names(&self) -> String {
        let mut names: Vec<String> = fs::read_dir(self.directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names.join(" ")
    }

    pub(super) fn edit(&self, name: &str, old: &str, new: &str) -> Planned {
        let path = VPath::parse(name).unwrap();
        self.project
            .plan_edit(&path, old, new, false, "call", &self.cancel)
            .unwrap()
    }

    pub(super) fn write(&self, name: &str, content: &str) -> Planned {
        let path = VPath::parse(name).unwrap();
        self.project
            .plan_write(&path, content, WriteMode::Overwrite, "call", &self.cancel)
            .unwrap()
    }

    pub(super) fn apply(&self, planned: Planned) -> Result<Applied, Error> {
        self.project
            .apply(planned, &mut |_: PreImage| Ok(()), &self.cancel)
    }

    pub(super) fn recover(&self, mark: &Mark) -> Recovery {
        self.project.recover(mark, &self.cancel).unwrap()
    }
}

#[test]
fn the_pre_image_is_kept_before_anything_changes() {
    let folder = Folder::with("one\ntwo\n");
    let mut kept = None;
    let planned = folder.edit("/a.txt", "two", "2");
    let mut keep = |image: PreImage| {
        assert_eq!(folder.content("a.txt"), "one\ntwo\n");
        kept = Some(image);
        Ok(())
    };
    let applied = folder.project.apply(planned, &mut keep, &folder.cancel).unwrap();
    assert_eq!(folder.content("a.txt"), "one\n2\n");
    assert_eq!(
        applied.identity,
        folder.project.stat(&applied.path).unwrap().identity
    );
    let kept = kept.unwrap();
    assert_eq!(kept.after, There::File(applied.hash));
    assert_eq!(kept.before(b"one\n2\n").unwrap().unwrap(), b"one\ntwo\n");

    let mut kept = None;
    let mut keep = |image: PreImage| {
        kept = Some(image.kept);
        Ok(())
    };
    folder
        .project
        .apply(folder.write("/a.txt", "new"), &mut keep, &folder.cancel)
        .unwrap();
    assert_eq!(kept, Some(Kept::Whole(b"one\n2\n".to_vec())));
    let mut keep = |image: PreImage| {
        assert_eq!((image.before, image.kept), (There::Nothing, Kept::Absent));
        Ok(())
    };
    folder
        .project
        .apply(folder.write("/b.txt", "new"), &mut keep, &folder.cancel)
        .unwrap();
}

/// After a kill it is known from what was kept that a folder which is there was made for the change.
#[test]
fn folders_are_made_once_it_is_kept_that_they_are() {
    let folder = Folder::with("");
    let planned = folder.write("/n/m/b.txt", "new");
    let mut keep = |image: PreImage| {
        assert_eq!((folder.names().as_str(), image.made_folders), ("a.txt", 2));
        Ok(())
    };
    folder.project.apply(planned, &mut keep, &folder.cancel).unwrap();
    assert_eq!(folder.content("n/m/b.txt"), "new");
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
fn a_change_is_told_as_made_when_it_is_and_not_before() {
    let folder = Folder::with("old");
    let told = |name: &str, prepare: &dyn Fn(&Planned), cancel: &CancellationToken| {
        let mut told = Told::default();
        let planned = folder.write(name, "new");
        prepare(&planned);
        let result = folder.project.apply(planned, &mut told, cancel);
        (told.0.join(", "), result.is_ok())
    };
    let stopped = CancellationToken::new();
    stopped.cancel();
    let told_of = |text: &str, ok| (text.to_owned(), ok);
    let nothing: &dyn Fn(&Planned) = &|_| {};
    assert_eq!(told("/new", nothing, &stopped), told_of("keep /new", false));
    // Nothing can be made where something else has the name of the temporary file.
    let in_the_way = |planned: &Planned| {
        fs::create_dir(folder.directory.path().join(&planned.mark().temporary)).unwrap();
    };
    assert_eq!(
        told("/a.txt", &in_the_way, &folder.cancel),
        told_of("keep /a.txt", false)
    );
    fs::remove_dir(folder.path(&folder.write("/a.txt", "new").mark().temporary)).unwrap();
    assert_eq!(
        told("/new", nothing, &folder.cancel),
        told_of("keep /new, made /new", true)
    );
    #[cfg(unix)]
    {
        fs::hard_link(
            folder.directory.path().join("a.txt"),
            folder.directory.path().join("other"),
        )
        .unwrap();
        assert_eq!(
            told("/a.txt", nothing, &folder.cancel),
            told_of("keep /a.txt, made /a.txt", true)
        );
    }
}

#[test]
fn what_cannot_be_kept_or_is_cancelled_changes_nothing() {
    let folder = Folder::with("old");
    for name in ["/a.txt", "/new/deep/b.txt"] {
        let refuse = &mut |image: PreImage| {
            Err(Error::NotKept {
                path: image.path,
                reason: "no room".to_owned(),
            })
        };
        let result = folder
            .project
            .apply(folder.write(name, "new"), refuse, &folder.cancel);
        assert!(matches!(result, Err(Error::NotKept { .. })));
        let planned = folder.write(name, "new");
        let cancelled = CancellationToken::new();
        let cancel_late = &mut |_: PreImage| {
            cancelled.cancel();
            Ok(())
        };
        let result = folder.project.apply(planned, cancel_late, &cancelled);
        assert!(matches!(result, Err(Error::Cancelled)));
        assert_eq!(
            (folder.names().as_str(), folder.content("a.txt").as_str()),
            ("a.txt", "old")
        );
    }
}

#[test]
fn a_file_that_another_program_changed_is_left_to_it() {
    let folder = Folder::with("old");
    for (planned, swap) in [
        (folder.edit("/a.txt", "old", "new"), "OLD"),
        (folder.write("/a.txt", "new"), "something longer"),
    ] {
        fs::write(folder.path("a.txt"), swap).unwrap();
        insta::allow_duplicates! {
            insta::assert_snapshot!(folder.apply(planned).unwrap_err(), @"`/a.txt` was changed by another program in the meantime; nothing was written, read it again");
        }
        assert_eq!(
            (folder.names().as_str(), folder.content("a.txt").as_str()),
            ("a.txt", swap)
        );
        fs::write(folder.path("a.txt"), "old").unwrap();
    }
    let planned = folder.write("/a.txt", "new");
    fs::remove_file(folder.path("a.txt")).unwrap();
    assert!(matches!(folder.apply(planned), Err(Error::ChangedSince { .. })));
    let planned = folder.write("/a.txt", "new");
    fs::write(folder.path("a.txt"), "theirs").unwrap();
    assert!(matches!(folder.apply(planned), Err(Error::ChangedSince { .. })));
    assert_eq!(folder.content("a.txt"), "theirs");
}

#[test]
fn even_in_the_last_moment_nothing_of_another_program_is_lost() {
    let folder = Folder::with("old");
    let planned = folder.edit("/a.txt", "old", "new");
    // `keep` runs after the file was looked at and before it is exchanged.
    let mut meanwhile = |_: PreImage| {
        fs::write(folder.path("other"), "theirs").unwrap();
        fs::rename(folder.path("other"), folder.path("a.txt")).unwrap();
        Ok(())
    };
    let result = folder.project.apply(planned, &mut meanwhile, &folder.cancel);
    assert!(matches!(result, Err(Error::ChangedSince { .. })));
    assert_eq!(
        (folder.names().as_str(), folder.content("a.txt").as_str()),
        ("a.txt", "theirs")
    );

    let planned = folder.write("/b.txt", "new");
    let mut meanwhile = |_: PreImage| {
        fs::write(folder.path("b.txt"), "theirs").unwrap();
        Ok(())
    };
    let result = folder.project.apply(planned, &mut meanwhile, &folder.cancel);
    assert!(matches!(result, Err(Error::ChangedSince { .. })));
    assert_eq!(
        (folder.names().as_str(), folder.content("b.txt").as_str()),
        ("a.txt b.txt", "theirs")
    );
}

#[test]
fn the_same_bytes_written_again_are_no_change() {
    let folder = Folder::with("one two");
    let planned = folder.edit("/a.txt", "one", "1");
    let later = std::time::UNIX_EPOCH + std::time::Duration::from_secs(2_000_000_000);
    File::options()
        .write(true)
        .open(folder.path("a.txt"))
        .unwrap()
        .set_modified(later)
        .unwrap();
    folder.apply(planned).unwrap();
    let planned = folder.edit("/a.txt", "two", "2");
    fs::remove_file(folder.path("a.txt")).unwrap();
    fs::write(folder.path("a.txt"), "1 two").unwrap();
    folder.apply(planned).unwrap();
    assert_eq!(folder.content("a.txt"), "1 2");
}

#[test]
fn recovery_tells_what_happened() {
    let folder = Folder::with("old");
    let planned = folder.edit("/a.txt", "old", "new");
    let mark = planned.mark().clone();
    assert_eq!(folder.recover(&mark), Recovery::NotApplied);
    // Killed while the temporary file was written.
    fs::write(folder.path(&mark.temporary), "ne").unwrap();
    assert_eq!(folder.recover(&mark), Recovery::NotApplied);
    assert_eq!(folder.names(), "a.txt");
    // The same change is made again over what was left behind.
    fs::write(folder.path(&mark.temporary), "ne").unwrap();
    folder.apply(planned).unwrap();
    assert_eq!(
        (folder.recover(&mark), folder.names().as_str()),
        (Recovery::Applied, "a.txt")
    );
    // Killed after the exchange: the old file still has the temporary name.
    fs::write(folder.path(&mark.temporary), "old").unwrap();
    assert_eq!(
        (folder.recover(&mark), folder.names().as_str()),
        (Recovery::Applied, "a.txt")
    );
    fs::write(folder.path("a.txt"), "else").unwrap();
    assert_eq!(folder.recover(&mark), Recovery::Neither);
    fs::remove_file(folder.path("a.txt")).unwrap();
    assert_eq!(folder.recover(&mark), Recovery::Neither);
    // Killed after the exchange had displaced what another program had just written.
    fs::write(folder.path("a.txt"), "new").unwrap();
    fs::write(folder.path(&mark.temporary), "theirs").unwrap();
    assert_eq!(
        (folder.recover(&mark), folder.content("a.txt").as_str()),
        (Recovery::Neither, "theirs")
    );
    assert_eq!(folder.names(), "a.txt");
}

/// A program's change has no mark of its own; what it kept names it, from before there is a temporary file.
#[test]
fn what_a_change_kept_is_enough_to_tidy_up_after_it() {
    for (name, before, temporary) in [
        ("/a.txt", "old", "ne"),
        ("/b.txt", "", "ne"),
        ("/a.txt", "old", "old"),
    ] {
        let folder = Folder::with("old");
        let planned = folder.write(name, "new");
        let left = folder.path(&planned.mark().temporary);
        let mut kept = None;
        let mut keep = |image: PreImage| {
            assert!(!left.exists(), "it is known whose it is before it is there");
            kept = Some(image);
            Ok(())
        };
        folder.project.apply(planned, &mut keep, &folder.cancel).unwrap();
        let names = folder.names();
        let kept = kept.unwrap();
        let recover = || {
            folder
                .project
                .recover_kept(&kept, "call", &folder.cancel)
                .unwrap()
        };
        fs::write(&left, temporary).unwrap();
        if temporary == before {
            // Killed after the exchange.
            assert_eq!(recover(), Recovery::Applied);
            assert_eq!(folder.content("a.txt"), "new");
        } else if before.is_empty() {
            fs::remove_file(folder.path("b.txt")).unwrap();
            assert_eq!(recover(), Recovery::NotApplied);
            fs::write(folder.path("b.txt"), "").unwrap();
        } else {
            fs::write(folder.path("a.txt"), before).unwrap();
            assert_eq!(recover(), Recovery::NotApplied);
            assert_eq!(folder.content("a.txt"), "old");
        }
        assert_eq!(folder.names(), names, "nothing is left over");
    }
}

#[test]
fn recovery_of_a_file_that_should_be_new() {
    let folder = Folder::with("");
    let planned = folder.write("/n/b.txt", "new");
    let mark = planned.mark().clone();
    assert_eq!(folder.recover(&mark), Recovery::NotApplied);
    folder.apply(planned).unwrap();
    assert_eq!(folder.recover(&mark), Recovery::Applied);
    fs::write(folder.path("n/b.txt"), "else").unwrap();
    assert_eq!(folder.recover(&mark), Recovery::Neither);
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn the_mode_is_kept() {
        let folder = Folder::with("old");
        fs::set_permissions(folder.path("a.txt"), fs::Permissions::from_mode(0o755)).unwrap();
        folder.apply(folder.edit("/a.txt", "old", "new")).unwrap();
        folder.apply(folder.write("/a.txt", "newer")).unwrap();
        assert_eq!(fs::metadata(folder.path("a.txt")).unwrap().mode() & 0o7777, 0o755);
        folder.apply(folder.write("/b.txt", "x")).unwrap();
        let plain = folder.path("plain");
        fs::write(&plain, "x").unwrap();
        let mode = |path: &std::path::Path| fs::metadata(path).unwrap().mode();
        assert_eq!(
            mode(&folder.path("b.txt")),
            mode(&plain),
            "a new file has the mode that any new file has"
        );
    }

    #[test]
    fn extended_attributes_are_kept() {
        let folder = Folder::with("old");
        let path = folder.path("a.txt");
        let flags = rustix::fs::XattrFlags::empty();
        if rustix::fs::setxattr(&path, "user.note", b"kept", flags).is_err() {
            return skipped("the file system of temporary files has no extended attributes");
        }
        folder.apply(folder.edit("/a.txt", "old", "new")).unwrap();
        let mut value = Vec::with_capacity(16);
        rustix::fs::getxattr(&path, "user.note", rustix::buffer::spare_capacity(&mut value)).unwrap();
        assert_eq!(value, b"kept");
    }

    #[test]
    fn the_owner_is_kept() {
        let folder = Folder::with("old");
        let path = folder.path("a.txt");
        if std::os::unix::fs::chown(&path, Some(12_345), Some(12_345)).is_err() {
            return skipped("only root can give files away");
        }
        folder.apply(folder.edit("/a.txt", "old", "new")).unwrap();
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!((metadata.uid(), metadata.gid()), (12_345, 12_345));
    }

    #[test]
    fn a_link_stays_a_link_and_its_target_changes() {
        let folder = Folder::with("old");
        symlink("a.txt", folder.path("link")).unwrap();
        let applied = folder.apply(folder.edit("/link", "old", "new")).unwrap();
        assert_eq!(applied.path.as_str(), "/a.txt");
        assert!(fs::symlink_metadata(folder.path("link")).unwrap().is_symlink());
        assert_eq!(folder.content("a.txt"), "new");
    }

    #[test]
    fn a_file_with_several_names_stays_one_file() {
        let folder = Folder::with("one two three");
        fs::hard_link(folder.path("a.txt"), folder.path("b.txt")).unwrap();
        for (old, new) in [("two", "2"), ("three", "three and four"), ("one", "1")] {
            let mut kept = None;
            let before = folder.content("a.txt");
            let mut keep = |image: PreImage| {
                kept = Some(image);
                Ok(())
            };
            let applied = folder
                .project
                .apply(folder.edit("/a.txt", old, new), &mut keep, &folder.cancel)
                .unwrap();
            let after = folder.content("b.txt");
            assert_eq!(
                (applied.hash, &after),
                (Hash::of(after.as_bytes()), &before.replace(old, new))
            );
            assert_eq!(
                kept.unwrap().before(after.as_bytes()).unwrap().unwrap(),
                before.as_bytes()
            );
        }
        assert_eq!(folder.content("a.txt"), "1 2 three and four");
        assert_eq!(
            (
                folder.names().as_str(),
                fs::metadata(folder.path("a.txt")).unwrap().nlink()
            ),
            ("a.txt b.txt", 2)
        );
    }

    /// As in a package store: a file of the project is another program's as well.
    #[test]
    fn a_name_outside_of_the_project_keeps_its_content() {
        let outside = tempfile::tempdir().unwrap();
        let folder = Folder::with("one two");
        fs::create_dir(folder.path("d")).unwrap();
        fs::hard_link(folder.path("a.txt"), folder.path("d/b.txt")).unwrap();
        fs::hard_link(folder.path("a.txt"), outside.path().join("c.txt")).unwrap();
        let planned = folder.edit("/a.txt", "two", "2");
        insta::assert_snapshot!(planned.note().unwrap(), @"the file has 3 names (hard links), of which 2 are in the project; it is parted from the others, which keep the old content");
        folder.apply(planned).unwrap();
        assert_eq!(folder.content("a.txt"), "one 2");
        assert_eq!(
            fs::read_to_string(outside.path().join("c.txt")).unwrap(),
            "one two"
        );
        assert_eq!(folder.content("d/b.txt"), "one two");

        // The other name comes after the plan.
        fs::remove_file(folder.path("d/b.txt")).unwrap();
        for in_the_project in [false, true] {
            fs::remove_file(outside.path().join("c.txt")).unwrap();
            let content = folder.content("a.txt");
            let inside = folder.path("d/b.txt");
            if in_the_project {
                fs::hard_link(folder.path("a.txt"), &inside).unwrap();
            }
            let planned = folder.edit("/a.txt", "one", "one and");
            assert_eq!(planned.note(), None);
            fs::hard_link(folder.path("a.txt"), outside.path().join("c.txt")).unwrap();
            folder.apply(planned).unwrap();
            let others = fs::read_to_string(outside.path().join("c.txt")).unwrap();
            assert_eq!(
                (folder.content("a.txt"), others),
                (content.replace("one", "one and"), content)
            );
        }
    }

    #[test]
    fn a_folder_swapped_for_a_link_after_the_plan_is_refused() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("b.txt"), "old").unwrap();
        let folder = Folder::with("");
        fs::create_dir(folder.path("d")).unwrap();
        fs::create_dir(folder.path("inside")).unwrap();
        for target in [outside.path().to_owned(), PathBuf::from("inside")] {
            fs::write(folder.path("d/b.txt"), "old").unwrap();
            fs::write(folder.path("inside/b.txt"), "old").unwrap();
            let planned = folder.edit("/d/b.txt", "old", "new");
            let created = folder.write("/d/new.txt", "new");
            fs::rename(folder.path("d"), folder.path("moved")).unwrap();
            symlink(&target, folder.path("d")).unwrap();
            let mark = planned.mark().clone();
            assert!(matches!(folder.apply(planned), Err(Error::ChangedSince { .. })));
            assert!(matches!(folder.apply(created), Err(Error::ChangedSince { .. })));
            assert_eq!(folder.recover(&mark), Recovery::Neither);
            assert_eq!(fs::read_to_string(outside.path().join("b.txt")).unwrap(), "old");
            assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
            assert_eq!(folder.content("inside/b.txt"), "old");
            fs::remove_file(folder.path("d")).unwrap();
            fs::rename(folder.path("moved"), folder.path("d")).unwrap();
        }
    }

    fn skipped(why: &str) {
        // A test that cannot run here says so.
        let _ = writeln!(io::stderr(), "skipped: {why}");
    }

    /// A file system of one megabyte, unmounted when it is dropped.
    #[cfg(target_os = "linux")]
    struct Small(tempfile::TempDir);

    #[cfg(target_os = "linux")]
    impl Small {
        fn mount() -> Option<Self> {
            let directory = tempfile::tempdir().unwrap();
            let status = std::process::Command::new("mount")
                .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
                .arg(directory.path())
                .stderr(std::process::Stdio::null())
                .status();
            status
                .is_ok_and(|status| status.success())
                .then_some(Self(directory))
        }
    }

    #[cfg(target_os = "linux")]
    impl Drop for Small {
        fn drop(&mut self) {
            let _ = std::process::Command::new("umount").arg(self.0.path()).status();
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_disk_leaves_the_old_file_and_nothing_else() {
        let Some(small) = Small::mount() else {
            return skipped("only root can mount a small file system");
        };
        let root = small.0.path();
        let old = "a line of text\n".repeat(40_000);
        fs::write(root.join("a.txt"), &old).unwrap();
        fs::write(root.join("b.txt"), "small\n").unwrap();
        let project = Project::open(root).unwrap();
        let cancel = CancellationToken::new();
        let path = |name: &str| VPath::parse(name).unwrap();
        let names = || fs::read_dir(root).unwrap().count();

        // The copy does not fit beside the file.
        let planned = project
            .plan_write(
                &path("/a.txt"),
                &old.replace("text", "TEXT"),
                WriteMode::Overwrite,
                "1",
                &cancel,
            )
            .unwrap();
        insta::assert_snapshot!(project.apply(planned, &mut |_: PreImage| Ok(()), &cancel).unwrap_err(), @"there is no room on the disk for `/a.txt`; the file is as it was");
        assert_eq!(
            (fs::read_to_string(root.join("a.txt")).unwrap() == old, names()),
            (true, 2)
        );

        let planned = project
            .plan_write(&path("/new/c.txt"), &old, WriteMode::Overwrite, "2", &cancel)
            .unwrap();
        assert!(matches!(
            project.apply(planned, &mut |_: PreImage| Ok(()), &cancel),
            Err(Error::Full { .. })
        ));
        assert_eq!(names(), 2);

        // A file with two names is written in place, and growing it does not fit.
        fs::hard_link(root.join("b.txt"), root.join("d.txt")).unwrap();
        let planned = project
            .plan_write(&path("/b.txt"), &old, WriteMode::Overwrite, "3", &cancel)
            .unwrap();
        assert!(matches!(
            project.apply(planned, &mut |_: PreImage| Ok(()), &cancel),
            Err(Error::Full { .. })
        ));
        assert_eq!(
            (fs::read_to_string(root.join("d.txt")).unwrap().as_str(), names()),
            ("small\n", 3)
        );
    }
}
