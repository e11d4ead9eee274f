//! The place in a file that looks most like a text which does not occur in it.

/// Lines of the wanted text that are compared.
const MAX_COMPARED_LINES: usize = 50;

/// Lines of the file that are compared.
const MAX_SEARCHED_LINES: usize = 200_000;

/// How alike a line must be to be told, of 100.
const MIN_LIKENESS: usize = 50;

/// Characters of the nearest line that are shown.
const SHOWN_CHARS: usize = 200;

/// A candidate for a text that was not found, with what keeps it from being found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nearest {
    /// 1-based line.
    pub line: u64,
    /// The line, clipped.
    pub text: String,
    /// The first difference in words, look-alike characters by name.
    pub difference: String,
}

/// Characters that look like another one: the character, what it looks like, its name.
const LOOK_ALIKES: [(char, char, &str); 30] = [
    ('\u{2018}', '\'', "left single quotation mark"),
    ('\u{2019}', '\'', "right single quotation mark"),
    ('\u{201A}', '\'', "low single quotation mark"),
    ('\u{2032}', '\'', "prime"),
    ('\u{00B4}', '\'', "acute accent"),
    ('\u{201C}', '"', "left double quotation mark"),
    ('\u{201D}', '"', "right double quotation mark"),
    ('\u{201E}', '"', "low double quotation mark"),
    ('\u{2033}', '"', "double prime"),
    ('\u{2010}', '-', "hyphen"),
    ('\u{2011}', '-', "non-breaking hyphen"),
    ('\u{2012}', '-', "figure dash"),
    ('\u{2013}', '-', "en dash"),
    ('\u{2014}', '-', "em dash"),
    ('\u{2015}', '-', "horizontal bar"),
    ('\u{2212}', '-', "minus sign"),
    ('\u{00A0}', ' ', "no-break space"),
    ('\u{2002}', ' ', "en space"),
    ('\u{2003}', ' ', "em space"),
    ('\u{2009}', ' ', "thin space"),
    ('\u{202F}', ' ', "narrow no-break space"),
    ('\u{3000}', ' ', "ideographic space"),
    ('\t', ' ', "tab"),
    ('\u{FF08}', '(', "fullwidth left parenthesis"),
    ('\u{FF09}', ')', "fullwidth right parenthesis"),
    ('\u{FF0C}', ',', "fullwidth comma"),
    ('\u{FF1A}', ':', "fullwidth colon"),
    ('\u{FF1B}', ';', "fullwidth semicolon"),
    ('\u{037E}', ';', "Greek question mark"),
    ('\u{2026}', '.', "ellipsis"),
];

/// Finds where `wanted`, which does not occur in `text`, nearly does.
pub(crate) fn nearest(text: &str, wanted: &str) -> Option<Nearest> {
    let wanted_lines: Vec<&str> = lines(wanted).take(MAX_COMPARED_LINES).collect();
    let wanted_folded: Vec<String> = wanted_lines.iter().map(|line| folded(line)).collect();
    let key = (0..wanted_folded.len()).max_by_key(|&at| (wanted_folded[at].len(), usize::MAX - at))?;
    if wanted_folded[key].is_empty() {
        return None;
    }
    let file_lines: Vec<&str> = lines(text).take(MAX_SEARCHED_LINES).collect();
    let file_folded: Vec<String> = file_lines.iter().map(|line| folded(line)).collect();

    // The line most like the longest wanted line decides; how many of its neighbours agree breaks ties.
    let mut best: Option<(usize, usize, usize)> = None;
    let wanted_key = &wanted_folded[key];
    let wanted_pairs = Pairs::of(wanted_key);
    for (at, line) in file_folded.iter().enumerate() {
        let likeness = if line == wanted_key {
            100
        } else if wanted_key.len() >= 3 && line.contains(wanted_key.as_str()) {
            95
        } else {
            wanted_pairs.likeness(line)
        };
        if likeness < MIN_LIKENESS || best.is_some_and(|(found, ..)| likeness < found) {
            continue;
        }
        let first = at.saturating_sub(key);
        let agreeing = wanted_folded
            .iter()
            .zip(file_folded.iter().skip(first))
            .filter(|(wanted, line)| wanted == line)
            .count();
        if best.is_none_or(|(found, neighbours, _)| (likeness, agreeing) > (found, neighbours)) {
            best = Some((likeness, agreeing, at));
        }
    }
    let (_, _, at) = best?;
    // At the very top of a file the wanted lines before the key have nothing to be compared with.
    let skipped = key.saturating_sub(at);
    let first = at + skipped - key;
    let pairs = wanted_lines
        .iter()
        .enumerate()
        .skip(skipped)
        .zip(file_lines.iter().enumerate().skip(first));
    for ((index, wanted), (line_index, line)) in pairs {
        let last = index + 1 == wanted_lines.len();
        if let Some(difference) = difference(line, wanted, index == 0, last) {
            return Some(Nearest {
                line: line_index as u64 + 1,
                text: clipped(line),
                difference,
            });
        }
    }
    let difference = "the lines before or after it differ".to_owned();
    Some(Nearest {
        line: first as u64 + 1,
        text: clipped(file_lines[first]),
        difference,
    })
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
}

/// A line without what is easily mistaken: look-alikes replaced, runs of blanks as one, none at the ends.
fn folded(line: &str) -> String {
    let mut result = String::with_capacity(line.len());
    for character in line.trim().chars() {
        let character = looks_like(character);
        if !(character == ' ' && result.ends_with(' ')) {
            result.push(character);
        }
    }
    result
}

fn looks_like(character: char) -> char {
    if character.is_ascii() && character != '\t' {
        return character;
    }
    LOOK_ALIKES
        .iter()
        .find(|(odd, ..)| *odd == character)
        .map_or(character, |(_, plain, _)| *plain)
}

/// The pairs of neighbouring bytes that a line has.
struct Pairs {
    bits: Vec<u64>,
    count: usize,
}

impl Pairs {
    fn of(line: &str) -> Self {
        let mut bits = vec![0; (1 << 16) / 64];
        for pair in pairs(line) {
            bits[pair / 64] |= 1 << (pair % 64);
        }
        Self {
            bits,
            count: line.len().saturating_sub(1),
        }
    }

    /// How alike the line is to `line`, from 0 to 90: the share of pairs that they have in common.
    fn likeness(&self, line: &str) -> usize {
        let shared = pairs(line)
            .filter(|pair| self.bits[pair / 64] & 1 << (pair % 64) != 0)
            .count();
        let all = self.count + line.len().saturating_sub(1);
        (2 * shared.min(self.count) * 90).checked_div(all).unwrap_or(0)
    }
}

fn pairs(line: &str) -> impl Iterator<Item = usize> {
    line.as_bytes()
        .windows(2)
        .map(|pair| usize::from(pair[0]) << 8 | usize::from(pair[1]))
}

/// The first difference between a line of the file and a wanted line, in words. The first wanted line may begin
/// within the line, the last may end within it.
fn difference(line: &str, wanted: &str, first: bool, last: bool) -> Option<String> {
    if line == wanted || (first && last && line.contains(wanted)) {
        return None;
    }
    if (first && !last && line.ends_with(wanted)) || (last && !first && line.starts_with(wanted)) {
        return None;
    }
    // Within a longer line, compare from where its beginning occurs.
    let skip = if first { anchor(line, wanted) } else { 0 };
    let mut file = line[skip..].chars();
    let mut text = wanted.chars();
    let mut column = line[..skip].chars().count();
    loop {
        column += 1;
        match (file.next(), text.next()) {
            (Some(one), Some(other)) if one == other => {}
            (Some(one), Some(other)) => {
                return Some(format!(
                    "at column {column} the file has {}, `old_string` has {}",
                    named(one, other),
                    named(other, one)
                ));
            }
            (Some(one), None) => {
                return Some(format!(
                    "at column {column} the file goes on with {}, where the line of `old_string` ends",
                    named(one, '?')
                ));
            }
            (None, Some(other)) => {
                return Some(format!(
                    "at column {column} the line ends, where `old_string` goes on with {}",
                    named(other, '?')
                ));
            }
            (None, None) => return None,
        }
    }
}

/// Where in `line` the comparison with `wanted` should begin.
fn anchor(line: &str, wanted: &str) -> usize {
    let plain = |text: &str| text.chars().take(8).map(looks_like).collect::<String>();
    let start = plain(wanted);
    if plain(line) == start {
        return 0;
    }
    line.char_indices()
        .map(|(at, _)| at)
        .find(|&at| plain(&line[at..]) == start)
        .unwrap_or(0)
}

/// A character as it is best told apart from `other`.
fn named(character: char, other: char) -> String {
    let code = u32::from(character);
    if let Some((_, _, name)) = LOOK_ALIKES.iter().find(|(odd, ..)| *odd == character) {
        return format!("a {name} (U+{code:04X})");
    }
    if character == ' ' {
        return "a space (U+0020)".to_owned();
    }
    if character.is_control() || character.is_whitespace() {
        return format!("U+{code:04X}");
    }
    if looks_like(other) == character || !character.is_ascii() {
        return format!("`{character}` (U+{code:04X})");
    }
    format!("`{character}`")
}

fn clipped(line: &str) -> String {
    match line.char_indices().nth(SHOWN_CHARS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, wanted: &str) -> String {
        match nearest(text, wanted) {
            Some(nearest) => format!("{}: {} ({})", nearest.line, nearest.text, nearest.difference),
            None => "nothing".to_owned(),
        }
    }

    #[test]
    fn the_first_difference_is_told() {
        let text = "fn main() {\n\tlet name = \u{201C}x\u{201D};\n    print(name);\n}\n";
        insta::assert_snapshot!(check(text, "    let name = \"x\";"), @"2: 	let name = “x”; (at column 1 the file has a tab (U+0009), `old_string` has a space (U+0020))");
        insta::assert_snapshot!(check(text, "\tlet name = \"x\";"), @r#"2: 	let name = “x”; (at column 13 the file has a left double quotation mark (U+201C), `old_string` has `"` (U+0022))"#);
        insta::assert_snapshot!(check(text, "    print(name):"), @"3:     print(name); (at column 16 the file has `;`, `old_string` has `:`)");
        insta::assert_snapshot!(check(text, "print(names);"), @"3:     print(name); (at column 15 the file has `)`, `old_string` has `s`)");
        insta::assert_snapshot!(check("a\u{a0}b c d e f\n", "a b c d e f"), @"1: a b c d e f (at column 2 the file has a no-break space (U+00A0), `old_string` has a space (U+0020))");
        insta::assert_snapshot!(check("start here   \nmiddle\n", "start here\nmiddle"), @"1: start here    (at column 11 the file goes on with a space (U+0020), where the line of `old_string` ends)");
        insta::assert_snapshot!(check("let total = count + 1;\n", "total = count - 1;"), @"1: let total = count + 1; (at column 19 the file has `+`, `old_string` has `-`)");
        insta::assert_snapshot!(check("only this\n", "only this\nand that"), @"2:  (at column 1 the line ends, where `old_string` goes on with `a`)");
        assert_eq!(check("nothing alike\n", "zzzz qqqq"), "nothing");
        assert_eq!(check("", "x"), "nothing");
        assert_eq!(check("x\n", " \n"), "nothing");
    }

    #[test]
    fn among_equal_lines_the_one_with_the_same_neighbours_wins() {
        let text = "if a {\n    run();\n}\nif b {\n    run();\n}\n";
        insta::assert_snapshot!(check(text, "if b {\n  run();\n}"), @"5:     run(); (at column 3 the file has a space (U+0020), `old_string` has `r`)");
    }
}
