//! The binary `rtc-desktop`: windows around the engine, or with `--headless` the commands of `rtc-headless`.

#![cfg_attr(not(debug_assertions), windows_subsystem = "windows")]

mod arguments;
mod commands;
mod desktop;
mod program;
mod sockets;
mod windows;

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

use crate::arguments::Arguments;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What stands before the commands of `rtc-headless`.
const HEADLESS: &str = "--headless";

fn main() -> ExitCode {
    let mut line: Vec<OsString> = std::env::args_os().collect();
    match line.get(1) {
        Some(first) if first == HEADLESS => {
            line.remove(1);
            rtc_server::main(line)
        }
        // Its first argument makes this program the worker of scripts.
        Some(first) if first == rtc_app::SCRIPT_WORKER => rtc_server::main(line),
        _ => show(line),
    }
}

fn show(line: Vec<OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(line) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Nobody is there to hear that nobody hears it.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    rtc_server::init_log(arguments.log_level);
    match program::run(arguments) {
        Ok(code) => program::end(code),
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "rtc-desktop: {error:#}");
            program::end(2)
        }
    }
}
