//! `call`: what a tool call costs, and a start.
//!
//! The model answers at once and asks for one call a reply, so that the pause from the end of a reply to the next
//! request is all ours: the reply is committed, the call runs, its result is committed, the next request is made.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rtc_tests::model_server::Answer;

use super::Folders;
use super::desk::{Desk, Flushes, Request, Turn, tree_memory};
use super::figure::{Figure, Measured, Unit};

/// How much is done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Turns of each kind in each folder.
    pub(crate) turns: usize,
    /// Calls of a turn, each in a reply of its own.
    pub(crate) calls: usize,
    /// Starts of each kind.
    pub(crate) starts: usize,
}

impl Effort {
    /// That of a benchmark.
    pub(crate) const WHOLE: Self = Self {
        turns: 10,
        calls: 30,
        starts: 25,
    };
}

/// Lines of each file that is read; they are 2 kB or so.
const LINES: usize = 50;
/// A read that takes long is committed as running, one flush more; on a busy machine any may. The least of so many
/// counts is what it costs.
const COUNTS: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Edit,
}

/// What is done, in one line.
pub(crate) fn inputs(effort: Effort) -> String {
    let Effort { turns, calls, starts } = effort;
    format!(
        "{turns} turns of {calls} calls of each kind in each folder, one call a reply, files of {LINES} lines, an empty \
         store each; Chat Completions on loopback, kept connection, no TLS; {starts} starts of each kind"
    )
}

/// Runs it all. Both folders take turns, and on disk each call does with a raw append.
pub(crate) fn measure(binary: &Path, folders: &Folders, effort: Effort) -> Result<Vec<Figure>> {
    let of_call = written_by_commit(binary, folders, effort)?;
    let raw = Arc::new(RawAppend::new(&folders.disk, of_call)?);
    let (mut memory_read, mut memory_edit) = (Vec::new(), Vec::new());
    let (mut disk_read, mut disk_edit) = (Vec::new(), Vec::new());
    let resident = Arc::new(Mutex::new(Vec::new()));
    for _ in 0..effort.turns {
        let (kept, last) = (resident.clone(), effort.calls);
        let at_end = move |request: Request<'_>| {
            if request.number == last
                && let Ok(bytes) = tree_memory(request.process)
            {
                kept.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(bytes as f64 / 1e6);
            }
        };
        memory_read.extend(turn(binary, &folders.memory, Kind::Read, effort, at_end)?);
        memory_edit.extend(turn(binary, &folders.memory, Kind::Edit, effort, |_| {})?);
        for (kind, pauses) in [(Kind::Read, &mut disk_read), (Kind::Edit, &mut disk_edit)] {
            let raw = raw.clone();
            pauses.extend(turn(binary, &folders.disk, kind, effort, move |_| raw.append())?);
        }
    }
    let resident = resident.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let milliseconds = |name, what, samples| Figure::samples(name, what, Unit::Milliseconds, samples);
    let mut figures = vec![
        milliseconds(
            "read",
            "read: end of reply → next request, in memory",
            memory_read,
        ),
        milliseconds("edit", "edit: the same, in memory", memory_edit),
        milliseconds("read_disk", "read: the same, on disk", disk_read),
        milliseconds("edit_disk", "edit: the same, on disk", disk_edit),
        milliseconds(
            "append_disk",
            "raw append + fdatasync in between, on disk",
            raw.took()?,
        ),
        Figure::one(
            "append_bytes",
            "bytes of a raw append, as of a commit",
            Unit::Bytes,
            of_call as f64,
        ),
    ];
    figures.extend(flushes(binary, folders, effort)?);
    figures.extend(starts(binary, folders, effort)?);
    let what = "memory of the process tree (PSS) after the last read";
    figures.push(Figure::samples("memory", what, Unit::Megabytes, resident));
    Ok(figures)
}

/// The files and the answers of a turn.
pub(super) fn script(kind: Kind, calls: usize) -> (Vec<(String, String)>, Vec<Answer>) {
    let lines = |file: usize| -> String {
        let line = |line| format!("line {line:02} of file {file:02}, as it was written first\n");
        (0..LINES.max(calls)).map(line).collect()
    };
    let (files, mut answers): (_, Vec<Answer>) = match kind {
        Kind::Read => {
            let name = |file: usize| format!("file{file:02}.txt");
            let files = (0..calls.max(1)).map(|file| (name(file), lines(file))).collect();
            let read = |file: usize| {
                let arguments = format!(r#"{{"path":"/{}"}}"#, name(file));
                Answer::reply().call(&format!("call_{file}"), "read", &arguments)
            };
            (files, (0..calls).map(read).collect())
        }
        Kind::Edit => {
            // It has to be read before it is edited.
            let first = Answer::reply().call("call_first", "read", r#"{"path":"/file.txt"}"#);
            let edit = |line: usize| {
                let arguments = format!(
                    r#"{{"path":"/file.txt","old_string":"line {line:02} of","new_string":"LINE {line:02} of"}}"#
                );
                Answer::reply().call(&format!("call_{line}"), "edit", &arguments)
            };
            let answers = std::iter::once(first).chain((0..calls).map(edit));
            (vec![("file.txt".to_owned(), lines(0))], answers.collect())
        }
    };
    answers.push(Answer::text("Done."));
    (files, answers)
}

pub(super) fn desk(
    binary: &Path,
    folder: &Path,
    kind: Kind,
    calls: usize,
    before: impl Fn(Request<'_>) + Send + Sync + 'static,
) -> Result<Desk> {
    let (files, answers) = script(kind, calls);
    Desk::new(binary, folder, &files, answers, before)
}

/// The pauses of a turn's calls, in milliseconds.
fn turn(
    binary: &Path,
    folder: &Path,
    kind: Kind,
    effort: Effort,
    before: impl Fn(Request<'_>) + Send + Sync + 'static,
) -> Result<Vec<f64>> {
    let Turn { pauses, .. } = desk(binary, folder, kind, effort.calls, before)?.turn(0)?;
    // The read before the edits is none of them.
    let skipped = usize::from(kind == Kind::Edit);
    Ok(pauses.into_iter().skip(skipped).map(milliseconds).collect())
}

/// By how much a commit of a read makes the log longer, in bytes: two of them are made from one request to the next.
fn written_by_commit(binary: &Path, folders: &Folders, effort: Effort) -> Result<usize> {
    let lengths = Arc::new(Mutex::new(Vec::new()));
    let noted = lengths.clone();
    let before = move |request: Request<'_>| {
        if let Ok(log) = std::fs::metadata(request.log) {
            noted
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(log.len());
        }
    };
    turn(binary, &folders.memory, Kind::Read, effort, before)?;
    let lengths = lengths.lock().unwrap_or_else(PoisonError::into_inner);
    let (first, last) = lengths
        .first()
        .zip(lengths.last())
        .context("the store has no log")?;
    Ok(usize::try_from(last.saturating_sub(*first))? / (2 * effort.calls).max(1))
}

/// The floor: a file to which as much is appended and flushed, with nothing in between.
struct RawAppend {
    _folder: tempfile::TempDir,
    file: File,
    bytes: Vec<u8>,
    took: Mutex<Vec<std::io::Result<Duration>>>,
}

impl RawAppend {
    fn new(folder: &Path, bytes: usize) -> Result<Self> {
        let folder = tempfile::tempdir_in(folder)?;
        let path = folder.path().join("log");
        Ok(Self {
            file: OpenOptions::new().create(true).append(true).open(path)?,
            _folder: folder,
            bytes: vec![b'x'; bytes],
            took: Mutex::default(),
        })
    }

    fn append(&self) {
        let began = Instant::now();
        let done = (&self.file)
            .write_all(&self.bytes)
            .and_then(|()| self.file.sync_data());
        let took = done.map(|()| began.elapsed());
        self.took
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(took);
    }

    /// All so far, in milliseconds.
    fn took(&self) -> Result<Vec<f64>> {
        let mut took = self.took.lock().unwrap_or_else(PoisonError::into_inner);
        let all: std::io::Result<Vec<Duration>> = std::mem::take(&mut *took).into_iter().collect();
        Ok(all?.into_iter().map(milliseconds).collect())
    }
}

/// What one call costs: a turn with calls less one without, by the number of calls.
fn flushes(binary: &Path, folders: &Folders, effort: Effort) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (kind, commits, files) in [
        (
            Kind::Read,
            ("read_flushes", "flushes of a read: of the store"),
            ("read_file_flushes", "flushes of a read: of files"),
        ),
        (
            Kind::Edit,
            ("edit_flushes", "flushes of an edit: of the store"),
            ("edit_file_flushes", "flushes of an edit: of files"),
        ),
    ] {
        let counted = |calls| least_flushes(binary, &folders.memory, kind, calls);
        let (none, all) = match (counted(0)?, counted(effort.calls)?) {
            (Ok(none), Ok(all)) => (none, all),
            (Err(why), _) | (_, Err(why)) => {
                figures.extend([commits, files].map(|(name, what)| Figure {
                    name,
                    what,
                    unit: Unit::Count,
                    measured: Measured::Not(why.clone()),
                }));
                continue;
            }
        };
        let by_call = |all: usize, none: usize| (all as f64 - none as f64) / effort.calls.max(1) as f64;
        let of_store = by_call(all.commits, none.commits);
        figures.push(Figure::one(commits.0, commits.1, Unit::Count, of_store));
        figures.push(Figure::one(
            files.0,
            files.1,
            Unit::Count,
            by_call(all.files, none.files),
        ));
    }
    Ok(figures)
}

/// `Err` is why nothing can be counted here.
fn least_flushes(binary: &Path, folder: &Path, kind: Kind, calls: usize) -> Result<Result<Flushes, String>> {
    let mut least: Option<Flushes> = None;
    for _ in 0..COUNTS {
        match desk(binary, folder, kind, calls, |_| {})?.flushes()? {
            Ok(flushes) if least.is_none_or(|least| flushes.commits < least.commits) => least = Some(flushes),
            Ok(_) => {}
            Err(cannot) => return Ok(Err(cannot.to_string())),
        }
    }
    Ok(Ok(least.unwrap_or_default()))
}

/// Starts on empty stores, all kinds in turn.
fn starts(binary: &Path, folders: &Folders, effort: Effort) -> Result<Vec<Figure>> {
    let (mut in_memory, mut on_disk, mut list, mut version) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..effort.starts {
        for (folder, starts) in [(&folders.memory, &mut in_memory), (&folders.disk, &mut on_disk)] {
            let desk = desk(binary, folder, Kind::Read, 0, |_| {})?;
            starts.push(milliseconds(desk.turn(0)?.to_first_request));
        }
        let desk = desk(binary, &folders.memory, Kind::Read, 0, |_| {})?;
        version.push(milliseconds(desk.version()?));
        list.push(milliseconds(desk.list()?));
    }
    let figure = |name, what, samples| Figure::samples(name, what, Unit::Milliseconds, samples);
    Ok(vec![
        figure(
            "start",
            "start → first request, empty store, in memory",
            in_memory,
        ),
        figure(
            "start_disk",
            "start → first request, empty store, on disk",
            on_disk,
        ),
        figure(
            "list",
            "`sessions list`, start to end, empty store, in memory",
            list,
        ),
        figure("version", "`--version`, start to end: a bare start", version),
    ])
}

pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
