//! The frames of the Centrifuge client protocol, in JSON: text in, commands out, and back.
//!
//! A frame is one or several JSON objects, one a line. A client sends [`Command`]s, each with an id and one method; it
//! gets [`Reply`]s: the answer to a command, a push that nobody asked for, or `{}`, a ping, which it answers with `{}`.
//! Fields that the protocol has and this program does not use are read and kept; unknown ones are ignored. A field
//! that has its default value is not written.
//!
//! ```
//! use rtc_wire::centrifuge::{Command, Method, Reply, decode, encode};
//!
//! let commands = decode(r#"{"id":7,"rpc":{"method":"v1.session.list","data":{}}}"#)?;
//! assert!(matches!(&commands[..], [Command::Call { id: 7, method: Method::Rpc(_) }]));
//! assert_eq!(encode(&[Reply::Ping]), "{}");
//! # Ok::<(), rtc_wire::centrifuge::FrameError>(())
//! ```

mod codes;
mod command;
mod frame;
mod one_of;
mod push;
mod reply;
#[cfg(test)]
mod tests;

pub use codes::{APPLICATION_ERROR, DisconnectCode, ErrorCode, ReplyError, UnsubscribeCode};
pub use command::{
    Command, ConnectRequest, FilterNode, HistoryRequest, Method, PingRequest, PresenceRequest,
    PresenceStatsRequest, PublishRequest, REJECT_UNRECOVERED, RefreshRequest, RpcRequest, SendRequest,
    StreamPosition, SubRefreshRequest, SubscribeRequest, UNKNOWN_NAME_CHARS, UnsubscribeRequest,
};
pub use frame::{
    COMMANDS_PER_FRAME, FRAME_BYTES, FrameError, NESTING, VALUES_PER_FRAME, decode, decode_replies, encode,
    encode_commands,
};
pub use push::{
    ClientInfo, ConnectPush, DisconnectPush, Join, Leave, MessagePush, Publication, Push, PushEvent,
    RefreshPush, SubscribePush, UnsubscribePush,
};
pub use reply::{
    ConnectResult, HistoryResult, Outcome, PingResult, PresenceResult, PresenceStatsResult, PublishResult,
    RefreshResult, Reply, RpcResult, SubRefreshResult, SubscribeResult, UnsubscribeResult,
};

/// Whether a field has the value that it has when it is absent.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
