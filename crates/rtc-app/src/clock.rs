//! The machine's clock.

#![allow(clippy::disallowed_methods, reason = "this is the clock of the machine")]

use rtc_types::{Clock, Timestamp};

/// The machine's clock and randomness.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    fn entropy(&self) -> u64 {
        uuid::Uuid::new_v4().as_u64_pair().1
    }
}
