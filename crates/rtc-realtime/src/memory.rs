//! A socket in memory: for tests, and for a client in the same process.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use rtc_wire::centrifuge::FrameError;
use tokio::sync::mpsc;

use crate::{FrameReceiver, FrameSender, Gone, Socket};

/// A socket and the client's end of it. Each way holds at most `frames` frames that were not received.
pub fn memory_socket(frames: usize) -> (MemorySocket, MemoryPeer) {
    let (to_server, from_client) = mpsc::channel(frames);
    let (to_client, from_server) = mpsc::channel(frames);
    let closed = Arc::new(OnceLock::new());
    let receiver = MemoryReceiver { from_client };
    let sender = MemorySender {
        to_client,
        closed: closed.clone(),
    };
    let peer = MemoryPeer {
        to_server,
        from_server,
        closed,
    };
    (MemorySocket { receiver, sender }, peer)
}

/// The server's end.
#[derive(Debug)]
pub struct MemorySocket {
    receiver: MemoryReceiver,
    sender: MemorySender,
}

/// The half that reads.
#[derive(Debug)]
pub struct MemoryReceiver {
    from_client: mpsc::Receiver<String>,
}

/// The half that writes.
#[derive(Debug)]
pub struct MemorySender {
    to_client: mpsc::Sender<String>,
    closed: Arc<OnceLock<(u16, String)>>,
}

/// The client's end. Dropping it is a connection that breaks.
#[derive(Debug)]
pub struct MemoryPeer {
    to_server: mpsc::Sender<String>,
    from_server: mpsc::Receiver<String>,
    closed: Arc<OnceLock<(u16, String)>>,
}

/// What a client gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerEvent {
    /// A frame.
    Frame(String),
    /// The end, with a reason.
    Closed {
        /// Its number.
        code: u16,
        /// In words.
        reason: String,
    },
    /// The end, without one.
    Gone,
}

impl MemoryPeer {
    /// Sends a frame.
    pub async fn send(&self, frame: impl Into<String>) -> Result<(), Gone> {
        self.to_server.send(frame.into()).await.map_err(|_| Gone)
    }

    /// What comes next: all frames, then the end.
    pub async fn receive(&mut self) -> PeerEvent {
        match self.from_server.recv().await {
            Some(frame) => PeerEvent::Frame(frame),
            None => match self.closed.get() {
                Some((code, reason)) => PeerEvent::Closed {
                    code: *code,
                    reason: reason.clone(),
                },
                None => PeerEvent::Gone,
            },
        }
    }
}

impl Socket for MemorySocket {
    type Receiver = MemoryReceiver;
    type Sender = MemorySender;

    fn split(self) -> (MemoryReceiver, MemorySender) {
        (self.receiver, self.sender)
    }
}

#[async_trait]
impl FrameReceiver for MemoryReceiver {
    async fn receive(&mut self) -> Option<Result<String, FrameError>> {
        self.from_client.recv().await.map(Ok)
    }
}

#[async_trait]
impl FrameSender for MemorySender {
    async fn send(&mut self, frame: String) -> Result<(), Gone> {
        self.to_client.send(frame).await.map_err(|_| Gone)
    }

    async fn close(&mut self, code: u16, reason: &str) {
        self.closed.get_or_init(|| (code, reason.to_owned()));
    }
}
