//! Makes a step of a phrase that fits: reads the words that fill its gaps.

use regex::Captures;

use super::super::marks::IT;
use super::super::place::{Context, Needle, Place, is_file_name, is_glob, is_of_a_kind, virtual_path};
use super::super::plan::{ALL, Lines, Step, Window, Wish};
use super::super::quotes::Masked;
use super::super::words::Meaning;

/// The words of a clause that fill the gaps of a phrase.
pub(super) struct Words<'w> {
    /// The gaps and what fills them.
    pub(super) found: Captures<'w>,
    /// The message.
    pub(super) masked: &'w Masked,
    /// What `it` means.
    pub(super) context: &'w Context,
    /// Whether upper and lower case are the same.
    pub(super) ignore_case: bool,
}

impl Words<'_> {
    /// The step that a clause of this meaning asks for; `None` if the words do not make one.
    pub(super) fn step(&self, meaning: Meaning) -> Option<Step> {
        let step = match meaning {
            Meaning::Help => Step::Help,
            Meaning::About => Step::Read(Place::Names(vec!["README".to_owned()]), Window::Whole),
            Meaning::FileWork => Step::Unable(Wish::FileWork),
            // Code without quotation marks cannot be told from words.
            Meaning::Script if !self.quoted("content") => return None,
            Meaning::Script => Step::Script(self.text("content")?),
            Meaning::SavedScript => Step::SavedScript(self.text("text")?),
            Meaning::Run => Step::Unable(Wish::Run),
            Meaning::DeleteNumbered => {
                let first = self.number("n")?;
                let last = self.number("m").unwrap_or(first);
                Step::DeleteLines(
                    Lines::Numbered(first.min(last), first.max(last)),
                    self.named_place()?,
                )
            }
            Meaning::DeleteFirst => {
                Step::DeleteLines(Lines::Numbered(1, self.number_or_one("n")?), self.named_place()?)
            }
            Meaning::DeleteLast => {
                Step::DeleteLines(Lines::Last(self.number_or_one("n")?), self.named_place()?)
            }
            Meaning::DeleteContaining => {
                Step::DeleteLines(Lines::Containing(self.text("text")?), self.named_place()?)
            }
            Meaning::DeleteEmpty => Step::DeleteLines(Lines::Empty, self.named_place()?),
            Meaning::DeleteEqual => Step::DeleteLines(Lines::Equal(self.text("text")?), self.named_place()?),
            Meaning::DeleteText if self.is_all() => return None,
            Meaning::DeleteText => Step::Replace {
                from: self.needle()?.text,
                to: String::new(),
                place: self.named_place()?,
            },
            Meaning::Overwrite => Step::Write {
                name: self.name()?,
                content: self.text("content")?,
                overwrite: true,
            },
            Meaning::Create => {
                let content = self.text("content").unwrap_or_default();
                Step::Write {
                    name: self.file_name()?,
                    content,
                    overwrite: false,
                }
            }
            Meaning::Append => Step::Append {
                name: self.name()?,
                line: self.text("content")?,
            },
            Meaning::Replace => return self.replace(),
            Meaning::CountLines => match self.named_place()? {
                place @ (Place::Names(_) | Place::Glob { .. }) => Step::Read(place, Window::Whole),
                Place::Everywhere | Place::Folder(_) | Place::Matching(..) => return None,
            },
            Meaning::FindAll => match self.place_or_everywhere()? {
                Place::Everywhere => Step::Find {
                    pattern: ALL.to_owned(),
                    folder: None,
                    count: false,
                },
                Place::Folder(folder) => Step::Find {
                    pattern: ALL.to_owned(),
                    folder: Some(folder),
                    count: false,
                },
                Place::Names(names) if names.len() == 1 => {
                    let folder = names.first().map(|name| virtual_path(name));
                    Step::Find {
                        pattern: ALL.to_owned(),
                        folder,
                        count: false,
                    }
                }
                Place::Names(_) | Place::Glob { .. } | Place::Matching(..) => return None,
            },
            Meaning::CountFiles => return self.count_files(),
            Meaning::Count => Step::Count(self.needle()?, self.place_or_everywhere()?),
            Meaning::FilesContaining => Step::Search {
                needle: self.needle()?,
                place: self.place_or_everywhere()?,
                files_only: true,
            },
            Meaning::Search if self.finds_files() => return None,
            Meaning::Search => {
                let place = self.place_or_everywhere()?;
                Step::Search {
                    needle: self.needle()?,
                    place,
                    files_only: false,
                }
            }
            Meaning::ReadFirst => Step::Read(self.named_place()?, Window::Range(1, self.number_or_one("n")?)),
            Meaning::ReadLast => Step::Read(self.named_place()?, Window::Last(self.number_or_one("n")?)),
            Meaning::ReadRange => {
                let first = self.number("n")?.max(1);
                let last = self.number("m").unwrap_or(first).max(first);
                Step::Read(self.named_place()?, Window::Range(first, last - first + 1))
            }
            Meaning::FindNamed => return self.find_named(),
            Meaning::FindPlace => return self.find_place(),
            Meaning::List => match self.place_or_everywhere()? {
                Place::Glob { glob, folder } => Step::Find {
                    pattern: glob,
                    folder,
                    count: false,
                },
                Place::Matching(needle, place) => Step::Search {
                    needle,
                    place: *place,
                    files_only: true,
                },
                Place::Names(names) if names.iter().any(|name| is_file_name(name)) => return None,
                place => Step::List(place),
            },
            Meaning::WhatIsIn => match self.named_place()? {
                place @ (Place::Everywhere | Place::Folder(_)) => Step::List(place),
                place @ Place::Names(_) => Step::Read(place, Window::Whole),
                Place::Glob { .. } | Place::Matching(..) => return None,
            },
            Meaning::Read => match self.named_place()? {
                place @ (Place::Everywhere | Place::Folder(_)) => Step::List(place),
                place => Step::Read(place, Window::Whole),
            },
            Meaning::Look => match (self.needle()?, self.quoted("text")) {
                (needle, true) => Step::Search {
                    needle,
                    place: Place::Everywhere,
                    files_only: false,
                },
                (needle, false) => Step::Look(needle.text),
            },
        };
        Some(step)
    }

    fn replace(&self) -> Option<Step> {
        let named = self.found.name("from").map(|from| from.as_str());
        let refers = named.is_none_or(|from| IT.is_match(from));
        let from = if refers {
            self.context.needle.clone()?.text
        } else {
            self.text("from")?
        };
        if self.is_a_setting() {
            return None;
        }
        let before = |place: &Option<Place>| match place.clone() {
            Some(Place::Matching(needle, place)) if needle.text == from => *place,
            Some(place) => place,
            None => Place::Everywhere,
        };
        let place = match (self.has("place") || self.has("everywhere"), refers) {
            (true, _) => self.place_or_everywhere()?,
            (false, true) => before(&self.context.place),
            // After “open a.txt and” the change is meant there, although it does not say so.
            (false, false) => before(&self.context.here),
        };
        Some(Step::Replace {
            from,
            to: self.text("to")?,
            place,
        })
    }

    /// Whether the words name a setting, as in “change the port to 8000”: what it is now is not said, so there is no
    /// text to replace.
    fn is_a_setting(&self) -> bool {
        let (Some(clause), Some(from)) = (self.found.get(0), self.found.name("from")) else {
            return false;
        };
        let before = clause.as_str()[..from.start() - clause.start()].to_lowercase();
        let verbs = [
            "change the ",
            "turn the ",
            "convert the ",
            "correct the ",
            "update the ",
            "fix the ",
        ];
        !self.masked.is_quoted(from.as_str()) && verbs.iter().any(|verb| before.ends_with(verb))
    }

    fn count_files(&self) -> Option<Step> {
        let count = true;
        let all = self
            .found
            .name("place")
            .is_some_and(|place| matches!(place.as_str(), "files" | "文件"));
        match if let Some(folder) = self.found.name("folder") {
            let words = format!("{} in {}", self.found.name("place")?.as_str(), folder.as_str());
            Place::parse(&words, self.masked, self.context)?
        } else if all {
            Place::Everywhere
        } else {
            self.named_place()?
        } {
            Place::Everywhere => Some(Step::Find {
                pattern: ALL.to_owned(),
                folder: None,
                count,
            }),
            Place::Folder(folder) => Some(Step::Find {
                pattern: ALL.to_owned(),
                folder: Some(folder),
                count,
            }),
            Place::Glob { glob, folder } => Some(Step::Find {
                pattern: glob,
                folder,
                count,
            }),
            Place::Names(names) if self.has("files") => match names.as_slice() {
                [name] => {
                    let folder = Some(virtual_path(name));
                    Some(Step::Find {
                        pattern: ALL.to_owned(),
                        folder,
                        count,
                    })
                }
                _ => None,
            },
            Place::Names(_) | Place::Matching(..) => None,
        }
    }

    fn find_named(&self) -> Option<Step> {
        let named = self.text("path")?;
        let bare = !self.quoted("path") && !self.has("place");
        let asks_where = bare && !is_glob(&named) && !is_file_name(&named);
        if asks_where && IT.is_match(&named) {
            return None;
        }
        let folder = match self.has("place").then(|| self.named_place()) {
            None => None,
            Some(Some(Place::Folder(folder))) => Some(folder),
            Some(Some(Place::Everywhere)) => None,
            Some(Some(Place::Names(names))) if names.len() == 1 => {
                names.first().map(|name| virtual_path(name))
            }
            Some(_) => return None,
        };
        let pattern = if is_glob(&named) || is_file_name(&named) {
            named
        } else {
            format!("{named}*")
        };
        Some(Step::Find {
            pattern,
            folder,
            count: false,
        })
    }

    fn find_place(&self) -> Option<Step> {
        if self.has("path") {
            let named = self.text("path")?;
            return (is_glob(&named) || is_file_name(&named))
                .then(|| self.find_named())
                .flatten();
        }
        match self.named_place()? {
            Place::Glob { glob, folder } => Some(Step::Find {
                pattern: glob,
                folder,
                count: false,
            }),
            Place::Names(names) if self.quoted("place") => {
                drop(names);
                None
            }
            Place::Names(names) if self.finds() => match names.as_slice() {
                [name] if is_file_name(name) => {
                    let (folder, name) = match name.rsplit_once('/') {
                        Some((folder, name)) => (Some(virtual_path(folder)), name),
                        None => (None, name.as_str()),
                    };
                    let folder = folder.filter(|folder| folder != "/");
                    Some(Step::Find {
                        pattern: name.to_owned(),
                        folder,
                        count: false,
                    })
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the text is a plain word for all there is: then no text is meant.
    fn is_all(&self) -> bool {
        let text = self.found.name("text").map(|text| text.as_str().to_lowercase());
        text.is_some_and(|text| {
            ["everything", "all", "contents", "content", "全部", "所有", "内容"].contains(&text.as_str())
        })
    }

    /// Whether files are to be found, as in “find *.rs in src” or “find main.rs in src”, and no text.
    fn finds_files(&self) -> bool {
        let text = self.found.name("text").map_or("", |text| text.as_str());
        let in_folder = || match self.named_place() {
            Some(Place::Folder(_)) => true,
            Some(Place::Names(names)) => !names.iter().any(|name| is_file_name(name)),
            _ => false,
        };
        let plain = !self.quoted("text") && !self.has("regex") && self.has("place");
        self.finds() && plain && (text.starts_with(['*', '{']) || (is_of_a_kind(text) && in_folder()))
    }

    /// Whether the verb is one of finding, not of showing.
    fn finds(&self) -> bool {
        let clause = self.found.get(0).map_or("", |all| all.as_str());
        let verbs = ["find", "locate", "look", "search", "查找", "找", "寻找", "搜索"];
        verbs.iter().any(|verb| clause.to_lowercase().starts_with(verb))
    }

    fn has(&self, name: &str) -> bool {
        self.found.name(name).is_some()
    }

    fn quoted(&self, name: &str) -> bool {
        self.found
            .name(name)
            .is_some_and(|found| self.masked.is_quoted(found.as_str()))
    }

    fn text(&self, name: &str) -> Option<String> {
        self.found
            .name(name)
            .map(|found| self.masked.plain(found.as_str()))
    }

    /// The text that is looked for; `it` is the one of the step before.
    fn needle(&self) -> Option<Needle> {
        let word = self.found.name("text")?.as_str();
        if IT.is_match(word) {
            return self.context.needle.clone();
        }
        let needle = Needle::literal(self.masked.plain(word));
        if needle.text.is_empty() {
            return None;
        }
        Some(Needle {
            regex: self.has("regex"),
            ignore_case: self.ignore_case,
            ..needle
        })
    }

    /// The file that is named; `it` is the one of the step before.
    fn name(&self) -> Option<String> {
        let word = self.found.name("path").map(|path| path.as_str());
        if let Some(word) = word.filter(|word| !IT.is_match(word)) {
            return Some(self.masked.plain(word)).filter(|name| !name.is_empty() && !is_glob(name));
        }
        match &self.context.place {
            Some(Place::Names(names)) if names.len() == 1 => names.first().cloned(),
            _ => None,
        }
    }

    /// The name of a new file: quoted, with an extension, or announced by the word for a file.
    fn file_name(&self) -> Option<String> {
        let name = self.name()?;
        if self.has("place") {
            let folder = match self.named_place()? {
                Place::Folder(folder) => folder,
                Place::Names(names) if names.len() == 1 => virtual_path(&names[0]),
                _ => return None,
            };
            return (is_file_name(&name) || self.quoted("path"))
                .then(|| format!("{}/{name}", folder.trim_end_matches('/')));
        }
        let clause = self.found.get(0).map_or("", |all| all.as_str()).to_lowercase();
        let announced = clause.contains("file") || clause.contains("文件") || self.has("content");
        (is_file_name(&name) || self.quoted("path") || announced).then_some(name)
    }

    fn named_place(&self) -> Option<Place> {
        if self.has("everywhere") {
            return Some(Place::Everywhere);
        }
        Place::parse(self.found.name("place")?.as_str(), self.masked, self.context)
    }

    fn place_or_everywhere(&self) -> Option<Place> {
        if self.has("place") {
            self.named_place()
        } else {
            Some(Place::Everywhere)
        }
    }

    /// The number; one if the phrase has none.
    fn number_or_one(&self, name: &str) -> Option<u64> {
        let number = if self.has(name) { self.number(name)? } else { 1 };
        (number > 0).then_some(number)
    }

    fn number(&self, name: &str) -> Option<u64> {
        number(self.found.name(name)?.as_str())
    }
}

/// How many a few are.
const FEW: u64 = 5;

/// A number in digits or in the small words of both languages.
fn number(word: &str) -> Option<u64> {
    let english = [
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    ];
    let digit = |c: char| match c {
        '两' => Some(2),
        c => "一二三四五六七八九"
            .chars()
            .position(|digit| digit == c)
            .map(|index| index as u64 + 1),
    };
    let lower = word.to_lowercase();
    if let Ok(number) = lower.parse() {
        return Some(number);
    }
    if let Some(index) = english.iter().position(|name| *name == lower) {
        return Some(index as u64 + 1);
    }
    if lower == "few" || lower == "几" {
        return Some(FEW);
    }
    if lower == "twenty" {
        return Some(20);
    }
    match word.split_once('十') {
        Some((tens, ones)) => {
            let part = |text: &str, none| {
                if text.is_empty() {
                    Some(none)
                } else {
                    digit(text.chars().next()?)
                }
            };
            Some(part(tens, 1)? * 10 + part(ones, 0)?)
        }
        None => digit(word.chars().next()?),
    }
}
