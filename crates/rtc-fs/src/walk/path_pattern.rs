//! Globs as `find` and the file filter of `grep` read them.

use std::borrow::Cow;

use globset::GlobBuilder;
use regex::Regex;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use crate::spelling::{glob, matched};
use crate::{Error, VPath};

/// Longest glob that is accepted, in bytes. Alternatives multiply, so a long glob can compile to a very large one.
const MAX_GLOB_BYTES: usize = 1024;

/// A glob over virtual paths. `*` and `?` stay within one name, `**` crosses folders.
///
/// Without a `/` it is matched against the name of an entry at any depth; with one, against the path below the
/// folder where the search began and against the absolute path. How Unicode spells a name (NFC or NFD) does not
/// matter, and a name may be written as it is shown.
#[derive(Debug)]
pub(crate) struct PathPattern {
    expression: Regex,
    by_name: bool,
    folders_only: bool,
}

impl PathPattern {
    /// Reads a glob.
    ///
    /// # Errors
    /// [`Error::InvalidPattern`] with the reason.
    pub(crate) fn parse(given: &str) -> Result<Self, Error> {
        let refuse = |reason: String| Error::InvalidPattern {
            pattern: given.to_owned(),
            reason,
        };
        let spelled: String = glob(given).nfc().collect();
        let folders_only = spelled.len() > 1 && spelled.ends_with('/');
        let mut glob = spelled.trim_end_matches('/');
        while let Some(rest) = glob.strip_prefix("./") {
            glob = rest;
        }
        if glob.is_empty() || glob == "." {
            return Err(refuse("it names nothing; `**` matches everything".to_owned()));
        }
        if glob.len() > MAX_GLOB_BYTES {
            return Err(refuse(format!(
                "it has {} bytes, the limit is {MAX_GLOB_BYTES}",
                glob.len()
            )));
        }
        let parsed = GlobBuilder::new(glob)
            .literal_separator(true)
            .backslash_escape(true)
            .empty_alternates(true)
            .build()
            .map_err(|error| refuse(error.kind().to_string()))?;
        let expression =
            Regex::new(&over_characters(parsed.regex())).map_err(|error| refuse(error.to_string()))?;
        Ok(Self {
            by_name: !glob.contains('/'),
            expression,
            folders_only,
        })
    }

    /// Whether `path`, found in a search that began at `start`, is meant.
    pub(crate) fn matches(&self, start: &VPath, path: &VPath, is_folder: bool) -> bool {
        if self.folders_only && !is_folder {
            return false;
        }
        if self.by_name {
            return path
                .file_name()
                .is_some_and(|name| self.expression.is_match(&composed(&matched(name))));
        }
        let absolute = matched(path.as_str());
        let absolute = composed(&absolute);
        if self.expression.is_match(&absolute) {
            return true;
        }
        below(start, path).is_some_and(|relative| self.expression.is_match(&composed(&matched(relative))))
    }
}

/// The expression of a glob matches bytes: `?` would be one byte of a character. The same over characters.
fn over_characters(expression: &str) -> String {
    let mut rest = expression.strip_prefix("(?-u)").unwrap_or(expression);
    let mut text = String::from("(?s)");
    let mut character = Vec::new();
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let escaped = &rest[at + 1..];
        let byte = escaped
            .strip_prefix('x')
            .and_then(|digits| u8::from_str_radix(digits.get(..2)?, 16).ok());
        if let Some(byte) = byte {
            character.push(byte);
            if let Ok(whole) = std::str::from_utf8(&character) {
                text.push_str(whole);
                character.clear();
            }
            rest = &escaped[3..];
        } else {
            let length = escaped.chars().next().map_or(0, char::len_utf8);
            text.push('\\');
            text.push_str(&escaped[..length]);
            rest = &escaped[length..];
        }
    }
    text.push_str(rest);
    text
}

/// The part of `path` below `start`; a search that begins at a file has its name.
fn below<'a>(start: &VPath, path: &'a VPath) -> Option<&'a str> {
    if start.is_root() {
        return Some(path.relative());
    }
    match path.as_str().strip_prefix(start.as_str())? {
        "" => path.file_name(),
        rest => rest.strip_prefix('/'),
    }
}

/// The composed (NFC) spelling, without a copy in the usual case that it is spelled so already.
fn composed(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.nfc().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(glob: &str, start: &str, path: &str) -> bool {
        let folder = path.ends_with('/');
        let pattern = PathPattern::parse(glob).unwrap();
        pattern.matches(
            &VPath::parse(start).unwrap(),
            &VPath::parse(path).unwrap(),
            folder,
        )
    }

    #[test]
    fn what_globs_match() {
        for (glob, start, path, want) in [
            ("*.md", "/", "/README.md", true),
            ("*.md", "/", "/docs/deep/a.md", true),
            ("*.md", "/", "/docs/a.mdx", false),
            ("a", "/", "/b/a", true),
            ("a", "/", "/a/b", false),
            ("docs/*.md", "/", "/docs/a.md", true),
            ("docs/*.md", "/", "/docs/deep/a.md", false),
            ("docs/*.md", "/", "/x/docs/a.md", false),
            ("docs/*.md", "/x", "/x/docs/a.md", true),
            ("/x/docs/*.md", "/x", "/x/docs/a.md", true),
            ("/docs/*.md", "/x", "/x/docs/a.md", false),
            ("**/*.go", "/", "/main.go", true),
            ("**/*.go", "/", "/a/b/main.go", true),
            ("src/**", "/", "/src/a/b.rs", true),
            ("src/**", "/", "/src", false),
            ("src/**/x.rs", "/", "/src/x.rs", true),
            ("**", "/", "/a/b/c", true),
            ("*", "/", "/a/b/c", true),
            ("./src/*", "/", "/src/a", true),
            ("*.{ts,tsx}", "/", "/ui/a.tsx", true),
            ("*.{ts,tsx}", "/", "/ui/a.t", false),
            ("{src,ui}/*", "/", "/ui/a.tsx", true),
            ("a{,b}.txt", "/", "/a.txt", true),
            ("[ab]?.rs", "/", "/b1.rs", true),
            ("[!ab]?.rs", "/", "/b1.rs", false),
            ("a?b", "/", "/a/b", false),
            (r"\*.md", "/", "/*.md", true),
            (r"\*.md", "/", "/a.md", false),
            ("(x).md", "/", "/(x).md", true),
            ("src/", "/", "/src/", true),
            ("src/", "/", "/src", false),
            ("a.txt", "/a.txt", "/a.txt", true),
            ("README.md", "/", "/readme.md", false),
            // Composed against decomposed, both ways.
            ("caf\u{e9}*", "/", "/cafe\u{301}.txt", true),
            ("cafe\u{301}*", "/", "/x/caf\u{e9}.txt", true),
            ("x/cafe\u{301}?txt", "/", "/x/caf\u{e9}.txt", true),
            // One character, however many bytes it has.
            ("caf?", "/", "/cafe\u{301}", true),
            ("\u{7b2c}?\u{7ae0}", "/", "/\u{7b2c}\u{4e00}\u{7ae0}", true),
            ("[\u{e8}-\u{ea}]", "/", "/\u{e9}", true),
            ("[!\u{e9}]", "/", "/\u{e9}", false),
            (r"a\\xe9", "/", r"/a\xe9", true),
        ] {
            assert_eq!(matches(glob, start, path), want, "{glob} from {start} on {path}");
        }
    }

    #[test]
    fn refusals_tell_the_reason() {
        let error = |glob: &str| PathPattern::parse(glob).unwrap_err().to_string();
        insta::assert_snapshot!(error("a[b"), @"the pattern `a[b` is not valid: unclosed character class; missing ']'");
        insta::assert_snapshot!(error("{a,b"), @"the pattern `{a,b` is not valid: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)");
        insta::assert_snapshot!(error("a}"), @"the pattern `a}` is not valid: unopened alternate group; missing '{' (maybe escape '}' with '[}]'?)");
        insta::assert_snapshot!(error("[z-a]"), @"the pattern `[z-a]` is not valid: invalid range; 'z' > 'a'");
        insta::assert_snapshot!(error("./"), @"the pattern `./` is not valid: it names nothing; `**` matches everything");
        assert!(error(&"x".repeat(MAX_GLOB_BYTES + 1)).contains("the limit is 1024"));
    }
}
