//! Unified diff text, as a person and a model read it.

use std::fmt::Write as _;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, Hunk, InternedInput};
use memchr::memchr_iter;

use crate::VPath;
use crate::edit::Span;

/// Lines shown before and after a change.
const CONTEXT: u32 = 3;

/// Longest diff text in bytes, 32 KiB; what is cut is counted.
pub const MAX_DIFF_BYTES: usize = 32 * 1024;

/// Characters of one line that are shown.
const MAX_LINE_CHARS: usize = 500;

/// Longest diff text in bytes where all of it is wanted, 2 MiB; there is none above it.
pub const MAX_WHOLE_DIFF_BYTES: usize = 2 << 20;

/// Text that is compared line by line, old and new together; above it only the sizes are told.
const MAX_COMPARED_BYTES: usize = 8 << 20;

/// How much of a diff is shown.
#[derive(Clone, Copy)]
pub(crate) struct Room {
    bytes: usize,
    line_chars: usize,
}

/// What is enough to read.
pub(crate) const CLIPPED: Room = Room {
    bytes: MAX_DIFF_BYTES,
    line_chars: MAX_LINE_CHARS,
};

/// What a user decides on: all of it.
pub(crate) const WHOLE: Room = Room {
    bytes: MAX_WHOLE_DIFF_BYTES,
    line_chars: usize::MAX,
};

/// A diff as far as there was room for it.
pub(crate) struct Unified {
    pub(crate) text: String,
    /// Nothing of it was left out.
    pub(crate) is_whole: bool,
}

/// The diff of `old` and of what it is after `spans`. Empty if there is no change.
///
/// Only the surroundings of the spans are compared, so one line of a large file costs next to nothing.
pub(crate) fn unified(path: &VPath, old: &str, spans: &[Span], room: Room) -> Unified {
    let mut writer = Writer {
        text: format!("--- {path}\n+++ {path}\n"),
        room,
        is_whole: true,
        cut: 0,
        hunks: 0,
    };
    // Where the last region ended: offset, line, and how many lines more or fewer the new text has by then.
    let (mut offset, mut line, mut shift) = (0_usize, 0_u32, 0_i64);
    let mut rest = spans;
    while let [first, ..] = rest {
        let mut region = surroundings(old, &first.range);
        let mut count = 1;
        while let Some(span) = rest.get(count)
            && let next = surroundings(old, &span.range)
            && next.start <= region.end
        {
            region.end = next.end;
            count += 1;
        }
        let (inside, after) = rest.split_at(count);
        rest = after;
        line += lines_in(&old[offset..region.start]);
        offset = region.start;
        let new = region_after(old, &region, inside);
        let before = &old[region];
        if before.len() + new.len() > MAX_COMPARED_BYTES {
            writer.push(&format!(
                "@@ {} bytes are replaced by {}; too much to compare @@\n",
                before.len(),
                new.len()
            ));
            writer.hunks += 1;
            writer.is_whole = false;
        } else {
            writer.region(before, &new, line, shift);
        }
        shift += i64::from(lines_in(&new)) - i64::from(lines_in(before));
    }
    writer.finish()
}

/// The diff of two whole texts, to read. Empty if they are the same.
pub(crate) fn of_texts(path: &VPath, old: &str, new: &str) -> String {
    let spans = [Span {
        range: 0..old.len(),
        with: new.to_owned(),
    }];
    unified(path, old, &spans, CLIPPED).text
}

/// Two texts, line by line.
pub(crate) struct Compared<'t> {
    pub(crate) old: Vec<&'t str>,
    pub(crate) new: Vec<&'t str>,
    /// What differs, ascending.
    pub(crate) changes: Vec<Hunk>,
}

impl<'t> Compared<'t> {
    /// `None` if they are too large for that.
    pub(crate) fn of_bounded(old: &'t str, new: &'t str) -> Option<Self> {
        (old.len() + new.len() <= MAX_COMPARED_BYTES).then(|| Self::of(old, new))
    }

    fn of(old: &'t str, new: &'t str) -> Self {
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let new: Vec<&str> = new.split_inclusive('\n').collect();
        let mut input = InternedInput::default();
        input.update_before(old.iter().copied());
        input.update_after(new.iter().copied());
        let mut diff = Diff::compute(Algorithm::Myers, &input);
        diff.postprocess_lines(&input);
        Self {
            changes: diff.hunks().collect(),
            old,
            new,
        }
    }

    /// The changes as a diff shows them: those whose context would touch are one hunk of it.
    pub(crate) fn hunks(&self) -> impl Iterator<Item = &[Hunk]> {
        self.changes
            .chunk_by(|one, next| next.before.start - one.before.end <= 2 * CONTEXT)
    }

    /// How many lines are new, and how many are gone.
    pub(crate) fn counts(&self) -> (u64, u64) {
        self.changes.iter().fold((0, 0), |(added, removed), change| {
            (
                added + change.after.len() as u64,
                removed + change.before.len() as u64,
            )
        })
    }
}

/// The whole lines that `range` touches, with [`CONTEXT`] lines on both sides.
fn surroundings(text: &str, range: &Range<usize>) -> Range<usize> {
    let bytes = text.as_bytes();
    let before = memchr::memrchr_iter(b'\n', &bytes[..range.start]).nth(CONTEXT as usize);
    let after = memchr_iter(b'\n', &bytes[range.end..]).nth(CONTEXT as usize);
    before.map_or(0, |at| at + 1)..after.map_or(text.len(), |at| range.end + at + 1)
}

/// What a region of the old text becomes.
fn region_after(old: &str, region: &Range<usize>, spans: &[Span]) -> String {
    let mut text = String::with_capacity(region.len());
    let mut from = region.start;
    for span in spans {
        text.push_str(&old[from..span.range.start]);
        text.push_str(&span.with);
        from = span.range.end;
    }
    text.push_str(&old[from..region.end]);
    text
}

fn lines_in(text: &str) -> u32 {
    u32::try_from(memchr_iter(b'\n', text.as_bytes()).count()).unwrap_or(u32::MAX)
}

struct Writer {
    text: String,
    room: Room,
    is_whole: bool,
    /// Lines that did not fit.
    cut: u64,
    hunks: u64,
}

impl Writer {
    fn push(&mut self, line: &str) {
        if self.cut > 0 || self.text.len() + line.len() > self.room.bytes {
            self.cut += 1;
        } else {
            self.text.push_str(line);
        }
    }

    /// Compares two regions; `line` lines of the old text are before them, `line + shift` of the new.
    fn region(&mut self, old: &str, new: &str, line: u32, shift: i64) {
        let compared = Compared::of(old, new);
        for group in compared.hunks() {
            self.hunk(group, &compared.old, &compared.new, line, shift);
        }
    }

    fn hunk(&mut self, changes: &[Hunk], old: &[&str], new: &[&str], line: u32, shift: i64) {
        let [first, .., last] = changes else {
            if let [only] = changes {
                self.hunk(
                    &[
                        only.clone(),
                        Hunk {
                            before: only.before.end..only.before.end,
                            after: only.after.end..only.after.end,
                        },
                    ],
                    old,
                    new,
                    line,
                    shift,
                );
            }
            return;
        };
        let lead = first.before.start.min(CONTEXT);
        let trail = (old.len() as u32 - last.before.end).min(CONTEXT);
        let before = first.before.start - lead..last.before.end + trail;
        let after = first.after.start - lead..last.after.end + trail;
        let new_line = u32::try_from(i64::from(line) + shift).unwrap_or(0);
        self.hunks += 1;
        self.push(&format!(
            "@@ -{} +{} @@\n",
            place(&before, line),
            place(&after, new_line)
        ));
        let mut at = before.start;
        for change in changes {
            self.lines(' ', &old[at as usize..change.before.start as usize]);
            self.lines(
                '-',
                &old[change.before.start as usize..change.before.end as usize],
            );
            self.lines('+', &new[change.after.start as usize..change.after.end as usize]);
            at = change.before.end;
        }
        self.lines(' ', &old[at as usize..before.end as usize]);
    }

    fn lines(&mut self, sign: char, lines: &[&str]) {
        for line in lines {
            let (shown, ended) = match line.strip_suffix('\n') {
                Some(line) => (line.strip_suffix('\r').unwrap_or(line), true),
                None => (*line, false),
            };
            let mut text = String::with_capacity(shown.len() + 2);
            text.push(sign);
            match shown.char_indices().nth(self.room.line_chars) {
                Some((at, _)) => {
                    self.is_whole = false;
                    text.push_str(&shown[..at]);
                    // Writing to a String cannot fail.
                    let _ = write!(text, "… ({} characters)", shown.chars().count());
                }
                None => text.push_str(shown),
            }
            text.push('\n');
            if !ended {
                text.push_str("\\ No newline at end of file\n");
            }
            self.push(&text);
        }
    }

    fn finish(mut self) -> Unified {
        if self.hunks == 0 {
            self.text.clear();
        }
        if self.cut > 0 {
            let _ = writeln!(self.text, "… {} more lines of the diff are not shown", self.cut);
        }
        Unified {
            text: self.text,
            is_whole: self.is_whole && self.cut == 0,
        }
    }
}

/// `start,count` as a hunk header has it: 1-based, the line before if there is none, the count left out if 1.
fn place(lines: &Range<u32>, before: u32) -> String {
    match lines.len() {
        0 => format!("{},0", before + lines.start),
        1 => format!("{}", before + lines.start + 1),
        count => format!("{},{count}", before + lines.start + 1),
    }
}

#[cfg(test)]
mod tests;
