//! What went wrong between us and a provider, told in our own errors.

use std::time::Duration;

use serde_json::Value;

use crate::key::scrub;
use crate::{Endpoint, Error};

/// The longest text of a provider that an error repeats, in characters.
const MOST_SAID: usize = 300;

/// An attempt that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// What is told if nothing else is tried.
    pub(crate) error: Error,
    /// Whether another attempt may succeed.
    pub(crate) again: bool,
    /// How long the provider asks us to wait before.
    pub(crate) wait: Option<Duration>,
}

impl Failure {
    /// One that another attempt does not mend.
    pub(crate) fn final_(error: Error) -> Failure {
        Failure {
            error,
            again: false,
            wait: None,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let again = error.retryable();
        Failure {
            error,
            again,
            wait: None,
        }
    }
}

/// A reply that broke off.
pub(crate) fn broken(reason: impl Into<String>) -> Failure {
    Error::Stream {
        reason: reason.into(),
    }
    .into()
}

/// What a provider says of an error, in whichever form.
#[derive(Debug, Default)]
struct Said {
    message: String,
    /// Its `type`, `code` and `status`, as far as they are words.
    words: String,
    /// Its code, if that is a number.
    number: Option<u16>,
}

impl Said {
    fn of(body: &Value) -> Option<Said> {
        let body = match body {
            Value::Array(list) => list.first()?,
            other => other,
        };
        let is_error =
            |value: &Value| value.get("object").or(value.get("type")) == Some(&Value::from("error"));
        let error = match body.get("error") {
            None | Some(Value::Null | Value::Bool(false)) if is_error(body) => body,
            None | Some(Value::Null | Value::Bool(false)) => {
                return body.get("detail").map(|detail| Said {
                    message: plain(detail),
                    ..Said::default()
                });
            }
            Some(Value::String(text)) => {
                return Some(Said {
                    message: text.clone(),
                    words: body
                        .get("code")
                        .and_then(Value::as_str)
                        .unwrap_or_default()
                        .to_lowercase(),
                    number: None,
                });
            }
            Some(error) => error,
        };
        let words = ["type", "code", "status"]
            .map(|name| error.get(name).and_then(Value::as_str).unwrap_or_default());
        let number = ["code", "status"].iter().find_map(|name| {
            let value = error.get(*name)?;
            let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
            u16::try_from(number)
                .ok()
                .filter(|number| (400..600).contains(number))
        });
        Some(Said {
            message: error.get("message").map(plain).unwrap_or_default(),
            words: words.join(" ").to_lowercase(),
            number,
        })
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The error that an event or a whole body with status 200 is, if it is one.
pub(crate) fn in_reply(endpoint: &Endpoint, body: &Value) -> Option<Failure> {
    let body = body.get(0).unwrap_or(body);
    let marked = body
        .get("error")
        .is_some_and(|error| !error.is_null() && *error != Value::Bool(false))
        || body.get("object").or(body.get("type")) == Some(&Value::from("error"));
    marked.then(|| {
        let said = Said::of(body).unwrap_or_default();
        judge(endpoint, said.number, &said).into()
    })
}

/// The error that a status other than 200 is.
pub(crate) fn of_status(endpoint: &Endpoint, status: u16, body: &[u8], wait: Option<Duration>) -> Failure {
    let said = serde_json::from_slice::<Value>(body)
        .ok()
        .and_then(|body| Said::of(&body))
        .unwrap_or_else(|| Said {
            message: page_or_text(body),
            ..Said::default()
        });
    let mut failure = Failure::from(judge(endpoint, Some(status), &said));
    failure.wait = wait;
    if let Error::RateLimited { retry_after } = &mut failure.error {
        *retry_after = wait;
    }
    failure
}

/// A page for people is not repeated.
fn page_or_text(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    if text.trim_start().starts_with('<') {
        "a web page".to_owned()
    } else {
        text.into_owned()
    }
}

/// One line of what was said, short and without the key.
fn reason(endpoint: &Endpoint, status: Option<u16>, said: &Said) -> String {
    let text: String = said
        .message
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ");
    let mut text = scrub(&text, &endpoint.key);
    if text.chars().count() > MOST_SAID {
        text = text.chars().take(MOST_SAID).chain(['…']).collect();
    }
    if text.is_empty() {
        text = said.words.trim().to_owned();
    }
    match (status, text.is_empty()) {
        (Some(status), true) => format!("status {status}"),
        (Some(status), false) => format!("status {status}: {text}"),
        (None, true) => "it did not say why".to_owned(),
        (None, false) => text,
    }
}

/// Phrases by which providers say that a request is too long. They have no code in common.
const TOO_LONG: &[&str] = &[
    "context length",
    "context_length",
    "context window",
    "context size",
    "context limit",
    "maximum context",
    "prompt is too long",
    "input is too long",
    "too many tokens",
    "exceeds the maximum number of tokens",
    "exceed_context",
    "request_too_large",
    "reduce the length",
];

fn judge(endpoint: &Endpoint, status: Option<u16>, said: &Said) -> Error {
    let reason = || reason(endpoint, status, said);
    let says = |word: &str| said.words.contains(word);
    let message = said.message.to_lowercase();
    let too_long = TOO_LONG
        .iter()
        .any(|phrase| message.contains(phrase) || said.words.contains(phrase));
    if says("insufficient_quota") || says("billing") || status == Some(402) {
        return Error::Unauthorized { reason: reason() };
    }
    if status == Some(413) || (too_long && matches!(status, None | Some(400 | 422 | 500))) {
        return Error::ContextTooLong;
    }
    let unknown_model = || Error::InvalidRequest {
        reason: format!("there is no model `{}` there, {}", endpoint.model, reason()),
    };
    match status {
        Some(401 | 403) => Error::Unauthorized { reason: reason() },
        Some(404) => unknown_model(),
        Some(429) => Error::RateLimited { retry_after: None },
        Some(503 | 529) => Error::Overloaded,
        Some(408 | 409 | 425 | 500..) => Error::Server { reason: reason() },
        Some(300..=399) => Error::InvalidRequest {
            reason: format!("{}, another address; put it into the base URL", reason()),
        },
        _ if says("overloaded") || says("unavailable") => Error::Overloaded,
        _ if says("rate_limit") || says("resource_exhausted") => Error::RateLimited { retry_after: None },
        _ if says("authentication") || says("permission") || says("invalid_api_key") => {
            Error::Unauthorized { reason: reason() }
        }
        _ if says("model_not_found") || says("not_found_error") => unknown_model(),
        _ if says("content_filter") || says("content_policy") => Error::Refused { reason: reason() },
        Some(_) => Error::InvalidRequest { reason: reason() },
        None if says("invalid_request") => Error::InvalidRequest { reason: reason() },
        None => Error::Server { reason: reason() },
    }
}

#[cfg(test)]
mod tests;
