//! The packages that the product is built on: each is a direct dependency of a crate that calls it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use super::no_violations;
use crate::shell;

/// What the product was asked to be made of.
const PACKAGES: &[&str] = &[
    "tauri",
    "tokio",
    "axum",
    "sled",
    "serde",
    "tokio-tungstenite",
    "regex",
    "globset",
    "deno_core",
    "tracing",
];

/// Crates that are no part of the product.
const NOT_SHIPPED: &[&str] = &["xtask", "rtc-bare", "rtc-tests", "rtc-simulator"];

pub(super) fn run(root: &Path) -> Result<()> {
    let mut command = shell::cargo(root);
    command.args(["metadata", "--format-version", "1", "--no-deps"]);
    let metadata: Value = serde_json::from_slice(&shell::stdout_of(&mut command)?)?;
    let found = unused(&metadata, &|source| {
        fs::read_to_string(source).context("a source cannot be read")
    })?;
    no_violations(&found)
}

/// Those that no shipped crate both names and calls.
fn unused(metadata: &Value, read: &dyn Fn(&Path) -> Result<String>) -> Result<Vec<String>> {
    let mut missing = Vec::new();
    for package in PACKAGES {
        let mut is_used = false;
        for user in users_of(metadata, package) {
            is_used = is_used || calls(&user, &package.replace('-', "_"), read)?;
        }
        if !is_used {
            missing.push(format!("no crate of the product uses `{package}` directly"));
        }
    }
    Ok(missing)
}

/// The source folders of crates that depend on a package, tests and builds aside.
fn users_of(metadata: &Value, package: &str) -> Vec<PathBuf> {
    let packages = metadata["packages"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let names = |value: &Value, name: &str| value["name"] == name;
    packages
        .iter()
        .filter(|user| !NOT_SHIPPED.iter().any(|name| names(user, name)))
        .filter(|user| {
            let dependencies = user["dependencies"]
                .as_array()
                .map(Vec::as_slice)
                .unwrap_or_default();
            dependencies
                .iter()
                .any(|dependency| names(dependency, package) && dependency["kind"].is_null())
        })
        .filter_map(|user| {
            let target = user["targets"].as_array()?.iter().find(|target| {
                let kinds = target["kind"].as_array().map(Vec::as_slice).unwrap_or_default();
                kinds.iter().any(|kind| kind == "lib" || kind == "bin")
            })?;
            Some(Path::new(target["src_path"].as_str()?).parent()?.to_owned())
        })
        .collect()
}

/// Whether a source beneath a folder names a crate's items.
fn calls(folder: &Path, name: &str, read: &dyn Fn(&Path) -> Result<String>) -> Result<bool> {
    let path = format!("{name}::");
    for entry in fs::read_dir(folder).with_context(|| format!("cannot look at {}", folder.display()))? {
        let entry = entry?.path();
        let found = match entry.extension() {
            _ if entry.is_dir() => calls(&entry, name, read)?,
            Some(extension) if extension == "rs" => read(&entry)?.contains(&path),
            _ => false,
        };
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_only_named_or_only_in_tests_is_not_used() {
        let folder = std::env::temp_dir().join(format!("rtc-desktop-packages-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let source = folder.join("lib.rs");
        fs::write(&source, "").unwrap();
        let crate_with = |dependencies: Value| {
            json!({"packages": [{
                "name": "rtc-store",
                "dependencies": dependencies,
                "targets": [{"kind": ["lib"], "src_path": source}],
            }]})
        };
        let all = PACKAGES.iter().map(|name| json!({"name": name, "kind": null}));
        let all = crate_with(all.collect());
        let calls_all: String = PACKAGES
            .iter()
            .map(|name| format!("use {}::x;", name.replace('-', "_")))
            .collect();
        let unused_with = |metadata: &Value, text: &str| unused(metadata, &|_| Ok(text.to_owned())).unwrap();
        assert_eq!(unused_with(&all, &calls_all), Vec::<String>::new());
        let without_sled = calls_all.replace("sled::", "redb::");
        assert_eq!(
            unused_with(&all, &without_sled),
            ["no crate of the product uses `sled` directly"]
        );
        let for_tests = PACKAGES.iter().map(|name| json!({"name": name, "kind": "dev"}));
        assert_eq!(
            unused_with(&crate_with(for_tests.collect()), &calls_all).len(),
            PACKAGES.len()
        );
        fs::remove_dir_all(folder).unwrap();
    }
}
