//! The one place that spawns child processes, so that none outlives its parent.
//!
//! All are started by one thread that lives as long as the process, since the signal that a child gets at its parent's
//! death follows the thread that started it. Each has a process group of its own, which is killed as a whole, and an
//! environment of the variables that it needs: none of them holds a key.

// This module is the place where children are spawned, which the root `clippy.toml` bans elsewhere.
#![allow(clippy::disallowed_methods)]

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};

use crate::{Error, PARENT_VARIABLE};

/// How many children may run at a time.
pub const MAX_CHILDREN: usize = 64;

/// How long a child that was killed is waited for by whoever wants to know how it ended. One that the system cannot end
/// yet keeps its place among the [`MAX_CHILDREN`].
const END_TIME: Duration = Duration::from_secs(2);

/// How often children that were killed are looked at: at first, and once they take long.
const LOOK_EVERY: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(100)];

/// The variables that a child gets from its parent, where they are set. Everything else is left out.
pub const ENVIRONMENT: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "TEMP",
    "TMP",
    "SYSTEMROOT",
    "RUST_BACKTRACE",
];

/// What to start.
#[derive(Debug, Clone)]
pub struct ChildCommand {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Variables beyond [`ENVIRONMENT`].
    pub environment: Vec<(OsString, OsString)>,
}

/// A running child with its pipes. Dropping it kills it and everything in its process group.
#[derive(Debug)]
pub struct Child {
    /// Its number for the system.
    pub id: u32,
    /// Its end tells the child that its parent has gone.
    pub stdin: Option<ChildStdin>,
    /// What it says.
    pub stdout: Option<ChildStdout>,
    /// What it says of itself.
    pub stderr: Option<ChildStderr>,
    process: Process,
}

type Asked = (ChildCommand, Counted, oneshot::Sender<Started>);
type Started = Result<Process, Error>;
type Reaped = (std::process::Child, Counted, oneshot::Sender<Option<ExitStatus>>);

static CHILDREN: AtomicUsize = AtomicUsize::new(0);

static SPAWNER: LazyLock<io::Result<mpsc::Sender<Asked>>> = LazyLock::new(|| {
    let (sender, mut receiver) = mpsc::channel::<Asked>(MAX_CHILDREN);
    std::thread::Builder::new()
        .name("child-spawner".into())
        .spawn(move || {
            while let Some((command, counted, reply)) = receiver.blocking_recv() {
                // Whoever asked may have gone, now or before it takes the child: then the child goes as well.
                drop(reply.send(start(&command, counted)));
            }
        })?;
    Ok(sender)
});

static REAPER: LazyLock<io::Result<std::sync::mpsc::SyncSender<Reaped>>> = LazyLock::new(|| {
    let (sender, receiver) = std::sync::mpsc::sync_channel::<Reaped>(MAX_CHILDREN);
    std::thread::Builder::new()
        .name("child-reaper".into())
        .spawn(move || reap(&receiver))?;
    Ok(sender)
});

/// Waits for all of them at once: one that the system cannot end yet holds up no other.
fn reap(ended: &std::sync::mpsc::Receiver<Reaped>) {
    let [first, most] = LOOK_EVERY;
    let (mut waiting, mut every) = (Vec::<Reaped>::new(), first);
    loop {
        let next = if waiting.is_empty() {
            ended.recv().map_err(RecvTimeoutError::from)
        } else {
            ended.recv_timeout(every)
        };
        match next {
            Ok(child) => {
                waiting.push(child);
                every = first;
            }
            Err(RecvTimeoutError::Timeout) => every = (every * 2).min(most),
            Err(RecvTimeoutError::Disconnected) => return,
        }
        for index in (0..waiting.len()).rev() {
            let status = match waiting[index].0.try_wait() {
                Ok(None) => continue,
                Ok(status) => status,
                Err(_) => None,
            };
            let (_, counted, reply) = waiting.swap_remove(index);
            drop(counted);
            // Most often nobody wants to know.
            let _ = reply.send(status);
        }
    }
}

/// A place among the [`MAX_CHILDREN`], given back when this is dropped.
#[derive(Debug)]
struct Counted;

impl Counted {
    fn take() -> Result<Self, Error> {
        CHILDREN
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |running| {
                (running < MAX_CHILDREN).then_some(running + 1)
            })
            .map(|_| Self)
            .map_err(|_| Error::TooManyChildren(MAX_CHILDREN))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        CHILDREN.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A process that is killed with its group and waited for when this is dropped, wherever it is by then.
#[derive(Debug)]
struct Process(Option<(std::process::Child, Counted)>);

impl Process {
    /// Kills it; how it ended comes later.
    fn end(&mut self) -> Option<oneshot::Receiver<Option<ExitStatus>>> {
        let (mut process, counted) = self.0.take()?;
        kill_group(&mut process);
        let (reply, status) = oneshot::channel();
        match REAPER.as_ref() {
            // There is room: no more children than that are counted.
            Ok(reaper) => drop(reaper.send((process, counted, reply))),
            // Without a thread for it the process stays in the system's table until this one ends.
            Err(error) => tracing::warn!(%error, "a child cannot be waited for"),
        }
        Some(status)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.end());
    }
}

/// Starts a child. It ends with this process, whatever becomes of that.
///
/// # Errors
/// [`Error::Spawn`], [`Error::TooManyChildren`].
pub async fn spawn(command: ChildCommand) -> Result<Child, Error> {
    let failed = {
        let program = command.program.clone();
        move |reason: String| Error::Spawn {
            program: program.clone(),
            reason,
        }
    };
    let counted = Counted::take()?;
    let (reply, started) = oneshot::channel();
    let spawner = SPAWNER.as_ref().map_err(|error| failed(error.to_string()))?;
    spawner
        .send((command, counted, reply))
        .await
        .map_err(|error| failed(error.to_string()))?;
    let mut process = started.await.map_err(|error| failed(error.to_string()))??;
    let lost = || failed("it has gone already".to_owned());
    let (child, _) = process.0.as_mut().ok_or_else(lost)?;
    let (id, stdin, stdout, stderr) = (
        child.id(),
        child.stdin.take().map(ChildStdin::from_std).transpose(),
        child.stdout.take().map(ChildStdout::from_std).transpose(),
        child.stderr.take().map(ChildStderr::from_std).transpose(),
    );
    let pipe = |error: io::Error| failed(error.to_string());
    Ok(Child {
        id,
        stdin: stdin.map_err(pipe)?,
        stdout: stdout.map_err(pipe)?,
        stderr: stderr.map_err(pipe)?,
        process,
    })
}

fn start(command: &ChildCommand, counted: Counted) -> Started {
    let mut process = Command::new(&command.program);
    process
        .args(&command.arguments)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    for name in ENVIRONMENT {
        if let Some(value) = std::env::var_os(name) {
            process.env(name, value);
        }
    }
    process.env(PARENT_VARIABLE, std::process::id().to_string());
    process.envs(command.environment.iter().map(|(name, value)| (name, value)));
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;
        process.process_group(0);
        // It must not keep a folder busy that the user wants to remove.
        process.current_dir("/");
    }
    let started = process.spawn().map_err(|error| Error::Spawn {
        program: command.program.clone(),
        reason: error.to_string(),
    })?;
    Ok(Process(Some((started, counted))))
}

impl Child {
    /// Kills it with everything in its process group, and says how it ended: by itself, if it already had. `None` if that
    /// is not known after two seconds.
    pub async fn end(mut self) -> Option<ExitStatus> {
        let ended = tokio::time::timeout(END_TIME, self.process.end()?).await;
        ended.ok()?.ok().flatten()
    }
}

/// Not yet waited for, so the number of the group is still its own.
fn kill_group(process: &mut std::process::Child) {
    #[cfg(unix)]
    if let Ok(id) = i32::try_from(process.id())
        && let Some(group) = rustix::process::Pid::from_raw(id)
    {
        // Nothing is left to kill if it fails.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = process.kill();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running() -> usize {
        CHILDREN.load(Ordering::Acquire)
    }

    /// Alone in this binary in that it counts children, so that the count is its own.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_child_that_nobody_takes_is_killed_and_its_place_given_back() {
        let command = |program: &str| ChildCommand {
            program: program.into(),
            arguments: vec!["600".into()],
            environment: Vec::new(),
        };
        for program in ["/bin/sleep", "/no/such/program"] {
            for polls in 0..3 {
                let mut asked = Box::pin(spawn(command(program)));
                for _ in 0..polls {
                    // It is given up after it was asked for, and before or after the child has come.
                    if futures::poll!(&mut asked).is_ready() {
                        break;
                    }
                    std::thread::yield_now();
                }
                drop(asked);
            }
        }
        let started = spawn(command("/bin/sleep")).await.unwrap();
        assert!(running() >= 1);
        started.end().await.unwrap();
        let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while running() > 0 && std::time::Instant::now() < until {
            tokio::task::yield_now().await;
        }
        assert_eq!(running(), 0);
        // One that does not end holds up no other.
        let mut stuck = start(&command("/bin/sleep"), Counted::take().unwrap()).unwrap();
        let (process, counted) = stuck.0.take().unwrap();
        let group = rustix::process::Pid::from_raw(i32::try_from(process.id()).unwrap()).unwrap();
        let (reply, ended) = oneshot::channel();
        REAPER.as_ref().unwrap().send((process, counted, reply)).unwrap();
        let started = spawn(command("/bin/sleep")).await.unwrap();
        assert!(started.end().await.is_some());
        assert_eq!(running(), 1);
        rustix::process::kill_process(group, rustix::process::Signal::KILL).unwrap();
        assert!(ended.await.unwrap().is_some());
        assert_eq!(running(), 0);
    }
}
