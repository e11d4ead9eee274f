//! Data folders that cannot be used: without rights, in use, damaged, of another version. Nothing of them is changed.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

use rtc_tests::{Workplace, binary};

use crate::damaged_store::{aside, files};
use crate::place::{alone, content, project, request, tidy};
use rtc_tests::dialogue::{Dialogue, run};

/// The same command without the rights that root has over files of its own that it may not read.
pub(crate) fn without_rights(command: Command) -> Option<Command> {
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let owner = std::fs::metadata(temporary.path())
        .expect("the folder is there")
        .uid();
    if owner != 0 {
        return Some(command);
    }
    const DROP: [&str; 2] = ["--bounding-set=-all", "--inh-caps=-all"];
    let able = Command::new("setpriv").args(DROP).arg("true").status();
    if !able.is_ok_and(|status| status.success()) {
        eprintln!("skipped: root reads everything, and setpriv cannot drop that right here");
        return None;
    }
    let mut dropped = Command::new("setpriv");
    dropped
        .args(DROP)
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => dropped.env(name, value),
            None => dropped.env_remove(name),
        };
    }
    Some(dropped)
}

#[test]
fn a_folder_without_rights_is_told() {
    let place = project(&[
        ("notes.txt", "one\n"),
        ("closed/notes.txt", "one\n"),
        ("fixed/notes.txt", "one\n"),
    ]);
    let rights = |name: &str, mode: u32| {
        let rights = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(place.root().join(name), rights).expect("the rights are set");
    };
    rights("closed", 0o000);
    rights("fixed", 0o555);
    let project = {
        let mut command = place.command(&["run", "read notes.txt"]);
        command.arg("--root").arg(place.root().join("closed"));
        command
    };
    let data = |name: &str| {
        let mut command = Command::new(binary());
        command
            .args(["run", "read notes.txt", "--model", "offline", "--data"])
            .arg(place.root().join(name));
        command
    };
    let mut told = String::new();
    for (case, command) in [
        ("project", project),
        ("data", data("fixed/data")),
        ("closed data", data("closed")),
    ] {
        let Some(command) = without_rights(command) else {
            return;
        };
        let ended = run(command, b"");
        assert_eq!(ended.stdout, "");
        told.push_str(&format!(
            "{case}: exit {:?}\n{}\n",
            ended.code,
            tidy(&place, &ended.stderr)
        ));
    }
    insta::assert_snapshot!(told, @"
    project: exit Some(2)
    rtc-headless: the folder `PLACE/project/closed` cannot be opened (permission denied); give this user the right to read it, or choose another folder

    data: exit Some(2)
    rtc-headless: the data folder PLACE/project/fixed/data cannot be used: Permission denied (os error 13); name another one with --data

    closed data: exit Some(2)
    rtc-headless: the data folder PLACE/project/closed cannot be used: Permission denied (os error 13); name another one with --data
    ");
    rights("closed", 0o755);
    rights("fixed", 0o755);
}

#[test]
fn a_folder_of_the_user_is_not_taken_for_data() {
    let place = project(&[("notes.txt", "one\n")]);
    for args in [
        &["sessions", "list"][..],
        &["run", "read notes.txt"],
        &["run", "--continue"],
    ] {
        let mut command = Command::new(binary());
        command
            .args(args)
            .arg("--data")
            .arg(place.root())
            .env_remove("RTC_MODEL");
        let ended = run(command, b"");
        insta::allow_duplicates! {
            insta::assert_snapshot!(tidy(&place, &ended.stderr), @"rtc-headless: the folder PLACE/project is not empty and holds no data of this program; name an empty or new folder with --data");
        }
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{args:?}");
    }
    assert_eq!(crate::place::names(&place.root()), ["notes.txt"]);
}

#[test]
fn whoever_only_looks_makes_no_data_folder() {
    let place = project(&[]);
    let listed = run(place.command(&["sessions", "list"]), b"");
    assert_eq!(
        (listed.code, listed.stderr.trim()),
        (Some(0), "There are no sessions yet.")
    );
    let listed = run(place.command(&["sessions", "list", "--output", "json"]), b"");
    assert_eq!((listed.code, listed.stdout.as_str()), (Some(0), "[]\n"));
    let shown = run(place.command(&["sessions", "show", "0189"]), b"");
    assert_eq!(shown.code, Some(2));
    assert!(
        shown.stderr.contains("there is no session 0189"),
        "{}",
        shown.stderr
    );
    assert!(!place.data().exists());
    // An empty one stays empty.
    std::fs::create_dir(place.data()).expect("a folder is made");
    assert_eq!(run(place.command(&["sessions", "list"]), b"").code, Some(0));
    assert!(crate::place::names(&place.data()).is_empty());
}

#[test]
fn a_data_folder_that_is_a_file_is_told() {
    let place = project(&[("notes.txt", "one\n")]);
    std::fs::write(place.data(), "mine").expect("a file is written");
    let ended = alone(&place, "read notes.txt", &[]);
    insta::assert_snapshot!(tidy(&place, &ended.stderr), @"rtc-headless: the data folder PLACE/data cannot be used: it is a file; name another one with --data");
    assert_eq!(ended.code, Some(2));
    assert_eq!(
        std::fs::read_to_string(place.data()).expect("it is there"),
        "mine"
    );
}

#[test]
fn a_data_folder_in_use_is_left_to_its_user() {
    let place = Workplace::empty();
    let mut first = Dialogue::start(request(
        &place,
        "create new.txt with 'x'",
        &["--mode", "manual", "--ask", "prompt"],
    ));
    first.hear("Run it?");
    for second in [
        request(&place, "read notes.txt", &[]),
        place.command(&["sessions", "list"]),
    ] {
        let ended = run(second, b"");
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
        insta::allow_duplicates! {
            let told = tidy(&place, &ended.stderr).replace(&format!("process {}", first.id()), "process N");
            insta::assert_snapshot!(told, @"rtc-headless: process N is using the data folder PLACE/data, and has no port over which a command could speak to it; wait for its end or stop it, or name another folder with --data");
        }
    }
    first.say("y");
    assert_eq!(first.finish().code, Some(0), "the first one was not disturbed");
    assert_eq!(content(&place, "new.txt"), "x");
}

#[test]
fn a_damaged_identity_is_told_and_never_made_anew() {
    let place = project(&[("notes.txt", "one\n")]);
    assert_eq!(alone(&place, "read notes.txt", &[]).code, Some(0));
    let path = place.data().join("identity.json");
    let whole = std::fs::read(&path).expect("the file is there");
    let mut told = String::new();
    for damaged in ["", "{", "{\"user_id\":\"me\"}"] {
        std::fs::write(&path, damaged).expect("the file is written");
        let ended = alone(&place, "read notes.txt", &[]);
        assert_eq!(ended.code, Some(2));
        assert_eq!(
            std::fs::read_to_string(&path).expect("it is there"),
            damaged,
            "it is left as it is"
        );
        told.push_str(&tidy(&place, &ended.stderr));
    }
    insta::assert_snapshot!(told, @"
    rtc-headless: PLACE/data/identity.json is damaged (EOF while parsing a value at line 1 column 0), and without it the sessions of this data folder are not found; restore the file, or name another folder with --data; nothing was changed
    rtc-headless: PLACE/data/identity.json is damaged (EOF while parsing an object at line 1 column 1), and without it the sessions of this data folder are not found; restore the file, or name another folder with --data; nothing was changed
    rtc-headless: PLACE/data/identity.json is damaged (UUID parsing failed: invalid character: found `m` at 0 at line 1 column 15), and without it the sessions of this data folder are not found; restore the file, or name another folder with --data; nothing was changed
    ");
    std::fs::write(&path, whole).expect("the file is written");
    assert_eq!(place.sessions().len(), 1, "restored, all is there again");
}

#[test]
fn a_store_of_a_newer_version_is_left_alone() {
    let place = project(&[("notes.txt", "one\n")]);
    assert_eq!(alone(&place, "read notes.txt", &[]).code, Some(0));
    let path = place.data().join("store/store.json");
    let text = std::fs::read_to_string(&path).expect("the header is there");
    let newer = text.replace("\"oldest_reader\":1", "\"oldest_reader\":999");
    assert_ne!(text, newer);
    std::fs::write(&path, &newer).expect("the header is written");
    let store = place.data().join("store");
    let before = files(&store);
    for command in [
        request(&place, "read notes.txt", &[]),
        place.command(&["run", "--continue"]),
        place.command(&["sessions", "list"]),
        place.command(&["sessions", "show", "0"]),
        place.command(&["serve", "--listen", "127.0.0.1:0"]),
    ] {
        let told = format!("{command:?}");
        let ended = run(command, b"");
        insta::allow_duplicates! {
            insta::assert_snapshot!(tidy(&place, &ended.stderr), @"rtc-headless: the data was written by a newer version (its format needs a reader of at least 999, this is 1); update the program; nothing was changed");
        }
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{told}");
        assert!(files(&store) == before, "{told}");
        assert!(aside(&place).is_empty(), "{told}");
    }
    std::fs::write(&path, text).expect("the header is written");
    assert_eq!(place.sessions().len(), 1, "with the right version all is there");
}

#[test]
fn no_call_touches_the_programs_own_data() {
    let place = project(&[("notes.txt", "zz\n")]);
    let data = place.root().join(".app/data");
    let ask = |text: &str| {
        let mut command = Command::new(binary());
        command.args(["run", text, "--model", "offline", "--mode", "bypass", "--root"]);
        command.arg(place.root()).arg("--data").arg(&data);
        run(command, b"")
    };
    assert_eq!(ask("list the files").code, Some(0));
    let identity = || std::fs::read(data.join("identity.json")).expect("the file is there");
    let before = identity();
    for text in [
        "overwrite .app/data/identity.json with 'zz'",
        "append 'zz' to .app/data/store/lock",
        "create .app/data/new.txt with 'zz'",
        "read .app/data/identity.json",
    ] {
        let ended = ask(text);
        assert_eq!(ended.code, Some(0), "{text}: {}", ended.stderr);
        let refused = "this program's own data, which no call may touch";
        assert!(ended.stdout.contains(refused), "{text}: {}", ended.stdout);
    }
    assert_eq!(identity(), before);
    assert!(!data.join("new.txt").exists());
}

#[test]
fn the_programs_own_data_is_no_project() {
    let place = project(&[]);
    assert_eq!(alone(&place, "list the files", &[]).code, Some(0));
    for folder in ["", "store", "scratch"] {
        let mut command = place.command(&["run", "list the files"]);
        command.arg("--root").arg(place.data().join(folder));
        let ended = run(command, b"");
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{folder}");
        assert!(
            ended.stderr.contains("holds this program's own data"),
            "{}",
            ended.stderr
        );
    }
}
