//! The engine as the executor sees it, in the same process.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use rtc_engine::{Call, Command, Done, Engine, Outcome, SessionState};
use rtc_executor::{Claimed, OpenCall, Port, PortError, Started};
use rtc_tool::{Policy, Progress, ToolError};
use rtc_types::{ApprovalState, RtcId, SessionId};
use serde_json::Value;

/// Reaches the engine once there is one.
#[derive(Clone, Default)]
pub(crate) struct EnginePort(pub(crate) Arc<OnceLock<Engine>>);

impl EnginePort {
    fn engine(&self) -> Result<&Engine, PortError> {
        self.0
            .get()
            .ok_or_else(|| PortError::Later("the engine is not there yet".into()))
    }

    async fn tell(&self, session: SessionId, command: Command) -> Result<Done, PortError> {
        self.engine()?.tell(session, command).await.map_err(port_error)
    }
}

fn port_error(error: rtc_engine::Error) -> PortError {
    match &error {
        rtc_engine::Error::Store(_) => PortError::Later(error.to_string()),
        _ => PortError::Never(error.to_string()),
    }
}

/// The first open call, if an executor has something to do for it.
fn runnable(state: &SessionState) -> Option<&Call> {
    let call = state
        .calls
        .first()
        .filter(|call| !call.claimed && !state.stopping)?;
    let rtc = &call.stored.entity;
    let asked = rtc
        .approval
        .as_ref()
        .is_some_and(|approval| approval.state == ApprovalState::Open);
    (!call.is_for_the_user() && !asked && rtc.outcome.is_none()).then_some(call)
}

#[async_trait]
impl Port for EnginePort {
    async fn next(&self, session: SessionId) -> Result<Option<RtcId>, PortError> {
        let state = self.engine()?.wake(session).await.map_err(port_error)?;
        Ok(runnable(&state).map(|call| call.stored.entity.id))
    }

    async fn load(&self, rtc: RtcId) -> Result<Option<OpenCall>, PortError> {
        let engine = self.engine()?;
        let Some(stored) = engine.rtc(rtc).await.map_err(port_error)? else {
            return Ok(None);
        };
        let state = engine.wake(stored.entity.session_id).await.map_err(port_error)?;
        let Some(call) = runnable(&state).filter(|call| call.stored.entity.id == rtc) else {
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
        let rules = engine.rules(project).await.map_err(port_error)?;
        Ok(Some(OpenCall {
            rtc: rtc.clone(),
            kind: private.kind,
            consent: call.stored.consented(),
            policy: Policy {
                mode: stored_session.entity.mode,
                rules,
                session_rules: stored_session.private.rules.clone(),
            },
            started: private.mark.as_ref().map(|mark| Started {
                attempt: mark.attempt,
                at: mark.started_at,
                args_digest: mark.args_digest.clone(),
                mark: mark.tool.clone(),
            }),
            root,
        }))
    }

    async fn claim(
        &self,
        session: SessionId,
        rtc: RtcId,
        attempt: u32,
        mark: Option<(Value, String)>,
    ) -> Result<Claimed, PortError> {
        match self.tell(session, Command::Claim { rtc, attempt, mark }).await? {
            Done::Claimed => Ok(Claimed::Yes),
            _ => Ok(Claimed::No),
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
        self.engine()?.seen(session, path).await.map_err(port_error)
    }

    fn progress(&self, rtc: RtcId, progress: Progress) {
        if let Some(engine) = self.0.get() {
            engine.tell_progress(rtc, progress);
        }
    }
}
