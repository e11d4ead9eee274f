//! A display of a test's own, with a window manager and a message bus, and the hands that use it.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rtc_tests::{MESSAGE_BUS, text};

use crate::wait::{until, until_true, until_within};

/// The display of a test, which tells its number when it is there.
const SERVER: [&str; 7] = [
    "-displayfd",
    "1",
    "-nolisten",
    "tcp",
    "-screen",
    "0",
    "1400x900x24",
];

/// The number from which displays of tests begin, far from those of people, and how many a process may have.
const FIRST_DISPLAY: u32 = 1_000;
const DISPLAYS: u32 = 60;

/// How many displays this process has had: tests side by side never try the same one.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// How long a manager of windows may take to come up before another one is started.
const MANAGER_TIME: Duration = Duration::from_secs(5);

/// A process that ends with the test, however that ends.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    fn start(command: &mut Command) -> Self {
        match command.spawn() {
            Ok(child) => Self(child),
            Err(error) => panic!("{error}: run `cargo xtask setup`; {command:?}"),
        }
    }

    /// Starts it, and gives the first line that it prints; nothing if it has ended without one.
    fn told(command: &mut Command) -> Option<(Self, String)> {
        let mut process = Self::start(command.stdout(Stdio::piped()));
        let out = process.0.stdout.take().expect("stdout is a pipe");
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line).expect("it is text");
        (!line.is_empty()).then(|| (process, line.trim().to_owned()))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Nothing to do where it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A display.
pub(crate) struct Screen {
    home: PathBuf,
    display: String,
    bus: String,
    /// In the order in which they end.
    processes: Vec<Process>,
}

impl Screen {
    /// Starts one, for programs whose home is in this folder.
    pub(crate) fn start(folder: &Path) -> Self {
        let home = folder.join("home");
        std::fs::create_dir_all(&home).expect("a folder is made");
        // A number of its own choice is not locked against others who choose at the same time.
        let first =
            FIRST_DISPLAY + std::process::id() % 1_000 * DISPLAYS + COUNT.fetch_add(1, Ordering::Relaxed);
        let (server, number) = (first..)
            .find_map(|number| {
                let mut server = clean("Xvfb", &home);
                server
                    .arg(format!(":{number}"))
                    .args(SERVER)
                    .stderr(Stdio::null());
                Process::told(&mut server)
            })
            .expect("a display is free");
        let settings = home.join("bus.conf");
        std::fs::write(&settings, MESSAGE_BUS).expect("a file is written");
        let mut bus = clean("dbus-daemon", &home);
        bus.args(["--nofork", "--nopidfile", "--print-address", "--config-file"])
            .arg(settings)
            .stderr(Stdio::null());
        let (bus, address) = Process::told(&mut bus).expect("a bus");
        let mut screen = Self {
            home,
            display: format!(":{number}"),
            bus: address,
            processes: vec![bus, server],
        };
        let mut manager = screen.command("openbox");
        manager
            .arg("--sm-disable")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // It does not always come up at the first try.
        let manager = until("a manager of windows", || {
            let process = Process::start(&mut manager);
            // Only with one is it known how many desktops there are.
            let is_there = || screen.hands(&["get_num_desktops"]).map(|_| ());
            until_within(MANAGER_TIME, is_there).map(|()| process)
        });
        screen.processes.insert(0, manager);
        screen
    }

    /// A command line of a program on this screen, with nothing else in its environment.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = clean(program, &self.home);
        command
            .env("DISPLAY", &self.display)
            .env("DBUS_SESSION_BUS_ADDRESS", &self.bus);
        command
    }

    /// Starts a program that ends with the test.
    pub(crate) fn start_program(&self, command: &mut Command) -> Process {
        Process::start(command)
    }

    /// The windows of a process that are to be seen, those of before first.
    pub(crate) fn windows(&self, process: u32) -> Vec<String> {
        let process = process.to_string();
        let found = self.hands(&[
            "search",
            "--all",
            "--onlyvisible",
            "--pid",
            &process,
            "--name",
            "",
        ]);
        let mut windows: Vec<String> = found.unwrap_or_default().lines().map(str::to_owned).collect();
        windows.sort_by_key(|window| window.parse::<u64>().unwrap_or_default());
        windows
    }

    /// The home of its programs.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// Its name.
    pub(crate) fn display(&self) -> &str {
        &self.display
    }

    /// The titles of all windows that are to be seen.
    pub(crate) fn titles(&self) -> Vec<String> {
        let found = self
            .hands(&["search", "--onlyvisible", "--name", "."])
            .unwrap_or_default();
        found.lines().map(|window| self.title(window)).collect()
    }

    /// The title of a window.
    pub(crate) fn title(&self, window: &str) -> String {
        self.hands(&["getwindowname", window]).unwrap_or_default()
    }

    /// Puts a window away.
    pub(crate) fn minimise(&self, process: u32, window: &str) {
        self.hands(&["windowminimize", window])
            .expect("the window is there");
        until_true("the window is put away", || {
            !self.windows(process).iter().any(|shown| shown == window)
        });
    }

    /// Moves a window to another desktop than the one that is shown.
    pub(crate) fn send_off(&self, process: u32, window: &str) {
        self.hands(&["set_desktop_for_window", window, "1"])
            .expect("the window is there");
        until_true("the window is on another desktop", || {
            !self.windows(process).iter().any(|shown| shown == window)
        });
    }

    /// Presses a key in a window, such as `Return`, or with others `alt+F4`.
    pub(crate) fn press(&self, window: &str, key: &str) {
        self.bring_forward(window);
        self.hands(&["key", key]).expect("keys are pressed");
    }

    /// Brings a window forward, also one that was put away.
    pub(crate) fn bring_forward(&self, window: &str) {
        until("the window is active", || {
            // There may be none.
            if self.hands(&["getactivewindow"]).as_deref() == Some(window) {
                return Some(());
            }
            self.hands(&["windowactivate", window])?;
            None
        });
    }

    /// What xdotool prints; nothing if it fails.
    fn hands(&self, args: &[&str]) -> Option<String> {
        let output = self
            .command("xdotool")
            .args(args)
            .output()
            .expect("xdotool starts");
        output
            .status
            .success()
            .then(|| text(&output.stdout).trim().to_owned())
    }
}

/// A command line of a program that dies with the thread of the test, with a home of its own and without what would let
/// it find anything else.
fn clean(program: impl AsRef<OsStr>, home: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command.env_clear().stdin(Stdio::null());
    for name in ["PATH", "CARGO_HOME"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
        .envs([("LANG", "C.UTF-8"), ("NO_AT_BRIDGE", "1")])
        .envs([("WEBKIT_DISABLE_DMABUF_RENDERER", "1"), ("GDK_BACKEND", "x11")])
        .env("HOME", home)
        .env("XDG_RUNTIME_DIR", home)
        .env("XDG_CONFIG_HOME", home.join("config"))
        .env("XDG_DATA_HOME", home.join("data"))
        .env("XDG_CACHE_HOME", home.join("cache"))
        .env("XDG_STATE_HOME", home.join("state"));
    command
}
