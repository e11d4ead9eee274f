//! Composition: builds store, engine, executor and registries from configuration. Wiring only, no rules.

#![allow(
    clippy::disallowed_methods,
    reason = "the app owns the data folder and the clock of the machine"
)]

mod app;
mod clock;
mod config;
mod data;
mod error;
mod host;
mod models;
mod port;
mod system_prompt;

pub use app::{App, Options};
pub use clock::SystemClock;
pub use config::{Config, ModelConfig};
pub use error::Error;
pub use models::{OFFLINE, known as known_models};
