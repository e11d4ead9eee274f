//! `app`: the window, on a throw-away copy of the sample project or on a folder of the user's.

use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::program::{self, DESKTOP, Profile};
use crate::scratch::{self, Place, Scratch};
use crate::shell;
use crate::{front_end, setup};

const USAGE: &str = "\
usage: cargo xtask app                 on a throw-away copy of tests/sample
       cargo xtask app --root DIR      in a folder of yours, with the sessions that you have";

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
    let mut window = Command::new(program::build(&root, &DESKTOP, Profile::Dev)?);
    let status = match folder {
        Some(folder) => window.arg(folder).status(),
        None => {
            let scratch = Scratch::create()?;
            let copy = scratch.path().join("sample");
            scratch::copy_tree(&root.join("tests/sample"), &copy)?;
            window
                .arg(copy)
                .arg("--data")
                .arg(scratch.path().join("data"))
                .status()
        }
    };
    let status = status.context("cannot start rtc-desktop")?;
    Ok(match status.code() {
        Some(0) => ExitCode::SUCCESS,
        Some(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
        None => ExitCode::FAILURE,
    })
}
