//! What a walk could not read.

use std::collections::BTreeSet;

use serde::Serialize;

use super::count;

/// How many are named; the others are only counted.
const MAX_NAMED: usize = 3;

/// Files and folders that could not be read: how many, and the first by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Unreadable {
    /// How many there are.
    pub count: u64,
    /// The first three in their order, as they are shown.
    pub names: BTreeSet<String>,
}

impl Unreadable {
    pub(crate) fn add(&mut self, name: String) {
        self.count += 1;
        self.names.insert(name);
        while self.names.len() > MAX_NAMED {
            self.names.pop_last();
        }
    }

    pub(crate) fn take_over(&mut self, other: Unreadable) {
        let unnamed = other.count - other.names.len() as u64;
        other.names.into_iter().for_each(|name| self.add(name));
        self.count += unnamed;
    }

    /// What is said about them, if there are any.
    pub(crate) fn note(&self) -> Option<String> {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let rest = self.count.checked_sub(names.len() as u64)?;
        let more = if rest > 0 {
            format!(" and {rest} more")
        } else {
            String::new()
        };
        (self.count > 0).then(|| {
            format!(
                "{} could not be read: {}{more}",
                count(self.count, "path"),
                names.join(", ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_are_named_and_the_rest_is_counted() {
        let of = |names: &[&str]| {
            let mut unreadable = Unreadable::default();
            names.iter().for_each(|name| unreadable.add((*name).to_owned()));
            unreadable
        };
        assert_eq!(of(&[]).note(), None);
        insta::assert_snapshot!(of(&["/a"]).note().unwrap(), @"1 path could not be read: /a");
        insta::assert_snapshot!(of(&["/d", "/b", "/c", "/a"]).note().unwrap(), @"4 paths could not be read: /a, /b, /c and 1 more");
        let mut all = of(&["/c", "/e", "/f"]);
        all.take_over(of(&["/d", "/b", "/g", "/a"]));
        insta::assert_snapshot!(all.note().unwrap(), @"7 paths could not be read: /a, /b, /c and 4 more");
    }
}
