//! `crash`: the full run of real kills, and how many there were.

mod figures;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use anyhow::{Context, Result, bail};

use self::figures::Figures;
use crate::shell::{self, WrongUsage};

/// How many kills a full run has at least.
const PROMISED: usize = 10_000;

/// How many rounds lead to that.
const ROUNDS: usize = 5;

/// Where the figures of a full run are told.
const PAGE: &str = "docs/durability.md";

/// What a test prints that had to be left out.
const SKIPPED: &str = "SKIPPED";

const USAGE: &str = "\
usage: cargo xtask crash (--full | ROUNDS)

Kills the program at every point, and judges what is left. What was done is kept in target/crash: a run of the same
commit that was broken off goes on from there. --full is 5 rounds, and its figures are written into docs/durability.md.";

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode> {
    let wrong = |what: &str| WrongUsage(format!("{what}\n{USAGE}"));
    let rounds = match arguments {
        [] => return Err(wrong("how many rounds?").into()),
        [argument] if argument == "--full" => ROUNDS,
        [argument] if ["--help", "-h"].contains(&argument.as_str()) => {
            println!("{USAGE}");
            return Ok(ExitCode::SUCCESS);
        }
        [rounds] => match rounds.parse() {
            Ok(rounds @ 1..) => rounds,
            _ => return Err(wrong(&format!("`{rounds}` is no number of rounds")).into()),
        },
        [_, other, ..] => return Err(wrong(&format!("unexpected `{other}`")).into()),
    };
    let root = shell::repository_root()?;
    let commit = shell::commit(&root)?;
    let journal = journal(&root, &commit, rounds)?;
    let figures = run(&root, rounds, &journal)?;
    let kills = figures.kills();
    // The next run is a whole one again.
    std::fs::remove_file(&journal).context("the journal cannot be removed")?;
    println!("\nxtask crash: {kills} kills in {rounds} rounds, and nothing was lost or done twice");
    if rounds >= ROUNDS && kills < PROMISED {
        bail!("{PROMISED} kills are promised");
    }
    if arguments == ["--full"] {
        let page = root.join(PAGE);
        let text = std::fs::read_to_string(&page).with_context(|| format!("{PAGE} cannot be read"))?;
        let text = figures.put_into(&text, &format!("Commit {commit}"))?;
        std::fs::write(&page, text).with_context(|| format!("{PAGE} cannot be written"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Where a run of so many rounds notes what it has done. What was done with other files than those of the commit counts
/// for nothing.
fn journal(root: &Path, commit: &str, rounds: usize) -> Result<PathBuf> {
    let folder = root.join("target/crash");
    std::fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let journal = folder.join(format!("{commit}-{rounds}.jsonl"));
    if commit.ends_with("-dirty") && journal.exists() {
        std::fs::remove_file(&journal).context("the journal cannot be removed")?;
    }
    if journal.exists() {
        println!("xtask crash: goes on from {}", journal.display());
    }
    Ok(journal)
}

/// Runs the tests and counts their kills.
fn run(root: &Path, rounds: usize, journal: &Path) -> Result<Figures> {
    let mut command = shell::cargo(root);
    command
        .args(["test", "--workspace", "--test", "crash", "--", "--nocapture"])
        .env("RTC_CRASH_ROUNDS", rounds.to_string())
        .env("RTC_CRASH_JOURNAL", journal)
        .env("INSTA_UPDATE", "no")
        .stdout(Stdio::piped());
    let mut child = command.spawn().context("cargo does not start")?;
    let told = child.stdout.take().context("cargo says nothing")?;
    let (mut figures, mut skipped) = (Figures::default(), false);
    for line in BufReader::new(told).lines() {
        let line = line.context("what the tests say cannot be read")?;
        println!("{line}");
        figures.read(&line);
        skipped |= line.contains(SKIPPED);
    }
    let status = child.wait().context("cargo does not end")?;
    if !status.success() {
        bail!("the tests failed ({status})");
    }
    if skipped {
        bail!("processes cannot be traced here, so nothing was tested");
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_arguments_run_nothing() {
        for (arguments, told) in [
            (&[][..], "how many rounds?"),
            (&["0"], "`0` is no number of rounds"),
            (&["many"], "`many` is no number of rounds"),
            (&["1", "2"], "unexpected `2`"),
        ] {
            let arguments: Vec<String> = arguments.iter().map(|word| word.to_string()).collect();
            let error = main(&arguments).unwrap_err();
            assert_eq!(
                error.downcast_ref::<WrongUsage>().unwrap().0,
                format!("{told}\n{USAGE}")
            );
        }
    }
}
