//! `page`: the page in a browser, on a throw-away copy of the sample project or on a folder of the user's.

use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::program::{self, HEADLESS, Profile};
use crate::scratch::{self, Place, Scratch};
use crate::shell;
use crate::{front_end, setup};

const USAGE: &str = "\
usage: cargo xtask page                 on a throw-away copy of tests/sample
       cargo xtask page --root DIR      in a folder of yours";

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode> {
    let folder = match scratch::folder(arguments, USAGE)? {
        Place::Named(folder) => Some(folder),
        Place::Scratch => None,
        Place::Help => return Ok(ExitCode::SUCCESS),
    };
    let root = shell::repository_root()?;
    shell::outlive_interrupts()?;
    setup::run(&root)?;
    front_end::build(&root)?;
    let mut serve = Command::new(program::build(&root, &HEADLESS, Profile::Dev)?);
    serve.arg("serve").arg("--root");
    match folder {
        Some(folder) => open(serve.arg(folder)),
        None => {
            let scratch = Scratch::create()?;
            let copy = scratch.path().join("sample");
            scratch::copy_tree(&root.join("tests/sample"), &copy)?;
            open(serve.arg(copy).arg("--data").arg(scratch.path().join("data")))
        }
    }
}

/// Runs `serve` until Ctrl-C, and says which address is to be opened.
fn open(serve: &mut Command) -> Result<ExitCode> {
    let mut serving = serve
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start rtc-headless")?;
    let out = serving.stdout.take().context("rtc-headless has no stdout")?;
    let mut line = String::new();
    BufReader::new(out)
        .read_line(&mut line)
        .context("cannot read what rtc-headless says")?;
    // It says nothing when it cannot serve; why stands on the terminal.
    if let Ok(ready) = serde_json::from_str::<Value>(&line) {
        let url = ready["url"].as_str().context("rtc-headless names no address")?;
        println!(
            "\nOpen this address in a browser; it signs one browser in, once. Ctrl-C ends it.\n\n  {url}\n"
        );
    }
    let status = serving.wait().context("rtc-headless is lost")?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
