//! A clock that only the world moves.

use std::sync::Arc;

use rtc_types::{Clock, Timestamp};

use crate::world::World;

/// When every run begins, in seconds since 1970.
const BEGIN: i64 = 1_760_000_000;

pub(crate) struct WorldClock(pub(crate) Arc<World>);

impl Clock for WorldClock {
    fn now(&self) -> Timestamp {
        self.0.tick();
        self.0.now()
    }

    fn entropy(&self) -> u64 {
        self.0.tick()
    }
}

impl World {
    /// What the clock shows, without moving it.
    pub(crate) fn now(&self) -> Timestamp {
        let tick = self.with(|facts| facts.ticks);
        let ticks = i64::try_from(tick).unwrap_or(i64::MAX);
        let jumped = self.jump.filter(|jump| tick >= jump.at);
        let seconds = BEGIN + jumped.map_or(0, |jump| jump.seconds);
        Timestamp::from_millisecond(seconds * 1_000 + ticks).expect("a run takes less than a year")
    }
}
