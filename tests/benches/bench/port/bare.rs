//! WebSockets of axum with nothing behind them: the floor of everything that goes through the port.

use std::net::TcpListener;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use axum::Router;
use axum::extract::ws::{Message, WebSocket};
use axum::extract::{State, WebSocketUpgrade};
use axum::response::Response;
use axum::routing::any;
use tokio::sync::{broadcast, oneshot};

/// How many messages a listener may be behind.
const BACKLOG: usize = 1024;

/// A server in threads of its own, ended when dropped.
pub(super) struct Bare {
    pub(super) port: u16,
    _stop: oneshot::Sender<()>,
}

struct Shared {
    /// What is answered to everything.
    reply: String,
    told: broadcast::Sender<String>,
}

impl Bare {
    /// `/echo` answers each message with as many bytes as this; `/broadcast` tells each message to all.
    pub(super) fn start(reply_bytes: usize) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("a port is free")?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            reply: "x".repeat(reply_bytes),
            told: broadcast::channel(BACKLOG).0,
        });
        let router = Router::new()
            .route("/echo", any(echo))
            .route("/broadcast", any(tell_all))
            .with_state(shared);
        let (stop, stopped) = oneshot::channel::<()>();
        let runtime = tokio::runtime::Runtime::new()?;
        std::thread::spawn(move || {
            runtime.block_on(async move {
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
                    return;
                };
                tokio::select! {
                    _ = axum::serve(listener, router) => {}
                    _ = stopped => {}
                }
            });
        });
        Ok(Self { port, _stop: stop })
    }
}

async fn echo(State(shared): State<Arc<Shared>>, upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(|mut socket: WebSocket| async move {
        while let Some(Ok(Message::Text(_))) = socket.recv().await {
            let reply = Message::Text(shared.reply.as_str().into());
            if socket.send(reply).await.is_err() {
                return;
            }
        }
    })
}

async fn tell_all(State(shared): State<Arc<Shared>>, upgrade: WebSocketUpgrade) -> Response {
    let mut told = shared.told.subscribe();
    upgrade.on_upgrade(|mut socket: WebSocket| async move {
        loop {
            tokio::select! {
                heard = socket.recv() => match heard {
                    // Nobody listening is no error here.
                    Some(Ok(Message::Text(text))) => drop(shared.told.send(text.to_string())),
                    _ => return,
                },
                Ok(text) = told.recv() => {
                    if socket.send(Message::Text(text.into())).await.is_err() {
                        return;
                    }
                }
            }
        }
    })
}
