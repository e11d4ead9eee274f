//! Finding what an edit replaces, and what goes there.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;

use crate::codec::LineEnd;
use crate::error::MAX_LISTED_LINES;

/// A part of a text and what takes its place; only what really differs is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    /// Byte offsets in the old text.
    pub(crate) range: Range<usize>,
    /// The new text.
    pub(crate) with: String,
}

/// What looking for the old text gave.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// What to replace, ascending and apart from each other.
    Spans(Vec<Span>),
    /// It does not occur.
    Nothing,
    /// It occurs more than once, but one place was wanted.
    Several { count: u64, lines: Vec<u64> },
    /// It occurs, but the new text is the same there.
    Same,
}

/// Looks for `old` in `text`, everywhere with `all`, and says what has to change for `new` to be there.
///
/// A `\n` of `old` also matches `\r\n`, unless `old` itself has a `\r`: then it is meant literally. A `\n` of
/// `new` becomes the line end of the place. Lines that `old` and `new` share at their ends are left out, so that
/// they keep whatever line end they have.
pub(crate) fn find(text: &str, old: &str, new: &str, all: bool) -> Found {
    let literal = old.contains('\r');
    let plain = if !literal && old.contains('\n') {
        Plain::of(text)
    } else {
        Plain::same(text)
    };
    let new = if plain.returns.is_empty() {
        Cow::Borrowed(new)
    } else {
        Cow::Owned(new.replace("\r\n", "\n"))
    };
    let finder = memmem::Finder::new(old);
    let starts: Vec<usize> = finder.find_iter(plain.text.as_bytes()).collect();
    let Some(&first) = starts.first() else {
        return Found::Nothing;
    };
    if !all {
        // Places that overlap are different places too: `aa` is twice in `aaa`.
        let step = old.chars().next().map_or(1, char::len_utf8);
        let next = finder
            .find(&plain.text.as_bytes()[first + step..])
            .map(|at| first + step + at);
        if let Some(next) = next {
            let places = if starts.len() > 1 {
                starts
            } else {
                vec![first, next]
            };
            let lines = line_numbers(&plain.text, &places[..places.len().min(MAX_LISTED_LINES)]);
            return Found::Several {
                count: places.len() as u64,
                lines,
            };
        }
    }
    if *new == *old {
        return Found::Same;
    }
    let (prefix, suffix) = shared_ends(old, &new);
    let middle = &new[prefix..new.len() - suffix];
    let spans = starts
        .into_iter()
        .map(|start| {
            let range = plain.original(start + prefix)..plain.original(start + old.len() - suffix);
            let with = match LineEnd::near(text, range.start) {
                Some(line_end) if !literal => line_end.apply(middle).into_owned(),
                _ => middle.to_owned(),
            };
            Span { range, with }
        })
        .collect();
    Found::Spans(spans)
}

/// A text in which every line ends in `\n`.
struct Plain<'a> {
    text: Cow<'a, str>,
    /// Offsets in `text` of each `\n` that was `\r\n`.
    returns: Vec<usize>,
}

impl<'a> Plain<'a> {
    fn same(text: &'a str) -> Self {
        Self {
            text: Cow::Borrowed(text),
            returns: Vec::new(),
        }
    }

    fn of(original: &'a str) -> Self {
        let mut text = String::new();
        let mut returns = Vec::new();
        let mut from = 0;
        for at in memmem::find_iter(original.as_bytes(), "\r\n") {
            if returns.is_empty() {
                text.reserve(original.len());
            }
            text.push_str(&original[from..at]);
            returns.push(text.len());
            from = at + 1;
        }
        if returns.is_empty() {
            return Self::same(original);
        }
        text.push_str(&original[from..]);
        Self {
            text: Cow::Owned(text),
            returns,
        }
    }

    /// The offset in the original; that of the `\r` where `\n` stands for both.
    fn original(&self, offset: usize) -> usize {
        offset + self.returns.partition_point(|at| *at < offset)
    }
}

/// How many bytes two texts share at their beginning and at their end, in whole characters.
fn shared_ends(old: &str, new: &str) -> (usize, usize) {
    let same = |(one, other): &(char, char)| one == other;
    let prefix = old
        .chars()
        .zip(new.chars())
        .take_while(same)
        .map(|(c, _)| c.len_utf8())
        .sum::<usize>();
    let (old, new) = (&old[prefix..], &new[prefix..]);
    let suffix = old
        .chars()
        .rev()
        .zip(new.chars().rev())
        .take_while(same)
        .map(|(c, _)| c.len_utf8())
        .sum();
    (prefix, suffix)
}

/// The 1-based lines of ascending offsets.
fn line_numbers(text: &str, offsets: &[usize]) -> Vec<u64> {
    let (mut from, mut line) = (0, 1);
    let mut numbers = Vec::with_capacity(offsets.len());
    for &offset in offsets {
        line += memchr::memchr_iter(b'\n', &text.as_bytes()[from..offset]).count() as u64;
        from = offset;
        numbers.push(line);
    }
    numbers
}

/// The text after the spans are replaced.
#[cfg(test)]
pub(crate) fn replaced(text: &str, spans: &[Span]) -> String {
    let mut result = String::with_capacity(text.len());
    let mut from = 0;
    for span in spans {
        result.push_str(&text[from..span.range.start]);
        result.push_str(&span.with);
        from = span.range.end;
    }
    result.push_str(&text[from..]);
    result
}

#[cfg(test)]
mod tests;
