//! What a connection speaks through.

use async_trait::async_trait;
use rtc_wire::centrifuge::FrameError;

/// The other side is not there any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the socket is closed")]
pub struct Gone;

/// Text frames both ways: a WebSocket, a window's channel, or memory.
pub trait Socket: Send + 'static {
    /// The half that reads.
    type Receiver: FrameReceiver;
    /// The half that writes.
    type Sender: FrameSender;

    /// Both halves, which are used at the same time.
    fn split(self) -> (Self::Receiver, Self::Sender);
}

/// Reads frames.
#[async_trait]
pub trait FrameReceiver: Send + 'static {
    /// The next frame; nothing once the other side has closed or is gone. Dropping the future loses no frame. Should
    /// refuse by itself what is larger than [`rtc_wire::centrifuge::FRAME_BYTES`]. What is no frame of text is an error,
    /// by which the connection ends; nothing is asked for after it.
    async fn receive(&mut self) -> Option<Result<String, FrameError>>;
}

/// Writes frames.
#[async_trait]
pub trait FrameSender: Send + 'static {
    /// Returns when the frame is taken: on its way, in a bounded buffer. After its future was dropped only
    /// [`close`](Self::close) is called.
    async fn send(&mut self, frame: String) -> Result<(), Gone>;

    /// Closes the socket and tries to say why.
    async fn close(&mut self, code: u16, reason: &str);
}
