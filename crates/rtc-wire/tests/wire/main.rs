//! What stands on the wire: golden files both ways, wrong input, and the documents made from the table.
// These tests read the golden files beside them and the documents of the repository; what is missing ends them.
#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

#[cfg(feature = "schema")]
mod documents;
mod golden;
mod wrong_input;
