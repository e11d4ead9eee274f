//! Sessions as lanes: turns, the life of a remote tool call, approvals and what the model is sent.
//!
//! Every change of a session is a [`Command`] to its lane. [`apply`] decides, purely; the lane commits the step in one
//! batch and then does what the step says. The same function brings a session back after a crash.

mod apply;
mod ask;
mod comeback;
mod command;
mod conversation;
mod draft;
mod engine;
mod error;
mod fence;
mod fork;
mod host;
mod keys;
mod lane;
mod own_tools;
mod prompt;
mod records;
mod rpc;
mod salvage;
mod scenarios;
mod source;
mod state;
mod stored;
mod stream;
mod user;

pub use apply::apply;
pub use command::{
    Command, Done, Effect, Fork, Given, History, NewSession, Outcome, Parent, Plan, PlannedCall, Resolution,
    Send, Step, Write,
};
pub use engine::{Engine, LIVE_QUEUE, Live, WeakEngine};
pub use error::Error;
pub use host::Host;
pub use keys::Keys;
pub use own_tools::TodoWrite;
pub use rpc::Defaults;
pub use rtc_store::Offset;
pub use salvage::{Salvaged, salvage};
pub use state::{Asked, Call, SessionState};
pub use stored::{
    Lease, Mark, MessagePrivate, Origin, ProviderReply, RtcPrivate, SessionPrivate, Stored, StoredMessage,
    StoredRtc, StoredSession, StoredTurn, TurnContext, TurnPrivate,
};
pub use user::{UserCommand, UserState, apply_user};
