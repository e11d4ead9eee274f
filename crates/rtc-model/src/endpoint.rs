//! Where a model is and how it is asked.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::{Key, ModelId};

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(15);
/// How long a provider may think before the first byte: a local server reads a long request for minutes.
const FIRST_BYTE: Duration = Duration::from_secs(300);
/// How long a reply that has begun may be silent.
const IDLE: Duration = Duration::from_secs(120);

/// A model at a provider.
#[derive(Debug, Clone, PartialEq)]
pub struct Endpoint {
    /// Which model this is for those who ask; replies with provider blocks belong to it.
    pub id: ModelId,
    /// The provider's name of the model.
    pub model: String,
    /// The address, up to the version (`https://host/v1`).
    pub base_url: String,
    /// The key.
    pub key: Key,
    /// A file with further certificates (PEM) that are trusted besides those of the system.
    pub ca_file: Option<PathBuf>,
    /// The most tokens of a reply; the dialect's own limit if absent.
    pub max_output: Option<u32>,
    /// How many tokens the model may think (Anthropic Messages); it is not asked to think if absent.
    pub thinking_budget: Option<u32>,
    /// Whether the provider wants the model's reasoning back with each of its messages, also an empty one.
    pub echo_reasoning: bool,
    /// Further fields of each request, in the provider's words.
    pub extra: Map<String, Value>,
    /// How long things may take.
    pub timeouts: Timeouts,
}

impl Endpoint {
    /// A model with everything else at its default.
    pub fn new(id: ModelId, model: impl Into<String>, base_url: impl Into<String>, key: Key) -> Endpoint {
        Endpoint {
            id,
            model: model.into(),
            base_url: base_url.into(),
            key,
            ca_file: None,
            max_output: None,
            thinking_budget: None,
            echo_reasoning: false,
            extra: Map::new(),
            timeouts: Timeouts::default(),
        }
    }
}

/// How long a provider may take. A whole reply may take as long as it likes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the connection stands.
    pub connect: Duration,
    /// From the request to the first byte of the reply.
    pub first_byte: Duration,
    /// From each byte of the reply to the next.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            connect: CONNECT,
            first_byte: FIRST_BYTE,
            idle: IDLE,
        }
    }
}
