//! What every file tool needs: the project of its call, a thread that may block, and the file system's errors as the
//! model reads them.

use std::fmt::{Display, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rtc_fs::{Error, Project, Told, VPath};
use rtc_tool::{CallContext, Capabilities, ErrorKind, Progress, ProgressSender, ToolError};
use rtc_types::{Preview, PreviewKind};
use serde_json::json;
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

/// How long a call may look at files, prepare a change, or make it. It is far more than a walk over a large project takes;
/// a drive of the network that does not answer may never end one.
const TIME: Duration = Duration::from_secs(120);

/// How often a search that goes on tells what it has found.
const TOLD_EVERY: Duration = Duration::from_millis(25);

/// How much of its hits a search tells before its result, 16 KiB; the hit that reaches it is the last.
const MAX_TOLD_BYTES: usize = 16 << 10;

/// What every file tool can do.
pub(crate) fn capabilities() -> Capabilities {
    Capabilities {
        timeout: Some(TIME),
        ..Capabilities::default()
    }
}

/// The project folder of the call's session.
pub(crate) fn project(context: &CallContext) -> Result<Arc<Project>, ToolError> {
    let missing =
        || ToolError::execution("no folder is open in this session, so there are no files to work on");
    context.extensions.get::<Project>().ok_or_else(missing)
}

/// The path of a search that names none.
pub(crate) fn root() -> String {
    VPath::root().to_string()
}

/// A path as the model wrote it.
pub(crate) fn path(given: &str) -> Result<VPath, ToolError> {
    VPath::parse(given).map_err(tool_error)
}

/// Runs `work` on a thread that may block. Its token is cancelled with the call, and also when nobody waits for the
/// call any more.
pub(crate) async fn blocking<T: Send + 'static>(
    context: &CallContext,
    work: impl FnOnce(&CancellationToken) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let cancel = context.cancel.child_token();
    let _abandoned = cancel.clone().drop_guard();
    tokio::task::spawn_blocking(move || work(&cancel))
        .await
        .unwrap_or_else(|error| {
            Err(ToolError::execution(format!(
                "the work on the files broke down: {error}"
            )))
        })
}

/// The same for a search, whose hits are told while it goes on: in pieces, and up to a bound. A search that is quick tells
/// nothing beside its result.
pub(crate) async fn searching<T: Send + 'static>(
    context: &CallContext,
    progress: ProgressSender,
    work: impl FnOnce(&CancellationToken, Told<'_>) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let hits = Arc::new(Hits::default());
    let adding = hits.clone();
    let searched = blocking(context, move |cancel| work(cancel, &|hit| adding.add(hit)));
    tokio::pin!(searched);
    let mut turn = tokio::time::interval_at(Instant::now() + TOLD_EVERY, TOLD_EVERY);
    turn.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            result = &mut searched => return result,
            _ = turn.tick() => {
                if let Some(text) = hits.take() {
                    progress.send(Progress::Text { text }).await;
                }
            }
        }
    }
}

/// Hits of a search that goes on, which nobody has been told yet.
#[derive(Default)]
struct Hits {
    /// What waits, and how many bytes there have been in all.
    waiting: Mutex<(String, usize)>,
    /// Whether there have been enough of them.
    enough: AtomicBool,
}

impl Hits {
    fn add(&self, hit: &dyn Display) {
        if self.enough.load(Ordering::Relaxed) {
            return;
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let (text, all) = &mut *waiting;
        let before = text.len();
        if before > 0 {
            text.push('\n');
        }
        let _ = write!(text, "{hit}");
        *all += text.len() - before;
        if *all >= MAX_TOLD_BYTES {
            self.enough.store(true, Ordering::Relaxed);
        }
    }

    fn take(&self) -> Option<String> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        Some(std::mem::take(&mut waiting.0)).filter(|text| !text.is_empty())
    }
}

/// An error of the file system; its stable code goes along for programs.
pub(crate) fn tool_error(error: Error) -> ToolError {
    let kind = match &error {
        Error::Cancelled => return ToolError::cancelled(),
        Error::ParentSegment { .. }
        | Error::InvalidPath { .. }
        | Error::InvalidPattern { .. }
        | Error::UnknownFileType { .. }
        | Error::PastReach { .. }
        | Error::PastEnd { .. }
        | Error::EmptySearch { .. }
        | Error::NothingToChange { .. }
        | Error::IsFolder { .. }
        | Error::NotFolder { .. }
        | Error::IsLink { .. }
        | Error::TooMany { .. } => ErrorKind::InvalidArguments,
        Error::NotFound { .. } | Error::SeveralNames { .. } | Error::NoMatch { .. } => ErrorKind::NotFound,
        Error::Outside { .. } | Error::Denied { .. } | Error::OwnData { .. } => ErrorKind::PermissionDenied,
        Error::ChangedSince { .. } => ErrorKind::Stale,
        Error::Full { .. } => ErrorKind::Full,
        _ => ErrorKind::Execution,
    };
    ToolError {
        details: Some(json!({ "code": error.code() })),
        ..ToolError::new(kind, error.to_string())
    }
}

/// What an approval shows of a call that only looks: where its path really leads, if that is somewhere else.
pub(crate) async fn real_path_preview(
    context: &CallContext,
    given: &str,
) -> Result<Option<Preview>, ToolError> {
    let asked = path(given)?;
    let project = project(context)?;
    blocking(context, move |_| {
        // What does not exist is told by the call itself.
        let Ok(place) = project.resolve(&asked) else {
            return Ok(None);
        };
        Ok((place.path != asked).then(|| Preview {
            kind: PreviewKind::Text,
            text: format!("`{asked}` is really `{}`", place.path),
            paths: vec![place.path.as_str().to_owned()],
            program: None,
        }))
    })
    .await
}

/// A result with what is to be said about the path that was asked for.
pub(crate) fn with_note(mut text: String, note: Option<String>) -> String {
    if let Some(note) = note {
        text.push_str("\n[");
        text.push_str(&note);
        text.push(']');
    }
    text
}

#[cfg(test)]
mod tests {
    use futures::StreamExt as _;
    use rtc_tool::{Prepared, Subject, Tool, ToolStreamItem, handle};
    use serde_json::Value;

    use super::*;
    use crate::testing::workplace;
    use crate::{Edit, Find, Grep, Ls, Read, Write};

    #[test]
    fn every_file_tool_has_its_time_and_ends_by_itself_where_it_may_have_changed_something() {
        let tools = [
            (handle(Ls), true),
            (handle(Read), true),
            (handle(Grep), true),
            (handle(Find), true),
            (handle(Edit), false),
            (handle(Write), false),
        ];
        for (tool, is_dropped) in tools {
            let (name, can) = (&tool.describe().name, tool.capabilities());
            assert_eq!(
                (can.timeout, can.supports_cancel),
                (Some(TIME), is_dropped),
                "{name}"
            );
        }
    }

    /// One that tells and does not say that it would ends with an error.
    #[test]
    fn what_tells_its_hits_says_that_it_does() {
        for (tool, tells) in [(handle(Grep), true), (handle(Find), true), (handle(Ls), false)] {
            assert_eq!(tool.capabilities().streaming, tells, "{}", tool.describe().name);
        }
    }

    /// Each hit is waited for before the search goes on, so nothing here hangs on the time.
    #[tokio::test]
    async fn hits_are_told_while_a_search_goes_on_and_up_to_a_bound() {
        struct Searches;
        impl Tool for Searches {
            type Args = Value;
            type Output = String;
            fn capabilities(&self) -> Capabilities {
                crate::Grep.capabilities()
            }
            fn name(&self) -> &str {
                "searches"
            }
            fn description(&self) -> String {
                String::new()
            }
            fn subject(&self, _: &Value) -> Result<Subject, ToolError> {
                Ok(Subject::read("/"))
            }
            async fn execute(
                &self,
                context: CallContext,
                _: Value,
                _: Option<Prepared>,
                progress: ProgressSender,
            ) -> Result<String, ToolError> {
                let gate = context.extensions.get::<Gate>().expect("a gate");
                searching(&context, progress, move |_, told| {
                    let pass = || gate.0.lock().expect("a lock").recv().expect("it is opened");
                    told(&"/a:1:x");
                    pass();
                    told(&"/b:1:x");
                    pass();
                    let long = "x".repeat(MAX_TOLD_BYTES);
                    told(&long);
                    pass();
                    told(&"too much");
                    Ok("all".to_owned())
                })
                .await
            }
        }
        struct Gate(Mutex<std::sync::mpsc::Receiver<()>>);

        let here = workplace(&[]);
        let (open, gate) = std::sync::mpsc::channel();
        let context = CallContext {
            extensions: here
                .context
                .extensions
                .clone()
                .with(Arc::new(Gate(Mutex::new(gate)))),
            ..here.context.clone()
        };
        let mut items = handle(Searches).execute(context, json!({}), None);
        let mut told = Vec::new();
        while let Some(item) = items.next().await {
            match item {
                ToolStreamItem::Progress(Progress::Text { text }) => {
                    told.push(text);
                    open.send(()).expect("it goes on");
                }
                ToolStreamItem::Progress(other) => panic!("{other:?}"),
                ToolStreamItem::Terminal(result) => assert_eq!(result.expect("it ends"), json!("all")),
            }
        }
        let long = "x".repeat(MAX_TOLD_BYTES);
        assert_eq!(told, ["/a:1:x", "/b:1:x", long.as_str()]);
        let hits = Hits::default();
        hits.add(&"one");
        hits.add(&"two");
        assert_eq!((hits.take().as_deref(), hits.take()), (Some("one\ntwo"), None));
    }
}
