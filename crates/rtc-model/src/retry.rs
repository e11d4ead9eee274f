//! How often and when a request is sent again.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

/// How often a request is sent at most.
pub(crate) const ATTEMPTS: u32 = 4;
/// The wait after the first attempt is at most this …
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// … doubles with each further one, and never exceeds this.
const MOST_WAIT: Duration = Duration::from_secs(8);
/// A provider that asks for a longer wait than this is not waited for: the user is told instead.
const MOST_ASKED: Duration = Duration::from_secs(60);

/// How long to wait after an attempt (from 0) that failed: a random part of a bound that doubles, after what the
/// provider asked for. `None` if it is not worth the wait. `random` is any number.
pub(crate) fn wait(attempt: u32, asked: Option<Duration>, random: u64) -> Option<Duration> {
    if attempt + 1 >= ATTEMPTS || asked.is_some_and(|asked| asked > MOST_ASKED) {
        return None;
    }
    let bound = FIRST_WAIT.saturating_mul(1 << attempt.min(16)).min(MOST_WAIT);
    let part = bound.mul_f64((random % 1_000) as f64 / 1_000.0);
    Some(asked.unwrap_or_default() + part)
}

/// How long to wait before a reply that broke off after `attempt` others (from 0) is asked for again; `None`: it is not.
/// `random` is any number.
pub fn wait_after(attempt: u32, random: u64) -> Option<Duration> {
    wait(attempt, None, random)
}

/// A number that differs each time: clients that failed together do not come back together.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// What `Retry-After` (seconds or a date) or `retry-after-ms` asks for. A date is read against the `Date` of the same
/// answer, so that a wrong clock here does not matter.
pub(crate) fn asked(header: impl Fn(&str) -> Option<String>) -> Option<Duration> {
    let number = |name: &str| {
        header(name)?
            .trim()
            .parse::<f64>()
            .ok()
            .filter(|n| (0.0..1e9).contains(n))
    };
    if let Some(milliseconds) = number("retry-after-ms") {
        return Some(Duration::from_secs_f64(milliseconds / 1_000.0));
    }
    if let Some(seconds) = number("retry-after") {
        return Some(Duration::from_secs_f64(seconds));
    }
    let date = |name: &str| jiff::fmt::rfc2822::parse(header(name)?.trim()).ok();
    let (until, now) = (date("retry-after")?, date("date")?);
    let seconds = until.timestamp().as_second() - now.timestamp().as_second();
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn asked_by(headers: &[(&str, &str)]) -> Option<Duration> {
        asked(|name| {
            headers
                .iter()
                .find(|header| header.0 == name)
                .map(|header| header.1.to_owned())
        })
    }

    #[test]
    fn a_provider_can_ask_for_a_wait_in_three_ways() {
        let now = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        type Headers<'t> = &'t [(&'t str, &'t str)];
        let table: &[(Headers<'_>, Option<u64>)] = &[
            (&[], None),
            (&[("retry-after", "2")], Some(2_000)),
            (&[("retry-after", " 0.5 ")], Some(500)),
            (&[("retry-after-ms", "250"), ("retry-after", "9")], Some(250)),
            (
                &[("retry-after", "Sun, 06 Nov 1994 08:49:57 GMT"), now],
                Some(20_000),
            ),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:07 GMT"), now], Some(0)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:57 GMT")], None),
            (&[("retry-after", "soon"), now], None),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "1e300")], None),
        ];
        for (headers, milliseconds) in table {
            assert_eq!(
                asked_by(headers),
                milliseconds.map(Duration::from_millis),
                "{headers:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_wait_is_bounded_and_never_shorter_than_asked(attempt in 0..10_u32, asked in 0..100_u64, random: u64) {
            let asked = Duration::from_secs(asked);
            match wait(attempt, Some(asked), random) {
                Some(wait) => {
                    prop_assert!(attempt + 1 < ATTEMPTS && asked <= MOST_ASKED);
                    prop_assert!(wait >= asked && wait <= asked + MOST_WAIT);
                }
                None => prop_assert!(attempt + 1 >= ATTEMPTS || asked > MOST_ASKED),
            }
        }
    }

    #[test]
    fn the_jitter_is_full_and_doubles() {
        assert_eq!(wait(0, None, 0), Some(Duration::ZERO));
        assert_eq!(wait(0, None, 500), Some(FIRST_WAIT / 2));
        assert_eq!(wait(2, None, 500), Some(FIRST_WAIT * 2));
    }
}
