//! Layering: which crate may depend on which, as the table in ARCHITECTURE.md says.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::no_violations;
use crate::shell;

/// Workspace packages that no arrow binds: the build tool and the tests of the whole.
const UNBOUND: &[&str] = &["xtask", "rtc-bare", "rtc-tests", "rtc-simulator"];

/// One row of the table.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    name: String,
    may_depend_on: Vec<String>,
    /// The row says `(not begun)`: the crate does not exist yet.
    not_begun: bool,
}

/// A crate of the workspace and the workspace crates that it depends on, tests aside.
#[derive(Debug, PartialEq, Eq)]
struct Crate {
    name: String,
    depends_on: Vec<String>,
}

pub(super) fn run(root: &Path) -> Result<()> {
    let text = fs::read_to_string(root.join("ARCHITECTURE.md")).context("cannot read ARCHITECTURE.md")?;
    let rows = parse_table(&text).context("ARCHITECTURE.md")?;
    let mut command = shell::cargo(root);
    command.args(["metadata", "--format-version", "1", "--no-deps"]);
    let crates = parse_metadata(&serde_json::from_slice(&shell::stdout_of(&mut command)?)?)?;
    no_violations(&violations(&rows, &crates))
}

/// Reads the table whose last heading is `may depend on`: the crate, a sentence, and the short names of the
/// crates that it may use (`–` for none, `all above` for every crate of the rows before).
fn parse_table(text: &str) -> Result<Vec<Row>> {
    let cells = |line: &str| -> Vec<String> {
        line.trim()
            .trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().to_owned())
            .collect()
    };
    let mut lines = text.lines().skip_while(|line| {
        !(line.starts_with('|') && cells(line).last().is_some_and(|cell| cell == "may depend on"))
    });
    ensure!(
        lines.next().is_some(),
        "there is no table with the heading `may depend on`"
    );
    let mut rows: Vec<Row> = Vec::new();
    for line in lines.skip(1).take_while(|line| line.starts_with('|')) {
        let columns = cells(line);
        let [name, sentence, allowed] = columns.as_slice() else {
            bail!("a row of the crate table has not three columns: {line}");
        };
        let name = name
            .split('`')
            .nth(1)
            .with_context(|| format!("no crate in backticks: {line}"))?;
        ensure!(rows.iter().all(|row| row.name != name), "two rows for {name}");
        let not_begun = [sentence, allowed]
            .iter()
            .any(|cell| cell.contains("(not begun)"));
        let may_depend_on = match allowed.replace("(not begun)", "").trim() {
            "–" => vec![],
            "all above" => rows.iter().map(|row| row.name.clone()).collect(),
            list => list
                .split(',')
                .map(|short| format!("rtc-{}", short.trim()))
                .collect(),
        };
        rows.push(Row {
            name: name.to_owned(),
            may_depend_on,
            not_begun,
        });
    }
    for row in &rows {
        for used in &row.may_depend_on {
            ensure!(
                rows.iter().any(|other| &other.name == used),
                "{}: there is no row for {used}",
                row.name
            );
        }
    }
    Ok(rows)
}

/// Takes the workspace's own packages and the arrows between them from `cargo metadata --no-deps`.
fn parse_metadata(metadata: &Value) -> Result<Vec<Crate>> {
    let packages = metadata["packages"]
        .as_array()
        .context("cargo metadata names no packages")?;
    let names: Vec<&str> = packages
        .iter()
        .filter_map(|package| package["name"].as_str())
        .collect();
    let mut crates = Vec::new();
    for package in packages {
        let name = package["name"].as_str().context("a package without a name")?;
        let dependencies = package["dependencies"]
            .as_array()
            .context("a package without dependencies")?;
        let mut depends_on: Vec<String> = dependencies
            .iter()
            .filter(|dependency| dependency["kind"] != "dev")
            .filter_map(|dependency| dependency["name"].as_str())
            .filter(|used| names.contains(used))
            .map(str::to_owned)
            .collect();
        depends_on.sort();
        depends_on.dedup();
        crates.push(Crate {
            name: name.to_owned(),
            depends_on,
        });
    }
    Ok(crates)
}

fn violations(rows: &[Row], crates: &[Crate]) -> Vec<String> {
    let mut found = Vec::new();
    for Crate { name, depends_on } in crates
        .iter()
        .filter(|krate| !UNBOUND.contains(&krate.name.as_str()))
    {
        let Some(row) = rows.iter().find(|row| &row.name == name) else {
            found.push(format!("{name} has no row in ARCHITECTURE.md"));
            continue;
        };
        if row.not_begun {
            found.push(format!("{name} exists, but ARCHITECTURE.md says (not begun)"));
        }
        for used in depends_on.iter().filter(|used| !row.may_depend_on.contains(used)) {
            found.push(format!("{name} may not depend on {used}"));
        }
    }
    for row in rows.iter().filter(|row| !row.not_begun) {
        if crates.iter().all(|krate| krate.name != row.name) {
            found.push(format!(
                "{} does not exist: say (not begun) in its row, or remove it",
                row.name
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests;
