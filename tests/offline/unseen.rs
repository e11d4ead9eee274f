//! Requests on projects of many files, whose result is worked out by other means than the planner's.

use std::collections::BTreeMap;

use rtc_types::Mode;

use crate::desk::{self, Desk};
use crate::folder::{Folder, difference, read};
use crate::honesty;
use crate::random::{Random, Use, Words, again, seeds};
use crate::template::fill;

/// The files of a project: path and text.
type Texts = BTreeMap<String, String>;

/// What the words of a request stand for.
struct Case {
    words: BTreeMap<&'static str, String>,
}

impl Case {
    fn get(&self, key: &str) -> &str {
        &self.words[key]
    }

    fn file(&self) -> String {
        format!("/{}", self.get("file"))
    }
}

/// What a request must do to the files.
type Effect = fn(&Case, &mut Texts);

const REQUESTS: [(&str, Effect); 22] = [
    ("find <from> in *.<ending> and replace it by <to>", in_ending),
    (
        "Find all \"<from>\" in all .<ending> files, then replace them with \"<to>\".",
        in_ending,
    ),
    ("replace <from> with <to> in <folder>/", in_folder),
    (
        "please change every <from> to <to> in the folder <folder>",
        in_folder,
    ),
    ("change \"<from>\" to \"<to>\" in <file>", in_file),
    ("in <file>, replace <from> by <to>, then read it", in_file),
    ("replace every <from> by <to>", everywhere),
    (
        "list the files, search for <from>, then replace it by <to> everywhere",
        everywhere,
    ),
    ("delete all lines containing <from> from <file>", lines_of_file),
    ("delete the lines with \"<from>\" in *.<ending>", lines_of_ending),
    ("delete \"<from>\" from all files", removed),
    (
        "replace <from> by <to> in <folder>/, then append \"<line>\" to <file>",
        folder_then_append,
    ),
    (
        "create <new> with \"<line>\", then replace <line> by <to> in <new> and read <new>",
        created,
    ),
    ("how often does <from> occur?", nothing),
    ("在 *.<ending> 中查找 <from> 并替换为 <to>", in_ending),
    ("把 <folder> 目录下的 <from> 全部替换成 <to>", in_folder),
    ("请把 <file> 里的“<from>”改成“<to>”，然后读取 <file>", in_file),
    ("先列出文件，再把所有的 <from> 换成 <to>", everywhere),
    ("搜索 <from>，然后把它全部替换为 <to>", everywhere),
    ("删除 <file> 中包含“<from>”的行", lines_of_file),
    (
        "把 <folder> 目录下的 <from> 替换成 <to>，然后在 <file> 末尾追加“<line>”",
        folder_then_append,
    ),
    ("统计 <from> 出现的次数", nothing),
];

fn replace(case: &Case, texts: &mut Texts, fits: impl Fn(&str) -> bool) {
    for (_, text) in texts.iter_mut().filter(|(path, _)| fits(path)) {
        *text = text.replace(case.get("from"), case.get("to"));
    }
}

fn lines(case: &Case, texts: &mut Texts, fits: impl Fn(&str) -> bool) {
    for (_, text) in texts.iter_mut().filter(|(path, _)| fits(path)) {
        let kept: Vec<&str> = text
            .lines()
            .filter(|line| !line.contains(case.get("from")))
            .collect();
        let end = if text.ends_with('\n') && !kept.is_empty() {
            "\n"
        } else {
            ""
        };
        *text = kept.join("\n") + end;
    }
}

fn has_ending(case: &Case) -> impl Fn(&str) -> bool {
    let ending = format!(".{}", case.get("ending"));
    move |path| path.ends_with(&ending)
}

fn in_ending(case: &Case, texts: &mut Texts) {
    replace(case, texts, has_ending(case));
}

fn in_folder(case: &Case, texts: &mut Texts) {
    replace(case, texts, |path| {
        path.starts_with(&format!("/{}/", case.get("folder")))
    });
}

fn in_file(case: &Case, texts: &mut Texts) {
    replace(case, texts, |path| path == case.file());
}

fn everywhere(case: &Case, texts: &mut Texts) {
    replace(case, texts, |_| true);
}

fn removed(case: &Case, texts: &mut Texts) {
    for text in texts.values_mut() {
        *text = text.replace(case.get("from"), "");
    }
}

fn lines_of_file(case: &Case, texts: &mut Texts) {
    lines(case, texts, |path| path == case.file());
}

fn lines_of_ending(case: &Case, texts: &mut Texts) {
    lines(case, texts, has_ending(case));
}

fn folder_then_append(case: &Case, texts: &mut Texts) {
    in_folder(case, texts);
    let text = texts.get_mut(&case.file()).expect("the file is there");
    let line = case.get("line");
    *text = if text.ends_with('\n') {
        format!("{text}{line}\n")
    } else {
        format!("{text}\n{line}")
    };
}

fn created(case: &Case, texts: &mut Texts) {
    texts.insert(format!("/{}", case.get("new")), case.get("to").to_owned());
}

fn nothing(_: &Case, _: &mut Texts) {}

/// A project with up to fifty files in nested folders, and words for a request about it.
fn project(words: &mut Words, random: &mut Random) -> (Case, Texts) {
    let [from, to, line] = [0; 3].map(|_| words.word(Use::Text));
    let folders: Vec<String> = (0..4).map(|_| words.word(Use::Name)).collect();
    let mut texts = Texts::new();
    for _ in 0..10 + random.below(40) {
        let mut path: String = (0..random.below(4))
            .map(|_| format!("/{}", random.pick(&folders)))
            .collect();
        path = format!(
            "{path}/{}.{}",
            words.word(Use::Name),
            random.pick(&["md", "txt", "rs", "py"])
        );
        let mut text: Vec<String> = (0..random.below(12))
            .map(|_| match random.below(5) {
                0 => from.clone(),
                1 => format!("  {from}, {from}; and {}.", words.word(Use::Text)),
                2 => String::new(),
                3 => format!("\t{}", to.to_uppercase()),
                _ => words.word(Use::Text),
            })
            .collect();
        text.push(if random.once_in(3) {
            from.clone()
        } else {
            words.word(Use::Text)
        });
        let end = if random.once_in(4) { "" } else { "\n" };
        texts.insert(path, text.join("\n") + end);
    }
    let paths: Vec<&String> = texts.keys().collect();
    let file = random.pick(&paths)[1..].to_owned();
    let nested: Vec<&str> = paths
        .iter()
        .filter_map(|path| path[1..].rsplit_once('/'))
        .map(|(folder, _)| folder)
        .collect();
    let folder = if nested.is_empty() {
        folders[0].clone()
    } else {
        (*random.pick(&nested)).to_owned()
    };
    let ending = random.pick(&["md", "txt", "rs", "py"]).to_string();
    let new = format!("{}.md", words.word(Use::Name));
    let words = [
        ("from", from),
        ("to", to),
        ("line", line),
        ("file", file),
        ("folder", folder),
        ("ending", ending),
        ("new", new),
    ];
    (Case { words: words.into() }, texts)
}

async fn check(desk: &Desk, request: &str, effect: Effect, seed: u64) -> Result<(), String> {
    let mut random = Random::new(seed, request);
    let mut words = Words::new(random.clone());
    let (case, texts) = project(&mut words, &mut random);
    let folder = Folder::around(texts, &mut words, &mut random);
    let root = tempfile::tempdir().expect("a temporary folder");
    folder.write(root.path());
    let mode = *random.pick(&[Mode::Edit, Mode::Manual]);
    let request = fill(request, |key| case.get(key).to_owned());
    let ended = desk.talk(root.path(), mode).await.ask(&request).await;

    let mut expected = folder.texts.clone();
    effect(&case, &mut expected);
    let wrong = difference(&folder.bytes(&expected), &read(root.path()));
    if !wrong.is_empty() {
        return Err(format!("{request}\n  {wrong}\n  answer {:?}", ended.answer));
    }
    let count: usize = folder
        .texts
        .values()
        .map(|text| text.matches(case.get("from")).count())
        .sum();
    let counts = request.starts_with("how often") || request.starts_with("统计");
    if counts && count > 1 && !ended.answer.contains(&count.to_string()) {
        return Err(format!("{request}: {count} times, not {:?}", ended.answer));
    }
    honesty::claim(&ended.answer).map_or(Ok(()), |claim| Err(format!("{request}: claims {claim}")))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_have_their_exact_effect_on_many_files() {
    let desk = Desk::open().await;
    for seed in seeds() {
        let checks = REQUESTS
            .into_iter()
            .map(|(request, effect)| check(&desk, request, effect, seed));
        let failures = desk::failures(checks).await;
        assert!(
            failures.is_empty(),
            "{} failed; {}\n{}",
            failures.len(),
            again(seed),
            failures.join("\n")
        );
    }
}
