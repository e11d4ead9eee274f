//! The bounds of a connection.

use std::time::Duration;

/// How long a socket may be open without a valid connect.
pub const CONNECT_TIME: Duration = Duration::from_secs(5);

/// The largest frame of a client that has not connected, in bytes: nobody knows yet who it is, and a token is short.
pub const CONNECT_BYTES: usize = 64 << 10;

/// How often a client is pinged.
pub const PING_INTERVAL: Duration = Duration::from_secs(25);

/// How long a client may take to answer a ping. Time in which nothing is read does not count.
pub const PONG_TIME: Duration = Duration::from_secs(8);

/// How much longer than its token a connection lasts, so that the client, which begins to refresh when the token
/// ends, can do so.
pub const EXPIRED_GRACE: Duration = Duration::from_secs(25);

/// How many calls and reads of history of one connection run at once. At the bound nothing more is read from the
/// client.
pub const CALLS: usize = 32;

/// How long a call may take until its client is told that it is waited for no more.
pub const CALL_TIME: Duration = Duration::from_secs(60);

/// How much may wait to be written, in bytes. A client beyond it is closed as slow.
pub const OUTGOING_BYTES: usize = 32 << 20;

/// While more than this waits to be written, nothing is read: neither from the client nor from the stream.
pub const PAUSE_BYTES: usize = 1 << 20;

/// While more than this waits to be written, live text is not asked for: later it is shorter in sum.
pub const LIVE_BACKLOG_BYTES: usize = 256 << 10;

/// The largest single reply, in bytes. What is larger is an error of its command.
pub const REPLY_BYTES: usize = 8 << 20;

/// Replies are joined to frames of at most this many bytes, unless a single one is larger.
pub const JOINED_BYTES: usize = 64 << 10;

/// How long a socket may take for one frame before the client counts as slow.
pub const SLOW_TIME: Duration = Duration::from_secs(10);

/// How long a closing connection goes on writing what waits.
pub const FLUSH_TIME: Duration = Duration::from_secs(1);

/// How long saying why a socket is closed may take.
pub const CLOSE_TIME: Duration = Duration::from_secs(1);

/// How many updates are read from the stream at once to be pushed.
pub const PAGE_UPDATES: usize = 256;

/// How many updates a reply has at most: of a recovery, or of history.
pub const HISTORY_UPDATES: usize = 1000;

/// How many bytes of updates a reply, or what is read at once to be pushed, has at most; a single update may be larger.
pub const PAGE_BYTES: usize = 1 << 20;

/// The text of a message being written is sent at most 30 times a second.
pub const LIVE_INTERVAL: Duration = Duration::from_nanos(33_333_334);

/// How many messages being written a connection keeps apart; the one that was silent longest is forgotten.
pub const LIVE_MESSAGES: usize = 64;

/// How many pieces of a message are kept while its full text is asked for.
pub const HELD_PIECES: usize = 256;
