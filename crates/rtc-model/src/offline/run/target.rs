//! Finds out which files the user means.

use serde_json::{Value, json};

use super::super::place::{Needle, Place, is_file_name, virtual_path};
use super::super::report::Report;
use super::super::results;
use super::super::speech;
use super::{Halt, Run, arguments, path_argument};

/// The most files that one step works on.
pub(super) const MAX_FILES: usize = 1_000;

/// How many files one search call lists; the next call goes on behind them.
const PAGE: usize = 200;

/// The most candidates that a question offers by name, beside the offer to take all.
const MAX_OFFERED: usize = 3;

/// A file or folder that a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) path: String,
    pub(super) folder: bool,
}

impl Target {
    fn new(path: &str) -> Target {
        let folder = path.ends_with('/') && path != "/";
        Target {
            path: if folder {
                path.trim_end_matches('/').to_owned()
            } else {
                path.to_owned()
            },
            folder,
        }
    }
}

/// Where one search call looks.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    pub(super) path: Option<String>,
    pub(super) glob: Option<String>,
}

/// Files in which a text occurs.
pub(super) struct FilesWith {
    pub(super) files: Vec<String>,
    /// Whether there are more than [`MAX_FILES`].
    pub(super) more: bool,
    /// What the tools said that they left out.
    pub(super) note: Option<String>,
}

impl Run<'_> {
    /// Where to search for a place.
    pub(super) fn scopes(&mut self, place: &Place) -> Result<Vec<Scope>, Halt> {
        let below = |path: &String| (path != "/").then(|| path.clone());
        let scope = match place {
            Place::Everywhere => Scope::default(),
            Place::Folder(path) => Scope {
                path: below(path),
                glob: None,
            },
            Place::Glob { glob, folder } => Scope {
                path: folder.as_ref().and_then(below),
                glob: Some(glob.clone()),
            },
            Place::Names(names) => {
                let mut scopes = Vec::new();
                for targets in self.each(names, |run, name| run.targets(name))? {
                    scopes.extend(targets?.into_iter().map(|target| Scope {
                        path: Some(target.path),
                        glob: None,
                    }));
                }
                return Ok(scopes);
            }
            Place::Matching(needle, place) => {
                return Ok(self
                    .files_with(needle, place)?
                    .files
                    .into_iter()
                    .map(|path| Scope {
                        path: Some(path),
                        glob: None,
                    })
                    .collect());
            }
        };
        Ok(vec![scope])
    }

    /// What a name stands for: a path as it is, a mere name wherever it is found.
    pub(super) fn targets(&mut self, name: &str) -> Result<Vec<Target>, Halt> {
        if let Some(targets) = self.meant.get(name) {
            return Ok(targets.clone());
        }
        let targets = if name.trim_end_matches('/').contains('/') || name.ends_with('/') {
            let folder = if name.ends_with('/') { "/" } else { "" };
            vec![Target::new(&format!("{}{folder}", virtual_path(name)))]
        } else {
            match self.located(name) {
                Ok(targets) => targets,
                // Hidden and ignored files are not found by name; the tool itself tells whether they are there.
                Err(Halt::Stop(report))
                    if is_file_name(name) && matches!(*report, Report::NoSuchName { .. }) =>
                {
                    vec![Target::new(&virtual_path(name))]
                }
                Err(Halt::NotOffered(_)) if is_file_name(name) => vec![Target::new(&virtual_path(name))],
                Err(Halt::Stop(report)) if matches!(*report, Report::NoSuchName { .. }) => {
                    match self.hidden(name)? {
                        Some(target) => vec![target],
                        None => return Err(Halt::Stop(report)),
                    }
                }
                Err(halt) => return Err(halt),
            }
        };
        self.meant.insert(name.to_owned(), targets.clone());
        Ok(targets)
    }

    /// What is at the top under a name that no search finds: hidden, ignored, or a link that leads nowhere or outside,
    /// of which the tool itself says what it is.
    fn hidden(&mut self, name: &str) -> Result<Option<Target>, Halt> {
        let path = virtual_path(name);
        match self.call("read", path_argument(&path)) {
            Ok(_) => Ok(Some(Target::new(&path))),
            Err(Halt::Failed(failure)) if failure.reason.contains("; the nearest ") => Ok(None),
            Err(Halt::NotOffered(_)) => Ok(None),
            Err(halt) => Err(halt),
        }
    }

    /// Looks for a mere name everywhere, and asks the user if several files fit equally well.
    pub(super) fn located(&mut self, name: &str) -> Result<Vec<Target>, Halt> {
        let exact = is_file_name(name);
        let rest = if exact { "" } else { "*" };
        let mut text = self.find_text(&format!("{}{rest}", literal(name)), None)?;
        if results::paths(&text).is_empty() && any_case(name) != literal(name) {
            text = self.find_text(&format!("{}{rest}", any_case(name)), None)?;
        }
        let found = results::paths(&text);
        if found.is_empty() {
            return Err(Halt::stop(Report::NoSuchName {
                name: name.to_owned(),
                note: results::left_out(&text),
            }));
        }
        let targets: Vec<Target> = found.iter().map(|path| Target::new(path)).collect();
        let same = |target: &&Target| target.path.rsplit('/').next() == Some(name);
        let top = virtual_path(name);
        if let Some(target) = targets.iter().find(|target| target.path == top) {
            return Ok(vec![target.clone()]);
        }
        let same: Vec<Target> = targets.iter().filter(same).cloned().collect();
        let candidates = if same.is_empty() { targets } else { same };
        match candidates.as_slice() {
            [_] => Ok(candidates),
            _ => self.ask_which(name, candidates),
        }
    }

    /// The find tool's answer.
    pub(super) fn find_text(&mut self, pattern: &str, folder: Option<&str>) -> Result<String, Halt> {
        let folder = folder.filter(|folder| *folder != "/").map(Value::from);
        self.call(
            "find",
            arguments([("pattern", Some(pattern.into())), ("path", folder)]),
        )
    }

    fn ask_which(&mut self, name: &str, candidates: Vec<Target>) -> Result<Vec<Target>, Halt> {
        let paths: Vec<String> = candidates.iter().map(|target| target.path.clone()).collect();
        let words = speech::question(self.language, name, paths.len());
        let mut options: Vec<Value> = paths
            .iter()
            .take(MAX_OFFERED)
            .map(|path| json!({ "label": path, "description": words.only }))
            .collect();
        options.push(json!({ "label": words.all, "description": words.all_of_them }));
        let question = json!({
            "questions": [{ "question": words.question, "header": words.header, "options": options }]
        });
        let reply = match self.call("askUser", question) {
            Ok(reply) => reply,
            Err(Halt::NotOffered(_)) => {
                return Err(Halt::stop(Report::Ambiguous {
                    name: name.to_owned(),
                    candidates: paths,
                }));
            }
            Err(halt) => return Err(halt),
        };
        let answer = results::answer(&reply, &words.question);
        if answer.contains(&words.all) {
            return Ok(candidates);
        }
        // The longest candidate wins: one path may be the beginning of another.
        let chosen = candidates.iter().filter(|target| answer.contains(&target.path));
        let chosen = chosen.max_by_key(|target| target.path.len());
        let named = || {
            let mut ending = candidates
                .iter()
                .filter(|target| !answer.is_empty() && target.path.ends_with(answer));
            ending.next().filter(|_| ending.next().is_none())
        };
        match chosen.or_else(named) {
            Some(target) => Ok(vec![target.clone()]),
            None => Err(Halt::stop(Report::Unanswered {
                name: name.to_owned(),
                answer: answer.to_owned(),
            })),
        }
    }

    /// The files of a place in which a text occurs.
    pub(super) fn files_with(&mut self, needle: &Needle, place: &Place) -> Result<FilesWith, Halt> {
        // The files with a text, among the files with the same text.
        let place = match place {
            Place::Matching(same, place) if same == needle => place,
            place => place,
        };
        let scopes = self.scopes(place)?;
        let (mut files, mut note) = (Vec::new(), None);
        for found in self.each(scopes, |run, scope| run.files_in(needle, &scope))? {
            let (found, left_out) = found?;
            results::add_notes(&mut note, left_out);
            for file in found {
                if !files.contains(&file) {
                    files.push(file);
                }
            }
        }
        let more = files.len() > MAX_FILES;
        files.truncate(MAX_FILES);
        Ok(FilesWith { files, more, note })
    }

    fn files_in(&mut self, needle: &Needle, scope: &Scope) -> Result<(Vec<String>, Option<String>), Halt> {
        let mut files: Vec<String> = Vec::new();
        loop {
            let text = self.grep(needle, scope, "files_with_matches", Some((PAGE, files.len())))?;
            let page = results::paths(&text);
            let complete = page.len() < PAGE;
            files.extend(page);
            if complete || files.len() > MAX_FILES {
                return Ok((files, results::left_out(&text)));
            }
        }
    }

    /// One call of the search tool; `page` is how many results to give and how many to pass over.
    pub(super) fn grep(
        &mut self,
        needle: &Needle,
        scope: &Scope,
        mode: &str,
        page: Option<(usize, usize)>,
    ) -> Result<String, Halt> {
        let arguments = arguments([
            ("pattern", Some(needle.pattern().into())),
            ("path", scope.path.clone().map(Value::from)),
            ("glob", scope.glob.clone().map(Value::from)),
            ("output_mode", Some(mode.into())),
            ("case_sensitive", needle.ignore_case.then(|| false.into())),
            ("multiline", needle.text.contains('\n').then(|| true.into())),
            ("head_limit", page.map(|(limit, _)| limit.into())),
            (
                "offset",
                page.filter(|(_, from)| *from > 0).map(|(_, from)| from.into()),
            ),
        ]);
        self.call("grep", arguments)
    }
}

/// A glob that matches exactly this name.
fn literal(name: &str) -> String {
    name.chars().fold(String::new(), |mut glob, character| {
        match character {
            '[' | ']' | '{' | '}' | '*' | '?' => {
                glob.push('[');
                glob.push(character);
                glob.push(']');
            }
            character => glob.push(character),
        }
        glob
    })
}

/// A glob that matches this name in upper and lower case.
fn any_case(name: &str) -> String {
    name.chars().fold(String::new(), |mut glob, character| {
        if character.is_ascii_alphabetic() {
            glob.push('[');
            glob.push(character.to_ascii_lowercase());
            glob.push(character.to_ascii_uppercase());
            glob.push(']');
        } else {
            glob.push_str(&literal(character.encode_utf8(&mut [0; 4])));
        }
        glob
    })
}
