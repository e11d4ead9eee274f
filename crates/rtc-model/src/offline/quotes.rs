//! Takes quoted text out of a request, so that the phrases see only the words around it.

use std::sync::LazyLock;

use regex::Regex;

use super::marks::{CLAUSE_END, LINE_FOLLOWS};
use super::parse::{beginning, ending};
use super::place::pattern_anywhere;

/// The most quoted pieces of one message that are recognised; what follows is not read.
const MAX_QUOTES: usize = 1_000;

/// How much of a message is read, in bytes; quotations count as one character.
pub(super) const MAX_READ: usize = 100_000;

/// The first of the private characters that stand for quoted pieces.
const FIRST: u32 = 0xE000;

/// Those characters, as a part of a regular expression class.
pub(super) const QUOTES: &str = r"\u{E000}-\u{E3E7}";

/// The regular expression class of those characters.
pub(super) const QUOTE_CLASS: &str = r"[\u{E000}-\u{E3E7}]";

/// What opens a quotation and what closes it. Three backticks come first: they begin with one.
const PAIRS: [(&str, &str); 9] = [
    ("```", "```"),
    ("\"", "\""),
    ("'", "'"),
    ("`", "`"),
    ("“", "”"),
    ("‘", "’"),
    ("「", "」"),
    ("『", "』"),
    ("«", "»"),
];

/// How much of the text before a colon is looked at for words that announce what follows, in bytes.
const MAX_BEFORE_COLON: usize = 300;

/// Where anything but plain text may begin: a quotation, what is announced, or a character that stands for a quotation.
static NOTABLE: LazyLock<Regex> = LazyLock::new(|| pattern_anywhere(r#"["'`“‘「『«:：\u{E000}-\u{F8FF}]"#));

/// A message whose quoted pieces are single private characters.
pub(super) struct Masked {
    /// The message with the placeholders: up to [`MAX_READ`], and up to the last quotation that is recognised.
    pub(super) text: String,
    /// Whether that is all of the message. If not, its end may be a part of something.
    pub(super) whole: bool,
    pieces: Vec<Piece>,
}

struct Piece {
    inner: String,
    shown: String,
}

impl Masked {
    /// Masks the quoted pieces of a message. After words such as `with the content:` all the rest is one piece.
    ///
    /// The work is linear in the message: whatever is looked for ahead and not found is not looked for again.
    pub(super) fn new(message: &str) -> Masked {
        let mut masked = Masked {
            text: String::new(),
            whole: true,
            pieces: Vec::new(),
        };
        let mut rest = message;
        let mut unclosed = [false; PAIRS.len()]; // what was not closed once is not closed later
        // Where the line and its first clause end, as what is left of the message there.
        let (mut line_end, mut clause_end) = (usize::MAX, usize::MAX);
        while let Some(found) = NOTABLE.find(rest)
            && masked.text.len() + found.start() <= MAX_READ
        {
            masked.text.push_str(&rest[..found.start()]);
            rest = &rest[found.start()..];
            let before = masked.text.chars().next_back();
            if let Some((inner, shown)) = quotation(rest, before, &mut unclosed) {
                if masked.pieces.len() == MAX_QUOTES {
                    masked.whole = false;
                    return masked;
                }
                rest = &rest[shown.len()..];
                masked.push(inner, shown);
                continue;
            }
            let notable = found.as_str();
            rest = &rest[notable.len()..];
            let private = notable.starts_with(|c| ('\u{E000}'..='\u{F8FF}').contains(&c));
            masked.text.push_str(if private { " " } else { notable });
            let ahead = rest.trim_start();
            let colon = matches!(notable, ":" | "：");
            if !colon || ahead.is_empty() || opens(ahead) || masked.pieces.len() == MAX_QUOTES {
                continue;
            }
            if ends_in_announcement(&masked.text) {
                masked.push(rest.trim(), rest);
                return masked;
            }
            if rest.len() <= clause_end && announces_line(&masked.text) {
                if rest.len() < line_end {
                    line_end = rest.find('\n').map_or(0, |at| rest.len() - at);
                }
                let line = rest[..rest.len() - line_end].trim_end_matches('\r');
                match one_line(line.trim()) {
                    Line::One => {
                        masked.push(line.trim(), line);
                        rest = &rest[line.len()..];
                    }
                    Line::EndsAt(at) => clause_end = rest.len() - (line.len() - line.trim_start().len()) - at,
                    Line::Empty => {}
                }
            }
        }
        let read = beginning(rest, MAX_READ.saturating_sub(masked.text.len()));
        masked.text.push_str(read);
        masked.whole = read.len() == rest.len();
        masked
    }

    /// The text that a piece of the masked message stands for, without its quotation marks.
    pub(super) fn plain(&self, piece: &str) -> String {
        self.fill(piece, |piece| &piece.inner)
    }

    /// A piece of the masked message as the user wrote it.
    pub(super) fn shown(&self, piece: &str) -> String {
        self.fill(piece, |piece| &piece.shown)
    }

    /// Whether this piece of the masked message is exactly one quotation.
    pub(super) fn is_quoted(&self, piece: &str) -> bool {
        let mut characters = piece.chars();
        characters.next().is_some_and(|first| self.piece(first).is_some()) && characters.next().is_none()
    }

    fn push(&mut self, inner: &str, shown: &str) {
        let code = FIRST + u32::try_from(self.pieces.len()).unwrap_or(0);
        self.text.push(char::from_u32(code).unwrap_or(' '));
        self.pieces.push(Piece {
            inner: inner.to_owned(),
            shown: shown.to_owned(),
        });
    }

    fn piece(&self, character: char) -> Option<&Piece> {
        let index = u32::from(character).checked_sub(FIRST)?;
        self.pieces.get(usize::try_from(index).ok()?)
    }

    fn fill(&self, text: &str, of: impl Fn(&Piece) -> &String) -> String {
        let mut filled = String::with_capacity(text.len());
        for character in text.chars() {
            match self.piece(character) {
                Some(piece) => filled.push_str(of(piece)),
                None => filled.push(character),
            }
        }
        filled
    }
}

/// The quotation that `text` begins with: what is inside, and the whole.
fn quotation<'t>(
    text: &'t str,
    before: Option<char>,
    unclosed: &mut [bool; PAIRS.len()],
) -> Option<(&'t str, &'t str)> {
    let index = PAIRS.iter().position(|(open, _)| text.starts_with(open))?;
    let (open, close) = PAIRS[index];
    if unclosed[index] {
        return None;
    }
    let straight = open == "'";
    if straight && before.is_some_and(|before| before.is_ascii_alphanumeric()) {
        return None; // an apostrophe
    }
    let mut from = open.len();
    loop {
        let Some(at) = text[from..].find(close).map(|at| from + at) else {
            unclosed[index] = true;
            return None;
        };
        let end = at + close.len();
        let apostrophe = straight
            && text[end..]
                .chars()
                .next()
                .is_some_and(|after| after.is_ascii_alphanumeric());
        if !apostrophe {
            let inner = &text[open.len()..at];
            return Some((if open == "```" { fenced(inner) } else { inner }, &text[..end]));
        }
        from = end;
    }
}

/// A fenced block without the language name on its first line and without the line end before its last fence.
fn fenced(inner: &str) -> &str {
    match inner.split_once('\n') {
        Some((first, body)) if !first.trim().contains(' ') => body.strip_suffix('\n').unwrap_or(body),
        _ => inner,
    }
}

fn opens(text: &str) -> bool {
    PAIRS.iter().any(|(open, _)| text.starts_with(open))
}

/// Whether the text so far ends in words that announce content up to the end of the message.
fn ends_in_announcement(text: &str) -> bool {
    let words = ending(text, MAX_BEFORE_COLON);
    let words = words
        .strip_suffix([':', '：'])
        .unwrap_or(words)
        .trim_end()
        .to_lowercase();
    [
        "content",
        "contents",
        "text",
        "following",
        "lines",
        "line",
        "内容",
        "内容为",
        "内容是",
        "内容如下",
    ]
    .iter()
    .any(|word| words.ends_with(word))
}

/// Whether the text so far ends in words that announce one line.
fn announces_line(text: &str) -> bool {
    LINE_FOLLOWS.is_match(ending(text, MAX_BEFORE_COLON))
}

/// What stands behind words that announce a line.
enum Line {
    /// The line, all of it.
    One,
    /// The line and what to do next, which begins behind a mark at this byte; or a line that is too long to be read.
    EndsAt(usize),
    /// Nothing.
    Empty,
}

fn one_line(line: &str) -> Line {
    if line.len() > MAX_READ {
        return Line::EndsAt(line.len());
    }
    let whole = line.trim_end_matches(['.', '!', '?', '。', '！', '？']);
    if whole.is_empty() {
        return Line::Empty;
    }
    match CLAUSE_END.find(whole) {
        Some(end) => Line::EndsAt(end.start()),
        None => Line::One,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotations_of_every_kind_are_one_piece_each() {
        let table = [
            ("say \"a b\" now", vec!["a b"]),
            ("say 'it's so' now", vec!["it's so"]),
            ("don't touch Peter's file", vec![]),
            ("把“甲 乙”换成「丙」", vec!["甲 乙", "丙"]),
            ("把'a'换成`b \" c`", vec!["a", "b \" c"]),
            ("with ```rust\nfn a() {}\n``` end", vec!["fn a() {}"]),
            ("an open \" stays", vec![]),
            ("empty \"\" too", vec![""]),
            (
                "create a.md with the content: Hello, then\nbye",
                vec!["Hello, then\nbye"],
            ),
            ("create a.md with the content: \"x\" then y", vec!["x"]),
            ("新建 a.md，内容为：一行", vec!["一行"]),
            ("add a line to a.md: one, two.\nread a.md", vec!["one, two."]),
            ("add a line to a.md: one two, then read it", vec![]),
            ("add a line to a.md: \"one, two\" then read it", vec!["one, two"]),
            ("往 a.md 里加一行：甲，乙", vec!["甲，乙"]),
            ("往 a.md 里加一行：甲 乙，然后读取 a.md", vec![]),
        ];
        for (message, expected) in table {
            let masked = Masked::new(message);
            let pieces: Vec<_> = masked.pieces.iter().map(|piece| piece.inner.as_str()).collect();
            assert_eq!(pieces, expected, "{message}");
            assert_eq!(masked.shown(&masked.text), message);
        }
    }

    #[test]
    fn private_characters_of_the_user_are_not_taken_for_quotations() {
        let masked = Masked::new("a \u{E000} b \"c\"");
        assert_eq!(masked.plain(&masked.text), "a   b c");
    }
}
