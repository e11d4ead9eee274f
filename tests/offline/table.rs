//! Runs the table of phrasings.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use rtc_types::Mode;

use crate::desk::{self, Desk};
use crate::folder::{Folder, difference, read};
use crate::honesty;
use crate::phrasings::{FILES, Phrasing, chinese, english};
use crate::random::{Random, Use, Words, again, seeds};
use crate::template::fill;

/// Of the fixed seeds only every so-manieth phrasing is taken; the fresh seed takes all.
const SAMPLE: usize = 6;

/// The words of the table that name files and folders.
const NAMES: [&str; 10] = [
    "docs", "guide", "settings", "config", "src", "app", "lib", "main", "hello", "my",
];

/// The words of the table that are written in upper and lower case.
const PLAIN_NAMES: [&str; 3] = ["readme", "log", "todo"];

/// What stands for the words of the table.
struct Filling {
    words: RefCell<Words>,
    given: RefCell<HashMap<String, String>>,
}

impl Filling {
    fn new(random: Random) -> Filling {
        let given = HashMap::from([("txt".to_owned(), "txt".to_owned())]);
        Filling {
            words: RefCell::new(Words::new(random)),
            given: RefCell::new(given),
        }
    }

    fn put(&self, key: &str, text: String) {
        self.given.borrow_mut().insert(key.to_owned(), text);
    }

    fn word(&self, key: &str) -> String {
        if let Some(given) = self.given.borrow().get(key) {
            return given.clone();
        }
        let word = if key.contains(' ') {
            key.split(' ')
                .map(|key| self.word(key))
                .collect::<Vec<_>>()
                .join(" ")
        } else if let Some((before, after)) = key.split_once('?') {
            let mut word = self.word(&format!("{before}{after}"));
            let last = word.pop().expect("a word has letters");
            format!("{word}?{last}")
        } else if PLAIN_NAMES.contains(&key) {
            self.words.borrow_mut().word(Use::PlainName)
        } else if NAMES.contains(&key) {
            self.words.borrow_mut().word(Use::Name)
        } else {
            self.words.borrow_mut().word(Use::Text)
        };
        self.put(key, word.clone());
        word
    }

    fn fill(&self, template: &str) -> String {
        fill(template, |key| self.word(key))
    }
}

/// Calls of the same tool in a row run side by side, in the order of their names, which are random here.
fn in_order(mut calls: Vec<String>) -> Vec<String> {
    let tool = |call: &String| call.split(' ').next().map(str::to_owned);
    for run in calls.chunk_by_mut(|one, next| tool(one) == tool(next)) {
        run.sort();
    }
    calls
}

async fn check(desk: &Desk, phrasing: &Phrasing, seed: u64) -> Result<(), String> {
    let mut random = Random::new(seed, phrasing.request);
    let filling = Filling::new(random.clone());
    let fill = |template: &&str| filling.fill(template);
    let texts = FILES
        .iter()
        .map(|(path, text)| (fill(path), fill(text)))
        .collect();
    let mut words = filling.words.borrow().clone();
    let folder = Folder::around(texts, &mut words, &mut random);
    filling.words.replace(words);
    let ((top_folders, top_files), (folders, files)) = (folder.top(), folder.seen());
    filling.put("3", top_folders.to_string());
    filling.put("2", top_files.to_string());
    filling.put("9", files.to_string());
    filling.put("12", (folders + files).to_string());
    filling.put("11", fill(&"<hello> <world>").chars().count().to_string());

    let root = tempfile::tempdir().expect("a temporary folder");
    folder.write(root.path());
    let mut talk = desk.talk(root.path(), Mode::Edit).await;
    talk.answers = phrasing.answers.iter().map(fill).collect();
    let request = fill(&phrasing.request);
    let ended = talk.ask(&request).await;

    let mut expected = folder.texts.clone();
    expected.extend(
        phrasing
            .changes
            .iter()
            .map(|(path, text)| (fill(path), fill(text))),
    );
    let (expected, found) = (folder.bytes(&expected), read(root.path()));
    let calls: Vec<String> = in_order(phrasing.calls.iter().map(fill).collect());
    let made = in_order(ended.calls);
    let mut wrong = Vec::new();
    if made != calls {
        wrong.push(format!("calls {made:?}\n  expected {calls:?}"));
    }
    if expected != found {
        wrong.push(difference(&expected, &found));
    }
    if let Some(words) = phrasing
        .says
        .iter()
        .map(fill)
        .find(|words| !ended.answer.contains(words))
    {
        wrong.push(format!("{words:?} is missing"));
    }
    if ended.approvals > 0 {
        wrong.push("an approval was asked for".to_owned());
    }
    if let Some(claim) = honesty::claim(&ended.answer) {
        wrong.push(format!("claims: {claim}"));
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        let (wrong, answer) = (wrong.join("\n  "), ended.answer);
        Err(format!(
            "{}\n  {request}\n  {wrong}\n  answer {answer:?}",
            phrasing.request
        ))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_phrasing_has_its_effect_on_a_folder_that_it_has_not_seen() {
    let desk = Desk::open().await;
    let seeds = seeds();
    for seed in &seeds {
        let all = Some(seed) == seeds.last();
        let table = english().chain(chinese()).enumerate();
        let taken = table.filter(|(index, _)| all || (*index as u64 + seed).is_multiple_of(SAMPLE as u64));
        let checks = taken.map(|(_, phrasing)| check(&desk, phrasing, *seed));
        let failures = desk::failures(checks).await;
        assert!(
            failures.is_empty(),
            "{} failed; {}\n{}",
            failures.len(),
            again(*seed),
            failures.join("\n")
        );
    }
}

#[test]
fn the_table_is_rich() {
    let later_step = |words: &&str| words.starts_with("2. ") || words.starts_with("3. ");
    let all = || english().chain(chinese());
    assert!(english().count() >= 60 && chinese().count() >= 30);
    assert!(
        all()
            .filter(|phrasing| phrasing.says.iter().any(&later_step))
            .count()
            >= 8
    );
    let different: BTreeSet<_> = all().map(|phrasing| phrasing.request).collect();
    assert_eq!(different.len(), all().count(), "no request stands twice");
}
