//! The package that users install: made, installed, and started as a desktop does, with an empty environment.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rtc_tests::{repository, text};

use crate::desk::BINARY;
use crate::screen::Screen;
use crate::wait::until;

/// Makes the package of this build, and gives its file.
fn package(folder: &Path) -> PathBuf {
    // As in a target folder, beside which the package is put.
    let binary = folder.join("debug/rtc-desktop");
    std::fs::create_dir_all(folder.join("debug")).expect("a folder is made");
    std::fs::copy(BINARY, &binary).expect("the binary is copied");
    let output = Command::new(env!("CARGO"))
        .args(["xtask", "bundle", "--binary"])
        .arg(binary)
        .current_dir(repository())
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let made = std::fs::read_dir(folder.join("bundle/release/bundle/deb")).expect("packages are made");
    made.map(|entry| entry.expect("it is readable").path())
        .find(|path| path.extension().is_some_and(|extension| extension == "deb"))
        .expect("there is a package")
}

/// What stands before a command that sees mounts and processes of its own.
fn apart() -> Command {
    let mut command = Command::new("unshare");
    let own = std::fs::metadata("/proc/self").expect("this process is there");
    if own.uid() != 0 {
        command.arg("--map-root-user");
    }
    command.args(["--mount", "--pid", "--fork", "--kill-child"]);
    command
}

#[test]
fn the_package_is_installed_and_started_from_its_desktop_file_with_an_empty_environment() {
    let place = tempfile::tempdir_in("/tmp").expect("a temporary folder");
    let package = package(place.path());
    let project = place.path().join("project");
    std::fs::create_dir(&project).expect("a folder is made");
    let screen = Screen::start(place.path());
    let mut installing = apart()
        .arg(repository().join("tests/window/bundle.sh"))
        .arg(&package)
        .arg(&project)
        .arg(screen.display())
        .stdin(Stdio::piped())
        .spawn()
        .expect("unshare starts");
    // The page names the folder that it was started with: engine, socket and page are there.
    let title = until("the window shows its folder", || {
        let ended = installing.try_wait().expect("it is a child");
        assert_eq!(ended, None, "it has ended");
        screen
            .titles()
            .into_iter()
            .find(|title| title.starts_with("project"))
    });
    assert_eq!(title, "project – RTC Desktop");
    drop(installing.stdin.take());
    assert!(installing.wait().expect("it ends").success());
}
