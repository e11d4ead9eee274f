//! Time and new ids, injected.

use uuid::Uuid;

use crate::Timestamp;

/// Where time and randomness come from. The only implementation that asks the machine is in `rtc-app`; tests and the
/// simulator bring their own.
pub trait Clock: Send + Sync + 'static {
    /// The wall clock. May jump, forwards and backwards: never subtract two of these to get a deadline.
    fn now(&self) -> Timestamp;

    /// 64 random bits.
    fn entropy(&self) -> u64;

    /// Time and randomness for one command.
    fn stamp(&self) -> Stamp {
        Stamp {
            now: self.now(),
            entropy: self.entropy(),
        }
    }
}

/// The time at which a command is applied and the randomness it may use: with the same stamp the same command gives
/// the same ids, so that `apply` stays pure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// When.
    pub now: Timestamp,
    /// Seed of the ids made.
    pub entropy: u64,
}

impl Stamp {
    /// Starts making ids for this command.
    pub fn mint(&self) -> Mint {
        Mint {
            stamp: *self,
            made: 0,
        }
    }
}

/// Makes ids: version 7 UUIDs, ascending in the order in which they are made.
#[derive(Debug)]
pub struct Mint {
    stamp: Stamp,
    made: u16,
}

impl Mint {
    /// The next id, of whatever kind is wanted: `SessionId::new(mint.uuid())`.
    pub fn uuid(&mut self) -> Uuid {
        let millis = u64::try_from(self.stamp.now.as_millisecond()).unwrap_or(0);
        let count = self.made;
        self.made = self.made.wrapping_add(1);
        let mut random = [0u8; 10];
        // The count is in front, so that the ids of one command sort as made; 12 bits of it survive beside the version.
        random[..2].copy_from_slice(&(count & 0x0fff).to_be_bytes());
        random[2..].copy_from_slice(&mix(self.stamp.entropy ^ (u64::from(count) << 48)).to_be_bytes());
        uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
    }
}

/// SplitMix64's finaliser: every input bit changes about half of the output bits.
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_one_command_ascend_and_are_the_same_for_the_same_stamp() {
        let stamp = Stamp {
            now: "2026-01-02T03:04:05Z".parse().unwrap(),
            entropy: 7,
        };
        let make = || {
            let mut mint = stamp.mint();
            (0..100).map(|_| mint.uuid()).collect::<Vec<_>>()
        };
        let ids = make();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(ids, make());
        assert!(ids.iter().all(|id| id.get_version_num() == 7));
    }

    #[test]
    fn another_stamp_in_the_same_millisecond_makes_other_ids() {
        let now = "2026-01-02T03:04:05Z".parse().unwrap();
        assert_ne!(
            Stamp { now, entropy: 1 }.mint().uuid(),
            Stamp { now, entropy: 2 }.mint().uuid()
        );
    }
}
