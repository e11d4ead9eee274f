//! A client that does as little as it can, so that what is measured is the other side's.

use anyhow::{Context as _, Result, bail, ensure};
use futures::{SinkExt as _, StreamExt as _};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

/// A WebSocket.
pub(crate) struct Client(WebSocketStream<TcpStream>);

/// A frame with a publication, as far as it is looked at.
#[derive(Deserialize)]
pub(crate) struct Published {
    #[serde(default)]
    pub(crate) offset: u64,
    /// Read over.
    #[serde(rename = "data")]
    _data: IgnoredAny,
}

/// A page of history.
#[derive(Deserialize)]
pub(crate) struct Page {
    #[serde(default)]
    pub(crate) publications: Vec<Published>,
    /// Where the stream stands.
    #[serde(default)]
    pub(crate) offset: u64,
    #[serde(default)]
    pub(crate) epoch: String,
}

impl Client {
    /// Opens one at a path of this port.
    pub(crate) async fn open(port: u16, path: &str) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        let config = WebSocketConfig::default()
            .max_message_size(None)
            .max_frame_size(None);
        let url = format!("ws://127.0.0.1:{port}{path}");
        let (socket, _) = tokio_tungstenite::client_async_with_config(url, stream, Some(config)).await?;
        Ok(Self(socket))
    }

    /// Opens one to the product's port and connects.
    pub(crate) async fn connect(port: u16, token: &str) -> Result<Self> {
        let mut client = Self::open(port, "/connection/websocket").await?;
        let reply = client.ask(&json!({"id": 1, "connect": {"token": token}})).await?;
        ensure!(reply["connect"].is_object(), "not connected: {reply}");
        Ok(client)
    }

    pub(crate) async fn send(&mut self, text: String) -> Result<()> {
        self.0
            .send(Message::text(text))
            .await
            .context("the socket takes nothing")
    }

    /// The next message, as it came.
    pub(crate) async fn next(&mut self) -> Result<String> {
        loop {
            match self.0.next().await.context("the socket is closed")?? {
                Message::Text(text) => {
                    // The server wants to know whether the client lives.
                    if text.as_str() == "{}" {
                        self.send("{}".to_owned()).await?;
                        continue;
                    }
                    return Ok(text.as_str().to_owned());
                }
                Message::Close(why) => bail!("the socket is closed: {why:?}"),
                _ => {}
            }
        }
    }

    /// Sends a command and gives its reply. Nothing else is on its way.
    pub(crate) async fn ask(&mut self, command: &Value) -> Result<Value> {
        self.send(command.to_string()).await?;
        let reply: Value = serde_json::from_str(&self.next().await?)?;
        ensure!(reply.get("error").is_none(), "{command} failed: {reply}");
        Ok(reply)
    }

    /// The updates after an offset.
    pub(crate) async fn history(
        &mut self,
        channel: &str,
        after: u64,
        epoch: &str,
        limit: usize,
    ) -> Result<Page> {
        #[derive(Deserialize)]
        struct Reply {
            history: Page,
        }
        let since = json!({"offset": after, "epoch": epoch});
        let command = json!({"id": 3, "history": {"channel": channel, "limit": limit, "since": since}});
        self.send(command.to_string()).await?;
        let reply: Reply = serde_json::from_str(&self.next().await?).context("not a page")?;
        Ok(reply.history)
    }
}

/// The ids of the commands that are answered in a frame. Each line begins with it.
pub(crate) fn answered(frame: &str) -> impl Iterator<Item = Result<usize>> {
    frame.split('\n').map(|line| {
        ensure!(!line.contains(r#""error":"#), "a command failed: {line}");
        let id = line
            .strip_prefix(r#"{"id":"#)
            .and_then(|rest| rest.split(',').next());
        id.and_then(|id| id.parse().ok())
            .with_context(|| format!("not a reply: {line}"))
    })
}
