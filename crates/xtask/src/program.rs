//! Building a program of the workspace, and where it then is.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::shell;

/// A program of the workspace.
pub(crate) struct Program {
    /// The package that has it.
    package: &'static str,
    /// Its name.
    binary: &'static str,
}

/// The headless shell.
pub(crate) const HEADLESS: Program = Program {
    package: "rtc-server",
    binary: "rtc-headless",
};

/// The window.
pub(crate) const DESKTOP: Program = Program {
    package: "rtc-desktop",
    binary: "rtc-desktop",
};

/// The benchmarks.
pub(crate) const BENCHMARKS: Program = Program {
    package: "rtc-tests",
    binary: "rtc-bench",
};

/// The window with one line that benchmarks have beside ours.
pub(crate) const BARE: Program = Program {
    package: "rtc-bare",
    binary: "rtc-bare",
};

/// How it is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// Quickly.
    Dev,
    /// As users get it.
    Release,
}

/// Builds a program and returns where its binary is.
pub(crate) fn build(root: &Path, program: &Program, profile: Profile) -> Result<PathBuf> {
    let Program { package, binary } = program;
    let mut command = shell::cargo(root);
    command.args(["build", "--package", package, "--bin", binary]);
    if profile == Profile::Release {
        command.arg("--release");
    }
    command.arg("--message-format=json-render-diagnostics");
    let messages = shell::stdout_of(&mut command)?;
    let built = binary_in(&String::from_utf8_lossy(&messages), binary);
    built.with_context(|| format!("the build made no {binary}"))
}

/// The executable of this name in cargo's JSON messages, one message a line.
fn binary_in(messages: &str, name: &str) -> Option<PathBuf> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["target"]["name"] == name)
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_is_the_one_that_cargo_names() {
        let messages = r#"
{"reason":"compiler-artifact","target":{"name":"rtc-app"},"executable":null}
{"reason":"compiler-artifact","target":{"name":"rtc-headless"},"executable":"out/rtc-headless"}
{"reason":"build-finished","success":true}
"#;
        let found = binary_in(messages, "rtc-headless");
        assert_eq!(found, Some(PathBuf::from("out/rtc-headless")));
        assert_eq!(binary_in(messages, "rtc-app"), None);
        assert_eq!(binary_in(messages, "rtc-bench"), None);
    }
}
