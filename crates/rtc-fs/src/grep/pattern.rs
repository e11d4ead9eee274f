//! The regular expression of a search: checked first, so that an error can tell where it is wrong.

use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};

use crate::Error;

/// Largest compiled pattern, in bytes. Repetitions multiply, so a short pattern can become a very large one.
const MAX_COMPILED_BYTES: usize = 16 << 20;

/// Memory that one thread keeps of what the pattern has seen, in bytes; beyond it, searching gets slower.
const MATCH_CACHE_BYTES: usize = 16 << 20;

/// Whether line ends are `\r\n` as well as `\n` for this pattern, so that `$` matches before both. A pattern that
/// itself speaks of `\r` sees the text as it is.
pub(crate) fn either_line_end(pattern: &str) -> bool {
    !(pattern.contains('\r')
        || pattern.contains(r"\r")
        || pattern.contains(r"\x0d")
        || pattern.contains(r"\x0D"))
}

/// Compiles `pattern`.
///
/// # Errors
/// [`Error::InvalidPattern`], with the place and the reason.
pub(crate) fn compile(pattern: &str, case_sensitive: bool, multiline: bool) -> Result<RegexMatcher, Error> {
    let refuse = |reason: String| Error::InvalidPattern {
        pattern: pattern.to_owned(),
        reason,
    };
    let parsed = regex_syntax::ParserBuilder::new()
        .utf8(false)
        .multi_line(true)
        .build()
        .parse(pattern);
    if let Err(error) = parsed {
        let (offset, reason) = match &error {
            regex_syntax::Error::Parse(error) => (error.span().start.offset, error.kind().to_string()),
            regex_syntax::Error::Translate(error) => (error.span().start.offset, error.kind().to_string()),
            other => (0, other.to_string()),
        };
        return Err(refuse(explained(pattern, offset, &reason)));
    }
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .case_insensitive(!case_sensitive)
        .dot_matches_new_line(multiline)
        .size_limit(MAX_COMPILED_BYTES)
        .dfa_size_limit(MATCH_CACHE_BYTES);
    if either_line_end(pattern) {
        builder.crlf(true);
    } else {
        builder.line_terminator(Some(b'\n'));
    }
    if multiline {
        builder.line_terminator(None);
    }
    builder.build(pattern).map_err(|error| {
        refuse(match error.kind() {
            ErrorKind::NotAllowed(_) | ErrorKind::Banned(_) => {
                "it contains a line break, but lines are searched one by one; set `multiline`".to_owned()
            }
            _ => last_line(&error.to_string()),
        })
    })
}

/// `at character N (`x`): reason`.
fn explained(pattern: &str, offset: usize, reason: &str) -> String {
    let before = pattern.get(..offset).unwrap_or(pattern);
    let position = before.chars().count() + 1;
    match pattern[before.len()..].chars().next() {
        Some(character) => {
            let literal = if regex_syntax::is_meta_character(character) {
                format!("; a literal `{character}` is written `\\{character}`")
            } else {
                String::new()
            };
            format!("at character {position} (`{character}`): {reason}{literal}")
        }
        None => format!("at its end: {reason}"),
    }
}

/// The last line of the engine's messages is the reason; those before it draw the pattern.
fn last_line(message: &str) -> String {
    message
        .lines()
        .last()
        .unwrap_or(message)
        .trim_start_matches("error: ")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_tell_place_and_reason() {
        let error = |pattern: &str| compile(pattern, true, false).unwrap_err().to_string();
        insta::assert_snapshot!(error("foo(bar"), @r"the pattern `foo(bar` is not valid: at character 4 (`(`): unclosed group; a literal `(` is written `\(`");
        insta::assert_snapshot!(error("interface{}"), @r"the pattern `interface{}` is not valid: at character 11 (`}`): repetition quantifier expects a valid decimal; a literal `}` is written `\}`");
        insta::assert_snapshot!(error("é*[z-a]"), @"the pattern `é*[z-a]` is not valid: at character 4 (`z`): invalid character class range, the start must be <= the end");
        insta::assert_snapshot!(error(r"a\q"), @r"the pattern `a\q` is not valid: at character 2 (`\`): unrecognized escape sequence; a literal `\` is written `\\`");
        insta::assert_snapshot!(error(r"\p{Nope}"), @r"the pattern `\p{Nope}` is not valid: at character 1 (`\`): Unicode property not found; a literal `\` is written `\\`");
        insta::assert_snapshot!(error(r"a(?=b)"), @r"the pattern `a(?=b)` is not valid: at character 2 (`(`): look-around, including look-ahead and look-behind, is not supported; a literal `(` is written `\(`");
        insta::assert_snapshot!(error(r"one\ntwo"), @r"the pattern `one\ntwo` is not valid: it contains a line break, but lines are searched one by one; set `multiline`");
        insta::assert_snapshot!(error(r"a{1000}{1000}{1000}"), @"the pattern `a{1000}{1000}{1000}` is not valid: compiled regex exceeds size limit of 16777216");
        assert!(compile(r"one\ntwo", true, true).is_ok());
        assert!(compile(r"end\r$", true, false).is_ok());
    }
}
