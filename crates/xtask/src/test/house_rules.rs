//! House rules: what holds for the repository's files and is quickly checked.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::no_violations;
use crate::shell;

/// More lines than this, and a source file is split.
const MAX_LINES: usize = 800;

/// Where people's own folders are: a path into one of them is true on one machine only. In pieces, so that
/// this file keeps its own rule.
const MACHINE_FOLDERS: &[&str] = &[
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
    concat!(r"C:\Us", r"ers\"),
];

/// Parts of a package registry's address. Which registry serves a machine is that machine's business; the
/// one place that names it is the lock file.
const REGISTRIES: &[&str] = &[
    concat!("sparse", "+http"),
    concat!("index.", "crates.io"),
    concat!("static.", "crates.io"),
    concat!("registry.", "npmjs"),
    concat!("registry.", "npmmirror"),
    concat!("registry.", "yarnpkg"),
    concat!("pypi", ".org"),
    concat!("python", "hosted.org"),
    concat!("proxy.", "golang.org"),
];

const LOCK_FILE: &str = "Cargo.lock";

/// The page that says which test shows what.
const PROOF: &str = "docs/proof.md";

/// A text file of the repository, by its path from the root with `/`.
struct TextFile {
    path: String,
    text: String,
}

pub(super) fn run(root: &Path) -> Result<()> {
    let files = text_files(root)?;
    let mut found: Vec<String> = files.iter().flat_map(violations_in).collect();
    let read =
        |path: &str| fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"));
    found.extend(undocumented(&read("Cargo.toml")?, &read("docs/dependencies.md")?));
    found.extend(untracked_sample_files(root)?);
    found.extend(unproven(&read(PROOF)?, &files));
    no_violations(&found)
}

/// The files that git tracks or would add. Links and binary files are no text.
fn text_files(root: &Path) -> Result<Vec<TextFile>> {
    let mut files = Vec::new();
    for path in git_files(root, &["--cached", "--others", "--exclude-standard"])? {
        let full = root.join(&path);
        // A file that was deleted and not yet staged is still listed.
        let Ok(metadata) = full.symlink_metadata() else {
            continue;
        };
        if !metadata.is_file() {
            continue;
        }
        let bytes = fs::read(&full).with_context(|| format!("cannot read {path}"))?;
        if !bytes.contains(&0) {
            files.push(TextFile {
                path,
                text: String::from_utf8_lossy(&bytes).into_owned(),
            });
        }
    }
    Ok(files)
}

/// The sample has files that its own ignore file hides; without them a checkout differs from what is tested.
fn untracked_sample_files(root: &Path) -> Result<Vec<String>> {
    let hidden = git_files(
        root,
        &[
            "--others",
            "--ignored",
            "--exclude-standard",
            "--",
            "tests/sample",
        ],
    )?;
    Ok(hidden
        .iter()
        .map(|path| format!("{path}: git ignores it: `git add -f` it, or remove it"))
        .collect())
}

fn git_files(root: &Path, options: &[&str]) -> Result<Vec<String>> {
    let mut command = Command::new("git");
    command.current_dir(root).args(["ls-files", "-z"]).args(options);
    let list = shell::stdout_of(&mut command)?;
    let paths = list.split(|&byte| byte == 0).filter(|path| !path.is_empty());
    Ok(paths
        .map(|path| String::from_utf8_lossy(path).into_owned())
        .collect())
}

fn violations_in(file: &TextFile) -> Vec<String> {
    let TextFile { path, text } = file;
    let mut found = Vec::new();
    if is_crate_source(path) {
        let lines = text.lines().count();
        if lines > MAX_LINES {
            found.push(format!(
                "{path}: {lines} lines; split it, {MAX_LINES} is the limit"
            ));
        }
        if path.ends_with("/mod.rs") {
            found.push(format!("{path}: name the module's file after the module"));
        }
        if path.ends_with("/src/lib.rs") && !text.starts_with("//! ") {
            found.push(format!(
                "{path}: the first line is not the crate's sentence (`//! …`)"
            ));
        }
    }
    for (line, number) in text.lines().zip(1..) {
        if names_machine_folder(line) {
            found.push(format!("{path}:{number}: a path of one machine"));
        }
        if path != LOCK_FILE && REGISTRIES.iter().any(|registry| line.contains(registry)) {
            found.push(format!("{path}:{number}: the address of a package registry"));
        }
    }
    found
}

/// `crates/NAME/src/….rs`
fn is_crate_source(path: &str) -> bool {
    let mut parts = path.split('/');
    parts.next() == Some("crates") && parts.nth(1) == Some("src") && path.ends_with(".rs")
}

/// Whether a path into somebody's folder begins in this line; the same words within another path are none.
fn names_machine_folder(line: &str) -> bool {
    MACHINE_FOLDERS.iter().any(|folder| {
        line.match_indices(folder).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            !before.is_some_and(|c| c.is_alphanumeric() || "-_.~$}*".contains(c))
        })
    })
}

/// Compares the dependencies of the workspace with their page, both ways.
fn undocumented(manifest: &str, page: &str) -> Vec<String> {
    let (used, told) = (workspace_dependencies(manifest), documented_dependencies(page));
    let missing = used.iter().filter(|name| !told.contains(name));
    let stale = told.iter().filter(|name| !used.contains(name));
    missing
        .map(|name| format!("docs/dependencies.md has no line for `{name}`"))
        .chain(stale.map(|name| format!("docs/dependencies.md has a line for `{name}`, which is not used")))
        .collect()
}

/// The names in `[workspace.dependencies]` that come from outside, one entry a line.
fn workspace_dependencies(manifest: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut inside = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line.trim_end() == "[workspace.dependencies]";
        } else if inside
            && let Some((name, value)) = line.split_once('=')
            && !line.starts_with([' ', '\t', '#'])
            && !value.contains("path =")
        {
            names.push(
                name.trim()
                    .trim_end_matches(".workspace")
                    .trim_matches('"')
                    .to_owned(),
            );
        }
    }
    names
}

/// The names in backticks at the start of table rows.
fn documented_dependencies(page: &str) -> Vec<String> {
    let name = |line: &str| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned());
    page.lines().filter_map(name).collect()
}

/// The tests and files that the page of proofs names and that are not there.
fn unproven(page: &str, files: &[TextFile]) -> Vec<String> {
    let is_there = |name: &str| {
        if name.contains('/') {
            return files.iter().any(|file| file.path == name);
        }
        let begins = format!("fn {name}(");
        files
            .iter()
            .any(|file| file.path.ends_with(".rs") && file.text.contains(&begins))
    };
    let rows = page.lines().filter(|line| line.starts_with("| "));
    // Every second piece stands between backticks.
    let names = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    names
        .filter(|name| !is_there(name))
        .map(|name| format!("{PROOF} names `{name}`, which is not there"))
        .collect()
}

#[cfg(test)]
mod tests;
