//! A turn of `rtc-headless` whose model is a scripted server on loopback, timed from outside.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rtc_tests::model_server::{Answer, Dialect, Last, ModelServer};
use rtc_tests::{CannotTrace, Ended, Moment, Workplace, watch};
use rtc_types::SessionId;

use super::machine::kilobytes;

/// What the result of a call that failed begins with, as the model reads it.
const FAILED: &str = "[Tool ";

/// A place with a project, a data folder that is not made yet, and a model that gives these answers.
pub(crate) struct Desk {
    place: Arc<Workplace>,
    server: ModelServer,
    /// How many requests come, if all goes well.
    answers: usize,
    /// The process that runs; 0 if none does.
    process: Arc<AtomicU32>,
}

/// A request that has come and is not yet answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    /// Which it is, from 0.
    pub(crate) number: usize,
    /// The process that asks.
    pub(crate) process: u32,
    /// The log of its store, to which each commit is appended.
    pub(crate) log: &'a Path,
}

/// A turn that went as it should.
pub(crate) struct Turn {
    /// From the start of the process to its first request.
    pub(crate) to_first_request: Duration,
    /// From the end of each answer to the next request.
    pub(crate) pauses: Vec<Duration>,
}

/// Flushes of a turn.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Flushes {
    /// Of the store.
    pub(crate) commits: usize,
    /// Of the project's files and folders and of what is kept of them.
    pub(crate) files: usize,
}

impl Desk {
    /// A desk within a folder. `before` is called before each answer, while nothing is timed.
    pub(crate) fn new(
        binary: &Path,
        folder: &Path,
        files: &[(String, String)],
        answers: Vec<Answer>,
        before: impl Fn(Request<'_>) + Send + Sync + 'static,
    ) -> Result<Self> {
        let place = Arc::new(Workplace::of_binary(binary, folder)?);
        for (name, content) in files {
            std::fs::write(place.root().join(name), content)?;
        }
        Self::at(place, answers, before)
    }

    /// A desk at a place that is there, with its files and its data.
    pub(crate) fn at(
        place: Arc<Workplace>,
        answers: Vec<Answer>,
        before: impl Fn(Request<'_>) + Send + Sync + 'static,
    ) -> Result<Self> {
        let process = Arc::new(AtomicU32::new(0));
        let count = answers.len();
        let (asking, log) = (process.clone(), log_in(&place));
        let server = ModelServer::start(move |asked| {
            before(Request {
                number: asked.number,
                process: asking.load(Ordering::SeqCst),
                log: &log,
            });
            let unexpected =
                || Answer::status(400, r#"{"error":{"message":"nobody expected this request"}}"#);
            answers.get(asked.number).cloned().unwrap_or_else(unexpected)
        });
        let config = format!(
            "model = \"scripted\"\n[models.scripted]\napi = \"openai-chat\"\nbase_url = \"{}\"\nmodel = \"m-1\"\n\
             key_env = \"SCRIPTED_KEY\"\n",
            server.base_url(Dialect::Chat)
        );
        std::fs::write(config_in(&place), config)?;
        Ok(Self {
            place,
            server,
            answers: count,
            process,
        })
    }

    /// Runs the turn, whose last answer is a text; `failing` of its calls fail, which is what they are there for.
    pub(crate) fn turn(&self, failing: usize) -> Result<Turn> {
        self.turn_of(None, failing)
    }

    /// The same in a session that there is.
    pub(crate) fn turn_of(&self, session: Option<SessionId>, failing: usize) -> Result<Turn> {
        let mut command = self.place.command(&["run", "go on"]);
        self.finish(&mut command);
        if let Some(session) = session {
            command.arg("--session").arg(session.to_string());
        }
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let began = Instant::now();
        let child = command.spawn().context("rtc-headless does not start")?;
        self.process.store(child.id(), Ordering::SeqCst);
        let output = child.wait_with_output()?;
        self.process.store(0, Ordering::SeqCst);
        ensure!(
            output.status.success(),
            "the turn failed: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        self.check(failing)?;
        let asked = self.server.asked();
        let first = asked.first().context("nothing was asked")?;
        Ok(Turn {
            to_first_request: first.at.duration_since(began),
            pauses: self.server.pauses(),
        })
    }

    /// Runs the turn under observation, and counts flushes instead of time.
    pub(crate) fn flushes(&self) -> Result<Result<Flushes, CannotTrace>> {
        let mut command = self.place.traceable(&["run", "go on"]);
        self.finish(&mut command);
        let (log, root) = (log_in(&self.place), self.place.root());
        let kept = self.place.data().join("pre-images");
        let mut flushes = Flushes::default();
        let ended = watch(command, |call| {
            if call.moment == Moment::After {
                match call.name {
                    "fdatasync" if call.path == log => flushes.commits += 1,
                    "fsync" | "fdatasync" if call.path.starts_with(&kept) || call.path.starts_with(&root) => {
                        flushes.files += 1;
                    }
                    _ => {}
                }
            }
            false
        });
        match ended {
            Ok(Ended::Exited(0)) => {
                self.check(0)?;
                Ok(Ok(flushes))
            }
            Ok(ended) => bail!("the watched turn failed: {ended:?}"),
            Err(cannot) => Ok(Err(cannot)),
        }
    }

    /// Where it is.
    pub(crate) fn place(&self) -> &Workplace {
        &self.place
    }

    /// Lets a command that is not made here use the desk: its data folder and its model.
    pub(crate) fn choose(&self, command: &mut Command) {
        command.arg("--data").arg(self.place.data());
        command.arg("--config").arg(config_in(&self.place));
        command.env("SCRIPTED_KEY", "none");
    }

    /// From the end of each answer so far to the next request.
    pub(crate) fn pauses(&self) -> Vec<Duration> {
        self.server.pauses()
    }

    /// The bytes of the last request; empty if there was none.
    pub(crate) fn last_request(&self) -> Vec<u8> {
        self.server
            .asked()
            .pop()
            .map(|asked| asked.body)
            .unwrap_or_default()
    }

    /// Runs `sessions list` on the data folder as it is: the time from its start to its end.
    pub(crate) fn list(&self) -> Result<Duration> {
        timed(self.place.command(&["sessions", "list"]))
    }

    /// Runs `--version`: the time of a start that does nothing.
    pub(crate) fn version(&self) -> Result<Duration> {
        timed(self.place.command(&["--version"]))
    }

    fn finish(&self, command: &mut Command) {
        command.arg("--root").arg(self.place.root());
        command.arg("--config").arg(config_in(&self.place));
        command.args(["--mode", "bypass", "--ask", "deny"]);
        command.env("SCRIPTED_KEY", "none");
    }

    /// That the whole turn has happened, with nothing else failing.
    pub(crate) fn check(&self, failing: usize) -> Result<()> {
        let asked = self.server.asked();
        ensure!(
            asked.len() == self.answers,
            "{} requests came instead of {}",
            asked.len(),
            self.answers
        );
        let mut failed = Vec::new();
        for asked in &asked {
            if let Last::Results(results) = asked.last() {
                failed.extend(results.into_iter().filter(|(_, text)| text.starts_with(FAILED)));
            }
        }
        ensure!(
            failed.len() == failing,
            "{} calls failed instead of {failing}: {failed:?}",
            failed.len()
        );
        Ok(())
    }
}

fn config_in(place: &Workplace) -> PathBuf {
    place.path().join("config.toml")
}

fn log_in(place: &Workplace) -> PathBuf {
    place.data().join("store/db/db")
}

fn timed(mut command: Command) -> Result<Duration> {
    let began = Instant::now();
    let output = command.output().context("rtc-headless does not start")?;
    let took = began.elapsed();
    ensure!(output.status.success(), "a command failed: {output:?}");
    Ok(took)
}

/// The memory of a process and of all that it started, each page shared by several divided among them, in bytes.
pub(crate) fn tree_memory(process: u32) -> Result<u64> {
    let rollup = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup"))?;
    let mut total = kilobytes(&rollup, "Pss").context("the system does not tell memory")?;
    for thread in std::fs::read_dir(format!("/proc/{process}/task"))? {
        // A thread or a child that has ended meanwhile has none.
        let children = std::fs::read_to_string(thread?.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace() {
            total += tree_memory(child.parse()?).unwrap_or_default();
        }
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};

    use super::*;

    #[test]
    fn memory_is_that_of_the_whole_tree() {
        // A shell that tells the process that it started.
        let mut shell = Command::new("sh")
            .args(["-c", "sleep 60 & echo $!; wait"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = shell.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let sleeper: u32 = line.trim().parse().unwrap();
        let (whole, of_sleeper) = (tree_memory(shell.id()).unwrap(), tree_memory(sleeper).unwrap());
        let sleeper = nix::unistd::Pid::from_raw(i32::try_from(sleeper).unwrap());
        nix::sys::signal::kill(sleeper, nix::sys::signal::Signal::SIGKILL).unwrap();
        shell.wait().unwrap();
        assert!(of_sleeper > 0);
        assert!(whole > of_sleeper, "{whole} with {of_sleeper}");
        assert!(tree_memory(shell.id()).is_err(), "it is gone");
    }
}
