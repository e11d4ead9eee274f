//! What every file tool needs: the project of its call, a thread that may block, and the file system's errors as the
//! model reads them.

use std::sync::Arc;
use std::time::Duration;

use rtc_fs::{Error, Project, VPath};
use rtc_tool::{CallContext, Capabilities, ErrorKind, ToolError};
use rtc_types::{Preview, PreviewKind};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// How long a call may look at files, prepare a change, or make it. It is far more than a walk over a large project takes;
/// a drive of the network that does not answer may never end one.
const TIME: Duration = Duration::from_secs(120);

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
    use rtc_tool::handle;

    use super::*;
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
}
