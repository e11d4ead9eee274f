//! With the network cut off: nobody is contacted but the model's host, and without any network all works as ever.

#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests start processes and look at them from outside, and tell what they could not try"
)]

mod contacted;
mod cut_off;
mod person;
mod work;

/// Tells what could not be tried; where everything has to be tried, that is a failure.
fn not_tried(why: &str) {
    let is_strict = std::env::var_os("CI").is_some_and(|value| value == "true");
    assert!(!is_strict, "{why}");
    eprintln!("not tried: {why}");
}
