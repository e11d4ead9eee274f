//! What the engine asks of the program around it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use rtc_engine::{Host, TurnContext};
use rtc_executor::Executor;
use rtc_fs::{Project, VPath};
use rtc_model::{Model, ModelId, ToolSpec};
use rtc_script::Workers;
use rtc_tool::{Consent, Kind, Policy, Registry, Subject, ToolHandle, Verdict, decide};
use rtc_types::{Clock, DeviceId, Preview, RtcId, Session, SessionId};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::port::EnginePort;
use crate::system_prompt::Instructions;
use crate::{Models, system_prompt};

/// How many lines of a project's instructions are read at most.
const INSTRUCTION_LINES: usize = 2_000;

pub(crate) struct AppHost {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) tools: Registry,
    pub(crate) model: ModelId,
    pub(crate) models: Models,
    /// How many replies a new turn may have.
    pub(crate) max_rounds: Option<u32>,
    /// There once the app is open.
    pub(crate) engine: EnginePort,
    pub(crate) executor: Executor,
    /// Those of scripts.
    pub(crate) workers: Workers,
    /// Whether clients that show no approvals ask their users themselves.
    pub(crate) client_approves: bool,
}

impl AppHost {
    /// What the user has decided; `None` where that cannot be read.
    async fn policy(&self, session: &Session) -> Option<Policy> {
        let engine = self.engine.connected()?;
        let stored = engine.session(session.id).await.ok()??;
        engine.policy(&stored).await.ok()
    }

    async fn root(&self, session: &Session) -> Option<PathBuf> {
        let project = self.engine.connected()?.project(session.project_id?).await?;
        Some(PathBuf::from(project.root))
    }
}

#[async_trait]
impl Host for AppHost {
    async fn turn_context(&self, session: &Session) -> TurnContext {
        let root = self.root(session).await;
        let name = root
            .as_ref()
            .and_then(|root| root.file_name())
            .map(|name| name.to_string_lossy().into_owned());
        let instructions = match (&session.agent_prompt, root, self.policy(session).await) {
            (Some(own), ..) => Some(Instructions::OfSession(own.clone())),
            (None, Some(root), Some(policy)) => {
                tokio::task::spawn_blocking(move || instructions(&root, &policy))
                    .await
                    .unwrap_or_default()
                    .map(Instructions::OfProject)
            }
            _ => None,
        };
        let (now, mode) = (self.clock.now(), session.mode);
        let tools = self.tools.describe().into_iter().map(|tool| ToolSpec {
            name: tool.name,
            description: tool.description,
            input_schema: tool.input_schema,
        });
        TurnContext {
            model: self.model.clone(),
            system: system_prompt::build(now, name.as_deref(), mode, instructions.as_ref()),
            tools: tools.collect(),
            mode,
            max_rounds: self.max_rounds,
            cleared: None,
        }
    }

    fn model(&self, id: &ModelId) -> Result<Arc<dyn Model>, rtc_model::Error> {
        self.models.open(id)
    }

    fn tools(&self) -> &Registry {
        &self.tools
    }

    async fn preview(&self, session: &Session, tool: &Arc<dyn ToolHandle>, args: &Value) -> Option<Preview> {
        self.executor
            .preview(session.id, self.root(session).await, tool, args)
            .await
    }

    fn expect(&self, session: SessionId, tool: &str) {
        if tool != rtc_script::TOOL {
            return;
        }
        let (engine, workers) = (self.engine.clone(), self.workers.clone());
        tokio::spawn(async move {
            if engine.runs_here(session).await {
                workers.get_ready().await;
            }
        });
    }

    fn wake(&self, session: SessionId) {
        self.executor.wake(session);
    }

    fn cancel(&self, rtc: RtcId) {
        self.executor.cancel(rtc);
    }

    fn runs_here(&self, device: DeviceId) -> bool {
        self.engine.device() == Some(device)
    }

    fn asks_itself(&self, device: DeviceId) -> bool {
        // As long as it is not known which device this is, none is trusted.
        self.client_approves && self.engine.device().is_some_and(|here| here != device)
    }
}

/// AGENTS.md of the project, as far as it is to be passed on. One that cannot be read, or that leads to a file which a
/// call could not read without asking, is as good as none.
fn instructions(root: &Path, policy: &Policy) -> Option<String> {
    let project = Project::open(root).ok()?;
    let real = project.resolve(&VPath::parse("/AGENTS.md").ok()?).ok()?.path;
    let subject = Subject::read(real.as_str());
    if decide(policy, "read", Kind::Device, &subject, Consent::None) != Verdict::Allow {
        return None;
    }
    let window = project
        .read_window(&real, 1, INSTRUCTION_LINES, &CancellationToken::new())
        .ok()?;
    let mut text = String::new();
    for line in window.lines {
        if text.len() + line.text.len() > system_prompt::INSTRUCTIONS {
            text.push_str("[the rest of AGENTS.md is left out: it is too long]\n");
            break;
        }
        text.push_str(&line.text);
        text.push('\n');
    }
    (!text.trim().is_empty()).then_some(text)
}
