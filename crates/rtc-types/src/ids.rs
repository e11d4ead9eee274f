//! Identifiers. Each is a type of its own, so that no bare string or number crosses a function boundary as an id.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Why a text is not an id of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a valid {kind}: {reason}")]
pub struct IdError {
    kind: &'static str,
    text: String,
    reason: &'static str,
}

macro_rules! uuid_ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// Wraps a UUID.
            pub const fn new(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// The 16 bytes of the id; their order is the order of the ids.
            pub fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }

            /// The id's UUID.
            pub const fn uuid(&self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                Uuid::parse_str(text).map(Self).map_err(|_| IdError {
                    kind: stringify!($name),
                    text: text.chars().take(80).collect(),
                    reason: "it is not a UUID",
                })
            }
        }
    )+};
}

uuid_ids! {
    /// The owner of sessions and of one topic stream.
    UserId,
    /// One installation; a session's calls run on the device that created it.
    DeviceId,
    /// A conversation.
    SessionId,
    /// One request of the user and everything done for it.
    TurnId,
    /// A message of a session.
    MessageId,
    /// A remote tool call.
    RtcId,
    /// A folder that the user opened.
    ProjectId,
    /// An entry of the user's stream.
    UpdateId,
    /// A permission rule.
    RuleId,
}

macro_rules! text_ids {
    ($($(#[$doc:meta])* $name:ident <= $max:literal),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(transparent)]
        pub struct $name(#[cfg_attr(feature = "schema", schemars(length(min = 1, max = $max)))] String);

        impl $name {
            #[doc = concat!("Checks a text: 1 to ", stringify!($max), " bytes.")]
            pub fn new(text: impl Into<String>) -> Result<Self, IdError> {
                let text = text.into();
                let reason = if text.is_empty() {
                    "it is empty"
                } else if text.len() > $max {
                    concat!("it is longer than ", stringify!($max), " bytes")
                } else {
                    return Ok(Self(text));
                };
                Err(IdError { kind: stringify!($name), text: text.chars().take(80).collect(), reason })
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::new(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:?})"), self.0)
            }
        }
    )+};
}

text_ids! {
    /// An id that a client made, for idempotency: the same id names the same record.
    ClientId <= 256,
    /// The id by which a model pairs a call with its result. Not always a UUID.
    ToolCallId <= 1024,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_id_is_checked_also_when_it_arrives_as_json() {
        assert!(serde_json::from_str::<ClientId>("\"c-1\"").is_ok());
        for bad in ["\"\"".to_owned(), format!("\"{}\"", "x".repeat(257))] {
            assert!(serde_json::from_str::<ClientId>(&bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_bad_id_is_named_in_the_error() {
        let error = "nonsense".parse::<SessionId>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`nonsense` is not a valid SessionId: it is not a UUID"
        );
    }
}
