//! `bundle`: what users install.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::program::{self, DESKTOP, Profile};
use crate::shell::{self, WrongUsage};
use crate::{front_end, setup};

const USAGE: &str = "\
usage: cargo xtask bundle                    a package of the program as users get it
       cargo xtask bundle --binary FILE      a package of a program that is built already";

/// Where the packages are, in the target folder.
const FOLDER: &str = "bundle";

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let binary = match *words {
        [] => None,
        ["--help" | "-h"] => {
            println!("{USAGE}");
            return Ok(ExitCode::SUCCESS);
        }
        ["--binary", file] if Path::new(file).is_file() => Some(PathBuf::from(file)),
        ["--binary", file] => return Err(WrongUsage(format!("{file} is not a file")).into()),
        _ => return Err(WrongUsage(USAGE.to_owned()).into()),
    };
    let root = shell::repository_root()?;
    let binary = match binary {
        Some(binary) => binary,
        None => {
            setup::run(&root)?;
            front_end::build(&root)?;
            program::build(&root, &DESKTOP, Profile::Release)?
        }
    };
    let target = binary
        .ancestors()
        .nth(2)
        .context("the binary is not in a target folder")?;
    pack(&root, &binary, &target.join(FOLDER))?;
    Ok(ExitCode::SUCCESS)
}

/// Makes the packages of a program. The tool writes into the program what package it is of, and so gets a copy.
fn pack(root: &Path, binary: &Path, folder: &Path) -> Result<()> {
    let built = folder.join("release");
    fs::create_dir_all(&built).with_context(|| format!("cannot make {}", built.display()))?;
    let copy = built.join(binary.file_name().context("the binary has no name")?);
    fs::copy(binary, &copy).with_context(|| format!("cannot copy {}", binary.display()))?;
    let mut tauri = Command::new("node");
    tauri
        .arg(
            root.join(front_end::FOLDER)
                .join("node_modules/@tauri-apps/cli/tauri.js"),
        )
        .arg("bundle")
        .env("CARGO_TARGET_DIR", folder)
        .current_dir(root);
    shell::run(&mut tauri)
}
