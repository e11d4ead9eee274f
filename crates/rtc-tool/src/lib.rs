//! The tool contract: a typed [`Tool`] for authors, one erased [`ToolHandle`] for everyone else, and the permission
//! decision as a pure function.
//!
//! A call gives `Progress*` and then exactly one `Terminal`. A tool with an effect is run in two steps: `prepare`
//! computes everything and touches nothing; its mark is made durable; `execute` then has the effect. After a crash
//! `recover` tells from the mark what became of it.

mod arguments;
mod checked;
mod context;
mod erased;
mod error;
mod permission;
mod registry;
mod stream;
mod text;
mod tool;

pub use arguments::coerce;
pub use context::{CallContext, Extensions, NoTurns, Permit, Seen, Turn, Turns};
pub use erased::handle;
pub use error::{ErrorKind, ToolError};
pub use permission::{Consent, Policy, Verdict, decide, grant, is_beneath, is_protected};
pub use registry::Registry;
pub use rtc_types::{Progress, ToolKind as Kind};
pub use stream::{PROGRESS_QUEUE, ProgressSender, ToolStream, ToolStreamItem, terminal_of};
pub use text::{BUDGET_BYTES, budget, model_text};
pub use tool::{Access, Capabilities, Description, Prepared, Recovery, Subject, Tool, ToolHandle};
