//! `rtc-headless serve` and `token` as real processes: who is let in, what is refused, and how it ends.

#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    reason = "tests start processes and look at files from outside"
)]

mod browser;
mod client;
mod crowd;
mod distribution;
mod ending;
mod files;
mod follower;
mod frames;
mod passage;
mod peers;
mod requests;
mod running;
mod sessions;
mod starting;
mod tokens;
mod turns;
mod wrong;
