//! What the model reads of a run.

use rtc_tool::{ErrorKind, ToolError};
use serde::Serialize;
use serde_json::{Value, json};

use crate::engine::{Entry, Level};
use crate::limits::Limit;
use crate::run::Ran;

/// How much of the console an error repeats, in bytes; the end of it.
const TOLD_CONSOLE_BYTES: usize = 4000;
/// How many changed paths an error names.
const TOLD_PATHS: usize = 20;

/// The result of a script; what is empty is left out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Output {
    /// The saved script that ran, or was saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    /// What it returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) logs: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) errors: Vec<String>,
    /// Milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) duration_ms: Option<u64>,
}

/// The result of a run, or the error that tells everything that is known of it.
pub(crate) fn outcome(ran: Ran, name: Option<String>, timeout_ms: u64) -> Result<Output, ToolError> {
    let [logs, warnings, errors] =
        [Level::Log, Level::Warning, Level::Error].map(|level| texts(&ran.console, level));
    let duration_ms = u64::try_from(ran.duration.as_millis()).unwrap_or(u64::MAX);
    let failure = match ran.ended {
        Ok(result) => {
            return Ok(Output {
                name,
                result,
                logs,
                warnings,
                errors,
                duration_ms: Some(duration_ms),
            });
        }
        Err(failure) => failure,
    };
    if failure.limit == Some(Limit::Stopped) && ran.changed.is_empty() {
        return Err(ToolError::cancelled());
    }
    let mut message = match failure.limit {
        Some(limit) => limit.reason(timeout_ms),
        None => failure.message.clone(),
    };
    if let Some(line) = failure.line {
        let where_ = if failure.limit.is_some() {
            "its last call was on line"
        } else {
            "line"
        };
        message.push_str(&format!(" ({where_} {line})"));
    }
    message.push_str(&format!("\n{}", changes(&ran.changed)));
    let console = told_console(&ran.console);
    if !console.is_empty() {
        message.push_str(&format!("\nThe console until then:\n{console}"));
    }
    let kind = match failure.limit {
        Some(Limit::Time) => ErrorKind::Timeout,
        Some(_) | None => ErrorKind::Execution,
    };
    Err(ToolError {
        details: Some(json!({
            "line": failure.line,
            "limit": failure.limit,
            "changed": ran.changed,
            "logs": logs,
            "warnings": warnings,
            "errors": errors,
            "duration_ms": duration_ms,
        })),
        ..ToolError::new(kind, message)
    })
}

fn texts(console: &[Entry], level: Level) -> Vec<String> {
    let of_level = console.iter().filter(|entry| entry.level == level);
    of_level.map(|entry| entry.text.clone()).collect()
}

/// What a script has changed, in a sentence.
pub(crate) fn changes(changed: &[String]) -> String {
    if changed.is_empty() {
        return "It had changed nothing.".to_owned();
    }
    let mut named: Vec<String> = changed
        .iter()
        .take(TOLD_PATHS)
        .map(|path| format!("`{path}`"))
        .collect();
    if changed.len() > TOLD_PATHS {
        named.push(format!("{} more", changed.len() - TOLD_PATHS));
    }
    format!("It had already changed {}.", named.join(", "))
}

/// A line of the console, as it looks to a person.
pub(crate) fn line(entry: &Entry) -> String {
    let sign = match entry.level {
        Level::Log => "",
        Level::Warning => "warning: ",
        Level::Error => "error: ",
    };
    format!("{sign}{}", entry.text)
}

/// The end of the console.
fn told_console(console: &[Entry]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut bytes = 0;
    for entry in console.iter().rev() {
        let line = line(entry);
        bytes += line.len();
        if bytes > TOLD_CONSOLE_BYTES {
            if lines.is_empty() {
                let end = line
                    .char_indices()
                    .map(|(at, _)| at)
                    .take_while(|at| *at < TOLD_CONSOLE_BYTES)
                    .last();
                lines.push(format!("{}…", &line[..end.unwrap_or(0)]));
            }
            lines.push(format!(
                "[{} entries in all, the last ones are shown]",
                console.len()
            ));
            break;
        }
        lines.push(line);
    }
    lines.reverse();
    lines.join("\n")
}
