//! The benchmarks of `rtc-headless`, run by `cargo xtask bench NAME`.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a benchmark starts processes, looks at files and clocks from outside, and prints what it found"
)]

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod bench;

use std::process::ExitCode;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn main() -> ExitCode {
    bench::main()
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn main() -> ExitCode {
    eprintln!("benchmarks look at processes in ways that only Linux with glibc has");
    ExitCode::FAILURE
}
