//! The engine from outside: lanes, and what clients ask for.

#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod bench;
mod claims;
mod copies;
mod devices;
mod lane;
mod pages;
mod rpc;
mod scenarios;
mod trees;
