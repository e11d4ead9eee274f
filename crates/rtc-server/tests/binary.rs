//! The binary as cargo builds it together with all tests; the tests of whole processes run that one.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]
#![allow(
    clippy::disallowed_methods,
    reason = "a test starts the program that it is about"
)]

use std::process::Command;

#[test]
fn it_says_which_version_it_is() {
    let said = Command::new(env!("CARGO_BIN_EXE_rtc-headless"))
        .arg("--version")
        .output()
        .unwrap();
    assert!(said.status.success());
    let version = format!("rtc-headless {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(String::from_utf8(said.stdout).unwrap(), version);
}
