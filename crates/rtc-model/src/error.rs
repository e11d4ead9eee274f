//! Why a model gave no reply.

use std::time::Duration;

/// Why a model gave no (complete) reply. The text says what to do; programs branch on [`Error::code`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The provider declined to answer this request. The user can put it differently.
    #[error("the model declined to answer ({reason}); put the request differently, or choose another model")]
    Refused {
        /// What the provider gave as its reason.
        reason: String,
    },
    /// No connection to the provider. Time, or the user's network settings, can mend it.
    #[error("the model cannot be reached ({reason}); check the network and the base URL, then try again")]
    Unreachable {
        /// What failed, as the transport tells it.
        reason: String,
    },
    /// The key is missing, wrong, or not allowed to use this model. The user has to mend it.
    #[error("the model did not accept the key ({reason}); check the key of this model in the configuration")]
    Unauthorized {
        /// What the provider said.
        reason: String,
    },
    /// Too many requests for this key.
    #[error("the model's rate limit is reached{}; wait, or choose another model", after(*retry_after))]
    RateLimited {
        /// How long the provider asks us to wait, if it says so.
        retry_after: Option<Duration>,
    },
    /// The provider has no room for this request now.
    #[error("the model is overloaded; try again in a moment, or choose another model")]
    Overloaded,
    /// The provider's server failed at this request. Time may mend it.
    #[error("the model's server failed ({reason}); try again in a moment, or choose another model")]
    Server {
        /// What it said.
        reason: String,
    },
    /// The request has more tokens than the model takes. The engine compacts the conversation and asks again.
    #[error("the conversation is longer than this model can read; compact it, or begin a new session")]
    ContextTooLong,
    /// The provider does not understand the request: a fault of ours, or of the configuration.
    #[error("the model did not accept the request ({reason}); check that the configured model and API match")]
    InvalidRequest {
        /// What the provider found wrong.
        reason: String,
    },
    /// The reply broke off or made no sense.
    #[error("the model's reply broke off ({reason}); ask again")]
    Stream {
        /// Where and how.
        reason: String,
    },
    /// The caller cancelled the request.
    #[error("the request to the model was cancelled")]
    Cancelled,
}

impl Error {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Refused { .. } => "model.refused",
            Error::Unreachable { .. } => "model.unreachable",
            Error::Unauthorized { .. } => "model.unauthorized",
            Error::RateLimited { .. } => "model.rate_limited",
            Error::Overloaded => "model.overloaded",
            Error::Server { .. } => "model.server",
            Error::ContextTooLong => "model.context_too_long",
            Error::InvalidRequest { .. } => "model.invalid_request",
            Error::Stream { .. } => "model.stream",
            Error::Cancelled => "model.cancelled",
        }
    }

    /// Whether the very same request may succeed later, without anybody changing anything.
    pub fn retryable(&self) -> bool {
        match self {
            Error::Unreachable { .. }
            | Error::RateLimited { .. }
            | Error::Overloaded
            | Error::Server { .. }
            | Error::Stream { .. } => true,
            Error::Refused { .. }
            | Error::Unauthorized { .. }
            | Error::ContextTooLong
            | Error::InvalidRequest { .. }
            | Error::Cancelled => false,
        }
    }
}

fn after(wait: Option<Duration>) -> String {
    wait.map(|wait| format!(" for another {} s", wait.as_secs().max(1)))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_stable_and_only_passing_troubles_are_retried() {
        let reason = || "why".to_owned();
        let table = [
            (Error::Refused { reason: reason() }, "model.refused", false),
            (Error::Unreachable { reason: reason() }, "model.unreachable", true),
            (
                Error::Unauthorized { reason: reason() },
                "model.unauthorized",
                false,
            ),
            (
                Error::RateLimited { retry_after: None },
                "model.rate_limited",
                true,
            ),
            (Error::Overloaded, "model.overloaded", true),
            (Error::Server { reason: reason() }, "model.server", true),
            (Error::ContextTooLong, "model.context_too_long", false),
            (
                Error::InvalidRequest { reason: reason() },
                "model.invalid_request",
                false,
            ),
            (Error::Stream { reason: reason() }, "model.stream", true),
            (Error::Cancelled, "model.cancelled", false),
        ];
        for (error, code, retryable) in table {
            assert_eq!((error.code(), error.retryable()), (code, retryable), "{error}");
        }
    }

    #[test]
    fn the_text_says_what_to_do() {
        let waiting = Error::RateLimited {
            retry_after: Some(Duration::from_millis(300)),
        };
        insta::assert_snapshot!(waiting, @"the model's rate limit is reached for another 1 s; wait, or choose another model");
        let offline = Error::Unreachable {
            reason: "connection refused".to_owned(),
        };
        insta::assert_snapshot!(offline, @"the model cannot be reached (connection refused); check the network and the base URL, then try again");
    }
}
