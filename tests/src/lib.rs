//! What whole-system tests share: the binary, a copy of the sample project, a data folder, a run and its judge.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests start processes and look at files from outside"
)]

#[cfg(target_os = "linux")]
pub mod contacts;
#[cfg(target_os = "linux")]
pub mod cut_off;
#[cfg(target_os = "linux")]
pub mod dialogue;
pub mod model_server;
#[cfg(target_os = "linux")]
mod processes;
#[cfg(target_os = "linux")]
pub mod serving;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod tracer;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

#[cfg(target_os = "linux")]
pub use processes::{assert_none_left_by, workers_of};
use serde_json::Value;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub use tracer::{CannotTrace, Change, Ended, Moment, SystemCall, finish, watch};

/// The binary `rtc-headless`, built once for this test run.
///
/// It is built with the test that is about it, for the whole workspace: what it shares with the tests is then built
/// once, with the features that both of them want.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| built("binary", "rtc-headless"))
}

/// The binary `rtc-desktop`, built in the same way.
pub fn window() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| built("window", "rtc-desktop"))
}

/// The window with one line and nothing behind it, built in the same way.
pub fn bare_window() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| built("bare", "rtc-bare"))
}

/// Builds a binary with the test that is about it.
fn built(test: &str, name: &str) -> PathBuf {
    let mut build = Command::new(env!("CARGO"));
    // Build scripts of dependencies look at what cargo says of the package under test, and would run again for it.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            build.env_remove(name);
        }
    }
    let status = build
        .args(["test", "--quiet", "--workspace", "--test", test, "--no-run"])
        .current_dir(repository())
        .stdin(Stdio::null())
        .status()
        .expect("cargo starts");
    assert!(status.success(), "{name} does not build");
    let test = std::env::current_exe().expect("a test has a path");
    let profile = test
        .ancestors()
        .nth(2)
        .expect("a test lies in target/PROFILE/deps");
    profile.join(name)
}

/// The settings of a message bus that starts no services of the system, for `dbus-daemon --config-file`.
pub const MESSAGE_BUS: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:tmpdir=/tmp</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*"/>
    <allow receive_sender="*"/>
    <allow own="*"/>
  </policy>
</busconfig>
"#;

/// The top of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("the package is a folder of the repository")
        .to_owned()
}

/// A throw-away project and data folder.
pub struct Workplace {
    folder: tempfile::TempDir,
    /// Another binary than [`binary`].
    binary: Option<PathBuf>,
}

impl Workplace {
    /// With a copy of the sample project.
    pub fn sample() -> Self {
        let place = Self::empty();
        copy(&repository().join("tests/sample"), &place.root());
        place
    }

    /// With an empty project.
    pub fn empty() -> Self {
        let place = Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
            binary: None,
        };
        std::fs::create_dir_all(place.root()).expect("a folder for the project");
        place
    }

    /// With an empty project, made in this folder, for this build of `rtc-headless`.
    pub fn of_binary(binary: &Path, folder: &Path) -> std::io::Result<Self> {
        let place = Self {
            folder: tempfile::tempdir_in(folder)?,
            binary: Some(binary.to_owned()),
        };
        std::fs::create_dir_all(place.root())?;
        Ok(place)
    }

    fn binary(&self) -> &Path {
        self.binary.as_deref().unwrap_or_else(|| binary())
    }

    /// The project.
    pub fn root(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// The data folder; made by the first run.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Everything of this place.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// `rtc-headless ARGS --data DATA`, with nothing of the environment that would choose another model or folder.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(self.binary());
        command.args(args).arg("--data").arg(self.data());
        clean(&mut command);
        command
    }

    /// The same for [`watch`]: it stops before the program begins, and is silent.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    pub fn traceable(&self, args: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "kill -STOP $$ && exec \"$@\"", "sh"]);
        command
            .arg(self.binary())
            .args(args)
            .arg("--data")
            .arg(self.data());
        clean(&mut command);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// The same under strace, which kills the process at the `nth` entry of a system call.
    pub fn killed_at(&self, call: &str, nth: usize, args: &[&str]) -> Command {
        let mut command = Command::new("strace");
        command
            .args(["-f", "-qq", "-o", "/dev/null", "-e"])
            .arg(format!("trace={call}"));
        command
            .arg("-e")
            .arg(format!("inject={call}:signal=KILL:when={nth}"));
        command
            .arg(self.binary())
            .args(args)
            .arg("--data")
            .arg(self.data());
        clean(&mut command);
        command
    }

    /// Runs `rtc-headless run REQUEST --root ROOT ARGS` to its end.
    pub fn run(&self, request: &str, args: &[&str]) -> Output {
        let root = self.root();
        let mut all = vec![
            "run",
            request,
            "--root",
            root.to_str().expect("a temporary path is Unicode"),
        ];
        all.extend_from_slice(args);
        self.command(&all).output().expect("rtc-headless starts")
    }

    /// `sessions list --output json`.
    pub fn sessions(&self) -> Vec<Value> {
        let output = self
            .command(&["sessions", "list", "--output", "json"])
            .output()
            .expect("it starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("a list of sessions")
    }

    /// `sessions show ID --output json` of the session that changed last.
    pub fn last_session(&self) -> Value {
        let sessions = self.sessions();
        let id = sessions.first().and_then(|session| session["id"].as_str());
        self.session(id.expect("a session"))
    }

    /// `sessions show ID --output json`.
    pub fn session(&self, id: &str) -> Value {
        let output = self
            .command(&["sessions", "show", id, "--output", "json"])
            .output()
            .expect("it starts");
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("a session")
    }

    /// Every file of the project with its bytes; links with their targets.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect(&self.root(), &self.root(), &mut files);
        files
    }
}

fn clean(command: &mut Command) {
    for name in [
        "RTC_DATA",
        "RTC_MODEL",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_BASE_URL",
        "NO_COLOR",
        "RUST_LOG",
        "SSL_CERT_FILE",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "no_proxy",
    ] {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder is made");
    for entry in std::fs::read_dir(from).expect("the sample can be read") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        let kind = entry.file_type().expect("a kind");
        if kind.is_dir() {
            copy(&entry.path(), &target);
        } else if kind.is_symlink() {
            let link = std::fs::read_link(entry.path()).expect("a link");
            std::os::unix::fs::symlink(link, target).expect("a link is made");
        } else {
            std::fs::copy(entry.path(), target).expect("a file is copied");
        }
    }
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).expect("the project can be read") {
        let path = entry.expect("an entry").path();
        let name = path
            .strip_prefix(root)
            .expect("beneath the root")
            .to_string_lossy()
            .into_owned();
        if path.is_symlink() {
            let target = std::fs::read_link(&path).expect("a link");
            files.insert(
                format!("{name} -> "),
                target.to_string_lossy().into_owned().into_bytes(),
            );
        } else if path.is_dir() {
            collect(root, &path, files);
        } else {
            files.insert(name, std::fs::read(&path).expect("a file"));
        }
    }
}

/// Bytes as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The judge of a session: each call in the log has exactly one result, and every turn is over. `shown` is what
/// `sessions show --output json` gave.
pub fn assert_whole(shown: &Value) {
    let messages = shown["messages"].as_array().expect("messages");
    let content = |message: &Value| -> Value {
        serde_json::from_str(message["content"].as_str().expect("content is text")).expect("content is JSON")
    };
    let of = |kind: &str| {
        messages
            .iter()
            .filter(|message| content(message)["type"] == kind)
            .collect::<Vec<_>>()
    };
    let (inputs, outputs) = (of("toolcall_input"), of("toolcall_output"));
    for input in &inputs {
        let results = outputs
            .iter()
            .filter(|output| output["parent_message_id"] == input["id"])
            .count();
        assert_eq!(results, 1, "results of {input}");
    }
    assert_eq!(inputs.len(), outputs.len(), "no result without its call");
    for turn in shown["turns"].as_array().expect("turns") {
        let status = turn["status"].as_str().expect("a status");
        assert!(
            !["pending", "running", "interrupted"].contains(&status),
            "an open turn: {turn}"
        );
    }
    for rtc in shown["rtcs"].as_array().expect("rtcs") {
        let status = rtc["status"].as_str().expect("a status");
        assert!(
            ["completed", "failed", "timeout", "rejected"].contains(&status),
            "an open call: {rtc}"
        );
    }
}
