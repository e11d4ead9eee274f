//! OpenAI's Chat Completions, and the many servers that speak it in their own way.

use std::sync::Arc;

use async_trait::async_trait;
use futures::FutureExt;
use tokio_util::sync::CancellationToken;

use crate::call_id::CallIds;
use crate::exchange;
use crate::http::Http;
use crate::{Endpoint, Error, Model, ModelId, ModelStream, Request};

mod calls;
mod decode;
mod request;
mod think;

use decode::ChatDecoder;

/// A model behind a server that speaks Chat Completions.
pub struct ChatModel {
    endpoint: Arc<Endpoint>,
    http: Http,
}

impl ChatModel {
    /// The name of this dialect in a [`ModelId`].
    pub const API: &'static str = "openai-chat";

    /// The model at an endpoint. Nothing is sent before it is asked.
    pub fn new(endpoint: Endpoint) -> ChatModel {
        let endpoint = Arc::new(endpoint);
        ChatModel {
            http: Http::new(endpoint.clone()),
            endpoint,
        }
    }
}

#[async_trait]
impl Model for ChatModel {
    fn id(&self) -> &ModelId {
        &self.endpoint.id
    }

    async fn stream(&self, request: &Request, cancel: CancellationToken) -> Result<ModelStream, Error> {
        let key = self.http.key()?;
        let headers: Vec<_> = key
            .map(|key| ("authorization", format!("Bearer {key}")))
            .into_iter()
            .collect();
        let body = request::body(&self.endpoint, request);
        let open = || self.http.ask("/chat/completions", &headers, body.clone()).boxed();
        let decoder = || -> Box<dyn exchange::Decoder> {
            Box::new(ChatDecoder::new(
                self.endpoint.clone(),
                CallIds::of(request, body.clone()),
            ))
        };
        exchange::ask(open, decoder, cancel).await
    }
}
