//! Programs of others at exactly the versions and contents of their lock files: the published clients that the port is
//! tested with, and the engines that benchmarks have beside ours.

use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use std::{fs, process::Command};

#[cfg(target_os = "linux")]
use anyhow::Context as _;
use anyhow::Result;

use crate::npm;
#[cfg(target_os = "linux")]
use crate::shell;

/// The folder of the published clients.
const PEERS: &str = "tests/port/peers";

/// The folder of the engines beside ours.
const ENGINES: &str = "tests/benches/peers";

/// Installs the clients, unless they are installed already.
pub(super) fn install(root: &Path) -> Result<()> {
    install_in(&root.join(PEERS))
}

/// Installs the engines beside ours, unless they are installed already, and returns where. Nothing but the benchmark
/// wants them, so they are no part of a setup.
pub(crate) fn install_engines(root: &Path) -> Result<PathBuf> {
    let folder = root.join(ENGINES);
    install_in(&folder)?;
    Ok(folder)
}

fn install_in(folder: &Path) -> Result<()> {
    npm::install(folder)?;
    // What uses it is of Linux only.
    #[cfg(target_os = "linux")]
    with_pip(folder)?;
    Ok(())
}

/// What says which packages of Python are wanted, and for which of those the environment was made.
#[cfg(target_os = "linux")]
const WANTED: &str = "requirements.txt";
#[cfg(target_os = "linux")]
const INSTALLED: &str = "venv/.installed.txt";

/// Into an environment of its own, which is made anew: what was in it is not wanted any more.
#[cfg(target_os = "linux")]
fn with_pip(folder: &Path) -> Result<()> {
    let wanted = folder.join(WANTED);
    let wanted = fs::read(&wanted).with_context(|| format!("cannot read {}", wanted.display()))?;
    let installed = folder.join(INSTALLED);
    if fs::read(&installed).is_ok_and(|of| of == wanted) {
        return Ok(());
    }
    let mut make = Command::new("python3");
    shell::run(make.args(["-m", "venv", "--clear", "venv"]).current_dir(folder))?;
    let mut pip = Command::new(folder.join("venv/bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    // Nothing that is not named with its hash, and nothing that would have to be built.
    pip.args(["--require-hashes", "--no-deps", "--only-binary", ":all:"]);
    shell::run(pip.args(["--requirement", WANTED]).current_dir(folder))?;
    fs::write(&installed, wanted).with_context(|| format!("cannot write {}", installed.display()))
}
