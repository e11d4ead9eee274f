//! A project folder in memory with tools that answer as the built-in ones do.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use globset::GlobBuilder;
use regex::RegexBuilder;
use serde_json::Value;

use crate::phrasings::FILES;
use crate::template::fill;

/// The tools of this folder.
pub(crate) const TOOLS: [&str; 8] = ["ls", "read", "write", "edit", "grep", "find", "askUser", "script"];

/// A project folder in memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Folder {
    /// The files: path and text.
    pub(crate) files: BTreeMap<String, String>,
    /// What the user answers to the next questions; `None` dismisses a question.
    pub(crate) answers: VecDeque<Option<String>>,
    /// What the next scripts give.
    pub(crate) scripts: VecDeque<String>,
    /// Calls that fail: tool, path and the text that the model reads.
    pub(crate) failing: Vec<(&'static str, String, String)>,
    /// What tools answer whatever they are asked.
    pub(crate) fixed: Vec<(&'static str, String)>,
    /// The content of each file as the session knows it.
    known: BTreeMap<String, String>,
}

/// A template of the table with the words that stand in it.
pub(crate) fn plain(template: &str) -> String {
    fill(template, str::to_owned)
}

type Answer = Result<String, String>;

impl Folder {
    /// A folder with these files.
    pub(crate) fn new(files: &[(&str, &str)]) -> Folder {
        let files = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect();
        Folder {
            files,
            ..Folder::default()
        }
    }

    /// The folder of the table.
    pub(crate) fn of_table() -> Folder {
        let files = FILES.iter().map(|(path, text)| (plain(path), plain(text)));
        Folder {
            files: files.collect(),
            ..Folder::default()
        }
    }

    /// Makes a call; gives what the model reads, and whether it is an error.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> (String, bool) {
        let path = text(arguments, "path").unwrap_or("/").to_owned();
        if let Some((.., answer)) = self
            .failing
            .iter()
            .find(|(failing, at, _)| *failing == tool && (*at == path || at == "*"))
        {
            return (answer.clone(), true);
        }
        if let Some((_, answer)) = self.fixed.iter().find(|(fixed, _)| *fixed == tool) {
            return (answer.clone(), false);
        }
        let answer = match tool {
            "ls" => self.ls(&path),
            "read" => self.read(&path, arguments),
            "write" => self.write(&path, arguments),
            "edit" => self.edit(&path, arguments),
            "grep" => self.grep(&path, arguments),
            "find" => self.find(&path, arguments),
            "askUser" => self.ask(arguments),
            "script" => Ok(self.scripts.pop_front().unwrap_or_default()),
            other => panic!("{other} is not offered"),
        };
        match answer {
            Ok(text) => (text, false),
            Err(reason) if reason.starts_with('[') => (reason, true),
            Err(reason) => (format!("[Tool Error] {tool} failed: {reason}"), true),
        }
    }

    fn folders(&self) -> BTreeSet<String> {
        let mut folders = BTreeSet::from(["/".to_owned()]);
        for path in self.files.keys() {
            for (at, _) in path.match_indices('/').skip(1) {
                folders.insert(path[..at].to_owned());
            }
        }
        folders
    }

    fn ls(&self, path: &str) -> Answer {
        if !self.folders().contains(path) {
            return Err(format!("no folder {path}; the nearest that exists is /"));
        }
        let below = if path == "/" {
            "/".to_owned()
        } else {
            format!("{path}/")
        };
        let mut entries = BTreeSet::new();
        for rest in self.files.keys().filter_map(|file| file.strip_prefix(&below)) {
            entries.insert(match rest.split_once('/') {
                Some((folder, _)) => format!("{folder}/"),
                None => rest.to_owned(),
            });
        }
        Ok(entries.into_iter().collect::<Vec<_>>().join("\n"))
    }

    fn read(&mut self, path: &str, arguments: &Value) -> Answer {
        let Some(content) = self.files.get(path) else {
            return Err(format!(
                "`{path}` does not exist; the nearest folder that does is `/`"
            ));
        };
        self.known.insert(path.to_owned(), content.clone());
        let lines: Vec<&str> = content.lines().collect();
        if lines.is_empty() {
            return Ok("The file is empty".to_owned());
        }
        let offset = arguments.get("offset").and_then(Value::as_i64).unwrap_or(1);
        let limit = arguments.get("limit").and_then(Value::as_u64).unwrap_or(2_000);
        let first = if offset < 0 {
            (lines.len() as i64 + offset).max(0)
        } else {
            offset.max(1) - 1
        } as usize;
        let last = lines.len().min(first + usize::try_from(limit).expect("small"));
        let numbered = lines.iter().enumerate().take(last).skip(first);
        let mut text: Vec<String> = numbered
            .map(|(index, line)| format!("{:>6}\t{line}", index + 1))
            .collect();
        if last < lines.len() {
            text.push(format!(
                "[the file has {} lines; go on with offset={}]",
                lines.len(),
                last + 1
            ));
        }
        Ok(text.join("\n"))
    }

    fn fresh(&self, path: &str) -> Result<(), String> {
        match (self.files.get(path), self.known.get(path)) {
            (Some(_), None) => Err(format!(
                "`{path}` has not been read yet in this session; read it first"
            )),
            (Some(now), Some(known)) if now != known => Err(format!(
                "`{path}` has changed since this session read it; read it again"
            )),
            _ => Ok(()),
        }
    }

    fn put(&mut self, path: &str, content: String) {
        self.known.insert(path.to_owned(), content.clone());
        self.files.insert(path.to_owned(), content);
    }

    fn write(&mut self, path: &str, arguments: &Value) -> Answer {
        let content = text(arguments, "content").ok_or("content is missing")?;
        let exists = self.files.contains_key(path);
        let content = match text(arguments, "mode").unwrap_or("overwrite") {
            "create-new" if exists => return Err(format!("{path} exists already")),
            "append" => self.files.get(path).cloned().unwrap_or_default() + content,
            _ => {
                self.fresh(path)?;
                content.to_owned()
            }
        };
        let bytes = content.len();
        self.put(path, content);
        Ok(format!(
            "path: {path}\nbytes: {bytes}\ncreated: {}\nencoding: utf-8",
            !exists
        ))
    }

    fn edit(&mut self, path: &str, arguments: &Value) -> Answer {
        let old = text(arguments, "old_string").ok_or("old_string is missing")?;
        let new = text(arguments, "new_string").ok_or("new_string is missing")?;
        let all = arguments
            .get("replace_all")
            .and_then(Value::as_bool)
            .unwrap_or(false);
        let content = self.files.get(path).cloned().ok_or(format!("no file {path}"))?;
        self.fresh(path)?;
        let count = content.matches(old).count();
        if count == 0 || old.is_empty() || old == new {
            return Err(format!("old_string does not occur in {path}"));
        }
        if count > 1 && !all {
            return Err(format!("old_string occurs {count} times in {path}"));
        }
        self.put(path, content.replace(old, new));
        Ok(format!("path: {path}\nreplaced: {count}\ndiff:\n-{old}\n+{new}"))
    }

    fn grep(&self, path: &str, arguments: &Value) -> Answer {
        let pattern = text(arguments, "pattern").ok_or("pattern is missing")?;
        let sensitive = arguments
            .get("case_sensitive")
            .and_then(Value::as_bool)
            .unwrap_or(true);
        let pattern = RegexBuilder::new(pattern)
            .case_insensitive(!sensitive)
            .multi_line(true)
            .build();
        let pattern = pattern.map_err(|error| error.to_string())?;
        if !self.files.contains_key(path) && !self.folders().contains(path) {
            return Err(format!("no file or folder {path}"));
        }
        let glob = text(arguments, "glob");
        let mut files = Vec::new();
        for (file, content) in &self.files {
            let Some(below) = below(file, path) else { continue };
            if glob.is_none_or(|glob| fits(glob, file, below))
                && pattern.is_match(content.strip_suffix('\n').unwrap_or(content))
            {
                files.push((file, content));
            }
        }
        let offset = arguments.get("offset").and_then(Value::as_u64).unwrap_or(0);
        let limit = arguments.get("head_limit").and_then(Value::as_u64).unwrap_or(250);
        let page = files.iter().skip(usize::try_from(offset).expect("small"));
        let page: Vec<_> = page.take(usize::try_from(limit).expect("small")).collect();
        Ok(match text(arguments, "output_mode").unwrap_or("content") {
            "files_with_matches" if files.is_empty() => "No files found".to_owned(),
            "files_with_matches" => {
                let paths: Vec<_> = page.iter().map(|(file, _)| file.as_str()).collect();
                format!("Found {} file(s)\n{}", files.len(), paths.join("\n"))
            }
            "count" if files.is_empty() => "No matches found".to_owned(),
            "count" => {
                let count = |content: &str| pattern.find_iter(content).count();
                let lines: Vec<_> = page
                    .iter()
                    .map(|(file, content)| format!("{file}:{}", count(content)))
                    .collect();
                let total: usize = files.iter().map(|(_, content)| count(content)).sum();
                let of = files.len();
                format!(
                    "{}\n\nFound {total} total occurrence(s) across {of} file(s)",
                    lines.join("\n")
                )
            }
            _ if files.is_empty() => "No matches found".to_owned(),
            _ => {
                let mut lines = Vec::new();
                for (file, content) in files {
                    for (index, line) in content
                        .lines()
                        .enumerate()
                        .filter(|(_, line)| pattern.is_match(line))
                    {
                        lines.push(format!("{file}:{}:{line}", index + 1));
                    }
                }
                lines.join("\n")
            }
        })
    }

    fn find(&self, path: &str, arguments: &Value) -> Answer {
        let glob = text(arguments, "pattern").ok_or("pattern is missing")?;
        let folders = self
            .folders()
            .into_iter()
            .filter(|folder| folder != "/")
            .map(|folder| format!("{folder}/"));
        let mut paths: Vec<String> = self.files.keys().cloned().chain(folders).collect();
        paths.sort();
        paths.retain(|candidate| {
            let name = candidate.trim_end_matches('/');
            below(name, path).is_some_and(|below| name != path && fits(glob, name, below))
        });
        if paths.is_empty() {
            Ok("No files found".to_owned())
        } else {
            Ok(paths.join("\n"))
        }
    }

    fn ask(&mut self, arguments: &Value) -> Answer {
        let questions = arguments["questions"].as_array().ok_or("questions are missing")?;
        assert!((1..=4).contains(&questions.len()));
        let question = &questions[0];
        let options = question["options"].as_array().ok_or("options are missing")?;
        assert!((2..=4).contains(&options.len()), "{options:?}");
        assert!(
            question["header"]
                .as_str()
                .is_some_and(|header| header.chars().count() <= 12)
        );
        let asked = question["question"].as_str().ok_or("a question is missing")?;
        match self.answers.pop_front().flatten() {
            Some(answer) => Ok(format!(
                "The user answered: \"{asked}\"=\"{answer}\". Go on with this in mind."
            )),
            None => Err("[Tool Rejected] askUser was rejected by the user: dismissed".to_owned()),
        }
    }
}

fn text<'v>(arguments: &'v Value, name: &str) -> Option<&'v str> {
    arguments.get(name).and_then(Value::as_str)
}

/// The part of `file` below `folder`; the name itself if they are the same.
fn below<'p>(file: &'p str, folder: &str) -> Option<&'p str> {
    if file == folder {
        return file.rsplit('/').next();
    }
    file.strip_prefix(folder.trim_end_matches('/'))?.strip_prefix('/')
}

fn fits(glob: &str, path: &str, below: &str) -> bool {
    let matcher = GlobBuilder::new(glob)
        .literal_separator(true)
        .build()
        .expect("a glob")
        .compile_matcher();
    if glob.contains('/') {
        matcher.is_match(below) || matcher.is_match(path)
    } else {
        matcher.is_match(path.rsplit('/').next().unwrap_or(path))
    }
}
