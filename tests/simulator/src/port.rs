//! The way from the executor to the engine: the product's own, unless it is broken on purpose.

use std::sync::Arc;

use async_trait::async_trait;
use rtc_app::EnginePort;
use rtc_executor::{Claimed, OpenCall, Port, PortError};
use rtc_tool::{Progress, ToolError};
use rtc_types::{Code, ProjectId, RtcId, SessionId};
use serde_json::Value;

use crate::Sabotage;

/// The port to an engine.
pub(crate) fn to(engine: EnginePort, sabotage: Sabotage) -> Arc<dyn Port> {
    match sabotage {
        Sabotage::TakesNoTurns => Arc::new(NoTurns(engine)),
        _ => Arc::new(engine),
    }
}

/// Says of each call that it is in a folder of its own.
struct NoTurns(EnginePort);

#[async_trait]
impl Port for NoTurns {
    async fn next(&self, session: SessionId) -> Result<Option<RtcId>, PortError> {
        self.0.next(session).await
    }

    async fn load(&self, rtc: RtcId) -> Result<Option<OpenCall>, PortError> {
        let call = self.0.load(rtc).await?;
        Ok(call.map(|call| OpenCall {
            project: Some(ProjectId::new(rtc.uuid())),
            ..call
        }))
    }

    async fn begun(&self, project: Option<ProjectId>) -> Result<Vec<RtcId>, PortError> {
        self.0.begun(project).await
    }

    async fn claim(
        &self,
        session: SessionId,
        rtc: RtcId,
        attempt: u32,
        mark: Option<(Value, String)>,
    ) -> Result<Claimed, PortError> {
        self.0.claim(session, rtc, attempt, mark).await
    }

    async fn executing(&self, session: SessionId, rtc: RtcId) -> Result<(), PortError> {
        self.0.executing(session, rtc).await
    }

    async fn finish(
        &self,
        session: SessionId,
        rtc: RtcId,
        attempt: u32,
        result: Result<Value, ToolError>,
        seen: Vec<(String, Value)>,
    ) -> Result<(), PortError> {
        self.0.finish(session, rtc, attempt, result, seen).await
    }

    async fn outcome_unknown(
        &self,
        session: SessionId,
        rtc: RtcId,
        evidence: String,
    ) -> Result<(), PortError> {
        self.0.outcome_unknown(session, rtc, evidence).await
    }

    async fn seen(&self, session: SessionId, path: &str) -> Result<Option<Value>, PortError> {
        self.0.seen(session, path).await
    }

    fn trouble(&self, session: SessionId, code: Code, reason: &str) {
        self.0.trouble(session, code, reason);
    }

    fn progress(&self, rtc: RtcId, progress: Progress) {
        self.0.progress(rtc, progress);
    }
}
