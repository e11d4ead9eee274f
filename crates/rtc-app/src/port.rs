//! The engine as the executor sees it, in the same process.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use rtc_engine::{
    Call, Command, Done, Engine, Error, Outcome, SessionState, StoredRtc, StoredSession, WeakEngine,
};
use rtc_executor::{Claimed, OpenCall, Port, PortError, Started, Terms};
use rtc_tool::{Access, Progress, ToolError};
use rtc_types::{Code, DeviceId, ProjectId, RtcId, SessionId};
use serde_json::Value;

/// How long it waits at most until it reads again what could not be read.
const RETRY_MOST: Duration = Duration::from_secs(30);

/// Reaches the engine once there is one: the engine is made after the executor that it wakes. It does not keep it, since
/// the engine's host holds the executor, which holds this.
#[derive(Clone, Default)]
pub struct EnginePort(Arc<OnceLock<(WeakEngine, DeviceId)>>);

impl EnginePort {
    /// From now on it reaches this engine, for this device; an earlier one stays.
    pub fn connect(&self, engine: &Engine, device: DeviceId) {
        let _ = self.0.set((engine.downgrade(), device));
    }

    /// The engine, once there is one and as long as there is.
    pub(crate) fn connected(&self) -> Option<Engine> {
        self.0.get()?.0.upgrade()
    }

    /// This device, once there is an engine.
    pub(crate) fn device(&self) -> Option<DeviceId> {
        self.0.get().map(|(_, device)| *device)
    }

    /// The call that is next, if it runs on this device: each runs on that of its session.
    fn next_here<'s>(&self, state: &'s SessionState) -> Option<&'s Call> {
        let (_, device) = self.0.get()?;
        state
            .next_for_executor()
            .filter(|call| call.stored.entity.device_id == *device)
    }

    /// Whether the calls of a session run on this device.
    pub(crate) async fn runs_here(&self, session: SessionId) -> bool {
        let (Some(engine), Some((_, device))) = (self.connected(), self.0.get()) else {
            return false;
        };
        let session = engine.session(session).await;
        matches!(session, Ok(Some(session)) if session.entity.device_id == *device)
    }

    fn engine(&self) -> Result<Engine, PortError> {
        let (engine, _) = self.0.get().ok_or_else(|| PortError::Later {
            code: Code::Internal,
            reason: "the engine is not there yet".into(),
        })?;
        engine
            .upgrade()
            .ok_or_else(|| PortError::Never("the engine has ended".into()))
    }

    async fn terms(&self, session: &StoredSession, call: &Call) -> Result<Terms, PortError> {
        let policy = self
            .engine()?
            .policy(session)
            .await
            .map_err(|error| self.error(error))?;
        let consent = call.stored.consented();
        let consent = match call.stored.private.subject.access {
            Access::Read | Access::Write => consent,
            // A Yes to running a program is none to changing it, or any other path.
            Access::Exec => consent.map(|_| Vec::new()),
        };
        Ok(Terms { policy, consent })
    }

    /// What a call may do that was claimed.
    async fn claimed(&self, session: SessionId, rtc: RtcId) -> Result<Claimed, PortError> {
        let state = self
            .engine()?
            .wake(session)
            .await
            .map_err(|error| self.error(error))?;
        match (&state.session, state.call(rtc)) {
            (Some(session), Some(call)) => Ok(Claimed::Yes(self.terms(session, call).await?)),
            // It was stopped since.
            _ => Ok(Claimed::No),
        }
    }

    async fn tell(&self, session: SessionId, command: Command) -> Result<Done, PortError> {
        self.engine()?
            .tell(session, command)
            .await
            .map_err(|error| self.error(error))
    }

    fn error(&self, error: Error) -> PortError {
        let reason = error.to_string();
        match &error {
            // There may be room later, and what could not be read may be read then. A store that has failed to write says by
            // then that it has stopped.
            Error::Store(store)
                if matches!(**store, rtc_store::Error::Full | rtc_store::Error::Io { .. }) =>
            {
                let code = error.code();
                PortError::Later { code, reason }
            }
            // A lane that failed, and comes back.
            Error::Ended if self.connected().is_some_and(|engine| !engine.has_ended()) => PortError::Later {
                code: Code::Internal,
                reason,
            },
            _ => PortError::Never(reason),
        }
    }
}

#[async_trait]
impl Port for EnginePort {
    async fn next(&self, session: SessionId) -> Result<Option<RtcId>, PortError> {
        let state = self
            .engine()?
            .wake(session)
            .await
            .map_err(|error| self.error(error))?;
        Ok(self.next_here(&state).map(|call| call.stored.entity.id))
    }

    async fn load(&self, rtc: RtcId) -> Result<Option<OpenCall>, PortError> {
        let engine = self.engine()?;
        let Some(stored) = engine.rtc(rtc).await.map_err(|error| self.error(error))? else {
            return Ok(None);
        };
        if !stored.is_settled() {
            // What is prepared from here on is what was looked at.
            engine.settle(&stored).await.map_err(|error| self.error(error))?;
        }
        let state = engine
            .wake(stored.entity.session_id)
            .await
            .map_err(|error| self.error(error))?;
        let Some(call) = self.next_here(&state).filter(|call| call.stored.entity.id == rtc) else {
            return Ok(None);
        };
        let Some(stored_session) = &state.session else {
            return Ok(None);
        };
        let (rtc, private) = (&call.stored.entity, &call.stored.private);
        let project = stored_session.entity.project_id;
        let root = match project {
            Some(project) => engine
                .project(project)
                .await
                .map(|project| PathBuf::from(project.root)),
            None => None,
        };
        Ok(Some(OpenCall {
            rtc: rtc.clone(),
            kind: private.kind,
            access: private.subject.access,
            project,
            tree: stored_session.entity.tree(),
            terms: self.terms(stored_session, call).await?,
            started: private.mark.as_ref().map(|mark| Started {
                attempt: mark.attempt,
                at: mark.started_at,
                args_digest: mark.args_digest.clone(),
                mark: mark.tool.clone(),
            }),
            root,
        }))
    }

    async fn begun(&self, project: Option<ProjectId>) -> Result<Vec<RtcId>, PortError> {
        let begun = self
            .engine()?
            .begun(project)
            .await
            .map_err(|error| self.error(error))?;
        let here = |call: &StoredRtc| self.device() == Some(call.entity.device_id);
        Ok(begun
            .iter()
            .filter(|call| here(call))
            .map(|call| call.entity.id)
            .collect())
    }

    async fn claim(
        &self,
        session: SessionId,
        rtc: RtcId,
        attempt: u32,
        mark: Option<(Value, String)>,
    ) -> Result<Claimed, PortError> {
        if self.tell(session, Command::Claim { rtc, attempt, mark }).await? != Done::Claimed {
            return Ok(Claimed::No);
        }
        // From here on nobody else begins it, so what it may do is read until it can be.
        let mut wait = Duration::from_secs(1);
        loop {
            match self.claimed(session, rtc).await {
                Err(PortError::Later { code, reason }) => {
                    self.trouble(session, code, &reason);
                    tokio::time::sleep(wait).await;
                    wait = (wait * 2).min(RETRY_MOST);
                }
                claimed => return claimed,
            }
        }
    }

    async fn executing(&self, session: SessionId, rtc: RtcId) -> Result<(), PortError> {
        self.tell(session, Command::Executing { rtc }).await.map(|_| ())
    }

    async fn finish(
        &self,
        session: SessionId,
        rtc: RtcId,
        attempt: u32,
        result: Result<Value, ToolError>,
        seen: Vec<(String, Value)>,
    ) -> Result<(), PortError> {
        let outcome = Outcome { result, seen };
        self.tell(
            session,
            Command::Finish {
                rtc,
                attempt,
                outcome,
            },
        )
        .await
        .map(|_| ())
    }

    async fn outcome_unknown(
        &self,
        session: SessionId,
        rtc: RtcId,
        evidence: String,
    ) -> Result<(), PortError> {
        self.tell(session, Command::OutcomeUnknown { rtc, evidence })
            .await
            .map(|_| ())
    }

    async fn seen(&self, session: SessionId, path: &str) -> Result<Option<Value>, PortError> {
        self.engine()?
            .seen(session, path)
            .await
            .map_err(|error| self.error(error))
    }

    fn trouble(&self, session: SessionId, code: Code, reason: &str) {
        if let Some(engine) = self.connected() {
            engine.tell_trouble(session, code, reason.to_owned());
        }
    }

    fn progress(&self, rtc: RtcId, progress: Progress) {
        if let Some(engine) = self.connected() {
            engine.tell_progress(rtc, progress);
        }
    }
}

#[cfg(test)]
mod tests;
