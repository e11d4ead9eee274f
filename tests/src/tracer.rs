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

/// The most bytes of one write; a longer one fails the test, since nothing could be said of it.
const CONTENT_BYTES: u64 = 64 * 1024 * 1024;

/// The most pieces of one write; the system takes no more.
const PIECES: u64 = 1024;

/// A system call that makes or changes something on a disk, or sends something to another process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemCall {
    /// Its name.
    pub name: &'static str,
    /// What it changes; of a rename, the new name; of a connection, what the system calls it (`socket:[7]`).
    pub path: PathBuf,
    /// What a `write`, `writev`, `pwrite64` or `sendto` writes; of a copy, after it has happened, what was copied.
    pub content: Vec<u8>,
    /// What it does to files.
    pub change: Change,
    /// Whether it is about to happen or has happened.
    pub moment: Moment,
    /// What it gave: negative if it failed. 0 before it has happened.
    pub result: i64,
    /// The number of the thread that makes it, by which what is seen before and after belongs together.
    pub thread: i32,
}

/// What a call does to files, as much as is needed to do the same elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It makes the file if there is none, and empties it if there is one and `empties`.
    File {
        /// Whether nothing is left of what was in it.
        empties: bool,
    },
    /// It makes a folder.
    Folder,
    /// It writes the content, as far as its result says, at this place in bytes; at the end if there is none.
    Write(Option<u64>),
    /// It cuts the file, or fills it up, to this length in bytes.
    Length(u64),
    /// It fills the file up to this length in bytes if it is shorter.
    AtLeast(u64),
    /// It waits until the device has the content of a file or the names of a folder.
    Sync,
    /// It gives another name to what was called `from`.
    Rename {
        /// The name until now.
        from: PathBuf,
        /// Whether that then names what was called by the other name.
        exchanges: bool,
    },
    /// It gives one more name to the file called `from`.
    Link {
        /// The other name.
        from: PathBuf,
    },
    /// It takes the name away from a file or a folder.
    Remove,
    /// Nothing that another process or a later start would find.
    Nothing,
    /// It may change a file in a way that is not known here.
    Unknown,
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
    let mut open: HashMap<Pid, Begun> = HashMap::new();
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

/// A call that has begun.
struct Begun {
    call: SystemCall,
    /// Of a copy from file to file: what it is copied to.
    copies_to: Option<u64>,
}

/// The call at which a thread stands, if it changes something on a disk.
fn call_at(thread: Pid, process: Pid, open: &mut HashMap<Pid, Begun>) -> Option<SystemCall> {
    // A thread that is just being killed tells nothing any more.
    match ptrace::syscall_info(thread).ok()?.op {
        libc::PTRACE_SYSCALL_INFO_ENTRY => {
            open.remove(&thread);
            let begun = read_call(thread, process).ok()??;
            let call = begun.call.clone();
            open.insert(thread, begun);
            Some(call)
        }
        libc::PTRACE_SYSCALL_INFO_EXIT => {
            let Begun { mut call, copies_to } = open.remove(&thread)?;
            call.moment = Moment::After;
            call.result = result(thread)?;
            if let (Some(file), Change::Write(Some(start))) = (copies_to, &call.change) {
                let length = usize::try_from(call.result).unwrap_or(0);
                call.content = Memory(process).content_of(file, *start, length).ok()?;
            }
            Some(call)
        }
        _ => None,
    }
}

/// What the call gave that a thread has just made.
fn result(thread: Pid) -> Option<i64> {
    let registers = ptrace::getregs(thread).ok()?;
    #[cfg(target_arch = "x86_64")]
    let result = registers.rax;
    #[cfg(target_arch = "aarch64")]
    let result = registers.regs[0];
    Some(result.cast_signed())
}

/// What the first arguments of a call name.
#[derive(Clone, Copy)]
enum Names {
    /// A file that is open.
    Open,
    /// As `Open`, the third argument.
    ThirdOpen,
    /// As `Open`, the fifth argument; it counts only if what is written to memory gets into the file.
    Mapped,
    /// A path.
    Path,
    /// A folder that is open, and a path in it.
    At,
    /// As `At`; the third argument are flags, and it counts only if it may make or empty the file.
    AtIfMade,
    /// As `At`; the third argument points to flags, and it counts only if it may make or empty the file.
    AtIfMadePointer,
    /// Two paths; the second one counts.
    SecondPath,
    /// An open folder after another path, and a path in it.
    AtSecond,
    /// Twice a folder and a path; the second ones count.
    SecondAt,
}

#[rustfmt::skip]
const CALLS: &[(c_long, &str, Names)] = &[
    (libc::SYS_write, "write", Names::Open),
    (libc::SYS_writev, "writev", Names::Open),
    (libc::SYS_pwrite64, "pwrite64", Names::Open),
    (libc::SYS_pwritev, "pwritev", Names::Open),
    (libc::SYS_pwritev2, "pwritev2", Names::Open),
    (libc::SYS_sendfile, "sendfile", Names::Open),
    (libc::SYS_copy_file_range, "copy_file_range", Names::ThirdOpen),
    (libc::SYS_splice, "splice", Names::ThirdOpen),
    (libc::SYS_mmap, "mmap", Names::Mapped),
    (libc::SYS_connect, "connect", Names::Open),
    (libc::SYS_sendto, "sendto", Names::Open),
    (libc::SYS_ftruncate, "ftruncate", Names::Open),
    (libc::SYS_truncate, "truncate", Names::Path),
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
    (libc::SYS_linkat, "linkat", Names::SecondAt),
    (libc::SYS_symlinkat, "symlinkat", Names::AtSecond),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, "creat", Names::Path),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mkdir, "mkdir", Names::Path),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_rmdir, "rmdir", Names::Path),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_unlink, "unlink", Names::Path),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_rename, "rename", Names::SecondPath),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_link, "link", Names::SecondPath),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_symlink, "symlink", Names::SecondPath),
];

/// Reads number and arguments of the call that a thread is about to make.
fn read_call(thread: Pid, process: Pid) -> io::Result<Option<Begun>> {
    let line = std::fs::read_to_string(format!("/proc/{process}/task/{thread}/syscall"))?;
    let mut words = line.split_whitespace();
    let number = words.next().and_then(|word| word.parse::<c_long>().ok());
    let Some(&(_, name, names)) = CALLS.iter().find(|(known, ..)| Some(*known) == number) else {
        return Ok(None);
    };
    let arguments: Vec<u64> = words
        .map_while(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok())
        .collect();
    let Some(arguments) = arguments.first_chunk() else {
        return Ok(None);
    };
    let memory = Memory(process);
    let Some(path) = memory.path_of(names, arguments)? else {
        return Ok(None);
    };
    let [first, second, third, ..] = *arguments;
    let content = match name {
        "write" | "pwrite64" | "sendto" => memory.content(second, third)?,
        "writev" => memory.pieces(second, third)?,
        _ => Vec::new(),
    };
    let copies_to = match name {
        "copy_file_range" => Some(third),
        "sendfile" => Some(first),
        _ => None,
    };
    let call = SystemCall {
        name,
        path,
        content,
        change: memory.change(name, arguments)?,
        moment: Moment::Before,
        result: 0,
        thread: thread.as_raw(),
    };
    Ok(Some(Begun { call, copies_to }))
}

/// The arguments of a call.
type Arguments = [u64; 6];

/// What the arguments of a process point to.
struct Memory(Pid);

impl Memory {
    /// What a call changes by its path, if it counts.
    fn path_of(&self, names: Names, arguments: &Arguments) -> io::Result<Option<PathBuf>> {
        let [first, second, third, fourth, fifth, _] = *arguments;
        let here = libc::AT_FDCWD as u64;
        let changes = |flags: u64| flags & (libc::O_CREAT | libc::O_TRUNC) as u64 != 0;
        let path = match names {
            Names::Open => self.open_file(first)?,
            Names::ThirdOpen => self.open_file(third)?,
            Names::Mapped
                if third & libc::PROT_WRITE as u64 != 0 && fourth & libc::MAP_SHARED as u64 != 0 =>
            {
                // What belongs to no file has no name.
                return Ok(self.open_file(fifth).ok());
            }
            Names::Path => self.path_at(here, first)?,
            Names::At => self.path_at(first, second)?,
            Names::AtIfMade if changes(third) => self.path_at(first, second)?,
            Names::AtIfMadePointer if changes(self.number(third)?) => self.path_at(first, second)?,
            Names::AtIfMade | Names::AtIfMadePointer | Names::Mapped => return Ok(None),
            Names::SecondPath => self.path_at(here, second)?,
            Names::AtSecond => self.path_at(second, third)?,
            Names::SecondAt => self.path_at(third, fourth)?,
        };
        Ok(Some(path))
    }

    fn change(&self, name: &str, arguments: &Arguments) -> io::Result<Change> {
        let [first, second, third, fourth, fifth, _] = *arguments;
        let here = libc::AT_FDCWD as u64;
        let empties = |flags: u64| Change::File {
            empties: flags & libc::O_TRUNC as u64 != 0,
        };
        Ok(match name {
            "write" | "writev" | "sendfile" => self.write_at(first)?,
            "pwrite64" => Change::Write(Some(fourth)),
            // At a place of its own.
            "copy_file_range" if fourth == 0 => self.write_at(third)?,
            "ftruncate" | "truncate" => Change::Length(second),
            "fallocate" if second == 0 => Change::AtLeast(third + fourth),
            "fsync" | "fdatasync" => Change::Sync,
            // It says itself that it gives no promise about a crash.
            "sync_file_range" | "connect" | "sendto" => Change::Nothing,
            "openat" => empties(third),
            "openat2" => empties(self.number(third)?),
            "creat" => Change::File { empties: true },
            "mkdirat" | "mkdir" => Change::Folder,
            "unlinkat" | "unlink" | "rmdir" => Change::Remove,
            "renameat2" | "renameat" => Change::Rename {
                from: self.path_at(first, second)?,
                exchanges: name == "renameat2" && fifth & u64::from(libc::RENAME_EXCHANGE) != 0,
            },
            "rename" => Change::Rename {
                from: self.path_at(here, first)?,
                exchanges: false,
            },
            "linkat" => Change::Link {
                from: self.path_at(first, second)?,
            },
            "link" => Change::Link {
                from: self.path_at(here, first)?,
            },
            _ => Change::Unknown,
        })
    }

    /// A write where the open file stands, which is its end if it says so.
    fn write_at(&self, descriptor: u64) -> io::Result<Change> {
        let told = std::fs::read_to_string(format!("/proc/{}/fdinfo/{}", self.0, descriptor as i32))?;
        let field = |name: &str| {
            let mut lines = told.lines();
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':').map(str::trim))
        };
        let flags = field("flags").and_then(|flags| i32::from_str_radix(flags, 8).ok());
        let place = field("pos").and_then(|place| place.parse().ok());
        let (Some(flags), Some(place)) = (flags, place) else {
            return Err(io::Error::other("an open file has flags and a place"));
        };
        let appends = flags & libc::O_APPEND != 0;
        Ok(Change::Write((!appends).then_some(place)))
    }

    fn bytes(&self, address: u64, bytes: &mut [u8]) -> io::Result<usize> {
        std::fs::File::open(format!("/proc/{}/mem", self.0))?.read_at(bytes, address)
    }

    fn content(&self, address: u64, length: u64) -> io::Result<Vec<u8>> {
        assert!(length <= CONTENT_BYTES, "a write of {length} bytes");
        let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        let read = self.bytes(address, &mut bytes)?;
        bytes.truncate(read);
        Ok(bytes)
    }

    /// What pieces have together: a list of addresses and lengths says where they are.
    fn pieces(&self, list: u64, count: u64) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        for index in 0..count.min(PIECES) {
            let piece = list + index * 2 * size_of::<u64>() as u64;
            let (address, length) = (self.number(piece)?, self.number(piece + size_of::<u64>() as u64)?);
            all.extend(self.content(address, length)?);
        }
        Ok(all)
    }

    /// So many bytes of an open file.
    fn content_of(&self, descriptor: u64, start: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        let file = std::fs::File::open(format!("/proc/{}/fd/{}", self.0, descriptor as i32))?;
        file.read_exact_at(&mut bytes, start)?;
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
