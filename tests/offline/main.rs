//! The offline model with the real engine, executor and tools, on folders made at random with names it has not seen.
//!
//! Every run takes a fresh seed beside the fixed ones; `RTC_TEST_SEED=N` runs that one alone.

#![allow(clippy::disallowed_methods, reason = "tests look at files from outside")]

mod desk;
mod folder;
mod honesty;
#[path = "../../crates/rtc-model/tests/offline/phrasings.rs"]
mod phrasings;
mod random;
mod table;
#[path = "../../crates/rtc-model/tests/offline/template.rs"]
mod template;
mod unseen;
