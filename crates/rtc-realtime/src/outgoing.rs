//! What waits to be written.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use rtc_wire::centrifuge::{Reply, encode};

use crate::limits::JOINED_BYTES;

/// One or several replies on their way to the socket.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) text: String,
    /// The updates in it.
    pub(crate) offsets: Vec<RangeInclusive<u64>>,
}

/// Replies in their order, and how many bytes they have.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    waiting: VecDeque<Encoded>,
    /// Of what waits and of what is being written.
    bytes: usize,
}

/// A reply as text, and the updates in it.
#[derive(Debug)]
pub(crate) struct Encoded {
    pub(crate) text: String,
    offsets: Option<RangeInclusive<u64>>,
}

impl Encoded {
    pub(crate) fn new(reply: &Reply) -> Self {
        Self {
            text: encode(std::slice::from_ref(reply)),
            offsets: None,
        }
    }

    pub(crate) fn with_offsets(reply: &Reply, offsets: Option<RangeInclusive<u64>>) -> Self {
        Self {
            offsets,
            ..Self::new(reply)
        }
    }
}

impl Outgoing {
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn push(&mut self, reply: Encoded) {
        self.bytes += reply.text.len();
        self.waiting.push_back(reply);
    }

    /// The next frame to write: as many replies as fit, at least one. Its bytes count until [`taken`](Self::taken).
    pub(crate) fn next_frame(&mut self) -> Option<Frame> {
        let first = self.waiting.pop_front()?;
        let mut frame = Frame {
            text: first.text,
            offsets: Vec::from_iter(first.offsets),
        };
        while let Some(next) = self.waiting.front() {
            if frame.text.len() + 1 + next.text.len() > JOINED_BYTES {
                break;
            }
            let Some(next) = self.waiting.pop_front() else {
                break;
            };
            frame.text.push('\n');
            self.bytes += 1;
            frame.text.push_str(&next.text);
            match (frame.offsets.last_mut(), next.offsets) {
                (Some(last), Some(next)) if last.end() + 1 == *next.start() => {
                    *last = *last.start()..=*next.end()
                }
                (_, next) => frame.offsets.extend(next),
            }
        }
        Some(frame)
    }

    /// The socket has taken a frame.
    pub(crate) fn taken(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(bytes: usize, offsets: Option<RangeInclusive<u64>>) -> Encoded {
        let text = "x".repeat(bytes);
        Encoded { text, offsets }
    }

    #[test]
    fn replies_share_a_frame_as_far_as_they_fit() {
        let mut outgoing = Outgoing::default();
        for (bytes, offsets) in [
            (2, None),
            (3, Some(1..=1)),
            (3, Some(2..=4)),
            (4, Some(9..=9)),
            (JOINED_BYTES - 20, None),
            (JOINED_BYTES + 7, Some(10..=12)),
            (1, None),
        ] {
            outgoing.push(reply(bytes, offsets));
        }
        let mut frames = Vec::new();
        while let Some(frame) = outgoing.next_frame() {
            frames.push((
                frame.text.len(),
                frame.text.lines().count(),
                frame.offsets.clone(),
            ));
            outgoing.taken(frame.text.len());
        }
        assert_eq!(
            frames,
            [
                (JOINED_BYTES - 4, 5, vec![1..=4, 9..=9]),
                (JOINED_BYTES + 7, 1, vec![10..=12]),
                (1, 1, vec![])
            ]
        );
        assert_eq!(outgoing.bytes(), 0);
    }
}
