//! The sockets of pages: frames come by a command, and go by a channel of the window.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use rtc_realtime::{FrameReceiver, FrameSender, Gone, Socket};
use rtc_wire::centrifuge::{FRAME_BYTES, FrameError};
use serde::Serialize;
use tauri::ipc::Channel;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

/// How many frames of a page wait to be read; more are not taken from it.
const FRAMES: usize = 64;

/// How much of what was sent a page may not have taken yet, in UTF-16 units: a channel to a page has no end of its own.
const UNTAKEN: usize = 1 << 20;

/// How much a page may have taken without having said so, in the same units: it says it now and then.
const UNSAID: usize = 64 << 10;

/// How many sockets a page may have open.
const PER_PAGE: usize = 4;

/// What a page is told through the channel of a socket.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum SocketEvent {
    /// A frame.
    Frame {
        /// Its text.
        data: String,
    },
    /// The end; nothing follows.
    Close {
        /// As in a WebSocket.
        code: u16,
        /// Why.
        reason: String,
    },
}

/// Names a load of a page. What it opens ends with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    window: String,
    load: u64,
}

/// Why nothing is done with a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("the page has no such socket")]
    Unknown,
    #[error("the page has {PER_PAGE} sockets already")]
    TooMany,
    #[error("the page was loaded again")]
    PageGone,
    #[error("the frame before is still on its way")]
    NotInTurn,
}

/// The sockets of all pages.
#[derive(Default)]
pub(crate) struct Sockets {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    last: u32,
    /// How often the page of each window was loaded.
    loads: HashMap<String, u64>,
    open: HashMap<u32, Open>,
}

struct Open {
    window: String,
    frames: mpsc::Sender<Result<String, FrameError>>,
    untaken: Arc<watch::Sender<usize>>,
    ended: CancellationToken,
    /// Held while a frame of the page waits to be taken.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Sockets {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The page that a window shows now.
    pub(crate) fn page(&self, window: &str) -> Page {
        Page {
            window: window.to_owned(),
            load: self.lock().loads.get(window).copied().unwrap_or_default(),
        }
    }

    /// The page of a window begins anew, or is gone: its sockets end.
    pub(crate) fn leave(&self, window: &str) {
        let mut inner = self.lock();
        *inner.loads.entry(window.to_owned()).or_default() += 1;
        inner.open.retain(|_, socket| {
            let stays = socket.window != window;
            if !stays {
                socket.ended.cancel();
            }
            stays
        });
    }

    /// Opens a socket of a page.
    pub(crate) fn open(
        &self,
        page: &Page,
        channel: Channel<SocketEvent>,
    ) -> Result<(u32, IpcSocket), Refusal> {
        let mut inner = self.lock();
        if inner.loads.get(&page.window).copied().unwrap_or_default() != page.load {
            return Err(Refusal::PageGone);
        }
        let count = inner
            .open
            .values()
            .filter(|socket| socket.window == page.window)
            .count();
        if count >= PER_PAGE {
            return Err(Refusal::TooMany);
        }
        let (frames, received) = mpsc::channel(FRAMES);
        let untaken = Arc::new(watch::Sender::default());
        let ended = CancellationToken::new();
        inner.last = inner.last.wrapping_add(1);
        let id = inner.last;
        let socket = IpcSocket {
            receiver: IpcReceiver {
                frames: received,
                ended: ended.clone(),
            },
            sender: IpcSender {
                channel,
                untaken: untaken.clone(),
                ended: ended.clone(),
            },
        };
        let window = page.window.clone();
        inner.open.insert(
            id,
            Open {
                window,
                frames,
                untaken,
                ended,
                turn: Arc::default(),
            },
        );
        Ok((id, socket))
    }

    /// Takes a frame of a page. Waits while many wait already, and takes no other one meanwhile.
    pub(crate) async fn send(&self, window: &str, id: u32, frame: String) -> Result<(), Refusal> {
        let (frames, turn) = self.of(window, id, |socket| (socket.frames.clone(), socket.turn.clone()))?;
        let Ok(_turn) = turn.try_lock() else {
            return Err(Refusal::NotInTurn);
        };
        let frame = match frame.len() {
            0..=FRAME_BYTES => Ok(frame),
            bytes => Err(FrameError::TooLarge(bytes)),
        };
        frames.send(frame).await.map_err(|_| Refusal::Unknown)
    }

    /// A page has taken so many units of what was sent to it. More than was sent ends the socket.
    pub(crate) fn acknowledge(&self, window: &str, id: u32, units: usize) -> Result<(), Refusal> {
        self.of(window, id, |socket| {
            socket
                .untaken
                .send_modify(|untaken| match untaken.checked_sub(units) {
                    Some(rest) => *untaken = rest,
                    None => socket.ended.cancel(),
                });
        })
    }

    /// A page closes a socket.
    pub(crate) fn close(&self, window: &str, id: u32) -> Result<(), Refusal> {
        self.of(window, id, |socket| socket.ended.cancel())?;
        self.forget(id);
        Ok(())
    }

    /// A socket has ended.
    pub(crate) fn forget(&self, id: u32) {
        self.lock().open.remove(&id);
    }

    /// Only for the page that has opened it.
    fn of<T>(&self, window: &str, id: u32, get: impl FnOnce(&Open) -> T) -> Result<T, Refusal> {
        let inner = self.lock();
        let socket = inner.open.get(&id).filter(|socket| socket.window == window);
        socket.map(get).ok_or(Refusal::Unknown)
    }
}

/// A socket whose other side is a page.
pub(crate) struct IpcSocket {
    receiver: IpcReceiver,
    sender: IpcSender,
}

impl Socket for IpcSocket {
    type Receiver = IpcReceiver;
    type Sender = IpcSender;

    fn split(self) -> (IpcReceiver, IpcSender) {
        (self.receiver, self.sender)
    }
}

/// The half that reads.
pub(crate) struct IpcReceiver {
    frames: mpsc::Receiver<Result<String, FrameError>>,
    ended: CancellationToken,
}

#[async_trait]
impl FrameReceiver for IpcReceiver {
    async fn receive(&mut self) -> Option<Result<String, FrameError>> {
        tokio::select! {
            biased;
            () = self.ended.cancelled() => None,
            frame = self.frames.recv() => frame,
        }
    }
}

/// The half that writes.
pub(crate) struct IpcSender {
    channel: Channel<SocketEvent>,
    untaken: Arc<watch::Sender<usize>>,
    ended: CancellationToken,
}

#[async_trait]
impl FrameSender for IpcSender {
    async fn send(&mut self, data: String) -> Result<(), Gone> {
        let units = data.encode_utf16().count();
        let mut untaken = self.untaken.subscribe();
        // A frame that is larger by itself goes alone.
        let room = untaken.wait_for(|untaken| *untaken < UNSAID || *untaken + units <= UNTAKEN);
        tokio::select! {
            biased;
            () = self.ended.cancelled() => return Err(Gone),
            room = room => drop(room.map_err(|_| Gone)?),
        }
        self.untaken.send_modify(|untaken| *untaken += units);
        self.channel.send(SocketEvent::Frame { data }).map_err(|_| Gone)
    }

    async fn close(&mut self, code: u16, reason: &str) {
        if self.ended.is_cancelled() {
            return;
        }
        let reason = reason.to_owned();
        // Whoever is gone already needs no reason.
        let _ = self.channel.send(SocketEvent::Close { code, reason });
    }
}

#[cfg(test)]
mod tests;
