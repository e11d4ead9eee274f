//! `fuzz`: the long run of frames that are changed at random.

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;

use crate::shell::{self, WrongUsage};

/// How long it runs, in seconds, unless something else is said.
const SECONDS: u64 = 600;

const USAGE: &str = "usage: cargo xtask fuzz [SECONDS]";

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode> {
    if let [argument] = arguments
        && ["--help", "-h"].contains(&argument.as_str())
    {
        println!("{USAGE}");
        return Ok(ExitCode::SUCCESS);
    }
    let seconds = seconds(arguments)?;
    // Another one each time: what was looked at before is not looked at again.
    let seed = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() << 32;
    let mut fuzz = shell::cargo(&shell::repository_root()?);
    // The whole workspace, so that nothing is built with other features than by the other tests.
    fuzz.args([
        "test",
        "--workspace",
        "--test",
        "wire",
        "--",
        "--nocapture",
        "fuzz::golden",
    ])
    .env("RTC_FUZZ_SECONDS", seconds.to_string())
    .env("RTC_FUZZ_SEED", seed.to_string());
    shell::run(&mut fuzz)?;
    Ok(ExitCode::SUCCESS)
}

fn seconds(arguments: &[String]) -> Result<u64, WrongUsage> {
    let wrong = |what: String| WrongUsage(format!("{what}\n{USAGE}"));
    match arguments {
        [] => Ok(SECONDS),
        [seconds] => match seconds.parse() {
            Ok(seconds @ 1..) => Ok(seconds),
            _ => Err(wrong(format!("`{seconds}` is no number of seconds"))),
        },
        [_, other, ..] => Err(wrong(format!("unexpected `{other}`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_say_how_long() {
        let parsed = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            seconds(&words).map_err(|wrong| wrong.0.lines().next().unwrap().to_owned())
        };
        assert_eq!(parsed(""), Ok(SECONDS));
        assert_eq!(parsed("5"), Ok(5));
        for (line, told) in [
            ("0", "`0` is no number of seconds"),
            ("long", "`long` is no number of seconds"),
            ("5 6", "unexpected `6`"),
        ] {
            assert_eq!(parsed(line), Err(told.to_owned()), "{line}");
        }
    }
}
