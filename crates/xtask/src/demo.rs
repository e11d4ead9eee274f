//! `demo`: one request in a terminal, on a throw-away copy of the sample project or on a folder of the user's.

use std::io::{IsTerminal, stdout};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

use anyhow::{Context, Result, bail};

use crate::program::{self, HEADLESS, Profile};
use crate::scratch::{self, Scratch};
use crate::setup;
use crate::shell::{self, WrongUsage};

/// What the demo asks for unless it is told otherwise; the offline model understands it.
const DEMO_REQUEST: &str = "List the files, find *.md, run this script: `(await rtcAgent.fs.grep('colour')).length`, \
                            then replace `colour` by `color` everywhere";

const USAGE: &str = "\
usage: cargo xtask demo [--keep] [\"REQUEST\"]     on a throw-away copy of tests/sample
       cargo xtask demo --root DIR \"REQUEST\"     in a folder of yours, in mode edit";

const HOW_TO_GO_ON: &str = "\
How to go on
  in a folder of yours:  cargo xtask demo --root DIR \"REQUEST\"
  with a real model:     set OPENAI_API_KEY or ANTHROPIC_API_KEY, then
                         cargo run -p rtc-server -- run \"REQUEST\" --root DIR --model openai/NAME";

/// What to do, as the arguments say it.
#[derive(Debug, PartialEq, Eq)]
enum Demo {
    /// On a copy of the sample, which is kept afterwards if `keep`. Without a request: the usual one.
    Sample { request: Option<String>, keep: bool },
    /// In the user's own folder.
    Folder { root: PathBuf, request: String },
    /// Say how the command is used.
    Help,
}

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode> {
    let root = shell::repository_root()?;
    let demo = parse(arguments)?;
    shell::outlive_interrupts()?;
    match demo {
        Demo::Sample { request, keep } => {
            setup::run(&root)?;
            on_sample(&root, request, keep)
        }
        Demo::Folder {
            root: folder,
            request,
        } => {
            setup::run(&root)?;
            in_folder(&root, &folder, &request)
        }
        Demo::Help => {
            println!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn parse(arguments: &[String]) -> Result<Demo, WrongUsage> {
    let wrong = |what: &str| WrongUsage(format!("{what}\n{USAGE}"));
    let (mut root, mut request, mut keep, mut only_words) = (None, None, false, false);
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--" if !only_words => only_words = true,
            "--help" | "-h" if !only_words => return Ok(Demo::Help),
            "--keep" if !only_words => keep = true,
            "--root" if !only_words => {
                root = Some(
                    arguments
                        .next()
                        .ok_or_else(|| wrong("--root needs a folder"))?
                        .clone(),
                );
            }
            option if !only_words && option.starts_with("--root=") => {
                root = Some(option["--root=".len()..].to_owned());
            }
            option if !only_words && option.len() > 1 && option.starts_with('-') => {
                return Err(wrong(&format!("there is no option `{option}`")));
            }
            "" => return Err(wrong("the request is empty")),
            _ if request.is_some() => return Err(wrong("more than one request: put it in quotes")),
            words => request = Some(words.to_owned()),
        }
    }
    match (root, request) {
        (None, request) => Ok(Demo::Sample { request, keep }),
        (Some(_), None) => Err(wrong("--root needs a request as well")),
        (Some(_), Some(_)) if keep => Err(wrong("--keep is for the sample; your folder stays anyway")),
        (Some(root), Some(request)) => Ok(Demo::Folder {
            root: root.into(),
            request,
        }),
    }
}

fn on_sample(root: &Path, request: Option<String>, keep: bool) -> Result<ExitCode> {
    let binary = program::build(root, &HEADLESS, Profile::Dev)?;
    let mut scratch = Scratch::create()?;
    if keep {
        scratch.keep();
    }
    // Two copies: what is compared with in the end is out of reach of what runs in between.
    let (before, after) = (scratch.path().join("before"), scratch.path().join("after"));
    for copy in [&before, &after] {
        scratch::copy_tree(&root.join("tests/sample"), copy)?;
    }
    let wanted = request.as_deref().unwrap_or(DEMO_REQUEST);
    println!(
        "This works on a throw-away copy of tests/sample, and therefore in mode bypass: nothing asks first."
    );
    println!("The offline model answers. It is no language model, and needs neither a key nor a network.\n");
    println!("Request: {wanted}\n");
    let mut turn = Command::new(binary);
    turn.arg("run")
        .arg("--root")
        .arg(&after)
        .arg("--data")
        .arg(scratch.path().join("data"));
    turn.args(["--mode", "bypass", "--model", "offline", "--", wanted]);
    let status = shell::status(&mut turn)?;
    if !status.success() {
        if keep {
            println!("Kept: {}", scratch.path().display());
        }
        eprintln!("xtask demo: the turn did not end well ({status})");
        return Ok(exit_code(status));
    }
    let color = stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    match difference(scratch.path(), "before", "after", color)? {
        Some(text) => println!("\nWhat changed:\n\n{text}"),
        // A request of the user's own may well only look.
        None if request.is_some() => println!("\nNothing changed.\n"),
        None => bail!("the turn succeeded, but nothing changed"),
    }
    if keep {
        println!("Kept: {}\n", scratch.path().display());
    }
    println!("{HOW_TO_GO_ON}");
    Ok(ExitCode::SUCCESS)
}

fn in_folder(root: &Path, folder: &Path, request: &str) -> Result<ExitCode> {
    if !folder.is_dir() {
        return Err(WrongUsage(format!("{} is not a folder", folder.display())).into());
    }
    let binary = program::build(root, &HEADLESS, Profile::Dev)?;
    println!(
        "This works in {}, in mode edit: it edits files, and asks before anything else.\n",
        folder.display()
    );
    let mut turn = Command::new(binary);
    turn.arg("run")
        .arg("--root")
        .arg(folder)
        .args(["--mode", "edit", "--", request]);
    let status = shell::status(&mut turn)?;
    Ok(exit_code(status))
}

/// The child's own code, so that a caller can tell the outcomes apart.
fn exit_code(status: ExitStatus) -> ExitCode {
    match status.code().map(u8::try_from) {
        Some(Ok(code)) => ExitCode::from(code),
        _ => ExitCode::FAILURE,
    }
}

/// What `git` tells of two folders beneath `folder`, for a terminal if `color`; nothing if they are equal.
fn difference(folder: &Path, before: &str, after: &str, color: bool) -> Result<Option<String>> {
    let mut command = Command::new("git");
    command.current_dir(folder);
    // A carriage return at the end of a line is no mistake here.
    command.args([
        "--no-pager",
        "-c",
        "core.whitespace=cr-at-eol",
        "-c",
        "core.autocrlf=false",
    ]);
    command.args([
        "diff",
        "--no-index",
        "--no-ext-diff",
        "--no-prefix",
        "--no-renames",
    ]);
    command.arg(if color { "--color=always" } else { "--color=never" });
    command.args([before, after]);
    let output = command.output().context("cannot run git")?;
    match output.status.code() {
        Some(0) => Ok(None),
        Some(1) => Ok(Some(readable(&output.stdout))),
        _ => bail!(
            "git diff failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ),
    }
}

/// Text for a terminal of lines in several encodings: what is not UTF-8 is shown as Latin-1.
fn readable(bytes: &[u8]) -> String {
    let line = |line: &[u8]| match std::str::from_utf8(line) {
        Ok(text) => text.to_owned(),
        Err(_) => line.iter().copied().map(char::from).collect(),
    };
    bytes.split_inclusive(|&byte| byte == b'\n').map(line).collect()
}

#[cfg(test)]
mod tests;
