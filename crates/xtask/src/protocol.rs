//! `protocol`: writes the documents that are made from the table of methods.

use std::process::ExitCode;

use anyhow::Result;

use crate::shell::{self, WrongUsage};

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode> {
    if let Some(other) = arguments.first() {
        return Err(WrongUsage(format!("unexpected `{other}`\nusage: cargo xtask protocol")).into());
    }
    let root = shell::repository_root()?;
    shell::run(shell::cargo(&root).args([
        "run",
        "--quiet",
        "--package",
        "rtc-wire",
        "--features",
        "schema",
        "--example",
        "write_protocol",
    ]))?;
    Ok(ExitCode::SUCCESS)
}
