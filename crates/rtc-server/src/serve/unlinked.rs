//! What clients get until the engine's own stream and methods are reached from here: no updates, no methods.

use std::ops::RangeInclusive;
use std::sync::Arc;

use async_trait::async_trait;
use rtc_realtime::{Caller, Error, LiveEvent, LiveText, Position, Row, Rpc, RpcError, Source, Sources};
use rtc_types::{Code, MessageId, UserId};
use serde_json::Value;
use tokio::sync::{broadcast, watch};

/// Streams in which nothing happens.
pub(super) struct NoUpdates(Arc<NoUpdate>);

struct NoUpdate {
    position: watch::Sender<Position>,
    live: broadcast::Sender<LiveEvent>,
}

impl Default for NoUpdates {
    fn default() -> Self {
        let position = Position {
            offset: 0,
            epoch: "0".into(),
        };
        Self(Arc::new(NoUpdate {
            position: watch::Sender::new(position),
            live: broadcast::Sender::new(1),
        }))
    }
}

#[async_trait]
impl Sources for NoUpdates {
    async fn source(&self, _user: UserId) -> Option<Arc<dyn Source>> {
        Some(self.0.clone())
    }
}

#[async_trait]
impl Source for NoUpdate {
    fn position(&self) -> watch::Receiver<Position> {
        self.position.subscribe()
    }

    async fn updates(&self, _caller: &Caller, _after: u64, _limit: usize) -> Result<Vec<Row>, Error> {
        Ok(Vec::new())
    }

    fn live(&self) -> broadcast::Receiver<LiveEvent> {
        self.live.subscribe()
    }

    async fn text(&self, _message: MessageId) -> Option<LiveText> {
        None
    }

    fn delivered(&self, _caller: &Caller, _offsets: RangeInclusive<u64>) {}
}

/// No method.
pub(super) struct NoMethods;

#[async_trait]
impl Rpc for NoMethods {
    async fn call(&self, _caller: &Caller, method: &str, _data: Value) -> Result<Value, RpcError> {
        let method: String = method.chars().take(80).collect();
        Err(RpcError {
            code: Code::MethodNotFound,
            message: format!("there is no method `{method}`"),
            details: None,
        })
    }
}
