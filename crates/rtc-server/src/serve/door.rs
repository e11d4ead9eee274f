//! How many guests there are, and who has to go when there are too many: those who came and have not yet said what they
//! want, the longest waiting first.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// How many sockets are open at once.
pub(super) const GUESTS: usize = 256;

/// How many come in within a second; who comes then waits for the next.
const ARRIVALS_A_SECOND: u32 = 500;

/// Lets guests in.
pub(super) struct Door {
    places: Arc<Semaphore>,
    waiting: Arc<Waiting>,
    arrivals: u64,
    pace: Pace,
}

#[derive(Default)]
struct Waiting(Mutex<BTreeMap<u64, CancellationToken>>);

impl Waiting {
    fn list(&self) -> MutexGuard<'_, BTreeMap<u64, CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A guest who has not yet said what he wants; dropped when he has, or is gone.
pub(super) struct Newcomer {
    number: u64,
    waiting: Arc<Waiting>,
    /// Cancelled when he has to go.
    pub(super) sent_away: CancellationToken,
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        self.waiting.list().remove(&self.number);
    }
}

impl Door {
    pub(super) fn new(guests: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(guests)),
            waiting: Arc::default(),
            arrivals: 0,
            pace: Pace::default(),
        }
    }

    /// A place for one more, for which another one may have to go; nothing if all know what they want.
    pub(super) async fn enter(&mut self) -> Option<(OwnedSemaphorePermit, Newcomer)> {
        self.pace.step().await;
        let permit = match self.places.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                let (_, sent_away) = self.waiting.list().pop_first()?;
                sent_away.cancel();
                // He has said nothing and is told nothing: his place is free at once.
                self.places.clone().acquire_owned().await.ok()?
            }
        };
        self.arrivals += 1;
        let newcomer = Newcomer {
            number: self.arrivals,
            waiting: self.waiting.clone(),
            sent_away: CancellationToken::new(),
        };
        self.waiting
            .list()
            .insert(newcomer.number, newcomer.sent_away.clone());
        Some((permit, newcomer))
    }
}

/// Slows down who comes in too large a number.
#[derive(Default)]
struct Pace {
    second: Option<Instant>,
    arrivals: u32,
}

impl Pace {
    async fn step(&mut self) {
        const SECOND: Duration = Duration::from_secs(1);
        let now = Instant::now();
        let second = match self.second {
            Some(second) if now < second + SECOND => second,
            _ => {
                self.arrivals = 0;
                *self.second.insert(now)
            }
        };
        self.arrivals += 1;
        if self.arrivals > ARRIVALS_A_SECOND {
            sleep_until(second + SECOND).await;
            self.second = Some(Instant::now());
            self.arrivals = 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_waits_longest_has_to_go_when_there_is_no_place() {
        let mut door = Door::new(2);
        let (first_place, first) = door.enter().await.unwrap();
        let (_second_place, second) = door.enter().await.unwrap();
        let gone = first.sent_away.clone();
        let leaving = async {
            gone.cancelled().await;
            drop((first_place, first));
        };
        let (third, ()) = tokio::join!(door.enter(), leaving);
        let (_third_place, third) = third.unwrap();
        assert!(!second.sent_away.is_cancelled());
        // Now both know what they want.
        drop((second, third));
        assert!(door.enter().await.is_none());
        assert!(door.waiting.list().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn too_many_at_once_wait_for_the_next_second() {
        let mut door = Door::new(1);
        let begin = Instant::now();
        for _ in 0..ARRIVALS_A_SECOND {
            door.enter().await;
        }
        assert_eq!(begin.elapsed(), Duration::ZERO);
        door.enter().await;
        assert_eq!(begin.elapsed(), Duration::from_secs(1));
    }
}
