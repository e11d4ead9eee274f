//! The steps that change files. A file is read before it is changed, so that the change meets what was seen.

use serde_json::{Value, json};

use super::super::history::{Failure, FailureKind};
use super::super::lines;
use super::super::place::{Needle, Place, is_file_name, virtual_path};
use super::super::plan::{Lines, Window};
use super::super::report::Report;
use super::super::results;
use super::target::FilesWith;
use super::{Halt, Run, path_argument, skipped, wants_a_read};

/// The files that a step changed with a count each, and those where it failed.
type Changes = (Vec<(String, u64)>, Vec<(String, Failure)>);

impl Run<'_> {
    pub(super) fn replace(&mut self, from: &str, to: &str, place: &Place) -> Result<Vec<Report>, Halt> {
        if from.is_empty() {
            return Ok(vec![Report::NoText]);
        }
        if from == to {
            return Ok(vec![Report::Same {
                text: from.to_owned(),
            }]);
        }
        let needle = Needle::literal(from.to_owned());
        let FilesWith { files, more, note } = self.files_with(&needle, place)?;
        if files.is_empty() {
            return Ok(vec![Report::Absent {
                needle,
                place: place.clone(),
                note,
            }]);
        }
        let (changed, failed) = self.change_each(files, |run, path| run.replace_in(path, from, to))?;
        let (from, to) = (from.to_owned(), to.to_owned());
        Ok(vec![Report::Replaced {
            from,
            to,
            changed,
            failed,
            more,
            note,
        }])
    }

    fn replace_in(&mut self, path: &str, from: &str, to: &str) -> Result<u64, Halt> {
        if !self.known.contains(path) {
            self.read_file(path, Window::Whole)?;
        }
        let edit = json!({ "path": path, "old_string": from, "new_string": to, "replace_all": true });
        let result = self.change(path, "edit", edit)?;
        Ok(results::field(&result, "replaced")
            .and_then(|count| count.parse().ok())
            .unwrap_or(1))
    }

    /// Makes a change; if the file has changed since it was read, reads it again and tries once more.
    fn change(&mut self, path: &str, tool: &'static str, arguments: Value) -> Result<String, Halt> {
        let result = match self.call(tool, arguments.clone()) {
            Err(Halt::Failed(failure)) if wants_a_read(&failure) => {
                self.read_completely(path)?;
                self.call(tool, arguments)
            }
            other => other,
        };
        if result.is_ok() {
            self.known.insert(path.to_owned());
        }
        result
    }

    /// Changes several files side by side. Those that fail are left alone by later steps.
    fn change_each(
        &mut self,
        files: Vec<String>,
        mut work: impl FnMut(&mut Self, &str) -> Result<u64, Halt>,
    ) -> Result<Changes, Halt> {
        let ended = self.each(files, |run, path| {
            if run.broken.contains(&path) {
                return Ok((path, Err(skipped())));
            }
            match work(run, &path) {
                Ok(count) => Ok((path, Ok(count))),
                Err(Halt::Failed(failure)) => {
                    run.broken.insert(path.clone());
                    Ok((path, Err(failure)))
                }
                Err(halt) => Err(halt),
            }
        })?;
        let (mut changed, mut failed) = (Vec::new(), Vec::new());
        for one in ended {
            match one? {
                (path, Ok(count)) => changed.push((path, count)),
                (path, Err(failure)) => failed.push((path, failure)),
            }
        }
        Ok((changed, failed))
    }

    pub(super) fn delete_lines(&mut self, which: &Lines, place: &Place) -> Result<Vec<Report>, Halt> {
        let needle = match which {
            Lines::Containing(text) | Lines::Equal(text) if text.trim().is_empty() => {
                return Ok(vec![Report::NoText]);
            }
            Lines::Containing(text) | Lines::Equal(text) => Some(Needle::literal(text.clone())),
            Lines::Empty => Some(Needle::regex(EMPTY_LINE)),
            Lines::Numbered(..) | Lines::Last(_) => None,
        };
        let (files, note) = match (&needle, place) {
            (Some(needle), place) => {
                let found = self.files_with(needle, place)?;
                (found.files, found.note)
            }
            (None, Place::Names(names)) if names.len() == 1 => (self.files_named(&names[0])?, None),
            (None, _) => return Ok(vec![Report::NoText]),
        };
        let absent = || match which {
            Lines::Containing(text) | Lines::Equal(text) => Some(Report::Absent {
                needle: Needle::literal(text.clone()),
                place: place.clone(),
                note: note.clone(),
            }),
            Lines::Empty => Some(Report::NoEmptyLine {
                place: place.clone(),
                note: note.clone(),
            }),
            Lines::Numbered(..) | Lines::Last(_) => None,
        };
        if files.is_empty()
            && let Some(absent) = absent()
        {
            return Ok(vec![absent]);
        }
        let mut short = None;
        let (changed, failed) = self.change_each(files, |run, path| {
            let Some(content) = run.read_completely(path)? else {
                return Err(Halt::Failed(Failure {
                    kind: FailureKind::Error,
                    reason: TOO_LONG.to_owned(),
                }));
            };
            let gone = indexes(which, &content);
            if gone.is_empty() {
                short = Some((path.to_owned(), content.len() as u64));
                return Ok(0);
            }
            run.remove_lines(path, &content, &gone)?;
            Ok(gone.len() as u64)
        })?;
        let changed: Vec<_> = changed.into_iter().filter(|(_, count)| *count > 0).collect();
        let nothing = changed.is_empty() && failed.is_empty();
        Ok(vec![match (short, absent()) {
            (Some((path, lines)), None) => Report::NoSuchLine { path, lines },
            (Some(_), Some(absent)) if nothing => absent,
            _ => Report::LinesDeleted {
                changed,
                failed,
                note,
            },
        }])
    }

    fn remove_lines(&mut self, path: &str, content: &[String], gone: &[usize]) -> Result<(), Halt> {
        if gone.len() == content.len() {
            self.change(
                path,
                "write",
                json!({ "path": path, "content": "", "mode": "overwrite" }),
            )?;
            return Ok(());
        }
        let Some(edits) = lines::remove(content, gone) else {
            let reason = "the lines cannot be singled out exactly".to_owned();
            return Err(Halt::Failed(Failure {
                kind: FailureKind::Error,
                reason,
            }));
        };
        let edits = edits.into_iter().map(
            |(old, new)| json!({ "path": path, "old_string": old, "new_string": new, "replace_all": false }),
        );
        for edited in self.each(edits, |run, edit| run.change(path, "edit", edit))? {
            edited?;
        }
        Ok(())
    }

    pub(super) fn write(&mut self, name: &str, content: &str, overwrite: bool) -> Result<Vec<Report>, Halt> {
        let path = virtual_path(name);
        if path == "/" || name.ends_with('/') {
            return Ok(vec![Report::IsFolder { path }]);
        }
        if self.broken.contains(&path) {
            return Err(Halt::Failed(skipped()));
        }
        let (parent, last) = path.rsplit_once('/').unwrap_or(("", &path));
        let parent = if parent.is_empty() { "/" } else { parent };
        let entries = match self.call("ls", path_argument(parent)) {
            Ok(text) => results::entries(&text),
            // A folder that is not there yet: the write tool makes it.
            Err(Halt::Failed(failure)) if failure.kind == FailureKind::Error => Vec::new(),
            Err(halt) => return Err(halt),
        };
        if entries.iter().any(|entry| entry.strip_suffix('/') == Some(last)) {
            return Ok(vec![Report::IsFolder { path }]);
        }
        let link = format!("{last} -> ");
        let exists = entries
            .iter()
            .any(|entry| entry == last || entry.starts_with(&link));
        if exists && !overwrite {
            self.broken.insert(path.clone());
            return Ok(vec![Report::Exists { path }]);
        }
        let mode = if exists { "overwrite" } else { "create-new" };
        if exists {
            self.read_completely(&path)?;
        }
        let arguments = json!({ "path": path, "content": content, "mode": mode });
        self.change(&path, "write", arguments)
            .inspect_err(|halt| self.note_broken(&path, halt))?;
        Ok(vec![Report::Wrote {
            created: !exists,
            characters: content.chars().count(),
            path,
        }])
    }

    /// Runs a script. Afterwards files may be other than they were read.
    pub(super) fn script(&mut self, arguments: Value) -> Result<Vec<Report>, Halt> {
        let told = self.call("script", arguments)?;
        self.known.clear();
        let lines = told.lines().filter(|line| !line.starts_with("duration_ms:"));
        Ok(vec![Report::Ran {
            result: lines.map(str::to_owned).collect(),
        }])
    }

    pub(super) fn append(&mut self, name: &str, line: &str) -> Result<Vec<Report>, Halt> {
        let path = virtual_path(name);
        if self.broken.contains(&path) {
            return Err(Halt::Failed(skipped()));
        }
        let is_path = name.contains('/');
        if !is_path && !is_file_name(name) {
            let files = self.files_named(name)?;
            return self.append_each(files, line);
        }
        let content = match self.read_completely(&path) {
            Ok(content) => content,
            Err(Halt::Failed(failure)) if failure.kind == FailureKind::Error => {
                let others = if is_path {
                    Vec::new()
                } else {
                    self.elsewhere(name)?
                };
                if others.contains(&path) {
                    return Err(Halt::Failed(failure));
                }
                if !others.is_empty() {
                    return self.append_each(others, line);
                }
                self.append_to(&path, None, line)?;
                return Ok(vec![Report::Appended { path, created: true }]);
            }
            Err(halt) => return Err(halt),
        };
        self.append_to(&path, content, line)?;
        Ok(vec![Report::Appended { path, created: false }])
    }

    fn append_each(&mut self, files: Vec<String>, line: &str) -> Result<Vec<Report>, Halt> {
        let ended = self.each(files, |run, path| {
            let content = run.read_completely(&path)?;
            run.append_to(&path, content, line)?;
            Ok(Report::Appended { path, created: false })
        })?;
        ended.into_iter().collect()
    }

    /// Adds a line behind the last one; the content is the file's, if it is there and could be read completely.
    fn append_to(&mut self, path: &str, content: Option<Vec<String>>, line: &str) -> Result<(), Halt> {
        let (tool, arguments) = match content.and_then(|lines| lines::append(&lines, line)) {
            Some((old, new)) => (
                "edit",
                json!({ "path": path, "old_string": old, "new_string": new, "replace_all": false }),
            ),
            None => (
                "write",
                json!({ "path": path, "content": format!("{line}\n"), "mode": "append" }),
            ),
        };
        self.change(path, tool, arguments)
            .inspect_err(|halt| self.note_broken(path, halt))?;
        Ok(())
    }

    fn note_broken(&mut self, path: &str, halt: &Halt) {
        if matches!(halt, Halt::Failed(_)) {
            self.broken.insert(path.to_owned());
        }
    }

    /// Files of this name in other folders; none is fine.
    fn elsewhere(&mut self, name: &str) -> Result<Vec<String>, Halt> {
        match self.located(name) {
            Ok(targets) => Ok(targets
                .into_iter()
                .filter(|target| !target.folder)
                .map(|target| target.path)
                .collect()),
            Err(Halt::Stop(report)) if matches!(*report, Report::NoSuchName { .. }) => Ok(Vec::new()),
            Err(halt) => Err(halt),
        }
    }

    /// The files that a name stands for.
    fn files_named(&mut self, name: &str) -> Result<Vec<String>, Halt> {
        let targets = self.targets(name)?;
        match targets.iter().find(|target| target.folder) {
            Some(folder) => Err(Halt::stop(Report::IsFolder {
                path: folder.path.clone(),
            })),
            None => Ok(targets.into_iter().map(|target| target.path).collect()),
        }
    }
}

/// The regular expression of a line with nothing but blanks in it.
const EMPTY_LINE: &str = r"^[ \t\r]*$";

/// Why lines of a very long file are not touched.
const TOO_LONG: &str = "the file is too long to be read completely";

fn indexes(which: &Lines, content: &[String]) -> Vec<usize> {
    let wanted = |(index, line): (usize, &String)| {
        let number = index as u64 + 1;
        let wanted = match which {
            Lines::Containing(text) => line.contains(text.as_str()),
            Lines::Equal(text) => line.trim() == text.trim(),
            Lines::Empty => line.trim().is_empty(),
            Lines::Numbered(first, last) => (*first..=*last).contains(&number),
            Lines::Last(count) => number + count > content.len() as u64,
        };
        wanted.then_some(index)
    };
    content.iter().enumerate().filter_map(wanted).collect()
}
