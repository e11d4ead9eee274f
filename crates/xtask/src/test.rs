//! `test`: everything that has to hold, cheapest first, up to the first failure.

mod house_rules;
mod layering;
mod packages;
mod policy;

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::front_end;
use crate::setup;
use crate::shell::{self, WrongUsage};

/// One step: its name, and what has to succeed.
struct Step {
    name: &'static str,
    run: fn(&Path) -> Result<()>,
}

const STEPS: &[Step] = &[
    Step {
        name: "setup",
        run: setup::run,
    },
    Step {
        name: "format",
        run: format,
    },
    Step {
        name: "layering",
        run: layering::run,
    },
    Step {
        name: "packages",
        run: packages::run,
    },
    Step {
        name: "house rules",
        run: house_rules::run,
    },
    Step {
        name: "front end",
        run: front_end::run,
    },
    Step {
        name: "lints",
        run: lints,
    },
    Step {
        name: "tests",
        run: tests_of_all_crates,
    },
];

/// Licences, duplicates and origins of dependencies: needs a tool of its own, so only where it is asked for.
const POLICY: Step = Step {
    name: "policy",
    run: policy::run,
};

const USAGE: &str = "usage: cargo xtask test [--policy]";

pub(crate) fn main(arguments: &[String]) -> Result<ExitCode> {
    let mut with_policy = std::env::var_os("CI").is_some_and(|value| value == "true");
    for argument in arguments {
        match argument.as_str() {
            "--policy" => with_policy = true,
            "--help" | "-h" => {
                println!("{USAGE}");
                return Ok(ExitCode::SUCCESS);
            }
            other => return Err(WrongUsage(format!("unexpected `{other}`\n{USAGE}")).into()),
        }
    }
    let root = shell::repository_root()?;
    let mut took = Vec::new();
    for step in STEPS.iter().chain(with_policy.then_some(&POLICY)) {
        eprintln!("\n== {}", step.name);
        let start = Instant::now();
        let outcome = (step.run)(&root);
        let time = start.elapsed();
        if let Err(error) = outcome {
            bail!(
                "FAILED in the step `{}` after {}: {error:#}",
                step.name,
                seconds(time)
            );
        }
        eprintln!("== {}: ok, {}", step.name, seconds(time));
        took.push((step.name, time));
    }
    println!("\n{}", summary(&took));
    Ok(ExitCode::SUCCESS)
}

fn format(root: &Path) -> Result<()> {
    shell::run(shell::cargo(root).args(["fmt", "--all", "--check"]))
}

fn lints(root: &Path) -> Result<()> {
    shell::run(shell::cargo(root).args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    let with_schema = [
        "clippy",
        "--package",
        "rtc-wire",
        "--package",
        "rtc-types",
        "--all-targets",
    ];
    let features = ["--features", "rtc-wire/schema", "--", "-D", "warnings"];
    shell::run(shell::cargo(root).args(with_schema).args(features))
}

fn tests_of_all_crates(root: &Path) -> Result<()> {
    shell::run(test(root).arg("--workspace"))?;
    // The documents made from the table of methods need a feature that nothing else has.
    shell::run(test(root).args(["--package", "rtc-wire", "--features", "schema"]))
}

/// Variables by which a person lets one test do more, or only one thing. One that a shell still has must not make all of
/// them do less.
const FOR_ONE_TEST: &[&str] = &[
    "INSTA_FORCE_PASS",
    "RTC_CRASH_ROUNDS",
    "RTC_FUZZ_SECONDS",
    "RTC_FUZZ_SEED",
    "RTC_GOLDEN",
    "RTC_SIM_FIRST",
    "RTC_SIM_POINTS",
    "RTC_SIM_SEED",
    "RTC_TEST_SEED",
];

fn test(root: &Path) -> Command {
    let mut command = shell::cargo(root);
    for variable in FOR_ONE_TEST {
        command.env_remove(variable);
    }
    // Snapshots are compared only: a difference is a failure, and leaves no file behind.
    command
        .env("INSTA_UPDATE", "no")
        // What cannot be tested here is a failure too.
        .env("CI", "true")
        .arg("test");
    command
}

fn summary(took: &[(&str, Duration)]) -> String {
    let steps: Vec<String> = took
        .iter()
        .map(|(name, time)| format!("{name} {}", seconds(*time)))
        .collect();
    let total = took.iter().map(|(_, time)| *time).sum();
    format!(
        "xtask test: all {} steps ok in {} ({})",
        took.len(),
        seconds(total),
        steps.join(", ")
    )
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// Fails with one line for each violation.
fn no_violations(violations: &[String]) -> Result<()> {
    match violations {
        [] => Ok(()),
        [only] => bail!("{only}"),
        several => bail!("{} violations\n  {}", several.len(), several.join("\n  ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_names_every_step() {
        let took = [
            ("setup", Duration::from_millis(120)),
            ("format", Duration::from_millis(1480)),
        ];
        insta::assert_snapshot!(
            summary(&took),
            @"xtask test: all 2 steps ok in 1.6 s (setup 0.1 s, format 1.5 s)"
        );
    }

    #[test]
    fn what_a_shell_still_has_weakens_no_test() {
        let command = test(Path::new("/"));
        let set: Vec<_> = command.get_envs().collect();
        for variable in FOR_ONE_TEST {
            assert!(set.contains(&((*variable).as_ref(), None)), "{variable}");
        }
        assert!(set.contains(&("CI".as_ref(), Some("true".as_ref()))));
    }

    #[test]
    fn every_violation_is_told() {
        assert!(no_violations(&[]).is_ok());
        let told = |violations: &[&str]| {
            let owned: Vec<String> = violations.iter().map(|text| text.to_string()).collect();
            no_violations(&owned).unwrap_err().to_string()
        };
        assert_eq!(told(&["a"]), "a");
        assert_eq!(told(&["a", "b"]), "2 violations\n  a\n  b");
    }

    #[test]
    fn wrong_arguments_run_nothing() {
        let error = main(&["--fast".to_owned()]).unwrap_err();
        assert_eq!(
            error.downcast_ref::<WrongUsage>().unwrap().0,
            format!("unexpected `--fast`\n{USAGE}")
        );
    }
}
