//! Running children, and saying what is run.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};

/// The caller's mistake: the process ends with code 2 after this message.
#[derive(Debug)]
pub(crate) struct WrongUsage(pub(crate) String);

impl fmt::Display for WrongUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrongUsage {}

/// The root of the repository. Cargo tells where this crate is; a path fixed at build time would be wrong
/// when several checkouts share one target folder.
pub(crate) fn repository_root() -> Result<PathBuf> {
    let crate_folder = std::env::var_os("CARGO_MANIFEST_DIR").context("run this as `cargo xtask`")?;
    let root = Path::new(&crate_folder)
        .ancestors()
        .nth(2)
        .context("the crate is not under crates/")?;
    Ok(root.to_path_buf())
}

/// The cargo that runs us, in the repository's root.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for name in names.filter(|name| is_of_our_package(name)) {
        command.env_remove(name);
    }
    command
}

/// Whether a variable tells of the package that cargo has started, which is us. Build scripts of dependencies look at
/// some of them: with ours, they would run again, and once more in every build that is not ours.
fn is_of_our_package(variable: &str) -> bool {
    let own = ["CARGO_BIN_NAME", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE"];
    own.contains(&variable) || variable.starts_with("CARGO_MANIFEST_") || variable.starts_with("CARGO_PKG_")
}

/// From here on Ctrl-C ends the programs that we run, which the terminal tells as well, and not us: what they have
/// begun is cleaned up, and their exit code passed on.
pub(crate) fn outlive_interrupts() -> Result<()> {
    let interrupted = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGINT, interrupted)
        .context("cannot listen to Ctrl-C")?;
    Ok(())
}

/// Says the command, runs it with our terminal, and gives its status.
pub(crate) fn status(command: &mut Command) -> Result<ExitStatus> {
    eprintln!("$ {}", line_of(command));
    command
        .status()
        .with_context(|| format!("cannot run `{}`", line_of(command)))
}

/// Says the command and runs it with our terminal; anything but success is an error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = status(command)?;
    if !status.success() {
        bail!("`{}` failed ({status})", line_of(command));
    }
    Ok(())
}

/// Runs quietly and returns what the command wrote on stdout. Its stderr stays on the terminal.
pub(crate) fn stdout_of(command: &mut Command) -> Result<Vec<u8>> {
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run `{}`", line_of(command)))?;
    if !output.status.success() {
        bail!("`{}` failed ({})", line_of(command), output.status);
    }
    Ok(output.stdout)
}

/// What a command prints, without the space around it.
pub(crate) fn text_of(command: &mut Command) -> Result<String> {
    Ok(String::from_utf8_lossy(&stdout_of(command)?).trim().to_owned())
}

/// What is checked out, with a mark if files differ from it.
pub(crate) fn commit(root: &Path) -> Result<String> {
    let mut git = Command::new("git");
    git.current_dir(root)
        .args(["describe", "--always", "--dirty", "--exclude=*"]);
    text_of(&mut git)
}

/// Runs without any output; tells only whether the command exists and succeeds.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    let quiet = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Whether a program of this name is on the search path.
pub(crate) fn on_search_path(program: &str) -> bool {
    let file = format!("{program}{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(&file).is_file())
}

/// The command as a person would type it: the program's bare name, arguments quoted where needed.
fn line_of(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut line = program
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    for argument in command.get_args() {
        let argument = argument.to_string_lossy();
        let plain = !argument.is_empty()
            && argument
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_=+./:,@".contains(c));
        line.push(' ');
        if plain {
            line.push_str(&argument);
        } else {
            line.push_str(&format!("'{}'", argument.replace('\'', r"'\''")));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_it_would_be_typed() {
        let table: &[(&[&str], &str)] = &[
            (&["fmt", "--all", "--check"], "cargo fmt --all --check"),
            (&["run", "say it's done", ""], r"cargo run 'say it'\''s done' ''"),
            (&["-p", "a$b"], "cargo -p 'a$b'"),
        ];
        for (arguments, line) in table {
            assert_eq!(&line_of(Command::new("/opt/bin/cargo").args(*arguments)), line);
        }
    }

    #[test]
    fn what_cargo_says_of_us_is_not_passed_on() {
        for (variable, ours) in [
            ("CARGO_MANIFEST_DIR", true),
            ("CARGO_MANIFEST_PATH", true),
            ("CARGO_PKG_VERSION_MAJOR", true),
            ("CARGO_BIN_NAME", true),
            ("CARGO_TARGET_DIR", false),
            ("CARGO_HOME", false),
            ("CARGO", false),
            ("PATH", false),
        ] {
            assert_eq!(is_of_our_package(variable), ours, "{variable}");
        }
        // A test has these from cargo as well.
        let command = cargo(Path::new("."));
        let removed: Vec<_> = command.get_envs().filter(|(_, value)| value.is_none()).collect();
        assert!(
            removed.iter().any(|(name, _)| *name == "CARGO_MANIFEST_DIR"),
            "{removed:?}"
        );
        assert!(
            removed.iter().any(|(name, _)| *name == "CARGO_PKG_NAME"),
            "{removed:?}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn an_interrupt_ends_the_child_and_not_us() {
        outlive_interrupts().unwrap();
        let mut child = Command::new("sh");
        // What a terminal does with Ctrl-C, to this process and to its child; the child ends by its own code.
        child.args(["-c", "trap 'exit 5' INT; kill -INT $PPID; kill -INT $$; exit 1"]);
        assert_eq!(status(&mut child).unwrap().code(), Some(5));
        let mut child = Command::new("sh");
        child.args(["-c", "kill -INT $$; exit 1"]);
        assert_eq!(
            status(&mut child).unwrap().code(),
            None,
            "a child does not inherit it"
        );
    }

    #[test]
    fn missing_and_failing_commands_do_not_succeed() {
        assert!(!on_search_path("no-program-has-this-name"));
        assert!(!succeeds(&mut Command::new("no-program-has-this-name")));
        let error = stdout_of(&mut Command::new("no-program-has-this-name")).unwrap_err();
        assert_eq!(error.to_string(), "cannot run `no-program-has-this-name`");
    }
}
