//! A session whose store failed comes back by itself: nothing stays as if it went on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rtc_types::{SessionId, TurnId};
use tokio::sync::watch;

use crate::Error;
use crate::engine::{Engine, Inner};
use crate::lane::RETRY_MOST;

/// The sessions that are looked after, each by one task, which is told of each further failure.
#[derive(Default)]
pub(crate) struct ComingBack(Mutex<HashMap<SessionId, watch::Sender<()>>>);

impl ComingBack {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, watch::Sender<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whoever looks after the session; if nobody does, the caller has to, and is told from now on.
    fn begins(&self, session: SessionId) -> Option<watch::Receiver<()>> {
        let mut sessions = self.lock();
        if let Some(failures) = sessions.get(&session) {
            failures.send_replace(());
            return None;
        }
        let (failures, told) = watch::channel(());
        sessions.insert(session, failures);
        Some(told)
    }

    /// Nobody looks after the session any more, unless it has failed again meanwhile. Gives whether that is so.
    fn ends(&self, session: SessionId, told: &watch::Receiver<()>) -> bool {
        let mut sessions = self.lock();
        let has_failed = told.has_changed().unwrap_or(false);
        if !has_failed {
            sessions.remove(&session);
        }
        !has_failed
    }
}

/// How often the model is asked for one reply that the store then cannot take. Each request is paid for.
const MOST_LOST: u32 = 4;

/// The replies that were asked for and have not come to their sessions.
#[derive(Default)]
pub(crate) struct Awaited(Mutex<HashMap<SessionId, (TurnId, u32)>>);

impl Awaited {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, (TurnId, u32)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next reply of a turn is asked for, if it was not lost too often. Gives whether it is.
    pub(crate) fn begins(&self, session: SessionId, turn: TurnId) -> bool {
        let mut awaited = self.lock();
        let asked = awaited.entry(session).or_insert((turn, 0));
        if asked.0 != turn {
            *asked = (turn, 0);
        }
        let may_be_asked = asked.1 < MOST_LOST;
        asked.1 += u32::from(may_be_asked);
        may_be_asked
    }

    /// The session knows what became of it, or waits for none any more.
    pub(crate) fn ends(&self, session: SessionId) {
        self.lock().remove(&session);
    }
}

/// Whether a failure may pass: a device that does not answer once. What is damaged stays so, and a store that has stopped
/// is opened again by the next start only.
fn may_pass(error: &Error) -> bool {
    match error {
        Error::Store(error) => matches!(**error, rtc_store::Error::Io { .. }),
        Error::Refused { .. } | Error::Unreadable(_) | Error::Ended => false,
    }
}

impl Inner {
    /// After this error the session is woken after 1, 2, 4 … 30 s, until that does or cannot be done. It is looked after
    /// until it has gone on for 30 s: if it fails again before, the pauses go on to grow.
    pub(crate) fn come_back_after(self: &Arc<Self>, session: SessionId, error: &Error) {
        if !may_pass(error) {
            return;
        }
        let Some(told) = self.coming_back.begins(session) else {
            return;
        };
        let engine = Engine { inner: self.clone() };
        let shutdown = self.shutdown.clone();
        tokio::spawn(shutdown.run_until_cancelled_owned(look_after(engine, session, told)));
    }
}

async fn look_after(engine: Engine, session: SessionId, mut told: watch::Receiver<()>) {
    let mut wait = Duration::from_secs(1);
    loop {
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(RETRY_MOST);
        told.mark_unchanged();
        match engine.wake(session).await {
            Ok(_) => {
                // It may fail again soon.
                if let Ok(Ok(())) = tokio::time::timeout(RETRY_MOST, told.changed()).await {
                    continue;
                }
            }
            // A lane that ended before it was ready has failed again.
            Err(error) if may_pass(&error) || matches!(error, Error::Ended) => continue,
            Err(_) => told.mark_unchanged(),
        }
        if engine.inner.coming_back.ends(session, &told) {
            return;
        }
    }
}
