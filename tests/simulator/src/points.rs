//! The moments of a run at which the product can be killed, as far as they are wanted: an image of each costs time.

use fastrand::Rng;
use rtc_store::MemoryStore;

use crate::world::Facts;

/// A moment at which the product can be killed.
#[derive(Debug)]
pub(crate) struct Point {
    /// The effect before it.
    pub(crate) after: String,
    pub(crate) facts: Facts,
    pub(crate) store: MemoryStore,
}

/// Which of them are wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wanted {
    Nothing,
    Everything,
    /// So many, each as likely as any other, chosen by a seed.
    Some(usize, u64),
}

/// Those that were taken.
pub(crate) struct Points {
    wanted: Wanted,
    rng: Rng,
    seen: usize,
    taken: Vec<Point>,
}

impl Points {
    pub(crate) fn new(wanted: Wanted) -> Self {
        let seed = match wanted {
            Wanted::Some(_, seed) => seed,
            Wanted::Nothing | Wanted::Everything => 0,
        };
        Self {
            wanted,
            rng: Rng::with_seed(seed),
            seen: 0,
            taken: Vec::new(),
        }
    }

    pub(crate) fn are_wanted(&self) -> bool {
        !matches!(self.wanted, Wanted::Nothing)
    }

    /// Whether the next one is wanted, and in whose place: behind all others, or instead of one that was taken.
    pub(crate) fn next(&mut self) -> Option<usize> {
        self.seen += 1;
        match self.wanted {
            Wanted::Nothing => None,
            Wanted::Everything => Some(self.taken.len()),
            Wanted::Some(count, _) if self.taken.len() < count => Some(self.taken.len()),
            Wanted::Some(count, _) => Some(self.rng.usize(..self.seen)).filter(|place| *place < count),
        }
    }

    pub(crate) fn take(&mut self, place: usize, point: Point) {
        match self.taken.get_mut(place) {
            Some(former) => *former = point,
            None => self.taken.push(point),
        }
    }

    pub(crate) fn taken(&mut self) -> Vec<Point> {
        std::mem::take(&mut self.taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(wanted: Wanted, count: usize) -> Vec<Option<usize>> {
        let mut points = Points::new(wanted);
        let point = || Point {
            after: String::new(),
            facts: Facts::default(),
            store: MemoryStore::new(),
        };
        let place = |points: &mut Points| {
            let place = points.next();
            place.into_iter().for_each(|place| points.take(place, point()));
            place
        };
        (0..count).map(|_| place(&mut points)).collect()
    }

    #[test]
    fn all_none_or_some_are_taken() {
        assert_eq!(places(Wanted::Nothing, 3), [None; 3]);
        assert_eq!(places(Wanted::Everything, 3), [Some(0), Some(1), Some(2)]);
        assert_eq!(places(Wanted::Some(2, 7), 2), [Some(0), Some(1)]);
    }

    #[test]
    fn each_is_as_likely_as_any_other() {
        let mut last = [0_u32; 6];
        for seed in 0..6_000 {
            let mut kept = [None; 2];
            for (number, place) in places(Wanted::Some(2, seed), 6).into_iter().enumerate() {
                place.into_iter().for_each(|place| kept[place] = Some(number));
            }
            kept.into_iter().flatten().for_each(|number| last[number] += 1);
        }
        // 2,000 each; ten deviations are far more than chance makes.
        assert!(
            last.iter().all(|count| (1_600..2_400).contains(count)),
            "{last:?}"
        );
    }
}
