//! The binary `rtc-headless`.
fn main() {}
