//! Waiting for what gives no signal.

use std::time::{Duration, Instant};

/// The longest wait for anything. Far more than anything needs: whoever waits that long hangs.
pub(crate) const LONGEST: Duration = Duration::from_secs(60);

/// How often is looked.
const INTERVAL: Duration = Duration::from_millis(20);

/// Looks for so long until there is something.
pub(crate) fn until_within<T>(time: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        let found = look();
        if found.is_some() || start.elapsed() > time {
            return found;
        }
        std::thread::sleep(INTERVAL);
    }
}

/// Looks until there is something, and gives it.
///
/// # Panics
/// If there is nothing after a generous time; `what` says what was waited for.
pub(crate) fn until<T>(what: impl std::fmt::Display, look: impl FnMut() -> Option<T>) -> T {
    until_within(LONGEST, look).unwrap_or_else(|| panic!("waited too long: {what}"))
}

/// Looks until something holds.
pub(crate) fn until_true(what: impl std::fmt::Display, mut look: impl FnMut() -> bool) {
    until(what, || look().then_some(()));
}
