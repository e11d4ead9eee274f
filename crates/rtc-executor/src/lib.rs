//! Runs a remote tool call by its id: marks, recovery, whose turn it is, and the permission of each opened path.
//!
//! The executor asks its [`Port`] for the first open call of a session, so what was approved is what runs. A call with
//! an effect is prepared, its mark made durable with the claim, and only then executed; a call that was started before
//! the process died is looked at by its mark first. From before that until its result is stored nobody else changes a file
//! of its project.

mod call;
mod executor;
mod gate;
mod permit;
mod places;
mod port;
mod seen;
mod turns;

pub use call::Ran;
pub use executor::Executor;
pub use places::{Folders, Places};
pub use port::{Claimed, OpenCall, Port, PortError, Started, Terms};
