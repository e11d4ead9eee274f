//! A search leaves out what ripgrep leaves out, told by ripgrep itself on random trees.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by it")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "the folder is made from outside, and the other program is started for comparison alone"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;
use rtc_fs::{FindQuery, GrepOutput, GrepQuery, Project};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// What stands in every file.
const CONTENT: &str = "needle\n";

/// A folder to be searched, and what its user has git leave out everywhere.
#[derive(Debug)]
struct Tree {
    files: BTreeSet<String>,
    /// Files of rules.
    rules: Vec<(String, Vec<String>)>,
    everywhere: Vec<String>,
}

fn name() -> impl Strategy<Value = &'static str> {
    select(vec!["a", "b", "ab", "c.x", "d.x", ".h", ".i", "é", "f g", "[a]"])
}

fn path(depth: usize) -> impl Strategy<Value = String> {
    proptest::collection::vec(name(), 1..=depth).prop_map(|names| names.join("/"))
}

/// One rule. A sign with nothing behind it is read differently by some releases.
fn rule() -> impl Strategy<Value = String> {
    let piece = select(vec![
        "a", "b", "ab", "*", "**", "a*", "?", "*.x", "[ab]", "[!a]", "c.x", ".h", ".*", "é", "?b", "f g",
        r"\[a\]", r"f\ g", "{a,b}",
    ]);
    let pieces = proptest::collection::vec(piece, 1..4).prop_map(|pieces| pieces.join("/"));
    let line = (
        select(vec!["", "", "!", "/", "!/", "**/"]),
        pieces,
        select(vec!["", "", "/", "/*", "/**", " "]),
    );
    prop_oneof![
        9 => line.prop_map(|(sign, pieces, end)| format!("{sign}{pieces}{end}")),
        1 => select(vec!["# a", "", r"\#a", r"\!a"]).prop_map(str::to_owned),
    ]
}

fn tree() -> impl Strategy<Value = Tree> {
    let rules = || proptest::collection::vec(rule(), 0..5);
    let place = prop_oneof![Just(String::new()), path(2).prop_map(|path| path + "/")];
    let file = select(vec![".gitignore", ".gitignore", ".ignore", ".git/info/exclude"]);
    (
        proptest::collection::btree_set(path(4), 4..24),
        proptest::collection::vec(
            ((place, file).prop_map(|(place, file)| place + file), rules()),
            0..5,
        ),
        rules(),
    )
        .prop_map(|(files, rules, everywhere)| Tree {
            files,
            rules,
            everywhere,
        })
}

/// Makes what can be made: a file where another one needs a folder is left out.
fn write(root: &Path, path: &str, content: &str) {
    let full = root.join(path);
    if fs::create_dir_all(full.parent().unwrap()).is_ok() && !full.is_dir() {
        fs::write(full, content).unwrap();
    }
}

/// The files that ripgrep finds below `root`, by its settings in `home`.
fn theirs(root: &Path, home: &Path, arguments: &[&str]) -> BTreeSet<String> {
    let told = Command::new("rg")
        .args(["--no-config", "--no-require-git", "--no-ignore-parent", "--null"])
        .args(arguments)
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .env("HOME", home)
        .env("XDG_CONFIG_HOME", home)
        .current_dir(root)
        .output()
        .unwrap();
    let paths = told
        .stdout
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty());
    let paths = paths.map(|path| std::str::from_utf8(path).unwrap().trim_start_matches("./"));
    // Git's own folder is searched by no rule here, and by one that lets hidden names in there.
    let paths = paths.filter(|path| path.split('/').all(|name| name != ".git"));
    paths.map(|path| format!("/{path}")).collect()
}

#[test]
fn a_search_leaves_out_what_ripgrep_leaves_out() {
    if Command::new("rg").arg("--version").output().is_err() {
        assert!(
            std::env::var_os("CI").is_none(),
            "`rg` is missing: run `cargo xtask setup`"
        );
        eprintln!("SKIPPED: `rg` is missing, nothing was compared; run `cargo xtask setup`");
        return;
    }
    let mut runner = TestRunner::new(ProptestConfig {
        // Files may be made and read a hundred times in a second, and the program started as often.
        cases: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let compared = runner.run(&tree(), |tree| {
        let (root, home) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        for file in &tree.files {
            write(root.path(), file, CONTENT);
        }
        for (file, rules) in &tree.rules {
            write(root.path(), file, &rules.join("\n"));
        }
        let everywhere = home.path().join("git/ignore");
        write(home.path(), "git/ignore", &tree.everywhere.join("\n"));
        let project = Project::open(root.path())
            .unwrap()
            .with_users_excludes(Some(everywhere));
        let cancel = CancellationToken::new();
        let found = rtc_fs::find(&project, &FindQuery::new("*"), &|_| true, &cancel).unwrap();
        assert_eq!(found.unreadable.count, 0);
        let found = found.found.into_iter().filter(|found| !found.folder);
        let found: BTreeSet<String> = found.map(|found| found.path.as_str().to_owned()).collect();
        prop_assert_eq!(found, theirs(root.path(), home.path(), &["--files"]));

        let query = GrepQuery {
            output: GrepOutput::FilesWithMatches,
            ..GrepQuery::new("needle")
        };
        let searched = rtc_fs::grep(&project, &query, &|_| true, &cancel).unwrap();
        let rtc_fs::GrepHits::Files(files) = searched.hits else {
            panic!("files were asked for")
        };
        let files: BTreeSet<String> = files.into_iter().map(|path| path.as_str().to_owned()).collect();
        prop_assert_eq!(
            files,
            theirs(
                root.path(),
                home.path(),
                &["--files-with-matches", "needle", "./"]
            )
        );
        Ok(())
    });
    compared.unwrap();
}
