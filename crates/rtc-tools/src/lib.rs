//! The built-in device tools over a project folder.

mod ask_user;
mod change;
mod edit;
mod file_calls;
mod files;
mod find;
mod grep;
mod keeping;
mod known;
mod ls;
mod read;
mod write;

use std::sync::Arc;

use rtc_tool::{ToolHandle, handle};

pub use ask_user::{AskUser, AskUserArgs, Choice, MAX_ANSWER_CHARS, Question};
pub use edit::{Edit, EditArgs, Edited};
pub use file_calls::{FileCalls, Lines, MAX_ENTRIES, MAX_READ_BYTES};
pub use find::{Find, FindArgs};
pub use grep::{Grep, GrepArgs, OutputMode};
pub use ls::{Ls, LsArgs};
pub use read::{Read, ReadArgs};
pub use write::{Mode as WriteMode, Write, WriteArgs, Written};

#[cfg(test)]
mod testing;

/// All of them, in the order in which a model sees them.
pub fn tools() -> Vec<Arc<dyn ToolHandle>> {
    vec![
        handle(Ls),
        handle(Read),
        handle(Write),
        handle(Edit),
        handle(Grep),
        handle(Find),
        handle(AskUser),
    ]
}
