//! What a call gives while and when it ends: `Progress*`, then exactly one `Terminal`.

use std::pin::Pin;

use futures::{Stream, StreamExt};
use rtc_types::Progress;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::ToolError;

/// How many items of progress may wait for their reader. At the bound the tool waits.
pub const PROGRESS_QUEUE: usize = 64;

/// One item of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolStreamItem {
    /// It goes on.
    Progress(Progress),
    /// It has ended.
    Terminal(Result<Value, ToolError>),
}

/// The items of a call.
pub type ToolStream = Pin<Box<dyn Stream<Item = ToolStreamItem> + Send>>;

/// The way for a tool to tell of progress.
#[derive(Debug, Clone)]
pub struct ProgressSender(mpsc::Sender<Progress>);

impl ProgressSender {
    pub(crate) fn new() -> (Self, mpsc::Receiver<Progress>) {
        let (sender, receiver) = mpsc::channel(PROGRESS_QUEUE);
        (Self(sender), receiver)
    }

    /// Waits for room. Does nothing when nobody reads any more.
    pub async fn send(&self, progress: Progress) {
        let _ = self.0.send(progress).await;
    }

    /// The same from a thread that may block.
    pub fn send_blocking(&self, progress: Progress) {
        let _ = self.0.blocking_send(progress);
    }
}

/// The end of a call, its progress dropped.
pub async fn terminal_of(mut stream: ToolStream) -> Result<Value, ToolError> {
    while let Some(item) = stream.next().await {
        if let ToolStreamItem::Terminal(result) = item {
            return result;
        }
    }
    Err(ToolError::execution("the tool ended without a result"))
}
