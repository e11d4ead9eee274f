//! What a full run counted, as a section of `docs/durability.md`.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};

/// What the section stands between.
const BEGIN: &str = "<!-- Written by `cargo xtask crash --full`. -->";
const END: &str = "<!-- Until here. -->";

/// The kills of a run: what each test counted, by point.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Figures {
    tests: BTreeMap<String, BTreeMap<String, usize>>,
    /// The test whose counts are being read.
    reading: Option<String>,
}

impl Figures {
    /// Takes the next line of what the tests say: `killed once: 12 kills`, after it `12  before a commit` for each point.
    pub(super) fn read(&mut self, line: &str) {
        if let Some(title) = title(line) {
            self.tests.entry(title.to_owned()).or_default();
            self.reading = Some(title.to_owned());
            return;
        }
        let Some(counts) = self.reading.as_ref().and_then(|title| self.tests.get_mut(title)) else {
            return;
        };
        let count = line
            .starts_with(' ')
            .then(|| line.trim_start().split_once("  "))
            .flatten()
            .and_then(|(count, point)| Some((count.parse::<usize>().ok()?, point)));
        match count {
            // Cases that came to no kill are no kills.
            Some((_, ENDED_BEFORE)) | None => self.reading = None,
            Some((count, point)) => *counts.entry(point.to_owned()).or_default() += count,
        }
    }

    /// How many kills there were.
    pub(super) fn kills(&self) -> usize {
        self.tests.values().flat_map(BTreeMap::values).sum()
    }

    /// The page with these figures in place of those that it has. `of` says of what they are.
    ///
    /// # Errors
    /// The page has no place for them.
    pub(super) fn put_into(&self, page: &str, of: &str) -> Result<String> {
        let place = || {
            let (before, rest) = page.split_once(BEGIN)?;
            Some((before, rest.split_once(END)?.1))
        };
        let (before, after) = place().with_context(|| format!("there is no `{BEGIN}` … `{END}`"))?;
        Ok(format!("{before}{BEGIN}\n\n{}\n{END}{after}", self.section(of)))
    }

    fn section(&self, of: &str) -> String {
        let mut text = format!(
            "{of}: {} kills, nothing lost, nothing done twice.\n",
            self.kills()
        );
        for (title, counts) in &self.tests {
            let all: usize = counts.values().sum();
            text.push_str(&format!("\n| {title} | {all} |\n|---|---|\n"));
            for (point, count) in counts {
                text.push_str(&format!("| {point} | {count} |\n"));
            }
        }
        text
    }
}

/// What a test prints for the cases whose run ended before it came to its point.
const ENDED_BEFORE: &str = "the run ended before";

/// The title in a line like `killed once: 12 kills`, which may stand behind what the test runner has begun.
fn title(line: &str) -> Option<&str> {
    let (title, count) = line.strip_suffix(" kills")?.rsplit_once(": ")?;
    count.parse::<usize>().ok()?;
    Some(title.rsplit_once(" ... ").map_or(title, |(_, title)| title))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Figures {
        let mut figures = Figures::default();
        for line in [
            "running 3 tests",
            "killed twice: 7 kills",
            "     4  before the flush of a commit",
            "     3  after the flush of a commit",
            "     9  the run ended before",
            "     5  what nobody counts",
            "test kills::a ... killed once: 12 kills",
            "    12  after the flush of a commit",
            "     0  the run ended before",
            "no kills",
            "test kills::a ... ok",
        ] {
            figures.read(line);
        }
        figures
    }

    #[test]
    fn kills_are_added_up_from_what_the_tests_say() {
        assert_eq!(figures().kills(), 19);
        assert_eq!(Figures::default().kills(), 0);
    }

    #[test]
    fn the_page_has_the_figures_in_place_of_the_old_ones() {
        let page = format!("# Page\n\nBefore.\n\n{BEGIN}\n\nold\n{END}\n\nAfter.\n");
        let written = figures().put_into(&page, "Commit 0123abc").unwrap();
        insta::assert_snapshot!(written, @"
        # Page

        Before.

        <!-- Written by `cargo xtask crash --full`. -->

        Commit 0123abc: 19 kills, nothing lost, nothing done twice.

        | killed once | 12 |
        |---|---|
        | after the flush of a commit | 12 |

        | killed twice | 7 |
        |---|---|
        | after the flush of a commit | 3 |
        | before the flush of a commit | 4 |

        <!-- Until here. -->

        After.
        ");
        assert_eq!(figures().put_into(&written, "Commit 0123abc").unwrap(), written);
        assert!(figures().put_into("# Page", "Commit 0123abc").is_err());
    }
}
