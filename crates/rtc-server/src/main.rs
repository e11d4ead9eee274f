//! The binary `rtc-headless`.

use std::process::ExitCode;

fn main() -> ExitCode {
    rtc_server::main(std::env::args_os())
}
