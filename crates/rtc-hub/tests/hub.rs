//! The same calls in process, over a pipe and into another process give the same items; and what happens when the other
//! side does not keep to anything.

#![allow(clippy::unwrap_used, reason = "tests and what they stand on")]

#[path = "../examples/peer/tools.rs"]
mod tools;

mod hub {
    pub(crate) mod contract;
    pub(crate) mod process;
    pub(crate) mod protocol;
    pub(crate) mod way;
}
