//! What travels between clients and the program: frames and method tables; no async.

pub mod centrifuge;
