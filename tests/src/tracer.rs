//! Watches a process from outside, system call by system call, and kills it at the one that a test chooses.
//!
//! Calls are seen in the order in which they happen, whichever thread makes them, so "the third rename" is the
//! same one in every run of a program that does one thing after the other.

use std::collections::HashMap;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use nix::errno::Errno;
use nix::libc::{self, c_long};
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{self, Signal};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::processes::assert_none_left_by;

/// The longest path that is read from a process, in bytes; the system takes no longer one.
const PATH_BYTES: usize = 4096;

/// How long a process may take; one that takes longer is stuck. Far more than any of them needs.
const BOUND: Duration = Duration::from_secs(120);

/// The most bytes of a write that a test is shown.
const CONTENT_BYTES: u64 = 1024 * 1024;

/// A system call that makes or changes something on a disk, or sends something to another process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemCall {
    /// Its name.
    pub name: &'static str,
    /// What it changes; of a rename, the new name; of a connection, what the system calls it (`socket:[7]`).
    pub path: PathBuf,
    /// What a `write`, `pwrite64` or `sendto` writes.
    pub content: Vec<u8>,
    /// Whether it is about to happen or has happened.
    pub moment: Moment,
}

/// When a process stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// The call has not happened; after a kill it never will.
    Before,
    /// The call has happened, and the process has not yet seen that it did.
    After,
}

/// How a watched process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The test chose to.
    Killed,
    /// By itself, with this code.
    Exited(i32),
}

/// This machine lets nobody watch a process.
#[derive(Debug)]
pub struct CannotTrace(Errno);

impl std::fmt::Display for CannotTrace {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "processes cannot be traced here: {}", self.0)
    }
}

/// Runs a command and shows each call to `kill`, before and after it happens; at the first `true` the process dies.
///
/// The command has to be one of [`crate::Workplace::traceable`], which stops before its program begins.
#[expect(
    clippy::zombie_processes,
    reason = "it is waited for together with its threads"
)]
pub fn watch(mut command: Command, mut kill: impl FnMut(&SystemCall) -> bool) -> Result<Ended, CannotTrace> {
    let child = command.spawn().expect("sh starts");
    let process = Pid::from_raw(i32::try_from(child.id()).expect("a process id is an i32"));
    waitpid(process, Some(WaitPidFlag::WUNTRACED)).expect("it stops by itself");
    let options = Options::PTRACE_O_EXITKILL
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_TRACESYSGOOD;
    let seized = ptrace::seize(process, options);
    // Goes on in either case, so that it is not left behind.
    signal::kill(process, Signal::SIGCONT).expect("it is there");
    if let Err(error) = seized {
        signal::kill(process, Signal::SIGKILL).expect("it is there");
        waitpid(process, None).expect("it ends");
        return Err(CannotTrace(error));
    }
    let _guard = guard(process);
    let mut open: HashMap<Pid, SystemCall> = HashMap::new();
    let mut killed = false;
    loop {
        // Only what this thread started: other threads of the test watch processes of their own.
        let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
        let (thread, pass_on) = match waitpid(None, Some(flags)).expect("the process is there until it ends")
        {
            WaitStatus::Exited(ended, code) if ended == process => {
                assert_none_left_by(child.id());
                return Ok(Ended::Exited(code));
            }
            WaitStatus::Signaled(ended, Signal::SIGKILL, _) if ended == process && killed => {
                assert_none_left_by(child.id());
                return Ok(Ended::Killed);
            }
            WaitStatus::Signaled(ended, signal, _) if ended == process => {
                panic!("it is stuck, or died: {signal}")
            }
            WaitStatus::PtraceSyscall(thread) => {
                if !killed
                    && let Some(call) = call_at(thread, process, &mut open)
                    && kill(&call)
                {
                    killed = true;
                    signal::kill(process, Signal::SIGKILL).expect("it is there");
                }
                (thread, None)
            }
            WaitStatus::Stopped(thread, signal) => (thread, Some(signal)),
            WaitStatus::PtraceEvent(thread, ..) => (thread, None),
            _ => continue,
        };
        match ptrace::syscall(thread, pass_on) {
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => panic!("a stopped thread does not go on: {error}"),
        }
    }
}

/// Runs a command to its end, which comes in time and leaves no process behind.
pub fn finish(mut command: Command) -> Output {
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let id = child.id();
    let guard = guard(Pid::from_raw(i32::try_from(id).expect("a process id is an i32")));
    let output = child.wait_with_output().expect("it is there until it ends");
    drop(guard);
    assert_none_left_by(id);
    assert!(
        output.status.code().is_some(),
        "it is stuck, or died: {}",
        output.status
    );
    output
}

/// Kills a process that does not end in time, unless what this gives is dropped before.
fn guard(process: Pid) -> Sender<()> {
    let (sender, ended) = channel();
    std::thread::spawn(move || {
        if ended.recv_timeout(BOUND) == Err(RecvTimeoutError::Timeout) {
            let _ = signal::kill(process, Signal::SIGKILL);
        }
    });
    sender
}

/// The call at which a thread stands, if it changes something on a disk.
fn call_at(thread: Pid, process: Pid, open: &mut HashMap<Pid, SystemCall>) -> Option<SystemCall> {
    // A thread that is just being killed tells nothing any more.
    match ptrace::syscall_info(thread).ok()?.op {
        libc::PTRACE_SYSCALL_INFO_ENTRY => {
            open.remove(&thread);
            let call = read_call(thread, process).ok()??;
            open.insert(thread, call.clone());
            Some(call)
        }
        libc::PTRACE_SYSCALL_INFO_EXIT => {
            let mut call = open.remove(&thread)?;
            call.moment = Moment::After;
            Some(call)
        }
        _ => None,
    }
}

/// What the first arguments of a call name.
#[derive(Clone, Copy)]
enum Names {
    /// A file that is open.
    Open,
    /// A path.
    Path,
    /// A folder that is open, and a path in it.
    At,
    /// As `At`; the third argument are flags, and it counts only if it may make the file.
    AtIfMade,
    /// As `At`; the third argument points to flags, and it counts only if it may make the file.
    AtIfMadePointer,
    /// Two paths; the second one counts.
    SecondPath,
    /// Twice a folder and a path; the second ones count.
    SecondAt,
}

#[rustfmt::skip]
const CALLS: &[(c_long, &str, Names)] = &[
    (libc::SYS_write, "write", Names::Open),
    (libc::SYS_writev, "writev", Names::Open),
    (libc::SYS_pwrite64, "pwrite64", Names::Open),
    (libc::SYS_connect, "connect", Names::Open),
    (libc::SYS_sendto, "sendto", Names::Open),
    (libc::SYS_ftruncate, "ftruncate", Names::Open),
    (libc::SYS_fallocate, "fallocate", Names::Open),
    (libc::SYS_fsync, "fsync", Names::Open),
    (libc::SYS_fdatasync, "fdatasync", Names::Open),
    (libc::SYS_sync_file_range, "sync_file_range", Names::Open),
    (libc::SYS_openat, "openat", Names::AtIfMade),
    (libc::SYS_openat2, "openat2", Names::AtIfMadePointer),
    (libc::SYS_mkdirat, "mkdirat", Names::At),
    (libc::SYS_unlinkat, "unlinkat", Names::At),
    (libc::SYS_renameat2, "renameat2", Names::SecondAt),
    (libc::SYS_renameat, "renameat", Names::SecondAt),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mkdir, "mkdir", Names::Path),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_unlink, "unlink", Names::Path),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_rename, "rename", Names::SecondPath),
];

/// Reads number and arguments of the call that a thread is about to make.
fn read_call(thread: Pid, process: Pid) -> io::Result<Option<SystemCall>> {
    let line = std::fs::read_to_string(format!("/proc/{process}/task/{thread}/syscall"))?;
    let mut words = line.split_whitespace();
    let number = words.next().and_then(|word| word.parse::<c_long>().ok());
    let Some((_, name, names)) = CALLS.iter().find(|(known, ..)| Some(*known) == number) else {
        return Ok(None);
    };
    let arguments: Vec<u64> = words
        .map_while(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok())
        .collect();
    let [first, second, third, fourth, ..] = arguments[..] else {
        return Ok(None);
    };
    let memory = Memory(process);
    let made = |flags: u64| flags & libc::O_CREAT as u64 != 0;
    let path = match names {
        Names::Open => memory.open_file(first)?,
        Names::Path => memory.path_at(libc::AT_FDCWD as u64, first)?,
        Names::At => memory.path_at(first, second)?,
        Names::AtIfMade if made(third) => memory.path_at(first, second)?,
        Names::AtIfMadePointer if made(memory.number(third)?) => memory.path_at(first, second)?,
        Names::AtIfMade | Names::AtIfMadePointer => return Ok(None),
        Names::SecondPath => memory.path_at(libc::AT_FDCWD as u64, second)?,
        Names::SecondAt => memory.path_at(third, fourth)?,
    };
    let content = match *name {
        "write" | "pwrite64" | "sendto" => memory.content(second, third)?,
        _ => Vec::new(),
    };
    Ok(Some(SystemCall {
        name,
        path,
        content,
        moment: Moment::Before,
    }))
}

/// What the arguments of a process point to.
struct Memory(Pid);

impl Memory {
    fn bytes(&self, address: u64, bytes: &mut [u8]) -> io::Result<usize> {
        std::fs::File::open(format!("/proc/{}/mem", self.0))?.read_at(bytes, address)
    }

    fn content(&self, address: u64, length: u64) -> io::Result<Vec<u8>> {
        let length = usize::try_from(length.min(CONTENT_BYTES)).map_err(io::Error::other)?;
        let mut bytes = vec![0; length];
        let read = self.bytes(address, &mut bytes)?;
        bytes.truncate(read);
        Ok(bytes)
    }

    fn number(&self, address: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.bytes(address, &mut bytes)?;
        Ok(u64::from_ne_bytes(bytes))
    }

    fn open_file(&self, descriptor: u64) -> io::Result<PathBuf> {
        std::fs::read_link(format!("/proc/{}/fd/{}", self.0, descriptor as i32))
    }

    fn path_at(&self, folder: u64, address: u64) -> io::Result<PathBuf> {
        let mut bytes = vec![0; PATH_BYTES];
        let read = self.bytes(address, &mut bytes)?;
        let end = bytes[..read].iter().position(|byte| *byte == 0).unwrap_or(read);
        let path = PathBuf::from(String::from_utf8_lossy(&bytes[..end]).into_owned());
        if path.is_absolute() {
            return Ok(path);
        }
        let folder = if folder as i32 == libc::AT_FDCWD {
            std::fs::read_link(format!("/proc/{}/cwd", self.0))?
        } else {
            self.open_file(folder)?
        };
        Ok(if path == Path::new(".") {
            folder
        } else {
            folder.join(path)
        })
    }
}
