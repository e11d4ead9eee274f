//! Fields whose form is more than their type: bounded texts and numbers, and what counts as absent.

use std::fmt;

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

/// A text of 1 to `MAX` bytes that is more than white space.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Text<const MAX: usize>(String);

impl<const MAX: usize> Text<MAX> {
    /// Checks a text; the error says what is wrong with it.
    pub fn new(text: impl Into<String>) -> Result<Self, String> {
        let text = text.into();
        if text.trim().is_empty() {
            return Err("it is empty".to_owned());
        }
        too_long(&text, MAX)?;
        Ok(Self(text))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, owned.
    pub fn into_string(self) -> String {
        self.0
    }
}

/// An error that says how much a text is too long.
pub(super) fn too_long(text: &str, max: usize) -> Result<(), String> {
    match text.len() {
        length if length > max => Err(format!("it has {length} bytes, and {max} are the most")),
        _ => Ok(()),
    }
}

impl<'de, const MAX: usize> Deserialize<'de> for Text<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl<const MAX: usize> schemars::JsonSchema for Text<MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Text_{MAX}").into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "minLength": 1, "maxLength": MAX })
    }
}

/// How many: `DEFAULT` where the request does not say, else what it says, drawn into 1 to `MAX`.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Bounded<const DEFAULT: u32, const MAX: u32>(u32);

impl<const DEFAULT: u32, const MAX: u32> Bounded<DEFAULT, MAX> {
    /// As many, drawn into the bounds.
    pub fn new(count: u64) -> Self {
        Self(u32::try_from(count).unwrap_or(MAX).clamp(1, MAX))
    }

    /// How many.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl<const DEFAULT: u32, const MAX: u32> Default for Bounded<DEFAULT, MAX> {
    fn default() -> Self {
        Self(DEFAULT)
    }
}

impl<const DEFAULT: u32, const MAX: u32> fmt::Debug for Bounded<DEFAULT, MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de, const DEFAULT: u32, const MAX: u32> Deserialize<'de> for Bounded<DEFAULT, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::<u64>::deserialize(deserializer)?.map_or_else(Self::default, Self::new))
    }
}

#[cfg(feature = "schema")]
impl<const DEFAULT: u32, const MAX: u32> schemars::JsonSchema for Bounded<DEFAULT, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Bounded_{DEFAULT}_{MAX}").into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        // No `maximum`: more is not wrong, it is only not given.
        schemars::json_schema!({
            "type": ["integer", "null"],
            "minimum": 0,
            "default": DEFAULT,
            "x-most": MAX,
        })
    }
}

/// The offset of the last entry of the page before: a number, also accepted as decimal text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct OffsetCursor(u32);

impl OffsetCursor {
    /// The page after this offset.
    pub const fn new(offset: u32) -> Self {
        Self(offset)
    }

    /// The offset.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl<'de> Deserialize<'de> for OffsetCursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "it is not the offset of an entry, a whole number")]
        enum Written {
            Number(u32),
            Text(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Number(offset) => Ok(Self(offset)),
            Written::Text(text) => text
                .parse()
                .map(Self)
                .map_err(|_| D::Error::custom("it is not the offset of an entry, a whole number")),
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for OffsetCursor {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "OffsetCursor".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "integer", "minimum": 0, "maximum": u32::MAX })
    }
}

/// An optional field for which an empty text counts as absent, as null does.
pub(super) mod empty_is_none {
    use super::*;

    pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
    where
        T: serde::de::DeserializeOwned,
        D: Deserializer<'de>,
    {
        let value = match Value::deserialize(deserializer)? {
            Value::Null => return Ok(None),
            Value::String(text) if text.is_empty() => return Ok(None),
            value => value,
        };
        T::deserialize(value).map(Some).map_err(D::Error::custom)
    }
}

/// A field that is written as an empty text where it has no value.
pub(super) mod none_is_empty {
    use super::*;

    pub(crate) use super::empty_is_none::deserialize;

    pub(crate) fn serialize<T: Serialize, S: Serializer>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => value.serialize(serializer),
            None => serializer.serialize_str(""),
        }
    }
}

/// A field that takes null for its default.
pub(super) fn null_is_default<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Default + Deserialize<'de>,
    D: Deserializer<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
