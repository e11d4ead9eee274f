//! Packages of npm: installed at the versions of the lock file, and the scripts of a `package.json`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::shell;

/// What says which versions are wanted, and within what npm installed, for which lock file that was.
const LOCK: &str = "package-lock.json";
const INSTALLED: &str = "node_modules/.installed.json";

/// The oldest Node that runs the tools of `ui/`, as its `package.json` says.
const NODE_VERSION: (u32, u32) = (20, 19);

/// Installs the packages of a folder at exactly the versions of the lock file, unless that was done already.
pub(crate) fn install(folder: &Path) -> Result<()> {
    let lock = folder.join(LOCK);
    let lock = fs::read(&lock).with_context(|| format!("cannot read {}", lock.display()))?;
    let installed = folder.join(INSTALLED);
    if fs::read(&installed).is_ok_and(|of| of == lock) {
        return Ok(());
    }
    // No script of a package runs: none is needed.
    shell::run(npm(folder).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]))?;
    fs::write(&installed, lock).with_context(|| format!("cannot write {}", installed.display()))
}

/// Runs a script of the folder's `package.json`.
pub(crate) fn run_script(folder: &Path, script: &str) -> Result<()> {
    shell::run(npm(folder).args(["run", "--silent", script]))
}

/// Fails with what to do where Node is too old. Some systems bring one that is.
pub(crate) fn check_node() -> Result<()> {
    let said = shell::stdout_of(Command::new("node").arg("--version"))?;
    let said = String::from_utf8_lossy(&said);
    let found = release(&said).with_context(|| format!("cannot read the version of node in {said:?}"))?;
    if found < NODE_VERSION {
        let (major, minor) = NODE_VERSION;
        bail!(
            "node {} is too old, {major}.{minor} or newer is needed: install it from nodejs.org or with this system's \
             package manager, and put it before the other one on the search path",
            said.trim()
        );
    }
    Ok(())
}

/// `v20.19.1` as numbers.
fn release(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.trim().strip_prefix('v')?.split('.');
    let major = numbers.next()?.parse().ok()?;
    let minor = numbers.next()?.parse().ok()?;
    Some((major, minor))
}

fn npm(folder: &Path) -> Command {
    // On Windows npm is a script, which only its own shell starts.
    let mut npm = if cfg!(windows) {
        let mut shell = Command::new("cmd");
        shell.args(["/C", "npm"]);
        shell
    } else {
        Command::new("npm")
    };
    npm.current_dir(folder);
    npm
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_node_are_compared_as_numbers() {
        let table = [
            ("v20.19.1\n", Some((20, 19))),
            ("v22.0.0", Some((22, 0))),
            ("20.19.1", None),
            ("", None),
        ];
        for (version, expected) in table {
            assert_eq!(release(version), expected, "{version}");
        }
        assert!(release("v18.20.4") < Some(NODE_VERSION));
        assert!(release("v20.9.0") < Some(NODE_VERSION));
        assert!(release("v24.1.0") > Some(NODE_VERSION));
    }
}
