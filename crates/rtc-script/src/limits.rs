//! What ends a script, whatever it does.

use rtc_hub::MAX_HOST_CALL_VALUES;
use serde::{Deserialize, Serialize};

/// How long a script may run unless it asks for another time, in milliseconds.
pub const DEFAULT_TIMEOUT_MS: u64 = 30_000;
/// How long a script may ask for, in milliseconds.
pub const MAX_TIMEOUT_MS: u64 = 600_000;
/// The longest code, in bytes: 1 MiB.
pub const MAX_CODE_BYTES: usize = 1 << 20;
/// The memory of a script as its engine counts it, in bytes: 256 MiB. Beside it, and not counted, are what the allocator adds,
/// the engine's own handles and the room in which it ends the script: its process was seen with up to 300 MB, and has never
/// more than [`MAX_WORKER_BYTES`].
pub const MAX_MEMORY_BYTES: usize = 256 << 20;
/// How many calls of `rtcAgent.fs` a script may make.
pub const MAX_HOST_CALLS: u64 = 10_000;
/// Arguments and answers of its calls of `rtcAgent.fs` that a script may leave waiting, in bytes: 64 MiB. They are outside
/// of the memory that the engine counts.
pub const MAX_IN_FLIGHT_BYTES: usize = 64 << 20;
/// How many values the arguments of one call of `rtcAgent.fs` may have. The rest of its frame has a few as well, which the
/// hub counts in.
pub const MAX_CALL_VALUES: usize = MAX_HOST_CALL_VALUES - 100;
/// How deep the parameters of a script and the arguments of its calls may be nested. Each frame adds a little, and can
/// be read to a depth of 128.
pub const MAX_DEPTH: usize = 100;
/// The data that a worker may have in memory, in bytes: 1 GiB. It is the last line, behind all other limits.
pub const MAX_WORKER_BYTES: u64 = 1 << 30;
/// How many promises of a script may have failed while nothing waits for them.
pub const MAX_REJECTIONS: usize = 10_000;
/// How many lines of the console a script may write.
pub const MAX_CONSOLE_ENTRIES: usize = 10_000;
/// How much text a script may write to the console, in bytes: 1 MiB.
pub const MAX_CONSOLE_BYTES: usize = 1 << 20;
/// The largest result, in bytes of its JSON: 4 MiB.
pub const MAX_RESULT_BYTES: usize = 4 << 20;

/// What ended a script that did not end by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Its time.
    Time,
    /// Its memory.
    Memory,
    /// Its calls of `rtcAgent.fs`.
    HostCalls,
    /// What waits of its calls of `rtcAgent.fs`.
    Waiting,
    /// Its promises that failed and that nothing waits for.
    Rejections,
    /// What it wrote to the console.
    Console,
    /// The size of its result.
    Result,
    /// The user stopped it.
    Stopped,
}

impl Limit {
    /// Why the script was ended; `timeout_ms` is the time that it had.
    pub(crate) fn reason(self, timeout_ms: u64) -> String {
        match self {
            Self::Time => format!("the script ran longer than {timeout_ms} ms and was ended"),
            Self::Memory => format!(
                "the script used more than {} MB of memory and was ended",
                MAX_MEMORY_BYTES >> 20
            ),
            Self::HostCalls => {
                format!("the script made more than {MAX_HOST_CALLS} calls of rtcAgent.fs and was ended")
            }
            Self::Waiting => format!(
                "the script left more than {} MB of its calls of rtcAgent.fs waiting and was ended; await them one after \
                 the other",
                MAX_IN_FLIGHT_BYTES >> 20
            ),
            Self::Rejections => format!(
                "more than {MAX_REJECTIONS} promises of the script failed while nothing waited for them, and it was ended; \
                 await them, or catch what they throw"
            ),
            Self::Console => format!(
                "the script wrote more than {MAX_CONSOLE_ENTRIES} entries or {} KB to the console and was ended",
                MAX_CONSOLE_BYTES >> 10
            ),
            Self::Result => format!(
                "the result of the script has more than {} MB; return less, or write it to a file",
                MAX_RESULT_BYTES >> 20
            ),
            Self::Stopped => "the script was stopped".to_owned(),
        }
    }
}
