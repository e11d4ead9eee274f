//! What the server tells without being asked.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::is_default;
use super::one_of::{Entry, one_of, only};
use super::reply::SubscribeResult;

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Push {
    /// In which channel; empty where it concerns the connection.
    pub channel: String,
    /// What.
    pub event: PushEvent,
}

one_of! {
    /// What happened.
    PushEvent {
        /// Something was published in the channel.
        Publication(Publication) = "pub",
        /// A client subscribed to the channel.
        Join(Join) = "join",
        /// A client left the channel.
        Leave(Leave) = "leave",
        /// The server ends the subscription.
        Unsubscribe(UnsubscribePush) = "unsubscribe",
        /// The server tells the client something outside of channels.
        Message(MessagePush) = "message",
        /// The server subscribes the client.
        Subscribe(SubscribePush) = "subscribe",
        /// The server connects the client, where the transport cannot be asked to.
        Connect(Box<ConnectPush>) = "connect",
        /// The server ends the connection.
        Disconnect(DisconnectPush) = "disconnect",
        /// The server changes how long the connection lasts.
        Refresh(RefreshPush) = "refresh",
    }
}

impl Serialize for Push {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if !self.channel.is_empty() {
            map.serialize_entry("channel", &self.channel)?;
        }
        self.event.write_entry(&mut map)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Push {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PushVisitor)
    }
}

struct PushVisitor;

impl<'de> Visitor<'de> for PushVisitor {
    type Value = Push;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a push: an object with a channel and one event")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Push, A::Error> {
        let mut channel = String::new();
        let mut event = None;
        while let Some(name) = map.next_key::<String>()? {
            if name == "channel" {
                channel = map.next_value()?;
                continue;
            }
            match PushEvent::read_entry(&name, &mut map)? {
                Entry::Value(value) => only(&mut event, value, "event")?,
                Entry::Null => {}
                Entry::Foreign => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let event = event.ok_or_else(|| A::Error::custom("a push without an event"))?;
        Ok(Push { channel, event })
    }
}

/// One entry of a channel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Publication {
    /// Its place in the stream; 0 where the channel has none.
    #[serde(skip_serializing_if = "is_default")]
    pub offset: u64,
    /// What was published.
    pub data: Value,
    /// Who published it, if a client did.
    #[serde(skip_serializing_if = "is_default")]
    pub info: Option<Box<ClientInfo>>,
    /// By which subscribers may choose.
    #[serde(skip_serializing_if = "is_default")]
    pub tags: BTreeMap<String, String>,
    /// Whether `data` is the difference to the last one.
    #[serde(skip_serializing_if = "is_default")]
    pub delta: bool,
    /// When, in milliseconds since 1970.
    #[serde(skip_serializing_if = "is_default")]
    pub time: i64,
    /// The channel, where it is not told otherwise.
    #[serde(skip_serializing_if = "is_default")]
    pub channel: String,
}

/// Tells of a connection.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClientInfo {
    /// Its user.
    pub user: String,
    /// Its id.
    pub client: String,
    /// What is known of the connection.
    #[serde(skip_serializing_if = "is_default")]
    pub conn_info: Value,
    /// What is known of its subscription.
    #[serde(skip_serializing_if = "is_default")]
    pub chan_info: Value,
}

/// See [`PushEvent::Join`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Join {
    /// Who.
    pub info: ClientInfo,
}

/// See [`PushEvent::Leave`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Leave {
    /// Who.
    pub info: ClientInfo,
}

/// See [`PushEvent::Unsubscribe`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UnsubscribePush {
    /// A number of [`UnsubscribeCode`](super::UnsubscribeCode).
    pub code: u32,
    /// In words.
    pub reason: String,
}

/// See [`PushEvent::Message`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MessagePush {
    /// What is told.
    pub data: Value,
}

/// See [`PushEvent::Subscribe`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SubscribePush {
    /// Whether the client may recover later.
    #[serde(skip_serializing_if = "is_default")]
    pub recoverable: bool,
    /// The stream's epoch.
    #[serde(skip_serializing_if = "is_default")]
    pub epoch: String,
    /// The stream's last offset.
    #[serde(skip_serializing_if = "is_default")]
    pub offset: u64,
    /// Whether the position is checked.
    #[serde(skip_serializing_if = "is_default")]
    pub positioned: bool,
    /// What the application says about the subscription.
    #[serde(skip_serializing_if = "is_default")]
    pub data: Value,
}

/// See [`PushEvent::Connect`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectPush {
    /// The connection's id.
    pub client: String,
    /// The server's version.
    #[serde(skip_serializing_if = "is_default")]
    pub version: String,
    /// What the application says about the connection.
    #[serde(skip_serializing_if = "is_default")]
    pub data: Value,
    /// Subscriptions of the server's making.
    #[serde(skip_serializing_if = "is_default")]
    pub subs: BTreeMap<String, SubscribeResult>,
    /// Whether the connection ends by time.
    #[serde(skip_serializing_if = "is_default")]
    pub expires: bool,
    /// After how many seconds.
    #[serde(skip_serializing_if = "is_default")]
    pub ttl: u32,
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

/// See [`PushEvent::Disconnect`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DisconnectPush {
    /// A number of [`DisconnectCode`](super::DisconnectCode).
    pub code: u32,
    /// In words.
    pub reason: String,
    /// Whether the client should connect again.
    #[serde(skip_serializing_if = "is_default")]
    pub reconnect: bool,
}

/// See [`PushEvent::Refresh`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RefreshPush {
    /// Whether the connection ends by time.
    #[serde(skip_serializing_if = "is_default")]
    pub expires: bool,
    /// After how many seconds.
    #[serde(skip_serializing_if = "is_default")]
    pub ttl: u32,
}
