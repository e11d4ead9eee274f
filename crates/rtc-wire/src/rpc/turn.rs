//! `v1.turn.*`

use rtc_types::{SessionId, TurnId};
use serde::{Deserialize, Serialize};

use super::field::empty_is_none;
use super::{Bounded, MAX_PAGE, PAGE};

/// What `v1.turn.list` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnList {
    /// The session.
    pub session_id: SessionId,
    /// The last turn of the page before.
    #[serde(
        default,
        deserialize_with = "empty_is_none::deserialize",
        skip_serializing_if = "Option::is_none"
    )]
    pub cursor: Option<TurnId>,
    /// How many turns to give.
    #[serde(default)]
    pub limit: Bounded<PAGE, MAX_PAGE>,
}

/// What `v1.turn.get` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnGet {
    /// The turn.
    pub turn_id: TurnId,
}

/// What `v1.turn.stop` is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnStop {
    /// The session whose turn is to stop.
    pub session_id: SessionId,
}
