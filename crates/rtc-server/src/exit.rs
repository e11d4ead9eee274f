//! Exit codes, and how an error is told.

use std::process::ExitCode;

use rtc_types::Code;

use crate::console::Console;

/// How a command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Completed,
    /// Failed; also: the disk is full, or the result could not be written.
    Failed,
    /// Wrong usage, folder, configuration, model name or session; data folder in use.
    Usage,
    /// Done, but an approval was denied because nobody was there.
    Denied,
    /// The model refused, could not be reached, or the key is wrong.
    Model,
    /// Stopped by the user.
    Stopped,
    /// A limit that the user set is reached.
    Budget,
    /// Done, but a question had nobody to answer it.
    Unanswered,
}

impl Exit {
    /// The number.
    pub const fn number(self) -> u8 {
        match self {
            Self::Completed => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Denied => 3,
            Self::Model => 4,
            Self::Stopped => 5,
            Self::Budget => 6,
            Self::Unanswered => 7,
        }
    }

    /// For the operating system.
    pub fn code(self) -> ExitCode {
        ExitCode::from(self.number())
    }
}

/// The user can mend it by calling the command differently.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

/// Tells an error and says how the command ends by it.
pub(crate) fn report(console: &Console, error: &anyhow::Error) -> Exit {
    console.note(&format!("rtc-headless: {}", whole(error)));
    exit_of(error)
}

/// An error with its causes, each told once: most errors tell their cause themselves.
fn whole(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

fn exit_of(error: &anyhow::Error) -> Exit {
    if error.downcast_ref::<UsageError>().is_some() {
        return Exit::Usage;
    }
    if let Some(error) = error.downcast_ref::<rtc_engine::Error>() {
        return match error.code() {
            Code::SessionNotFound | Code::SessionClosed | Code::InvalidArgument => Exit::Usage,
            _ => Exit::Failed,
        };
    }
    if let Some(crate::desk::Error::Refused(refused)) = error.downcast_ref() {
        return match refused.code {
            Code::SessionNotFound | Code::SessionClosed | Code::InvalidArgument | Code::ProjectUnusable => {
                Exit::Usage
            }
            _ => Exit::Failed,
        };
    }
    match error.downcast_ref::<rtc_app::Error>() {
        Some(error) if error.is_full() => Exit::Failed,
        Some(rtc_app::Error::Engine(_)) | None => Exit::Failed,
        Some(_) => Exit::Usage,
    }
}
