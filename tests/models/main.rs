//! `rtc-headless` with models behind a scripted server: what they are asked, what becomes of their answers, and how
//! their failures end.

#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    reason = "tests start processes and look at files from outside"
)]

mod certificates;
mod desk;
mod early;
mod failures;
mod limits;
mod listing;
mod names;
mod others;
mod output;
mod restarts;
mod stopping;
mod thoughts;
mod turns;
