//! The built-in device tools over a project folder.

mod ask_user;
mod files;
mod find;
mod grep;

pub use ask_user::{AskUser, AskUserArgs, Choice, MAX_ANSWER_CHARS, Question};
pub use find::{Find, FindArgs};
pub use grep::{Grep, GrepArgs, OutputMode};

#[cfg(test)]
mod testing;
