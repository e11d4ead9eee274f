//! `bench`: how fast it is, measured on the build that users get and held against the targets.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::front_end;
use crate::program::{self, BARE, BENCHMARKS, DESKTOP, HEADLESS, Profile};
use crate::setup::peers;
use crate::shell::{self, WrongUsage};

/// Each benchmark and what it measures.
const NAMES: &[(&str, &str)] = &[
    (
        "call",
        "a tool call, a start, memory: from outside, with a scripted model",
    ),
    (
        "script",
        "a script, cold and warm, its file calls, and its end at its deadline",
    ),
    (
        "port",
        "the port of serve: calls, recovery and many listeners, beside a bare WebSocket",
    ),
    (
        ENGINE,
        "what grows with history, commits, space, and a durable step beside other engines",
    ),
    (
        "files",
        "grep, find, read, ls and edit on large folders and files, beside ripgrep, fd and cp",
    ),
    (
        WINDOW,
        "the window: first paint and memory beside a bare one, a call beside the same without",
    ),
];

/// The benchmark that needs the window.
const WINDOW: &str = "window";

/// The benchmark that has other engines beside ours.
const ENGINE: &str = "engine";

/// The targets, from the repository's root.
const TARGETS: &str = "tests/benches/targets.toml";

/// What to do, as the arguments say it.
#[derive(Debug, PartialEq, Eq)]
enum Bench {
    /// Run this one, and fail beyond its targets if `check`.
    Run { name: &'static str, check: bool },
    /// Say how the command is used.
    Help,
}

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode> {
    let (name, check) = match parse(arguments)? {
        Bench::Run { name, check } => (name, check),
        Bench::Help => {
            print!("{}", usage());
            return Ok(ExitCode::SUCCESS);
        }
    };
    let root = shell::repository_root()?;
    let binary = program::build(&root, &HEADLESS, Profile::Release)?;
    // Apart from it: built together, each would get what the other one wants of what they share.
    let measuring = program::build(&root, &BENCHMARKS, Profile::Release)?;
    let mut bench = Command::new(&measuring);
    bench.arg(name).arg("--binary").arg(&binary);
    if name == WINDOW {
        front_end::build(&root)?;
        let window = program::build(&root, &DESKTOP, Profile::Release)?;
        let bare = program::build(&root, &BARE, Profile::Release)?;
        bench.arg("--window").arg(window).arg("--bare").arg(bare);
    }
    if name == ENGINE {
        // Without them everything else is measured.
        match peers::install_engines(&root) {
            Ok(folder) => _ = bench.arg("--peers").arg(folder),
            Err(error) => eprintln!("the engines beside ours cannot be installed: {error:#}"),
        }
    }
    bench.arg("--results").arg(results(&binary)?);
    bench.arg("--targets").arg(root.join(TARGETS));
    bench
        .args(["--profile", "release", "--commit"])
        .arg(shell::commit(&root)?);
    bench.arg("--rustc").arg(compiler(&root)?);
    if check {
        bench.arg("--check");
    }
    let status = bench.status().context("the benchmark does not start")?;
    Ok(match status.success() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

fn parse(arguments: &[String]) -> Result<Bench, WrongUsage> {
    let wrong = |what: String| WrongUsage(format!("{what}\n{}", usage()));
    let (mut name, mut check) = (None, false);
    for argument in arguments {
        let known = NAMES.iter().find(|(known, _)| known == argument);
        match (argument.as_str(), known) {
            ("--help" | "-h", _) => return Ok(Bench::Help),
            ("--check", _) => check = true,
            (_, Some(_)) if name.is_some() => return Err(wrong("one benchmark at a time".to_owned())),
            (_, Some((known, _))) => name = Some(*known),
            (other, None) => return Err(wrong(format!("there is no benchmark `{other}`"))),
        }
    }
    let name = name.ok_or_else(|| wrong("which benchmark?".to_owned()))?;
    Ok(Bench::Run { name, check })
}

fn usage() -> String {
    let width = NAMES.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let mut text = String::from("usage: cargo xtask bench NAME [--check]\n\n");
    for (name, about) in NAMES {
        text.push_str(&format!("  {name:width$}  {about}\n"));
    }
    text.push_str(&format!(
        "\nBuilds in release, prints a table and keeps all samples as JSON in target/bench.\n\
         --check ends with code 1 beyond {TARGETS}.\n"
    ));
    text
}

/// `bench` in the target folder: `binary` is TARGET/release/NAME.
fn results(binary: &Path) -> Result<PathBuf> {
    let target = binary.ancestors().nth(2);
    Ok(target
        .context("the binary is not in a target folder")?
        .join("bench"))
}

fn compiler(root: &Path) -> Result<String> {
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.current_dir(root).arg("--version");
    shell::text_of(&mut rustc)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Bench, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(&words).map_err(|wrong| wrong.0.lines().next().unwrap().to_owned())
    }

    #[test]
    fn arguments_choose_one_benchmark() {
        let run = |name, check| Ok(Bench::Run { name, check });
        assert_eq!(parsed("call"), run("call", false));
        assert_eq!(parsed("--check script"), run("script", true));
        assert_eq!(parsed("call -h"), Ok(Bench::Help));
        for (line, told) in [
            ("", "which benchmark?"),
            ("--check", "which benchmark?"),
            ("calls", "there is no benchmark `calls`"),
            ("--fast", "there is no benchmark `--fast`"),
            ("call script", "one benchmark at a time"),
        ] {
            assert_eq!(parsed(line), Err(told.to_owned()), "{line}");
        }
    }

    #[test]
    fn usage_names_every_benchmark() {
        insta::assert_snapshot!(usage(), @r"
        usage: cargo xtask bench NAME [--check]

          call    a tool call, a start, memory: from outside, with a scripted model
          script  a script, cold and warm, its file calls, and its end at its deadline
          port    the port of serve: calls, recovery and many listeners, beside a bare WebSocket
          engine  what grows with history, commits, space, and a durable step beside other engines
          files   grep, find, read, ls and edit on large folders and files, beside ripgrep, fd and cp
          window  the window: first paint and memory beside a bare one, a call beside the same without

        Builds in release, prints a table and keeps all samples as JSON in target/bench.
        --check ends with code 1 beyond tests/benches/targets.toml.
        ");
    }

    #[test]
    fn results_are_kept_in_the_target_folder() {
        let folder = results(Path::new("out/release/rtc-headless")).unwrap();
        assert_eq!(folder, Path::new("out/bench"));
        assert!(results(Path::new("rtc-headless")).is_err());
    }
}
