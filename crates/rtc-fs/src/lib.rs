//! A project folder: jail, text codec, atomic byte-exact edits, search and pre-images.
//!
//! It knows nothing of tools or permissions. The interface is synchronous, and operations that can take long
//! take a `CancellationToken` and end within 50 ms of its cancellation.

// This crate is the place where user files are opened, so it may do what the root `clippy.toml` bans elsewhere.
#![allow(clippy::disallowed_methods)]

mod arrange;
mod atomic;
mod attributes;
mod change;
mod children;
mod codec;
mod diff;
mod edit;
mod error;
mod exchange;
mod find;
mod grep;
mod hard_links;
mod in_place;
mod nearest;
mod part;
mod path;
mod preimage;
mod project;
mod read;
mod resolve;
mod revert;
mod spelling;
mod stat;
mod step;
mod walk;
mod watch;
mod witness;

pub use arrange::{Gathered, MAX_ARRANGED};
pub use atomic::Recovery;
pub use change::{Applied, Before, MAX_CHANGED_BYTES, Mark, Planned, WriteMode};
pub use children::{Child, Children};
pub use codec::{Detected, Encoding, LineEnd, binary_kind, detect};
pub use diff::{MAX_DIFF_BYTES, MAX_WHOLE_DIFF_BYTES};
pub use error::{Error, MAX_LISTED_LINES};
pub use find::{DEFAULT_FIND_LIMIT, FindQuery, FindResult, Found, MAX_FIND_LIMIT, find, find_telling};
pub use grep::{
    Clip, DEFAULT_GREP_LIMIT, GrepFile, GrepHits, GrepLine, GrepOutput, GrepQuery, GrepResult,
    MAX_GREP_CONTEXT, MAX_GREP_LINE_BYTES, MAX_GREP_LINE_CHARS, MAX_GREP_REACH, Skipped, grep, grep_telling,
};
pub use nearest::Nearest;
pub use part::Part;
pub use path::{MAX_PATH_BYTES, VPath};
pub use preimage::{
    About, Content, Kept, KeptSpan, Left, MAX_PRE_IMAGES, MAX_UNDOS, MAX_WHOLE_KEPT_BYTES, PreImage,
    PreImageFolder, Retention, Swept, There, Undo, UndoPart,
};
pub use project::{Entry, Listing, MAX_LISTED_ENTRIES, Opened, Project, users_excludes};
pub use read::{Contents, Line, MAX_LINE_CHARS, MAX_WHOLE_BYTES, MAX_WINDOW_BYTES, Window};
pub use resolve::{MAX_LINKS, Resolved};
pub use revert::{Difference, Extent, RevertPlan, Reverting, ThreeWay};
pub use stat::{Hash, Identity, Kind, Stat};
pub use walk::{FilePermit, Told, Unreadable};
pub use watch::{Changed, Happened, MAX_PENDING_CHANGES, MAX_WATCHED_FOLDERS, Watch};
pub use witness::Witness;
