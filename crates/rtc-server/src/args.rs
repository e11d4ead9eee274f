//! The command line.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use rtc_realtime::Scope;
use rtc_types::{DeviceId, Mode, UserId};

/// What `--help` says at its end.
const HELP: &str = "\
Examples:
  rtc-headless run \"list the files, then find TODO in *.rs\" --root .
  rtc-headless run \"replace colour by color everywhere\" --root . --mode manual
  rtc-headless run --continue

While `rtc-headless serve` runs on the same data folder, run, sessions, changes, undo, redo and models speak to it.

Exit codes:
  0  done
  1  failed; also: the disk is full, or the result could not be written
  2  wrong usage, folder, configuration, model or session; data folder in use
  3  done, but an approval was denied because nobody was there to ask
  4  the model refused, could not be reached, or the key is wrong
  5  stopped by you (Ctrl-C)
  6  a limit that you set is reached (--max-rounds)
  7  done, but a question had nobody to answer it";

/// An agent whose tools run on your own machine, inside the folder that you name.
#[derive(Debug, Parser)]
#[command(name = "rtc-headless", version, after_help = HELP)]
pub struct Args {
    /// What every command takes.
    #[command(flatten)]
    pub app: AppArgs,
    /// How much is logged, on stderr.
    #[arg(long, global = true, default_value = "warn", value_name = "LEVEL")]
    pub log_level: LogLevel,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// How much is logged: what is as grave as this, and graver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    /// What went wrong.
    Error,
    /// What may go wrong.
    Warn,
    /// What is done.
    Info,
    /// How it is done.
    Debug,
    /// Everything.
    Trace,
}

/// What every command takes.
#[derive(Debug, Clone, clap::Args)]
pub struct AppArgs {
    /// Where sessions are kept; the platform's folder for data by default.
    #[arg(long, global = true, env = "RTC_DATA", value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// A configuration file (TOML).
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Does one turn: sends a request and runs what the model asks for, until it is done.
    Run(RunArgs),
    /// Opens a port that clients connect to, until it is told to end (Ctrl-C, SIGTERM).
    Serve(ServeArgs),
    /// Makes a token that a client connects with, or takes one back.
    Token(TokenArgs),
    /// Shows what was said and done.
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Says what keeps scripts from reaching anything but the files of their folder, on this machine.
    Doctor,
    /// Shows what the calls of a session changed, by turn and file.
    Changes(ChangesArgs),
    /// Puts back what calls of a session changed; by default what the last turn did.
    Undo(UndoArgs),
    /// Takes the last undo of a session back.
    Redo(RedoArgs),
    /// Lists the models that can be named, and marks the one that answers.
    Models(ModelsArgs),
    /// Prints the JSON Schema of everything that clients and the port say to each other.
    Schema,
}

/// Arguments of `models`.
#[derive(Debug, Clone, clap::Args)]
pub struct ModelsArgs {
    /// The model that would be named: a configured name, PROVIDER/MODEL, or `offline`.
    #[arg(long, env = "RTC_MODEL", value_name = "NAME")]
    pub model: Option<String>,
    /// `text` or `json`.
    #[arg(long, default_value = "text", value_name = "FORM")]
    pub output: ListForm,
}

/// Arguments of `run`.
#[derive(Debug, Clone, clap::Args)]
pub struct RunArgs {
    /// What is to be done; `-` reads it from stdin. May be left out with --continue.
    pub prompt: Option<String>,
    /// The folder to work in. Without it the agent works in the scratch folder of the data folder.
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// The model: a configured name, PROVIDER/MODEL (openai/…, anthropic/…), or `offline`.
    #[arg(long, env = "RTC_MODEL", value_name = "NAME")]
    pub model: Option<String>,
    /// What is asked before a tool runs: manual, edit, plan, auto or bypass. A session keeps its mode.
    #[arg(long)]
    pub mode: Option<Mode>,
    /// Goes on with the session that changed last (in this folder, if --root is given).
    #[arg(long = "continue", conflicts_with = "session")]
    pub go_on: bool,
    /// Goes on with this session; the beginning of its id is enough.
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// What happens when the user must be asked: ask here, say no, or wait for another client of the running engine. By
    /// default `prompt` on a terminal, else `deny`.
    #[arg(long)]
    pub ask: Option<Ask>,
    /// What is printed on stdout.
    #[arg(long, default_value = "text", value_name = "FORM")]
    pub output: OutputForm,
    /// How many replies the model may give in a turn. At the limit the turn ends with exit code 6, and --continue goes
    /// on. A turn that an earlier run left open keeps the limit that it began with.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_rounds: Option<u32>,
}

/// Arguments of `serve`.
#[derive(Debug, Clone, clap::Args)]
pub struct ServeArgs {
    /// A folder to work in; may be named several times.
    #[arg(long, value_name = "DIR")]
    pub root: Vec<PathBuf>,
    /// Where the port is; port 0 is the one that was open last, or else any free one.
    #[arg(long, default_value = "127.0.0.1:0", value_name = "HOST:PORT")]
    pub listen: String,
    /// Allows an address that other machines reach. What is sent is not encrypted.
    #[arg(long)]
    pub allow_remote: bool,
    /// Tells clients that show no approvals of their own calls at once, also of those that need one: such a client asks its
    /// user itself. Only for calls that the client's own device runs, never for calls that run on this machine.
    #[arg(long)]
    pub client_approves: bool,
    /// Serves clients only, and no page for browsers.
    #[arg(long)]
    pub no_ui: bool,
    /// The model: a configured name, PROVIDER/MODEL (openai/…, anthropic/…), or `offline`.
    #[arg(long, env = "RTC_MODEL", value_name = "NAME")]
    pub model: Option<String>,
}

/// Arguments of `token`.
#[derive(Debug, Clone, clap::Args)]
pub struct TokenArgs {
    /// Who connects: the user of this installation, and nobody else.
    #[arg(long, value_name = "ID")]
    pub user: Option<UserId>,
    /// From which device; this one by default.
    #[arg(long, value_name = "ID")]
    pub device: Option<DeviceId>,
    /// What it allows: view, converse, approve, execute, serve-tools; several with commas. All by default.
    #[arg(long, value_name = "SCOPES", value_delimiter = ',')]
    pub scope: Vec<NamedScope>,
    /// How long it is valid: a number with s, m, h or d.
    #[arg(long, default_value = "1h", value_name = "TIME")]
    pub ttl: Time,
    /// Takes this token back instead of making one: it lets nobody in any more, and its connections end.
    #[arg(long, value_name = "TOKEN", conflicts_with_all = ["user", "device", "scope", "ttl"])]
    pub revoke: Option<String>,
}

/// A scope by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedScope(pub Scope);

impl FromStr for NamedScope {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Scope::ALL.iter().copied().find(|scope| scope.as_str() == name);
        found.map(Self).ok_or_else(|| {
            let known: Vec<&str> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
            format!("there is no scope `{name}`; there are: {}", known.join(", "))
        })
    }
}

/// A span of time, at least a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time(pub Duration);

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "name a number above 0 with s, m, h or d, for example 90m".to_owned();
        let mut characters = text.chars();
        let unit = match characters.next_back() {
            Some('s') => 1,
            Some('m') => 60,
            Some('h') => 60 * 60,
            Some('d') => 24 * 60 * 60,
            _ => return Err(wrong()),
        };
        let number: u32 = characters.as_str().parse().map_err(|_| wrong())?;
        match number {
            0 => Err(wrong()),
            number => Ok(Self(Duration::from_secs(u64::from(number) * unit))),
        }
    }
}

/// What happens when the user must be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Ask {
    /// Ask on this terminal.
    Prompt,
    /// Say no.
    Deny,
    /// Leave it to another client of the running engine, and wait for its answer.
    Wait,
}

/// What is printed on stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OutputForm {
    /// The answer.
    Text,
    /// One object at the end.
    Json,
    /// Each update as a line, the object last.
    StreamJson,
}

/// The commands on sessions.
#[derive(Debug, Clone, Subcommand)]
pub enum SessionsCommand {
    /// Lists the sessions, the one that changed last first.
    List {
        /// `text` or `json`.
        #[arg(long, default_value = "text", value_name = "FORM")]
        output: ListForm,
    },
    /// Shows a session with all its calls.
    Show {
        /// Its id, as `list` shows it, or the beginning of it.
        id: String,
        /// `text` or `json`.
        #[arg(long, default_value = "text", value_name = "FORM")]
        output: ListForm,
    },
}

/// Arguments of `changes`.
#[derive(Debug, Clone, clap::Args)]
pub struct ChangesArgs {
    /// The session; the beginning of its id is enough.
    pub session: String,
    /// Only this turn; the beginning or the end of its id is enough.
    #[arg(long, value_name = "ID")]
    pub turn: Option<String>,
    /// Only this file, from the session's folder.
    #[arg(long, value_name = "PATH")]
    pub file: Option<String>,
    /// `text` or `json`.
    #[arg(long, default_value = "text", value_name = "FORM")]
    pub output: ListForm,
}

/// Arguments of `undo`.
#[derive(Debug, Clone, clap::Args)]
pub struct UndoArgs {
    /// The session; the beginning of its id is enough.
    pub session: String,
    /// Only what this call changed; the beginning or the end of its id is enough.
    #[arg(long, value_name = "ID")]
    pub call: Option<String>,
    /// Only what this turn changed; the beginning or the end of its id is enough.
    #[arg(long, value_name = "ID")]
    pub turn: Option<String>,
    /// Only this file, from the session's folder.
    #[arg(long, value_name = "PATH")]
    pub file: Option<String>,
    /// Only this hunk of what the call did to the file, counted from 1; may be given several times.
    #[arg(long, value_name = "N", requires_all = ["call", "file"])]
    pub hunk: Vec<u32>,
    /// `text` or `json`.
    #[arg(long, default_value = "text", value_name = "FORM")]
    pub output: ListForm,
}

/// Arguments of `redo`.
#[derive(Debug, Clone, clap::Args)]
pub struct RedoArgs {
    /// The session; the beginning of its id is enough.
    pub session: String,
    /// `text` or `json`.
    #[arg(long, default_value = "text", value_name = "FORM")]
    pub output: ListForm,
}

/// How sessions are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ListForm {
    /// For people.
    Text,
    /// For programs.
    Json,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_number_and_a_unit() {
        for (text, seconds) in [
            ("1s", Some(1)),
            ("90m", Some(5_400)),
            ("1h", Some(3_600)),
            ("30d", Some(2_592_000)),
            ("0h", None),
            ("h", None),
            ("1", None),
            ("-1h", None),
            ("1.5h", None),
            ("1 h", None),
            ("99999999999d", None),
            ("1ä", None),
            ("", None),
        ] {
            let read = text.parse().ok().map(|time: Time| time.0.as_secs());
            assert_eq!(read, seconds, "{text}");
        }
    }
}
