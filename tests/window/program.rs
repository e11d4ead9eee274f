//! The running program.

use std::io::Read;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rtc_tests::text;

use crate::page::{Page, free_port};
use crate::screen::{Process, Screen};
use crate::wait::{until, until_true, until_within};

/// How long what a key or a click does at once may take.
pub(crate) const A_MOMENT: Duration = Duration::from_secs(2);

/// The program on a screen, ended with the test.
pub(crate) struct Program<'d> {
    process: Process,
    errors: Arc<Mutex<Vec<u8>>>,
    screen: &'d Screen,
    /// Where WebDriver reaches its pages.
    inspector: u16,
}

/// The program when it has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Its exit code; `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    /// What it said on stderr.
    pub(crate) errors: String,
}

impl<'d> Program<'d> {
    /// Starts it.
    pub(crate) fn start(screen: &'d Screen, mut command: Command) -> Self {
        let inspector = free_port();
        command
            .env("TAURI_WEBVIEW_AUTOMATION", "true")
            .env("WEBKIT_INSPECTOR_SERVER", format!("127.0.0.1:{inspector}"))
            .stderr(Stdio::piped());
        let mut process = screen.start_program(&mut command);
        let mut pipe = process.0.stderr.take().expect("stderr is a pipe");
        let errors = Arc::new(Mutex::new(Vec::new()));
        let kept = errors.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = pipe.read(&mut bytes) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&bytes[..count]);
            }
        });
        Self {
            process,
            errors,
            screen,
            inspector,
        }
    }

    /// The number of the process.
    pub(crate) fn id(&self) -> u32 {
        self.process.0.id()
    }

    /// Where WebDriver reaches its pages: the program connects to itself there, and only because a test drives it.
    pub(crate) fn inspector(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.inspector))
    }

    /// What it has said on stderr so far.
    pub(crate) fn errors(&self) -> String {
        text(&self.errors.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reaches its pages.
    pub(crate) fn page(&self) -> Page {
        Page::attach(self.screen, self.inspector)
    }

    /// Its windows that are to be seen.
    pub(crate) fn windows(&self) -> Vec<String> {
        self.screen.windows(self.id())
    }

    /// Its window, once there is just one.
    pub(crate) fn window(&self) -> String {
        until("one window", || {
            <[String; 1]>::try_from(self.windows())
                .ok()
                .map(|[window]| window)
        })
    }

    /// The processes of its pages.
    pub(crate) fn web_processes(&self) -> Vec<Pid> {
        self.processes("WebKitWebProc")
    }

    /// Its processes whose names begin so.
    pub(crate) fn processes(&self, named: &str) -> Vec<Pid> {
        let own = |id: &str| {
            let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
            // Number, name in brackets, state, number of the parent.
            let (name, rest) = stat.split_once('(')?.1.rsplit_once(") ")?;
            let parent = rest.split(' ').nth(1)?;
            (name.starts_with(named) && parent == self.id().to_string())
                .then(|| id.parse().map(Pid::from_raw).ok())?
        };
        let processes = std::fs::read_dir("/proc").expect("the system lists its processes");
        processes
            .filter_map(|entry| own(entry.ok()?.file_name().to_str()?))
            .collect()
    }

    /// Sends a signal to the process of its only page.
    pub(crate) fn signal_page(&self, signal: Signal) {
        let [page] = self.web_processes()[..] else {
            panic!("there is not just one page: {:?}", self.web_processes());
        };
        kill(page, signal).expect("the process is there");
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.id()).expect("a process has a number");
        kill(Pid::from_raw(id), signal).expect("the program is there");
    }

    /// Closes all windows as a person does, and waits for the end.
    pub(crate) fn close(mut self) -> Ended {
        until_true("the windows are closed", || {
            if self.has_ended() {
                return true;
            }
            if let Some(window) = self.windows().pop() {
                self.screen.press(&window, "alt+F4");
                // A key is lost while the focus goes from one window to another.
                until_within(A_MOMENT, || {
                    (self.has_ended() || !self.windows().contains(&window)).then_some(())
                });
            }
            false
        });
        self.end()
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.process.0.try_wait().expect("its state is known").is_some()
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ended {
        let status = until("the end of the program", || {
            self.process.0.try_wait().expect("its state is known")
        });
        Ended {
            code: status.code(),
            errors: self.errors(),
        }
    }
}
