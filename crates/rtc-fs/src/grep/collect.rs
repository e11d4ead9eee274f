//! What all threads have found, of which only the page is kept.

use std::collections::BTreeMap;

use super::sink::FileHits;
use super::{GrepFile, GrepHits, GrepOutput, GrepQuery, GrepResult, Skipped};
use crate::VPath;
use crate::walk::WalkTotals;

/// Counts every hit and keeps those of the first files in path order: as many as the page needs.
pub(crate) struct Collector {
    output: GrepOutput,
    keep: usize,
    kept: BTreeMap<VPath, FileHits>,
    kept_items: usize,
    total: u64,
    matches: u64,
    files: u64,
    pub(crate) skipped: Skipped,
}

impl Collector {
    /// For a page that ends after `keep` items.
    pub(crate) fn new(output: GrepOutput, keep: usize) -> Self {
        Self {
            output,
            keep,
            kept: BTreeMap::new(),
            kept_items: 0,
            total: 0,
            matches: 0,
            files: 0,
            skipped: Skipped::default(),
        }
    }

    /// Whether there is enough for the page, should nothing come before it.
    pub(crate) fn is_full(&self) -> bool {
        self.kept_items >= self.keep
    }

    /// How many lines of the file `path` could still be on the page.
    pub(crate) fn keep_of(&self, path: &VPath) -> usize {
        let full = self.is_full();
        let behind = self.kept.last_key_value().is_some_and(|(last, _)| path > last);
        if full && behind { 0 } else { self.keep }
    }

    /// Takes over what was found in `path`, and lets go of what has moved behind the page.
    pub(crate) fn add(&mut self, path: &VPath, hits: FileHits) {
        if hits.match_count == 0 {
            self.skipped.binary += 1;
            return;
        }
        self.skipped.cut += u64::from(hits.binary);
        self.files += 1;
        self.matches += hits.match_count;
        self.total += if self.output == GrepOutput::Content {
            hits.line_count
        } else {
            1
        };
        if self.keep_of(path) == 0 {
            return;
        }
        self.kept_items += items(self.output, &hits);
        self.kept.insert(path.clone(), hits);
        while let Some(last) = self.kept.last_entry() {
            let items = items(self.output, last.get());
            if self.kept_items - items < self.keep {
                break;
            }
            last.remove();
            self.kept_items -= items;
        }
    }

    /// Counts a file that could not be searched to its end.
    pub(crate) fn give_up(&mut self, path: &VPath, error: &std::io::Error) {
        // The searcher reports a line or file beyond its heap limit as an error of its own making.
        if error.raw_os_error().is_none() && error.kind() == std::io::ErrorKind::Other {
            self.skipped.oversized += 1;
        } else {
            self.skipped.unreadable.add(path.to_string());
        }
    }

    /// The page and the counts.
    pub(crate) fn finish(mut self, query: &GrepQuery, walked: WalkTotals) -> GrepResult {
        self.skipped.unreadable.take_over(walked.unreadable);
        let page = self.keep - query.offset;
        let files = self.kept.into_iter();
        let hits = match query.output {
            GrepOutput::Content => GrepHits::Content(
                files
                    .flat_map(|(_, hits)| hits.lines)
                    .skip(query.offset)
                    .take(page)
                    .collect(),
            ),
            GrepOutput::FilesWithMatches => GrepHits::Files(
                files
                    .map(|(path, _)| path)
                    .skip(query.offset)
                    .take(page)
                    .collect(),
            ),
            GrepOutput::Count => {
                let counted = files.map(|(path, hits)| GrepFile {
                    path,
                    occurrences: hits.match_count,
                });
                GrepHits::Counts(counted.skip(query.offset).take(page).collect())
            }
        };
        let skipped = self.skipped;
        GrepResult {
            hits,
            offset: query.offset,
            total: self.total,
            matches: self.matches,
            files: self.files,
            exact: skipped.cut + skipped.unreadable.count + skipped.oversized == 0,
            skipped,
            with_context: query.before + query.after > 0,
        }
    }
}

/// How much of a page the hits of one file take.
fn items(output: GrepOutput, hits: &FileHits) -> usize {
    if output == GrepOutput::Content {
        hits.lines.len()
    } else {
        1
    }
}
