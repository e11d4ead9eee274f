//! A session whose store failed comes back by itself: nothing stays as if it went on.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rtc_types::SessionId;

use crate::Error;
use crate::engine::{Engine, Inner};
use crate::lane::RETRY_MOST;

/// The sessions that are going to be looked at again, each by one task.
#[derive(Default)]
pub(crate) struct ComingBack(Mutex<HashSet<SessionId>>);

impl ComingBack {
    fn begins(&self, session: SessionId) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(session)
    }

    fn ends(&self, session: SessionId) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&session);
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
    /// After this error the session is woken after 1, 2, 4 … 30 s, until that does or cannot be done.
    pub(crate) fn come_back_after(self: &Arc<Self>, session: SessionId, error: &Error) {
        if !may_pass(error) || !self.coming_back.begins(session) {
            return;
        }
        let engine = Engine { inner: self.clone() };
        tokio::spawn(async move {
            let mut wait = Duration::from_secs(1);
            loop {
                let waited = engine
                    .inner
                    .shutdown
                    .run_until_cancelled(tokio::time::sleep(wait));
                if waited.await.is_none() || !engine.wake(session).await.is_err_and(|error| may_pass(&error))
                {
                    break;
                }
                wait = (wait * 2).min(RETRY_MOST);
            }
            engine.inner.coming_back.ends(session);
        });
    }
}
