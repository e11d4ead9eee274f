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

use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};

use crate::{Error, PARENT_VARIABLE};

/// How many children may run at a time.
pub const MAX_CHILDREN: usize = 64;

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
    process: Option<std::process::Child>,
}

type Asked = (ChildCommand, oneshot::Sender<Started>);
type Started = Result<std::process::Child, Error>;
type Reaped = (std::process::Child, oneshot::Sender<Option<ExitStatus>>);

static CHILDREN: AtomicUsize = AtomicUsize::new(0);

static SPAWNER: LazyLock<io::Result<mpsc::Sender<Asked>>> = LazyLock::new(|| {
    let (sender, mut receiver) = mpsc::channel::<Asked>(MAX_CHILDREN);
    std::thread::Builder::new()
        .name("child-spawner".into())
        .spawn(move || {
            while let Some((command, reply)) = receiver.blocking_recv() {
                // Whoever asked may have gone; then the child goes as well.
                if let Err(Ok(mut unwanted)) = reply.send(start(&command)) {
                    kill_group(&mut unwanted);
                    reap(unwanted);
                }
            }
        })?;
    Ok(sender)
});

static REAPER: LazyLock<io::Result<std::sync::mpsc::SyncSender<Reaped>>> = LazyLock::new(|| {
    let (sender, receiver) = std::sync::mpsc::sync_channel::<Reaped>(MAX_CHILDREN);
    std::thread::Builder::new()
        .name("child-reaper".into())
        .spawn(move || {
            for (mut child, reply) in receiver {
                let status = child.wait().ok();
                CHILDREN.fetch_sub(1, Ordering::AcqRel);
                // Most often nobody wants to know.
                let _ = reply.send(status);
            }
        })?;
    Ok(sender)
});

/// Starts a child. It ends with this process, whatever becomes of that.
///
/// # Errors
/// [`Error::Spawn`], [`Error::TooManyChildren`].
pub async fn spawn(command: ChildCommand) -> Result<Child, Error> {
    let failed = {
        let program = command.program.clone();
        move |reason: String| Error::Spawn { program, reason }
    };
    let counted = CHILDREN.fetch_update(Ordering::AcqRel, Ordering::Acquire, |running| {
        (running < MAX_CHILDREN).then_some(running + 1)
    });
    if counted.is_err() {
        return Err(Error::TooManyChildren(MAX_CHILDREN));
    }
    let (reply, started) = oneshot::channel();
    let spawner = SPAWNER.as_ref().map_err(ToString::to_string);
    let asked = match spawner {
        Ok(spawner) => spawner
            .send((command, reply))
            .await
            .map_err(|error| error.to_string()),
        Err(reason) => Err(reason),
    };
    let started = match asked {
        Ok(()) => started.await.map_err(|error| error.to_string()),
        Err(reason) => Err(reason),
    };
    let mut process = match started {
        Ok(Ok(process)) => process,
        Ok(Err(error)) => {
            CHILDREN.fetch_sub(1, Ordering::AcqRel);
            return Err(error);
        }
        Err(reason) => {
            CHILDREN.fetch_sub(1, Ordering::AcqRel);
            return Err(failed(reason));
        }
    };
    let stdin = process.stdin.take().map(ChildStdin::from_std).transpose();
    let stdout = process.stdout.take().map(ChildStdout::from_std).transpose();
    let stderr = process.stderr.take().map(ChildStderr::from_std).transpose();
    let mut child = Child {
        id: process.id(),
        stdin: None,
        stdout: None,
        stderr: None,
        process: Some(process),
    };
    let pipe = |error: io::Error| failed.clone()(error.to_string());
    child.stdin = stdin.map_err(&pipe)?;
    child.stdout = stdout.map_err(&pipe)?;
    child.stderr = stderr.map_err(&pipe)?;
    Ok(child)
}

fn start(command: &ChildCommand) -> Started {
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
    process.spawn().map_err(|error| Error::Spawn {
        program: command.program.clone(),
        reason: error.to_string(),
    })
}

impl Child {
    /// Kills it with everything in its process group, and says how it ended: by itself, if it already had.
    pub async fn end(mut self) -> Option<ExitStatus> {
        let mut process = self.process.take()?;
        kill_group(&mut process);
        reap(process).await.ok().flatten()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            kill_group(&mut process);
            drop(reap(process));
        }
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

/// Lets the reaper wait for a process that has been killed.
fn reap(process: std::process::Child) -> oneshot::Receiver<Option<ExitStatus>> {
    let (reply, status) = oneshot::channel();
    match REAPER.as_ref() {
        // There is room: no more children than that are counted.
        Ok(reaper) => drop(reaper.send((process, reply))),
        // Without a thread for it the process stays in the system's table until this one ends.
        Err(error) => tracing::warn!(%error, "a child cannot be waited for"),
    }
    status
}
