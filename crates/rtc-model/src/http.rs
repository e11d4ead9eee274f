//! One POST to a provider and the bytes that come back.

#![allow(
    clippy::disallowed_methods,
    reason = "the certificates that a model's host is checked by are read here, once"
)]

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, StreamExt};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Certificate, Client, Response, Url};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Map, Value};
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout, timeout_at};

use crate::failure::{self, Failure, broken};
use crate::sse::{self, Events, Pieces};
use crate::{Endpoint, Error, Key, Timeouts, retry};

/// How much of the body of an error is read, in bytes.
const MOST_ERROR: usize = 64 * 1024;
/// How long the body of an error may take.
const ERROR_BODY: Duration = Duration::from_secs(10);
/// How long a reply may bring nothing but comments, in times of [`Timeouts::idle`]: a server that lets the model think keeps
/// the connection alive by them.
const SILENT_IDLES: u32 = 10;
/// How many connections to one host wait for the next request.
const IDLE_CONNECTIONS: usize = 4;

/// The way to one provider. The connection is made when it is first needed, and kept.
pub(crate) struct Http {
    endpoint: Arc<Endpoint>,
    client: OnceCell<Client>,
}

impl Http {
    pub(crate) fn new(endpoint: Arc<Endpoint>) -> Http {
        Http {
            endpoint,
            client: OnceCell::new(),
        }
    }

    /// The key for a header.
    pub(crate) fn key(&self) -> Result<Option<&str>, Error> {
        match &self.endpoint.key {
            Key::None => Ok(None),
            Key::Set(key) => Ok(Some(key.expose())),
            Key::Missing { variable } => Err(Error::Unauthorized {
                reason: format!("there is none: the environment variable {variable} is not set"),
            }),
        }
    }

    /// The client that honours certificates and proxies.
    pub(crate) async fn client(&self) -> Result<&Client, Failure> {
        self.client
            .get_or_try_init(|| client(self.endpoint.clone()))
            .await
    }

    /// Sends a body of JSON to `path` below the base URL. What comes back are the events of a reply.
    pub(crate) async fn ask(
        &self,
        path: &str,
        headers: &[(&'static str, String)],
        body: Bytes,
    ) -> Result<Events, Failure> {
        let url = address(&self.endpoint.base_url, path)?;
        let client = self.client().await?;
        let mut map = HeaderMap::new();
        map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        map.insert(
            ACCEPT,
            HeaderValue::from_static("text/event-stream, application/json"),
        );
        for (name, value) in headers {
            let mut value = HeaderValue::from_str(value).map_err(|_| Error::Unauthorized {
                reason: "it has characters that no key has".into(),
            })?;
            value.set_sensitive(true);
            map.insert(HeaderName::from_static(name), value);
        }
        let first_byte = self.endpoint.timeouts.first_byte;
        let until = Instant::now() + first_byte;
        let sent = client.post(url).headers(map).body(body).send();
        let response = timeout_at(until, sent)
            .await
            .map_err(|_| Error::Unreachable {
                reason: format!("no answer within {}", seconds(first_byte)),
            })?
            .map_err(|error| unreachable(&error))?;
        if response.status().as_u16() == 200 {
            let silent = self.endpoint.timeouts.idle.saturating_mul(SILENT_IDLES);
            Ok(sse::timely(sse::events(self.pieces(response, until)), silent))
        } else {
            Err(self.refusal(response).await)
        }
    }

    /// The bytes as they come: the first one by a moment, each further one within its time.
    fn pieces(&self, response: Response, first: Instant) -> Pieces {
        let Timeouts { first_byte, idle, .. } = self.endpoint.timeouts;
        let state = Some((response, first, first_byte));
        stream::unfold(state, move |state| async move {
            let (mut response, until, limit) = state?;
            match timeout_at(until, response.chunk()).await {
                Ok(Ok(Some(piece))) => {
                    Some((Ok(piece.to_vec()), Some((response, Instant::now() + idle, idle))))
                }
                Ok(Ok(None)) => None,
                Ok(Err(error)) => Some((Err(broken(told(&error))), None)),
                Err(_) => Some((Err(broken(format!("no byte for {}", seconds(limit)))), None)),
            }
        })
        .boxed()
    }

    async fn refusal(&self, mut response: Response) -> Failure {
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let wait = retry::asked(|name| Some(headers.get(name)?.to_str().ok()?.to_owned()));
        let mut body = Vec::new();
        let read = async {
            while let Ok(Some(piece)) = response.chunk().await {
                body.extend_from_slice(&piece);
                if body.len() >= MOST_ERROR {
                    break;
                }
            }
        };
        // What has come until then is told.
        let _ = timeout(ERROR_BODY, read).await;
        failure::of_status(&self.endpoint, status, &body, wait)
    }
}

/// The field of a body that has the conversation.
pub(crate) const MESSAGES: &str = "messages";

/// The JSON of a body: its fields in their order, in the place of [`MESSAGES`] the conversation, unless something else
/// stands there. The conversation is written as it is read, never all of it as a tree of values.
pub(crate) fn body(fields: &Map<String, Value>, messages: impl Serialize) -> Bytes {
    let body = Body { fields, messages };
    serde_json::to_vec(&body)
        .expect("text and JSON values always have a JSON form")
        .into()
}

struct Body<'a, M> {
    fields: &'a Map<String, Value>,
    messages: M,
}

impl<M: Serialize> Serialize for Body<'_, M> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.fields.len()))?;
        for (name, value) in self.fields {
            match (name.as_str(), value) {
                (MESSAGES, Value::Null) => map.serialize_entry(name, &self.messages)?,
                _ => map.serialize_entry(name, value)?,
            }
        }
        map.end()
    }
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

/// The cause at the bottom; what stands above it names only the address.
pub(crate) fn told(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    // Never with the address: a password may stand in it.
    if std::ptr::addr_eq(cause, error) {
        if error.is_timeout() {
            "timed out".into()
        } else {
            "the connection failed".into()
        }
    } else {
        cause.to_string()
    }
}

/// No connection. A certificate that is not trusted will not be trusted in a moment either.
pub(crate) fn unreachable(error: &reqwest::Error) -> Failure {
    let reason = told(error);
    let again = !reason.contains("certificate");
    Failure {
        again,
        ..Error::Unreachable { reason }.into()
    }
}

fn address(base: &str, path: &str) -> Result<Url, Failure> {
    let base = base.trim_end_matches('/');
    let text = if base.ends_with(path) {
        base.to_owned()
    } else {
        format!("{base}{path}")
    };
    match Url::parse(base).and(Url::parse(&text)) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => Ok(url),
        _ => Err(Failure::final_(Error::InvalidRequest {
            reason: "the base URL is not an address that begins with http:// or https://".into(),
        })),
    }
}

async fn client(endpoint: Arc<Endpoint>) -> Result<Client, Failure> {
    tokio::task::spawn_blocking(move || build(&endpoint))
        .await
        .map_err(|error| {
            Failure::final_(Error::Unreachable {
                reason: error.to_string(),
            })
        })?
}

/// Reads certificates, so it may block.
fn build(endpoint: &Endpoint) -> Result<Client, Failure> {
    let failed = |reason: String| Failure::final_(Error::Unreachable { reason });
    // Another one that is there already does as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // Without an address the provider's own is meant, which is far away and safe.
    let url = (!endpoint.base_url.is_empty())
        .then(|| address(&endpoint.base_url, ""))
        .transpose()?;
    let mut builder = Client::builder()
        .user_agent(concat!("rtc-desktop/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(endpoint.timeouts.connect)
        .pool_max_idle_per_host(IDLE_CONNECTIONS)
        .tcp_nodelay(true)
        // A packed stream arrives late.
        .no_gzip()
        // A redirection would carry the conversation, and some keys, to another host.
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never());
    if url.as_ref().is_some_and(is_local) {
        builder = builder.no_proxy();
    }
    if url.is_some_and(|url| url.scheme() == "http") {
        // Nothing is checked by them, and a system without any would be an error.
        builder = builder.tls_certs_only([]);
    } else if let Some(file) = &endpoint.ca_file {
        let told = |reason: String| failed(format!("the certificates in {}: {reason}", file.display()));
        let bytes = std::fs::read(file).map_err(|error| told(error.to_string()))?;
        let certificates = Certificate::from_pem_bundle(&bytes).map_err(|error| told(error.to_string()))?;
        if certificates.is_empty() {
            return Err(told("there is none in it".into()));
        }
        builder = builder.tls_certs_merge(certificates);
    }
    builder.build().map_err(|error| failed(self::told(&error)))
}

/// Whether this is the machine itself, where no proxy leads.
fn is_local(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_may_already_lead_to_the_end() {
        let table = [
            ("https://host/v1", "https://host/v1/chat/completions"),
            ("https://host/v1/", "https://host/v1/chat/completions"),
            (
                "https://host/v1/chat/completions",
                "https://host/v1/chat/completions",
            ),
        ];
        for (base, whole) in table {
            assert_eq!(address(base, "/chat/completions").unwrap().as_str(), whole);
        }
        for wrong in ["host/v1", "ftp://host", "", "http://"] {
            let error = address(wrong, "/x").unwrap_err();
            assert_eq!(
                (error.error.code(), error.again),
                ("model.invalid_request", false),
                "{wrong}"
            );
        }
    }

    #[test]
    fn only_this_machine_is_asked_without_a_proxy() {
        let table = [
            ("http://localhost:1/", true),
            ("http://127.9.0.1/", true),
            ("http://[::1]:8/", true),
            ("http://127.0.0.1.example.org/", false),
            ("https://host/", false),
        ];
        for (url, local) in table {
            assert_eq!(is_local(&Url::parse(url).unwrap()), local, "{url}");
        }
    }
}
