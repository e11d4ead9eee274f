//! The built-in device tools over a project folder.

mod ask_user;
mod change;
mod edit;
mod files;
mod find;
mod grep;
mod known;
mod ls;
mod read;
mod write;

pub use ask_user::{AskUser, AskUserArgs, Choice, MAX_ANSWER_CHARS, Question};
pub use edit::{Edit, EditArgs, Edited};
pub use find::{Find, FindArgs};
pub use grep::{Grep, GrepArgs, OutputMode};
pub use ls::{Ls, LsArgs};
pub use read::{Read, ReadArgs};
pub use write::{Mode as WriteMode, Write, WriteArgs, Written};

#[cfg(test)]
mod testing;
