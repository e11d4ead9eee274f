//! The task that writes to a socket: one frame at a time, and at the end the reason.

use std::ops::RangeInclusive;
use std::pin::pin;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::FrameSender;
use crate::limits::{CLOSE_TIME, FLUSH_TIME};
use crate::outgoing::Frame;

/// A frame was taken by the socket.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) bytes: usize,
    pub(crate) offsets: Vec<RangeInclusive<u64>>,
}

/// How the writer ends.
#[derive(Debug)]
pub(crate) struct Stop {
    pub(crate) code: u16,
    pub(crate) reason: &'static str,
    /// What is still to be written; nothing of it, and not even the frame being written, if the client takes nothing.
    pub(crate) rest: Option<Vec<Frame>>,
}

/// Writes until it is told to stop, or the socket is gone. The next frame comes only after the last was told as taken,
/// so both channels need room for one.
pub(crate) async fn write<S: FrameSender>(
    mut sender: S,
    mut frames: mpsc::Receiver<Frame>,
    taken: mpsc::Sender<Taken>,
    mut stop: oneshot::Receiver<Stop>,
) {
    let stop = loop {
        let frame = tokio::select! {
            biased;
            stop = &mut stop => break stop,
            frame = frames.recv() => match frame {
                Some(frame) => frame,
                None => return,
            },
        };
        let bytes = frame.text.len();
        let mut sending = pin!(sender.send(frame.text));
        let stop = tokio::select! {
            biased;
            sent = &mut sending => {
                if sent.is_err() || taken.try_send(Taken { bytes, offsets: frame.offsets }).is_err() {
                    return;
                }
                continue;
            }
            stop = &mut stop => stop,
        };
        let finishes = matches!(&stop, Ok(Stop { rest: Some(_), .. }));
        if finishes && !matches!(timeout(FLUSH_TIME, sending).await, Ok(Ok(()))) {
            return;
        }
        break stop;
    };
    // Nobody is there to say why: the connection was dropped.
    let Ok(Stop { code, reason, rest }) = stop else {
        return;
    };
    let flush = async {
        // One may have been given to this task and not yet begun.
        let given = rest.is_some().then(|| frames.try_recv().ok()).flatten();
        for frame in given.into_iter().chain(rest.into_iter().flatten()) {
            sender.send(frame.text).await?;
        }
        Ok::<_, crate::Gone>(())
    };
    let _ = timeout(FLUSH_TIME, flush).await;
    let _ = timeout(CLOSE_TIME, sender.close(code, reason)).await;
}
