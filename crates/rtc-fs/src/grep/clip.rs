//! Long lines, cut to a window around the match.

use serde::Serialize;

/// Longest line that is shown whole, and the width of the window into a longer one, in characters.
pub const MAX_GREP_LINE_CHARS: usize = 500;

/// Characters of the window that lie before the match.
const CHARS_BEFORE_MATCH: usize = 150;

/// Bytes that a character has at most.
const MAX_CHAR_BYTES: usize = 4;

/// That a line is not shown whole, and where the window into it is. All counts are characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Clip {
    /// 1-based column of the first character that is shown.
    pub from: u64,
    /// 1-based column at which the first match begins; `None` for a line of context.
    pub column: Option<u64>,
    /// Length of the whole line.
    pub length: u64,
}

/// The text of a line, whole or as a window that contains the byte `match_start`. Bytes that are no UTF-8 are shown
/// as U+FFFD.
pub(crate) fn clip(line: &[u8], match_start: Option<usize>) -> (String, Option<Clip>) {
    if line.len() <= MAX_GREP_LINE_CHARS {
        return (String::from_utf8_lossy(line).into_owned(), None);
    }
    let length = characters(line);
    if length <= MAX_GREP_LINE_CHARS as u64 {
        return (String::from_utf8_lossy(line).into_owned(), None);
    }
    let at = match_start.unwrap_or(0).min(line.len());
    let (before, after) = line.split_at(at);
    let tail = &before[before
        .len()
        .saturating_sub(MAX_CHAR_BYTES * (CHARS_BEFORE_MATCH + 1))..];
    let tail = String::from_utf8_lossy(tail);
    let skipped = tail.chars().count().saturating_sub(CHARS_BEFORE_MATCH);
    let mut text: String = tail.chars().skip(skipped).collect();
    let lead = text.chars().count();
    let head = &after[..after.len().min(MAX_CHAR_BYTES * (MAX_GREP_LINE_CHARS + 1))];
    text.extend(
        String::from_utf8_lossy(head)
            .chars()
            .take(MAX_GREP_LINE_CHARS - lead),
    );
    let column = characters(before) + 1;
    let clip = Clip {
        from: column - lead as u64,
        column: match_start.map(|_| column),
        length,
    };
    (text, Some(clip))
}

/// Characters in `bytes`, each invalid sequence counted as the one U+FFFD that it is shown as.
fn characters(bytes: &[u8]) -> u64 {
    bytes
        .utf8_chunks()
        .map(|chunk| chunk.valid().chars().count() as u64 + u64::from(!chunk.invalid().is_empty()))
        .sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn windows() {
        let line = |before: usize, after: usize| format!("{}X{}", "é".repeat(before), "z".repeat(after));
        for (before, after, from, column, shown) in [
            (0, 2000, 1, 1, 500),
            (100, 2000, 1, 101, 500),
            (1000, 2000, 851, 1001, 500),
            (2000, 10, 1851, 2001, 161),
        ] {
            let line = line(before, after);
            let (text, clip) = clip(line.as_bytes(), line.find('X'));
            let length = (before + 1 + after) as u64;
            assert_eq!(
                clip,
                Some(Clip {
                    from,
                    column: Some(column),
                    length
                }),
                "{before} {after}"
            );
            assert_eq!(text.chars().count(), shown, "{before} {after}");
            let window: String = line.chars().skip(from as usize - 1).take(shown).collect();
            assert_eq!(text, window, "{before} {after}");
        }
        assert_eq!(clip("é".repeat(500).as_bytes(), Some(0)), ("é".repeat(500), None));
        assert_eq!(clip(b"caf\xe9", Some(0)).0, "caf\u{fffd}");
        // Bytes that never begin a character stay bounded too.
        assert!(clip(&vec![0x80; 100_000], Some(50_000)).0.chars().count() <= MAX_GREP_LINE_CHARS);
    }

    proptest! {
        #[test]
        fn a_window_is_bounded_and_shows_the_match(line in "[aé☃\u{1f600}]{400,900}", at in 0..900usize) {
            let Some((at, _)) = line.char_indices().nth(at) else { return Ok(()) };
            let (text, clip) = clip(line.as_bytes(), Some(at));
            prop_assert!(text.chars().count() <= MAX_GREP_LINE_CHARS);
            match clip {
                None => prop_assert_eq!(text, line),
                Some(clip) => {
                    prop_assert_eq!(clip.length, line.chars().count() as u64);
                    let column = clip.column.unwrap();
                    prop_assert_eq!(line.chars().nth(column as usize - 1), line[at..].chars().next());
                    let inside = (column - clip.from) as usize;
                    prop_assert_eq!(text.chars().nth(inside), line[at..].chars().next());
                }
            }
        }
    }
}
