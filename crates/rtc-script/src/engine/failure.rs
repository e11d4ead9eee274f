//! Why a script failed, in words for the model.

use deno_core::error::{CoreError, CoreErrorKind, JsError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Ended, SCRIPT_NAME};
use crate::limits::Limit;

/// Why a script has no result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failure {
    /// What was thrown; empty where a limit says it all.
    pub(crate) message: String,
    /// The line of the script that failed, or that called something last before it was ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<Limit>,
}

/// What the prelude tells at the end of a script.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Told {
    Result(Value),
    Nothing,
    Failed { message: String, line: Option<u32> },
}

impl Failure {
    pub(super) fn limit(limit: Limit, line: Option<u32>) -> Self {
        Self {
            message: String::new(),
            line,
            limit: Some(limit),
        }
    }

    /// Says that it came from a promise.
    pub(super) fn in_promise(mut self) -> Self {
        self.message.push_str(", in a promise that nothing waited for");
        self
    }

    /// Says what a syntax error may come from.
    pub(super) fn with_syntax_hint(mut self, code: &str) -> Self {
        let lines = u32::try_from(code.lines().count().max(1)).unwrap_or(u32::MAX);
        self.line = self.line.map(|line| line.min(lines));
        let line = self
            .line
            .and_then(|line| code.lines().nth(usize::try_from(line).ok()? - 1))
            .unwrap_or_default();
        let starts = line.trim_start();
        let hint = if starts.starts_with("import ") || starts.starts_with("export ") {
            "there are no modules here: use rtcAgent and what JavaScript brings"
        } else if looks_typed(line) {
            "scripts are JavaScript: leave out TypeScript's types"
        } else {
            return self;
        };
        self.message = format!("{}; {hint}", self.message);
        self
    }
}

/// Whether a line that is no JavaScript looks like TypeScript.
fn looks_typed(line: &str) -> bool {
    let line = line.trim_start();
    let first = line
        .split(|c: char| !c.is_alphanumeric())
        .next()
        .unwrap_or_default();
    let declares = ["interface", "type", "enum", "declare", "namespace", "abstract"].contains(&first);
    let annotated = line.match_indices(':').any(|(at, _)| {
        line[at + 1..]
            .trim_start()
            .starts_with(|c: char| c.is_alphabetic())
    });
    let cast = [" as ", " satisfies ", " implements ", "!.", "!;"]
        .iter()
        .any(|word| line.contains(word));
    let generic = line.contains('<') && line.contains('>');
    declares || annotated || cast || generic
}

pub(super) fn of_core(error: &CoreError) -> Ended {
    let failed = |message: &str| {
        Ended::Failed(Failure {
            message: message.to_owned(),
            line: None,
            limit: None,
        })
    };
    match error.as_kind() {
        CoreErrorKind::Js(error) => of_js(error),
        CoreErrorKind::ExecutionTerminated => Ended::Terminated,
        CoreErrorKind::PendingPromiseResolution => {
            failed("the script waits for a promise that nothing will settle")
        }
        _ => failed(&error.to_string()),
    }
}

pub(super) fn of_js(error: &JsError) -> Ended {
    if error.name.as_deref() == Some("Error") && error.message.as_deref() == Some("execution terminated") {
        return Ended::Terminated;
    }
    let message = error.exception_message.trim_start_matches("Uncaught ").to_owned();
    let line = error
        .frames
        .iter()
        .find(|frame| frame.file_name.as_deref() == Some(SCRIPT_NAME))
        .and_then(|frame| u32::try_from(frame.line_number?).ok());
    Ended::Failed(Failure {
        message,
        line,
        limit: None,
    })
}

/// Reads what the prelude says at the end.
pub(super) fn of_prelude(told: &str) -> Result<Option<Value>, Ended> {
    let failed = |message: String, line| {
        Err(Ended::Failed(Failure {
            message,
            line,
            limit: None,
        }))
    };
    match serde_json::from_str(told) {
        Ok(Told::Result(value)) => Ok(Some(value)),
        Ok(Told::Nothing) => Ok(None),
        Ok(Told::Failed { message, line }) => failed(message, line),
        Err(error) => failed(format!("the result cannot be read: {error}"), None),
    }
}
