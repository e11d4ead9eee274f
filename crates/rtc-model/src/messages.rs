//! Anthropic's Messages.

use std::sync::Arc;

use async_trait::async_trait;
use futures::FutureExt;
use tokio_util::sync::CancellationToken;

use crate::call_id::CallIds;
use crate::exchange;
use crate::http::Http;
use crate::{Endpoint, Error, Model, ModelId, ModelStream, Request};

mod decode;
mod request;

use decode::MessagesDecoder;

/// The version of the API that is spoken.
const VERSION: &str = "2023-06-01";
/// Thoughts between calls, where the model thinks at all.
const INTERLEAVED: &str = "interleaved-thinking-2025-05-14";

/// A model behind a server that speaks Anthropic Messages.
pub struct MessagesModel {
    endpoint: Arc<Endpoint>,
    http: Http,
}

impl MessagesModel {
    /// The name of this dialect in a [`ModelId`].
    pub const API: &'static str = "anthropic-messages";

    /// The model at an endpoint. Nothing is sent before it is asked.
    pub fn new(endpoint: Endpoint) -> MessagesModel {
        let endpoint = Arc::new(endpoint);
        MessagesModel {
            http: Http::new(endpoint.clone()),
            endpoint,
        }
    }
}

#[async_trait]
impl Model for MessagesModel {
    fn id(&self) -> &ModelId {
        &self.endpoint.id
    }

    async fn stream(&self, request: &Request, cancel: CancellationToken) -> Result<ModelStream, Error> {
        let mut headers = vec![("anthropic-version", VERSION.to_owned())];
        headers.extend(self.http.key()?.map(|key| ("x-api-key", key.to_owned())));
        if self.endpoint.thinking_budget.is_some() {
            headers.push(("anthropic-beta", INTERLEAVED.to_owned()));
        }
        let body = request::body(&self.endpoint, request);
        let path = if self.endpoint.base_url.trim_end_matches('/').ends_with("/v1") {
            "/messages"
        } else {
            "/v1/messages"
        };
        let open = || self.http.ask(path, &headers, body.clone()).boxed();
        let decoder = || -> Box<dyn exchange::Decoder> {
            let ids = CallIds::of(request, body.clone());
            Box::new(MessagesDecoder::new(self.endpoint.clone(), ids))
        };
        exchange::ask(open, decoder, cancel).await
    }
}
