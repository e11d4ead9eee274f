//! The command line of the window.

use std::path::PathBuf;

use rtc_server::LogLevel;

/// What `--help` says at its end.
const HELP: &str = "\
`rtc-desktop --headless COMMAND` does what `rtc-headless COMMAND` does, without a window; see
`rtc-desktop --headless --help`.";

/// An agent whose tools run on your own machine, inside the folder that you open.
#[derive(Debug, Clone, clap::Parser)]
#[command(name = "rtc-desktop", version, after_help = HELP)]
pub(crate) struct Arguments {
    /// The folder to work in.
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Where sessions are kept; the platform's folder for data by default.
    #[arg(long, env = "RTC_DATA", value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// A configuration file (TOML).
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The model: a configured name, PROVIDER/MODEL (openai/…, anthropic/…), or `offline`.
    #[arg(long, env = "RTC_MODEL", value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// How much is logged, on stderr.
    #[arg(long, default_value = "warn", value_name = "LEVEL")]
    pub(crate) log_level: LogLevel,
}

/// A start of the program.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    /// What it was asked for.
    pub(crate) arguments: Arguments,
    /// The folder in which it was started.
    pub(crate) from: PathBuf,
}

impl Start {
    /// The folder to work in, as it was meant where it was named.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        Some(self.from.join(self.arguments.folder.as_ref()?))
    }

    /// Whether this one asks for nothing that a program does not do which was started as the first one.
    pub(crate) fn is_met_by(&self, first: &Self) -> bool {
        let config = |start: &Self| Some(start.from.join(start.arguments.config.as_ref()?));
        let is_met = |asked: bool, same: bool| !asked || same;
        is_met(self.arguments.config.is_some(), config(self) == config(first))
            && is_met(
                self.arguments.model.is_some(),
                self.arguments.model == first.arguments.model,
            )
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[test]
    fn a_second_start_is_met_by_the_first_unless_it_asks_for_something_else() {
        let start = |line: &str| {
            let (from, line) = line.split_once('>').unwrap();
            let words = std::iter::once("rtc-desktop").chain(line.split_whitespace());
            Start {
                arguments: Arguments::try_parse_from(words).unwrap(),
                from: PathBuf::from(from.trim()),
            }
        };
        let table = [
            ("/one >", "/one >", true),
            ("/one >", "/two > project", true),
            ("/one > --config a.toml", "/one > project", true),
            ("/one > --config a.toml", "/one > --config a.toml", true),
            ("/one > --config a.toml", "/two > --config /one/a.toml", true),
            ("/one > --config a.toml", "/two > --config a.toml", false),
            (
                "/one > --config a.toml --model offline",
                "/one > --model offline",
                true,
            ),
            ("/one >", "/one > --config a.toml", false),
            ("/one > --config a.toml", "/one > --config b.toml", false),
            (
                "/one > --config a.toml",
                "/one > --config a.toml --model offline",
                false,
            ),
            ("/one > --model offline", "/one > --model other", false),
        ];
        for (first, second, met) in table {
            assert_eq!(start(second).is_met_by(&start(first)), met, "{first} | {second}");
        }
        let folder = start("/one > project").folder();
        assert_eq!(folder, Some(PathBuf::from("/one/project")));
    }
}
