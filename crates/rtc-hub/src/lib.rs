//! The tool contract across a process boundary, and the one place that spawns child processes.
//!
//! Two [`Peer`]s speak JSON-RPC 2.0 over a pipe, one frame a line. Each may call the tools of the other; a tool that runs
//! there may call back the one who called it ([`Host`]). A remote call is the same stream as a local one: progress in
//! its order, then exactly one terminal, whatever happens to the other side.

mod child;
mod confine;
mod error;
mod frame;
mod host;
mod lines;
mod peer;
mod server;
mod worker;

pub use child::{Child, ChildCommand, ENVIRONMENT, MAX_CHILDREN, spawn};
pub use confine::{Barrier, Confinement, confine};
pub use error::Error;
pub use frame::{Call, Frame, HostCall, Outcome, present};
pub use host::{Deadline, Host, HostCalls};
pub use lines::{MAX_FRAME_BYTES, MAX_HOST_CALL_BYTES, MAX_HOST_CALL_VALUES, count_values};
pub use peer::{CALLER_GRACE, MAX_CALLS, MAX_HOST_CALLS_WAITING, OUTGOING_QUEUE, Peer, RemoteCall};
pub use server::{MAX_DEADLINE, SERVER_GRACE};
pub use worker::{PARENT_VARIABLE, end_with_parent, limit_memory, run_worker};
