//! From the bytes of a reply to its events.
//!
//! `eventsource-stream` splits events, but it scans its buffer anew for each piece, has no bound and does not survive
//! a byte order mark: it is given whole lines, bounded, as text, and without the mark.

use std::time::Duration;

use eventsource_stream::{EventStreamError, Eventsource};
use futures::stream::{self, BoxStream, Stream, StreamExt};
use tokio::time::timeout;

use crate::Error;
use crate::failure::{Failure, broken};

/// The longest line of a reply, in bytes: the whole arguments of a call may stand on one.
const MOST_LINE: usize = 16 * 1024 * 1024;
/// The most bytes of one reply.
const MOST_BODY: usize = 128 * 1024 * 1024;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// The pieces in which a body arrives.
pub(crate) type Pieces = BoxStream<'static, Result<Vec<u8>, Failure>>;
/// The data of the events of a body, in order.
pub(crate) type Events = BoxStream<'static, Result<String, Failure>>;

/// The events of a body. A body that is one JSON object, as of a server that does not stream, is one event; a page for
/// people is an error. The last event need not be closed by an empty line.
pub(crate) fn events(body: Pieces) -> Events {
    stream::once(begin(body))
        .flat_map(|begun| begun.unwrap_or_else(|failure| stream::iter([Err(failure)]).boxed()))
        .boxed()
}

/// The same events, where each comes within a time after the one before: comments alone keep no reply alive.
pub(crate) fn timely(events: Events, most: Duration) -> Events {
    stream::unfold(Some(events), move |state| async move {
        let mut events = state?;
        match timeout(most, events.next()).await {
            Ok(event) => Some((event?, Some(events))),
            Err(_) => {
                let reason = format!("no event for {} s", most.as_secs_f64());
                Some((Err(broken(reason)), None))
            }
        }
    })
    .boxed()
}

/// Decides by the first character what the body is.
async fn begin(mut body: Pieces) -> Result<Events, Failure> {
    let mut head = Vec::new();
    loop {
        let mut start = 0;
        while head[start..].starts_with(BOM) {
            start += BOM.len();
        }
        // A mark that has not arrived whole must not be taken for a character.
        let waits = BOM.starts_with(&head[start..]);
        let first = head[start..]
            .iter()
            .find(|byte| !byte.is_ascii_whitespace() && !waits);
        match first {
            Some(b'<') => return Err(page()),
            Some(b'{' | b'[') => return whole(head.split_off(start), body).await,
            Some(_) => {
                let rest = head.split_off(start);
                let pieces = stream::iter([Ok(rest)]).chain(body).boxed();
                return Ok(lines(pieces)
                    .eventsource()
                    .map(|event| event.map(|event| event.data).map_err(failure))
                    .boxed());
            }
            None if head.len() > MOST_LINE => return Err(too_large()),
            None => match body.next().await {
                Some(piece) => head.extend(piece?),
                None => return Ok(stream::empty().boxed()),
            },
        }
    }
}

fn page() -> Failure {
    Failure::final_(Error::Unreachable {
        reason: "a web page answered where the model should".into(),
    })
}

fn too_large() -> Failure {
    Failure::final_(Error::Stream {
        reason: "it is larger than any reply may be".into(),
    })
}

fn failure(error: EventStreamError<Failure>) -> Failure {
    match error {
        EventStreamError::Transport(failure) => failure,
        EventStreamError::Utf8(_) | EventStreamError::Parser(_) => broken("it is not a stream of events"),
    }
}

async fn whole(mut body: Vec<u8>, mut rest: Pieces) -> Result<Events, Failure> {
    while let Some(piece) = rest.next().await {
        body.extend(piece?);
        if body.len() > MOST_LINE {
            return Err(too_large());
        }
    }
    let text = String::from_utf8_lossy(&body).into_owned();
    Ok(stream::iter([Ok(text)]).boxed())
}

/// The same bytes as text that ends at a line end each time, and at the end with an empty line.
fn lines(pieces: Pieces) -> impl Stream<Item = Result<String, Failure>> + Send + 'static {
    stream::unfold(Some((pieces, Lines::default())), |state| async {
        let (mut pieces, mut lines) = state?;
        loop {
            match pieces.next().await {
                Some(Ok(piece)) => match lines.push(&piece) {
                    Ok(None) => {}
                    Ok(Some(text)) => return Some((Ok(text), Some((pieces, lines)))),
                    Err(failure) => return Some((Err(failure), None)),
                },
                Some(Err(failure)) => return Some((Err(failure), None)),
                None => return Some((Ok(lines.end()), None)),
            }
        }
    })
}

#[derive(Default)]
struct Lines {
    open: Vec<u8>,
    taken: usize,
}

impl Lines {
    fn push(&mut self, piece: &[u8]) -> Result<Option<String>, Failure> {
        self.taken = self.taken.saturating_add(piece.len());
        let end = memchr::memrchr2(b'\n', b'\r', piece);
        let (closed, open) = piece.split_at(end.map_or(0, |end| end + 1));
        if self.taken > MOST_BODY || self.open.len() + piece.len() > MOST_LINE {
            return Err(too_large());
        }
        self.open.extend_from_slice(closed);
        let text = end.is_some().then(|| self.text());
        self.open.extend_from_slice(open);
        Ok(text)
    }

    fn text(&mut self) -> String {
        let bytes = std::mem::take(&mut self.open);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn end(mut self) -> String {
        let mut text = self.text();
        text.push_str("\n\n");
        text
    }
}

#[cfg(test)]
mod tests;
