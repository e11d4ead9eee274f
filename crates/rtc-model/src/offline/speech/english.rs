//! What the planner says in English.

use super::super::history::{Failure, FailureKind};
use super::super::place::{Needle, Place};
use super::super::plan::{ALL, Language, Lines, Step, Window, Wish};
use super::super::report::Report;
use super::{MAX_REASON, excerpt, list, named, needle_words, place_words, short, total};

/// What the planner understands.
pub(super) const HELP: &str = "\
I am the offline planner of RTC Desktop: a set of fixed rules, no language model. I understand plain requests such as:
- list the files in src
- read README.md, or: show the first 20 lines of src/main.rs
- find all *.md files, or: where is config.json
- search for \"TODO\" in *.py, or: which files contain TODO
- count \"error\" in logs/, or: how many rust files are there
- replace \"old text\" by \"new text\" in README.md (or in *.rs, in src/, everywhere)
- create notes.txt with \"first line\", or: overwrite notes.txt with \"new text\"
- append \"one more line\" to notes.txt
- delete \"some text\" from notes.txt, or: delete the lines containing \"debug\" in app.py
- run this script: `const files = await rtcAgent.fs.find('*.md'); files.length`
- several steps: find colour in *.md and replace it by color, then read README.md

Put texts with spaces in quotation marks. “continue” goes on with an unfinished request. 中文也可以。
For everything else set up a language model: set OPENAI_API_KEY or ANTHROPIC_API_KEY, and choose the model with \
RTC_MODEL or --model (for example --model openai/NAME or --model anthropic/NAME).";

/// A step, worded to follow “I will”.
pub(super) fn step(step: &Step) -> String {
    let at = |place: &Place| place_words(place, Language::English);
    match step {
        Step::List(Place::Everywhere) => "list the files".to_owned(),
        Step::List(place) => format!("list what is {}", at(place)),
        Step::Read(place, window) => {
            let what = match place {
                Place::Names(names) => names.join(", "),
                Place::Glob { glob, folder: None } => glob.clone(),
                place => format!("what is {}", at(place)),
            };
            match window {
                Window::Whole => format!("read {what}"),
                Window::Range(1, count) => format!("read the first {} of {what}", many(*count, "line")),
                Window::Range(first, count) => {
                    format!("read lines {first} to {} of {what}", first + count - 1)
                }
                Window::Last(count) => format!("read the last {} of {what}", many(*count, "line")),
            }
        }
        Step::Find {
            pattern,
            folder,
            count,
        } => {
            let verb = if *count { "count" } else { "find" };
            format!("{verb} {}", files(pattern, folder.as_deref()))
        }
        Step::Look(word) => format!("look for {} among names and texts", named(word)),
        Step::Search {
            needle,
            place,
            files_only: true,
        } => {
            format!(
                "find the files that contain {} {}",
                needle_words(needle),
                at(place)
            )
        }
        Step::Search {
            needle,
            place,
            files_only: false,
        } => {
            format!("search for {} {}", needle_words(needle), at(place))
        }
        Step::Count(needle, place) => format!("count {} {}", needle_words(needle), at(place)),
        Step::Replace { from, to, place } if to.is_empty() => format!("delete {} {}", named(from), at(place)),
        Step::Replace { from, to, place } => {
            format!("replace {} by {} {}", named(from), named(to), at(place))
        }
        Step::DeleteLines(Lines::Containing(text), place) => {
            format!("delete the lines that contain {} {}", named(text), at(place))
        }
        Step::DeleteLines(Lines::Equal(text), place) => {
            format!("delete the line {} {}", named(text), at(place))
        }
        Step::DeleteLines(Lines::Empty, place) => format!("delete the empty lines {}", at(place)),
        Step::DeleteLines(Lines::Numbered(first, last), place) if first == last => {
            format!("delete line {first} {}", at(place))
        }
        Step::DeleteLines(Lines::Numbered(first, last), place) => {
            format!("delete lines {first} to {last} {}", at(place))
        }
        Step::DeleteLines(Lines::Last(1), place) => format!("delete the last line {}", at(place)),
        Step::DeleteLines(Lines::Last(count), place) => {
            format!("delete the last {count} lines {}", at(place))
        }
        Step::Write {
            name,
            overwrite: false,
            ..
        } => format!("create {name}"),
        Step::Write {
            name,
            overwrite: true,
            ..
        } => format!("write {name}"),
        Step::Append { name, line } => format!("append {} to {name}", named(line)),
        Step::SavedScript(name) => format!("run the saved script {name}"),
        Step::Script(_) => "run the script".to_owned(),
        Step::Unable(_) => "tell what I have no tool for".to_owned(),
        Step::Help => "tell what I understand".to_owned(),
    }
}

/// How a step ended.
pub(super) fn report(report: &Report) -> String {
    let at = |place: &Place| place_words(place, Language::English);
    let more = |rest: usize| format!("… and {rest} more");
    match report {
        Report::Listed { path, entries, .. } if entries.is_empty() => format!("{path} is empty."),
        Report::Listed { path, entries, note } => {
            let folders = entries.iter().filter(|entry| entry.ends_with('/')).count();
            let (folders, rest) = (many(folders, "folder"), many(entries.len() - folders, "file"));
            let lines = list(entries, String::clone, more);
            format!("{path} has {folders} and {rest}:{lines}{}", noted(note.as_deref()))
        }
        Report::Text { path, lines, notes } if lines.is_empty() => {
            let notes = if notes.is_empty() { "it is empty".to_owned() } else { notes.join(" ") };
            format!("I read {path}: {notes}")
        }
        Report::Text { path, lines, notes } => {
            let rest = |rest: usize| format!("… and {} more", many(rest, "line"));
            let notes: String = notes.iter().map(|note| noted(Some(note))).collect();
            format!("I read {path}, {}:{}{notes}", many(lines.len(), "line"), excerpt(lines, rest))
        }
        Report::OnlyRead { read, of } => format!("I read only the first {read} of {of} files."),
        Report::Found { pattern, folder, paths, note } if paths.is_empty() => {
            let seen = seen(note.as_deref());
            format!("There is no file{}{seen}.{}", called(pattern, folder.as_deref()), noted(note.as_deref()))
        }
        Report::Found { pattern, folder, paths, note } => format!(
            "I found {}{}:{}{}",
            many(paths.len(), if paths.iter().any(|path| path.ends_with('/')) { "entry" } else { "file" }),
            called(pattern, folder.as_deref()),
            list(paths, String::clone, more),
            noted(note.as_deref())
        ),
        Report::FoundCount { pattern, folder, count, at_least, note } => {
            let least = if *at_least { "at least " } else { "" };
            let of = called(pattern, folder.as_deref());
            let are = if *count == 1 { "is" } else { "are" };
            format!("There {are} {least}{}{of}.{}", many(*count, "file"), noted(note.as_deref()))
        }
        Report::Matches { needle, place, matches, note } if matches.is_empty() => {
            absent(needle, place, note.as_deref())
        }
        Report::Matches { needle, place, matches, note } => {
            let mut paths: Vec<&str> = matches.iter().map(|one| one.path.as_str()).collect();
            paths.dedup();
            let lines = list(matches, |one| format!("{}:{}: {}", one.path, one.line, one.text.trim()), more);
            format!(
                "{} occurs on {} of {} {}:{lines}{}",
                needle_words(needle),
                many(matches.len(), "line"),
                many(paths.len(), "file"),
                at(place),
                noted(note.as_deref())
            )
        }
        Report::Files { needle, place, files, note } if files.is_empty() => {
            let (seen, note) = (seen(note.as_deref()), noted(note.as_deref()));
            format!("No file {} contains {}{seen}.{note}", at(place), needle_words(needle))
        }
        Report::Files { needle, place, files, note } => {
            let (lines, note) = (list(files, String::clone, more), noted(note.as_deref()));
            format!("{} {} with {}:{lines}{note}", many(files.len(), "file"), at(place), needle_words(needle))
        }
        Report::Ran { result } if result.is_empty() => "The script ran and gave no result.".to_owned(),
        Report::Ran { result } => {
            format!("The script ran:{}", excerpt(result, |rest| format!("… and {}", many(rest, "further line"))))
        }
        Report::Counted { needle, place, total: 0, note, .. } => absent(needle, place, note.as_deref()),
        Report::Counted { needle, place, total, files, at_least, note } => {
            let least = if *at_least { "at least " } else { "" };
            let (times, files) = (many(*total, "time"), many(*files, "file"));
            let note = noted(note.as_deref());
            format!("{} occurs {least}{times} in {files} {}.{note}", needle_words(needle), at(place))
        }
        Report::Replaced { from, to, changed, failed, more: rest, note } => {
            let mut text = match (changed.is_empty(), to.is_empty()) {
                (true, _) => format!("I changed nothing: {} is as it was.", named(from)),
                (false, true) => format!(
                    "I deleted {} {} in {}:",
                    named(from),
                    many(total(changed), "time"),
                    many(changed.len(), "file")
                ),
                (false, false) => format!(
                    "I replaced {} by {} {} in {}:",
                    named(from),
                    named(to),
                    many(total(changed), "time"),
                    many(changed.len(), "file")
                ),
            };
            text.push_str(&list(changed, |(path, count)| format!("{path}: {count}"), more));
            text.push_str(&failures(failed));
            if *rest {
                text.push_str("\nThere are more files with it; ask again to go on.");
            }
            text.push_str(&noted(note.as_deref()));
            text
        }
        Report::LinesDeleted { changed, failed, note } => {
            let (lines, files) = (many(total(changed), "line"), many(changed.len(), "file"));
            let text = if changed.is_empty() {
                "I deleted no line.".to_owned()
            } else {
                let listed = list(changed, |(path, count)| format!("{path}: {count}"), more);
                format!("I deleted {lines} in {files}:{listed}")
            };
            text + &failures(failed) + &noted(note.as_deref())
        }
        Report::Absent { needle, place, note } => {
            let (seen, note) = (seen(note.as_deref()), noted(note.as_deref()));
            format!("{} does not occur {}{seen}, so I changed nothing.{note}", needle_words(needle), at(place))
        }
        Report::NoEmptyLine { place, note } => {
            let (seen, note) = (seen(note.as_deref()), noted(note.as_deref()));
            format!("There is no empty line {}{seen}, so I changed nothing.{note}", at(place))
        }
        Report::NoSuchLine { path, lines } => {
            format!("{path} has only {}, so I changed nothing.", many(*lines, "line"))
        }
        Report::Wrote { path, created, characters } => {
            let verb = if *created { "created" } else { "overwrote" };
            format!("I {verb} {path} ({}).", many(*characters, "character"))
        }
        Report::Appended { path, created: true } => format!("I created {path} with this line."),
        Report::Appended { path, created: false } => format!("I added a line at the end of {path}."),
        Report::Exists { path } => {
            format!("{path} is there already, so I changed nothing. To replace it, say: overwrite {path} with \"…\"")
        }
        Report::Same { text } => format!("Old and new text are both {}, so there is nothing to do.", named(text)),
        Report::NoText => "There is no text to look for, so I changed nothing.".to_owned(),
        Report::Ambiguous { name, candidates } => format!(
            "Several files fit {}, so I changed nothing. Name one of them:{}",
            named(name),
            list(candidates, String::clone, more)
        ),
        Report::Unanswered { name, answer } => format!(
            "I asked which file {} means, and cannot tell from {}. I changed nothing.",
            named(name),
            named(answer)
        ),
        Report::NoSuchName { name, note } => {
            format!("I found no file or folder named {}.{}", named(name), noted(note.as_deref()))
        }
        Report::IsFolder { path } => format!("{path} is a folder; I need the name of a file."),
        Report::Failed { step: failed, failure } => {
            format!("I could not {}: {}", step(failed), failure_words(failure))
        }
        Report::NotOffered { step: failed, tool } => {
            format!("I cannot {}: the tool `{tool}` is not available in this session.", step(failed))
        }
        Report::Unable(Wish::FileWork) => {
            "I have no tool to delete, move, copy or rename files and folders. I can change the text in files.".to_owned()
        }
        Report::Unable(Wish::Run) => {
            "I have no tool that runs programs. I can run JavaScript over the files here: run this script: `…`".to_owned()
        }
        Report::Help => HELP.to_owned(),
    }
}

/// That a text does not occur; where something was left out, only that it was not found.
fn absent(needle: &Needle, place: &Place, note: Option<&str>) -> String {
    let (needle, place) = (needle_words(needle), place_words(place, Language::English));
    format!("{needle} does not occur {place}{}.{}", seen(note), noted(note))
}

/// What is said of a statement about all there is, where something was left out.
fn seen(note: Option<&str>) -> &'static str {
    if note.is_some() {
        ", as far as I could see"
    } else {
        ""
    }
}

fn failures(failed: &[(String, Failure)]) -> String {
    if failed.is_empty() {
        return String::new();
    }
    let more = |rest: usize| format!("… and {rest} more");
    let lines = list(
        failed,
        |(path, failure)| format!("{path}: {}", failure_words(failure)),
        more,
    );
    format!("\nNot changed:{lines}")
}

fn failure_words(failure: &Failure) -> String {
    let reason = short(failure.reason.trim(), MAX_REASON);
    match failure.kind {
        FailureKind::Error => reason,
        FailureKind::Rejected => format!("it was not allowed ({reason})"),
        FailureKind::Timeout => format!("it took too long ({reason})"),
        FailureKind::Lost => "nobody knows whether it was done; I did not repeat it".to_owned(),
        FailureKind::Skipped => "left alone, because an earlier step on it failed".to_owned(),
    }
}

fn files(pattern: &str, folder: Option<&str>) -> String {
    let folder = folder
        .map(|folder| format!(" below {folder}"))
        .unwrap_or_default();
    if pattern == ALL {
        format!("the files{folder}")
    } else {
        format!("the files {pattern}{folder}")
    }
}

fn called(pattern: &str, folder: Option<&str>) -> String {
    let folder = folder
        .map(|folder| format!(" below {folder}"))
        .unwrap_or_default();
    if pattern == ALL {
        folder
    } else {
        format!(" named {pattern}{folder}")
    }
}

fn noted(note: Option<&str>) -> String {
    note.map(|note| format!("\n{note}")).unwrap_or_default()
}

fn many(count: impl TryInto<u64>, noun: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    match (count, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        (_, None) => format!("{count} {noun}s"),
    }
}
