//! `VPath`: where something is in a project, as people and models write it.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Error;
use crate::spelling::{named, shown, spelled};

/// Longest path that is accepted, in bytes of its names as the system has them.
pub const MAX_PATH_BYTES: usize = 4096;

/// Longest spelling of a byte of a name: `\x{ff}`.
const MAX_SPELLED_BYTES: usize = 6;

/// Characters of a path that an error shows.
const SHOWN_CHARS: usize = 200;

/// An absolute virtual path: `/` is the project folder, `/` separates names on every system.
///
/// A `VPath` never contains `.`, `..`, an empty name or a NUL, so appending it to a folder cannot climb out of
/// the folder by its spelling. Whether a *link* on the way leaves the project is decided when it is opened.
///
/// Each name that a system can have is spelled in one way, and no other name is: what does not show in a text is
/// `\u{…}`, bytes that are no Unicode are `\x{…}`, and a `\` that only looks like the beginning of one is `\u{5c}`.
///
/// ```
/// use rtc_fs::VPath;
/// let path = VPath::parse("src//./main.rs/").unwrap();
/// assert_eq!(path.as_str(), "/src/main.rs");
/// assert!(VPath::parse("/src/../etc").is_err());
/// assert_eq!(VPath::parse("two\nlines").unwrap().as_str(), r"/two\u{a}lines");
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VPath(String);

impl VPath {
    /// The project folder itself, `/`.
    pub fn root() -> Self {
        Self("/".to_owned())
    }

    /// Reads a path as it was written: a missing leading `/` is added, `//` and `.` collapse, a trailing `/` is
    /// dropped.
    ///
    /// # Errors
    /// [`Error::ParentSegment`] for `..`, [`Error::InvalidPath`] for NUL, for a path longer than
    /// [`MAX_PATH_BYTES`], and on Windows for drive letters, `\`, `:`, reserved names, 8.3 names and names that
    /// end in a dot or a space.
    pub fn parse(given: &str) -> Result<Self, Error> {
        let refuse = |reason: String| Error::InvalidPath {
            given: clipped(given),
            reason,
        };
        let too_long = |bytes: usize| refuse(format!("it has {bytes} bytes, the limit is {MAX_PATH_BYTES}"));
        if given.len() > MAX_PATH_BYTES * MAX_SPELLED_BYTES {
            return Err(too_long(given.len()));
        }
        if given.contains('\0') {
            return Err(refuse("it contains a NUL character".to_owned()));
        }
        let segments = || given.split('/').filter(|name| !name.is_empty() && *name != ".");
        if segments().any(|name| name == "..") {
            return Err(Error::ParentSegment {
                given: clipped(given),
                instead: without_parents(segments()),
            });
        }
        let mut path = String::with_capacity(given.len() + 1);
        let mut bytes = 0;
        for name in segments().map(named) {
            if cfg!(windows)
                && let Some(reason) = windows_fault(&name.to_string_lossy())
            {
                return Err(refuse(reason));
            }
            path.push('/');
            path.push_str(&spelled(&name));
            bytes += name.len() + 1;
        }
        if bytes > MAX_PATH_BYTES {
            return Err(too_long(bytes));
        }
        if path.is_empty() {
            path.push('/');
        }
        Ok(Self(path))
    }

    /// The path as text, always with a leading `/`. Nothing in it is hidden, and it parses to the same path.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path without its leading `/`; empty for the root.
    pub fn relative(&self) -> &str {
        &self.0[1..]
    }

    /// The path as it is opened beneath the project folder, with the names that the system has; empty for the root.
    pub fn native(&self) -> PathBuf {
        self.segments().map(named).collect()
    }

    /// The last name as the system has it; `None` for the root.
    pub fn native_name(&self) -> Option<OsString> {
        Some(named(self.file_name()?).into_owned())
    }

    /// Whether this is the project folder itself.
    pub fn is_root(&self) -> bool {
        self.0 == "/"
    }

    /// The path of something below this one; `name` may have several segments.
    ///
    /// # Errors
    /// As [`VPath::parse`].
    pub fn join(&self, name: &str) -> Result<Self, Error> {
        Self::parse(&format!("{}/{name}", self.0))
    }

    /// A child whose name comes from the system, and therefore needs no check.
    pub(crate) fn child(&self, name: impl AsRef<OsStr>) -> Self {
        let name = spelled(name.as_ref());
        debug_assert!(!name.is_empty() && name != ".." && !name.contains('/'));
        if self.is_root() {
            Self(format!("/{name}"))
        } else {
            Self(format!("{}/{name}", self.0))
        }
    }

    /// The folder that contains this path; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        let cut = self.0.rfind('/').unwrap_or(0);
        Some(if cut == 0 {
            Self::root()
        } else {
            Self(self.0[..cut].to_owned())
        })
    }

    /// The last name as it is spelled; `None` for the root.
    pub fn file_name(&self) -> Option<&str> {
        self.0.rsplit('/').next().filter(|name| !name.is_empty())
    }

    /// The names from the root down as they are spelled; nothing for the root.
    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.relative().split('/').filter(|name| !name.is_empty())
    }

    /// This path, its parent, and so on up to the root.
    pub fn ancestors(&self) -> impl Iterator<Item = VPath> {
        std::iter::successors(Some(self.clone()), VPath::parent)
    }

    /// Where this path, which is `from` or below it, is once `from` is `to`.
    pub(crate) fn moved(&self, from: &VPath, to: &VPath) -> Self {
        match self.0.strip_prefix(from.as_str()) {
            Some(below) => Self(format!("{}{below}", to.0)),
            None => to.clone(),
        }
    }

    /// Whether this path is `folder` or below it.
    pub fn starts_with(&self, folder: &VPath) -> bool {
        folder.is_root()
            || self
                .0
                .strip_prefix(folder.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// The path as it would be without its `..` segments taken literally: each removes the name before it.
fn without_parents<'a>(segments: impl Iterator<Item = &'a str>) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for name in segments {
        if name == ".." {
            kept.pop();
        } else {
            kept.push(name);
        }
    }
    format!("/{}", kept.join("/"))
}

/// A path as an error shows it: cut to a readable length, with everything escaped that does not show.
fn clipped(given: &str) -> String {
    match given.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", shown(&given[..end])),
        None => shown(given).into_owned(),
    }
}

/// Why a name cannot be used on Windows, where several spellings reach one file or a device.
fn windows_fault(name: &str) -> Option<String> {
    const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];
    if let Some(bad) = name
        .chars()
        .find(|c| matches!(c, '\\' | ':' | '<' | '>' | '"' | '|' | '?' | '*') || c.is_control())
    {
        return Some(format!(
            "`{}` cannot be part of a name; paths are written with `/` from the project folder",
            shown(&bad.to_string())
        ));
    }
    if name.ends_with(['.', ' ']) {
        return Some(format!("the name `{name}` ends in a dot or a space"));
    }
    let stem = name
        .split('.')
        .next()
        .unwrap_or(name)
        .trim_end()
        .to_ascii_lowercase();
    let numbered = |device: &str| {
        stem.strip_prefix(device).is_some_and(|rest| {
            rest.chars().count() == 1 && rest.chars().all(|c| c.is_ascii_digit() || "¹²³".contains(c))
        })
    };
    if DEVICES.contains(&stem.as_str()) || numbered("com") || numbered("lpt") {
        return Some(format!("`{name}` is a reserved device name"));
    }
    let short_name = stem.rsplit_once('~').is_some_and(|(head, digits)| {
        stem.len() <= 8
            && !head.is_empty()
            && !digits.is_empty()
            && digits.bytes().all(|b| b.is_ascii_digit())
    });
    short_name.then(|| format!("`{name}` looks like a short (8.3) name; use the full name"))
}

impl fmt::Display for VPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for VPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "VPath({:?})", self.0)
    }
}

impl FromStr for VPath {
    type Err = Error;

    fn from_str(given: &str) -> Result<Self, Error> {
        Self::parse(given)
    }
}

impl Serialize for VPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for VPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spellings_of_one_path() {
        for (given, want) in [
            ("", "/"),
            ("/", "/"),
            (".", "/"),
            ("a", "/a"),
            ("/a/", "/a"),
            ("//a///b/./c", "/a/b/c"),
            ("./a", "/a"),
            ("/a b/\u{e9}.md", "/a b/\u{e9}.md"),
            ("/..a/b..", "/..a/b.."),
            ("/...", "/..."),
        ] {
            assert_eq!(VPath::parse(given).unwrap().as_str(), want, "{given:?}");
        }
    }

    #[test]
    fn refusals_say_what_would_be_right() {
        let error = |given: &str| VPath::parse(given).unwrap_err().to_string();
        insta::assert_snapshot!(error("/src/../etc/passwd"), @"the path `/src/../etc/passwd` contains `..`; write it without: `/etc/passwd`");
        insta::assert_snapshot!(error("../x"), @"the path `../x` contains `..`; write it without: `/x`");
        insta::assert_snapshot!(error("/a\0b"), @r"the path `/a\u{0}b` cannot be used: it contains a NUL character");
        assert!(error(&"x".repeat(MAX_PATH_BYTES + 1)).contains("the limit is 4096"));
        assert!(VPath::parse(&format!("/{}", "x".repeat(MAX_PATH_BYTES - 1))).is_ok());
    }

    #[test]
    fn windows_names() {
        for bad in [
            "C:",
            "a\\b",
            "x.txt:stream",
            "nul",
            "CON.txt",
            "com1",
            "LPT\u{b9}.log",
            "a.",
            "a ",
            "PROGRA~1",
            "a?",
        ] {
            assert!(windows_fault(bad).is_some(), "{bad}");
        }
        for good in [
            "console",
            "com",
            "com10",
            "a.b",
            "~",
            "backup~",
            "~1",
            "longername~1",
            ".env",
        ] {
            assert!(windows_fault(good).is_none(), "{good}");
        }
    }

    #[test]
    fn relations() {
        let path = VPath::parse("/a/b/c.txt").unwrap();
        assert_eq!(path.file_name(), Some("c.txt"));
        assert_eq!(path.relative(), "a/b/c.txt");
        let up: Vec<String> = path.ancestors().map(|path| path.to_string()).collect();
        assert_eq!(up, ["/a/b/c.txt", "/a/b", "/a", "/"]);
        assert_eq!(path.segments().collect::<Vec<_>>(), ["a", "b", "c.txt"]);
        assert!(path.starts_with(&VPath::parse("/a").unwrap()));
        assert!(!path.starts_with(&VPath::parse("/a/b/c").unwrap()));
        assert!(path.starts_with(&VPath::root()) && path.starts_with(&path));
        assert_eq!(VPath::root().parent(), None);
        assert_eq!(VPath::root().file_name(), None);
        assert_eq!(VPath::root().join("x/y").unwrap().as_str(), "/x/y");
        assert!(path.join("../x").is_err());
        assert_eq!(serde_json::to_string(&path).unwrap(), "\"/a/b/c.txt\"");
        assert_eq!(
            serde_json::from_str::<VPath>("\"a//b\"").unwrap().as_str(),
            "/a/b"
        );
        assert!(serde_json::from_str::<VPath>("\"/a/../b\"").is_err());
    }

    proptest! {
        #[test]
        fn parse_is_idempotent_and_never_climbs(given in "[a-c./\\\\ \u{e9}]{0,24}") {
            match VPath::parse(&given) {
                Ok(path) => {
                    prop_assert_eq!(&VPath::parse(path.as_str()).unwrap(), &path);
                    prop_assert!(path.as_str().starts_with('/'));
                    prop_assert!(path.segments().all(|name| name != ".." && name != "." && !name.is_empty()));
                }
                Err(Error::ParentSegment { instead, .. }) => {
                    prop_assert!(given.split('/').any(|name| name == ".."));
                    prop_assert!(VPath::parse(&instead).is_ok());
                }
                Err(_) => prop_assert!(cfg!(windows)),
            }
        }
    }
}
