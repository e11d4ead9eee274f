//! Files that say what a search leaves out are read beneath the root, from regular files alone, and up to a bound.

#![cfg(unix)]
#![allow(
    clippy::disallowed_methods,
    reason = "the folder is made from outside, as another program would"
)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use rtc_fs::{FindQuery, FindResult, Project};
use rustix::fs::{CWD, FileType, Mode};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// How long a search of a few files may take. One that waits for a pipe does so for ever.
const PATIENCE: Duration = Duration::from_secs(10);

fn write(root: &Path, path: &str, content: impl AsRef<[u8]>) {
    let full = root.join(path);
    fs::create_dir_all(full.parent().expect("a folder")).expect("folders");
    fs::write(full, content).expect("a file");
}

fn pipe(root: &Path, path: &str) {
    let full = root.join(path);
    fs::create_dir_all(full.parent().expect("a folder")).expect("folders");
    rustix::fs::mknodat(CWD, &full, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
}

/// What a search of everything finds in files `a.log`, `b.txt` and `in/a.log`, or nothing if it does not end.
fn found(project: Project) -> Option<FindResult> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let cancel = CancellationToken::new();
        let found = rtc_fs::find(&project, &FindQuery::new("*"), &|_| true, &cancel);
        let _ = sender.send(found.expect("a search"));
    });
    receiver.recv_timeout(PATIENCE).ok()
}

fn folder() -> TempDir {
    let folder = TempDir::new().expect("a folder");
    for file in ["a.log", "b.txt", "in/a.log"] {
        write(folder.path(), file, "");
    }
    folder
}

fn text(folder: &TempDir) -> String {
    let project = Project::open(folder.path()).expect("a project");
    found(project).expect("the search ends").render()
}

const ALL: &str = "/a.log\n/b.txt\n/in/\n/in/a.log";

#[test]
fn a_pipe_where_rules_should_be_is_not_waited_for() {
    for file in [".gitignore", ".ignore", ".git/info/exclude", "in/.gitignore"] {
        let folder = folder();
        pipe(folder.path(), file);
        let told = format!("{ALL}\n[1 path could not be read: /{file}]");
        assert_eq!(text(&folder), told, "{file}");
    }
}

#[test]
fn a_link_to_a_device_where_rules_should_be_is_not_read() {
    for file in [".gitignore", ".ignore", "in/.ignore"] {
        let folder = folder();
        symlink("/dev/zero", folder.path().join(file)).expect("a link");
        let told = format!("{ALL}\n[1 path could not be read: /{file}]");
        assert_eq!(text(&folder), told, "{file}");
    }
}

#[test]
fn rules_outside_of_the_folder_are_not_read() {
    let outside = TempDir::new().expect("a folder");
    write(outside.path(), "rules", "*.log");
    write(outside.path(), "info/exclude", "*.log");
    for (link, target, told) in [
        (".gitignore", "rules", ".gitignore"),
        (".ignore", "rules", ".ignore"),
        ("in/.ignore", "rules", "in/.ignore"),
        (".git", "", ".git/info/exclude"),
    ] {
        let folder = folder();
        symlink(outside.path().join(target), folder.path().join(link)).expect("a link");
        let told = format!("{ALL}\n[1 path could not be read: /{told}]");
        assert_eq!(text(&folder), told, "{link}");
    }
    // Where git would have its folder is nothing that is followed.
    let folder = folder();
    write(
        folder.path(),
        ".git",
        format!("gitdir: {}", outside.path().display()),
    );
    assert_eq!(text(&folder), ALL);
}

#[test]
fn links_to_rules_inside_of_the_folder_are_followed() {
    for (link, target) in [
        (".gitignore", "rules"),
        (".ignore", "rules"),
        (".git", "elsewhere"),
    ] {
        let folder = folder();
        write(folder.path(), "rules", "*.log\nrules\nelsewhere");
        write(folder.path(), "elsewhere/info/exclude", "*.log\nrules\nelsewhere");
        symlink(target, folder.path().join(link)).expect("a link");
        assert_eq!(text(&folder), "/b.txt\n/in/", "{link}");
    }
}

#[test]
fn what_is_no_file_of_rules_is_passed_over() {
    let folder = folder();
    fs::create_dir(folder.path().join(".gitignore")).expect("a folder");
    symlink("nothing", folder.path().join(".ignore")).expect("a link");
    fs::create_dir(folder.path().join(".git")).expect("a folder");
    assert_eq!(text(&folder), ALL);
}

#[test]
fn rules_are_bounded_in_bytes_number_and_length() {
    const BYTES: usize = 1 << 20;
    const RULES: usize = 20_000;
    const RULE_BYTES: usize = 4_096;
    let lines = |number: usize| "x\n".repeat(number);
    for (what, content, read) in [
        ("a long rule", format!("*.log\n{}", "x".repeat(RULE_BYTES)), true),
        (
            "too long a rule",
            format!("*.log\n{}", "x".repeat(RULE_BYTES + 1)),
            false,
        ),
        ("bytes", format!("*.log\n#{}", "#".repeat(BYTES - 7)), true),
        (
            "too many bytes",
            format!("*.log\n#{}", "#".repeat(BYTES - 6)),
            false,
        ),
        ("rules", format!("*.log\n{}", lines(RULES - 1)), true),
        (
            "the last one counts",
            format!("!a.log\n{}*.log", lines(RULES - 2)),
            true,
        ),
        ("too many rules", format!("*.log\n{}", lines(RULES)), false),
    ] {
        let folder = folder();
        write(folder.path(), ".gitignore", content);
        let want = if read {
            "/b.txt\n/in/".to_owned()
        } else {
            format!("{ALL}\n[1 path could not be read: /.gitignore]")
        };
        assert_eq!(text(&folder), want, "{what}");
    }
}

#[test]
fn lines_that_are_no_rules_are_passed_over() {
    let folder = folder();
    write(
        folder.path(),
        ".gitignore",
        b"\xEF\xBB\xBF*.log\r\n\xff\n[z-a]\n!\n# in\n\nb.txt  \n",
    );
    assert_eq!(text(&folder), "/in/");
}

/// The only file outside of the folder that is read.
#[test]
fn what_the_user_leaves_out_everywhere_is_left_out() {
    let settings = TempDir::new().expect("a folder");
    let excludes = settings.path().join("ignore");
    let found = |folder: &TempDir| {
        let project = Project::open(folder.path()).expect("a project");
        let project = project.with_users_excludes(Some(excludes.clone()));
        found(project).expect("the search ends").render()
    };
    let folder = folder();
    assert_eq!(found(&folder), ALL, "it need not exist");
    write(settings.path(), "ignore", "*.log\n/in");
    assert_eq!(found(&folder), "/b.txt");
    write(folder.path(), "in/.gitignore", "!a.log");
    write(folder.path(), ".git/info/exclude", "!/in");
    assert_eq!(found(&folder), "/b.txt\n/in/\n/in/a.log", "it counts least");
    fs::remove_file(&excludes).expect("it was there");
    pipe(settings.path(), "ignore");
    assert_eq!(
        found(&folder),
        format!("{ALL}\n[1 path could not be read: git's excludes file of this user]")
    );
}
