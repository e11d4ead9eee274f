//! The engine from outside: lanes, and what clients ask for.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod anew;
mod bench;
mod bounds;
mod claims;
mod copies;
mod damage;
mod devices;
mod failing;
mod faults;
mod killed;
mod lane;
mod pages;
mod restarts;
mod rpc;
mod salvage;
mod scenarios;
mod spills;
mod strangers;
mod time;
mod trees;
mod waking;
