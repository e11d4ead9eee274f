//! The steps that only look.

use serde_json::{Value, json};

use super::super::history::FailureKind;
use super::super::place::{Needle, Place, is_file_name, virtual_path};
use super::super::plan::{Step, Window};
use super::super::report::Report;
use super::super::results::{self, Document};
use super::target::{FilesWith, Scope, Target};
use super::{Halt, Run, arguments, path_argument};

/// The most files that one step reads.
const MAX_READ: usize = 10;

/// The most parts in which a file is read completely.
const MAX_PARTS: usize = 20;

impl Run<'_> {
    pub(super) fn list(&mut self, place: &Place, step: &Step) -> Result<Vec<Report>, Halt> {
        match place {
            Place::Folder(path) => Ok(vec![self.list_folder(path)?]),
            Place::Names(names) => self.open_names(names, Window::Whole, step, true),
            Place::Everywhere | Place::Glob { .. } | Place::Matching(..) => Ok(vec![self.list_folder("/")?]),
        }
    }

    pub(super) fn read(&mut self, place: &Place, window: Window, step: &Step) -> Result<Vec<Report>, Halt> {
        match place {
            Place::Names(names) => self.open_names(names, window, step, false),
            Place::Everywhere => Ok(vec![self.list_folder("/")?]),
            Place::Folder(path) => Ok(vec![self.list_folder(path)?]),
            Place::Glob { glob, folder } => {
                let text = self.find_text(glob, folder.as_deref())?;
                let found = results::paths(&text).into_iter();
                let files: Vec<String> = found.filter(|path| !path.ends_with('/')).collect();
                if files.is_empty() {
                    let (pattern, folder) = (glob.clone(), folder.clone());
                    return Ok(vec![Report::Found {
                        pattern,
                        folder,
                        paths: files,
                        note: results::left_out(&text),
                    }]);
                }
                self.read_files(files, window, step)
            }
            Place::Matching(needle, place) => {
                let FilesWith { files, note, .. } = self.files_with(needle, place)?;
                if files.is_empty() {
                    return Ok(vec![Report::Absent {
                        needle: needle.clone(),
                        place: (**place).clone(),
                        note,
                    }]);
                }
                self.read_files(files, window, step)
            }
        }
    }

    fn read_files(&mut self, files: Vec<String>, window: Window, step: &Step) -> Result<Vec<Report>, Halt> {
        let of = files.len();
        let read = of.min(MAX_READ);
        let ended = self.each(files.into_iter().take(read), |run, path| {
            run.read_file(&path, window)
        })?;
        let mut reports = told(ended.into_iter().map(|one| one.map(|report| vec![report])), step);
        if read < of {
            reports.push(Report::OnlyRead { read, of });
        }
        Ok(reports)
    }

    fn open_names(
        &mut self,
        names: &[String],
        window: Window,
        step: &Step,
        folders: bool,
    ) -> Result<Vec<Report>, Halt> {
        let ended = self.each(names, |run, name| run.open_name(name, window, folders))?;
        Ok(told(ended, step))
    }

    /// Opens what the name says; if that is not there, looks for the name elsewhere.
    fn open_name(&mut self, name: &str, window: Window, folder: bool) -> Result<Vec<Report>, Halt> {
        let path = virtual_path(name);
        let is_path = name.trim_end_matches('/').contains('/');
        let folder = folder || name.ends_with('/');
        let mut first = None;
        if folder || is_path || is_file_name(name) {
            let target = Target {
                path: path.clone(),
                folder,
            };
            match self.open(&target, window) {
                Err(Halt::Failed(failure)) if failure.kind == FailureKind::Error && !is_path => {
                    first = Some(failure);
                }
                other => return other.map(|report| vec![report]),
            }
        }
        let targets = match (self.targets(name), first) {
            (Ok(targets), Some(failure)) if targets.iter().any(|target| target.path == path) => {
                let same_kind = targets
                    .iter()
                    .any(|target| target.path == path && target.folder == folder);
                if same_kind {
                    return Err(Halt::Failed(failure));
                }
                targets
            }
            (Ok(targets), _) => targets,
            (Err(Halt::NotOffered(_)), Some(failure)) => return Err(Halt::Failed(failure)),
            (Err(halt), _) => return Err(halt),
        };
        let mut reports = Vec::new();
        for opened in self.each(targets, |run, target| run.open(&target, window))? {
            reports.push(opened?);
        }
        Ok(reports)
    }

    fn open(&mut self, target: &Target, window: Window) -> Result<Report, Halt> {
        if target.folder {
            self.list_folder(&target.path)
        } else {
            self.read_file(&target.path, window)
        }
    }

    fn list_folder(&mut self, path: &str) -> Result<Report, Halt> {
        let text = self.call("ls", path_argument(path))?;
        let (entries, note) = (results::entries(&text), results::note(&text));
        Ok(Report::Listed {
            path: path.to_owned(),
            entries,
            note,
        })
    }

    pub(super) fn read_file(&mut self, path: &str, window: Window) -> Result<Report, Halt> {
        let text = self.call("read", read_arguments(path, window))?;
        self.known.insert(path.to_owned());
        let Document { lines, notes } = Document::parse(&text);
        Ok(Report::Text {
            path: path.to_owned(),
            lines,
            notes,
        })
    }

    /// All lines of a file, or `None` if it is too long to be read completely.
    pub(super) fn read_completely(&mut self, path: &str) -> Result<Option<Vec<String>>, Halt> {
        let mut lines = Vec::new();
        for part in 0..MAX_PARTS {
            let window = if part == 0 {
                path_argument(path)
            } else {
                json!({ "path": path, "offset": lines.len() + 1 })
            };
            let document = Document::parse(&self.call("read", window)?);
            self.known.insert(path.to_owned());
            let grown = !document.lines.is_empty();
            lines.extend(document.lines.iter().cloned());
            if !grown || !document.goes_on_at(lines.len() + 1) {
                return Ok(Some(lines));
            }
        }
        Ok(None)
    }

    pub(super) fn find_step(
        &mut self,
        pattern: &str,
        folder: Option<&str>,
        count: bool,
    ) -> Result<Vec<Report>, Halt> {
        let text = self.find_text(pattern, folder)?;
        let (paths, note) = (results::paths(&text), results::note(&text));
        let (pattern, folder) = (pattern.to_owned(), folder.map(str::to_owned));
        if count {
            let count = paths.iter().filter(|path| !path.ends_with('/')).count();
            return Ok(vec![Report::FoundCount {
                pattern,
                folder,
                count,
                at_least: note.is_some(),
                note: results::left_out(&text),
            }]);
        }
        Ok(vec![Report::Found {
            pattern,
            folder,
            paths,
            note,
        }])
    }

    pub(super) fn look(&mut self, word: &str) -> Result<Vec<Report>, Halt> {
        let needle = Needle::literal(word.to_owned());
        let ended = self.each([true, false], |run, by_name| {
            if by_name {
                run.find_step(&format!("*{word}*"), None, false)
            } else {
                run.search(&needle, &Place::Everywhere, false)
            }
        })?;
        let mut reports = Vec::new();
        for one in ended {
            reports.extend(one?);
        }
        Ok(reports)
    }

    pub(super) fn search(
        &mut self,
        needle: &Needle,
        place: &Place,
        files_only: bool,
    ) -> Result<Vec<Report>, Halt> {
        let (needle, place) = (needle.clone(), place.clone());
        if files_only {
            let FilesWith { files, note, .. } = self.files_with(&needle, &place)?;
            return Ok(vec![Report::Files {
                needle,
                place,
                files,
                note,
            }]);
        }
        let scopes = self.scopes(&place)?;
        let (mut matches, mut note) = (Vec::new(), None);
        for found in self.each(scopes, |run, scope: Scope| {
            run.grep(&needle, &scope, "content", None)
        })? {
            let text = found?;
            matches.extend(results::matches(&text));
            results::add_notes(&mut note, results::note(&text));
        }
        Ok(vec![Report::Matches {
            needle,
            place,
            matches,
            note,
        }])
    }

    pub(super) fn count(&mut self, needle: &Needle, place: &Place) -> Result<Vec<Report>, Halt> {
        let scopes = self.scopes(place)?;
        let (mut total, mut files, mut at_least, mut note) = (0, 0, false, None);
        for found in self.each(scopes, |run, scope: Scope| {
            run.grep(needle, &scope, "count", None)
        })? {
            let text = found?;
            let (one_total, one_files, one_at_least) = results::total(&text);
            results::add_notes(&mut note, results::left_out(&text));
            total += one_total;
            files += one_files;
            at_least |= one_at_least;
        }
        let (needle, place) = (needle.clone(), place.clone());
        Ok(vec![Report::Counted {
            needle,
            place,
            total,
            files,
            at_least,
            note,
        }])
    }
}

/// The reports of branches that stand beside each other: each that failed says so for itself.
fn told(branches: impl IntoIterator<Item = Result<Vec<Report>, Halt>>, step: &Step) -> Vec<Report> {
    let told = branches.into_iter().flat_map(|branch| match branch {
        Ok(reports) => reports,
        Err(Halt::Stop(report)) => vec![*report],
        Err(Halt::Failed(failure)) => vec![Report::Failed {
            step: step.clone(),
            failure,
        }],
        Err(Halt::NotOffered(tool)) => vec![Report::NotOffered {
            step: step.clone(),
            tool,
        }],
        Err(Halt::Waiting) => Vec::new(),
    });
    told.collect()
}

fn read_arguments(path: &str, window: Window) -> Value {
    match window {
        Window::Whole => path_argument(path),
        Window::Range(first, count) => arguments([
            ("path", Some(path.into())),
            ("offset", Some(first.into())),
            ("limit", Some(count.into())),
        ]),
        Window::Last(count) => {
            let offset = -i64::try_from(count).unwrap_or(i64::MAX);
            arguments([("path", Some(path.into())), ("offset", Some(offset.into()))])
        }
    }
}
