//! The program that lets a test drive the window by WebDriver.

use std::path::Path;

use anyhow::Result;

use crate::shell;

/// Its version.
const TAURI_DRIVER: &str = "2.1.0";

/// Installs it into cargo's home if it is not there.
pub(super) fn install(root: &Path) -> Result<()> {
    // Elsewhere no test drives the window.
    if !cfg!(target_os = "linux") || is_there() {
        return Ok(());
    }
    eprintln!("installing tauri-driver {TAURI_DRIVER}, once; this takes a minute");
    shell::run(shell::cargo(root).args(["install", "tauri-driver", "--locked", "--version", TAURI_DRIVER]))
}

fn is_there() -> bool {
    let home = std::env::var_os("CARGO_HOME").map(std::path::PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    shell::on_search_path("tauri-driver") || home.is_some_and(|home| home.join("bin/tauri-driver").is_file())
}
