//! What stands on the wire: golden files both ways, wrong input, and the documents made from the table.
// These tests read the golden files beside them and the documents of the repository, where what is missing ends them, and
// tell how much they did.
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, clippy::unwrap_used)]

#[cfg(feature = "schema")]
mod documents;
mod fuzz;
mod golden;
mod wrong_input;
