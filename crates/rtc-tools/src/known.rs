//! What a session knows of a file, and whether that is enough to change it.

use rtc_fs::{Hash, Identity, VPath, Window};
use rtc_tool::{CallContext, ErrorKind, ToolError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Ranges of lines that are remembered of one file; a session that reads in more pieces knows it only partly.
const MAX_RANGES: usize = 64;

/// What a session knows of a file; noted under its real path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Known {
    /// The content that it knows; `None` for files that are too large to be hashed at each read.
    pub(crate) hash: Option<Hash>,
    /// The state of the file at that time.
    pub(crate) identity: Identity,
    /// Whether it knows all of it.
    pub(crate) complete: bool,
    /// First and last lines that it has read, ascending and apart, while it does not know all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) lines: Vec<(i64, i64)>,
}

/// How much has to be known for a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Some of the present content.
    Part,
    /// All of it.
    Whole,
}

/// The content that a file has now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Present {
    pub(crate) hash: Hash,
    pub(crate) identity: Identity,
}

impl Known {
    /// What is known of the file at `path`; nothing if what was noted is of no use.
    pub(crate) async fn get(context: &CallContext, path: &VPath) -> Result<Option<Self>, ToolError> {
        let noted = context.seen.get(path.as_str()).await?;
        Ok(noted.and_then(|noted| serde_json::from_value(noted).ok()))
    }

    /// Notes this of the file at `path`.
    pub(crate) fn note(&self, context: &CallContext, path: &VPath) {
        // Numbers, hashes and booleans always have a JSON form.
        context
            .seen
            .note(path.as_str(), serde_json::to_value(self).unwrap_or(Value::Null));
    }

    /// What is known after a window was read, on top of what was known of the same content.
    pub(crate) fn of_window(window: &Window, before: Option<Self>) -> Self {
        let mut known = Self {
            hash: window.hash,
            identity: window.identity,
            complete: window.complete,
            lines: Vec::new(),
        };
        if let Some(before) = before.filter(|before| before.is_of(window.hash, &window.identity)) {
            known.complete |= before.complete;
            known.lines = before.lines;
        }
        if !window.numbered_from_end {
            for line in window.lines.iter().filter(|line| line.clipped.is_none()) {
                known.add(line.number);
            }
        }
        known.lines.truncate(MAX_RANGES);
        let all = window.total_lines.and_then(|total| i64::try_from(total).ok());
        known.complete |= all.is_some_and(|all| known.lines == [(1, all)]);
        if known.complete {
            known.lines.clear();
        }
        known
    }

    /// What is known after the lines from `first` to `last` of `total` were read, on top of what was known of the same
    /// content.
    pub(crate) fn of_lines(
        hash: Hash,
        identity: Identity,
        (first, last): (i64, i64),
        total: i64,
        before: Option<Self>,
    ) -> Self {
        let mut known = Self {
            hash: Some(hash),
            identity,
            complete: total == 0 || (first == 1 && last == total),
            lines: Vec::new(),
        };
        if known.complete {
            return known;
        }
        if let Some(before) = before.filter(|before| before.is_of(Some(hash), &identity)) {
            known.complete = before.complete;
            known.lines = before.lines;
        }
        for line in first..=last {
            known.add(line);
        }
        known.lines.truncate(MAX_RANGES);
        known.complete |= known.lines == [(1, total)];
        if known.complete {
            known.lines.clear();
        }
        known
    }

    /// Adds a line that was read.
    fn add(&mut self, line: i64) {
        let at = self.lines.partition_point(|(first, _)| *first <= line);
        let joins_previous = at > 0 && line <= self.lines[at - 1].1 + 1;
        let joins_next = self.lines.get(at).is_some_and(|(first, _)| *first == line + 1);
        match (joins_previous, joins_next) {
            (true, true) => {
                self.lines[at - 1].1 = self.lines[at].1;
                self.lines.remove(at);
            }
            (true, false) => self.lines[at - 1].1 = self.lines[at - 1].1.max(line),
            (false, true) => self.lines[at].0 = line,
            (false, false) => self.lines.insert(at, (line, line)),
        }
    }

    /// Whether it is about this content.
    pub(crate) fn is_of(&self, hash: Option<Hash>, identity: &Identity) -> bool {
        match (self.hash, hash) {
            (Some(known), Some(now)) => known == now,
            _ => self.identity == *identity,
        }
    }

    /// Whether this is enough to change what is there now.
    pub(crate) fn permits(
        known: Option<&Self>,
        path: &VPath,
        present: &Present,
        need: Need,
    ) -> Result<(), ToolError> {
        let reason = match known {
            None => format!("`{path}` has not been read yet in this session; read it first"),
            Some(known) if !known.is_of(Some(present.hash), &present.identity) => {
                format!("`{path}` has changed since this session read it; read it again")
            }
            Some(known) if need == Need::Whole && !known.complete => {
                let lines: Vec<String> = known
                    .lines
                    .iter()
                    .map(|(first, last)| format!("{first}-{last}"))
                    .collect();
                let read = if lines.is_empty() {
                    String::new()
                } else {
                    format!(" (lines {})", lines.join(", "))
                };
                format!(
                    "`{path}` was only partly read{read}; read the rest before writing over it, or use edit"
                )
            }
            Some(_) => return Ok(()),
        };
        Err(ToolError::new(ErrorKind::Stale, reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_join_to_ranges() {
        let identity = Identity {
            dev: 1,
            ino: 1,
            size: 1,
            mtime_ns: 1,
            ctime_ns: 1,
        };
        let mut known = Known {
            hash: None,
            identity,
            complete: false,
            lines: Vec::new(),
        };
        for (line, want) in [
            (5, vec![(5, 5)]),
            (6, vec![(5, 6)]),
            (5, vec![(5, 6)]),
            (3, vec![(3, 3), (5, 6)]),
            (9, vec![(3, 3), (5, 6), (9, 9)]),
            (4, vec![(3, 6), (9, 9)]),
            (8, vec![(3, 6), (8, 9)]),
            (7, vec![(3, 9)]),
            (1, vec![(1, 1), (3, 9)]),
        ] {
            known.add(line);
            assert_eq!(known.lines, want, "after {line}");
        }
    }
}
