//! What is on its way to the other side.
//!
//! Whoever sends writes by itself where the pipe takes it at once, so that a frame need not wait until another task has
//! been woken. What the pipe does not take is written by the connection's own task.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker, ready};

use tokio::io::AsyncWrite;
use tokio::sync::{Notify, Semaphore};

use super::{OUTGOING_QUEUE, lock};
use crate::Error;

/// The frames that wait, and the pipe behind them.
pub(super) struct Outgoing {
    /// One place for each frame that may wait. It is never closed.
    room: Semaphore,
    state: Mutex<State>,
    /// Tells the connection's task that there is something left to write.
    left: Notify,
}

struct State {
    /// Gone once the connection is over.
    writer: Option<Pin<Box<dyn AsyncWrite + Send>>>,
    lines: VecDeque<String>,
    /// How much of the first line is written, in bytes.
    written: usize,
    /// The connection's task waits for the pipe, which then must not be asked by anybody else.
    is_blocked: bool,
}

impl Outgoing {
    pub(super) fn new(writer: impl AsyncWrite + Send + 'static) -> Self {
        Self {
            room: Semaphore::new(OUTGOING_QUEUE),
            state: Mutex::new(State {
                writer: Some(Box::pin(writer)),
                lines: VecDeque::new(),
                written: 0,
                is_blocked: false,
            }),
            left: Notify::new(),
        }
    }

    /// Puts a line on its way, once there is room.
    pub(super) async fn send(&self, line: String) -> Result<(), Error> {
        if let Ok(place) = self.room.acquire().await {
            place.forget();
        }
        self.push(line)
    }

    /// Puts a line on its way, or gives it back if there is no room.
    pub(super) fn try_send(&self, line: String) -> Result<Result<(), Error>, String> {
        match self.room.try_acquire() {
            Ok(place) => {
                place.forget();
                Ok(self.push(line))
            }
            Err(_) => Err(line),
        }
    }

    fn push(&self, mut line: String) -> Result<(), Error> {
        line.push('\n');
        let mut state = lock(&self.state);
        state.lines.push_back(line);
        if state.is_blocked {
            return Ok(());
        }
        match state.write(&self.room, &mut Context::from_waker(Waker::noop())) {
            Poll::Ready(written) => written,
            Poll::Pending => {
                self.left.notify_one();
                Ok(())
            }
        }
    }

    /// Writes what is left over, until the pipe breaks.
    pub(super) async fn write(&self) -> Error {
        loop {
            let written = std::future::poll_fn(|context| lock(&self.state).write(&self.room, context));
            if let Err(error) = written.await {
                return error;
            }
            self.left.notified().await;
        }
    }

    /// Lets go of the pipe, whose other end sees that.
    pub(super) fn close(&self) {
        let mut state = lock(&self.state);
        state.writer = None;
        state.lines.clear();
    }
}

impl State {
    /// Writes all that waits.
    fn write(&mut self, room: &Semaphore, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let Some(writer) = &mut self.writer else {
            return Poll::Ready(Ok(()));
        };
        let failed = |error: std::io::Error| Error::Pipe(error.to_string());
        self.is_blocked = true;
        while let Some(line) = self.lines.front() {
            while let Some(rest) = line
                .as_bytes()
                .get(self.written..)
                .filter(|rest| !rest.is_empty())
            {
                match ready!(writer.as_mut().poll_write(context, rest)).map_err(failed)? {
                    0 => return Poll::Ready(Err(Error::Pipe("it takes nothing any more".to_owned()))),
                    count => self.written += count,
                }
            }
            self.lines.pop_front();
            self.written = 0;
            room.add_permits(1);
        }
        ready!(writer.as_mut().poll_flush(context)).map_err(failed)?;
        self.is_blocked = false;
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, duplex};

    use super::*;

    #[tokio::test]
    async fn a_frame_is_written_at_once_where_the_pipe_takes_it() {
        let (writer, mut reader) = duplex(64);
        let outgoing = Outgoing::new(writer);
        // Nothing but the sender runs here.
        outgoing.send("one".to_owned()).now_or_never().unwrap().unwrap();
        let mut bytes = [0; 4];
        reader.read_exact(&mut bytes).now_or_never().unwrap().unwrap();
        assert_eq!(&bytes, b"one\n");
    }

    #[tokio::test]
    async fn what_the_pipe_does_not_take_waits_in_its_order_up_to_the_bound() {
        let (writer, reader) = duplex(7);
        let outgoing = Outgoing::new(writer);
        let lines: Vec<String> = (0..OUTGOING_QUEUE + 20).map(|n| format!("line {n:03}")).collect();
        let sent = lines.iter().take_while(|line| {
            let line = (*line).clone();
            matches!(outgoing.try_send(line), Ok(Ok(())))
        });
        assert_eq!(sent.count(), OUTGOING_QUEUE);
        let send = async {
            for line in &lines[OUTGOING_QUEUE..] {
                outgoing.send(line.clone()).await.unwrap();
            }
        };
        let read = async {
            let mut found = BufReader::new(reader).lines();
            for line in &lines {
                assert_eq!(found.next_line().await.unwrap().as_ref(), Some(line));
            }
        };
        tokio::select! {
            error = outgoing.write() => panic!("{error}"),
            _ = futures::future::join(send, read) => {}
        }
    }

    #[tokio::test]
    async fn a_broken_pipe_is_told_and_a_closed_one_is_let_go() {
        let (writer, reader) = duplex(7);
        let outgoing = Outgoing::new(writer);
        drop(reader);
        assert!(matches!(
            outgoing.send("one".to_owned()).await,
            Err(Error::Pipe(_))
        ));
        let (writer, mut reader) = duplex(7);
        let outgoing = Outgoing::new(writer);
        outgoing.close();
        assert_eq!(reader.read(&mut [0; 1]).await.unwrap(), 0);
        outgoing.send("one".to_owned()).await.unwrap();
    }
}
