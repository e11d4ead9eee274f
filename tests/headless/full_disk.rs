//! A full disk: what is there stays, the user is told, and with room it goes on.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rtc_tests::{Workplace, assert_whole};

use crate::place::{alone, content, last_id, names, project, put, shown};
use rtc_tests::dialogue::{Dialogue, Ended, run};

/// The file that takes all the room.
const FILLER: &str = "lost+found/filler";

/// A small file system of its own, unmounted with the test.
pub(crate) struct Disk {
    folder: PathBuf,
}

impl Disk {
    /// `None` where this user may not mount. Root may, so that there, with `CI` being `true`, it is a failure.
    pub(crate) fn mount(folder: PathBuf, megabytes: u32) -> Option<Self> {
        std::fs::create_dir_all(&folder).expect("a folder is made");
        let mounted = Command::new("mount")
            .args([
                "-t",
                "tmpfs",
                "-o",
                &format!("size={megabytes}m,mode=0700"),
                "tmpfs",
            ])
            .arg(&folder)
            .output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self { folder });
        }
        let is_strict = std::env::var_os("CI").is_some_and(|value| value == "true");
        let is_root = std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
        assert!(
            !(is_strict && is_root),
            "root may not mount a small file system here, so that nothing of what a full disk leaves can be tested; in a \
             container it needs --cap-add=SYS_ADMIN"
        );
        eprintln!("SKIPPED, NOTHING WAS TESTED: only root can mount a small file system");
        None
    }

    /// Takes all the room there is.
    fn fill(&self) {
        // Where the system keeps what is its own, which is no file of anybody.
        std::fs::create_dir_all(self.folder.join("lost+found")).expect("a folder is made");
        let filler = self.folder.join(FILLER);
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(filler)
            .expect("a file is made");
        for size in [1 << 20, 4 << 10, 1] {
            loop {
                match file.write_all(&vec![b'x'; size]) {
                    Ok(()) => {}
                    Err(error) if error.kind() == ErrorKind::StorageFull => break,
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }

    /// Whether nothing may be written.
    pub(crate) fn read_only(&self, is_read_only: bool) {
        let option = if is_read_only { "remount,ro" } else { "remount,rw" };
        let mounted = Command::new("mount")
            .args(["-o", option])
            .arg(&self.folder)
            .status();
        assert!(mounted.is_ok_and(|status| status.success()), "{option}");
    }

    fn free(&self) {
        std::fs::remove_file(self.folder.join(FILLER)).expect("the filler is removed");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.folder).status();
    }
}

/// A place whose data folder is a disk of its own.
fn place() -> Option<(Workplace, Disk)> {
    let place = project(&[("notes.txt", "old\n")]);
    let disk = Disk::mount(place.data(), 64)?;
    Some((place, disk))
}

fn told_that_it_is_full(ended: &Ended) {
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
    assert!(ended.stderr.contains("the disk is"), "{}", ended.stderr);
    assert!(
        ended.stderr.to_lowercase().contains("free some space"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_new_turn_is_refused_and_all_that_was_there_stays() {
    let Some((place, disk)) = place() else { return };
    assert_eq!(alone(&place, "append 'one' to notes.txt", &[]).code, Some(0));
    let id = last_id(&place);
    let before = shown(&place, &id);
    disk.fill();
    for args in [&[][..], &["--continue"]] {
        told_that_it_is_full(&alone(&place, "append 'two' to notes.txt", args));
        // The reserve was given up: what is free now is not there for the filler for ever.
        disk.fill();
        told_that_it_is_full(&alone(&place, "append 'two' to notes.txt", args));
        assert_eq!(content(&place, "notes.txt"), "old\none\n");
        assert_eq!(
            shown(&place, &id),
            before,
            "what was there is unchanged and can be read"
        );
        assert_eq!(place.sessions().len(), 1);
    }
    disk.free();
    let ended = alone(&place, "append 'two' to notes.txt", &["--continue"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(content(&place, "notes.txt"), "old\none\ntwo\n");
    assert_whole(&shown(&place, &id));
    assert_eq!(alone(&place, "append 'three' to notes.txt", &[]).code, Some(0));
    assert_eq!(place.sessions().len(), 2);
}

#[test]
fn a_message_is_told_without_colours_where_nobody_looks() {
    let Some((place, disk)) = place() else { return };
    assert_eq!(alone(&place, "read notes.txt", &[]).code, Some(0));
    disk.fill();
    let ended = alone(&place, "read notes.txt", &[]);
    assert!(!ended.stderr.contains('\u{1b}'), "{:?}", ended.stderr);
}

#[test]
fn a_first_run_on_a_full_disk_is_told() {
    let Some((place, disk)) = place() else { return };
    disk.fill();
    told_that_it_is_full(&alone(&place, "read notes.txt", &[]));
    disk.free();
    let ended = alone(&place, "read notes.txt", &[]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

#[test]
fn a_turn_that_has_begun_is_finished_from_the_reserve() {
    let Some((place, disk)) = place() else { return };
    let args = ["--mode", "manual", "--ask", "prompt"];
    let mut dialogue = Dialogue::start(crate::place::request(
        &place,
        "replace old by new in notes.txt",
        &args,
    ));
    dialogue.hear("Run it?");
    disk.fill();
    dialogue.say("y");
    let ended = dialogue.finish();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(content(&place, "notes.txt"), "new\n");
    assert_whole(&shown(&place, &last_id(&place)));
    disk.fill();
    told_that_it_is_full(&alone(&place, "read notes.txt", &["--continue"]));
    assert_whole(&shown(&place, &last_id(&place)));
}

#[test]
fn a_turn_begun_before_a_crash_goes_on_once_there_is_room() {
    let Some((place, disk)) = place() else { return };
    let args = ["--mode", "manual", "--ask", "prompt"];
    let mut dialogue = Dialogue::start(crate::place::request(
        &place,
        "replace old by new in notes.txt",
        &args,
    ));
    dialogue.hear("Run it?");
    dialogue.signal(nix::sys::signal::Signal::SIGKILL);
    dialogue.wait();
    disk.fill();
    let before = shown(&place, &last_id(&place));
    assert_eq!(before["turns"][0]["status"], "interrupted");
    disk.free();
    let mut again = Dialogue::start(place.command(&["run", "--continue", "--ask", "prompt"]));
    again.hear("Run it?");
    again.say("y");
    assert_eq!(again.finish().code, Some(0));
    assert_eq!(content(&place, "notes.txt"), "new\n");
    assert_whole(&shown(&place, &last_id(&place)));
}

/// `run REQUEST` in a folder.
fn in_folder(place: &Workplace, folder: &Path, request: &str, args: &[&str]) -> Ended {
    let mut command = place.command(&["run", request]);
    command.arg("--root").arg(folder).args(args);
    run(command, b"")
}

#[test]
fn a_change_in_a_full_project_fails_and_leaves_the_old_file() {
    let place = Workplace::empty();
    let Some(disk) = Disk::mount(place.path().join("small"), 2) else {
        return;
    };
    let folder = disk.folder.join("project");
    let old = format!("old {}\n", "line ".repeat(200)).repeat(500);
    put(&folder, &[("notes.txt", &old)]);
    disk.fill();
    for (request, said) in [
        (
            "replace old by newer in notes.txt",
            "there is no room on the disk for `/notes.txt`; the file is as it was",
        ),
        (
            "append 'one more line' to notes.txt",
            "there is no room on the disk",
        ),
        (
            "overwrite notes.txt with 'a longer text than nothing'",
            "there is no room on the disk",
        ),
        ("create more.txt with 'some text'", "there is no room on the disk"),
        (
            "create a/b/c.txt with 'some text'",
            "there is no room on the disk",
        ),
    ] {
        let ended = in_folder(&place, &folder, request, &[]);
        assert_eq!(
            ended.code,
            Some(0),
            "the turn ends normally: {request}: {}",
            ended.stderr
        );
        assert!(ended.stdout.contains(said), "{request}: {}", ended.stdout);
        let now = std::fs::read_to_string(folder.join("notes.txt")).expect("it is there");
        assert!(now == old, "{request}: the old file is not intact");
        assert_eq!(
            names(&folder),
            ["notes.txt"],
            "{request}: something is left behind"
        );
        assert_whole(&shown(&place, &last_id(&place)));
    }
    disk.free();
    let ended = in_folder(
        &place,
        &folder,
        "replace old by newer in notes.txt",
        &["--continue"],
    );
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let now = std::fs::read_to_string(folder.join("notes.txt")).expect("it is there");
    assert!(now == old.replace("old", "newer"), "with room it is done");
}
