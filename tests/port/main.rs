//! `rtc-headless serve` and `token` as real processes: who is let in, what is refused, and how it ends.

#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    reason = "tests start processes and look at files from outside"
)]

mod answers;
mod browser;
mod calls;
mod client;
mod crowd;
mod distribution;
mod ending;
mod files;
mod follower;
mod frames;
mod idle;
mod passage;
mod peers;
mod projects;
mod requests;
mod running;
mod sessions;
mod starting;
mod strangers;
mod tokens;
mod turns;
mod wrong;
