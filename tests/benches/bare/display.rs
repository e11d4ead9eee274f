//! That the bare window is a window; with it cargo builds the program for the tests of the benchmarks.

#![allow(
    clippy::disallowed_methods,
    reason = "a test starts the program that it is about"
)]

#[test]
fn without_a_display_there_is_no_window() {
    let mut bare = std::process::Command::new(env!("CARGO_BIN_EXE_rtc-bare"));
    let ended = bare
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .output()
        .expect("it starts");
    assert!(!ended.status.success());
}
