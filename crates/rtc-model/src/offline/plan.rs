//! What a request asks for, step by step.

use super::place::{Needle, Place};

/// The most steps of one request that are done; the answer says if there were more.
pub(super) const MAX_STEPS: usize = 32;

/// The glob that stands for all files.
pub(super) const ALL: &str = "*";

/// The language of a request, in which it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    /// English, also for everything that is not Chinese.
    English,
    /// Chinese.
    Chinese,
}

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    /// The steps, in the user's order.
    pub(super) steps: Vec<Step>,
    /// The parts of the request that were not understood, as the user wrote them.
    pub(super) unclear: Vec<String>,
    /// How many steps there were beyond [`MAX_STEPS`].
    pub(super) beyond: usize,
    /// Whether the request has more parts than are read.
    pub(super) unread: bool,
    /// The language to answer in.
    pub(super) language: Language,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Show what is in a folder.
    List(Place),
    /// Show the text of files.
    Read(Place, Window),
    /// Find files by a glob, perhaps only below a folder; only their number is wanted if `count`.
    Find {
        /// The glob.
        pattern: String,
        /// The folder, as a virtual path.
        folder: Option<String>,
        /// Whether only the number is asked for.
        count: bool,
    },
    /// Find a word, both as a name and as a text.
    Look(String),
    /// Find a text.
    Search {
        /// The text.
        needle: Needle,
        /// Where.
        place: Place,
        /// Whether only the files are asked for.
        files_only: bool,
    },
    /// Count how often a text occurs.
    Count(Needle, Place),
    /// Replace a text by another one. The other one is empty when the user wants the text deleted.
    Replace {
        /// The text.
        from: String,
        /// What comes in its place.
        to: String,
        /// Where.
        place: Place,
    },
    /// Delete whole lines.
    DeleteLines(Lines, Place),
    /// Write a whole file.
    Write {
        /// The file, as the user named it.
        name: String,
        /// The text.
        content: String,
        /// Whether a file that exists may be overwritten.
        overwrite: bool,
    },
    /// Add a line at the end of a file.
    Append {
        /// The file, as the user named it.
        name: String,
        /// The line.
        line: String,
    },
    /// Run a script.
    Script(String),
    /// Run a script that was saved under this name.
    SavedScript(String),
    /// Something that no tool here can do.
    Unable(Wish),
    /// The user asks what the planner can do.
    Help,
}

/// Which lines of a file are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Window {
    /// All that the read tool gives at once.
    Whole,
    /// A line number and a number of lines.
    Range(u64, u64),
    /// That many lines from the end.
    Last(u64),
}

/// Which lines shall go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Lines {
    /// Those that contain a text.
    Containing(String),
    /// Those that are this text, apart from the space around it.
    Equal(String),
    /// Those with nothing but blanks in them.
    Empty,
    /// From a line number to another one, both included.
    Numbered(u64, u64),
    /// That many lines from the end.
    Last(u64),
}

/// Something that is often asked for and that the planner has no tool for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// Delete, rename, move or copy a file.
    FileWork,
    /// Run a program.
    Run,
}

impl Step {
    /// Whether this step only looks.
    pub(super) fn reads_only(&self) -> bool {
        match self {
            Step::List(_)
            | Step::Read(..)
            | Step::Find { .. }
            | Step::Look(_)
            | Step::Search { .. }
            | Step::Count(..)
            | Step::Unable(_)
            | Step::Help => true,
            Step::Replace { .. }
            | Step::DeleteLines(..)
            | Step::Write { .. }
            | Step::Append { .. }
            | Step::Script(_)
            | Step::SavedScript(_) => false,
        }
    }

    /// Where this step works, for the `it` and `them` of later steps.
    pub(super) fn place(&self) -> Option<Place> {
        match self {
            Step::List(place) | Step::Read(place, _) | Step::Count(_, place) => Some(place.clone()),
            Step::Replace { place, .. } | Step::DeleteLines(_, place) => Some(place.clone()),
            Step::Search { needle, place, .. } => {
                Some(Place::Matching(needle.clone(), Box::new(place.clone())))
            }
            Step::Find { pattern, folder, .. } => Some(Place::Glob {
                glob: pattern.clone(),
                folder: folder.clone(),
            }),
            Step::Write { name, .. } | Step::Append { name, .. } => Some(Place::Names(vec![name.clone()])),
            Step::Look(_) | Step::Script(_) | Step::SavedScript(_) | Step::Unable(_) | Step::Help => None,
        }
    }

    /// What this step looks for, for the `it` of later steps.
    pub(super) fn needle(&self) -> Option<Needle> {
        match self {
            Step::Search { needle, .. } | Step::Count(needle, _) => Some(needle.clone()),
            Step::Look(word) => Some(Needle::literal(word.clone())),
            Step::Replace { to, .. } if !to.is_empty() => Some(Needle::literal(to.clone())),
            _ => None,
        }
    }
}
