//! The key of a model: it goes into one header and nowhere else.

use std::fmt;

/// A secret that shows itself in no log and no error.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Takes a key; white space around it, such as the line end of a file, does not belong to it.
    pub fn new(text: impl AsRef<str>) -> ApiKey {
        ApiKey(text.as_ref().trim().to_owned())
    }

    /// The secret itself.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey([redacted])")
    }
}

/// Whether a model needs a key, and which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// None is sent.
    None,
    /// This one.
    Set(ApiKey),
    /// One is needed, and this environment variable, which should hold it, is not set.
    Missing {
        /// The variable.
        variable: String,
    },
}

/// A key that is shorter is none that anybody could keep: without it, what was said stays readable.
const SHORTEST: usize = 4;

/// Removes the key, and whatever looks like one, from what a provider said.
pub(crate) fn scrub(text: &str, key: &Key) -> String {
    let text = match key {
        Key::Set(key) if key.expose().len() >= SHORTEST => text.replace(key.expose(), "[key]"),
        _ => text.to_owned(),
    };
    let word = |word: &str| {
        let bare = word.trim_start_matches(|c: char| !c.is_alphanumeric());
        if bare.starts_with("sk-") {
            "[key]".to_owned()
        } else {
            word.to_owned()
        }
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_shown_nowhere() {
        let key = Key::Set(ApiKey::new(" secret-words\n"));
        assert!(!format!("{key:?}").contains("secret"));
        let said = "no key secret-words; you sent 'sk-ab***yz' today";
        assert_eq!(scrub(said, &key), "no key [key]; you sent [key] today");
    }
}
