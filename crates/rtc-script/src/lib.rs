//! The script tool: JavaScript in a worker process that reaches nothing but the files of its call.
//!
//! The tool runs where the files are; the engine runs in a worker, a second process of the same program, started when
//! a model begins to write a script and then kept warm. A script's file calls come back over the hub and are answered here, with the
//! jail, the permissions, the stale guard and the pre-images of the file tools.

mod engine;
mod evidence;
mod host;
mod limits;
mod program;
mod run;
mod saved;
mod told;
mod tool;
mod worker;
mod workers;

pub use limits::{
    DEFAULT_TIMEOUT_MS, Limit, MAX_CALL_VALUES, MAX_CODE_BYTES, MAX_CONSOLE_BYTES, MAX_CONSOLE_ENTRIES,
    MAX_DEPTH, MAX_HOST_CALLS, MAX_IN_FLIGHT_BYTES, MAX_MEMORY_BYTES, MAX_REJECTIONS, MAX_RESULT_BYTES,
    MAX_TIMEOUT_MS, MAX_WORKER_BYTES,
};
pub use rtc_hub::{Barrier, Confinement};
pub use run::STOP_GRACE;
pub use saved::{SCRIPTS, script_path};
pub use tool::{Action, Script, ScriptArgs, TOOL};
pub use worker::{WORKER_COMMAND, worker};
pub use workers::Workers;
