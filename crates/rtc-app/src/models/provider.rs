//! The providers that can be used by name alone, with a key from the environment.

use rtc_model::{ChatModel, MessagesModel};

/// What a provider needs when only the environment tells of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Provider {
    pub(super) name: &'static str,
    /// The dialect.
    pub(super) api: &'static str,
    /// Empty where the provider's own address is known deeper down.
    pub(super) base_url: &'static str,
    pub(super) base_url_env: Option<&'static str>,
    pub(super) key_env: Option<&'static str>,
}

/// Those whose dialect is our own.
const PROVIDERS: &[Provider] = &[
    Provider {
        name: "openai",
        api: ChatModel::API,
        base_url: "https://api.openai.com/v1",
        base_url_env: Some("OPENAI_BASE_URL"),
        key_env: Some("OPENAI_API_KEY"),
    },
    Provider {
        name: "anthropic",
        api: MessagesModel::API,
        base_url: "https://api.anthropic.com",
        base_url_env: Some("ANTHROPIC_BASE_URL"),
        key_env: Some("ANTHROPIC_API_KEY"),
    },
];

/// All providers, the best known first.
pub(super) fn providers() -> impl Iterator<Item = Provider> {
    let others = rtc_model::other_providers().into_iter().map(|name| Provider {
        name,
        api: name,
        base_url: "",
        base_url_env: None,
        key_env: rtc_model::other_key_env(name),
    });
    PROVIDERS.iter().copied().chain(others)
}
