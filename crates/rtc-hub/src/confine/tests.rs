#![allow(
    clippy::disallowed_methods,
    reason = "a confined process tries what it may not do"
)]

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixListener;
use std::process::Command;

use super::*;

/// Names the file that the confined process tries to open, and tells it that it is one.
const PROBE: &str = "RTC_HUB_CONFINED_PROBE";

/// What a confined process was able to do.
#[derive(Debug, Serialize, Deserialize)]
struct Tried {
    confinement: Confinement,
    /// What it tried, and how that ended.
    ends: Vec<(String, Result<(), String>)>,
}

fn attempt<T>(what: &str, done: io::Result<T>) -> (String, Result<(), String>) {
    (what.to_owned(), done.map(drop).map_err(|error| error.to_string()))
}

/// The other process of the test below.
#[test]
#[ignore = "confines the process that it runs in"]
fn a_confined_process_tries() {
    let Some(probe) = std::env::var_os(PROBE) else {
        return;
    };
    let probe = std::path::PathBuf::from(probe);
    let mut open = File::open(&probe).unwrap();
    let confinement = confine();
    let mut text = String::new();
    let ends = vec![
        attempt("read a file", fs::read(&probe)),
        attempt("read the passwords", fs::read("/etc/passwd")),
        attempt("list a folder", fs::read_dir(probe.parent().unwrap())),
        attempt("make a file", File::create(probe.with_extension("new"))),
        attempt("remove a file", fs::remove_file(&probe)),
        attempt("rename a file", fs::rename(&probe, probe.with_extension("moved"))),
        attempt("make a folder", fs::create_dir(probe.with_extension("folder"))),
        attempt(
            "link a file",
            std::os::unix::fs::symlink(&probe, probe.with_extension("link")),
        ),
        attempt("listen", TcpListener::bind("127.0.0.1:0")),
        attempt("connect", TcpStream::connect("127.0.0.1:9")),
        attempt("send a datagram", UdpSocket::bind("127.0.0.1:0")),
        attempt(
            "make a socket in a folder",
            UnixListener::bind(probe.with_extension("socket")),
        ),
        attempt("start a program", Command::new("/bin/true").status()),
        attempt(
            "end its parent",
            rustix::process::getppid()
                .ok_or(io::ErrorKind::NotFound.into())
                .and_then(|parent| Ok(rustix::process::test_kill_process(parent)?)),
        ),
        // What it needs goes on.
        attempt("read what was open", open.read_to_string(&mut text)),
        attempt(
            "start a thread",
            std::thread::Builder::new()
                .spawn(|| fs::read("/etc/passwd").is_err())
                .and_then(|thread| match thread.join() {
                    Ok(true) => Ok(()),
                    _ => Err(io::Error::other("a thread is not confined")),
                }),
        ),
    ];
    let tried = Tried { confinement, ends };
    let told = serde_json::to_string(&tried).unwrap();
    writeln!(io::stdout(), "\n{told}").unwrap();
}

#[test]
fn what_the_kernel_offers_is_on_and_a_confined_process_reaches_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let probe = folder.path().join("probe");
    fs::write(&probe, "secret").unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "--ignored",
            "--nocapture",
            "confine::tests::a_confined_process_tries",
        ])
        .env(PROBE, &probe)
        .output()
        .unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    let told = told.lines().find(|line| line.starts_with('{')).expect(&told);
    let Tried { confinement, ends } = serde_json::from_str(told).unwrap();
    let Confinement { landlock, seccomp } = &confinement;
    assert!(matches!(seccomp, Barrier::On { .. }), "{seccomp}");
    // As the kernel says itself.
    let offered = landlock::ABI::V1;
    let has_landlock = landlock_is_offered(offered);
    assert_eq!(matches!(landlock, Barrier::On { .. }), has_landlock, "{landlock}");
    assert!(landlock.is_as_good_as_can_be(), "{landlock}");
    let done: Vec<&str> = ends
        .iter()
        .filter(|(_, end)| end.is_ok())
        .map(|(what, _)| what.as_str())
        .collect();
    if has_landlock {
        assert_eq!(done, ["read what was open", "start a thread"], "{ends:?}");
    } else {
        let _ = writeln!(io::stderr(), "SKIPPED, FILES WERE NOT TESTED: {landlock}");
        for what in ["listen", "connect", "send a datagram", "start a program"] {
            assert!(!done.contains(&what), "{what}: {ends:?}");
        }
    }
    assert_eq!(fs::read_to_string(&probe).unwrap(), "secret");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Whether a ruleset of that version can be made as a whole.
fn landlock_is_offered(version: landlock::ABI) -> bool {
    use landlock::{Access as _, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _};
    let made = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(version))
        .and_then(Ruleset::create);
    made.is_ok()
}
