//! `changes`, `undo` and `redo`: by turn, call, file and hunk, in a folder with git and without.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use rtc_tests::Workplace;
use rtc_tests::dialogue::{Ended, run};
use serde_json::Value;

use crate::place::{alone, content, last_id, project, put};

/// A command on the session that changed last.
fn ended(place: &Workplace, command: &str, args: &[&str]) -> Ended {
    let id = last_id(place);
    let all: Vec<&str> = [command, &id].into_iter().chain(args.iter().copied()).collect();
    run(place.command(&all), b"")
}

fn done(place: &Workplace, command: &str, args: &[&str]) -> String {
    let ended = ended(place, command, args);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    ended.stdout
}

/// The ids of a text, named by the order in which they come.
fn tidy(text: &str) -> String {
    let mut names: Vec<String> = Vec::new();
    let is_id = |word: &&str| word.len() == 36 && word.matches('-').count() == 4;
    for word in text.split_whitespace().filter(is_id) {
        if !names.contains(&word.to_owned()) {
            names.push(word.to_owned());
        }
    }
    names.iter().enumerate().fold(text.to_owned(), |text, (at, id)| {
        text.replace(id, &format!("ID-{}", at + 1))
    })
}

fn changes(place: &Workplace) -> Value {
    serde_json::from_str(&done(place, "changes", &["--output", "json"])).expect("changes as JSON")
}

/// Every file beneath a folder, with its bytes and mode; folders have none.
fn tree(folder: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(inner) = folders.pop() {
        for entry in std::fs::read_dir(&inner).expect("a folder") {
            let path = entry.expect("an entry").path();
            let metadata = std::fs::symlink_metadata(&path).expect("it is there");
            let name = path
                .strip_prefix(folder)
                .expect("it is inside")
                .display()
                .to_string();
            if metadata.is_dir() {
                found.insert(name + "/", (0, Vec::new()));
                folders.push(path);
            } else {
                let bytes = std::fs::read(&path).expect("a file");
                found.insert(name, (metadata.permissions().mode(), bytes));
            }
        }
    }
    found
}

fn git(root: &Path, args: &[&str]) {
    let ended = Command::new("git")
        .current_dir(root)
        .args(["-c", "user.name=n", "-c", "user.email=e@example.org"])
        .args(args)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .expect("git runs");
    assert!(
        ended.status.success(),
        "{}",
        String::from_utf8_lossy(&ended.stderr)
    );
}

const SCRIPT: &str = "run this script: `const { fs } = rtcAgent; \
    await fs.move('/src/tool.sh', '/bin/new/tool.sh'); \
    await fs.remove('/src', { recursive: true }); \
    await fs.mkdir('/empty/folder'); \
    await fs.write('/made/by/script.txt', 'old');`";

/// Case 45: a repository with staged, untracked and ignored files.
#[test]
fn in_a_git_repository_only_what_the_agent_changed_goes_back() {
    let place = project(&[
        (".gitignore", "ignored/\n"),
        ("staged.txt", "one\n"),
        ("clean.txt", "old\r\ntwo\r\n"),
        ("src/tool.sh", "#!/bin/sh\n"),
        ("src/main.rs", "fn main() {}\n"),
    ]);
    let root = place.root();
    std::fs::set_permissions(
        root.join("src/tool.sh"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .expect("a mode");
    git(&root, &["init", "--quiet"]);
    git(&root, &["add", "."]);
    git(&root, &["commit", "--quiet", "-m", "first"]);
    git(&root, &["tag", "v1"]);
    put(
        &root,
        &[
            ("staged.txt", "one\nold staged\n"),
            ("untracked.txt", "old mine\n"),
            ("ignored/cache", "old cache\n"),
        ],
    );
    git(&root, &["add", "staged.txt"]);
    put(&root, &[("staged.txt", "one\nold staged\nand more\n")]);
    let before = tree(&root);

    let mode = ["--mode", "bypass"];
    let replaced = alone(&place, "replace old by new in staged.txt and clean.txt", &mode);
    assert_eq!(replaced.code, Some(0), "{}", replaced.stderr);
    let id = last_id(&place);
    let go_on = ["--mode", "bypass", "--session", &id];
    assert_eq!(
        alone(&place, "append \"x\" to untracked.txt", &go_on).code,
        Some(0)
    );
    let script = alone(&place, SCRIPT, &go_on);
    assert_eq!(script.code, Some(0), "{}{}", script.stdout, script.stderr);
    assert!(root.join("bin/new/tool.sh").exists(), "{}", script.stdout);
    let after = tree(&root);

    // Somebody goes on with git meanwhile: that is no change of the agent's.
    let undo_all = || {
        let turns = changes(&place).as_array().expect("turns").len();
        for _ in 0..turns {
            done(&place, "undo", &[]);
        }
        turns
    };
    let turns = undo_all();
    assert_eq!(
        tree(&root),
        before,
        "everything is as it was, the index and refs to the byte"
    );
    let nothing = ended(&place, "undo", &[]);
    assert_eq!(nothing.code, Some(1), "{}", nothing.stdout);
    for _ in 0..turns {
        done(&place, "redo", &[]);
    }
    assert_eq!(tree(&root), after, "and forward again");
    undo_all();
    assert_eq!(tree(&root), before, "and back");
}

#[test]
fn changes_are_shown_and_undone_by_file_call_and_hunk() {
    let numbers: String = (1..=20).map(|line| format!("{line}\n")).collect();
    let place = project(&[("a.txt", &numbers), ("b.txt", "old\n")]);
    let script = "run this script: `const { fs } = rtcAgent; \
        const text = await fs.read('/a.txt'); \
        await fs.write('/a.txt', text.replace('2\\n', 'two\\n').replace('19\\n', 'nineteen\\n'));`";
    assert_eq!(alone(&place, script, &["--mode", "bypass"]).code, Some(0));
    let id = last_id(&place);
    let then = alone(
        &place,
        "replace old by new in b.txt, then create c.txt with \"first\"",
        &["--session", &id, "--mode", "bypass"],
    );
    assert_eq!(then.code, Some(0), "{}", then.stderr);
    insta::assert_snapshot!(tidy(&done(&place, "changes", &[])), @"
    turn ID-1
      changed   /a.txt  +2 -2
        script ID-2
          @@ -1,5 +1,5 @@
           1
          -2
          +two
           3
           4
           5
          @@ -16,5 +16,5 @@
           16
           17
           18
          -19
          +nineteen
           20
    turn ID-3
      changed   /b.txt  +1 -1
        edit ID-4
          @@ -1 +1 @@
          -old
          +new
      created   /c.txt  +1 -0
        write ID-5
          @@ -0,0 +1 @@
          +first
          \\ No newline at end of file
    ");

    assert_eq!(done(&place, "undo", &["--file", "b.txt"]), "changed   /b.txt\n");
    assert_eq!(content(&place, "b.txt"), "old\n");
    assert!(place.root().join("c.txt").exists());
    // Somebody changes the first lines: the whole is refused, the other hunk is not.
    let theirs = content(&place, "a.txt").replace("two\n", "zwei\n");
    put(&place.root(), &[("a.txt", &theirs)]);
    let listed = changes(&place);
    let call = listed[0]["files"][0]["calls"][0]["rtc_id"]
        .as_str()
        .expect("a call")
        .to_owned();
    let refused = ended(&place, "undo", &["--call", &call]);
    assert_eq!(refused.code, Some(1), "{}", refused.stdout);
    insta::assert_snapshot!(refused.stderr, @"
    /a.txt: what the calls did
          @@ -1,5 +1,5 @@
           1
          -2
          +two
           3
           4
           5
          @@ -16,5 +16,5 @@
           16
           17
           18
          -19
          +nineteen
           20
    /a.txt: what was done since
          @@ -1,5 +1,5 @@
           1
          -two
          +zwei
           3
           4
           5
    Of what the calls did, these hunks can be put back all the same: 2
    rtc-headless: nothing was put back, because something else than the calls left is there by now: `/a.txt`
    ");
    assert_eq!(content(&place, "a.txt"), theirs);
    let hunk = |number| {
        ended(
            &place,
            "undo",
            &["--call", &call, "--file", "/a.txt", "--hunk", number],
        )
    };
    assert_eq!(hunk("1").code, Some(1));
    assert_eq!(hunk("3").code, Some(2));
    let second = hunk("2");
    assert_eq!(second.code, Some(0), "{}", second.stderr);
    assert_eq!(content(&place, "a.txt"), numbers.replacen("2\n", "zwei\n", 1));
    insta::assert_snapshot!(tidy(&done(&place, "changes", &["--file", "a.txt"])), @"
    turn ID-1
      changed   /a.txt  +2 -2
        script ID-2  (hunks undone: 2)
          @@ -1,5 +1,5 @@
           1
          -2
          +two
           3
           4
           5
          @@ -16,5 +16,5 @@
           16
           17
           18
          -19
          +nineteen
           20
    ");
    assert_eq!(done(&place, "redo", &[]), "changed   /a.txt\n");
    assert_eq!(content(&place, "a.txt"), theirs);
    assert_eq!(done(&place, "redo", &[]), "changed   /b.txt\n");
    assert_eq!(content(&place, "b.txt"), "new\n");
    let no_more = ended(&place, "redo", &[]);
    insta::assert_snapshot!(no_more.stderr, @"rtc-headless: there is no undo that could be taken back");
    // The last turn, by default.
    assert_eq!(done(&place, "undo", &[]), "changed   /b.txt\nremoved   /c.txt\n");
    assert!(!place.root().join("c.txt").exists());
}

/// The agent knows the file as it was; what it then finds is told, and nothing is lost.
#[test]
fn after_an_undo_the_agent_reads_again_before_it_edits() {
    let place = project(&[("notes.txt", "old\n")]);
    assert_eq!(
        alone(&place, "replace old by new in notes.txt", &[]).code,
        Some(0)
    );
    done(&place, "undo", &[]);
    assert_eq!(content(&place, "notes.txt"), "old\n");
    let id = last_id(&place);
    let again = alone(&place, "replace old by newer in notes.txt", &["--session", &id]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(content(&place, "notes.txt"), "newer\n");
    // What was undone is not undone again, and what came after is.
    done(&place, "undo", &[]);
    assert_eq!(content(&place, "notes.txt"), "old\n");
    assert_eq!(ended(&place, "undo", &[]).code, Some(1));
}

/// Killed wherever it is, an undo has put back whole files only, and the next one goes on with the others.
#[test]
fn an_undo_that_is_killed_goes_on_with_the_next() {
    if !has_strace() {
        return;
    }
    let place = project(&[("a.txt", "old\n"), ("b.txt", "old\n")]);
    let request = "replace old by new in a.txt and b.txt, then create made/c.txt with \"c\"";
    assert_eq!(alone(&place, request, &["--mode", "bypass"]).code, Some(0));
    let (root, id) = (place.root(), last_id(&place));
    let after = tree(&root);
    done(&place, "undo", &[]);
    let before = tree(&root);
    done(&place, "redo", &[]);
    assert_eq!(tree(&root), after);
    let mut kills = 0;
    for call in ["renameat2", "unlinkat", "fsync"] {
        for nth in 1.. {
            let ended = run(place.killed_at(call, nth, &["undo", &id]), b"");
            if ended.code == Some(0) {
                break;
            }
            kills += 1;
            for (name, file) in tree(&root) {
                let is_whole = before.get(&name) == Some(&file) || after.get(&name) == Some(&file);
                assert!(is_whole || name.ends_with(".tmp"), "{call} {nth}: {name}");
            }
            // What is left to undo, if anything is.
            let rest = ended_of_rest(&place);
            assert_eq!(tree(&root), before, "{call} {nth}: {rest}");
            while run(place.command(&["redo", &id]), b"").code == Some(0) {}
            assert_eq!(tree(&root), after, "{call} {nth}: {rest}");
        }
        done(&place, "redo", &[]);
        assert_eq!(tree(&root), after, "{call}");
    }
    assert!(kills >= 10, "it is killed {kills} times");
}

fn ended_of_rest(place: &Workplace) -> String {
    let rest = ended(place, "undo", &[]);
    assert!(matches!(rest.code, Some(0 | 1)), "{}", rest.stderr);
    rest.stdout + &rest.stderr
}

fn has_strace() -> bool {
    Command::new("strace")
        .arg("-V")
        .output()
        .is_ok_and(|told| told.status.success())
}
