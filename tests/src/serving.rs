//! A running `serve`.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::model_server::{Dialect, ModelServer};
use crate::{Workplace, text};

/// The longest wait for anything. Far more than anything needs: whoever waits that long hangs.
pub const LONGEST: Duration = Duration::from_secs(60);

/// A running `serve`, ended with the test.
pub struct Serving {
    child: Child,
    /// The line that it printed.
    pub ready: Value,
    log: Receiver<String>,
}

/// A `serve` that has ended.
pub struct Ended {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Everything that it logged.
    pub log: String,
}

impl Serving {
    /// Starts `serve --root ROOT ARGS` and waits until it is ready.
    pub fn start(place: &Workplace, args: &[&str]) -> Self {
        let mut command = place.command(&["serve"]);
        command.arg("--root").arg(place.root()).args(args);
        Self::of(command)
    }

    /// Starts `serve --root ROOT ARGS` with a model that this server is.
    pub fn with_model(place: &Workplace, model: &ModelServer, args: &[&str]) -> Self {
        let config = format!(
            "model = \"scripted\"\n[models.scripted]\napi = \"openai-chat\"\nbase_url = \"{}\"\nmodel = \"m-1\"\n",
            model.base_url(Dialect::Chat)
        );
        let file = place.path().join("config.toml");
        std::fs::write(&file, config).expect("the configuration is written");
        let mut command = place.command(&["serve"]);
        command.arg("--config").arg(file);
        command.arg("--root").arg(place.root()).args(args);
        Self::of(command)
    }

    /// Starts a command line of `serve`.
    pub fn of(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("rtc-headless starts");
        let mut errors = child.stderr.take().expect("stderr is a pipe");
        let (tell_log, log) = channel();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = errors.read_to_end(&mut bytes);
            let _ = tell_log.send(text(&bytes));
        });
        let mut line = String::new();
        let out = child.stdout.take().expect("stdout is a pipe");
        BufReader::new(out).read_line(&mut line).expect("stdout is text");
        match serde_json::from_str(&line) {
            Ok(ready) => Self { child, ready, log },
            Err(error) => {
                let _ = child.kill();
                panic!(
                    "the ready line is {line:?} ({error}); log:\n{}",
                    log.recv().unwrap_or_default()
                );
            }
        }
    }

    /// The number of the process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        let port = self.ready["port"].as_u64().expect("a port");
        port.try_into().expect("a port is small")
    }

    /// The printed token.
    pub fn token(&self) -> &str {
        self.ready["token"].as_str().expect("a token")
    }

    /// The user.
    pub fn user(&self) -> &str {
        self.ready["user_id"].as_str().expect("a user")
    }

    /// Path and query of the printed address.
    pub fn path(&self) -> &str {
        let url = self.ready["url"].as_str().expect("an address");
        let base = format!("http://127.0.0.1:{}", self.port());
        url.strip_prefix(&base).expect("the address is that of the port")
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).expect("a process number");
        kill(Pid::from_raw(pid), signal).expect("the process is there");
    }

    /// Waits for its end.
    pub fn end(mut self) -> Ended {
        let log = self.log.recv_timeout(LONGEST).expect("it ends in time");
        let status = self.child.wait().expect("it has ended");
        Ended {
            code: status.code(),
            log,
        }
    }

    /// Ends it as a service is ended.
    pub fn stop(self) -> Ended {
        self.signal(Signal::SIGTERM);
        self.end()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // Nothing to do where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `instance.json` of a place.
pub fn instance(place: &Workplace) -> PathBuf {
    place.data().join("instance.json")
}

/// `token ARGS`: what it prints.
pub fn token(place: &Workplace, args: &[&str]) -> String {
    let mut command = place.command(&["token"]);
    let output = command.args(args).output().expect("rtc-headless starts");
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout).trim().to_owned()
}
