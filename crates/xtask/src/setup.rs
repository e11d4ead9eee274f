//! `setup`: what a build and its tests need. Quick when nothing is missing.

pub(crate) mod peers;

use std::io::{IsTerminal, stdin};
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::shell::{self, WrongUsage};
use crate::{front_end, npm};

/// Something that the build or a test takes from the system.
struct Need {
    what: What,
    /// The Debian and Ubuntu package that brings it.
    package: &'static str,
    why: &'static str,
}

/// What is looked for.
enum What {
    /// A program on the search path.
    Program(&'static str),
    /// A file. Only asked for where the build would take it from there.
    File(&'static str),
    /// A module of the system's Python.
    #[cfg(target_os = "linux")]
    Module(&'static str),
}

impl What {
    fn is_there(&self) -> bool {
        match self {
            Self::Program(name) => shell::on_search_path(name),
            Self::File(path) => Path::new(path).exists(),
            #[cfg(target_os = "linux")]
            Self::Module(name) => {
                shell::succeeds(Command::new("python3").args(["-c", &format!("import {name}")]))
            }
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Program(name) | Self::File(name) => name,
            #[cfg(target_os = "linux")]
            Self::Module(name) => name,
        }
    }
}

#[cfg(unix)]
const COMPILER: &[Need] = &[Need {
    what: What::Program("cc"),
    package: "build-essential",
    why: "links programs and builds C code of dependencies",
}];
#[cfg(not(unix))]
const COMPILER: &[Need] = &[];

const EVERYWHERE: &[Need] = &[
    Need {
        what: What::Program("git"),
        package: "git",
        why: "lists the files to check and shows differences",
    },
    Need {
        what: What::Program("cmake"),
        package: "cmake",
        why: "builds C code of the script engine",
    },
    Need {
        what: What::Program("node"),
        package: "nodejs",
        why: "builds the page, and runs the published client of JavaScript against the port in a test",
    },
    Need {
        what: What::Program("npm"),
        package: "npm",
        why: "installs what they are made of",
    },
];

#[cfg(target_os = "linux")]
const LINUX: &[Need] = &[
    Need {
        what: What::Program("strace"),
        package: "strace",
        why: "a test counts the flushes to the device with it",
    },
    Need {
        what: What::Program("rg"),
        package: "ripgrep",
        why: "a test compares what a search leaves out with it, and a benchmark its time",
    },
    Need {
        what: What::Program("fdfind"),
        package: "fd-find",
        why: "a benchmark compares the time of a search for names with it",
    },
    Need {
        what: What::Program("chromium"),
        package: "chromium",
        why: "a test drives the page in it",
    },
    Need {
        what: What::File("/usr/include/simde/simde-common.h"),
        package: "libsimde-dev",
        why: "without it the build of the script engine fetches it with git, see .cargo/simde.cmake",
    },
    Need {
        what: What::Program("python3"),
        package: "python3",
        why: "runs the published client of Python against the port in a test",
    },
    Need {
        what: What::Module("ensurepip"),
        package: "python3-venv",
        why: "installs that client in an environment of its own",
    },
    Need {
        what: What::File("/usr/include/webkitgtk-4.1/webkit2/webkit2.h"),
        package: "libwebkit2gtk-4.1-dev",
        why: "shows the page in the window",
    },
    Need {
        what: What::Program("WebKitWebDriver"),
        package: "webkit2gtk-driver",
        why: "a test drives the window with it",
    },
    Need {
        what: What::Program("Xvfb"),
        package: "xvfb",
        why: "the display of that test",
    },
    Need {
        what: What::Program("openbox"),
        package: "openbox",
        why: "minimises windows and brings them forward in that test",
    },
    Need {
        what: What::Program("xdotool"),
        package: "xdotool",
        why: "looks at the windows of that test, and types into dialogs",
    },
    Need {
        what: What::Program("dbus-run-session"),
        package: "dbus-daemon",
        why: "by it a second start of the window finds the first one in that test",
    },
    Need {
        what: What::Program("desktop-file-validate"),
        package: "desktop-file-utils",
        why: "a test looks at what the bundle tells the desktop",
    },
];
#[cfg(not(target_os = "linux"))]
const LINUX: &[Need] = &[];

/// The oldest Rust that builds the workspace, from its `rust-version`.
const RUST_VERSION: &str = env!("CARGO_PKG_RUST_VERSION");

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode> {
    if let Some(argument) = arguments.first() {
        return Err(WrongUsage(format!("unexpected `{argument}`\nusage: cargo xtask setup")).into());
    }
    run(&shell::repository_root()?)?;
    println!("setup: everything is there");
    Ok(ExitCode::SUCCESS)
}

/// Checks everything and installs missing system packages where it can.
pub(crate) fn run(root: &Path) -> Result<()> {
    check_rust(root)?;
    let needs = [COMPILER, EVERYWHERE, LINUX].into_iter().flatten();
    let missing: Vec<&Need> = needs.filter(|need| !need.what.is_there()).collect();
    if !missing.is_empty() {
        install_all(&missing)?;
    }
    npm::check_node()?;
    peers::install(root)?;
    npm::install(&root.join(front_end::FOLDER))
}

/// Installs what is missing, and looks whether it is there then.
fn install_all(missing: &[&Need]) -> Result<()> {
    for need in missing {
        eprintln!("missing: {} ({})", need.what.name(), need.why);
    }
    install(missing)?;
    match missing.iter().find(|need| !need.what.is_there()) {
        Some(need) => {
            bail!(
                "{} is still missing after the package {} was installed",
                need.what.name(),
                need.package
            )
        }
        None => Ok(()),
    }
}

fn check_rust(root: &Path) -> Result<()> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let said = shell::stdout_of(Command::new(rustc).arg("--version").current_dir(root))?;
    let said = String::from_utf8_lossy(&said);
    let version = said.split_whitespace().nth(1).unwrap_or_default();
    let found = release(version).with_context(|| format!("cannot read the version in {said:?}"))?;
    let wanted = release(RUST_VERSION).context("rust-version of the workspace is not a version")?;
    if found < wanted {
        bail!("Rust {version} is too old, {RUST_VERSION} or newer is needed: run `rustup update stable`");
    }
    for component in ["fmt", "clippy"] {
        if !shell::succeeds(shell::cargo(root).args([component, "--version"])) {
            bail!("`cargo {component}` is missing: run `rustup component add rustfmt clippy`");
        }
    }
    Ok(())
}

/// `1.95` or `1.95.0-nightly` as numbers.
fn release(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split(['.', '-']);
    let major = numbers.next()?.parse().ok()?;
    let minor = numbers.next()?.parse().ok()?;
    Some((major, minor))
}

fn install(missing: &[&Need]) -> Result<()> {
    let packages: Vec<&str> = missing.iter().map(|need| need.package).collect();
    let list = packages.join(" ");
    if !Path::new("/etc/debian_version").exists() || !shell::on_search_path("apt-get") {
        bail!("{}", by_hand(missing));
    }
    let prefix = privilege().with_context(|| format!("as root run: apt-get install {list}"))?;
    eprintln!("installing the system packages {list}");
    shell::run(apt_get(&prefix).arg("update"))?;
    shell::run(
        apt_get(&prefix)
            .args(["install", "--yes", "--no-install-recommends"])
            .args(packages),
    )
}

/// What is said where packages are not installed by us.
fn by_hand(missing: &[&Need]) -> String {
    let names: Vec<&str> = missing.iter().map(|need| need.what.name()).collect();
    let packages: Vec<&str> = missing.iter().map(|need| need.package).collect();
    format!(
        "install {} with this system's package manager (on Debian: {})",
        names.join(", "),
        packages.join(" ")
    )
}

/// What stands before a command that has to run as root: nothing, or sudo.
fn privilege() -> Result<Vec<&'static str>> {
    let user = shell::stdout_of(Command::new("id").arg("-u"))?;
    if user.trim_ascii() == b"0" {
        return Ok(vec![]);
    }
    if !shell::on_search_path("sudo") {
        bail!("installing packages needs root or sudo");
    }
    // Without a terminal nobody can type the password: fail instead of waiting for it.
    Ok(if stdin().is_terminal() {
        vec!["sudo"]
    } else {
        vec!["sudo", "--non-interactive"]
    })
}

fn apt_get(prefix: &[&str]) -> Command {
    let words: Vec<&str> = prefix
        .iter()
        .copied()
        .chain(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"])
        .collect();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_compared_as_numbers() {
        let table = [
            ("1.95", Some((1, 95))),
            ("1.95.0", Some((1, 95))),
            ("1.100.1", Some((1, 100))),
            ("1.96.0-nightly", Some((1, 96))),
            ("2", None),
            ("new", None),
        ];
        for (version, expected) in table {
            assert_eq!(release(version), expected, "{version}");
        }
        assert!(release("1.100.0") > release("1.95.0"));
        assert!(release(RUST_VERSION).is_some());
    }

    #[test]
    fn elsewhere_what_is_missing_is_named() {
        let missing: Vec<&Need> = EVERYWHERE.iter().collect();
        insta::assert_snapshot!(by_hand(&missing), @"install git, cmake, node, npm with this system's package manager (on Debian: git cmake nodejs npm)");
    }

    #[test]
    fn packages_are_installed_without_questions() {
        let words = |prefix: &[&str]| {
            let command = apt_get(prefix);
            let arguments = command.get_args().map(|a| a.to_string_lossy().into_owned());
            [command.get_program().to_string_lossy().into_owned()]
                .into_iter()
                .chain(arguments)
                .collect::<Vec<_>>()
        };
        assert_eq!(words(&[]), ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
        assert_eq!(
            words(&["sudo"]),
            ["sudo", "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]
        );
    }
}
