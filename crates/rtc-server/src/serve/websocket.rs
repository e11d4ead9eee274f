//! A WebSocket as the socket of a connection.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use axum::extract::ws::{CloseFrame, Message, WebSocket};
use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt as _, StreamExt as _};
use rtc_realtime::{Authenticate, Claims, Denied, FrameReceiver, FrameSender, Gone, Socket};
use rtc_wire::centrifuge::{FRAME_BYTES, FrameError};
use tokio::sync::OwnedSemaphorePermit;
use tokio_tungstenite::tungstenite;

/// A client's WebSocket.
pub(super) struct ClientSocket(WebSocket);

impl ClientSocket {
    pub(super) fn new(socket: WebSocket) -> Self {
        Self(socket)
    }
}

impl Socket for ClientSocket {
    type Receiver = ClientReceiver;
    type Sender = ClientSender;

    fn split(self) -> (ClientReceiver, ClientSender) {
        let (sink, stream) = self.0.split();
        (ClientReceiver(stream), ClientSender(sink))
    }
}

/// The half that reads.
pub(super) struct ClientReceiver(SplitStream<WebSocket>);

#[async_trait]
impl FrameReceiver for ClientReceiver {
    async fn receive(&mut self) -> Option<Result<String, FrameError>> {
        loop {
            let text = match self.0.next().await? {
                Ok(Message::Text(text)) => Ok(text.as_str().to_owned()),
                // The same text in the other kind of message.
                Ok(Message::Binary(bytes)) => String::from_utf8(bytes.into()).map_err(|_| not_text()),
                // Answered by the WebSocket itself.
                Ok(Message::Ping(_) | Message::Pong(_)) => continue,
                Ok(Message::Close(_)) => return None,
                Err(error) => Err(frame_error(error)?),
            };
            return Some(text);
        }
    }
}

/// What is told of a frame that could not be read; nothing if the other side is gone.
fn frame_error(error: axum::Error) -> Option<FrameError> {
    match *error.into_inner().downcast::<tungstenite::Error>().ok()? {
        tungstenite::Error::Capacity(_) => Some(FrameError::TooLarge(FRAME_BYTES + 1)),
        tungstenite::Error::Utf8(_) => Some(not_text()),
        tungstenite::Error::Protocol(error) => Some(FrameError::Malformed {
            line: 1,
            reason: error.to_string(),
        }),
        _ => None,
    }
}

fn not_text() -> FrameError {
    FrameError::Malformed {
        line: 1,
        reason: "it is not UTF-8".to_owned(),
    }
}

/// The half that writes.
pub(super) struct ClientSender(SplitSink<WebSocket, Message>);

#[async_trait]
impl FrameSender for ClientSender {
    async fn send(&mut self, frame: String) -> Result<(), Gone> {
        self.0.send(Message::Text(frame.into())).await.map_err(|_| Gone)
    }

    async fn close(&mut self, code: u16, reason: &str) {
        let why = CloseFrame {
            code,
            reason: reason.into(),
        };
        // Whoever is gone already needs no reason.
        let _ = self.0.send(Message::Close(Some(why))).await;
    }
}

/// Keeps one of the few places for sockets that have not connected, until this one has.
pub(super) struct Admission {
    authenticate: Arc<dyn Authenticate>,
    place: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Admission {
    pub(super) fn new(authenticate: Arc<dyn Authenticate>, place: OwnedSemaphorePermit) -> Self {
        Self {
            authenticate,
            place: Mutex::new(Some(place)),
        }
    }
}

#[async_trait]
impl Authenticate for Admission {
    async fn authenticate(&self, token: &str) -> Result<Claims, Denied> {
        let claims = self.authenticate.authenticate(token).await?;
        drop(self.place.lock().unwrap_or_else(PoisonError::into_inner).take());
        Ok(claims)
    }
}
