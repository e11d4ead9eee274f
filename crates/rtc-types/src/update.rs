//! Entries of a user's stream.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::UpdateId;

/// A change as clients get it. The log keeps only `id` and `items`; `data_list` and `offset` are filled in at delivery.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Update {
    /// Its id.
    pub id: UpdateId,
    /// What changed.
    pub items: Vec<UpdateItem>,
    /// The entities as they are now, index by index with `items`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data_list: Vec<Value>,
    /// Its place in the user's stream, from 1; 0 for live messages.
    #[serde(default)]
    pub offset: u64,
}

/// One changed entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UpdateItem {
    /// Its kind.
    pub entity: UpdateEntity,
    /// Whether it is new.
    pub action: UpdateAction,
    /// Its id.
    pub entity_id: Uuid,
}

/// Kinds of entities that updates tell of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UpdateEntity {
    /// A session.
    Session,
    /// A turn.
    Turn,
    /// A message.
    Message,
    /// A remote tool call. Its first update says `updated` too.
    Rtc,
    /// A watched file.
    File,
}

/// What happened to it. A deletion is told by `deleted_at` in the entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UpdateAction {
    /// It is new.
    Created,
    /// It changed.
    Updated,
}
