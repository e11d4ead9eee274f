//! Reads the texts that the tools answer with.

use std::sync::LazyLock;

use regex::Regex;

use super::place::pattern_anywhere;

static MATCH: LazyLock<Regex> =
    LazyLock::new(|| pattern_anywhere(r"^(?P<path>/.*?):(?P<line>\d+):(?P<text>.*)$"));
static NUMBERED: LazyLock<Regex> = LazyLock::new(|| pattern_anywhere(r"^ *(?P<number>\d+)\t(?P<text>.*)$"));
static PAGE: LazyLock<Regex> =
    LazyLock::new(|| pattern_anywhere(r"^\[(?:lines?|files?) \d+-\d+ of (?:at least )?\d+\]$"));
static TOTAL: LazyLock<Regex> = LazyLock::new(|| {
    pattern_anywhere(
        r"(?P<atleast>at least )?(?P<total>\d+) total occurrences?(?:\(s\))? across (?:at least )?(?P<files>\d+) files?",
    )
});

/// A line in which a text was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Match {
    /// The file.
    pub(super) path: String,
    /// The line's number.
    pub(super) line: u64,
    /// The line.
    pub(super) text: String,
}

/// Lines of a file, as read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Document {
    /// The lines, without their numbers.
    pub(super) lines: Vec<String>,
    /// What the tool says besides.
    pub(super) notes: Vec<String>,
}

impl Document {
    /// Reads the answer of the read tool.
    pub(super) fn parse(text: &str) -> Document {
        let mut document = Document::default();
        for line in text.lines() {
            match NUMBERED.captures(line) {
                Some(found) => document.lines.push(found["text"].to_owned()),
                None if line.trim().is_empty() => {}
                None => document.notes.push(line.trim().to_owned()),
            }
        }
        document
    }

    /// Whether the tool says that the file goes on at the line with this number.
    pub(super) fn goes_on_at(&self, line: usize) -> bool {
        let number = line.to_string();
        let names_it = |note: &String| {
            note.split(|c: char| !c.is_ascii_digit())
                .any(|part| part == number)
        };
        self.notes.iter().any(names_it)
    }
}

/// The paths of a list, one a line.
pub(super) fn paths(text: &str) -> Vec<String> {
    text.lines()
        .filter(|line| line.starts_with('/'))
        .map(str::to_owned)
        .collect()
}

/// What a tool says in brackets after a list, one note a line, if it says something.
pub(super) fn note(text: &str) -> Option<String> {
    let lines = text.lines().rev().map(str::trim).filter(|line| !line.is_empty());
    let mut notes: Vec<&str> = lines
        .take_while(|line| line.starts_with('[') && line.ends_with(']'))
        .collect();
    notes.reverse();
    (!notes.is_empty()).then(|| notes.join("\n"))
}

/// What a tool says that it left out, one note a line, if it says something: the notes without those that only tell
/// how to go on.
pub(super) fn left_out(text: &str) -> Option<String> {
    let notes = note(text)?;
    let notes: Vec<&str> = notes.lines().filter(|note| !is_of_page(note)).collect();
    (!notes.is_empty()).then(|| notes.join("\n"))
}

/// Whether a note tells which page of a list this is.
fn is_of_page(note: &str) -> bool {
    note.contains("go on with offset=") || note.starts_with("[offset ") || PAGE.is_match(note)
}

/// Adds the notes of one call to those of others; each is told once.
pub(super) fn add_notes(notes: &mut Option<String>, more: Option<String>) {
    for note in more.iter().flat_map(|more| more.lines()) {
        match notes {
            None => *notes = Some(note.to_owned()),
            Some(all) if all.lines().any(|known| known == note) => {}
            Some(all) => {
                all.push('\n');
                all.push_str(note);
            }
        }
    }
}

/// The entries of a folder; none if the tool says in words that it is empty.
pub(super) fn entries(text: &str) -> Vec<String> {
    let notes = note(text).map_or(0, |notes| notes.lines().count());
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    match &lines[..lines.len().saturating_sub(notes)] {
        [only] if only.starts_with("The folder `") && only.ends_with("is empty") => Vec::new(),
        entries => entries.iter().map(|entry| (*entry).to_owned()).collect(),
    }
}

/// The lines that a search found.
pub(super) fn matches(text: &str) -> Vec<Match> {
    let found = text.lines().filter_map(|line| MATCH.captures(line));
    let found = found.filter_map(|found| {
        Some(Match {
            path: found["path"].to_owned(),
            line: found["line"].parse().ok()?,
            text: found["text"].to_owned(),
        })
    });
    found.collect()
}

/// How often a text occurs, in how many files, and whether it may be more.
pub(super) fn total(text: &str) -> (u64, u64, bool) {
    let found = TOTAL.captures(text).map(|found| {
        let number = |name: &str| found[name].parse().unwrap_or(0);
        (number("total"), number("files"), found.name("atleast").is_some())
    });
    found.unwrap_or((0, 0, false))
}

/// The value of a `key: value` line.
pub(super) fn field<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    text.lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(':').map(str::trim))
}

/// The user's answer to a question of ours, or the whole text if it is not laid out as usual.
pub(super) fn answer<'t>(text: &'t str, question: &str) -> &'t str {
    let Some(at) = text.find(question) else {
        return text.trim();
    };
    let rest = text[at + question.len()..].trim_start_matches(['"', '=', ':', ' ']);
    rest.split('"').next().unwrap_or(rest).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_the_tools_are_read() {
        let read =
            Document::parse("     1\ta b\n     2\t\n     3\t7\tc\n[Lines 1 to 3 of 9; go on with offset 4]");
        assert_eq!(read.lines, ["a b", "", "7\tc"]);
        assert!(read.goes_on_at(4) && !read.goes_on_at(10));
        assert_eq!(
            paths("Found 2 file(s)\n/a b.txt\n/c/d\n[more]"),
            ["/a b.txt", "/c/d"]
        );
        assert_eq!(entries("a\nb/\nc -> d\n[3 of 9]"), ["a", "b/", "c -> d"]);
        assert_eq!(entries("The folder `/d` is empty"), Vec::<String>::new());
        assert_eq!(entries(""), Vec::<String>::new());
        assert_eq!(
            note("a\n[3 of 9]\n[one more]\n").as_deref(),
            Some("[3 of 9]\n[one more]")
        );
        let all = "/a\n[files 201-202 of at least 202]\n[1 path could not be read: /b]";
        assert_eq!(left_out(all).as_deref(), Some("[1 path could not be read: /b]"));
        assert_eq!(left_out("/a\n[files 1-200 of 300; go on with offset=200]"), None);
        assert_eq!(paths("/a \n/b\\u{a}c\n"), ["/a ", "/b\\u{a}c"]);
        let mut notes = None;
        for note in [None, Some("[a]"), Some("[b]\n[a]"), Some("[b]")] {
            add_notes(&mut notes, note.map(str::to_owned));
        }
        assert_eq!(notes.as_deref(), Some("[a]\n[b]"));
        let one = matches("/a:b.rs:12:let x: u8 = 1;\n--\nnonsense");
        assert_eq!(
            one,
            [Match {
                path: "/a:b.rs".to_owned(),
                line: 12,
                text: "let x: u8 = 1;".to_owned()
            }]
        );
        assert_eq!(
            total("/a:2\n/b:1\n\nFound 3 total occurrence(s) across 2 file(s)"),
            (3, 2, false)
        );
        assert_eq!(
            total("Found at least 3 total occurrences across 2 files"),
            (3, 2, true)
        );
        assert_eq!(total("No matches found"), (0, 0, false));
        assert_eq!(
            field("path: /a\nreplaced: 4\ndiff:\n+replaced: 9", "replaced"),
            Some("4")
        );
        assert_eq!(
            answer("User answered: \"Which one?\"=\"/a.json\". Go on.", "Which one?"),
            "/a.json"
        );
        assert_eq!(answer("/a.json", "Which one?"), "/a.json");
    }
}
