//! The forms that answers have in common.

use rtc_types::Update;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::RpcError;

/// What a request is answered with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ReplyOf{T}"))]
pub struct Reply<T> {
    /// What the method gives.
    pub result: T,
    /// What an action changed: the same updates as on the topic channel, with the same offsets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub updates: Vec<Update>,
}

impl<T> Reply<T> {
    /// The answer of a query, or of an action that changed nothing.
    pub fn new(result: T) -> Self {
        Self {
            result,
            updates: Vec::new(),
        }
    }

    /// The answer of an action.
    pub fn with_updates(result: T, updates: Vec<Update>) -> Self {
        Self { result, updates }
    }
}

impl<T: Serialize> Reply<T> {
    /// The answer as it goes into a frame.
    ///
    /// # Errors
    /// `rpc.internal_error` if the result has no JSON form, which none of this crate's results lacks.
    pub fn into_value(self) -> Result<Value, RpcError> {
        serde_json::to_value(self).map_err(|error| {
            RpcError::new(
                rtc_types::Code::Internal,
                format!("a result has no JSON form: {error}"),
            )
        })
    }
}

/// Part of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "PageOf{T}"))]
pub struct Page<T, C> {
    /// The entries.
    pub items: Vec<T>,
    /// The cursor of the next page; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<C>,
}

/// A whole list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ItemsOf{T}"))]
pub struct Items<T> {
    /// The entries.
    pub items: Vec<T>,
}

/// One entity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "ItemOf{T}"))]
pub struct Item<T> {
    /// The entity.
    pub item: T,
}

/// It is done, or was done before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Success {
    /// Always true: what fails is an error.
    pub success: bool,
}

impl Success {
    /// It is done.
    pub const DONE: Self = Self { success: true };
}
