//! What survives a kill: real processes, killed at chosen system calls, and what the next run makes of it.
//!
//! `RTC_CRASH_ROUNDS=N` kills at every point N times; without it a sample of the points is visited.

#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests start processes, look at files from outside, and print what they counted"
)]

mod cut;
mod device;
mod flushes;
mod follower;
mod forks;
mod journal;
mod kills;
mod named;
mod neither;
mod point;
mod power;
mod reference;
mod served;
mod stage;
mod tally;
mod turn;

/// Whether processes can be traced here. Where they cannot, nothing of this is tested, and it says so; where `CI` is
/// `true` that is a failure.
fn can_trace() -> bool {
    match rtc_tests::watch(rtc_tests::Workplace::empty().traceable(&["--version"]), |_| false) {
        Ok(ended) => {
            assert_eq!(ended, rtc_tests::Ended::Exited(0));
            true
        }
        Err(error) => {
            let is_strict = std::env::var_os("CI").is_some_and(|value| value == "true");
            assert!(
                !is_strict,
                "processes cannot be traced here, so that nothing of what a kill leaves can be tested: {error}. Allow \
                 ptrace (in a container: --cap-add=SYS_PTRACE and a seccomp profile that has ptrace; on the machine: \
                 kernel.yama.ptrace_scope below 3), or run `cargo test --workspace` without CI=true"
            );
            println!("SKIPPED, NOTHING WAS TESTED: {error}");
            eprintln!("SKIPPED, NOTHING WAS TESTED: {error}");
            false
        }
    }
}
