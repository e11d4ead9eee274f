//! The machine's clock.

use std::time::{Duration, Instant};

use rtc_types::{Clock, Timestamp};

/// The machine's clock and randomness.
#[derive(Debug)]
pub struct SystemClock {
    started: Instant,
}

impl SystemClock {
    /// A clock whose monotonic time begins now.
    pub fn new() -> Self {
        Self {
            started: Instant::now(),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }

    fn entropy(&self) -> u64 {
        uuid::Uuid::new_v4().as_u64_pair().1
    }
}
