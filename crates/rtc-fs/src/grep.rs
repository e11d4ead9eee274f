//! Searching file contents with ripgrep's engine.

mod clip;
mod collect;
mod pattern;
mod reading;
mod render;
mod sink;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use grep_matcher::LineTerminator;
use grep_searcher::{BinaryDetection, MmapChoice, Searcher, SearcherBuilder};
use ignore::types::{Types, TypesBuilder};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

pub use self::clip::{Clip, MAX_GREP_LINE_CHARS};
use self::collect::Collector;
use self::reading::{FIRST_BYTES, Reading};
use self::sink::{FileHits, FileSink};
use crate::walk::path_pattern::PathPattern;
use crate::walk::{FilePermit, Load, Told, Unreadable, Walk, WalkEntry, WalkKind, lock, open_file};
use crate::{Error, Project, VPath};

/// How many lines or files a search shows by default.
pub const DEFAULT_GREP_LIMIT: usize = 250;

/// `offset` and `head_limit` together reach at most so far into the sorted result: what lies before a page has to
/// be kept while searching, because it is known only at the end that it lies before it.
pub const MAX_GREP_REACH: usize = 20_000;

/// Most lines of context before and after a match.
pub const MAX_GREP_CONTEXT: usize = 200;

/// Longest line that can be searched, and largest file in a multi-line search, in bytes. Each searching thread may
/// hold so much.
pub const MAX_GREP_LINE_BYTES: usize = 16 << 20;

/// What a search reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GrepOutput {
    /// The matching lines.
    Content,
    /// The files that have a match.
    FilesWithMatches,
    /// How often the pattern occurs in each file.
    Count,
}

/// What to search for, and where.
#[derive(Debug, Clone)]
pub struct GrepQuery {
    /// A regular expression of the `regex` crate.
    pub pattern: String,
    /// The folder to search below, or one file. A folder or file that is named here is searched even when it is
    /// hidden or ignored.
    pub path: VPath,
    /// Only files that match this glob; with a leading `!`, only those that do not. It is read as `find` reads it.
    pub glob: Option<String>,
    /// Only files of this type, by ripgrep's names (`rust`, `py`, `ts`, …).
    pub file_type: Option<String>,
    /// What to report.
    pub output: GrepOutput,
    /// Whether `a` and `A` differ.
    pub case_sensitive: bool,
    /// Lines of context before each match, at most [`MAX_GREP_CONTEXT`].
    pub before: usize,
    /// Lines of context after each match, at most [`MAX_GREP_CONTEXT`].
    pub after: usize,
    /// Whether a match may span lines; then `.` matches line ends too.
    pub multiline: bool,
    /// Lines (context included) or files to show; 0 for as many as can be had ([`MAX_GREP_REACH`]).
    pub head_limit: usize,
    /// Lines or files to leave out before the first that is shown.
    pub offset: usize,
}

impl GrepQuery {
    /// A search for `pattern` in the whole project, with the defaults of the `grep` tool.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self {
            pattern: pattern.into(),
            path: VPath::root(),
            glob: None,
            file_type: None,
            output: GrepOutput::Content,
            case_sensitive: true,
            before: 0,
            after: 0,
            multiline: false,
            head_limit: DEFAULT_GREP_LIMIT,
            offset: 0,
        }
    }
}

/// One line of a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GrepLine {
    /// The file.
    pub path: VPath,
    /// 1-based number of the line.
    pub number: u64,
    /// The line without its end, or a window into it.
    pub text: String,
    /// Whether the line matches; otherwise it is context.
    pub is_match: bool,
    /// Set if `text` is not the whole line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clipped: Option<Clip>,
}

/// A file with at least one match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GrepFile {
    /// The file.
    pub path: VPath,
    /// How often the pattern occurs in it.
    pub occurrences: u64,
}

/// The page of results that was asked for, in the order of paths and lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "items", rename_all = "snake_case")]
pub enum GrepHits {
    /// Matching lines and their context.
    Content(Vec<GrepLine>),
    /// Files with a match.
    Files(Vec<VPath>),
    /// Files with their number of occurrences.
    Counts(Vec<GrepFile>),
}

impl GrepHits {
    /// Lines or files on the page.
    pub fn len(&self) -> usize {
        match self {
            Self::Content(lines) => lines.len(),
            Self::Files(files) => files.len(),
            Self::Counts(files) => files.len(),
        }
    }

    /// Whether the page is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Files that were not searched, or not to their end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Binary files: they contain a NUL byte and no match before it.
    pub binary: u64,
    /// Files whose matches before a NUL byte are reported; what follows it was not searched.
    pub cut: u64,
    /// Files that may not be read without being asked for by name.
    pub refused: u64,
    /// Files and folders that could not be read.
    pub unreadable: Unreadable,
    /// Files with a line (in a multi-line search: files) over [`MAX_GREP_LINE_BYTES`].
    pub oversized: u64,
}

/// What a search found.
///
/// The whole tree is always searched, so the counts are exact, and the page is the same however the work was spread
/// over threads. Only files that had to be given up make the counts a lower bound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GrepResult {
    /// The page.
    pub hits: GrepHits,
    /// Lines or files before the page.
    pub offset: usize,
    /// All lines (context included) or files.
    pub total: u64,
    /// All matching lines, occurrences (for counts), or files.
    pub matches: u64,
    /// All files with a match.
    pub files: u64,
    /// Whether the counts are exact; otherwise they are "at least".
    pub exact: bool,
    /// What was not searched.
    pub skipped: Skipped,
    /// Whether context was asked for.
    pub with_context: bool,
}

impl GrepResult {
    /// Where the next page begins, if there is one.
    pub fn next_offset(&self) -> Option<usize> {
        let end = self.offset + self.hits.len();
        (!self.hits.is_empty() && (end as u64) < self.total).then_some(end)
    }
}

/// Searches below `query.path`. Hidden and ignored files and `.git` are left out; links are not followed.
///
/// `permit` is asked for each file before it is opened, possibly from several threads; files that it refuses are
/// counted and not opened.
///
/// # Errors
/// [`Error::InvalidPattern`] for the pattern or the glob, [`Error::UnknownFileType`], [`Error::PastReach`] for an
/// offset of [`MAX_GREP_REACH`] or more, [`Error::Cancelled`], and those of finding `query.path`.
pub fn grep(
    project: &Project,
    query: &GrepQuery,
    permit: FilePermit<'_>,
    cancel: &CancellationToken,
) -> Result<GrepResult, Error> {
    grep_telling(project, query, permit, &|_| {}, cancel)
}

/// The same; `told` gets what is found as soon as it is: lines with their path and number, files, or files with their
/// count, as [`GrepResult::render`] has them. What is already known to lie behind the page is not told.
///
/// # Errors
/// As [`grep`].
pub fn grep_telling(
    project: &Project,
    query: &GrepQuery,
    permit: FilePermit<'_>,
    told: Told<'_>,
    cancel: &CancellationToken,
) -> Result<GrepResult, Error> {
    Search::new(query, told)?.run(&Walk::begin(project, &query.path, cancel)?, permit)
}

/// A search whose arguments have been checked.
struct Search<'a> {
    query: &'a GrepQuery,
    matcher: grep_regex::RegexMatcher,
    glob: Option<(bool, PathPattern)>,
    types: Option<Types>,
    keep: usize,
    told: Told<'a>,
}

impl<'a> Search<'a> {
    fn new(query: &'a GrepQuery, told: Told<'a>) -> Result<Self, Error> {
        if query.offset >= MAX_GREP_REACH {
            return Err(Error::PastReach {
                offset: query.offset,
                reach: MAX_GREP_REACH,
            });
        }
        let keep = match query.head_limit {
            0 => MAX_GREP_REACH,
            limit => query.offset.saturating_add(limit).min(MAX_GREP_REACH),
        };
        let glob = match query.glob.as_deref() {
            None => None,
            Some(glob) => Some(match glob.strip_prefix('!') {
                Some(excluded) => (false, PathPattern::parse(excluded)?),
                None => (true, PathPattern::parse(glob)?),
            }),
        };
        Ok(Self {
            query,
            matcher: pattern::compile(&query.pattern, query.case_sensitive, query.multiline)?,
            glob,
            types: query.file_type.as_deref().map(file_types).transpose()?,
            keep,
            told,
        })
    }

    fn run(&self, walk: &Walk<'_>, permit: FilePermit<'_>) -> Result<GrepResult, Error> {
        let collector = Mutex::new(Collector::new(self.query.output, self.keep));
        let is_full = AtomicBool::new(false);
        let totals = walk.run(|| {
            let (mut searcher, mut first) = (self.searcher(), vec![0; FIRST_BYTES]);
            let (collector, is_full) = (&collector, &is_full);
            move |entry: &WalkEntry, load: &Load<'_>| {
                if entry.kind != WalkKind::File || !self.selects(walk, &entry.path) {
                    return;
                }
                if !permit(&entry.path) {
                    lock(collector).skipped.refused += 1;
                    return;
                }
                // A lock for each file would be felt.
                let keep = if is_full.load(Ordering::Relaxed) {
                    lock(collector).keep_of(&entry.path)
                } else {
                    self.keep
                };
                let searched = self.search(walk, &mut searcher, &mut first, &entry.path, keep, load);
                if keep > 0 && searched.hits.match_count > 0 {
                    self.tell_file(&entry.path, &searched.hits);
                }
                if searched.hits.match_count > 0 || searched.hits.binary {
                    let mut collector = lock(collector);
                    collector.add(&entry.path, searched.hits);
                    is_full.store(collector.is_full(), Ordering::Relaxed);
                }
                if let Err(error) = searched.end {
                    lock(collector).give_up(&entry.path, &error);
                }
            }
        })?;
        let collector = collector
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        Ok(collector.finish(self.query, totals))
    }

    /// Lines were told when they were found.
    fn tell_file(&self, path: &VPath, hits: &FileHits) {
        match self.query.output {
            GrepOutput::Content => {}
            GrepOutput::FilesWithMatches => (self.told)(path),
            GrepOutput::Count => (self.told)(&format_args!("{path}:{}", hits.match_count)),
        }
    }

    /// Whether the file filters let `path` through. A file that the query names passes always.
    fn selects(&self, walk: &Walk<'_>, path: &VPath) -> bool {
        let start = walk.start();
        if path == start {
            return true;
        }
        let by_glob = |(want, glob): &(bool, PathPattern)| glob.matches(start, path, false) == *want;
        self.glob.as_ref().is_none_or(by_glob)
            && self
                .types
                .as_ref()
                .is_none_or(|types| types.matched(path.as_str(), false).is_whitelist())
    }

    fn searcher(&self) -> Searcher {
        let query = self.query;
        let line_end = if pattern::either_line_end(&query.pattern) {
            LineTerminator::crlf()
        } else {
            LineTerminator::byte(b'\n')
        };
        let context = |lines: usize| {
            if query.output == GrepOutput::Content {
                lines.min(MAX_GREP_CONTEXT)
            } else {
                0
            }
        };
        SearcherBuilder::new()
            .line_terminator(line_end)
            .line_number(query.output == GrepOutput::Content)
            .multi_line(query.multiline)
            .before_context(context(query.before))
            .after_context(context(query.after))
            .heap_limit(Some(MAX_GREP_LINE_BYTES))
            // A mapped file that another program truncates would end this process.
            .memory_map(MmapChoice::never())
            .binary_detection(BinaryDetection::quit(b'\0'))
            .bom_sniffing(true)
            .build()
    }

    fn search(
        &self,
        walk: &Walk<'_>,
        searcher: &mut Searcher,
        first: &mut [u8],
        path: &VPath,
        keep: usize,
        load: &Load<'_>,
    ) -> Searched {
        let (file, size) = match open_file(walk.project(), path) {
            Ok(opened) => opened,
            Err(error) => {
                return Searched {
                    hits: FileHits::default(),
                    end: Err(error),
                };
            }
        };
        load.add(size);
        let reading = Reading::new(file, size, first, walk.cancel());
        self.search_in(reading, searcher, path, keep, walk.cancel())
    }

    fn search_in(
        &self,
        reading: Reading<'_, impl std::io::Read>,
        searcher: &mut Searcher,
        path: &VPath,
        keep: usize,
        cancel: &CancellationToken,
    ) -> Searched {
        let hits = FileHits::default();
        let (matcher, output) = (&self.matcher, self.query.output);
        let mut sink = FileSink {
            path,
            matcher,
            output,
            keep,
            told: self.told,
            cancel,
            hits,
        };
        let end = searcher.search_reader(&self.matcher, reading, &mut sink);
        Searched { hits: sink.hits, end }
    }
}

/// What came of searching one file.
struct Searched {
    hits: FileHits,
    /// Why it was not searched to its end.
    end: std::io::Result<()>,
}

/// The globs of one of ripgrep's file types.
fn file_types(name: &str) -> Result<Types, Error> {
    let mut types = TypesBuilder::new();
    types.add_defaults().select(name);
    types.build().map_err(|_| Error::UnknownFileType {
        name: name.to_owned(),
    })
}

#[cfg(test)]
mod tests;
