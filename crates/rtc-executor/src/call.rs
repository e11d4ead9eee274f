//! One run of one call: what an earlier start left, preparation, claim, execution, result.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use rtc_tool::{Access, CallContext, Extensions, Recovery, ToolError, ToolHandle, ToolStreamItem};
use rtc_types::SessionId;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::executor::Inner;
use crate::gate::Held;
use crate::permit::PathPermit;
use crate::seen::SeenByCall;
use crate::turns;
use crate::{Claimed, OpenCall, PortError, Started};

/// A call that takes longer is shown as running.
const SHOWN_AFTER: Duration = Duration::from_millis(100);
/// How long a result that the engine could not take waits before it is offered again, at most.
const RETRY_MOST: Duration = Duration::from_secs(30);

/// What became of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ran {
    /// The call has its result.
    Ended,
    /// There is nothing to run now: the user has to say something first, or somebody else ended the call.
    Waits,
}

/// `turn` is the call's, if it has one; it is over when its result is taken.
pub(crate) async fn run(
    inner: &Arc<Inner>,
    call: OpenCall,
    turn: Option<Held>,
    cancel: CancellationToken,
    extensions: Result<Extensions, ToolError>,
) -> Result<Ran, PortError> {
    let session = call.rtc.session_id;
    let seen = Arc::new(SeenByCall::new(inner.port.clone(), session));
    let this = Run {
        inner,
        session,
        seen: seen.clone(),
    };
    let before = call.rtc.attempt;
    let found = match (inner.tools.get(&call.rtc.tool_name).cloned(), extensions) {
        (Some(tool), Ok(extensions)) => Ok((tool, extensions)),
        (None, _) => Err(ToolError::not_found(format!(
            "this device has no tool {}",
            call.rtc.tool_name
        ))),
        (_, Err(error)) => Err(error),
    };
    let (tool, extensions) = match (found, &call.started) {
        (Ok(found), _) => found,
        // It may have taken effect; without its folder or tool nobody can tell.
        (Err(error), Some(started)) => {
            return this
                .outcome_unknown(&call, started, &format!("It could not be looked at: {error}."))
                .await;
        }
        (Err(error), None) => return this.finish(&call, before, Err(error)).await,
    };
    let permit = Arc::new(PathPermit::new(
        &call.rtc.tool_name,
        call.kind,
        call.terms.clone(),
    ));
    // What the user was shown is what runs, where a tool reads it from the disk.
    let extensions = match call.rtc.preview.clone() {
        Some(preview) => extensions.with(Arc::new(preview)),
        None => extensions,
    };
    let extensions = match call.rtc.approval.clone() {
        Some(approval) => extensions.with(Arc::new(approval)),
        None => extensions,
    };
    let attempt = before + 1;
    let context = CallContext {
        session,
        rtc: call.rtc.id,
        attempt,
        cancel,
        permit: permit.clone(),
        seen,
        turns: turns::of_call(&inner.gate, &call),
        extensions,
    };
    if let Some(started) = &call.started
        && let Some(ran) = this.recover(&call, started, &*tool, &context).await?
    {
        return Ok(ran);
    }
    // A program takes its turns by itself, and has none while it waits for one.
    let _turn = turn.filter(|_| call.access != Access::Exec);
    let prepared = match tool.prepare(&context, &call.rtc.parameters).await {
        Ok(prepared) => prepared,
        Err(error) => return this.finish(&call, before, Err(error)).await,
    };
    let mark = prepared
        .as_ref()
        .map(|prepared| (prepared.mark.clone(), digest(&call.rtc.parameters)));
    let has_effect = mark.is_some();
    match inner.port.claim(session, call.rtc.id, attempt, mark).await? {
        Claimed::Yes(terms) => permit.set(terms),
        Claimed::No => return Ok(Ran::Waits),
    }
    let mut stream = tool.execute(context, call.rtc.parameters.clone(), prepared);
    let shown = tokio::time::sleep(SHOWN_AFTER);
    tokio::pin!(shown);
    let mut is_shown = has_effect;
    let result = loop {
        tokio::select! {
            biased;
            item = stream.next() => match item {
                Some(ToolStreamItem::Progress(progress)) => inner.port.progress(call.rtc.id, progress),
                Some(ToolStreamItem::Terminal(result)) => break result,
                None => break Err(ToolError::execution("the tool ended without a result")),
            },
            () = &mut shown, if !is_shown => {
                is_shown = true;
                // Only shown: whether it is told or not, the call goes on.
                let _ = inner.port.executing(session, call.rtc.id).await;
            }
        }
    };
    this.finish(&call, attempt, result).await
}

struct Run<'i> {
    inner: &'i Inner,
    session: SessionId,
    seen: Arc<SeenByCall>,
}

impl Run<'_> {
    /// Looks at what an earlier start left. `None`: it had no effect, so the call runs.
    async fn recover(
        &self,
        call: &OpenCall,
        started: &Started,
        tool: &dyn ToolHandle,
        context: &CallContext,
    ) -> Result<Option<Ran>, PortError> {
        let same = started.args_digest == digest(&call.rtc.parameters);
        let recovery = if same {
            tool.recover(context, &call.rtc.parameters, &started.mark).await
        } else {
            Ok(Recovery::Neither(
                "The arguments are not those that it was started with.".into(),
            ))
        };
        let evidence = match recovery {
            Ok(Recovery::Applied(value)) => {
                return self.finish(call, started.attempt, Ok(value)).await.map(Some);
            }
            Ok(Recovery::NotApplied) => return Ok(None),
            Ok(Recovery::Neither(evidence)) => evidence,
            Err(error) => format!("It could not be looked at: {error}."),
        };
        self.outcome_unknown(call, started, &evidence).await.map(Some)
    }

    async fn outcome_unknown(
        &self,
        call: &OpenCall,
        started: &Started,
        evidence: &str,
    ) -> Result<Ran, PortError> {
        let evidence = format!("It was started at {}. {evidence}", started.at);
        self.inner
            .port
            .outcome_unknown(self.session, call.rtc.id, evidence)
            .await?;
        Ok(Ran::Waits)
    }

    /// Hands over the result, for as long as it takes.
    async fn finish(
        &self,
        call: &OpenCall,
        attempt: u32,
        result: Result<Value, ToolError>,
    ) -> Result<Ran, PortError> {
        let seen = self.seen.take();
        let mut wait = Duration::from_secs(1);
        loop {
            let told = self
                .inner
                .port
                .finish(self.session, call.rtc.id, attempt, result.clone(), seen.clone())
                .await;
            match told {
                Ok(()) => return Ok(Ran::Ended),
                Err(PortError::Later { code, reason }) => {
                    self.inner.port.trouble(self.session, code, &reason);
                    tokio::time::sleep(wait).await;
                    wait = (wait * 2).min(RETRY_MOST);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

fn digest(parameters: &Value) -> String {
    blake3::hash(parameters.to_string().as_bytes())
        .to_hex()
        .to_string()
}
