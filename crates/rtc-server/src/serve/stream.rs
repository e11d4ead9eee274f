//! The socket of a guest. When it is let go, what was said last is still taken: a socket that is closed with something
//! unread in it would take back what was written.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// How long a socket that was let go waits for the other side to go, too.
const LINGER_TIME: Duration = Duration::from_secs(1);

/// A guest's socket, and its place among them, which is free again when the socket is closed.
pub(super) struct GuestStream {
    /// There until it is let go.
    stream: Option<Place>,
    has_spoken: bool,
}

struct Place {
    stream: TcpStream,
    _permit: OwnedSemaphorePermit,
    _guest: TaskTrackerToken,
}

impl GuestStream {
    pub(super) fn new(stream: TcpStream, permit: OwnedSemaphorePermit, guest: TaskTrackerToken) -> Self {
        Self {
            stream: Some(Place {
                stream,
                _permit: permit,
                _guest: guest,
            }),
            has_spoken: false,
        }
    }

    fn stream(&mut self) -> io::Result<Pin<&mut TcpStream>> {
        match &mut self.stream {
            Some(place) => Ok(Pin::new(&mut place.stream)),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }
}

impl Drop for GuestStream {
    fn drop(&mut self) {
        let Some(place) = self.stream.take().filter(|_| self.has_spoken) else {
            return;
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(linger(place));
        }
    }
}

async fn linger(mut place: Place) {
    let going = async {
        place.stream.shutdown().await?;
        let mut unread = [0; 4096];
        while place.stream.read(&mut unread).await? > 0 {}
        Ok::<_, io::Error>(())
    };
    // Whether the other side went or its time is over: the socket is closed now.
    let _ = tokio::time::timeout(LINGER_TIME, going).await;
}

impl AsyncRead for GuestStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.get_mut().stream()?.poll_read(context, buffer)
    }
}

impl AsyncWrite for GuestStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.has_spoken = true;
        this.stream()?.poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.has_spoken = true;
        this.stream()?.poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().stream()?.poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().stream()?.poll_shutdown(context)
    }
}
