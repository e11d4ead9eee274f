//! A store that cannot be read, was copied in part, or may not be written.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rtc_tests::Workplace;
use rtc_tests::dialogue::run;
use serde_json::Value;

use crate::data_folder::without_rights;
use crate::full_disk::Disk;
use crate::place::{alone, last_id, project, request, results, shown, tidy};

/// A place with one session.
fn place() -> Workplace {
    let place = project(&[("notes.txt", "one\n")]);
    assert_eq!(alone(&place, "read notes.txt", &[]).code, Some(0));
    place
}

/// The files of a store by their names, without those that every start writes.
pub(crate) fn files(store: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![store.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder is listed") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(store).expect("it is beneath").to_owned();
            if !["lock", "reserve", "reserve-opening"]
                .iter()
                .any(|own| name == Path::new(own))
            {
                found.push((name, fs::read(&path).expect("a file is read")));
            }
        }
    }
    found.sort();
    found
}

/// What was set aside.
pub(crate) fn aside(place: &Workplace) -> Vec<PathBuf> {
    let entries = fs::read_dir(place.data()).expect("the data folder is listed");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let is_aside = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("store.damaged-")
    };
    paths.filter(is_aside).collect()
}

#[test]
fn a_store_that_cannot_be_read_is_kept_aside_and_the_program_goes_on() {
    let place = place();
    let database = place.data().join("store/db/db");
    let mut bytes = fs::read(&database).expect("the database is read");
    for byte in bytes.iter_mut().step_by(64) {
        *byte ^= 0xA5;
    }
    fs::write(&database, bytes).expect("the database is written");
    let before = files(&place.data().join("store"));

    let ended = alone(&place, "read notes.txt", &[]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let [aside] = &aside(&place)[..] else {
        panic!("{:?}", aside(&place))
    };
    assert!(files(aside) == before, "to the byte");
    let told = ended.stderr;
    assert!(told.contains("the sessions kept so far cannot be read"), "{told}");
    assert!(told.contains(&aside.display().to_string()), "{told}");
    assert!(told.contains("nothing of it was taken over"), "{told}");
    assert_eq!(place.sessions().len(), 1, "the new one");
    // Later starts tell it, too, until the folder is moved away.
    let again = alone(&place, "read notes.txt", &["--continue"]);
    assert_eq!(again.code, Some(0));
    assert!(again.stderr.contains("moved aside"), "{}", again.stderr);
    fs::rename(aside, place.path().join("kept")).expect("it is moved away");
    let again = alone(&place, "read notes.txt", &["--continue"]);
    assert_eq!(again.code, Some(0));
    assert!(!again.stderr.contains("moved aside"), "{}", again.stderr);
}

#[test]
fn what_can_be_read_of_a_damaged_store_is_there_at_once() {
    /// The most that a start may take.
    const START: Duration = Duration::from_secs(3);
    let place = place();
    for number in 0..6 {
        let text = format!("read notes.txt {number}");
        assert_eq!(alone(&place, &text, &[]).code, Some(0));
    }
    let before = place.sessions();
    let first = last_id(&place);
    let said = results(&shown(&place, &first));
    fs::write(place.data().join("store/store.json"), "{").expect("the header is written");
    let begun = Instant::now();
    let ended = run(place.command(&["sessions", "list"]), b"");
    let took = begun.elapsed();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(took < START, "{took:?}");
    assert!(ended.stderr.contains("7 sessions with "), "{}", ended.stderr);
    assert_eq!(aside(&place).len(), 1);
    let ids = |sessions: &[Value]| {
        sessions
            .iter()
            .map(|session| session["id"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(&place.sessions()), ids(&before), "in their order");
    assert_eq!(results(&shown(&place, &first)), said);
    let again = alone(&place, "read notes.txt", &["--continue"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(place.sessions().len(), before.len());
}

#[test]
fn a_store_that_was_copied_in_part_is_whole_or_kept_aside() {
    let whole = place();
    let store = whole.data().join("store");
    let (mut opened, mut set_aside) = (0, 0);
    for (name, content) in files(&store) {
        for length in [None, Some(0), Some(content.len() / 2)] {
            let place = project(&[("notes.txt", "one\n")]);
            let copied = Command::new("cp")
                .arg("-r")
                .arg(whole.data())
                .arg(place.data())
                .status();
            assert!(copied.is_ok_and(|status| status.success()));
            let file = place.data().join("store").join(&name);
            match length {
                None => fs::remove_file(&file).expect("a file is removed"),
                Some(length) => fs::write(&file, &content[..length]).expect("a file is written"),
            }
            let damaged = files(&place.data().join("store"));
            let ended = alone(&place, "read notes.txt", &[]);
            let case = format!("{} cut to {length:?}: {}", name.display(), ended.stderr);
            assert_eq!(ended.code, Some(0), "{case}");
            match &aside(&place)[..] {
                [] => {
                    assert_eq!(place.sessions().len(), 2, "{case}");
                    opened += 1;
                }
                [aside] => {
                    assert!(files(aside) == damaged, "{case}");
                    assert!(ended.stderr.contains("moved aside"), "{case}");
                    let is_nothing = ended.stderr.contains("nothing of it was taken over");
                    assert_eq!(place.sessions().len(), if is_nothing { 1 } else { 2 }, "{case}");
                    set_aside += 1;
                }
                more => panic!("{case}: {more:?}"),
            }
        }
    }
    assert!(
        opened > 0 && set_aside > 2,
        "{opened} opened, {set_aside} set aside"
    );
}

#[test]
fn a_store_on_a_disk_that_is_read_only_is_told_and_left_as_it_is() {
    let place = project(&[("notes.txt", "one\n")]);
    let Some(disk) = Disk::mount(place.data(), 64) else {
        return;
    };
    assert_eq!(alone(&place, "read notes.txt", &[]).code, Some(0));
    disk.read_only(true);
    let before = files(&place.data());
    for args in [&[][..], &["--continue"]] {
        let ended = alone(&place, "read notes.txt", args);
        insta::allow_duplicates! {
            insta::assert_snapshot!(tidy(&place, &ended.stderr), @"rtc-headless: the data folder PLACE/data cannot be used: the store failed to open the lock at PLACE/data/store/lock: Read-only file system (os error 30); name another one with --data");
        }
        assert_eq!(ended.code, Some(2));
        assert!(files(&place.data()) == before);
    }
    disk.read_only(false);
    assert_eq!(alone(&place, "read notes.txt", &["--continue"]).code, Some(0));
}

#[test]
fn a_store_without_rights_is_told_and_left_as_it_is() {
    let place = place();
    let store = place.data().join("store");
    let set = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("the rights are set");
    };
    let before = files(&store);
    set(&store.join("lock"), 0o444);
    set(&store, 0o555);
    let Some(command) = without_rights(request(&place, "read notes.txt", &[])) else {
        return;
    };
    let ended = run(command, b"");
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("Permission denied"), "{}", ended.stderr);
    assert!(ended.stderr.contains("cannot be used"), "{}", ended.stderr);
    assert!(files(&store) == before && aside(&place).is_empty());
    set(&store, 0o700);
    set(&store.join("lock"), 0o600);
    assert_eq!(place.sessions().len(), 1);
}
