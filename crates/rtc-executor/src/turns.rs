//! How a call comes to its turn.

use std::sync::Arc;

use async_trait::async_trait;
use rtc_tool::{Access, NoTurns, ToolError, Turn, Turns};
use rtc_types::{ProjectId, RtcId, SessionId};
use tokio_util::sync::CancellationToken;

use crate::executor::{Executor, lock};
use crate::gate::{Gate, Held, Root};
use crate::{OpenCall, PortError};

impl Executor {
    /// Waits until it is the user's own turn to change a file of a project, or of the scratch folder, as it waits for
    /// others. An error if what an earlier process began there cannot be looked at yet.
    pub async fn turn_of_user(&self, project: Option<ProjectId>) -> Result<Turn, PortError> {
        self.look_back(project).await?;
        let held = self.inner.gate.enter(project, Root::User).await;
        let project = project.map(tracing::field::display);
        tracing::debug!(project, "it is the user's own turn to change a file");
        Ok(Turn::new(held))
    }

    /// Waits until the call may go on, and gives it as it then is, with its turn if it has one: a call that is one change,
    /// and one of which is looked at what an earlier start left. `None` if it is not to run any more.
    pub(crate) async fn in_turn(
        &self,
        call: OpenCall,
        cancel: &CancellationToken,
    ) -> Result<Option<(OpenCall, Option<Held>)>, PortError> {
        let is_new = match (&call.started, call.access) {
            (_, Access::Read) => return Ok(Some((call, None))),
            (started, Access::Write | Access::Exec) => started.is_none(),
        };
        let waiting = async {
            // Those that an earlier process began wait for each other alone.
            let mut waited = is_new && self.look_back(call.project).await?;
            let mut held = None;
            if !is_new || call.access == Access::Write {
                let turn = self.inner.gate.enter(call.project, Root::Tree(call.tree)).await;
                waited |= turn.waited();
                log(&call);
                held = Some(turn);
            }
            Ok((held, waited))
        };
        let (held, waited) = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(None),
            waited = waiting => waited?,
        };
        if !waited {
            return Ok(Some((call, held)));
        }
        let now = self.inner.port.load(call.rtc.id).await?;
        Ok(now.map(|call| (call, held)))
    }

    /// Before the first change of this process in a project: lets the calls come to their end that an earlier one began
    /// there. Whether they took effect is seen from the files, which must still be as they were left. Gives whether that
    /// was done now.
    async fn look_back(&self, project: Option<ProjectId>) -> Result<bool, PortError> {
        let looked_back = lock(&self.inner.looked_back).entry(project).or_default().clone();
        if looked_back.initialized() {
            return Ok(false);
        }
        let look = || async {
            for rtc in self.inner.port.begun(project).await? {
                match self.run(rtc).await {
                    Err(error @ PortError::Later { .. }) => return Err(error),
                    // One that never ends by itself is told of by its own session.
                    Ok(_) | Err(PortError::Never(_)) => {}
                }
            }
            Ok(())
        };
        looked_back.get_or_try_init(look).await?;
        Ok(true)
    }
}

fn log(call: &OpenCall) {
    tracing::debug!(
        project = call.project.map(tracing::field::display),
        root = %call.tree,
        session = %call.rtc.session_id,
        rtc = %call.rtc.id,
        "it is the turn of a call to change files"
    );
}

/// The turns that a running call takes by itself.
pub(crate) fn of_call(gate: &Arc<Gate>, call: &OpenCall) -> Arc<dyn Turns> {
    match call.access {
        Access::Read => Arc::new(NoTurns),
        Access::Write => Arc::new(ItsOwn),
        Access::Exec => Arc::new(OneByOne {
            gate: gate.clone(),
            project: call.project,
            root: call.tree,
            session: call.rtc.session_id,
            rtc: call.rtc.id,
        }),
    }
}

/// Of a call that is one change: it has its turn already.
struct ItsOwn;

#[async_trait]
impl Turns for ItsOwn {
    async fn take(&self) -> Result<Turn, ToolError> {
        Ok(Turn::new(()))
    }
}

/// Of a program: one for each of its changes.
struct OneByOne {
    gate: Arc<Gate>,
    project: Option<ProjectId>,
    root: SessionId,
    session: SessionId,
    rtc: RtcId,
}

#[async_trait]
impl Turns for OneByOne {
    async fn take(&self) -> Result<Turn, ToolError> {
        let held = self.gate.enter(self.project, Root::Tree(self.root)).await;
        tracing::debug!(
            project = self.project.map(tracing::field::display),
            root = %self.root,
            session = %self.session,
            rtc = %self.rtc,
            "it is the turn of a program to change a file"
        );
        Ok(Turn::new(held))
    }
}
