//! Numbers that the protocol gives to errors, to the end of a subscription and to the end of a connection.

use rtc_types::Code;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::is_default;

macro_rules! numbers {
    (
        $(#[$doc:meta])* $name:ident: $number:ty {
            $($(#[$variant_doc:meta])* $variant:ident = $value:literal, $text:literal;)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant),+
        }

        impl $name {
            /// Every one.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The number on the wire.
            pub const fn number(self) -> $number {
                match self {
                    $(Self::$variant => $value),+
                }
            }

            /// What a client is told in words.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$variant => $text),+
                }
            }

            /// The one with this number.
            pub fn from_number(number: $number) -> Option<Self> {
                Self::ALL.iter().copied().find(|code| code.number() == number)
            }
        }
    };
}

numbers! {
    /// Why a command failed, by the protocol's own numbers.
    ErrorCode: u32 {
        /// A fault of ours. May be tried again.
        Internal = 100, "internal server error";
        /// The connection may not do this at all.
        Unauthorized = 101, "unauthorized";
        /// There is no channel of this kind.
        UnknownChannel = 102, "unknown channel";
        /// The channel or the method is not for this user.
        PermissionDenied = 103, "permission denied";
        /// There is no such method.
        MethodNotFound = 104, "method not found";
        /// The connection has this subscription already.
        AlreadySubscribed = 105, "already subscribed";
        /// More than is allowed.
        LimitExceeded = 106, "limit exceeded";
        /// A field is missing or wrong.
        BadRequest = 107, "bad request";
        /// This is not offered.
        NotAvailable = 108, "not available";
        /// The token is too old; the client gets a new one and tries again.
        TokenExpired = 109, "token expired";
        /// What the command was about has ended by time.
        Expired = 110, "expired";
        /// Too often. May be tried again later.
        TooManyRequests = 111, "too many requests";
        /// From this position the stream cannot be continued.
        UnrecoverablePosition = 112, "unrecoverable position";
    }
}

impl ErrorCode {
    /// Whether the same command may succeed when it is sent again.
    pub const fn is_temporary(self) -> bool {
        matches!(self, Self::Internal | Self::TooManyRequests)
    }
}

numbers! {
    /// Why a connection is closed. The client connects again, unless the number is in the range that ends it.
    DisconnectCode: u16 {
        /// A frame is larger than may be sent: the WebSocket's own number. Ends the client.
        MessageSizeLimit = 1009, "message size limit exceeded";
        /// Closed without an error.
        ConnectionClosed = 3000, "connection closed";
        /// The program ends.
        Shutdown = 3001, "shutdown";
        /// A fault of ours.
        ServerError = 3004, "internal server error";
        /// The token is too old: the client connects again and is then told to get a new one.
        Expired = 3005, "connection expired";
        /// A subscription's token is too old.
        SubExpired = 3006, "subscription expired";
        /// The client does not take what is sent to it fast enough.
        Slow = 3008, "slow";
        /// The socket does not take what is written.
        WriteError = 3009, "write error";
        /// What the connection knows of a stream is not enough to go on.
        InsufficientState = 3010, "insufficient state";
        /// Connect again, for whatever reason.
        ForceReconnect = 3011, "force reconnect";
        /// A ping was not answered.
        NoPong = 3012, "no pong";
        /// Too often.
        TooManyRequests = 3013, "too many requests";
        /// What the client has cached, its token included, is not valid any more.
        StateInvalidated = 3014, "state invalidated";
        /// The token is not valid and never will be. Ends the client.
        InvalidToken = 3500, "invalid token";
        /// The client does not keep the protocol. Ends the client.
        BadRequest = 3501, "bad request";
        /// The client did not connect in time. Ends the client.
        Stale = 3502, "stale";
        /// Ends the client, for whatever reason.
        ForceNoReconnect = 3503, "force disconnect";
        /// Too many connections. Ends the client.
        ConnectionLimit = 3504, "connection limit";
        /// Too many subscriptions. Ends the client.
        ChannelLimit = 3505, "channel limit";
        /// The other encoding of the protocol. Ends the client.
        InappropriateProtocol = 3506, "inappropriate protocol";
        /// The user may not connect. Ends the client.
        PermissionDenied = 3507, "permission denied";
        /// The client asked for what is not offered. Ends the client.
        NotAvailable = 3508, "not available";
        /// Too many errors. Ends the client.
        TooManyErrors = 3509, "too many errors";
    }
}

impl DisconnectCode {
    /// Whether a client connects again by itself after this.
    pub const fn reconnects(self) -> bool {
        matches!(self.number(), 3000..3500)
    }
}

numbers! {
    /// Why a subscription is ended by the server. From 2500 on the client subscribes again.
    UnsubscribeCode: u32 {
        /// Ended for good.
        Server = 2000, "server unsubscribe";
        /// The stream cannot be continued for this subscription.
        Insufficient = 2500, "insufficient state";
        /// By time.
        Expired = 2501, "expired";
        /// What the client has cached of the channel is not valid any more.
        StateInvalidated = 2502, "state invalidated";
    }
}

/// The number of every error that has a code of our own: its message begins with that [`Code`].
pub const APPLICATION_ERROR: u32 = 500;

/// Between message and details of an error of our own.
const DETAILS: char = '\n';

/// Why a command failed, as it stands in the reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyError {
    /// An [`ErrorCode`]'s number, or [`APPLICATION_ERROR`].
    pub code: u32,
    /// In words. An error of our own: `CODE: what happened`, and if there are details, their JSON on the next line.
    #[serde(default)]
    pub message: String,
    /// Whether the same command may succeed when it is sent again.
    #[serde(default, skip_serializing_if = "is_default")]
    pub temporary: bool,
}

impl From<ErrorCode> for ReplyError {
    fn from(code: ErrorCode) -> Self {
        Self {
            code: code.number(),
            message: code.text().to_owned(),
            temporary: code.is_temporary(),
        }
    }
}

impl ReplyError {
    /// An error of our own. The protocol has one number and one text for an error, so the code that clients branch on
    /// stands at the beginning of the text. Line ends in the message become spaces: the second line is for details.
    pub fn of_application(code: Code, message: &str, details: Option<&Value>) -> Self {
        let mut text = format!("{code}: {}", message.replace(['\n', '\r'], " "));
        if let Some(details) = details {
            text.push(DETAILS);
            text.push_str(&details.to_string());
        }
        Self {
            code: APPLICATION_ERROR,
            message: text,
            temporary: false,
        }
    }

    /// Code, message and details of an error of our own; nothing if it is not one.
    pub fn application(&self) -> Option<(&str, &str, Option<Value>)> {
        if self.code != APPLICATION_ERROR {
            return None;
        }
        let (code, rest) = self.message.split_once(": ")?;
        Some(match rest.split_once(DETAILS) {
            Some((message, details)) => (code, message, serde_json::from_str(details).ok()),
            None => (code, rest, None),
        })
    }
}
