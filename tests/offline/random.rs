//! Chance that can be repeated, and words that no phrase can know.

use std::hash::{BuildHasher, RandomState};

/// Seeds that every run takes.
const FIXED: [u64; 3] = [1, 20, 300];

/// The variable that names the one seed to take.
const VARIABLE: &str = "RTC_TEST_SEED";

/// The seeds of this run: the fixed ones and a fresh one, or the one that the environment names.
pub(crate) fn seeds() -> Vec<u64> {
    if let Ok(named) = std::env::var(VARIABLE) {
        return vec![named.parse().expect("RTC_TEST_SEED is a number")];
    }
    let mut seeds = FIXED.to_vec();
    seeds.push(RandomState::new().hash_one("a fresh seed") >> 32);
    seeds
}

/// What to tell when something fails under a seed.
pub(crate) fn again(seed: u64) -> String {
    format!("to run this seed alone: {VARIABLE}={seed}")
}

/// A sequence of numbers that a seed determines (SplitMix64).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// The sequence of a seed for one of its cases.
    pub(crate) fn new(seed: u64, case: &str) -> Random {
        let bytes = case.bytes();
        let mixed = bytes.fold(seed, |mixed, byte| {
            (mixed ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Random(mixed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).expect("below a usize")
    }

    /// True once in `times`.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// One of several.
    pub(crate) fn pick<'i, T>(&mut self, items: &'i [T]) -> &'i T {
        &items[self.below(items.len())]
    }
}

/// What a word is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// A word of a text.
    Text,
    /// The name of a file or folder.
    Name,
    /// A name that is also written in other letters: upper and lower case of it are plain.
    PlainName,
}

/// Words none of which occurs in another one.
#[derive(Debug, Clone)]
pub(crate) struct Words {
    random: Random,
    given: Vec<String>,
}

impl Words {
    /// Words by chance.
    pub(crate) fn new(random: Random) -> Words {
        let given = Vec::new();
        Words { random, given }
    }

    /// A new word.
    pub(crate) fn word(&mut self, of: Use) -> String {
        loop {
            let word = self.made_up(of);
            let lower = word.to_lowercase();
            let overlaps = |given: &String| given.contains(&lower) || lower.contains(given.as_str());
            if !self.given.iter().any(overlaps) {
                self.given.push(lower);
                return word;
            }
        }
    }

    /// Syllables without an `e`: so no word is one of the planner's own (rename, remove, locate …).
    fn made_up(&mut self, of: Use) -> String {
        let random = &mut self.random;
        let mut word = String::new();
        for _ in 0..3 + random.below(3) {
            word.push(char::from(*random.pick(b"bdfgjklmnprstvwz")));
            word.push(char::from(*random.pick(b"aiou")));
        }
        if of == Use::PlainName {
            return word;
        }
        match random.below(8) {
            0 => word.push_str(&random.below(1_000).to_string()),
            1 => word.insert(2, '_'),
            2 => word.insert(3, *random.pick(&['é', 'ö', 'ж', 'λ'])),
            3 if of == Use::Name => word.insert(4, '-'),
            4 if of == Use::Name => word = word[..1].to_uppercase() + &word[1..],
            5 if of == Use::Name => word.insert_str(0, &random.below(100).to_string()),
            _ => {}
        }
        word
    }
}
