//! Keeping house: what is looked after at the start, and once a day.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use rtc_types::RtcId;
use rtc_wire::rpc::RpcError;

use super::Realtime;
use super::files::{blocking, told};

/// How often it is looked after.
const EVERY: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a failure is kept back: at the end of the program everything fails, and then nothing goes on to tell it.
const TELL_AFTER: Duration = Duration::from_millis(500);

impl Realtime {
    /// Brings undos to their end that were cut short, and from then on lets go what is kept for too long.
    pub(crate) async fn keep_house(self: Arc<Self>) {
        if let Err(error) = self.finish_undos().await {
            tokio::time::sleep(TELL_AFTER).await;
            tracing::warn!(
                error = error.message,
                "an undo that was cut short is not brought to its end"
            );
        }
        loop {
            match self.sweep().await {
                Ok(left) => tracing::debug!(left, "bytes are kept for an undo"),
                Err(error) => {
                    tokio::time::sleep(TELL_AFTER).await;
                    tracing::warn!(error = error.message, "what is kept for an undo is not swept");
                }
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    /// Lets go what is kept for an undo for too long, or is too much, but nothing of a turn that is not over. Gives how many
    /// bytes are left.
    pub(crate) async fn sweep(&self) -> Result<u64, RpcError> {
        let kept = self.place(None, None).await?.pre_images;
        let surveyed = {
            let kept = kept.clone();
            blocking(move |_| kept.survey().map_err(told)).await?
        };
        // After the survey: what begins later is not swept.
        let mut stay: HashSet<RtcId> = HashSet::new();
        for (session, _) in self.engine.unfinished().await? {
            let turn = self.engine.session(session).await?;
            let turn = turn.and_then(|session| session.private.turn);
            let rtcs = self.engine.rtcs(session).await?;
            let open = rtcs.iter().filter(|rtc| Some(rtc.entity.turn_id) == turn);
            stay.extend(open.map(|rtc| rtc.entity.id));
            let kept = kept.clone();
            let undos = blocking(move |_| kept.undos(session).map_err(told)).await?;
            stay.extend(undos.iter().map(|undo| undo.id));
        }
        let (retention, now) = (self.retention, self.clock.now());
        blocking(move |_| kept.sweep(surveyed, &stay, retention, now).map_err(told)).await
    }
}
