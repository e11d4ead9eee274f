//! A search result as the model reads it.

use std::fmt::{self, Write as _};

use super::{GrepFile, GrepHits, GrepLine, GrepResult, MAX_GREP_LINE_BYTES};
use crate::VPath;
use crate::walk::count;

impl GrepResult {
    /// The result as text.
    ///
    /// Lines are `path:number:text`, context `path-number-text`, with `--` where lines were left out between two
    /// pieces of context. What else there is to know follows in brackets.
    pub fn render(&self) -> String {
        let mut text = String::new();
        match &self.hits {
            GrepHits::Content(lines) => self.content(&mut text, lines),
            GrepHits::Files(files) => self.files(&mut text, files),
            GrepHits::Counts(files) => self.counts(&mut text, files),
        }
        for note in self.notes() {
            let _ = write!(text, "\n[{note}]");
        }
        text
    }

    fn content(&self, text: &mut String, lines: &[GrepLine]) {
        if lines.is_empty() {
            text.push_str("No matches found");
        }
        let mut last: Option<&GrepLine> = None;
        for line in lines {
            if let Some(last) = last {
                text.push('\n');
                if self.with_context && (last.path != line.path || last.number + 1 != line.number) {
                    text.push_str("--\n");
                }
            }
            let _ = write!(text, "{line}");
            last = Some(line);
        }
    }

    fn files(&self, text: &mut String, files: &[VPath]) {
        if files.is_empty() {
            text.push_str("No files found");
            return;
        }
        let _ = write!(text, "Found {}{}", self.at_least(), count(self.total, "file"));
        for path in files {
            let _ = write!(text, "\n{path}");
        }
    }

    fn counts(&self, text: &mut String, files: &[GrepFile]) {
        if files.is_empty() {
            text.push_str("No matches found");
            return;
        }
        for file in files {
            let _ = writeln!(text, "{}:{}", file.path, file.occurrences);
        }
        let (least, occurrences) = (self.at_least(), count(self.matches, "total occurrence"));
        let _ = write!(
            text,
            "\nFound {least}{occurrences} across {}",
            count(self.files, "file")
        );
    }

    fn at_least(&self) -> &'static str {
        if self.exact { "" } else { "at least " }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let (shown, least) = (self.hits.len(), self.at_least());
        let unit = if matches!(self.hits, GrepHits::Content(_)) {
            "line"
        } else {
            "file"
        };
        let (first, end) = (self.offset + 1, self.offset + shown);
        let page = format!("{unit}s {first}-{end} of {least}{}", self.total);
        if let Some(next) = self.next_offset() {
            notes.push(format!("{page}; go on with offset={next}"));
        } else if shown == 0 && self.offset > 0 && self.total > 0 {
            notes.push(format!(
                "offset {} is past the end: there are {least}{}",
                self.offset,
                count(self.total, unit)
            ));
        } else if self.offset > 0 && shown > 0 {
            notes.push(page);
        }
        let skipped = &self.skipped;
        let skip = |number: u64, noun: &str, reason: &str| {
            (number > 0).then(|| format!("{} {reason}", count(number, noun)))
        };
        let size = format!(
            "not searched to the end: a line (or multiline file) is over {} MiB",
            MAX_GREP_LINE_BYTES >> 20
        );
        // Images lie in every project: of interest only where they may be why nothing was found.
        let binary = if self.total == 0 { skipped.binary } else { 0 };
        let skips = [
            skip(skipped.refused, "file", "not searched: permission is needed"),
            skipped.unreadable.note(),
            skip(skipped.oversized, "file", &size),
            skip(skipped.cut, "file", "searched only up to a NUL byte"),
            skip(binary, "file", "not searched: binary"),
        ];
        notes.extend(skips.into_iter().flatten());
        notes
    }
}

/// As it stands in a result, see [`GrepResult::render`].
impl fmt::Display for GrepLine {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.is_match { ':' } else { '-' };
        write!(text, "{}{mark}{}{mark}", self.path, self.number)?;
        let Some(clip) = &self.clipped else {
            return text.write_str(&self.text);
        };
        let shown = self.text.chars().count() as u64;
        if clip.from > 1 {
            text.write_char('…')?;
        }
        text.write_str(&self.text)?;
        if clip.from + shown <= clip.length {
            text.write_char('…')?;
        }
        text.write_str(" [clipped: ")?;
        if let Some(column) = clip.column {
            write!(text, "match at column {column}, ")?;
        }
        write!(text, "line has {} characters]", clip.length)
    }
}
