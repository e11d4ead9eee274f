//! The crate table, the metadata, and what counts as a violation.

use serde_json::json;

use super::*;

const TABLE: &str = "\
# Title

| what | value |
|---|---|
| `rtc-other` | of another table |

| crate | one sentence | may depend on |
|---|---|---|
| `rtc-types` | Words. | – |
| `rtc-store` | Batches, with a `Store`. | types |
| `rtc-hub` | Later (not begun). | types, store |
| `rtc-app` | Wiring. | all above |
| root `rtc-desktop` | The window. | app, types (not begun) |

| `rtc-late` | after the table | nothing |
";

fn krate(name: &str, depends_on: &[&str]) -> Crate {
    Crate {
        name: name.to_owned(),
        depends_on: depends_on.iter().map(|used| used.to_string()).collect(),
    }
}

#[test]
fn the_table_is_read() {
    let row = |name: &str, may: &[&str], not_begun| Row {
        name: name.to_owned(),
        may_depend_on: may.iter().map(|used| used.to_string()).collect(),
        not_begun,
    };
    let expected = [
        row("rtc-types", &[], false),
        row("rtc-store", &["rtc-types"], false),
        row("rtc-hub", &["rtc-types", "rtc-store"], true),
        row("rtc-app", &["rtc-types", "rtc-store", "rtc-hub"], false),
        row("rtc-desktop", &["rtc-app", "rtc-types"], true),
    ];
    assert_eq!(parse_table(TABLE).unwrap(), expected);
}

#[test]
fn a_table_with_a_mistake_is_refused() {
    let heading = "| crate | one sentence | may depend on |\n|---|---|---|\n";
    let table = [
        (
            "no table",
            "there is no table with the heading `may depend on`".to_owned(),
        ),
        (
            "| `rtc-a` | two |",
            "a row of the crate table has not three columns: | `rtc-a` | two |".to_owned(),
        ),
        (
            "| rtc-a | bare | – |",
            "no crate in backticks: | rtc-a | bare | – |".to_owned(),
        ),
        (
            "| `rtc-a` | A. | b |",
            "rtc-a: there is no row for rtc-b".to_owned(),
        ),
        (
            "| `rtc-a` | A. | – |\n| `rtc-a` | A. | – |",
            "two rows for rtc-a".to_owned(),
        ),
    ];
    for (text, expected) in table {
        let text = if text.starts_with('|') {
            format!("{heading}{text}\n")
        } else {
            text.to_owned()
        };
        assert_eq!(parse_table(&text).unwrap_err().to_string(), expected);
    }
}

#[test]
fn metadata_counts_normal_and_build_dependencies_of_the_workspace() {
    let dependency = |name: &str, kind: Option<&str>| json!({ "name": name, "kind": kind });
    let metadata = json!({ "packages": [
        { "name": "rtc-types", "dependencies": [dependency("serde", None)] },
        { "name": "rtc-fs", "dependencies": [] },
        { "name": "rtc-store", "dependencies": [
            dependency("rtc-types", None),
            dependency("rtc-types", Some("dev")),
            dependency("rtc-fs", Some("build")),
            dependency("rtc-app", Some("dev")),
        ] },
        { "name": "rtc-app", "dependencies": [dependency("rtc-fs", Some("dev"))] },
    ] });
    let expected = [
        krate("rtc-types", &[]),
        krate("rtc-fs", &[]),
        krate("rtc-store", &["rtc-fs", "rtc-types"]),
        krate("rtc-app", &[]),
    ];
    assert_eq!(parse_metadata(&metadata).unwrap(), expected);
    assert!(parse_metadata(&json!({})).is_err());
}

#[test]
fn every_departure_from_the_table_is_a_violation() {
    let rows = parse_table(TABLE).unwrap();
    let good = || {
        vec![
            krate("rtc-types", &[]),
            krate("rtc-store", &["rtc-types"]),
            krate("rtc-app", &["rtc-store"]),
            krate("xtask", &["rtc-app"]),
            krate("rtc-tests", &["rtc-types", "rtc-app"]),
        ]
    };
    type Change = fn(&mut Vec<Crate>);
    let table: &[(Change, &[&str])] = &[
        (|_| {}, &[]),
        (
            |crates| crates[0] = krate("rtc-types", &["rtc-store"]),
            &["rtc-types may not depend on rtc-store"],
        ),
        (
            |crates| crates.push(krate("rtc-new", &[])),
            &["rtc-new has no row in ARCHITECTURE.md"],
        ),
        (
            |crates| crates.push(krate("rtc-hub", &["rtc-types"])),
            &["rtc-hub exists, but ARCHITECTURE.md says (not begun)"],
        ),
        (
            |crates| drop(crates.remove(1)),
            &["rtc-store does not exist: say (not begun) in its row, or remove it"],
        ),
    ];
    for (change, expected) in table {
        let mut crates = good();
        change(&mut crates);
        assert_eq!(violations(&rows, &crates), *expected);
    }
}
