//! A clock that only the world moves.

use std::sync::Arc;

use rtc_types::{Clock, Timestamp};

use crate::world::World;

/// When every run begins, in seconds since 1970.
const BEGIN: i64 = 1_760_000_000;

pub(crate) struct WorldClock(pub(crate) Arc<World>);

impl Clock for WorldClock {
    fn now(&self) -> Timestamp {
        let ticks = i64::try_from(self.0.tick()).unwrap_or(i64::MAX);
        Timestamp::from_millisecond(BEGIN * 1_000 + ticks).expect("a run takes less than a year")
    }

    fn entropy(&self) -> u64 {
        self.0.tick()
    }
}
