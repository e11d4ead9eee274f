//! What a connection needs from around it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rtc_types::{Clock, DeviceId, UserId};
use rtc_wire::rpc::RpcError;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::Source;

/// The version of what is spoken inside of the frames; in the connect data of both sides.
pub const PROTOCOL: u32 = 1;

/// Names a connection, as long as it lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConnectionId(Uuid);

impl ConnectionId {
    /// Wraps a UUID.
    pub const fn new(uuid: Uuid) -> Self {
        Self(uuid)
    }

    /// The UUID.
    pub const fn uuid(self) -> Uuid {
        self.0
    }
}

impl fmt::Display for ConnectionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// What a token allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scope {
    /// To see sessions, and to subscribe to what happens.
    View,
    /// To send messages.
    Converse,
    /// To answer what waits for the user.
    Approve,
    /// To run the calls of the device's sessions.
    Execute,
    /// To offer tools.
    ServeTools,
}

impl Scope {
    /// Every scope.
    pub const ALL: &[Scope] = &[
        Scope::View,
        Scope::Converse,
        Scope::Approve,
        Scope::Execute,
        Scope::ServeTools,
    ];

    /// The scope as it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Scope::View => "view",
            Scope::Converse => "converse",
            Scope::Approve => "approve",
            Scope::Execute => "execute",
            Scope::ServeTools => "serve-tools",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A set of scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scopes(u8);

impl Scopes {
    /// Every scope.
    pub fn all() -> Self {
        Scope::ALL.iter().copied().collect()
    }

    /// Whether a scope is among them.
    pub const fn has(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }

    /// Those that are among them.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.iter().copied().filter(move |scope| self.has(*scope))
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |bits, scope| bits | scope.bit()))
    }
}

/// Who is at the other end of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The user.
    pub user: UserId,
    /// The device.
    pub device: DeviceId,
    /// What the token allows.
    pub scopes: Scopes,
    /// The connection.
    pub connection: ConnectionId,
    /// Whether the client shows calls that wait for an approval. To one that does not, they are not shown.
    pub approvals: bool,
}

/// What a valid token says.
#[derive(Debug, Clone)]
pub struct Claims {
    /// The user.
    pub user: UserId,
    /// The device.
    pub device: DeviceId,
    /// What it allows.
    pub scopes: Scopes,
    /// How much longer it is valid; nothing if for ever.
    pub expires_in: Option<Duration>,
    /// Cancelled when the token is revoked: its connections end at once.
    pub revoked: CancellationToken,
}

/// Why a token does not let anybody in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// It is none of ours.
    #[error("the token is not valid")]
    Invalid,
    /// It was valid; a new one is needed.
    #[error("the token has expired")]
    Expired,
    /// It was taken back.
    #[error("the token was revoked")]
    Revoked,
}

/// Knows tokens.
#[async_trait]
pub trait Authenticate: Send + Sync + 'static {
    /// What a token says. The empty token is that of a client which sent none.
    async fn authenticate(&self, token: &str) -> Result<Claims, Denied>;
}

/// Knows users.
#[async_trait]
pub trait Sources: Send + Sync + 'static {
    /// What a user's connections read; nothing if there is no such user any more.
    async fn source(&self, user: UserId) -> Option<Arc<dyn Source>>;
}

/// The methods that clients call.
#[async_trait]
pub trait Rpc: Send + Sync + 'static {
    /// Calls a method. Dropping the future, which the end of the connection does, must do no harm. A panic is an error
    /// of this call only.
    async fn call(&self, caller: &Caller, method: &str, data: Value) -> Result<Value, RpcError>;
}

/// Everything that a connection needs. Cheap to clone.
#[derive(Clone)]
pub struct Services {
    /// Knows tokens.
    pub authenticate: Arc<dyn Authenticate>,
    /// Knows users.
    pub sources: Arc<dyn Sources>,
    /// The methods that clients call.
    pub rpc: Arc<dyn Rpc>,
    /// Makes the ids of connections.
    pub clock: Arc<dyn Clock>,
    /// What clients are told as the server's version.
    pub version: Arc<str>,
    /// What clients are told that this program can do.
    pub capabilities: Arc<[String]>,
    /// Cancelled when the program ends: every connection is closed so that its client comes back.
    pub shutdown: CancellationToken,
}
