//! `files`: the file tools' work beside ripgrep, fd, `cp` and a raw write, in the measuring process.
//!
//! The folders are generated, the same at each run, and kept for the next one. Both sides of a pair search the same
//! folder one after the other, in turns, with all of it in the page cache; what they find has to be the same.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use rtc_fs::{FindQuery, GrepHits, GrepQuery, MAX_LISTED_ENTRIES, Project, VPath};
use tokio_util::sync::CancellationToken;

use super::call::milliseconds;
use super::figure::{Figure, Measured, Unit};
use super::machine::kilobytes;

mod tree;

use tree::Tree;

/// How much is done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Pairs of each search.
    pub(crate) pairs: usize,
    /// Files of the three trees.
    pub(crate) files: [usize; 3],
    /// Entries of the folder that is listed.
    pub(crate) entries: usize,
    /// Large files, and the bytes of each.
    pub(crate) large: (usize, usize),
    /// Bytes of the files that are edited.
    pub(crate) edited: [usize; 2],
}

impl Effort {
    /// That of a benchmark.
    pub(crate) const WHOLE: Self = Self {
        pairs: 21,
        files: [2_000, 100_000, 300_000],
        entries: 100_000,
        large: (8, 95_000_000),
        edited: [5_000_000, 100_000_000],
    };
}

/// Lines around each match in the large files.
const CONTEXT: usize = 2;

/// What is done, in one line.
pub(crate) fn inputs(effort: Effort) -> String {
    let [small, middle, wide] = effort.files;
    let (count, bytes) = effort.large;
    format!(
        "{} pairs of each search, on trees of {small}, {middle} and {wide} files and on {count} files of {:.0} MB, in the \
         page cache; ours in the measuring process, ripgrep and fd as processes with their output read to its end; a folder \
         of {} entries; edits of one line on disk",
        effort.pairs,
        bytes as f64 / 1e6,
        effort.entries,
    )
}

/// Runs it all. The folders are made in `folder` and stay there.
pub(crate) fn measure(folder: &Path, effort: Effort) -> Result<Vec<Figure>> {
    let mut figures = large_files(folder, effort)?;
    let names = [
        (
            ["grep_small", "rg_small", "grep_small_ratio"],
            ["find_small", "fd_small", "find_small_ratio"],
        ),
        (
            ["grep_large", "rg_large", "grep_large_ratio"],
            ["find_large", "fd_large", "find_large_ratio"],
        ),
        (
            ["grep_wide", "rg_wide", "grep_wide_ratio"],
            ["find_wide", "fd_wide", "find_wide_ratio"],
        ),
    ];
    for (files, (grep, find)) in effort.files.into_iter().zip(names) {
        let tree = Tree::of_files(folder, files)?;
        let project = Project::open(tree.root())?;
        figures.extend(pairs(
            effort.pairs,
            grep,
            [
                "grep: lines with a word",
                "ripgrep: the same",
                "the one by the other, of each pair",
            ],
            || grep_here(&project, 0),
            || rg(tree.root(), 0),
        )?);
        figures.extend(pairs(
            effort.pairs,
            find,
            [
                "find: names by a glob",
                "fd: the same",
                "the one by the other, of each pair",
            ],
            || find_here(&project),
            || fd(tree.root()),
        )?);
        if files == effort.files[2] {
            figures.push(first_told(&project, effort)?);
        }
    }
    figures.push(listing(folder, effort)?);
    figures.extend(edits(folder, effort)?);
    Ok(figures)
}

/// What was found: one name or line each.
type Found = BTreeSet<String>;

/// Ours and theirs in turns, the first of each not counted; `Err` of theirs is why it cannot be measured.
fn pairs(
    count: usize,
    names: [&'static str; 3],
    what: [&'static str; 3],
    ours: impl Fn() -> Result<Found>,
    theirs: impl Fn() -> Result<Option<Found>>,
) -> Result<Vec<Figure>> {
    let (expected, other) = (ours()?, theirs()?);
    let Some(other) = other else {
        let mut samples = Vec::new();
        for _ in 0..count {
            samples.push(timed(&ours)?.0);
        }
        let missing = |at: usize, unit| Figure {
            name: names[at],
            what: what[at],
            unit,
            measured: Measured::Not(MISSING.to_owned()),
        };
        return Ok(vec![
            Figure::samples(names[0], what[0], Unit::Milliseconds, samples),
            missing(1, Unit::Milliseconds),
            missing(2, Unit::Count),
        ]);
    };
    ensure!(!expected.is_empty(), "{}: nothing was found", names[0]);
    if let Some(odd) = expected.symmetric_difference(&other).next() {
        bail!("{}: only one side has found {odd:?}", names[0]);
    }
    let (mut here, mut there, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..count {
        let measure_ours = || -> Result<f64> {
            let (took, found) = timed(&ours)?;
            ensure!(found == expected, "{}: another result than before", names[0]);
            Ok(took)
        };
        let measure_theirs = || timed(&theirs).map(|(took, _)| took);
        // Whoever is second finds what the first one left in the processor's caches.
        let (one, other) = if number % 2 == 0 {
            let one = measure_ours()?;
            (one, measure_theirs()?)
        } else {
            let other = measure_theirs()?;
            (measure_ours()?, other)
        };
        here.push(one);
        there.push(other);
        ratios.push(one / other);
    }
    Ok(vec![
        Figure::samples(names[0], what[0], Unit::Milliseconds, here),
        Figure::samples(names[1], what[1], Unit::Milliseconds, there),
        Figure::samples(names[2], what[2], Unit::Count, ratios),
    ])
}

/// Why a program beside ours was not measured.
pub(crate) const MISSING: &str = "the program is missing: run `cargo xtask setup`";

fn timed<T>(work: impl Fn() -> Result<T>) -> Result<(f64, T)> {
    let began = Instant::now();
    let done = work()?;
    Ok((milliseconds(began.elapsed()), done))
}

fn query(context: usize) -> GrepQuery {
    GrepQuery {
        head_limit: 0,
        before: context,
        after: context,
        ..GrepQuery::new(tree::WORD)
    }
}

/// Matching lines as ripgrep tells them; with context, what is around them as well.
fn grep_here(project: &Project, context: usize) -> Result<Found> {
    let result = rtc_fs::grep(project, &query(context), &|_| true, &CancellationToken::new())?;
    let GrepHits::Content(lines) = result.hits else {
        bail!("lines were asked for");
    };
    ensure!(lines.len() as u64 == result.total, "the page is too small");
    Ok(lines.iter().map(|line| line.to_string().split_off(1)).collect())
}

fn find_here(project: &Project) -> Result<Found> {
    let query = FindQuery {
        head_limit: 0,
        ..FindQuery::new(tree::GLOB)
    };
    let result = rtc_fs::find(project, &query, &|_| true, &CancellationToken::new())?;
    ensure!(result.found.len() as u64 == result.total, "the page is too small");
    Ok(result
        .found
        .iter()
        .map(|found| found.path.relative().to_owned())
        .collect())
}

fn rg(root: &Path, context: usize) -> Result<Option<Found>> {
    let context = context.to_string();
    told(Command::new("rg").current_dir(root).args([
        "--no-config",
        "--no-ignore-parent",
        "--no-ignore-global",
        "--no-messages",
        "--line-number",
        "--no-heading",
        "--color=never",
        "--context-separator=",
        "--context",
        &context,
        tree::WORD,
        ".",
    ]))
}

fn fd(root: &Path) -> Result<Option<Found>> {
    let programs = ["fdfind", "fd"];
    for program in programs {
        let found = told(Command::new(program).current_dir(root).args([
            "--no-ignore-parent",
            "--color=never",
            "--glob",
            tree::GLOB,
            ".",
        ]))?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The lines that a program writes; `None` where there is no such program.
fn told(command: &mut Command) -> Result<Option<Found>> {
    // What the user has git leave out is not what is measured.
    let output = match command
        .env("XDG_CONFIG_HOME", "/nonexistent")
        .env("HOME", "/nonexistent")
        .output()
    {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).context("a program beside ours does not start"),
    };
    ensure!(
        output.status.success(),
        "a program beside ours failed: {output:?}"
    );
    let lines = std::str::from_utf8(&output.stdout)?.lines();
    Ok(Some(
        lines
            .filter(|line| !line.is_empty())
            .map(|line| line.trim_start_matches("./").trim_end_matches('/').to_owned())
            .collect(),
    ))
}

/// From the beginning of a search to the first hit that it tells.
fn first_told(project: &Project, effort: Effort) -> Result<Figure> {
    let mut samples = Vec::new();
    for _ in 0..effort.pairs {
        let (began, first) = (Instant::now(), OnceLock::new());
        let tell = |_: &dyn std::fmt::Display| _ = first.get_or_init(|| began.elapsed());
        rtc_fs::grep_telling(project, &query(0), &|_| true, &tell, &CancellationToken::new())?;
        samples.push(milliseconds(*first.get().context("nothing was told")?));
    }
    let what = "grep: begin → first hit, on the widest tree";
    Ok(Figure::samples("grep_first", what, Unit::Milliseconds, samples))
}

/// Searches of large files, and windows of one.
fn large_files(folder: &Path, effort: Effort) -> Result<Vec<Figure>> {
    let tree = Tree::of_large_files(folder, effort.large)?;
    let project = Project::open(tree.root())?;
    // Before anything else: what was once needed is used again.
    let before = memory("VmRSS")?;
    fs::write("/proc/self/clear_refs", "5").context("the peak of memory cannot be reset")?;
    rtc_fs::grep(&project, &query(CONTEXT), &|_| true, &CancellationToken::new())?;
    let more = memory("VmHWM")?.saturating_sub(before);
    let what = "grep: memory more at its peak, the same";
    let peak = Figure::one("grep_logs_memory", what, Unit::Megabytes, more as f64 / 1e6);
    let mut figures = pairs(
        effort.pairs.div_ceil(4),
        ["grep_logs", "rg_logs", "grep_logs_ratio"],
        [
            "grep: large files, two lines of context",
            "ripgrep: the same",
            "the one by the other, of each pair",
        ],
        || grep_here(&project, CONTEXT),
        || rg(tree.root(), CONTEXT),
    )?;
    figures.push(peak);

    let path = VPath::parse(&tree::large_name(0))?;
    let lines = i64::try_from(tree::large_lines(effort.large.1))?;
    for (name, what, offsets) in [
        (
            "read_begin",
            "read: the first 2,000 lines of a large file",
            vec![1],
        ),
        (
            "read_anywhere",
            "read: 2,000 lines anywhere in a large file",
            vec![
                lines / 4,
                lines / 2,
                lines * 3 / 4,
                lines - 2_000,
                -2_000,
                -lines / 2,
            ],
        ),
    ] {
        let mut samples = Vec::new();
        for _ in 0..effort.pairs {
            for offset in &offsets {
                let (took, window) = timed(|| {
                    let window = project.read_window(&path, *offset, 2_000, &CancellationToken::new())?;
                    Ok(window)
                })?;
                ensure!(
                    window.lines.len() == 2_000.min(usize::try_from(lines)?),
                    "a short window"
                );
                samples.push(took);
            }
        }
        figures.push(Figure::samples(name, what, Unit::Milliseconds, samples));
    }
    Ok(figures)
}

/// A number of this process's memory in bytes.
fn memory(name: &str) -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    kilobytes(&status, name).context("the system does not tell the memory of a process")
}

fn listing(folder: &Path, effort: Effort) -> Result<Figure> {
    let tree = Tree::flat(folder, effort.entries)?;
    let project = Project::open(tree.root())?;
    let mut samples = Vec::new();
    for _ in 0..effort.pairs {
        let (took, listing) = timed(|| {
            let listing = project.list(&VPath::root(), MAX_LISTED_ENTRIES, &CancellationToken::new())?;
            Ok(listing)
        })?;
        ensure!(
            listing.total == effort.entries,
            "the listing has {}",
            listing.total
        );
        samples.push(took);
    }
    let what = "ls: the folder with most entries";
    Ok(Figure::samples("ls", what, Unit::Milliseconds, samples))
}

/// Edits of one line in the middle, each beside a copy of the file that is flushed.
fn edits(folder: &Path, effort: Effort) -> Result<Vec<Figure>> {
    let names = [
        ["edit_small", "copy_small", "edit_small_ratio"],
        ["edit_large", "copy_large", "edit_large_ratio"],
    ];
    let mut figures = Vec::new();
    for (bytes, names) in effort.edited.into_iter().zip(names) {
        let place = tempfile::tempdir_in(folder)?;
        let (file, copy): (PathBuf, PathBuf) = (place.path().join("file.txt"), place.path().join("copy.txt"));
        fs::write(&file, tree::numbered_lines(bytes))?;
        let project = Project::open(place.path())?;
        let path = VPath::parse("/file.txt")?;
        let middle = tree::numbered_line(bytes / tree::numbered_line(0).len() / 2);
        let middle = middle.trim_end();
        let (mut ours, mut raw, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..effort.pairs {
            let (old, new) = match number {
                0 => (middle.to_owned(), format!("{middle} 0")),
                _ => (
                    format!("{middle} {}\n", number - 1),
                    format!("{middle} {number}\n"),
                ),
            };
            let cancel = CancellationToken::new();
            let (one, ()) = timed(|| {
                let planned = project.plan_edit(&path, &old, &new, false, "bench", &cancel)?;
                project.apply(planned, &mut |_| Ok(()), &cancel)?;
                Ok(())
            })?;
            let (other, ()) = timed(|| {
                fs::copy(&file, &copy)?;
                fs::File::open(&copy)?.sync_all()?;
                Ok(())
            })?;
            fs::remove_file(&copy)?;
            ours.push(one);
            raw.push(other);
            ratios.push(one / other);
        }
        let text = fs::read_to_string(&file)?;
        let last = format!("{middle} {}", effort.pairs - 1);
        ensure!(text.matches(&last).count() == 1, "the edits are not there");
        figures.extend([
            Figure::samples(
                names[0],
                "edit: one line of a file, on disk",
                Unit::Milliseconds,
                ours,
            ),
            Figure::samples(names[1], "a copy of it + fsync", Unit::Milliseconds, raw),
            Figure::samples(
                names[2],
                "the one by the other, of each pair",
                Unit::Count,
                ratios,
            ),
        ]);
    }
    Ok(figures)
}
