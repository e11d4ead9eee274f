//! One request and its reply: sent again while nothing of it was delivered, read until it is complete.

use std::collections::VecDeque;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::sse::Events;
use crate::{Error, Event, ModelStream, retry};

/// How long a reply that is complete is waited for to tell what it cost, where the provider closes nothing.
const AFTER_THE_END: Duration = Duration::from_millis(500);
/// How long the rest of a reply is read, so that its connection can be used again.
const DRAIN: Duration = Duration::from_secs(1);

/// Understands the events of one reply. It does no I/O: how the bytes were split makes no difference.
pub(crate) trait Decoder: Send {
    /// Takes the data of the next event. If the last event that comes out is `Done`, the reply is over.
    fn feed(&mut self, data: &str) -> Result<Vec<Event>, Failure>;

    /// Whether the reply is complete, and only its cost may follow.
    fn is_complete(&self) -> bool;

    /// Nothing more comes: what is still to be told, with `Done` last, or that the reply broke off.
    fn end(&mut self) -> Result<Vec<Event>, Failure>;
}

/// Asks until there is something to deliver or nothing more to try.
pub(crate) async fn ask<'a>(
    open: impl Fn() -> BoxFuture<'a, Result<Events, Failure>> + Send,
    decoder: impl Fn() -> Box<dyn Decoder> + Send,
    cancel: CancellationToken,
) -> Result<ModelStream, Error> {
    let mut attempt = 0;
    loop {
        let tried = async {
            let mut reply = Reply::new(open().await?, decoder());
            reply.fill().await?;
            Ok::<_, Failure>(reply)
        };
        let failure = match cancel.run_until_cancelled(tried).await {
            None => return Err(Error::Cancelled),
            Some(Ok(reply)) => return Ok(reply.stream(cancel)),
            Some(Err(failure)) => failure,
        };
        let wait = failure
            .again
            .then(|| retry::wait(attempt, failure.wait, retry::random()))
            .flatten();
        let Some(wait) = wait else {
            return Err(failure.error);
        };
        tracing::info!(code = failure.error.code(), ?wait, "the model is asked again");
        if cancel.run_until_cancelled(sleep(wait)).await.is_none() {
            return Err(Error::Cancelled);
        }
        attempt += 1;
    }
}

/// A reply that is being read.
struct Reply {
    events: Events,
    decoder: Box<dyn Decoder>,
    pending: VecDeque<Event>,
    /// Until when its cost is waited for, once it is complete.
    until: Option<Instant>,
    over: bool,
}

impl Reply {
    fn new(events: Events, decoder: Box<dyn Decoder>) -> Reply {
        Reply {
            events,
            decoder,
            pending: VecDeque::new(),
            until: None,
            over: false,
        }
    }

    /// Reads until there is something to deliver.
    async fn fill(&mut self) -> Result<(), Failure> {
        while self.pending.is_empty() {
            let complete = self.decoder.is_complete();
            let next = if complete {
                let until = *self.until.get_or_insert_with(|| Instant::now() + AFTER_THE_END);
                timeout_at(until, self.events.next()).await.unwrap_or(None)
            } else {
                self.events.next().await
            };
            let events = match next {
                Some(Ok(data)) => self.decoder.feed(&data)?,
                Some(Err(_)) if complete => self.decoder.end()?,
                Some(Err(failure)) => return Err(failure),
                None => self.decoder.end()?,
            };
            self.pending.extend(events);
        }
        Ok(())
    }

    async fn next(&mut self, cancel: &CancellationToken) -> Result<Event, Error> {
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        match cancel.run_until_cancelled(self.fill()).await {
            None => Err(Error::Cancelled),
            Some(Err(failure)) => Err(failure.error),
            // `fill` does not return before there is one.
            Some(Ok(())) => self.pending.pop_front().ok_or(Error::Cancelled),
        }
    }

    fn stream(self, cancel: CancellationToken) -> ModelStream {
        stream::unfold((self, cancel), |(mut reply, cancel)| async move {
            if reply.over {
                return None;
            }
            let next = reply.next(&cancel).await;
            if matches!(next, Ok(Event::Done(_)) | Err(_)) {
                reply.over = true;
                let rest = std::mem::replace(&mut reply.events, stream::empty().boxed());
                if next.is_ok() {
                    drain(rest, cancel.clone());
                }
            }
            Some((next, (reply, cancel)))
        })
        .boxed()
    }
}

/// A connection whose reply was read to the end serves the next request; one that stays silent is closed.
fn drain(mut rest: Events, cancel: CancellationToken) {
    // Most often the end has come with the last event.
    if matches!(rest.next().now_or_never(), Some(None)) {
        return;
    }
    tokio::spawn(async move {
        let read = timeout(DRAIN, rest.for_each(|_| std::future::ready(())));
        let _ = cancel.run_until_cancelled(read).await;
    });
}

#[cfg(test)]
mod tests;
