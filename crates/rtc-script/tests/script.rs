//! Scripts in a real worker: golden pairs of code and what the model reads, the limits, and what happens to files.

#![allow(clippy::unwrap_used, reason = "tests and what they stand on")]

mod script {
    pub(crate) mod files;
    pub(crate) mod golden;
    pub(crate) mod limits;
    pub(crate) mod place;
    pub(crate) mod saved;
}
