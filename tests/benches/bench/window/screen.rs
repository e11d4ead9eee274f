//! A display whose pixels are a file, and what is seen on it.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rtc_tests::MESSAGE_BUS;
use tempfile::TempDir;

/// The display: larger than the window, which has its upper left corner where nobody moves it.
const DISPLAY: &str = "1400x900x24";

/// The window, in pixels.
const WIDTH: usize = 1180;
const HEIGHT: usize = 780;
const PIXEL_BYTES: usize = 4;

/// Every so many lines of pixels are looked at; a line of text is higher.
const LINE_STEP: usize = 8;

/// From this line on downwards a message is written, in pixels.
const COMPOSER: usize = 720;

/// With so many colours a text is shown, whose edges are soft. A window that is still empty has one.
const COLOURS: usize = 8;

/// What nothing has been painted on, where a pixel has red, green and blue.
const EMPTY: [u8; 3] = [0; 3];

/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(1);

/// The longest wait for anything that is shown.
const LONGEST: Duration = Duration::from_secs(60);

/// For how long nothing has changed where a page is there.
const STILL: Duration = Duration::from_secs(1);

/// How many bytes of pixels may differ by a caret that blinks: a few pixels wide, a line of text high.
const CARET: usize = 512;

/// A process that ends with the benchmark.
struct Process(Child);

impl Process {
    /// Starts it, and gives the first line that it prints.
    fn told(command: &mut Command) -> Result<(Self, String)> {
        let spawned = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut process = Self(spawned.with_context(|| format!("run `cargo xtask setup`: {command:?}"))?);
        let mut line = String::new();
        BufReader::new(process.0.stdout.take().context("stdout is a pipe")?).read_line(&mut line)?;
        ensure!(!line.is_empty(), "it has ended: {command:?}");
        Ok((process, line.trim().to_owned()))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Nothing to do where it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// When what was seen, from the start of the process.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    /// The window, still empty.
    pub(super) window: Duration,
    /// Its page.
    pub(super) page: Duration,
    /// Between the look that saw the page and the one before: by so much it may have been there earlier.
    pub(super) since_last_look: Duration,
}

/// A display without a manager of windows, and a message bus.
pub(super) struct Screen {
    folder: TempDir,
    display: String,
    bus: String,
    pixels: Pixels,
    _processes: [Process; 2],
}

impl Screen {
    /// Starts one; what it and its programs write is in this folder.
    pub(super) fn start(folder: &Path) -> Result<Self> {
        let folder = tempfile::tempdir_in(folder)?;
        let mut server = Command::new("Xvfb");
        server
            .args([
                "-displayfd",
                "1",
                "-nolisten",
                "tcp",
                "-screen",
                "0",
                DISPLAY,
                "-fbdir",
            ])
            .arg(folder.path());
        let (server, number) = Process::told(&mut server)?;
        let settings = folder.path().join("bus.conf");
        std::fs::write(&settings, MESSAGE_BUS)?;
        let mut bus = Command::new("dbus-daemon");
        bus.args(["--nofork", "--nopidfile", "--print-address", "--config-file"])
            .arg(settings);
        let (bus, address) = Process::told(&mut bus)?;
        Ok(Self {
            pixels: Pixels::open(&folder.path().join("Xvfb_screen0"))?,
            display: format!(":{number}"),
            bus: address,
            folder,
            _processes: [bus, server],
        })
    }

    /// A command line of a program on this display, with a home that all of them share and nothing else of the
    /// environment.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command
            .envs([("LANG", "C.UTF-8"), ("NO_AT_BRIDGE", "1"), ("GDK_BACKEND", "x11")])
            .env("WEBKIT_DISABLE_DMABUF_RENDERER", "1")
            .env("DISPLAY", &self.display)
            .env("DBUS_SESSION_BUS_ADDRESS", &self.bus)
            .env("HOME", self.folder.path())
            .env("XDG_RUNTIME_DIR", self.folder.path());
        command
    }

    /// Waits until the page of a window is painted, whose process began then.
    pub(super) fn see(&mut self, began: Instant) -> Result<Seen> {
        let (mut window, mut last) = (None, began);
        loop {
            self.pixels.look()?;
            let now = Instant::now();
            if window.is_none() && self.pixels.is_window() {
                window = Some(now);
            }
            if let Some(window) = window
                && self.pixels.is_page()
            {
                return Ok(Seen {
                    window: window.duration_since(began),
                    page: now.duration_since(began),
                    since_last_look: now.duration_since(last),
                });
            }
            ensure!(now.duration_since(began) < LONGEST, "no page is shown");
            last = now;
            std::thread::sleep(PAUSE);
        }
    }

    /// Waits until the place for a message is there, and gives how long that took.
    pub(super) fn see_ready(&mut self, began: Instant) -> Result<Duration> {
        loop {
            self.pixels.look()?;
            if self.pixels.is_ready() {
                return Ok(began.elapsed());
            }
            ensure!(began.elapsed() < LONGEST, "no place for a message is shown");
            std::thread::sleep(PAUSE);
        }
    }

    /// Waits until nothing changes any more but a caret.
    pub(super) fn settle(&mut self) -> Result<()> {
        let began = Instant::now();
        let (mut still, mut before) = (began, Vec::new());
        while still.elapsed() < STILL {
            self.pixels.look()?;
            if differing(&before, &self.pixels.lines) > CARET {
                before.clone_from(&self.pixels.lines);
                still = Instant::now();
            }
            ensure!(began.elapsed() < LONGEST, "what is shown changes for ever");
            std::thread::sleep(PAUSE * 10);
        }
        Ok(())
    }

    /// Waits until the window is gone.
    pub(super) fn clear(&mut self) -> Result<()> {
        let began = Instant::now();
        loop {
            self.pixels.look()?;
            if self.pixels.is_clear() {
                return Ok(());
            }
            ensure!(began.elapsed() < LONGEST, "a window stays");
            std::thread::sleep(PAUSE * 10);
        }
    }

    /// What a person does with mouse and keys, in the words of xdotool.
    pub(super) fn hands(&self, words: &[&str]) -> Result<()> {
        let output = self.command(Path::new("xdotool")).args(words).output();
        let output = output.context("run `cargo xtask setup`: xdotool does not start")?;
        ensure!(output.status.success(), "xdotool {words:?} fails");
        Ok(())
    }
}

/// How many bytes differ between two looks; the length of the second, where the first was another one.
fn differing(before: &[u8], now: &[u8]) -> usize {
    match before.len() == now.len() {
        true => before
            .iter()
            .zip(now)
            .filter(|(before, now)| before != now)
            .count(),
        false => now.len(),
    }
}

/// The lines of a window in the file of a display.
struct Pixels {
    file: File,
    /// Where the first line begins, and how long each is.
    first: usize,
    line_bytes: usize,
    /// What was seen last, one line after the other.
    lines: Vec<u8>,
}

impl Pixels {
    fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).context("the display has no file")?;
        let mut header = [0; 4 * 20];
        file.read_exact_at(&mut header, 0)?;
        // A header of X's window dump: numbers of four bytes, the first one first.
        let field = |index: usize| -> Result<usize> {
            let bytes = header[4 * index..].first_chunk().context("the header is whole")?;
            Ok(usize::try_from(u32::from_be_bytes(*bytes))?)
        };
        let (size, bits, line_bytes, colours) = (field(0)?, field(11)?, field(12)?, field(19)?);
        if bits != 8 * PIXEL_BYTES || line_bytes < WIDTH * PIXEL_BYTES {
            bail!("the display has pixels of {bits} bits and lines of {line_bytes} bytes");
        }
        Ok(Self {
            file,
            first: size + colours * 12,
            line_bytes,
            lines: Vec::new(),
        })
    }

    /// Looks once.
    fn look(&mut self) -> Result<()> {
        self.lines.clear();
        // The last line too: it is painted last.
        for line in (0..HEIGHT).step_by(LINE_STEP).chain([HEIGHT - 1]) {
            let begin = self.lines.len();
            self.lines.resize(begin + WIDTH * PIXEL_BYTES, 0);
            let place = self.first + line * self.line_bytes;
            self.file
                .read_exact_at(&mut self.lines[begin..], u64::try_from(place)?)?;
        }
        Ok(())
    }

    fn pixels(&self) -> impl DoubleEndedIterator<Item = [u8; 3]> {
        // The fourth byte is no colour.
        self.lines
            .as_chunks::<PIXEL_BYTES>()
            .0
            .iter()
            .map(|[blue, green, red, _]| [*blue, *green, *red])
    }

    /// Whether a window is there from its first pixel to its last one.
    fn is_window(&self) -> bool {
        let mut pixels = self.pixels();
        [pixels.next(), pixels.next_back()]
            .into_iter()
            .all(|pixel| pixel.is_some_and(|pixel| pixel != EMPTY))
    }

    /// Whether a text is shown in it.
    fn is_page(&self) -> bool {
        has_text(self.pixels()) && self.is_window()
    }

    /// Whether a text is shown where a message is written, which the frame of a page without its script has not.
    fn is_ready(&self) -> bool {
        has_text(self.pixels().skip(COMPOSER.div_ceil(LINE_STEP) * WIDTH)) && self.is_window()
    }

    fn is_clear(&self) -> bool {
        self.pixels().all(|pixel| pixel == EMPTY)
    }
}

/// Whether there are as many colours as a text has with its soft edges.
fn has_text(pixels: impl Iterator<Item = [u8; 3]>) -> bool {
    let mut colours: Vec<[u8; 3]> = Vec::with_capacity(COLOURS);
    for pixel in pixels {
        if !colours.contains(&pixel) {
            colours.push(pixel);
        }
        if colours.len() == COLOURS {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A display's file with lines that this gives.
    fn pixels(colour: impl Fn(usize, usize) -> [u8; 3]) -> Pixels {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("screen");
        let mut bytes = Vec::new();
        let header = [
            100, 7, 2, 24, 1400, 900, 0, 0, 32, 0, 32, 32, 5600, 4, 0, 0, 0, 8, 256, 2, 0, 0, 0, 0, 0,
        ];
        bytes.extend(header.into_iter().flat_map(u32::to_be_bytes));
        bytes.extend([7; 2 * 12]);
        for y in 0..900 {
            bytes.extend((0..1400).flat_map(|x| {
                let [blue, green, red] = colour(x, y);
                [blue, green, red, 255]
            }));
        }
        std::fs::write(&path, bytes).unwrap();
        let mut pixels = Pixels::open(&path).unwrap();
        pixels.look().unwrap();
        pixels
    }

    #[test]
    fn a_page_is_told_from_an_empty_window_and_from_none() {
        let text = |x: usize, y: usize| match (x, y) {
            (20..40, 30..50) => [10 * (x - 20) as u8; 3],
            _ => [250; 3],
        };
        let written = |x: usize, y: usize| text(x, y.saturating_sub(700));
        let half = |x: usize, y: usize| if y < 400 { text(x, y) } else { EMPTY };
        let table = [
            (pixels(|_, _| EMPTY), [true, false, false, false]),
            (pixels(|_, _| [250; 3]), [false, true, false, false]),
            (
                pixels(|x, _| [if x < 300 { 240 } else { 250 }; 3]),
                [false, true, false, false],
            ),
            (pixels(text), [false, true, true, false]),
            (pixels(written), [false, true, true, true]),
            (pixels(half), [false, false, false, false]),
        ];
        for (number, (pixels, expected)) in table.iter().enumerate() {
            let got = [
                pixels.is_clear(),
                pixels.is_window(),
                pixels.is_page(),
                pixels.is_ready(),
            ];
            assert_eq!(got, *expected, "{number}");
        }
    }
}
