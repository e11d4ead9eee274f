//! The command line of the window.

use std::path::{Path, PathBuf};

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

impl Arguments {
    /// The folder, as it was meant by a program that was started in `from`.
    pub(crate) fn folder_from(&self, from: &Path) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| from.join(folder))
    }

    /// Whether these ask for nothing that a program does not do which was started with `first`.
    pub(crate) fn are_met_by(&self, first: &Self) -> bool {
        let is_met = |asked: bool, same: bool| !asked || same;
        is_met(self.config.is_some(), self.config == first.config)
            && is_met(self.model.is_some(), self.model == first.model)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[test]
    fn a_second_start_is_met_by_the_first_unless_it_asks_for_something_else() {
        let parse = |line: &str| {
            let line = std::iter::once("rtc-desktop").chain(line.split_whitespace());
            Arguments::try_parse_from(line).unwrap()
        };
        let table = [
            ("", "", true),
            ("", "project", true),
            ("--config a.toml", "project", true),
            ("--config a.toml", "--config a.toml", true),
            ("--config a.toml --model offline", "--model offline", true),
            ("", "--config a.toml", false),
            ("--config a.toml", "--config b.toml", false),
            ("--config a.toml", "--config a.toml --model offline", false),
            ("--model offline", "--model other", false),
        ];
        for (first, second, met) in table {
            assert_eq!(parse(second).are_met_by(&parse(first)), met, "{first} | {second}");
        }
    }
}
