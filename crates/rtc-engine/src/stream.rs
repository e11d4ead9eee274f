//! Where the user's stream stands, as those who follow it are woken.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rtc_realtime::Position;
use rtc_store::{Epoch, Offset, Revision};
use tokio::sync::watch;

/// The position of the user's stream. Its epoch is the store's, and the last commit that began the stream anew.
pub(crate) struct Stream {
    store: Epoch,
    renewed: AtomicU64,
    position: watch::Sender<Position>,
}

impl Stream {
    pub(crate) fn new(stands: rtc_store::Position, renewed: Option<Revision>) -> Self {
        let position = Position {
            offset: stands.offset.0,
            epoch: epoch(&stands.epoch, renewed),
        };
        Self {
            store: stands.epoch,
            renewed: AtomicU64::new(renewed.unwrap_or_default().0),
            position: watch::Sender::new(position),
        }
    }

    pub(crate) fn position(&self) -> watch::Receiver<Position> {
        self.position.subscribe()
    }

    /// A commit, which sessions tell of in any order: the last row it appended, and whether it began the stream anew.
    pub(crate) fn committed(&self, offset: Offset, renewed: Option<Revision>) {
        self.position.send_if_modified(|position| {
            let mut moved = offset.0 > position.offset;
            position.offset = position.offset.max(offset.0);
            if let Some(revision) = renewed
                && self.renewed.fetch_max(revision.0, Ordering::Relaxed) < revision.0
            {
                position.epoch = epoch(&self.store, renewed);
                moved = true;
            }
            moved
        });
    }
}

fn epoch(store: &Epoch, renewed: Option<Revision>) -> Arc<str> {
    match renewed {
        Some(Revision(revision)) => format!("{store}.{revision}").into(),
        None => store.to_string().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_clearing_counts_in_whatever_order_they_are_told() {
        let stands = rtc_store::Position {
            epoch: Epoch("store".into()),
            offset: Offset(4),
        };
        let stream = Stream::new(stands.clone(), None);
        let mut position = stream.position();
        let at = |position: &Position| (position.offset, position.epoch.to_string());
        stream.committed(Offset(7), Some(Revision(12)));
        stream.committed(Offset(6), Some(Revision(11)));
        assert_eq!(at(&position.borrow_and_update()), (7, "store.12".into()));
        stream.committed(Offset(5), None);
        assert!(!position.has_changed().unwrap(), "nothing is new");
        let again = Stream::new(stands, Some(Revision(12)));
        assert_eq!(at(&again.position().borrow()), (4, "store.12".into()));
    }
}
