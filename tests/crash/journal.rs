//! What a full run has already done: one that was broken off goes on from there.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

/// The file, a line for each case that went well; named by `cargo xtask crash`.
const FILE: &str = "RTC_CRASH_JOURNAL";

/// The journal of the cases of one test.
pub(crate) struct Journal {
    title: &'static str,
    /// By case: the points that its visits came to; nothing where the run ended before.
    done: HashMap<String, Vec<Option<String>>>,
    file: Option<Mutex<File>>,
}

impl Journal {
    /// What the file that the environment names has of this title.
    pub(crate) fn open(title: &'static str) -> Self {
        match std::env::var_os(FILE) {
            Some(file) => Self::read(title, Path::new(&file)),
            None => Self {
                title,
                done: HashMap::new(),
                file: None,
            },
        }
    }

    fn read(title: &'static str, path: &Path) -> Self {
        let file = OpenOptions::new().append(true).create(true).open(path);
        let text = std::fs::read_to_string(path).expect("the journal can be read");
        let mut done: HashMap<String, Vec<Option<String>>> = HashMap::new();
        // The last line may be a part of one: its case is done again.
        for line in text.lines() {
            let Ok(Value::Array(parts)) = serde_json::from_str(line) else {
                continue;
            };
            if let [of, Value::String(case), point] = &parts[..]
                && of == title
            {
                let point = point.as_str().map(str::to_owned);
                done.entry(case.clone()).or_default().push(point);
            }
        }
        Self {
            title,
            done,
            file: Some(Mutex::new(file.expect("the journal can be written"))),
        }
    }

    /// What became of a case in an earlier run, once for each time.
    pub(crate) fn take(&mut self, case: &str) -> Option<Option<String>> {
        self.done.get_mut(case)?.pop()
    }

    /// Notes what became of a case.
    pub(crate) fn note(&self, case: &str, point: Option<&str>) {
        if let Some(file) = &self.file {
            let line = format!("\n{}\n", json!([self.title, case, point]));
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            file.write_all(line.as_bytes())
                .expect("the journal can be written");
        }
    }
}

#[test]
fn a_run_that_was_broken_off_goes_on_from_what_it_has_done() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("journal");
    let journal = Journal::read("once", &path);
    journal.note("a", Some("before a commit"));
    journal.note("a", Some("before a commit"));
    journal.note("b", None);
    Journal::read("twice", &path).note("a", Some("after"));
    drop(journal);
    let whole = std::fs::read_to_string(&path).expect("it can be read");
    std::fs::write(&path, format!("{whole}[\"once\",\"c\",\"be")).expect("it can be written");

    let mut journal = Journal::read("once", &path);
    let before = Some(Some("before a commit".to_owned()));
    assert_eq!(
        (journal.take("a"), journal.take("a"), journal.take("a")),
        (before.clone(), before, None)
    );
    assert_eq!((journal.take("b"), journal.take("b")), (Some(None), None));
    assert_eq!(journal.take("c"), None, "a part of a line is none");
    journal.note("c", None);
    assert_eq!(Journal::read("once", &path).take("c"), Some(None));
}
