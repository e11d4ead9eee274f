//! Licences, duplicates and origins of all dependencies, by `cargo deny` and `deny.toml`.

use std::path::Path;

use anyhow::Result;

use crate::shell;

/// The tool's version that `deny.toml` is written for.
const CARGO_DENY: &str = "0.20.2";

/// Checks; installs the tool into cargo's home if it is not there.
pub(super) fn run(root: &Path) -> Result<()> {
    if !shell::succeeds(shell::cargo(root).args(["deny", "--version"])) {
        eprintln!("installing cargo-deny {CARGO_DENY}, once; this takes some minutes");
        shell::run(shell::cargo(root).args(["install", "cargo-deny", "--locked", "--version", CARGO_DENY]))?;
    }
    shell::run(shell::cargo(root).args(["deny", "check", "bans", "licenses", "sources"]))
}
