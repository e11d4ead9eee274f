//! What the server sends.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::one_of::{Entry, one_of, only};
use super::push::{ClientInfo, Publication};
use super::{Push, ReplyError, is_default};

/// One object of a server's frame.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// `{}`: the server wants to know whether the client lives.
    Ping,
    /// What a command led to.
    Result {
        /// The command's id.
        id: u32,
        /// What.
        outcome: Outcome,
    },
    /// Why a command failed.
    Error {
        /// The command's id.
        id: u32,
        /// Why.
        error: ReplyError,
    },
    /// What nobody asked for.
    Push(Push),
}

one_of! {
    /// What a command led to: the variant is the one of its method.
    Outcome {
        /// The connection has begun.
        Connect(Box<ConnectResult>) = "connect",
        /// The channel is subscribed.
        Subscribe(Box<SubscribeResult>) = "subscribe",
        /// It is no more.
        Unsubscribe(UnsubscribeResult) = "unsubscribe",
        /// It is published.
        Publish(PublishResult) = "publish",
        /// Who is subscribed.
        Presence(PresenceResult) = "presence",
        /// How many are.
        PresenceStats(PresenceStatsResult) = "presence_stats",
        /// What was published.
        History(HistoryResult) = "history",
        /// The server lives.
        Ping(PingResult) = "ping",
        /// What the application's method gave.
        Rpc(RpcResult) = "rpc",
        /// The new token is taken.
        Refresh(RefreshResult) = "refresh",
        /// The subscription's new token is taken.
        SubRefresh(SubRefreshResult) = "sub_refresh",
    }
}

impl Serialize for Reply {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::Ping => {}
            Self::Result { id, outcome } => {
                map.serialize_entry("id", id)?;
                outcome.write_entry(&mut map)?;
            }
            Self::Error { id, error } => {
                map.serialize_entry("id", id)?;
                map.serialize_entry("error", error)?;
            }
            Self::Push(push) => map.serialize_entry("push", push)?,
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Reply {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ReplyVisitor)
    }
}

struct ReplyVisitor;

impl<'de> Visitor<'de> for ReplyVisitor {
    type Value = Reply;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a reply: an object with an id and a result or an error, or with a push")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Reply, A::Error> {
        let mut id = 0;
        let (mut outcome, mut error, mut push) = (None, None, None);
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "id" => id = map.next_value::<Option<u32>>()?.unwrap_or(0),
                "error" => error = map.next_value::<Option<ReplyError>>()?,
                "push" => push = map.next_value::<Option<Push>>()?,
                name => match Outcome::read_entry(name, &mut map)? {
                    Entry::Value(value) => only(&mut outcome, value, "result")?,
                    Entry::Null => {}
                    Entry::Foreign => drop(map.next_value::<IgnoredAny>()?),
                },
            }
        }
        match (id, outcome, error, push) {
            (0, None, None, None) => Ok(Reply::Ping),
            (0, None, None, Some(push)) => Ok(Reply::Push(push)),
            (id @ 1.., None, Some(error), None) => Ok(Reply::Error { id, error }),
            (id @ 1.., Some(outcome), None, None) => Ok(Reply::Result { id, outcome }),
            _ => Err(A::Error::custom("neither a push nor the answer to one command")),
        }
    }
}

/// See [`Outcome::Connect`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectResult {
    /// The connection's id.
    pub client: String,
    /// The server's version.
    #[serde(skip_serializing_if = "is_default")]
    pub version: String,
    /// Whether the connection ends by time, unless it is refreshed.
    #[serde(skip_serializing_if = "is_default")]
    pub expires: bool,
    /// After how many seconds.
    #[serde(skip_serializing_if = "is_default")]
    pub ttl: u32,
    /// What the application says about the connection.
    #[serde(skip_serializing_if = "is_default")]
    pub data: Value,
    /// Subscriptions of the server's making.
    #[serde(skip_serializing_if = "is_default")]
    pub subs: BTreeMap<String, SubscribeResult>,
    /// How often the server pings, in seconds.
    #[serde(skip_serializing_if = "is_default")]
    pub ping: u32,
    /// Whether it wants a pong.
    #[serde(skip_serializing_if = "is_default")]
    pub pong: bool,
    /// The session of an emulated transport.
    #[serde(skip_serializing_if = "is_default")]
    pub session: String,
    /// The server's node.
    #[serde(skip_serializing_if = "is_default")]
    pub node: String,
    /// The server's time, in milliseconds since 1970.
    #[serde(skip_serializing_if = "is_default")]
    pub time: i64,
}

/// See [`Outcome::Subscribe`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SubscribeResult {
    /// Whether the subscription ends by time, unless it is refreshed.
    #[serde(skip_serializing_if = "is_default")]
    pub expires: bool,
    /// After how many seconds.
    #[serde(skip_serializing_if = "is_default")]
    pub ttl: u32,
    /// Whether the client may recover later.
    #[serde(skip_serializing_if = "is_default")]
    pub recoverable: bool,
    /// The stream's epoch.
    #[serde(skip_serializing_if = "is_default")]
    pub epoch: String,
    /// What the client missed.
    #[serde(skip_serializing_if = "is_default")]
    pub publications: Vec<Publication>,
    /// Whether that is everything that it missed.
    #[serde(skip_serializing_if = "is_default")]
    pub recovered: bool,
    /// Where the client stands before it takes `publications`: the position that it recovers from, else the stream's.
    #[serde(skip_serializing_if = "is_default")]
    pub offset: u64,
    /// Whether the position is checked.
    #[serde(skip_serializing_if = "is_default")]
    pub positioned: bool,
    /// What the application says about the subscription.
    #[serde(skip_serializing_if = "is_default")]
    pub data: Value,
    /// Whether the client asked to recover.
    #[serde(skip_serializing_if = "is_default")]
    pub was_recovering: bool,
    /// Whether publications are shortened to differences.
    #[serde(skip_serializing_if = "is_default")]
    pub delta: bool,
    /// A number that stands for the channel in pushes; 0 if none does.
    #[serde(skip_serializing_if = "is_default")]
    pub id: i64,
}

/// See [`Outcome::History`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HistoryResult {
    /// The entries asked for.
    #[serde(skip_serializing_if = "is_default")]
    pub publications: Vec<Publication>,
    /// The stream's epoch.
    #[serde(skip_serializing_if = "is_default")]
    pub epoch: String,
    /// The stream's last offset.
    #[serde(skip_serializing_if = "is_default")]
    pub offset: u64,
}

macro_rules! results {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty),* })+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct $name {
            $($(#[$field_doc])* #[serde(skip_serializing_if = "is_default")] pub $field: $type),*
        }
    )+};
}

results! {
    /// See [`Outcome::Unsubscribe`].
    UnsubscribeResult {}
    /// See [`Outcome::Publish`].
    PublishResult {}
    /// See [`Outcome::Presence`].
    PresenceResult {
        /// Who is subscribed, by the connection's id.
        presence: BTreeMap<String, ClientInfo>
    }
    /// See [`Outcome::PresenceStats`].
    PresenceStatsResult {
        /// How many connections.
        num_clients: u32,
        /// How many users.
        num_users: u32
    }
    /// See [`Outcome::Ping`].
    PingResult {}
    /// See [`Outcome::Rpc`].
    RpcResult {
        /// What the method gave.
        data: Value
    }
    /// See [`Outcome::Refresh`].
    RefreshResult {
        /// The connection's id.
        client: String,
        /// The server's version.
        version: String,
        /// Whether the connection ends by time.
        expires: bool,
        /// After how many seconds.
        ttl: u32
    }
    /// See [`Outcome::SubRefresh`].
    SubRefreshResult {
        /// Whether the subscription ends by time.
        expires: bool,
        /// After how many seconds.
        ttl: u32
    }
}
