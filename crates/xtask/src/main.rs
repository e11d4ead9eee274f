//! The project's own commands: setup, demo, app, page, test, bench, crash, fuzz, bundle, protocol. Run them as `cargo xtask NAME`.
// This is a build tool: it starts compilers, reads the repository's files and talks to the terminal.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros)]

mod app;
mod bench;
mod bundle;
mod crash;
mod demo;
mod front_end;
mod fuzz;
mod npm;
mod page;
mod program;
mod protocol;
mod scratch;
mod setup;
mod shell;
mod test;

use std::process::ExitCode;

/// One sub-command: its name, what it does, and the function that gets the arguments after the name.
struct Task {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> anyhow::Result<ExitCode>,
}

const TASKS: &[Task] = &[
    Task {
        name: "setup",
        about: "check what a build needs and install what is missing",
        run: setup::main,
    },
    Task {
        name: "demo",
        about: "one request in a terminal, on a throw-away sample project",
        run: demo::main,
    },
    Task {
        name: "app",
        about: "the window, on a throw-away sample project: app [--root DIR]",
        run: app::main,
    },
    Task {
        name: "page",
        about: "the page in a browser, on a throw-away sample project: page [--root DIR]",
        run: page::main,
    },
    Task {
        name: "test",
        about: "everything that has to hold: format, layers, rules, front end, lints, tests",
        run: test::main,
    },
    Task {
        name: "bench",
        about: "how fast it is, held against the targets",
        run: bench::main,
    },
    Task {
        name: "crash",
        about: "the full run of real kills, an hour or more: crash [ROUNDS]",
        run: crash::main,
    },
    Task {
        name: "fuzz",
        about: "frames changed at random, for so many seconds: fuzz [SECONDS]",
        run: fuzz::main,
    },
    Task {
        name: "bundle",
        about: "what users install, made for this system",
        run: bundle::main,
    },
    Task {
        name: "protocol",
        about: "write the documents that are made from the table of methods",
        run: protocol::main,
    },
];

/// The exit code of a command that was called wrongly.
const WRONG_USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = match std::env::args_os().skip(1).map(|a| a.into_string()).collect() {
        Ok(arguments) => arguments,
        Err(argument) => {
            eprintln!("xtask: not valid Unicode: {}", argument.to_string_lossy());
            return ExitCode::from(WRONG_USAGE);
        }
    };
    let Some((name, rest)) = arguments.split_first() else {
        eprint!("{}", overview());
        return ExitCode::from(WRONG_USAGE);
    };
    if matches!(name.as_str(), "help" | "--help" | "-h") {
        print!("{}", overview());
        return ExitCode::SUCCESS;
    }
    let Some(task) = TASKS.iter().find(|task| task.name == name) else {
        eprint!("xtask: there is no command `{name}`\n\n{}", overview());
        return ExitCode::from(WRONG_USAGE);
    };
    match (task.run)(rest) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask {}: {error:#}", task.name);
            let wrong_usage = error.downcast_ref::<shell::WrongUsage>().is_some();
            if wrong_usage {
                ExitCode::from(WRONG_USAGE)
            } else {
                ExitCode::FAILURE
            }
        }
    }
}

/// What `cargo xtask` says about itself.
fn overview() -> String {
    let width = TASKS.iter().map(|task| task.name.len()).max().unwrap_or_default();
    let mut text = String::from("usage: cargo xtask COMMAND\n\n");
    for task in TASKS {
        text.push_str(&format!("  {:width$}  {}\n", task.name, task.about));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overview_names_every_task() {
        insta::assert_snapshot!(overview(), @r"
        usage: cargo xtask COMMAND

          setup     check what a build needs and install what is missing
          demo      one request in a terminal, on a throw-away sample project
          app       the window, on a throw-away sample project: app [--root DIR]
          page      the page in a browser, on a throw-away sample project: page [--root DIR]
          test      everything that has to hold: format, layers, rules, front end, lints, tests
          bench     how fast it is, held against the targets
          crash     the full run of real kills, an hour or more: crash [ROUNDS]
          fuzz      frames changed at random, for so many seconds: fuzz [SECONDS]
          bundle    what users install, made for this system
          protocol  write the documents that are made from the table of methods
        ");
    }
}
