//! `v1.tools.list` and `v1.models.list`: what there is to work with.

use rtc_types::ToolKind;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What `v1.tools.list` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolsList {}

/// A tool as it is listed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolEntry {
    /// Its name.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// Who runs it.
    pub kind: ToolKind,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
}

/// What `v1.models.list` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelsList {}

/// A model as it is listed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelEntry {
    /// What it is called here; for a provider `NAME/MODEL`, with the model still to be named.
    pub name: String,
    /// The dialect.
    pub api: String,
    /// The provider's name of the model, if it is settled.
    pub model: Option<String>,
    /// Where it is, without user and password; null for the provider's own address.
    pub base_url: Option<String>,
    /// Whether this version speaks the dialect.
    pub spoken: bool,
    /// Whether it has the key that it needs.
    pub key: KeyState,
    /// How many tokens it takes, if that is configured.
    pub context: Option<u64>,
    /// Whether it answers when no model is named.
    pub default: bool,
}

/// Whether a model has its key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum KeyState {
    /// It needs none.
    NotNeeded,
    /// It has one.
    Set,
    /// The environment variable that should hold it is not set.
    Missing(String),
}
