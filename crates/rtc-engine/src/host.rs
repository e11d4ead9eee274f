//! What the engine asks of the program around it.

use std::sync::Arc;

use async_trait::async_trait;
use rtc_model::{Model, ModelId};
use rtc_tool::{Registry, ToolHandle};
use rtc_types::{DeviceId, Preview, RtcId, Session, SessionId};
use serde_json::Value;

use crate::stored::TurnContext;

/// What the engine asks of the program around it. It opens no path and knows no provider itself.
#[async_trait]
pub trait Host: Send + Sync + 'static {
    /// Everything of a turn's requests but the conversation; it is frozen with the turn.
    async fn turn_context(&self, session: &Session) -> TurnContext;

    /// The model of this name; the error is what the user is told.
    fn model(&self, id: &ModelId) -> Result<Arc<dyn Model>, rtc_model::Error>;

    /// The tools there are.
    fn tools(&self) -> &Registry;

    /// What an approval shows of a call.
    async fn preview(&self, session: &Session, tool: &Arc<dyn ToolHandle>, args: &Value) -> Option<Preview>;

    /// A call of this tool is being written: what takes long to start may be started. Must not wait.
    fn expect(&self, _session: SessionId, _tool: &str) {}

    /// A call of this session may be ready to run. Must not wait.
    fn wake(&self, session: SessionId);

    /// This call is to end. Must not wait.
    fn cancel(&self, rtc: RtcId);

    /// Whether this program itself runs the calls of a device. That such a call was sent is not worth a commit of its own.
    fn runs_here(&self, device: DeviceId) -> bool {
        let _ = device;
        false
    }

    /// Whether a device that shows no approvals is trusted to ask its user itself about the calls that it executes. Never
    /// one whose calls run here.
    fn asks_itself(&self, device: DeviceId) -> bool {
        let _ = device;
        false
    }
}
