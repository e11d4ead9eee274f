//! Ordered keys, and the spans of keys that a scan covers.

use std::fmt;
use std::ops::Bound;

/// A key: bytes, ordered as bytes. What they mean is the caller's affair.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Key(Vec<u8>);

impl Key {
    /// The bytes of the key.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes of the key, owned.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

impl From<Vec<u8>> for Key {
    fn from(bytes: Vec<u8>) -> Self {
        Key(bytes)
    }
}

impl From<&[u8]> for Key {
    fn from(bytes: &[u8]) -> Self {
        Key(bytes.to_vec())
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Key(text.as_bytes().to_vec())
    }
}

impl From<String> for Key {
    fn from(text: String) -> Self {
        Key(text.into_bytes())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0.escape_ascii())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Key({self})")
    }
}

/// A half-open span of keys; never empty by its bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    start: Vec<u8>,
    end: Option<Vec<u8>>,
}

impl Span {
    /// All keys that begin with `prefix`, strictly after `after` and strictly before `before`; `None` if
    /// there can be none.
    pub(crate) fn new(prefix: &[u8], after: Option<&[u8]>, before: Option<&[u8]>) -> Option<Span> {
        let mut start = prefix.to_vec();
        if let Some(after) = after {
            // The least key that is greater than `after`.
            let mut next = after.to_vec();
            next.push(0);
            start = start.max(next);
        }
        let mut end = successor(prefix);
        if let Some(before) = before {
            end = Some(match end {
                Some(end) => end.min(before.to_vec()),
                None => before.to_vec(),
            });
        }
        match end {
            Some(end) if start >= end => None,
            end => Some(Span { start, end }),
        }
    }

    /// Where it begins, and what it ends before; nothing of a span without an end.
    pub(crate) fn into_ends(self) -> Option<(Vec<u8>, Vec<u8>)> {
        Some((self.start, self.end?))
    }

    /// The span as the bounds that ordered maps take.
    pub(crate) fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        let end = match &self.end {
            Some(end) => Bound::Excluded(end.as_slice()),
            None => Bound::Unbounded,
        };
        (Bound::Included(self.start.as_slice()), end)
    }
}

/// The least key that is greater than every key beginning with `prefix`; `None` if there is no such key.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let kept = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut next = prefix[..=kept].to_vec();
    next[kept] += 1;
    Some(next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_key_shows_itself_as_escaped_text() {
        insta::assert_snapshot!(format!("{:?}", Key::from(vec![b'a', b'/', 0, 255])), @r"Key(a/\x00\xff)");
    }

    fn small_key() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(prop_oneof![Just(0u8), Just(1), Just(254), Just(255)], 0..4)
    }

    proptest! {
        #[test]
        fn a_span_holds_exactly_the_keys_asked_for(
            prefix in small_key(),
            after in proptest::option::of(small_key()),
            before in proptest::option::of(small_key()),
            key in small_key(),
        ) {
            let wanted = key.starts_with(&prefix)
                && after.as_ref().is_none_or(|after| key > *after)
                && before.as_ref().is_none_or(|before| key < *before);
            let held = Span::new(&prefix, after.as_deref(), before.as_deref())
                .is_some_and(|span| std::ops::RangeBounds::<[u8]>::contains(&span.bounds(), key.as_slice()));
            prop_assert_eq!(held, wanted);
        }
    }
}
