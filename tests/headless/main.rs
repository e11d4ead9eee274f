//! `rtc-headless run` and `sessions` as real processes: what is read, asked, written, told, and with which exit code.

#![cfg(target_os = "linux")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests start processes, look at files from outside and say why they are skipped"
)]

mod asking;
mod bad_input;
mod damaged_store;
mod data_folder;
mod demo;
mod doctor;
mod files;
mod full_disk;
mod names;
mod output;
mod past;
mod permissions;
mod place;
mod questions;
mod schema;
mod scripts;
mod sessions;
mod stopping;
mod terminal;
mod undo;
