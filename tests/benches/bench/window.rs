//! `window`: what the window costs. Its first paint and its memory stand beside those of a bare window, a call beside the
//! same without a window.

mod screen;

use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rtc_tests::Workplace;
use rtc_tests::serving::Serving;

use self::screen::{Screen, Seen};
use super::call::{self, Kind, milliseconds};
use super::desk::{Request, tree_memory};
use super::figure::{Figure, Unit, percentile};
use super::{Folders, Programs};

/// How much is done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Starts of both windows, in turns.
    pub(crate) pairs: usize,
    /// Turns with the window, and as many without.
    pub(crate) turns: usize,
    /// Calls of a turn, each in a reply of its own.
    pub(crate) calls: usize,
}

impl Effort {
    /// That of a benchmark.
    pub(crate) const WHOLE: Self = Self {
        pairs: 20,
        turns: 5,
        calls: 30,
    };
}

/// Where a message is written in the window, in pixels.
const MESSAGE: [&str; 2] = ["680", "748"];

/// How long a turn may take to begin or to end. A call that no page takes is run without one after a second, so that
/// a pause as long is none of a window.
const LONGEST_TURN: Duration = Duration::from_secs(60);
const LONGEST_PAUSE: Duration = Duration::from_millis(900);

/// How long the processes of a window take to end.
const LONGEST_END: Duration = Duration::from_secs(20);

/// What is done, in one line.
pub(crate) fn inputs(effort: Effort) -> String {
    let Effort { pairs, turns, calls } = effort;
    format!(
        "{pairs} starts of each window in turns, after one of each that does not count, on a display without a manager of \
         windows; {turns} turns of {calls} reads in the window, which shows them, and as many without; one call a reply, in \
         memory, an empty store each"
    )
}

/// Runs it all.
pub(crate) fn measure(programs: &Programs, folders: &Folders, effort: Effort) -> Result<Vec<Figure>> {
    let window = programs.window.as_deref().context("--window is missing")?;
    let bare = programs.bare.as_deref().context("--bare is missing")?;
    let mut screen = Screen::start(&folders.memory)?;
    let mut figures = starts(
        &mut screen,
        window,
        bare,
        &programs.headless,
        folders,
        effort.pairs,
    )?;
    figures.extend(calls(&mut screen, window, &programs.headless, folders, effort)?);
    Ok(figures)
}

/// What was seen of a window, and its memory when its page stood still.
struct Start {
    seen: Seen,
    /// When a message could be written; a bare window has no place for one.
    ready: Option<Duration>,
    memory: f64,
}

/// A window that is shown; it and all that it has started end with it.
struct Shown(Child);

impl Shown {
    /// Ends it, and waits for its processes: those of the next one are alone.
    fn end(mut self, screen: &mut Screen) -> Result<()> {
        let processes = tree(self.0.id());
        self.0.kill()?;
        self.0.wait()?;
        let began = Instant::now();
        while processes.iter().any(|process| process.exists()) {
            ensure!(began.elapsed() < LONGEST_END, "a process of the window stays");
            std::thread::sleep(Duration::from_millis(1));
        }
        screen.clear()
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        // Nothing to do where it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What the system tells of the processes that this one has started, and they in turn.
fn tree(process: u32) -> Vec<PathBuf> {
    let own = PathBuf::from(format!("/proc/{process}"));
    let mut found = Vec::new();
    for thread in std::fs::read_dir(own.join("task"))
        .into_iter()
        .flatten()
        .flatten()
    {
        // A thread that has ended meanwhile has none.
        let children = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
            found.push(PathBuf::from(format!("/proc/{child}")));
            found.extend(tree(child));
        }
    }
    found
}

/// Starts of both windows.
fn starts(
    screen: &mut Screen,
    window: &Path,
    bare: &Path,
    headless: &Path,
    folders: &Folders,
    pairs: usize,
) -> Result<Vec<Figure>> {
    let (mut ours, mut others) = (Vec::new(), Vec::new());
    for _ in 0..=pairs {
        others.push(start(screen, bare, &[], false)?);
        let place = Workplace::of_binary(headless, &folders.memory)?;
        let (root, data) = (place.root(), place.data());
        ours.push(start(screen, window, &[&root, Path::new("--data"), &data], true)?);
    }
    // The first ones have found nothing in the page cache.
    let (ours, others) = (&ours[1..], &others[1..]);
    let of = |starts: &[Start], get: fn(&Start) -> f64| starts.iter().map(get).collect::<Vec<f64>>();
    let both = |combine: fn(f64, f64) -> f64, get: fn(&Start) -> f64| {
        let pairs = ours.iter().zip(others);
        pairs
            .map(|(ours, other)| combine(get(ours), get(other)))
            .collect::<Vec<f64>>()
    };
    let page: fn(&Start) -> f64 = |start| milliseconds(start.seen.page);
    let empty: fn(&Start) -> f64 = |start| milliseconds(start.seen.window);
    let look: fn(&Start) -> f64 = |start| milliseconds(start.seen.since_last_look);
    let memory: fn(&Start) -> f64 = |start| start.memory;
    let looks = [of(ours, look), of(others, look)].concat();
    Ok(vec![
        Figure::samples(
            "paint",
            "start → first paint of the page",
            Unit::Milliseconds,
            of(ours, page),
        ),
        Figure::samples(
            "bare_paint",
            "the same of the bare window",
            Unit::Milliseconds,
            of(others, page),
        ),
        Figure::samples(
            "paint_ratio",
            "the one by the other, of each pair",
            Unit::Count,
            both(|a, b| a / b, page),
        ),
        Figure::samples(
            "ready",
            "start → a message can be written",
            Unit::Milliseconds,
            ours.iter()
                .filter_map(|start| start.ready.map(milliseconds))
                .collect(),
        ),
        Figure::samples(
            "empty",
            "start → the window, still empty",
            Unit::Milliseconds,
            of(ours, empty),
        ),
        Figure::samples(
            "bare_empty",
            "the same of the bare window",
            Unit::Milliseconds,
            of(others, empty),
        ),
        Figure::samples(
            "look",
            "from one look at the display to the next",
            Unit::Milliseconds,
            looks,
        ),
        Figure::samples(
            "memory",
            "memory of the process tree (PSS), the page idle",
            Unit::Megabytes,
            of(ours, memory),
        ),
        Figure::samples(
            "bare_memory",
            "the same of the bare window",
            Unit::Megabytes,
            of(others, memory),
        ),
        Figure::samples(
            "memory_more",
            "the one less the other, of each pair",
            Unit::Megabytes,
            both(|a, b| a - b, memory),
        ),
    ])
}

fn start(screen: &mut Screen, program: &Path, arguments: &[&Path], is_ours: bool) -> Result<Start> {
    let mut command = screen.command(program);
    command.args(arguments);
    let began = Instant::now();
    let shown = Shown(command.spawn().context("the window does not start")?);
    let seen = screen.see(began).with_context(|| program.display().to_string())?;
    let ready = is_ours.then(|| screen.see_ready(began)).transpose()?;
    screen.settle()?;
    let memory = tree_memory(shown.0.id())? as f64 / 1e6;
    shown.end(screen)?;
    Ok(Start { seen, ready, memory })
}

/// Reads with the window and without.
fn calls(
    screen: &mut Screen,
    window: &Path,
    headless: &Path,
    folders: &Folders,
    effort: Effort,
) -> Result<Vec<Figure>> {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..effort.turns {
        let pauses = turn(screen, window, headless, &folders.memory, effort.calls)?;
        with.extend(pauses.into_iter().map(milliseconds));
        let desk = call::desk(headless, &folders.memory, Kind::Read, effort.calls, |_| {})?;
        without.extend(desk.turn(0)?.pauses.into_iter().map(milliseconds));
    }
    let median = |samples: &[f64]| percentile(samples, 50).unwrap_or(f64::NAN);
    let more = median(&with) - median(&without);
    let (shown, alone) = (
        "read in the window: end of reply → next request",
        "the same by `rtc-headless run`",
    );
    Ok(vec![
        Figure::samples("call", shown, Unit::Milliseconds, with),
        Figure::samples("headless_call", alone, Unit::Milliseconds, without),
        Figure::one(
            "call_more",
            "the one less the other, of the medians",
            Unit::Milliseconds,
            more,
        ),
    ])
}

/// A turn that a person asks for in the window: from the end of each answer to the next request.
fn turn(
    screen: &mut Screen,
    window: &Path,
    headless: &Path,
    folder: &Path,
    calls: usize,
) -> Result<Vec<Duration>> {
    let (arrived, arrives) = channel();
    let before = move |request: Request<'_>| {
        // Nobody waits for it when the turn has failed.
        let _ = arrived.send(request.number);
    };
    let desk = call::desk(headless, folder, Kind::Read, calls, before)?;
    trust(desk.place())?;
    let mut command = screen.command(window);
    command.arg(desk.place().root());
    desk.choose(&mut command);
    let began = Instant::now();
    let shown = Shown(command.spawn().context("the window does not start")?);
    screen.see_ready(began).context("a window for a turn")?;
    screen.settle()?;
    screen.hands(&["mousemove", MESSAGE[0], MESSAGE[1], "click", "1"])?;
    screen.hands(&["type", "--delay", "5", "go on"])?;
    screen.hands(&["key", "Return"])?;
    loop {
        match arrives.recv_timeout(LONGEST_TURN) {
            Ok(number) if number == calls => break,
            Ok(_) => {}
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                bail!("the window takes no message, or its turn does not end")
            }
        }
    }
    shown.end(screen)?;
    desk.check(0)?;
    let pauses = desk.pauses();
    let longest = pauses.iter().max().copied().unwrap_or_default();
    ensure!(
        longest < LONGEST_PAUSE,
        "a call was left to the program: {longest:?}"
    );
    Ok(pauses)
}

/// Says that the project may be used, as a person would in the window.
fn trust(place: &Workplace) -> Result<()> {
    let serving = Serving::start(place, &["--no-ui", "--model", "offline"]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(super::port::trust(serving.port(), serving.token()))?;
    ensure!(serving.stop().code == Some(0), "serve does not end well");
    Ok(())
}
