//! `bundle`: what users install.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::Result;

use crate::shell::{self, WrongUsage};
use crate::{front_end, setup};

const USAGE: &str = "\
usage: cargo xtask bundle            a package for this system
       cargo xtask bundle --debug    the same from a quick build, to try it";

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let quick = match *words {
        [] => false,
        ["--debug"] => true,
        ["--help" | "-h"] => {
            println!("{USAGE}");
            return Ok(ExitCode::SUCCESS);
        }
        _ => return Err(WrongUsage(USAGE.to_owned()).into()),
    };
    let root = shell::repository_root()?;
    setup::run(&root)?;
    front_end::build(&root)?;
    let mut tauri = tauri(&root);
    tauri.arg("build");
    if quick {
        tauri.arg("--debug");
    }
    shell::run(&mut tauri)?;
    Ok(ExitCode::SUCCESS)
}

/// The command line of Tauri, which is a package of the front end.
fn tauri(root: &Path) -> Command {
    let mut tauri = Command::new("node");
    let script = root
        .join(front_end::FOLDER)
        .join("node_modules/@tauri-apps/cli/tauri.js");
    tauri.arg(script).current_dir(root);
    tauri
}
