//! What the user is told of a store that was set aside: at that start and at those of the next days.

#![allow(clippy::disallowed_methods, reason = "the data folder is the app's own")]

use std::path::Path;
use std::time::Duration;

use rtc_engine::Salvaged;
use rtc_store::SetAside;
use rtc_types::Timestamp;
use serde::{Deserialize, Serialize};

use crate::data;

/// How long it is told at each start, unless the folder is moved away before.
const TOLD_FOR: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// What is noted beside the store that took the place of another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    /// When.
    at: Timestamp,
    /// The name of the folder, within the data folder, to which the other one was moved.
    aside: String,
    /// What the user is told.
    told: String,
}

impl Note {
    /// Of a store that was found unreadable and moved to `aside`.
    pub(crate) fn of(set_aside: &SetAside, salvaged: &Salvaged, aside: &Path, at: Timestamp) -> Self {
        let name = aside.file_name().unwrap_or_default();
        Self {
            at,
            aside: name.to_string_lossy().into_owned(),
            told: told(set_aside, salvaged, aside),
        }
    }

    /// What is to be told at a start now.
    pub(crate) fn due(self, folder: &Path, now: Timestamp) -> Option<String> {
        let is_recent = now.duration_since(self.at).unsigned_abs() <= TOLD_FOR;
        (is_recent && folder.join(&self.aside).is_dir()).then_some(self.told)
    }
}

fn detail(error: &rtc_store::Error) -> String {
    match error {
        rtc_store::Error::Damaged { path, detail } => format!("{}: {detail}", path.display()),
        other => other.to_string(),
    }
}

fn told(set_aside: &SetAside, salvaged: &Salvaged, aside: &Path) -> String {
    let taken = match &set_aside.taken {
        Ok(_) => saved(salvaged),
        Err(error) => format!("nothing of it was taken over ({})", detail(error)),
    };
    format!(
        "the sessions kept so far cannot be read as they were ({}). All of it was moved aside to {}, where it is kept as it \
         was found; {taken}. Each change is asked about until an answer makes a new rule: a rule that forbids something \
         may be lost. To try the old sessions again, close the program, move the folder `{store}` away and rename that \
         folder to `{store}`. This is told at each start for 7 days, or until that folder is moved away",
        detail(&set_aside.found),
        aside.display(),
        store = data::STORE,
    )
}

/// What was saved, and what was not.
fn saved(salvaged: &Salvaged) -> String {
    let Salvaged {
        sessions,
        nameless,
        messages,
        lost,
        turns,
        calls,
    } = *salvaged;
    let mut told = format!(
        "{} with {} could be taken over; what was done last may be missing",
        count(sessions, "session"),
        count(messages, "message")
    );
    if lost > 0 {
        told += &format!(
            "; {} of them cannot be read, and their sessions do not go on",
            count(lost, "further message")
        );
    }
    if nameless > 0 {
        told += &format!(
            "; of {} only the messages are left, and they can only be read",
            count(nameless, "session")
        );
    }
    if turns + calls > 0 {
        told += &format!(
            "; {} and {} were open and have been ended, nothing of them goes on by itself, and whether the calls took \
             effect is not known",
            count(turns, "turn"),
            count(calls, "call")
        );
    }
    told
}

fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}
