//! The worker of the tests, started as the program starts its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    rtc_script::worker()
}
