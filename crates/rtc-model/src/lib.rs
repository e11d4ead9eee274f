//! Language models behind one streaming trait, and the offline model.
//!
//! A [`Model`] turns one [`Request`] into one stream of [`Event`]s that ends with one [`Reply`] or one
//! [`Error`]. It keeps nothing between two requests: whatever it shall know stands in the request.

mod error;
mod model;
mod offline;
mod reply;
mod request;

pub use error::Error;
pub use model::{Model, ModelId, ModelStream};
pub use offline::{OfflineModel, demo_request};
pub use reply::{Event, Reply, StopReason, Usage};
pub use request::{AssistantBlock, Item, Request, ToolSpec};
