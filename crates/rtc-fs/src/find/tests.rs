use std::fs;

use proptest::prelude::*;
use regex::Regex;
use tempfile::TempDir;

use super::*;
use crate::walk::tests::{project, vpath, write};

const EVERYTHING: FilePermit<'static> = &|_| true;

fn search(project: &Project, pattern: &str, path: &str) -> FindResult {
    let query = FindQuery {
        path: vpath(path),
        ..FindQuery::new(pattern)
    };
    find(project, &query, EVERYTHING, &CancellationToken::new()).unwrap()
}

fn paths(result: &FindResult) -> Vec<String> {
    let path = |found: &Found| format!("{}{}", found.path, if found.folder { "/" } else { "" });
    result.found.iter().map(path).collect()
}

#[test]
fn text_of_results() {
    let (_folder, project) = project(&[
        ("README.md", ""),
        ("docs/guide.md", ""),
        ("docs/deep/note.md", ""),
        ("docs/md/", ""),
        (".gitignore", "*.tmp.md"),
        ("a.tmp.md", ""),
        (".hidden.md", ""),
    ]);
    insta::assert_snapshot!(search(&project, "*md", "/").render(), @"
    /README.md
    /docs/deep/note.md
    /docs/guide.md
    /docs/md/
    ");
    insta::assert_snapshot!(search(&project, "*.md", "/docs/deep").render(), @"/docs/deep/note.md");
    insta::assert_snapshot!(search(&project, "docs/", "/").render(), @"/docs/");
    insta::assert_snapshot!(search(&project, "*.rs", "/").render(), @"No files found");
    insta::assert_snapshot!(search(&project, ".hidden*", "/").render(), @"
    No files found
    [hidden files and folders are left out unless `path` names the folder; list it instead]
    ");
    insta::assert_snapshot!(search(&project, "guide.md", "/docs/guide.md").render(), @"/docs/guide.md");
    let cut = FindQuery {
        head_limit: 2,
        ..FindQuery::new("*.md")
    };
    let permit = |path: &VPath| path.as_str() != "/README.md";
    insta::assert_snapshot!(find(&project, &cut, EVERYTHING, &CancellationToken::new()).unwrap().render(), @"
    /README.md
    /docs/deep/note.md
    [2 of 3 shown; narrow the pattern or the path]
    ");
    insta::assert_snapshot!(find(&project, &cut, &permit, &CancellationToken::new()).unwrap().render(), @"
    /docs/deep/note.md
    /docs/guide.md
    [1 path not shown: permission is needed]
    ");
    let all = FindQuery {
        head_limit: 0,
        ..FindQuery::new("*.md")
    };
    assert_eq!(
        find(&project, &all, EVERYTHING, &CancellationToken::new())
            .unwrap()
            .found
            .len(),
        3
    );
}

#[test]
fn names_in_any_normalisation() {
    let (_folder, project) = project(&[("cafe\u{301}/men\u{fc}.txt", "")]);
    assert_eq!(
        paths(&search(&project, "caf\u{e9}/menu\u{308}.*", "/")),
        ["/cafe\u{301}/men\u{fc}.txt"]
    );
}

#[cfg(unix)]
#[test]
fn links_show_only_what_is_inside() {
    use std::os::unix::fs::symlink;

    let outside = TempDir::new().unwrap();
    write(outside.path(), "secret", "x");
    let (folder, project) = project(&[("real/a", "")]);
    for (target, link) in [
        (outside.path().join("secret").as_path(), "secret-link"),
        (outside.path(), "out"),
        ("real/a".as_ref(), "file-link"),
        ("real".as_ref(), "folder-link"),
        ("nothing".as_ref(), "dangling"),
        ("loop".as_ref(), "loop"),
    ] {
        symlink(target, folder.path().join(link)).unwrap();
    }
    assert_eq!(
        paths(&search(&project, "*", "/")),
        ["/file-link", "/folder-link/", "/real/", "/real/a"]
    );
    assert_eq!(search(&project, "*", "/").total, 4);
    assert_eq!(paths(&search(&project, "*link/", "/")), ["/folder-link/"]);
    let query = FindQuery {
        path: vpath("/out"),
        ..FindQuery::new("*")
    };
    let refused = find(&project, &query, EVERYTHING, &CancellationToken::new());
    assert!(matches!(refused, Err(Error::Outside { .. })));
}

#[cfg(unix)]
#[test]
fn a_folder_swapped_for_a_link_while_searching_shows_nothing() {
    let outside = TempDir::new().unwrap();
    write(outside.path(), "a1", "");
    write(outside.path(), "a2", "");
    let (folder, project) = project(&[("d/a1", ""), ("e/a2", "")]);
    // The permit is asked between the walk and the check.
    let swap = |path: &VPath| {
        if path.as_str() == "/d/a1" {
            fs::rename(folder.path().join("d"), outside.path().join("d")).unwrap();
            std::os::unix::fs::symlink(outside.path(), folder.path().join("d")).unwrap();
        }
        true
    };
    let found = find(&project, &FindQuery::new("a*"), &swap, &CancellationToken::new()).unwrap();
    assert_eq!(paths(&found), ["/e/a2"]);
    assert_eq!(found.total, 1);
}

#[test]
fn cancelled() {
    let (_folder, project) = project(&[("a", "")]);
    let cancel = CancellationToken::new();
    cancel.cancel();
    assert!(matches!(
        find(&project, &FindQuery::new("*"), EVERYTHING, &cancel),
        Err(Error::Cancelled)
    ));
}

/// The glob as a regular expression over one name or path.
fn naive(glob: &str) -> Regex {
    let mut text = String::from("^");
    let mut rest = glob;
    while let Some(next) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("**/") {
            text.push_str("(.*/)?");
            rest = after;
            continue;
        }
        match next {
            '*' => text.push_str("[^/]*"),
            '?' => text.push_str("[^/]"),
            other => text.push_str(&regex::escape(&other.to_string())),
        }
        rest = &rest[next.len_utf8()..];
    }
    Regex::new(&(text + "$")).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn as_a_naive_search(
        files in prop::collection::btree_set("[abé](/[abé]){0,2}x", 1..12),
        glob in "(\\*\\*/)?([aé]|\\*|\\?|\\*/)?[abéx*?]{1,3}",
        limit in 1usize..6,
    ) {
        let folder = TempDir::new().unwrap();
        files.iter().for_each(|file| write(folder.path(), file, ""));
        let project = Project::open(folder.path()).unwrap();
        prop_assume!(!glob.contains("***") && !glob.replace("**/", "").contains("**"));
        let regex = naive(&glob);
        let mut all = std::collections::BTreeSet::new();
        for file in &files {
            let mut path = vpath(file);
            let mut folder = false;
            while !path.is_root() {
                all.insert((path.clone(), folder));
                path = path.parent().unwrap();
                folder = true;
            }
        }
        let by_name = !glob.contains('/');
        let want: Vec<String> = all.iter()
            .filter(|(path, _)| {
                if by_name { regex.is_match(path.file_name().unwrap()) }
                else { regex.is_match(path.relative()) || regex.is_match(path.as_str()) }
            })
            .map(|(path, folder)| format!("{path}{}", if *folder { "/" } else { "" }))
            .collect();
        let cancel = CancellationToken::new();
        let query = FindQuery { head_limit: limit, ..FindQuery::new(glob.as_str()) };
        let pattern = PathPattern::parse(&glob).unwrap();
        for cost in [0, u64::MAX] {
            let walk = Walk::begin(&project, &VPath::root(), &cancel).unwrap().with_serial_cost(cost);
            let result = find_by(&pattern, &query, &walk, EVERYTHING, &|_| {}).unwrap();
            prop_assert_eq!(result.total, want.len() as u64);
            prop_assert_eq!(&paths(&result)[..], &want[..want.len().min(limit)]);
        }
    }
}
