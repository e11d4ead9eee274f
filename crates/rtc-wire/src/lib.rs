//! What clients and the engine say to each other: frames and method tables; nothing here waits or does I/O.

pub mod centrifuge;
mod event;
pub mod rpc;
#[cfg(feature = "schema")]
pub mod schema;

pub use event::{CallProgress, FileChange, FileChanged, Gone, LiveEvent, TextDelta, TopicEvent, Trouble};
