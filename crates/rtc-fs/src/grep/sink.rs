//! What the search engine finds in one file, counted and clipped as it comes.

use std::io;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};
use tokio_util::sync::CancellationToken;

use super::clip::{MAX_GREP_LINE_CHARS, clip};
use super::{GrepLine, GrepOutput};
use crate::VPath;
use crate::walk::Told;

/// What was found in one file.
#[derive(Debug, Default)]
pub(crate) struct FileHits {
    /// The first lines, context included, at most as many as were asked for.
    pub(crate) lines: Vec<GrepLine>,
    /// All lines, context included.
    pub(crate) line_count: u64,
    /// Matching lines; for [`GrepOutput::Count`], occurrences.
    pub(crate) match_count: u64,
    /// The search ended at a NUL byte.
    pub(crate) binary: bool,
}

/// Receives the matches of one file.
pub(crate) struct FileSink<'a> {
    pub(crate) path: &'a VPath,
    pub(crate) matcher: &'a RegexMatcher,
    pub(crate) output: GrepOutput,
    /// Lines to keep; the rest is only counted.
    pub(crate) keep: usize,
    /// Gets each line that is kept.
    pub(crate) told: Told<'a>,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) hits: FileHits,
}

impl FileSink<'_> {
    fn line(&mut self, number: Option<u64>, line: &[u8], match_start: Option<usize>, is_match: bool) {
        self.hits.line_count += 1;
        if self.hits.lines.len() < self.keep {
            let (text, clipped) = clip(without_line_end(line), match_start);
            let line = GrepLine {
                path: self.path.clone(),
                number: number.unwrap_or(0),
                text,
                is_match,
                clipped,
            };
            (self.told)(&line);
            self.hits.lines.push(line);
        }
    }

    /// How often the pattern occurs in a block of whole lines.
    fn occurrences(&self, block: &[u8]) -> Result<u64, io::Error> {
        let mut count = 0;
        self.matcher
            .find_iter(block, |found| {
                // Behind a final line end begins another line, which is not part of the block.
                if !(found.start() == block.len() && block.ends_with(b"\n")) {
                    count += 1;
                }
                true
            })
            .map_err(io::Error::other)?;
        Ok(count)
    }
}

impl Sink for FileSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        if self.cancel.is_cancelled() {
            return Ok(false);
        }
        match self.output {
            GrepOutput::FilesWithMatches => {
                self.hits.match_count = 1;
                return Ok(false);
            }
            GrepOutput::Count => {
                let block = found.bytes();
                let block = if searcher.multi_line_with_matcher(self.matcher) {
                    block
                } else {
                    without_line_end(block)
                };
                self.hits.match_count += self.occurrences(block)?;
                return Ok(true);
            }
            GrepOutput::Content => {}
        }
        // Where the match begins is needed for the window into a long line only.
        let clips = self.hits.lines.len() < self.keep && found.bytes().len() > MAX_GREP_LINE_CHARS;
        let first = if clips {
            self.matcher.find(found.bytes()).map_err(io::Error::other)?
        } else {
            None
        };
        let first = first.map_or(0, |found| found.start());
        let (mut number, mut start) = (found.line_number(), 0);
        for line in found.lines() {
            let end = start + line.len();
            let at = (start..end).contains(&first).then(|| first - start);
            self.hits.match_count += 1;
            self.line(number, line, Some(at.unwrap_or(0)), true);
            number = number.map(|number| number + 1);
            start = end;
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        if self.output == GrepOutput::Content {
            self.line(context.line_number(), context.bytes(), None, false);
        }
        Ok(!self.cancel.is_cancelled())
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> Result<(), io::Error> {
        self.hits.binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

fn without_line_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}
