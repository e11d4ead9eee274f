//! A process that a test talks with.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The longest wait for a line or an end. Far more than anything needs: whoever waits that long hangs.
const LONGEST: Duration = Duration::from_secs(120);

/// A running process, ended with the test.
pub struct Dialogue {
    child: Child,
    input: Option<ChildStdin>,
    out: Receiver<Vec<u8>>,
    err: Receiver<Vec<u8>>,
    heard: String,
    /// How much of `heard` was waited for already.
    passed: usize,
}

/// A process that has ended.
pub struct Ended {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// What it wrote as its result.
    pub stdout: String,
    /// What it wrote as its progress.
    pub stderr: String,
}

impl Dialogue {
    /// Starts a process; its input is held open.
    pub fn start(mut command: Command) -> Self {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the process starts");
        let out = chunks(child.stdout.take().expect("stdout is a pipe"));
        let err = chunks(child.stderr.take().expect("stderr is a pipe"));
        let input = child.stdin.take();
        Self {
            child,
            input,
            out,
            err,
            heard: String::new(),
            passed: 0,
        }
    }

    /// Starts a command on a pseudo terminal, whose both ends the test holds: all that is shown comes on stderr. Nothing,
    /// and a word that says so, where no terminal can be made.
    pub fn on_a_terminal(whole: &Command) -> Option<Self> {
        let able = Command::new("script").arg("--version").output();
        if !able.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("util-linux")) {
            eprintln!("skipped: there is no `script` of util-linux to make a terminal with");
            return None;
        }
        let words = std::iter::once(whole.get_program()).chain(whole.get_args());
        let quoted: Vec<String> = words
            .map(|word| format!("'{}'", word.to_string_lossy().replace('\'', "'\\''")))
            .collect();
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "exec script -qec \"$0\" /dev/null >&2",
            &format!("exec {}", quoted.join(" ")),
        ]);
        command
            .env_remove("NO_COLOR")
            .env_remove("RTC_MODEL")
            .env("SHELL", "/bin/sh");
        Some(Self::start(command))
    }

    /// Waits until the process has said this on stderr, after what was waited for before.
    pub fn hear(&mut self, expected: &str) {
        let until = Instant::now() + LONGEST;
        loop {
            if let Some(at) = self.heard[self.passed..].find(expected) {
                self.passed += at + expected.len();
                return;
            }
            match self
                .err
                .recv_timeout(until.saturating_duration_since(Instant::now()))
            {
                Ok(chunk) => self.heard.push_str(&String::from_utf8_lossy(&chunk)),
                Err(_) => panic!("it does not say {expected:?} but\n{}", self.heard),
            }
        }
    }

    /// What was said so far, as far as it was waited for.
    pub fn heard(&self) -> &str {
        &self.heard[..self.passed]
    }

    /// Writes a line on its input.
    pub fn say(&mut self, line: &str) {
        let input = self.input.as_mut().expect("the input is open");
        input
            .write_all(line.as_bytes())
            .and_then(|()| input.write_all(b"\n"))
            .expect("it reads");
    }

    /// The number of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).expect("an id of a process");
        kill(Pid::from_raw(id), signal).expect("the process runs");
    }

    /// Stops reading its stdout, as `head` does.
    pub fn close_stdout(&mut self) {
        self.out = channel().1;
    }

    /// Waits for its end with its input still open.
    pub fn wait(mut self) -> Ended {
        let until = Instant::now() + LONGEST;
        let rest = |from: &Receiver<Vec<u8>>| {
            let mut bytes = Vec::new();
            loop {
                match from.recv_timeout(until.saturating_duration_since(Instant::now())) {
                    Ok(chunk) => bytes.extend(chunk),
                    Err(RecvTimeoutError::Disconnected) => {
                        return String::from_utf8_lossy(&bytes).into_owned();
                    }
                    Err(RecvTimeoutError::Timeout) => {
                        panic!("it does not end: {}", String::from_utf8_lossy(&bytes))
                    }
                }
            }
        };
        let stderr = self.heard.clone() + &rest(&self.err);
        let stdout = rest(&self.out);
        let status = self.child.wait().expect("it has ended");
        Ended {
            code: status.code(),
            stdout,
            stderr,
        }
    }

    /// Ends its input and waits for its end.
    pub fn finish(mut self) -> Ended {
        self.input = None;
        self.wait()
    }
}

impl Drop for Dialogue {
    fn drop(&mut self) {
        // It may have ended long ago.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a process with this input to its end.
pub fn run(command: Command, input: &[u8]) -> Ended {
    let mut dialogue = Dialogue::start(command);
    let mut stdin = dialogue.input.take().expect("the input is open");
    let input = input.to_owned();
    // Whoever does not read its input must not keep the test.
    let writer = std::thread::spawn(move || {
        let _ = stdin.write_all(&input);
    });
    let ended = dialogue.wait();
    writer.join().expect("the input was written");
    ended
}

/// What comes out of a pipe; the sender is gone when the pipe is closed, and the pipe when the receiver is.
fn chunks(mut from: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 8 * 1024];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            if sender.send(buffer[..read].to_owned()).is_err() {
                return;
            }
        }
    });
    receiver
}
