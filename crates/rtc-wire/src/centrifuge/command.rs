//! What a client sends.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::frame::NESTING;
use super::is_default;
use super::one_of::{Entry, one_of, only};

/// How much of an unknown method's name is kept, in characters.
pub const UNKNOWN_NAME_CHARS: usize = 64;

/// The bit of [`SubscribeRequest::flag`] that asks for an error instead of a subscription that is not recovered.
pub const REJECT_UNRECOVERED: i64 = 2;

/// One object of a client's frame.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// `{}`: the answer to a ping.
    Pong,
    /// Something to do.
    Call {
        /// By which the reply is matched; 0 only for [`Method::Send`], which has no reply.
        id: u32,
        /// What.
        method: Method,
    },
    /// Something to do that the protocol did not have when this was written.
    Unknown {
        /// By which the reply is matched.
        id: u32,
        /// The method's name, at most [`UNKNOWN_NAME_CHARS`] of it; empty if there was none.
        name: String,
    },
    /// A call of a method with parameters that are nested deeper than [`NESTING`](super::NESTING); they are not kept.
    TooDeep {
        /// By which the reply is matched; never 0.
        id: u32,
        /// The method, at most [`UNKNOWN_NAME_CHARS`] of it.
        method: String,
    },
}

one_of! {
    /// What a command wants.
    Method {
        /// To begin: always the first command of a connection.
        Connect(Box<ConnectRequest>) = "connect",
        /// To get what is published in a channel.
        Subscribe(Box<SubscribeRequest>) = "subscribe",
        /// To get it no more.
        Unsubscribe(UnsubscribeRequest) = "unsubscribe",
        /// To publish in a channel.
        Publish(PublishRequest) = "publish",
        /// To know who is subscribed.
        Presence(PresenceRequest) = "presence",
        /// To know how many are.
        PresenceStats(PresenceStatsRequest) = "presence_stats",
        /// To read what was published.
        History(HistoryRequest) = "history",
        /// To know whether the other side lives.
        Ping(PingRequest) = "ping",
        /// To tell something without wanting a reply.
        Send(SendRequest) = "send",
        /// To call a method of the application.
        Rpc(RpcRequest) = "rpc",
        /// To go on with a new token.
        Refresh(RefreshRequest) = "refresh",
        /// To go on with a new token of a subscription.
        SubRefresh(SubRefreshRequest) = "sub_refresh",
    }
}

impl Serialize for Command {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::Pong => {}
            Self::Call { id, method } => {
                if *id != 0 {
                    map.serialize_entry("id", id)?;
                }
                method.write_entry(&mut map)?;
            }
            Self::Unknown { id, name } => {
                if *id != 0 {
                    map.serialize_entry("id", id)?;
                }
                map.serialize_entry(name, &BTreeMap::<String, ()>::new())?;
            }
            Self::TooDeep { id, method } => {
                map.serialize_entry("id", id)?;
                // Something as deep stands for what was not kept.
                let deep = (0..NESTING).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
                let data = serde_json::json!({"method": method, "data": deep});
                map.serialize_entry("rpc", &data)?;
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Command {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(CommandVisitor)
    }
}

struct CommandVisitor;

impl<'de> Visitor<'de> for CommandVisitor {
    type Value = Command;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a command: an object with an id and one method")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Command, A::Error> {
        let mut id = 0;
        let mut method = None;
        let mut foreign = None;
        while let Some(name) = map.next_key::<String>()? {
            if name == "id" {
                id = map.next_value::<Option<u32>>()?.unwrap_or(0);
                continue;
            }
            match Method::read_entry(&name, &mut map)? {
                Entry::Value(value) => only(&mut method, value, "method")?,
                Entry::Null => {}
                Entry::Foreign => {
                    map.next_value::<IgnoredAny>()?;
                    foreign.get_or_insert_with(|| name.chars().take(UNKNOWN_NAME_CHARS).collect());
                }
            }
        }
        Ok(match (method, foreign) {
            (Some(method), _) => Command::Call { id, method },
            (None, None) if id == 0 => Command::Pong,
            (None, foreign) => Command::Unknown {
                id,
                name: foreign.unwrap_or_default(),
            },
        })
    }
}

/// See [`Method::Connect`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectRequest {
    /// Who connects.
    #[serde(skip_serializing_if = "is_default")]
    pub token: String,
    /// What the application's client says about itself.
    #[serde(skip_serializing_if = "is_default")]
    pub data: Value,
    /// Subscriptions of the server's making, to be recovered.
    #[serde(skip_serializing_if = "is_default")]
    pub subs: BTreeMap<String, SubscribeRequest>,
    /// The client's name.
    #[serde(skip_serializing_if = "is_default")]
    pub name: String,
    /// The client's version.
    #[serde(skip_serializing_if = "is_default")]
    pub version: String,
    /// What stands for HTTP headers where a client cannot set them.
    #[serde(skip_serializing_if = "is_default")]
    pub headers: BTreeMap<String, String>,
    /// Bits that switch features on.
    #[serde(skip_serializing_if = "is_default")]
    pub flag: i64,
}

/// See [`Method::Subscribe`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SubscribeRequest {
    /// Which channel.
    #[serde(skip_serializing_if = "is_default")]
    pub channel: String,
    /// The right to subscribe, where the connection alone does not give it.
    #[serde(skip_serializing_if = "is_default")]
    pub token: String,
    /// Whether the client goes on from a position.
    #[serde(skip_serializing_if = "is_default")]
    pub recover: bool,
    /// The epoch of that position.
    #[serde(skip_serializing_if = "is_default")]
    pub epoch: String,
    /// The last offset that the client has.
    #[serde(skip_serializing_if = "is_default")]
    pub offset: u64,
    /// What the application's client says about the subscription.
    #[serde(skip_serializing_if = "is_default")]
    pub data: Value,
    /// Whether the client wants to be told when it missed something.
    #[serde(skip_serializing_if = "is_default")]
    pub positioned: bool,
    /// Whether the client wants to recover later.
    #[serde(skip_serializing_if = "is_default")]
    pub recoverable: bool,
    /// Whether the client wants to know who joins and leaves.
    #[serde(skip_serializing_if = "is_default")]
    pub join_leave: bool,
    /// How publications may be shortened to differences.
    #[serde(skip_serializing_if = "is_default")]
    pub delta: String,
    /// Which publications, by their tags.
    #[serde(skip_serializing_if = "is_default")]
    pub tf: Option<FilterNode>,
    /// Bits that switch features on, [`REJECT_UNRECOVERED`] among them.
    #[serde(skip_serializing_if = "is_default")]
    pub flag: i64,
}

/// A condition on the tags of a publication.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FilterNode {
    /// How `nodes` are joined; empty for a comparison.
    #[serde(skip_serializing_if = "is_default")]
    pub op: String,
    /// The tag that is compared.
    #[serde(skip_serializing_if = "is_default")]
    pub key: String,
    /// How it is compared.
    #[serde(skip_serializing_if = "is_default")]
    pub cmp: String,
    /// With what.
    #[serde(skip_serializing_if = "is_default")]
    pub val: String,
    /// With any of what.
    #[serde(skip_serializing_if = "is_default")]
    pub vals: Vec<String>,
    /// The conditions that are joined.
    #[serde(skip_serializing_if = "is_default")]
    pub nodes: Vec<FilterNode>,
}

/// A place in a channel's stream.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamPosition {
    /// The last offset.
    #[serde(skip_serializing_if = "is_default")]
    pub offset: u64,
    /// Which life of the stream it belongs to.
    #[serde(skip_serializing_if = "is_default")]
    pub epoch: String,
}

/// See [`Method::History`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HistoryRequest {
    /// Which channel.
    #[serde(skip_serializing_if = "is_default")]
    pub channel: String,
    /// How many at most; 0 asks for the position only, a negative number for as many as may be.
    #[serde(skip_serializing_if = "is_default")]
    pub limit: i32,
    /// From where, exclusively.
    #[serde(skip_serializing_if = "is_default")]
    pub since: Option<StreamPosition>,
    /// Whether the newest comes first.
    #[serde(skip_serializing_if = "is_default")]
    pub reverse: bool,
}

macro_rules! requests {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty),* })+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct $name {
            $($(#[$field_doc])* #[serde(skip_serializing_if = "is_default")] pub $field: $type),*
        }
    )+};
}

requests! {
    /// See [`Method::Unsubscribe`].
    UnsubscribeRequest {
        /// Which channel.
        channel: String
    }
    /// See [`Method::Publish`].
    PublishRequest {
        /// Where.
        channel: String,
        /// What.
        data: Value
    }
    /// See [`Method::Presence`].
    PresenceRequest {
        /// Which channel.
        channel: String
    }
    /// See [`Method::PresenceStats`].
    PresenceStatsRequest {
        /// Which channel.
        channel: String
    }
    /// See [`Method::Ping`].
    PingRequest {}
    /// See [`Method::Send`].
    SendRequest {
        /// What is told.
        data: Value
    }
    /// See [`Method::Rpc`].
    RpcRequest {
        /// Which method of the application.
        method: String,
        /// Its parameters.
        data: Value
    }
    /// See [`Method::Refresh`].
    RefreshRequest {
        /// The new token.
        token: String
    }
    /// See [`Method::SubRefresh`].
    SubRefreshRequest {
        /// Which channel.
        channel: String,
        /// The new token.
        token: String
    }
}
