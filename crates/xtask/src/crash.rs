//! `crash`: the full run of real kills, and how many there were.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use anyhow::{Context, Result, bail};

use crate::shell::{self, WrongUsage};

/// How many kills a full run has at least.
const PROMISED: usize = 10_000;

/// How many rounds lead to that.
const ROUNDS: usize = 15;

/// What a test prints that had to be left out.
const SKIPPED: &str = "SKIPPED";

const USAGE: &str = "\
usage: cargo xtask crash (--full | ROUNDS)

Kills the program at every point, and judges what is left. What was done is kept in target/crash: a run of the same
commit that was broken off goes on from there. --full is 15 rounds.";

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
    let journal = journal(&root, rounds)?;
    let kills = run(&root, rounds, &journal)?;
    // The next run is a whole one again.
    std::fs::remove_file(&journal).context("the journal cannot be removed")?;
    println!("\nxtask crash: {kills} kills in {rounds} rounds, and nothing was lost or done twice");
    if rounds >= ROUNDS && kills < PROMISED {
        bail!("{PROMISED} kills are promised");
    }
    Ok(ExitCode::SUCCESS)
}

/// Where a run of so many rounds notes what it has done. What was done with other files than those of the commit counts
/// for nothing.
fn journal(root: &Path, rounds: usize) -> Result<PathBuf> {
    let folder = root.join("target/crash");
    std::fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let commit = shell::commit(root)?;
    let journal = folder.join(format!("{commit}-{rounds}.jsonl"));
    if commit.ends_with("-dirty") && journal.exists() {
        std::fs::remove_file(&journal).context("the journal cannot be removed")?;
    }
    if journal.exists() {
        println!("xtask crash: goes on from {}", journal.display());
    }
    Ok(journal)
}

/// Runs the tests and adds up their kills.
fn run(root: &Path, rounds: usize, journal: &Path) -> Result<usize> {
    let mut command = shell::cargo(root);
    command
        .args(["test", "--workspace", "--test", "crash", "--", "--nocapture"])
        .env("RTC_CRASH_ROUNDS", rounds.to_string())
        .env("RTC_CRASH_JOURNAL", journal)
        .env("INSTA_UPDATE", "no")
        .stdout(Stdio::piped());
    let mut child = command.spawn().context("cargo does not start")?;
    let told = child.stdout.take().context("cargo says nothing")?;
    let (mut kills, mut skipped) = (0, false);
    for line in BufReader::new(told).lines() {
        let line = line.context("what the tests say cannot be read")?;
        println!("{line}");
        kills += kills_of(&line).unwrap_or(0);
        skipped |= line.contains(SKIPPED);
    }
    let status = child.wait().context("cargo does not end")?;
    if !status.success() {
        bail!("the tests failed ({status})");
    }
    if skipped {
        bail!("processes cannot be traced here, so nothing was tested");
    }
    Ok(kills)
}

/// The number in a line like `killed once: 12 kills`.
fn kills_of(line: &str) -> Option<usize> {
    let (_, count) = line.strip_suffix(" kills")?.rsplit_once(": ")?;
    count.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_are_added_up_from_what_the_tests_say() {
        for (line, kills) in [
            ("killed once: 12 kills", Some(12)),
            ("test kills::a ... killed twice: 7 kills", Some(7)),
            ("    12  before the flush of a commit", None),
            ("no kills", None),
        ] {
            assert_eq!(kills_of(line), kills, "{line}");
        }
    }

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
