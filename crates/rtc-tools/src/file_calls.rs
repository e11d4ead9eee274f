//! What a running program asks of files: the work of the file tools, answered for programs instead of a model.
//!
//! Jail, codec, permission of each path, stale guard and pre-images are those of the tools. The calls of one program
//! are made one after the other, and each change in a turn of its own: two changes of one file never cross.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use rtc_fs::{Detected, Error, GrepHits, Kind, VPath, binary_kind, detect};
use rtc_tool::{Access, CallContext, ToolError, Turn};
use serde_json::{Value, json};

use crate::change;
use crate::files::{blocking, path, project, tool_error};
use crate::keeping::Keeping;
use crate::known::Known;
use crate::{EditArgs, FindArgs, GrepArgs, WriteArgs};

/// The largest file that a program reads: 16 MiB.
pub const MAX_READ_BYTES: u64 = 16 << 20;

/// The most entries of one folder that a program is given.
pub const MAX_ENTRIES: usize = 20_000;

/// The files of a call, for the program that the call runs.
#[derive(Debug)]
pub struct FileCalls {
    context: CallContext,
    changed: Arc<Mutex<BTreeSet<String>>>,
}

/// Which lines are wanted; all of them without both.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lines {
    /// The first, from 1; a negative number counts from the end.
    pub offset: Option<i64>,
    /// How many.
    pub limit: Option<u64>,
}

impl FileCalls {
    /// The files that the call may use.
    pub fn new(context: CallContext) -> Self {
        Self {
            context,
            changed: Arc::default(),
        }
    }

    /// The paths that were changed so far, sorted.
    pub fn changed(&self) -> Vec<String> {
        let changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        changed.iter().cloned().collect()
    }

    /// Notes a path that was changed, whatever fails afterwards.
    fn noting(&self) -> impl FnMut(&VPath) + Send + use<> {
        let changed = self.changed.clone();
        move |path| {
            let mut changed = changed.lock().unwrap_or_else(PoisonError::into_inner);
            changed.insert(path.as_str().to_owned());
        }
    }

    /// Waits until it is the program's turn to make a change. It never has one turn while it waits for another.
    async fn turn(&self) -> Result<Turn, ToolError> {
        tokio::select! {
            biased;
            () = self.context.cancel.cancelled() => Err(ToolError::cancelled()),
            turn = self.context.turns.take() => turn,
        }
    }

    /// The names in a folder, sorted, folders with a trailing `/`.
    pub async fn list(&self, given: &str) -> Result<Value, ToolError> {
        let (asked, project) = (path(given)?, project(&self.context)?);
        let permit = self.context.permit.clone();
        blocking(&self.context, move |cancel| {
            let place = project.resolve(&asked).map_err(tool_error)?;
            permit.check(Access::Read, place.path.as_str())?;
            let listing = project
                .list(&place.path, MAX_ENTRIES, cancel)
                .map_err(tool_error)?;
            if listing.total > MAX_ENTRIES {
                let total = listing.total;
                return Err(ToolError::execution(format!(
                    "`{}` has {total} entries, {MAX_ENTRIES} at most can be listed; use find",
                    listing.path
                )));
            }
            let names = listing.entries.into_iter().map(|entry| match entry.kind {
                Kind::Folder => entry.name + "/",
                _ => entry.name,
            });
            Ok(names.collect())
        })
        .await
    }

    /// The text of a file, its lines with their ends.
    pub async fn read(&self, given: &str, lines: Lines) -> Result<Value, ToolError> {
        let (asked, project) = (path(given)?, project(&self.context)?);
        let permit = self.context.permit.clone();
        let (text, part, contents) = blocking(&self.context, move |cancel| {
            let place = project.resolve(&asked).map_err(tool_error)?;
            permit.check(Access::Read, place.path.as_str())?;
            let contents = project
                .read_bytes(&place.path, MAX_READ_BYTES, cancel)
                .map_err(tool_error)?;
            let Detected::Text(encoding) = detect(&contents.bytes, true) else {
                return Err(tool_error(Error::Binary {
                    path: contents.path,
                    what: binary_kind(&contents.bytes),
                    size: contents.bytes.len() as u64,
                }));
            };
            let text = encoding.decode(&contents.bytes);
            let part = part_of(&text, lines).map_err(|(offset, total)| {
                tool_error(Error::PastEnd {
                    path: contents.path.clone(),
                    offset,
                    total,
                })
            })?;
            Ok((text[part.bytes.clone()].to_owned(), part, contents))
        })
        .await?;
        let before = Known::get(&self.context, &contents.path).await?;
        Known::of_lines(contents.hash, contents.identity, part.lines, part.total, before)
            .note(&self.context, &contents.path);
        Ok(json!(text))
    }

    /// The bytes of a file.
    pub async fn read_bytes(&self, given: &str) -> Result<Vec<u8>, ToolError> {
        let (asked, project) = (path(given)?, project(&self.context)?);
        let permit = self.context.permit.clone();
        let contents = blocking(&self.context, move |cancel| {
            let place = project.resolve(&asked).map_err(tool_error)?;
            permit.check(Access::Read, place.path.as_str())?;
            project
                .read_bytes(&place.path, MAX_READ_BYTES, cancel)
                .map_err(tool_error)
        })
        .await?;
        Known {
            hash: Some(contents.hash),
            identity: contents.identity,
            complete: true,
            lines: Vec::new(),
        }
        .note(&self.context, &contents.path);
        Ok(contents.bytes)
    }

    /// Writes a file; the result is that of the tool `write`.
    pub async fn write(&self, args: WriteArgs) -> Result<Value, ToolError> {
        let _turn = self.turn().await?;
        let written = change::execute_telling(self.context.clone(), args, None, self.noting()).await?;
        Ok(json!(written))
    }

    /// Replaces text in a file; the result is that of the tool `edit`.
    pub async fn edit(&self, args: EditArgs) -> Result<Value, ToolError> {
        let _turn = self.turn().await?;
        let edited = change::execute_telling(self.context.clone(), args, None, self.noting()).await?;
        Ok(json!(edited))
    }

    /// Searches contents: `{items, note?}`, the items `{path, line, text}` of lines (`context: true` where a line only
    /// surrounds a match), paths, or `{path, count}`, as `output_mode` says.
    pub async fn grep(&self, args: GrepArgs) -> Result<Value, ToolError> {
        let query = args.query()?;
        let project = project(&self.context)?;
        let permit = self.context.permit.clone();
        blocking(&self.context, move |cancel| {
            let place = project.resolve(&query.path).map_err(tool_error)?;
            permit.check(Access::Read, place.path.as_str())?;
            let permitted = |path: &VPath| permit.check(Access::Read, path.as_str()).is_ok();
            let result = rtc_fs::grep(&project, &query, &permitted, cancel).map_err(tool_error)?;
            let note = match result.next_offset() {
                Some(next) => json!(format!("the matches are cut off; go on with offset {next}")),
                None if result.skipped.refused > 0 => {
                    json!(format!(
                        "{} files may not be read and were left out",
                        result.skipped.refused
                    ))
                }
                None => Value::Null,
            };
            let items: Vec<Value> = match result.hits {
                GrepHits::Content(lines) => lines
                    .into_iter()
                    .map(|line| {
                        let mut item = json!({"path": line.path, "line": line.number, "text": line.text});
                        if !line.is_match {
                            item["context"] = json!(true);
                        }
                        item
                    })
                    .collect(),
                GrepHits::Files(files) => files.into_iter().map(|path| json!(path)).collect(),
                GrepHits::Counts(files) => files
                    .into_iter()
                    .map(|file| json!({"path": file.path, "count": file.occurrences}))
                    .collect(),
            };
            Ok(json!({"items": items, "note": note}))
        })
        .await
    }

    /// Finds files and folders by name: `{items, note?}`, the items absolute paths, folders with a trailing `/`.
    pub async fn find(&self, args: FindArgs) -> Result<Value, ToolError> {
        let query = args.query()?;
        let project = project(&self.context)?;
        let permit = self.context.permit.clone();
        blocking(&self.context, move |cancel| {
            let place = project.resolve(&query.path).map_err(tool_error)?;
            permit.check(Access::Read, place.path.as_str())?;
            let permitted = |path: &VPath| permit.check(Access::Read, path.as_str()).is_ok();
            let result = rtc_fs::find(&project, &query, &permitted, cancel).map_err(tool_error)?;
            let given = result.found.len() as u64;
            let note = if result.total > given {
                json!(format!("the first {given} of {} paths are given", result.total))
            } else {
                Value::Null
            };
            let items = result.found.into_iter().map(|found| {
                let end = if found.folder { "/" } else { "" };
                format!("{}{end}", found.path.as_str())
            });
            Ok(json!({"items": items.collect::<Vec<_>>(), "note": note}))
        })
        .await
    }

    /// What is at a path: `{path, kind, size, modified}`, the last in milliseconds since 1970.
    pub async fn stat(&self, given: &str) -> Result<Value, ToolError> {
        let (asked, project) = (path(given)?, project(&self.context)?);
        let permit = self.context.permit.clone();
        blocking(&self.context, move |_| {
            let stat = project.stat(&asked).map_err(tool_error)?;
            permit.check(Access::Read, stat.path.as_str())?;
            Ok(json!({
                "path": stat.path,
                "kind": stat.kind,
                "size": stat.size,
                "modified": stat.identity.mtime_ns / 1_000_000,
            }))
        })
        .await
    }

    /// Makes a folder and those on the way to it: `{path, created}`.
    pub async fn make_folder(&self, given: &str) -> Result<Value, ToolError> {
        let (asked, project) = (path(given)?, project(&self.context)?);
        let permit = self.context.permit.clone();
        let mut keeping = Keeping::new(&self.context, self.noting())?;
        let _turn = self.turn().await?;
        let (real, created) = blocking(&self.context, move |_| {
            let place = project.resolve_new(&asked).map_err(tool_error)?;
            permit.check(Access::Write, place.path.as_str())?;
            let created = project
                .make_folder(&place.path, &mut keeping)
                .map_err(tool_error)?;
            Ok((place.path, created))
        })
        .await?;
        Ok(json!({"path": real, "created": created}))
    }

    /// Moves a file or folder to where nothing is: `{from, to}`. An undo can bring it back.
    pub async fn rename(&self, from: &str, to: &str) -> Result<Value, ToolError> {
        let (from, to, project) = (path(from)?, path(to)?, project(&self.context)?);
        let permit = self.context.permit.clone();
        let mut keeping = Keeping::new(&self.context, self.noting())?;
        let _turn = self.turn().await?;
        let (from, to, moved) = blocking(&self.context, move |cancel| {
            let gathered = project.gather(&from, cancel).map_err(tool_error)?;
            let destinations = project.destinations(&gathered, &to).map_err(tool_error)?;
            for path in gathered.paths().chain(&destinations) {
                permit.check(Access::Write, path.as_str())?;
            }
            let real = project
                .rename(&gathered, &to, &mut keeping, cancel)
                .map_err(tool_error)?;
            let moved: Vec<_> = gathered.paths().cloned().zip(destinations).collect();
            Ok((gathered.path().clone(), real, moved))
        })
        .await?;
        for (old, new) in moved {
            // The content is the same, so what the session knows of it still holds.
            if let Some(known) = self.context.seen.get(old.as_str()).await? {
                self.context.seen.note(new.as_str(), known);
                self.context.seen.note(old.as_str(), Value::Null);
            }
        }
        Ok(json!({"from": from, "to": to}))
    }

    /// Removes a file, or a folder; one with content only if `recursive`: `{path, removed}`. An undo can bring files back.
    pub async fn remove(&self, given: &str, recursive: bool) -> Result<Value, ToolError> {
        let (asked, project) = (path(given)?, project(&self.context)?);
        let (permit, tag) = (self.context.permit.clone(), self.context.rtc.to_string());
        let mut keeping = Keeping::new(&self.context, self.noting())?;
        let _turn = self.turn().await?;
        let gathered = blocking(&self.context, move |cancel| {
            let gathered = project.gather(&asked, cancel).map_err(tool_error)?;
            for path in gathered.paths() {
                permit.check(Access::Write, path.as_str())?;
            }
            if gathered.has_content() && !recursive {
                return Err(ToolError::invalid(format!(
                    "`{}` is a folder with something in it; `{{recursive: true}}` removes that as well",
                    gathered.path()
                )));
            }
            project
                .remove(&gathered, &tag, &mut keeping, cancel)
                .map_err(tool_error)?;
            Ok(gathered)
        })
        .await?;
        for path in gathered.paths() {
            self.context.seen.note(path.as_str(), Value::Null);
        }
        Ok(json!({"path": gathered.path(), "removed": gathered.paths().count()}))
    }
}

/// Some lines of a text.
struct Part {
    bytes: std::ops::Range<usize>,
    /// First and last, from 1; empty if the last is smaller.
    lines: (i64, i64),
    total: i64,
}

/// Where the wanted lines are; the error has the first wanted line and the number of lines there are.
fn part_of(text: &str, lines: Lines) -> Result<Part, (i64, u64)> {
    let starts: Vec<usize> = std::iter::once(0)
        .chain(text.match_indices('\n').map(|(at, _)| at + 1))
        .filter(|&start| start < text.len())
        .collect();
    let total = starts.len();
    let first = match lines.offset {
        None | Some(0) => 0,
        Some(offset) if offset < 0 => {
            total.saturating_sub(usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX))
        }
        Some(offset) => usize::try_from(offset - 1).unwrap_or(usize::MAX),
    };
    if first > 0 && first >= total {
        return Err((lines.offset.unwrap_or(1), total as u64));
    }
    let limit = usize::try_from(lines.limit.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    let last = first.saturating_add(limit).min(total);
    let at = |line: usize| starts.get(line).copied().unwrap_or(text.len());
    let number = |line: usize| i64::try_from(line).unwrap_or(i64::MAX);
    Ok(Part {
        bytes: at(first)..at(last).max(at(first)),
        lines: (number(first) + 1, number(last)),
        total: number(total),
    })
}

#[cfg(test)]
mod tests;
