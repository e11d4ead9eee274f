//! The terminal: stdout for the result, stderr for progress, stdin for answers.

use std::io::{BufRead, IsTerminal, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::mpsc;

/// How many lines of stdin may wait to be read.
const LINES: usize = 16;
/// The longest prompt that stdin may hold, in bytes.
const MOST_PROMPT: u64 = 64 * 1024 * 1024;

/// The terminal of a command.
pub(crate) struct Console {
    colour: bool,
    /// Whether the answers are typed, so that the terminal shows them by itself.
    typed: bool,
    /// Whether the result goes to a terminal, which must not be steered by it.
    shown: bool,
    /// Nothing more can be written on stdout.
    stdout_gone: AtomicBool,
    /// Something that should be on stdout is not, and whoever reads it does not know.
    lost: AtomicBool,
}

/// How a piece of progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Strong,
    Faint,
    Added,
    Removed,
    Warning,
}

impl Console {
    pub(crate) fn new() -> Self {
        let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Self {
            colour,
            typed: std::io::stdin().is_terminal(),
            shown: std::io::stdout().is_terminal(),
            stdout_gone: AtomicBool::new(false),
            lost: AtomicBool::new(false),
        }
    }

    /// Whether the answers are typed.
    pub(crate) fn is_typed(&self) -> bool {
        self.typed
    }

    /// Whether there is a person to ask.
    pub(crate) fn is_interactive(&self) -> bool {
        std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }

    /// A line of the result. Whoever reads it may go away, and the disk that takes it may be full: the turn goes on.
    pub(crate) fn result(&self, line: &str) {
        if self.stdout_gone.load(Ordering::Relaxed) {
            return;
        }
        let line = if self.shown { printable(line) } else { line.into() };
        let mut out = std::io::stdout().lock();
        let written = out
            .write_all(line.as_bytes())
            .and_then(|()| out.write_all(b"\n"))
            .and_then(|()| out.flush());
        drop(out);
        self.written(written);
    }

    /// Takes note of how writing on stdout went. A reader that went away wants no more; anything else is a loss.
    pub(crate) fn written(&self, written: std::io::Result<()>) {
        let Err(error) = written else { return };
        self.stdout_gone.store(true, Ordering::Relaxed);
        if error.kind() != std::io::ErrorKind::BrokenPipe {
            self.lost.store(true, Ordering::Relaxed);
            self.note(&format!("rtc-headless: the result cannot be written: {error}"));
        }
    }

    /// Whether a part of the result was lost.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// A line of progress.
    pub(crate) fn note(&self, line: &str) {
        self.styled(Style::Plain, line);
    }

    /// A line of progress in a style.
    pub(crate) fn styled(&self, style: Style, line: &str) {
        self.write_styled(style, line, "\n");
    }

    /// A question, without a line end.
    pub(crate) fn ask(&self, question: &str) {
        self.write_styled(Style::Strong, question, " ");
    }

    /// An answer that was read, below what it answers, where it is not seen otherwise.
    pub(crate) fn answered(&self, answer: Option<&str>) {
        if !self.typed || answer.is_none() {
            self.note(answer.unwrap_or_default());
        }
    }

    fn write_styled(&self, style: Style, text: &str, end: &str) {
        let code = match style {
            Style::Plain => "",
            Style::Strong => "1",
            Style::Faint => "2",
            Style::Added => "32",
            Style::Removed => "31",
            Style::Warning => "33",
        };
        let text = printable(text);
        let line = if self.colour && !code.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m{end}")
        } else {
            format!("{text}{end}")
        };
        let mut out = std::io::stderr().lock();
        // Without a stderr there is nowhere to say so.
        let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    }

    /// The lines of stdin, from a thread of its own: a read from a terminal cannot be given up.
    pub(crate) fn lines(&self) -> mpsc::Receiver<String> {
        let (sender, receiver) = mpsc::channel(LINES);
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                let Ok(line) = line else { return };
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        receiver
    }

    /// The whole of stdin, as far as a prompt may be long. Waits for its end.
    pub(crate) async fn all(&self) -> std::io::Result<String> {
        let read = tokio::task::spawn_blocking(|| {
            let mut bytes = Vec::new();
            // One more than may be: a prompt is never cut in silence.
            std::io::stdin()
                .lock()
                .take(MOST_PROMPT + 1)
                .read_to_end(&mut bytes)?;
            if bytes.len() as u64 > MOST_PROMPT {
                return Err(std::io::Error::other(format!(
                    "it is longer than {MOST_PROMPT} bytes"
                )));
            }
            String::from_utf8(bytes).map_err(|_| std::io::Error::other("it is not UTF-8"))
        });
        read.await.map_err(std::io::Error::other)?
    }
}

/// What a file or a model says must not steer the terminal: control characters are shown, not sent.
pub(crate) fn printable(text: &str) -> std::borrow::Cow<'_, str> {
    let steers = |c: char| {
        // The latter turn text around, or end a line only for some who read it.
        let hides = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}');
        hides || c.is_control() && c != '\n' && c != '\t'
    };
    if !text.contains(steers) {
        return text.into();
    }
    text.chars()
        .map(|c| if steers(c) { '\u{fffd}' } else { c })
        .collect::<String>()
        .into()
}

/// What a user decides on, with nothing in it that is not seen: what [`printable`] leaves, and characters that have no
/// width of their own, which in an answer only make it look right.
pub(crate) fn visible(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.contains(is_unseen) {
        return text.into();
    }
    text.chars()
        .map(|c| if is_unseen(c) { '\u{fffd}' } else { c })
        .collect::<String>()
        .into()
}

/// The characters that Unicode lets be left out where they cannot be shown (`Default_Ignorable_Code_Point`), and fillers.
fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_decided_on_is_unseen() {
        let unseen = "\u{200e}\u{200f}\u{61c}\u{200b}\u{200c}\u{200d}\u{2060}\u{feff}\u{e0001}\u{e007f}\u{fe00}\u{fe0f}\
                      \u{e0100}\u{e01ef}";
        let shown = visible(unseen);
        assert!(shown.chars().all(|c| c == '\u{fffd}'), "{shown:?}");
        assert_eq!(shown.chars().count(), unseen.chars().count());
        for seen in ["plain text, größer, 文字, 😀\t", "", "a\u{a0}b"] {
            assert_eq!(visible(seen), seen);
        }
        // In an answer a family stays together.
        let family = "👩\u{200d}👧 ✔\u{fe0f}";
        assert_eq!(printable(family), family);
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(
            printable("// a \u{2028}b \u{202e}c\u{2066}"),
            "// a \u{fffd}b \u{fffd}c\u{fffd}"
        );
        assert_eq!(
            printable("a\tb\u{1b}[31mred\r\n"),
            "a\tb\u{fffd}[31mred\u{fffd}\n"
        );
    }
}
