//! The published clients that the port is tested with, at exactly the versions and contents of their lock files.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::shell;

/// The folder of the published clients.
const PEERS: &str = "tests/port/peers";

/// A client: what says which versions, and where a copy of that is put once they are installed.
struct Client {
    lock: &'static str,
    installed: &'static str,
    install: fn(&Path) -> Result<()>,
}

const CLIENTS: &[Client] = &[
    Client {
        lock: "package-lock.json",
        installed: "node_modules/.installed.json",
        install: with_npm,
    },
    // The tests that use it are of Linux only.
    #[cfg(target_os = "linux")]
    Client {
        lock: "requirements.txt",
        installed: "venv/.installed.txt",
        install: with_pip,
    },
];

/// Installs those that are not installed already.
pub(super) fn install(root: &Path) -> Result<()> {
    let folder = root.join(PEERS);
    for client in CLIENTS {
        let (lock, installed) = (folder.join(client.lock), folder.join(client.installed));
        let wanted = fs::read(&lock).with_context(|| format!("cannot read {PEERS}/{}", client.lock))?;
        if fs::read(&installed).is_ok_and(|of| of == wanted) {
            continue;
        }
        (client.install)(&folder)?;
        fs::write(&installed, wanted)
            .with_context(|| format!("cannot write {PEERS}/{}", client.installed))?;
    }
    Ok(())
}

fn with_npm(folder: &Path) -> Result<()> {
    // On Windows npm is a script, which only its own shell starts.
    let mut npm = if cfg!(windows) {
        let mut shell = Command::new("cmd");
        shell.args(["/C", "npm"]);
        shell
    } else {
        Command::new("npm")
    };
    // No script of a package runs: none is needed.
    let arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
    shell::run(npm.args(arguments).current_dir(folder))
}

/// Into an environment of its own, which is made anew: what was in it is not wanted any more.
#[cfg(target_os = "linux")]
fn with_pip(folder: &Path) -> Result<()> {
    let mut make = Command::new("python3");
    shell::run(make.args(["-m", "venv", "--clear", "venv"]).current_dir(folder))?;
    let mut pip = Command::new(folder.join("venv/bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    // Nothing that is not named with its hash, and nothing that would have to be built.
    pip.args(["--require-hashes", "--no-deps", "--only-binary", ":all:"]);
    shell::run(
        pip.args(["--requirement", "requirements.txt"])
            .current_dir(folder),
    )
}
