//! A client's connection over a socket of text frames: subscriptions with recovery, history, calls and pings.
//!
//! [`Connection::run`] speaks the Centrifuge client protocol (`rtc_wire::centrifuge`) over any [`Socket`]. What a user
//! has to tell comes from a [`Source`], what clients ask for goes to [`Rpc`], who they are is said by [`Authenticate`].
//!
//! A connection never waits for its client: what is written is bounded, and a client that does not take it is closed
//! and comes back by offset. It never makes the source wait either: it reads the user's stream when there is room.

mod connection;
mod error;
mod limits;
mod live;
mod memory;
mod outgoing;
mod page;
mod services;
mod socket;
mod source;
mod writer;

pub use connection::{Connection, End};
pub use error::Error;
pub use limits::{
    CALL_TIME, CALLS, CLOSE_TIME, CONNECT_BYTES, CONNECT_TIME, EXPIRED_GRACE, FLUSH_TIME, HELD_PIECES,
    HISTORY_UPDATES, JOINED_BYTES, LIVE_BACKLOG_BYTES, LIVE_INTERVAL, LIVE_MESSAGES, OUTGOING_BYTES,
    PAGE_BYTES, PAGE_UPDATES, PAUSE_BYTES, PING_INTERVAL, PONG_TIME, REPLY_BYTES, SLOW_TIME,
};
pub use memory::{MemoryPeer, MemoryReceiver, MemorySender, MemorySocket, PeerEvent, memory_socket};
pub use services::{
    Authenticate, Caller, Claims, ConnectionId, Denied, PROTOCOL, Rpc, Scope, Scopes, Services, Sources,
};
pub use socket::{FrameReceiver, FrameSender, Gone, Socket};
pub use source::{LiveEvent, LiveText, Position, Row, Source, Withheld};
