//! Language models behind one streaming trait, and the offline model.
//!
//! A [`Model`] turns one [`Request`] into one stream of [`Event`]s that ends with one [`Reply`] or one
//! [`Error`]. It keeps nothing between two requests: whatever it shall know stands in the request.

mod arguments;
mod call_id;
mod chat;
mod dialects;
mod endpoint;
mod error;
mod exchange;
mod failure;
mod http;
mod key;
mod messages;
mod model;
mod offline;
#[cfg(feature = "genai")]
mod others;
#[cfg(test)]
mod replay;
mod reply;
mod request;
mod retry;
mod sse;
mod unknown;

pub use chat::ChatModel;
pub use dialects::{open, other_key_env, other_providers};
pub use endpoint::{Endpoint, Timeouts};
pub use error::Error;
pub use key::{ApiKey, Key};
pub use messages::MessagesModel;
pub use model::{Model, ModelId, ModelStream};
pub use offline::{OfflineModel, demo_request};
pub use reply::{Event, Reply, StopReason, Usage};
pub use request::{AssistantBlock, Item, Request, SCENARIOS, ToolSpec};
pub use retry::wait_after;
