//! The tool `edit`.

use rtc_fs::{Error, Planned, Project, VPath};
use rtc_tool::{CallContext, Capabilities, Prepared, ProgressSender, Recovery, Subject, Tool, ToolError};
use rtc_types::Preview;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::change::{self, Change};
use crate::files;
use crate::known::Need;

/// Replaces text in a file.
#[derive(Debug, Clone, Copy, Default)]
pub struct Edit;

/// Arguments of [`Edit`].
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditArgs {
    /// File to change.
    pub path: String,
    /// The text to replace, exactly as it is in the file, without line numbers; it must be there once.
    pub old_string: String,
    /// The text that takes its place.
    pub new_string: String,
    /// Replace it wherever it is.
    #[serde(default)]
    pub replace_all: bool,
}

/// Result of [`Edit`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edited {
    /// The file, links followed.
    pub path: String,
    /// Places that were replaced.
    pub replaced: u64,
    /// What changed, as unified diff.
    pub diff: String,
    /// What is to be said about the path that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Change for EditArgs {
    type Output = Edited;

    fn path(&self) -> &str {
        &self.path
    }

    fn need(&self) -> Need {
        Need::Part
    }

    fn plan(
        &self,
        project: &Project,
        path: &VPath,
        tag: &str,
        cancel: &CancellationToken,
    ) -> Result<Planned, Error> {
        project.plan_edit(
            path,
            &self.old_string,
            &self.new_string,
            self.replace_all,
            tag,
            cancel,
        )
    }

    fn output(&self, planned: &Planned) -> Edited {
        Edited {
            path: planned.path().to_string(),
            replaced: planned.replaced(),
            diff: planned.diff().to_owned(),
            note: planned.note().map(str::to_owned),
        }
    }

    fn knows_all(&self, knew_all: bool) -> bool {
        knew_all
    }
}

impl Tool for Edit {
    type Args = EditArgs;
    type Output = Edited;

    fn name(&self) -> &str {
        "edit"
    }

    fn description(&self) -> String {
        "Replaces text in a file that was read before: exactly and literally, once, or everywhere with `replace_all`. \
         Everything else of the file stays as it is, byte for byte. Gives a diff of what changed."
            .to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        // It ends early by itself as long as nothing is changed, and then says so.
        Capabilities {
            supports_cancel: false,
            ..files::capabilities()
        }
    }

    fn subject(&self, args: &EditArgs) -> Result<Subject, ToolError> {
        Ok(Subject::write(files::path(&args.path)?.as_str()))
    }

    async fn preview(&self, context: &CallContext, args: &EditArgs) -> Result<Option<Preview>, ToolError> {
        change::preview(context, args).await
    }

    async fn prepare(&self, context: &CallContext, args: &EditArgs) -> Result<Option<Prepared>, ToolError> {
        change::prepare(context, args).await.map(Some)
    }

    async fn execute(
        &self,
        context: CallContext,
        args: EditArgs,
        prepared: Option<Prepared>,
        _progress: ProgressSender,
    ) -> Result<Edited, ToolError> {
        change::execute(context, args, prepared).await
    }

    async fn recover(
        &self,
        context: &CallContext,
        _args: &EditArgs,
        mark: &Value,
    ) -> Result<Recovery, ToolError> {
        change::recover(context, mark).await
    }
}

#[cfg(test)]
mod tests;
