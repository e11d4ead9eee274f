//! Starts: a second one, and those that cannot go well.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;

use rtc_tests::text;

use crate::desk::{BINARY, Desk};
use crate::program::{Ended, Program};
use crate::wait::until_true;

/// Every file of a data folder, but for the lock and what WebKit keeps for pages.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder can be read") {
            let path = entry.expect("an entry").path();
            if path.ends_with("pages") || path.ends_with("store/lock") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.to_string_lossy().into_owned();
                files.insert(name, std::fs::read(&path).expect("the file can be read"));
            }
        }
    }
    files
}

#[test]
fn a_second_start_brings_the_window_forward_with_its_folder() {
    let desk = Desk::new("bypass");
    let (program, page) = desk.work();
    page.say("count to 2");
    page.see("I have counted to 2.");
    page.idle();
    let window = program.window();
    desk.screen.minimise(program.id(), &window);
    let other = desk.place.path().join("another project");
    std::fs::create_dir(&other).expect("a folder is made");

    // As in a terminal: the folder is named from where one is.
    let mut again = desk.command();
    again.arg("another project").current_dir(desk.place.path());
    let Ended { code, errors } = Program::start(&desk.screen, again).end();
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    assert_eq!(program.window(), window);
    page.see("Do you trust this folder?");
    page.see(other.to_str().expect("a temporary path is Unicode"));
    page.click("Trust this folder");
    page.say("count to 3");
    page.see("I have counted to 3.");
    page.idle();
    assert_eq!(desk.effects(), "1\n2\n");
    let effects = std::fs::read_to_string(other.join(crate::model::EFFECTS));
    assert_eq!(effects.expect("a file"), "1\n2\n3\n");

    // Without a folder it only brings the window forward, also where the data folder is named in another way.
    let other_way = desk.place.path().join("other way");
    std::os::unix::fs::symlink(desk.place.data(), &other_way).expect("a link is made");
    for data in [desk.place.data(), other_way.clone()] {
        desk.screen.minimise(program.id(), &window);
        let mut again = desk.screen.command(BINARY);
        again.arg("--data").arg(data);
        assert_eq!(Program::start(&desk.screen, again).end().code, Some(0));
        assert_eq!(program.window(), window);
        page.see("I have counted to 3.");
    }
    let running = "RTC Desktop runs already, with the configuration and model of its first start";
    let mut again = desk.command();
    again.args(["--model", "offline"]);
    assert_eq!(Program::start(&desk.screen, again).end().code, Some(0));
    page.see(running);
    // None of the starts before was told so.
    assert_eq!(page.text().matches(running).count(), 1);
    assert_eq!(program.close().code, Some(0));

    // What was opened before is offered at the next start.
    let program = Program::start(&desk.screen, desk.command());
    let page = program.page();
    page.see("another project");
    page.see("No folder is open");
    assert_eq!(program.close().code, Some(0));
}

#[test]
fn of_two_starts_at_once_one_shows_both_folders() {
    let desk = Desk::new("bypass");
    let folders = ["one", "two"].map(|name| desk.place.path().join(name));
    for folder in &folders {
        std::fs::create_dir(folder).expect("a folder is made");
    }
    let starts = folders.each_ref().map(|folder| {
        let mut command = desk.command();
        command.arg(folder);
        Program::start(&desk.screen, command)
    });
    let [one, two] = starts;
    let ended = |program: &mut Program<'_>| program.has_ended();
    let (mut one, mut two) = (one, two);
    until_true("one of them ends", || ended(&mut one) || ended(&mut two));
    let (shown, handed, last) = match ended(&mut one) {
        true => (two, one, &folders[0]),
        false => (one, two, &folders[1]),
    };
    assert_eq!(handed.end().code, Some(0));
    let page = shown.page();
    page.see(last.to_str().expect("a temporary path is Unicode"));
    shown.window();
    assert_eq!(shown.close().code, Some(0));
}

#[test]
fn another_data_folder_is_another_program() {
    let desk = Desk::new("bypass");
    let (program, page) = desk.work();
    let mut other = desk.screen.command(BINARY);
    let [_, _, config, file] = desk.options();
    other
        .args(["--data", "other data", &config, &file])
        .current_dir(desk.place.path());
    let other = Program::start(&desk.screen, other);
    let second = other.page();
    second.see("No folder is open");
    for page in [&second, &page] {
        page.say("Are you there?");
        page.see("I heard: Are you there?");
        page.idle();
    }
    assert_eq!(other.close().code, Some(0));
    assert_eq!(program.close().code, Some(0));
}

#[test]
fn without_a_display_it_says_so() {
    let desk = Desk::new("bypass");
    for display in [None, Some(""), Some(":4999"), Some("nonsense")] {
        let mut command = desk.command();
        match display {
            None => command.env_remove("DISPLAY"),
            Some(display) => command.env("DISPLAY", display),
        };
        let Ended { code, errors } = Program::start(&desk.screen, command).end();
        assert_eq!(code, Some(2), "{display:?}: {errors}");
        let told = "rtc-desktop: there is no display to show a window on; start it within a desktop session, or use \
                    `rtc-desktop --headless`, which needs none";
        assert!(errors.contains(told), "{display:?}: {errors}");
    }
    assert!(!desk.place.data().exists());
}

#[test]
fn without_a_message_bus_it_works_all_the_same() {
    for bus in [None, Some(""), Some("nonsense"), Some("unix:path=/nowhere/bus")] {
        let desk = Desk::new("bypass");
        let mut command = desk.command();
        match bus {
            None => command.env_remove("DBUS_SESSION_BUS_ADDRESS"),
            Some(bus) => command.env("DBUS_SESSION_BUS_ADDRESS", bus),
        };
        command.arg(desk.place.root());
        let program = Program::start(&desk.screen, command);
        let page = program.page();
        page.click("Trust this folder");
        page.say("count to 2");
        page.see("I have counted to 2.");
        page.idle();
        assert_eq!(desk.effects(), "1\n2\n", "{bus:?}");
        assert_eq!(program.close().code, Some(0), "{bus:?}");
        assert_eq!(Desk::done(&desk.record(), "write"), 2);
    }
}

#[test]
fn a_data_folder_of_a_newer_version_is_told_and_left_alone() {
    let desk = Desk::new("bypass");
    let root = desk.place.root();
    let root = root.to_str().expect("a temporary path is Unicode");
    let ran = desk.headless(&["run", "list the files", "--model", "offline", "--root", root]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let path = desk.place.data().join("store/store.json");
    let header = std::fs::read_to_string(&path).expect("the header is there");
    let newer = header.replace("\"oldest_reader\":1", "\"oldest_reader\":999");
    assert_ne!(header, newer);
    std::fs::write(&path, &newer).expect("the header is written");
    let before = contents(&desk.place.data());

    let program = desk.open();
    let told = "the data was written by a newer version";
    until_true("words on stderr", || program.errors().contains(told));
    // There is nothing to see but the dialog, which ends with a key.
    desk.screen.press(&program.window(), "Return");
    let Ended { code, errors } = program.end();
    assert_eq!(code, Some(2), "{errors}");
    let after = contents(&desk.place.data());
    let names: Vec<_> = before.keys().chain(after.keys()).collect();
    let changed: Vec<_> = names
        .into_iter()
        .filter(|name| before.get(*name) != after.get(*name))
        .collect();
    assert!(changed.is_empty(), "{changed:?}");

    std::fs::write(&path, header).expect("the header is written");
    let program = desk.open();
    program.page().see("list the files");
    assert_eq!(program.close().code, Some(0));
}

#[test]
fn a_folder_that_is_not_there_is_told_in_the_page() {
    let desk = Desk::new("bypass");
    let file = desk.place.root().join("a file");
    std::fs::write(&file, "").expect("a file is written");
    let cases = [
        (
            desk.place.path().join("nowhere"),
            "does not exist; create it, or choose another folder",
        ),
        (file, "is not a folder"),
    ];
    for (folder, reason) in cases {
        let mut command = desk.command();
        command.arg(&folder);
        let program = Program::start(&desk.screen, command);
        let page = program.page();
        page.see(folder.to_str().expect("a temporary path is Unicode"));
        page.see(reason);
        page.see("What shall be done?");
        page.say("Are you there?");
        page.see("I heard: Are you there?");
        page.idle();
        assert_eq!(program.close().code, Some(0));
    }
}

#[test]
fn a_folder_that_vanishes_is_told_and_used_again_when_it_is_back() {
    let desk = Desk::new("bypass");
    let (program, page) = desk.work();
    page.say("count to 2");
    page.see("I have counted to 2.");
    page.idle();
    let (root, away) = (desk.place.root(), desk.place.path().join("away"));
    std::fs::rename(&root, &away).expect("it is moved");
    page.say("count to 3");
    page.see("It was told: [Tool Error] write failed:");
    page.idle();
    assert!(!root.exists(), "nothing is made in its place");
    std::fs::rename(&away, &root).expect("it is moved");
    page.say("count to 1");
    page.see("I have counted to 1.");
    page.idle();
    assert_eq!(desk.effects(), "1\n2\n1\n");
    assert_eq!(program.close().code, Some(0));
    let record = desk.record();
    let calls = record["rtcs"].as_array().expect("calls");
    let states: Vec<_> = calls
        .iter()
        .map(|call| call["status"].as_str().expect("a status"))
        .collect();
    assert_eq!(states, ["completed", "completed", "failed", "completed"]);
}

#[test]
fn without_a_window_it_is_the_other_program() {
    let desk = Desk::new("bypass");
    let mut version = desk.screen.command(BINARY);
    version
        .args(["--headless", "--version"])
        .env_remove("DISPLAY")
        .stderr(Stdio::piped());
    let version = version.output().expect("it starts");
    assert!(version.status.success(), "{}", text(&version.stderr));
    assert!(
        text(&version.stdout).contains(env!("CARGO_PKG_VERSION")),
        "{}",
        text(&version.stdout)
    );
    let root = desk.place.root();
    let root = root.to_str().expect("a temporary path is Unicode");
    let ran = desk.headless(&["run", "list the files", "--root", root]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    assert!(text(&ran.stdout).contains("docs/"), "{}", text(&ran.stdout));
    // Its script worker is this program as well.
    let code = "run this script: `return 6 * 7`";
    let ran = desk.headless(&["run", code, "--root", root, "--mode", "bypass"]);
    assert!(
        ran.status.success() && text(&ran.stdout).contains("42"),
        "{ran:?}"
    );
}
