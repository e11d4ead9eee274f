//! How a step ended, before it is put in words.

use super::history::Failure;
use super::place::{Needle, Place};
use super::plan::{Step, Wish};
use super::results::Match;

/// How a step ended. A `note` is what the tools said that they left out: without it a statement about what there is
/// would be false.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Report {
    /// What is in a folder.
    Listed {
        path: String,
        entries: Vec<String>,
        note: Option<String>,
    },
    /// The text of a file.
    Text {
        path: String,
        lines: Vec<String>,
        notes: Vec<String>,
    },
    /// More files match than are read.
    OnlyRead { read: usize, of: usize },
    /// Files found by name.
    Found {
        pattern: String,
        folder: Option<String>,
        paths: Vec<String>,
        note: Option<String>,
    },
    /// How many files there are.
    FoundCount {
        pattern: String,
        folder: Option<String>,
        count: usize,
        at_least: bool,
        note: Option<String>,
    },
    /// Lines found by their text.
    Matches {
        needle: Needle,
        place: Place,
        matches: Vec<Match>,
        note: Option<String>,
    },
    /// Files found by their text.
    Files {
        needle: Needle,
        place: Place,
        files: Vec<String>,
        note: Option<String>,
    },
    /// A script ran to its end.
    Ran { result: Vec<String> },
    /// How often a text occurs.
    Counted {
        needle: Needle,
        place: Place,
        total: u64,
        files: u64,
        at_least: bool,
        note: Option<String>,
    },
    /// A text was replaced, or deleted if there is nothing in its place.
    Replaced {
        from: String,
        to: String,
        changed: Vec<(String, u64)>,
        failed: Vec<(String, Failure)>,
        more: bool,
        note: Option<String>,
    },
    /// Lines were deleted.
    LinesDeleted {
        changed: Vec<(String, u64)>,
        failed: Vec<(String, Failure)>,
        note: Option<String>,
    },
    /// A text does not occur.
    Absent {
        needle: Needle,
        place: Place,
        note: Option<String>,
    },
    /// There is no empty line.
    NoEmptyLine { place: Place, note: Option<String> },
    /// A file has no such line.
    NoSuchLine { path: String, lines: u64 },
    /// A file was written.
    Wrote {
        path: String,
        created: bool,
        characters: usize,
    },
    /// A line was added.
    Appended { path: String, created: bool },
    /// A file that should be created is there already.
    Exists { path: String },
    /// Old and new text are equal.
    Same { text: String },
    /// There is no text to look for.
    NoText,
    /// A name fits several files, and nobody can be asked.
    Ambiguous { name: String, candidates: Vec<String> },
    /// The user was asked which file is meant, and the answer names none of them.
    Unanswered { name: String, answer: String },
    /// Nothing has this name.
    NoSuchName { name: String, note: Option<String> },
    /// A folder stands where a file is needed.
    IsFolder { path: String },
    /// A call of the step failed.
    Failed { step: Step, failure: Failure },
    /// The step needs a tool that is not offered.
    NotOffered { step: Step, tool: &'static str },
    /// The planner has no tool for this wish.
    Unable(Wish),
    /// What the planner understands.
    Help,
}
