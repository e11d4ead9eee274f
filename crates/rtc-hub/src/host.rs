//! The way back: what a running tool asks of the one who called it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use serde_json::Value;

use crate::Outcome;

/// Answers the questions of a running tool: over a connection one after the other, in the order in which they came.
#[async_trait]
pub trait HostCalls: Send + Sync + 'static {
    /// Answers one. `ordinal` is its number among those of the call, from 1.
    async fn call(&self, ordinal: u64, name: &str, arguments: Value) -> Outcome;
}

/// Where a running tool asks: an extension of its [`rtc_tool::CallContext`], in the same process as well as in another.
pub struct Host {
    calls: Arc<dyn HostCalls>,
    last: AtomicU64,
}

impl Host {
    /// A host whose questions are answered by `calls`.
    pub fn new(calls: Arc<dyn HostCalls>) -> Self {
        Self {
            calls,
            last: AtomicU64::new(0),
        }
    }

    /// Asks. The error of a host that has gone says so.
    pub async fn call(&self, name: &str, arguments: Value) -> Outcome {
        let ordinal = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        self.calls.call(ordinal, name, arguments).await
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").finish_non_exhaustive()
    }
}

/// When a call has to end: an extension of its [`rtc_tool::CallContext`], if there is a deadline. A tool that ends by
/// itself then can say what it has done; one that does not is cut off [`crate::SERVER_GRACE`] later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline(pub tokio::time::Instant);
