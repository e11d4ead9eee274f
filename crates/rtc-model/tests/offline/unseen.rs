//! Names and words that the planner has never seen, made at random.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::drive::Conversation;
use crate::folder::Folder;

/// Words that are no words of either language: no phrase can know them.
fn word() -> impl Strategy<Value = String> {
    "[bcdfghjklmnpqrstvwxz]{2}[aeiou][bcdfghjklmnpqrstvwxz]{2}[0-9]{0,2}q"
}

fn file() -> impl Strategy<Value = String> {
    (
        prop::collection::vec(word(), 0..3),
        word(),
        prop::sample::select(vec!["md", "txt", "rs"]),
    )
        .prop_map(|(folders, name, ending)| {
            format!(
                "/{}{name}.{ending}",
                folders.iter().map(|f| format!("{f}/")).collect::<String>()
            )
        })
}

fn project() -> impl Strategy<Value = (BTreeMap<String, String>, String, String)> {
    (word(), word())
        .prop_filter("two words", |(from, to)| {
            !from.contains(to.as_str()) && !to.contains(from.as_str())
        })
        .prop_flat_map(|(from, to)| {
            let line = prop_oneof![
                Just(from.clone()),
                word(),
                Just(format!("x {from}, {from}.")),
                Just(String::new())
            ];
            let text = prop::collection::vec(line, 0..6).prop_map(|lines| lines.join("\n"));
            (
                prop::collection::btree_map(file(), text, 1..12),
                Just(from),
                Just(to),
            )
        })
}

fn conversation(files: &BTreeMap<String, String>) -> Conversation {
    let mut folder = Folder::default();
    folder.files.clone_from(files);
    Conversation::new(folder)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn replacing_everywhere_replaces_everywhere((files, from, to) in project(), chinese: bool) {
        let mut conversation = conversation(&files);
        let request = if chinese { format!("把 {from} 全部替换成 {to}") } else { format!("replace {from} with {to} everywhere") };
        let answer = conversation.ask(&request);
        let expected: BTreeMap<_, _> = files.iter().map(|(path, text)| (path.clone(), text.replace(&from, &to))).collect();
        prop_assert_eq!(&conversation.folder.files, &expected);
        let total: usize = files.values().map(|text| text.matches(&from).count()).sum();
        if total > 0 {
            prop_assert!(answer.contains(&total.to_string()), "{}", answer);
        } else {
            prop_assert!(answer.contains("does not occur") || answer.contains("中没有"), "{}", answer);
        }
    }

    #[test]
    fn replacing_in_a_glob_leaves_the_other_files((files, from, to) in project()) {
        let mut conversation = conversation(&files);
        conversation.ask(&format!("change \"{from}\" to \"{to}\" in all *.md files"));
        for (path, text) in &files {
            let expected = if path.ends_with(".md") { text.replace(&from, &to) } else { text.clone() };
            prop_assert_eq!(&conversation.folder.files[path], &expected);
        }
    }

    #[test]
    fn one_named_file_changes_and_no_other((files, from, to) in project(), pick: prop::sample::Index) {
        let path = pick.get(&files.keys().cloned().collect::<Vec<_>>()).clone();
        let mut conversation = conversation(&files);
        conversation.ask(&format!("在 {} 中把 {from} 改成 {to}", &path[1..]));
        for (other, text) in &files {
            let expected = if *other == path { text.replace(&from, &to) } else { text.clone() };
            prop_assert_eq!(&conversation.folder.files[other], &expected);
        }
    }

    #[test]
    fn counting_is_exact((files, from, _) in project()) {
        let answer = conversation(&files).ask(&format!("how often does {from} occur?"));
        let total: usize = files.values().map(|text| text.matches(&from).count()).sum();
        let expected = match total { 0 => "does not occur".to_owned(), 1 => "occurs 1 time in".to_owned(), n => format!("occurs {n} times in") };
        prop_assert!(answer.contains(&expected), "{} in {}", expected, answer);
    }

    #[test]
    fn whole_lines_go_and_others_stay((files, from, _) in project()) {
        let mut conversation = conversation(&files);
        conversation.ask(&format!("delete all lines containing {from} from all files"));
        for (path, text) in &files {
            let kept: Vec<&str> = text.lines().filter(|line| !line.contains(&from)).collect();
            let now: Vec<&str> = conversation.folder.files[path].lines().collect();
            // Whether a file ends with an empty line cannot be seen through the read tool.
            let trim = |lines: &[&str]| lines.join("\n").trim_end().to_owned();
            prop_assert_eq!(trim(&now), trim(&kept));
        }
    }

    #[test]
    fn new_files_hold_what_was_said(path in file(), text in "[^`\r]{0,60}", line in word()) {
        let mut conversation = Conversation::new(Folder::new(&[]));
        conversation.ask(&format!("create {} with `{text}`", &path[1..]));
        prop_assert_eq!(&conversation.folder.files[&path], &text);
        conversation.ask(&format!("append {line} to {}", &path[1..]));
        let now = conversation.folder.files[&path].clone();
        let last = now.lines().last();
        prop_assert_eq!(last, Some(line.as_str()), "{:?}", now);
        conversation.ask(&format!("read {}", &path[1..]));
        prop_assert_eq!(&conversation.folder.files[&path], &now);
    }

    #[test]
    fn a_bare_name_is_found_wherever_it_is((files, _, _) in project(), name in word(), folder in word()) {
        let mut files = files;
        files.insert(format!("/{folder}/{name}.md"), "here it is".to_owned());
        for request in [format!("read {name}"), format!("read {name}.md"), format!("查看 {name}.md")] {
            let answer = conversation(&files).ask(&request);
            prop_assert!(answer.contains("here it is"), "{}: {}", request, answer);
        }
    }

    #[test]
    fn no_message_breaks_it(message in "\\PC{0,80}", more in "[a-z\"'`“”：:, 把替换成在中]{0,40}") {
        let mut conversation = Conversation::new(Folder::new(&[("/a.txt", "a b c")]));
        conversation.ask(&message);
        conversation.ask(&more);
    }
}
