//! The headless shell: the commands of `rtc-headless`. It shows and asks; what is right is decided in the crates below.

mod args;
mod ask;
mod console;
mod desk;
mod doctor;
mod exit;
mod json;
mod live;
mod models;
mod run;
mod serve;
mod sessions;
mod show;
mod token;
mod undo;
mod view;

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::Parser;
use rtc_app::SCRIPT_WORKER;

pub use args::{
    AppArgs, Args, Ask, ChangesArgs, Command, ListForm, LogLevel, ModelsArgs, NamedScope, OutputForm,
    RedoArgs, RunArgs, ServeArgs, SessionsCommand, Time, TokenArgs, UndoArgs,
};
pub use exit::Exit;

use crate::console::Console;

/// Runs a command line and gives its exit code. With the hidden command of a script worker it becomes one, before
/// anything else of this program begins.
pub fn main(command_line: impl IntoIterator<Item = OsString>) -> ExitCode {
    let command_line: Vec<OsString> = command_line.into_iter().collect();
    if command_line.get(1).is_some_and(|first| first == SCRIPT_WORKER) {
        return rtc_app::script_worker();
    }
    let args = match Args::try_parse_from(command_line) {
        Ok(args) => args,
        Err(error) => {
            // clap prints help and version on stdout with code 0, wrong usage on stderr with code 2.
            let console = Console::new();
            console.written(error.print());
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            return if console.is_lost() {
                Exit::Failed.code()
            } else {
                ExitCode::from(code)
            };
        }
    };
    init_log(args.log_level);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return exit::report(&Console::new(), &anyhow::Error::from(error)).code(),
    };
    let console = Console::new();
    let exit = runtime.block_on(async {
        let result = match args.command {
            Command::Run(run) => run::run(&args.app, run, &console).await,
            Command::Serve(serve) => serve::run(&args.app, serve, &console).await,
            Command::Token(token) => token::run(&args.app, token, &console).await,
            Command::Sessions(command) => sessions::run(&args.app, command, &console).await,
            Command::Changes(changes) => undo::changes(&args.app, changes, &console).await,
            Command::Undo(undo) => undo::undo(&args.app, undo, &console).await,
            Command::Redo(redo) => undo::redo(&args.app, redo, &console).await,
            Command::Models(list) => models::run(&args.app, &list, &console).await,
            Command::Doctor => doctor::run(&console).await,
            Command::Schema => Ok(schema(&console)),
        };
        result.unwrap_or_else(|error| exit::report(&console, &error))
    });
    // A call that does not end by itself must not keep the program: what is durable is durable.
    runtime.shutdown_timeout(std::time::Duration::from_millis(200));
    if console.is_lost() { Exit::Failed } else { exit }.code()
}

/// What `cargo xtask protocol` makes from the table of methods.
const SCHEMA: &str = include_str!("../../../docs/protocol.schema.json");

fn schema(console: &Console) -> Exit {
    console.result(SCHEMA.trim_end());
    Exit::Completed
}

/// Logs on stderr from now on. The first call in a process counts.
pub fn init_log(level: LogLevel) {
    let filter = match level {
        LogLevel::Error => "error",
        LogLevel::Warn => "warn",
        LogLevel::Info => "info",
        LogLevel::Debug => "debug",
        LogLevel::Trace => "trace",
    };
    // These write whole frames into the log, and with them tokens and content.
    let filter = format!("{filter},tungstenite=error,tokio_tungstenite=error,hyper=error");
    let _ = tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::new(filter))
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .try_init();
}
