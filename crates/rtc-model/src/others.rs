//! The providers that `genai` knows, in its words and untuned.

use std::sync::Arc;

use ::genai::Client;
use ::genai::ModelIden;
use ::genai::adapter::AdapterKind;
use ::genai::resolver::{AuthData, Endpoint as Address};
use async_trait::async_trait;
use bytes::Bytes;
use futures::FutureExt;
use futures::stream::{self, StreamExt};
use reqwest::header::HeaderMap;
use tokio::sync::OnceCell;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

use crate::call_id::CallIds;
use crate::failure::{self, Failure, broken};
use crate::http::{self, Http};
use crate::sse::Events;
use crate::{Endpoint, Error, Key, Model, ModelId, ModelStream, Request, exchange, retry};

mod decode;
mod request;

use decode::OtherDecoder;

/// A model of a provider for which there is no dialect of our own.
pub(crate) struct OtherModel {
    endpoint: Arc<Endpoint>,
    adapter: AdapterKind,
    http: Http,
    client: OnceCell<Client>,
}

impl OtherModel {
    /// The model at an endpoint, if its api is known. The provider's own address is used where the base URL is empty.
    pub(crate) fn new(endpoint: Endpoint) -> Option<OtherModel> {
        let adapter = adapter(&endpoint.id.api)?;
        let endpoint = Arc::new(endpoint);
        Some(OtherModel {
            adapter,
            http: Http::new(endpoint.clone()),
            endpoint,
            client: OnceCell::new(),
        })
    }

    async fn client(&self) -> Result<&Client, Failure> {
        let build = async || {
            let client = self.http.client().await?.clone();
            let (key, base_url) = (self.endpoint.key.clone(), self.endpoint.base_url.clone());
            let resolve = move |mut target: ::genai::ServiceTarget| {
                match &key {
                    Key::Set(key) => target.auth = AuthData::from_single(key.expose()),
                    // Nothing of the environment goes where it was not meant to go.
                    Key::None | Key::Missing { .. } => target.auth = AuthData::from_single("none"),
                }
                if !base_url.is_empty() {
                    target.endpoint = Address::from_owned(format!("{}/", base_url.trim_end_matches('/')));
                }
                Ok::<_, ::genai::resolver::Error>(target)
            };
            Client::builder()
                .with_reqwest(client)
                .with_adapter_kind(self.adapter)
                .with_auth_resolver_fn(|_: ModelIden| Ok(Some(AuthData::from_single("none"))))
                .with_service_target_resolver_fn(resolve)
                .build()
                .map_err(|error| {
                    Failure::final_(Error::InvalidRequest {
                        reason: error.to_string(),
                    })
                })
        };
        self.client.get_or_try_init(build).await
    }

    async fn open(&self, request: Arc<Request>) -> Result<Events, Failure> {
        let client = self.client().await?;
        let model = ModelIden::new(self.adapter, self.endpoint.model.clone());
        // It logs what providers say, keys and all: it is not listened to.
        let options = request::options(&self.endpoint, &request);
        let asked = client
            .exec_chat_stream(model, request::request(self.adapter, &request), Some(&options))
            .with_subscriber(NoSubscriber::new())
            .await;
        let endpoint = self.endpoint.clone();
        let events = asked.map_err(|error| told(&endpoint, error))?.stream;
        let timeouts = self.endpoint.timeouts;
        let state = Some((events, timeouts.first_byte));
        let read = stream::unfold(state, move |state| {
            let endpoint = endpoint.clone();
            async move {
                let (mut events, limit) = state?;
                match timeout(limit, events.next().with_subscriber(NoSubscriber::new())).await {
                    Ok(None) => None,
                    Ok(Some(Ok(event))) => {
                        // The start is told before anything has come.
                        let begun = !matches!(event, ::genai::chat::ChatStreamEvent::Start);
                        let limit = if begun { timeouts.idle } else { limit };
                        let text = serde_json::to_string(&event).unwrap_or_default();
                        Some((Ok(text), Some((events, limit))))
                    }
                    Ok(Some(Err(error))) => Some((Err(told(&endpoint, error)), None)),
                    Err(_) => Some((
                        Err(broken(format!("no event for {} s", limit.as_secs_f64()))),
                        None,
                    )),
                }
            }
        });
        Ok(read.boxed())
    }
}

#[async_trait]
impl Model for OtherModel {
    fn id(&self) -> &ModelId {
        &self.endpoint.id
    }

    async fn stream(&self, request: &Request, cancel: CancellationToken) -> Result<ModelStream, Error> {
        self.http.key()?;
        let seed = Bytes::from(serde_json::to_vec(request).unwrap_or_default());
        let request = Arc::new(request.clone());
        let open = || self.open(request.clone()).boxed();
        let decoder = || -> Box<dyn exchange::Decoder> {
            Box::new(OtherDecoder::new(CallIds::of(&request, seed.clone())))
        };
        exchange::ask(open, decoder, cancel).await
    }
}

/// The names of all providers, which are their apis too.
pub(crate) fn providers() -> impl Iterator<Item = &'static str> {
    AdapterKind::all()
        .iter()
        .filter(|kind| !is_ours(**kind))
        .map(|kind| kind.as_lower_str())
}

/// The environment variable in which a provider's key is looked for; `None` if it needs none.
pub(crate) fn key_env(provider: &str) -> Option<&'static str> {
    adapter(provider)?.default_key_env_name()
}

/// Those that have a dialect of our own go by other names.
fn is_ours(kind: AdapterKind) -> bool {
    matches!(kind, AdapterKind::OpenAI | AdapterKind::Anthropic)
}

fn adapter(api: &str) -> Option<AdapterKind> {
    AdapterKind::from_lower_str(api).filter(|kind| !is_ours(*kind))
}

/// An error of `genai` in our words. Its own text can hold the request, and is never told.
fn told(endpoint: &Endpoint, error: ::genai::Error) -> Failure {
    use ::genai::Error as Theirs;
    use ::genai::webc::Error as Web;
    let answered = |status: u16, body: &str, headers: &HeaderMap| {
        let wait = retry::asked(|name| Some(headers.get(name)?.to_str().ok()?.to_owned()));
        failure::of_status(endpoint, status, body.as_bytes(), wait)
    };
    match error {
        Theirs::HttpError {
            status,
            body,
            headers,
            ..
        } => answered(status.as_u16(), &body, &headers),
        Theirs::WebModelCall { webc_error, .. } | Theirs::WebAdapterCall { webc_error, .. } => {
            match webc_error {
                Web::ResponseFailedStatus {
                    status,
                    body,
                    headers,
                } => answered(status.as_u16(), &body, &headers),
                Web::Reqwest(error) => http::unreachable(&error),
                _ => broken("it is not what this provider says"),
            }
        }
        Theirs::WebStream { error, .. } => match error.downcast::<Theirs>() {
            Ok(inner) => told(endpoint, *inner),
            Err(error) => match error.downcast::<reqwest::Error>() {
                Ok(error) if error.is_connect() || error.is_timeout() => http::unreachable(&error),
                Ok(error) => broken(http::told(&error)),
                Err(_) => broken("the connection failed"),
            },
        },
        Theirs::ChatResponse { body, .. } => failure::in_reply(endpoint, &body)
            .or_else(|| failure::in_reply(endpoint, &serde_json::json!({ "error": body })))
            .unwrap_or_else(|| broken("the provider failed")),
        Theirs::StreamParse { .. }
        | Theirs::NoChatResponse { .. }
        | Theirs::InvalidJsonResponseElement { .. } => broken("an event is not what this provider says"),
        Theirs::ChatResponseGeneration { .. } => broken("it is not what this provider says"),
        other => Failure::final_(Error::InvalidRequest {
            reason: crate::key::scrub(&other.to_string(), &endpoint.key),
        }),
    }
}
