//! Composition: builds store, engine, executor and registries from configuration. Wiring only, no rules.

mod app;
mod clock;
mod config;
mod data;
mod error;
mod host;
mod installation;
mod instance;
mod models;
mod port;
mod realtime;
mod set_aside;
mod system_prompt;
mod tokens;

pub use app::{App, Options, script_confinement};
pub use clock::SystemClock;
pub use config::{Config, ModelConfig, UndoConfig};
pub use error::Error;
pub use installation::Installation;
pub use instance::Instance;
pub use models::{Models, OFFLINE};
pub use port::EnginePort;
pub use rtc_script::{Barrier, Confinement, WORKER_COMMAND as SCRIPT_WORKER, worker as script_worker};
pub use rtc_wire::rpc::{KeyState, ModelEntry};
pub use tokens::{Known, Purpose, TOKEN_BYTES, TOKEN_TIME, Tokens};
