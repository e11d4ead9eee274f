//! Each house rule with lines that keep it and lines that break it.

use super::*;

fn check(path: &str, text: &str) -> Vec<String> {
    violations_in(&TextFile {
        path: path.to_owned(),
        text: text.to_owned(),
    })
}

#[test]
fn rules_of_a_crates_sources() {
    let long = "\n".repeat(MAX_LINES + 1);
    let limit = "\n".repeat(MAX_LINES);
    let table: &[(&str, &str, &[&str])] = &[
        ("crates/a/src/b.rs", &limit, &[]),
        (
            "crates/a/src/b.rs",
            &long,
            &["crates/a/src/b.rs: 801 lines; split it, 800 is the limit"],
        ),
        (
            "crates/a/src/b/c.rs",
            &long,
            &["crates/a/src/b/c.rs: 801 lines; split it, 800 is the limit"],
        ),
        ("crates/a/tests/b.rs", &long, &[]),
        ("docs/a.md", &long, &[]),
        (
            "crates/a/src/b/mod.rs",
            "",
            &["crates/a/src/b/mod.rs: name the module's file after the module"],
        ),
        ("crates/a/src/lib.rs", "//! One sentence.\n", &[]),
        (
            "crates/a/src/lib.rs",
            "// One sentence.\n",
            &["crates/a/src/lib.rs: the first line is not the crate's sentence (`//! …`)"],
        ),
        ("tests/src/lib.rs", "", &[]),
    ];
    for (path, text, expected) in table {
        assert_eq!(check(path, text), *expected, "{path}");
    }
}

#[test]
fn paths_of_one_machine() {
    let [home, root, users, windows] = MACHINE_FOLDERS else {
        panic!("a folder without a line here")
    };
    let table = [
        (format!("cd {home}alice/project"), true),
        (format!("{root}x"), true),
        (format!("path = \"{users}alice\""), true),
        (format!("open {windows}alice"), true),
        (format!("file://{home}alice"), true),
        (format!("src{root}main.rs and then {root}x"), true),
        (format!("the project{root}folder"), false),
        (format!("https://example.org{home}page"), false),
        (format!("$PREFIX{home}x ${{PREFIX}}{home}x"), false),
        ("/tmp/x, the home folder, /homework/".to_owned(), false),
    ];
    for (line, broken) in table {
        assert_eq!(names_machine_folder(&line), broken, "{line}");
    }
    assert_eq!(
        check("docs/a.md", &format!("fine\nsee {home}alice\n")),
        ["docs/a.md:2: a path of one machine"]
    );
}

#[test]
fn registries_are_named_in_the_lock_file_only() {
    for registry in REGISTRIES {
        let text = format!("[x]\nurl = \"{registry}\"\n");
        assert_eq!(
            check(".npmrc", &text),
            [".npmrc:2: the address of a package registry"]
        );
        assert!(check(LOCK_FILE, &text).is_empty());
    }
    assert!(check("docs/a.md", "everything comes from crates.io").is_empty());
}

#[test]
fn every_dependency_has_its_line() {
    let manifest = r#"
[workspace]
members = ["crates/*"]

[workspace.dependencies]
rtc-types = { path = "crates/rtc-types" }

# A comment with = in it.
anyhow = "1"
serde = { version = "1", features = ["derive"] }
tokio = { version = "1", features = [
    "rt",
] }

[profile.dev]
debug = 1
"#;
    let page = "# Title\n\n| crate | why |\n|---|---|\n| `anyhow` | errors |\n| `serde` | data |\n";
    assert_eq!(workspace_dependencies(manifest), ["anyhow", "serde", "tokio"]);
    assert_eq!(
        undocumented(manifest, page),
        ["docs/dependencies.md has no line for `tokio`"]
    );
    let page = format!("{page}| `tokio` | tasks |\n| `rand` | luck |\n");
    assert_eq!(
        undocumented(manifest, &page),
        ["docs/dependencies.md has a line for `rand`, which is not used"]
    );
}

#[test]
fn a_proof_names_tests_and_files_that_are_there() {
    let page = "Text with `words`.\n| what | shown by |\n|---|---|\n| 1 | `it_holds`, `it_does_not` |\n| 2 | `ui/a.test.ts`, `ui/b.test.ts` |\n";
    let file = |path: &str, text: &str| TextFile {
        path: path.to_owned(),
        text: text.to_owned(),
    };
    let files = [
        file("tests/a.rs", "async fn it_holds() {}\n"),
        file("docs/b.md", "fn it_does_not() {}\n"),
        file("ui/a.test.ts", ""),
    ];
    assert_eq!(
        unproven(page, &files),
        [
            "docs/proof.md names `it_does_not`, which is not there",
            "docs/proof.md names `ui/b.test.ts`, which is not there",
        ]
    );
}
