//! The way from the executor to the engine: the product's own, unless it is broken on purpose.

use std::sync::Arc;

use async_trait::async_trait;
use rtc_app::EnginePort;
use rtc_executor::{Claimed, OpenCall, Port, PortError, Terms};
use rtc_tool::{Policy, Progress, ToolError};
use rtc_types::{Code, Mode, ProjectId, RtcId, SessionId};
use serde_json::Value;

/// Who waits for a turn before a change.
#[derive(PartialEq)]
pub(crate) enum Turns {
    /// Every session, as it should be.
    All,
    /// None.
    Nobody,
    /// Every one but these.
    AllBut(Vec<SessionId>),
}

impl Turns {
    fn are_taken_by(&self, session: SessionId) -> bool {
        match self {
            Self::All => true,
            Self::Nobody => false,
            Self::AllBut(others) => !others.contains(&session),
        }
    }
}

/// The port to an engine. Of a call that takes no turn it says that it is in a folder of its own; without claims it runs
/// what it is refused.
pub(crate) fn to(engine: EnginePort, turns: Turns, without_claims: bool) -> Arc<dyn Port> {
    if turns == Turns::All && !without_claims {
        return Arc::new(engine);
    }
    Arc::new(Broken {
        engine,
        turns,
        without_claims,
    })
}

struct Broken {
    engine: EnginePort,
    turns: Turns,
    without_claims: bool,
}

#[async_trait]
impl Port for Broken {
    async fn next(&self, session: SessionId) -> Result<Option<RtcId>, PortError> {
        self.engine.next(session).await
    }

    async fn load(&self, rtc: RtcId) -> Result<Option<OpenCall>, PortError> {
        let call = self.engine.load(rtc).await?;
        Ok(call.map(|call| OpenCall {
            project: match self.turns.are_taken_by(call.rtc.session_id) {
                true => call.project,
                false => Some(ProjectId::new(rtc.uuid())),
            },
            ..call
        }))
    }

    async fn begun(&self, project: Option<ProjectId>) -> Result<Vec<RtcId>, PortError> {
        self.engine.begun(project).await
    }

    async fn claim(
        &self,
        session: SessionId,
        rtc: RtcId,
        attempt: u32,
        mark: Option<(Value, String)>,
    ) -> Result<Claimed, PortError> {
        let claimed = self.engine.claim(session, rtc, attempt, mark).await;
        if !self.without_claims {
            return claimed;
        }
        let policy = Policy {
            mode: Mode::Bypass,
            ..Policy::default()
        };
        Ok(Claimed::Yes(Terms {
            policy,
            consent: None,
        }))
    }

    async fn executing(&self, session: SessionId, rtc: RtcId) -> Result<(), PortError> {
        self.engine.executing(session, rtc).await
    }

    async fn finish(
        &self,
        session: SessionId,
        rtc: RtcId,
        attempt: u32,
        result: Result<Value, ToolError>,
        seen: Vec<(String, Value)>,
    ) -> Result<(), PortError> {
        self.engine.finish(session, rtc, attempt, result, seen).await
    }

    async fn outcome_unknown(
        &self,
        session: SessionId,
        rtc: RtcId,
        evidence: String,
    ) -> Result<(), PortError> {
        self.engine.outcome_unknown(session, rtc, evidence).await
    }

    async fn seen(&self, session: SessionId, path: &str) -> Result<Option<Value>, PortError> {
        self.engine.seen(session, path).await
    }

    fn trouble(&self, session: SessionId, code: Code, reason: &str) {
        self.engine.trouble(session, code, reason);
    }

    fn progress(&self, rtc: RtcId, progress: Progress) {
        self.engine.progress(rtc, progress);
    }
}
