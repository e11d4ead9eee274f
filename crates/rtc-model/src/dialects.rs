//! From an endpoint to the model that speaks its dialect.

use std::sync::Arc;

use crate::{ChatModel, Endpoint, MessagesModel, Model};

/// The model at an endpoint, by the api of its id; `None` if this build does not speak it.
pub fn open(endpoint: Endpoint) -> Option<Arc<dyn Model>> {
    if endpoint.id.api == ChatModel::API {
        return Some(Arc::new(ChatModel::new(endpoint)));
    }
    if endpoint.id.api == MessagesModel::API {
        return Some(Arc::new(MessagesModel::new(endpoint)));
    }
    open_other(endpoint)
}

#[cfg(feature = "genai")]
fn open_other(endpoint: Endpoint) -> Option<Arc<dyn Model>> {
    Some(Arc::new(crate::others::OtherModel::new(endpoint)?))
}

#[cfg(not(feature = "genai"))]
fn open_other(_: Endpoint) -> Option<Arc<dyn Model>> {
    None
}

/// The providers beside OpenAI and Anthropic. A name is also the api of its models; an empty base URL means the
/// provider's own address.
#[cfg(feature = "genai")]
pub fn other_providers() -> Vec<&'static str> {
    crate::others::providers().collect()
}

/// The providers beside OpenAI and Anthropic: none in this build.
#[cfg(not(feature = "genai"))]
pub fn other_providers() -> Vec<&'static str> {
    Vec::new()
}

/// The environment variable in which such a provider's key is looked for; `None` if it needs none.
#[cfg(feature = "genai")]
pub fn other_key_env(provider: &str) -> Option<&'static str> {
    crate::others::key_env(provider)
}

/// The environment variable in which such a provider's key is looked for: there are none in this build.
#[cfg(not(feature = "genai"))]
pub fn other_key_env(_: &str) -> Option<&'static str> {
    None
}
