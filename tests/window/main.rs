//! The real window on a display of its own, with the real engine and a scripted model, driven by WebDriver and by keys.

#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests start processes and look at files from outside"
)]

mod bundle;
mod desk;
mod dialog;
mod elsewhere;
mod ends;
mod model;
mod network;
mod once;
mod page;
mod person;
mod program;
mod screen;
mod starts;
mod wait;
