//! What was acknowledged is there, or the opening says that it is not: after a kill, with damage anywhere behind the last
//! clean close.

use std::fs;
use std::path::{Path, PathBuf};

use rtc_store::{Batch, Error, Key, SledOptions, SledStore, Store};
use tempfile::{TempDir, tempdir};

use crate::harness::open;

/// A folder with what a killed process leaves: the files as they are, and no clean close.
struct Killed {
    /// The paths below the folder, with their bytes.
    files: Vec<(PathBuf, Vec<u8>)>,
    /// What was acknowledged.
    expected: Vec<(Key, Vec<u8>)>,
    /// From where on the log was written after the last clean close.
    begin: usize,
}

impl Killed {
    /// Some commits, a clean close, and some more.
    async fn after(commits: u32, bytes: usize) -> Self {
        let folder = tempdir().unwrap();
        let mut expected = Vec::new();
        let store = open(folder.path());
        for number in 0..8 {
            expected.push(put(&store, number, 100).await);
        }
        drop(store);
        let store = open(folder.path());
        let begin = end_of(&fs::read(folder.path().join("db/db")).unwrap());
        for number in 8..8 + commits {
            expected.push(put(&store, number, bytes).await);
        }
        let mut files = read(folder.path());
        // Its background thread may be in the middle of something.
        loop {
            let again = read(folder.path());
            if again == files {
                break;
            }
            files = again;
        }
        Self {
            files,
            expected,
            begin,
        }
    }

    fn log(&self) -> &[u8] {
        let log = self.files.iter().find(|(path, _)| path.ends_with("db/db"));
        &log.unwrap().1
    }

    /// The folder anew, with another log.
    fn with_log(&self, log: &[u8]) -> TempDir {
        let folder = tempdir().unwrap();
        for (path, bytes) in &self.files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, if path.ends_with("db/db") { log } else { bytes }).unwrap();
        }
        folder
    }

    /// What becomes of it with this log.
    async fn outcome(&self, log: &[u8]) -> Outcome {
        let folder = self.with_log(log);
        let store = match SledStore::open(folder.path(), &SledOptions::default()) {
            Ok(store) => store,
            Err(Error::Damaged { .. }) => return Outcome::Told,
            Err(error) => panic!("{error}"),
        };
        for (key, value) in &self.expected {
            match store.get(key).await {
                Ok(Some(entry)) if entry.value == *value => {}
                Ok(_) => return Outcome::Lost,
                Err(Error::Damaged { .. }) => return Outcome::Told,
                Err(error) => panic!("{error}"),
            }
        }
        Outcome::Whole
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// All that was acknowledged is there.
    Whole,
    /// An error says that it is damaged.
    Told,
    /// Something is missing without a word.
    Lost,
}

async fn put(store: &SledStore, number: u32, bytes: usize) -> (Key, Vec<u8>) {
    let key = Key::from(format!("{:03}", number * 7 % 500));
    let value = format!("{number:0bytes$}").into_bytes();
    let mut batch = Batch::new();
    batch.put(key.clone(), value.clone());
    store.commit(batch).await.unwrap();
    (key, value)
}

fn read(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for below in ["", "db"] {
        for entry in fs::read_dir(folder.join(below)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().to_owned();
            if path.is_file() && !name.starts_with("lock") && !name.to_string_lossy().starts_with("reserve") {
                files.push((name, fs::read(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

/// Where the zeros at the end begin.
fn end_of(log: &[u8]) -> usize {
    log.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
}

fn flipped(log: &[u8], place: usize) -> Vec<u8> {
    let mut flipped = log.to_vec();
    flipped[place] ^= 0x10;
    flipped
}

#[tokio::test]
async fn a_damaged_end_of_the_log_is_told_also_after_a_kill() {
    let killed = Killed::after(60, 500).await;
    let log = killed.log();
    assert_eq!(killed.outcome(log).await, Outcome::Whole);
    let (begin, end) = (killed.begin, end_of(log));
    assert!(end > begin + 30_000);
    let mut told = 0;
    for place in (begin..end).step_by(397) {
        let outcome = killed.outcome(&flipped(log, place)).await;
        assert_ne!(outcome, Outcome::Lost, "byte {place} flipped");
        told += u32::from(outcome == Outcome::Told);
    }
    assert!(told > 50, "{told}");
    for place in (begin..end).step_by(4999) {
        assert_eq!(
            killed.outcome(&log[..place]).await,
            Outcome::Told,
            "cut at {place}"
        );
        let mut zeroed = log.to_vec();
        zeroed[place..].fill(0);
        assert_eq!(killed.outcome(&zeroed).await, Outcome::Told, "zero from {place}");
    }
}

#[tokio::test]
async fn a_page_that_cannot_be_read_is_told_when_the_store_is_opened() {
    // Opened once more, its end is known to the database, and the pages are read only when they are asked for.
    let killed = Killed::after(60, 500).await;
    let log = killed.log();
    let mut told = 0;
    for place in (600..end_of(log)).step_by(1999) {
        let folder = killed.with_log(log);
        drop(open(folder.path()));
        let path = folder.path().join("db/db");
        let damaged = flipped(&fs::read(&path).unwrap(), place);
        fs::write(&path, damaged).unwrap();
        let Ok(store) = SledStore::open(folder.path(), &SledOptions::default()) else {
            told += 1;
            continue;
        };
        for (key, value) in &killed.expected {
            assert_eq!(
                store.get(key).await.unwrap().unwrap().value,
                *value,
                "byte {place} flipped"
            );
        }
    }
    assert!(told > 5, "{told}");
}

/// A number that looks random; the same for the same seed.
fn scattered(seed: u64) -> u64 {
    let mixed = (seed ^ (seed >> 30)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 31)
}

/// How many bytes are flipped, one at a time.
const FLIPS: u64 = 300;

#[tokio::test]
async fn a_byte_flipped_anywhere_in_a_log_of_several_segments_is_told_or_harmless() {
    const SEGMENT: usize = 512 * 1024;
    let killed = Killed::after(420, 3_000).await;
    let log = killed.log();
    let end = end_of(log);
    assert!(end > 3 * SEGMENT, "{end}");
    let mut told = 0;
    for seed in 0..FLIPS {
        let place = usize::try_from(scattered(seed) % end as u64).unwrap();
        let outcome = killed.outcome(&flipped(log, place)).await;
        assert_ne!(outcome, Outcome::Lost, "byte {place} of {end} flipped");
        told += u64::from(outcome == Outcome::Told);
    }
    let segments = end / SEGMENT + 1;
    assert!(told > FLIPS / 10, "{told} of {FLIPS}, in {segments} segments");
}
