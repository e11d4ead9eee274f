//! The tool `write`.

use rtc_fs::{Error, Planned, Project, VPath, WriteMode};
use rtc_tool::{CallContext, Capabilities, Prepared, ProgressSender, Recovery, Subject, Tool, ToolError};
use rtc_types::Preview;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::change::{self, Change};
use crate::files;
use crate::known::Need;

/// Writes a file.
#[derive(Debug, Clone, Copy, Default)]
pub struct Write;

/// Arguments of [`Write`].
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WriteArgs {
    /// File to write; folders on the way are made.
    pub path: String,
    /// The text.
    pub content: String,
    /// What to do with an existing file.
    #[serde(default)]
    pub mode: Mode,
}

/// What `write` does with what is there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The content takes the place of the whole file.
    #[default]
    Overwrite,
    /// The content is added at the end.
    Append,
    /// An error if the file exists.
    CreateNew,
}

/// Result of [`Write`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// The file, links followed.
    pub path: String,
    /// Its size in bytes now.
    pub bytes: u64,
    /// Whether it is new.
    pub created: bool,
    /// How its text is stored.
    pub encoding: String,
    /// What is to be said about the path that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Change for WriteArgs {
    type Output = Written;

    fn path(&self) -> &str {
        &self.path
    }

    fn need(&self) -> Need {
        match self.mode {
            Mode::Overwrite | Mode::CreateNew => Need::Whole,
            Mode::Append => Need::Part,
        }
    }

    fn plan(
        &self,
        project: &Project,
        path: &VPath,
        tag: &str,
        cancel: &CancellationToken,
    ) -> Result<Planned, Error> {
        let mode = match self.mode {
            Mode::Overwrite => WriteMode::Overwrite,
            Mode::Append => WriteMode::Append,
            Mode::CreateNew => WriteMode::CreateNew,
        };
        project.plan_write(path, &self.content, mode, tag, cancel)
    }

    fn output(&self, planned: &Planned) -> Written {
        Written {
            path: planned.path().to_string(),
            bytes: planned.bytes(),
            created: planned.creates(),
            encoding: planned.encoding().name().to_owned(),
            note: planned.note().map(str::to_owned),
        }
    }

    fn knows_all(&self, knew_all: bool) -> bool {
        self.mode != Mode::Append || knew_all
    }
}

impl Tool for Write {
    type Args = WriteArgs;
    type Output = Written;

    fn name(&self) -> &str {
        "write"
    }

    fn description(&self) -> String {
        "Writes a text file, at once and completely or not at all. An existing file must have been read before, and \
         keeps its encoding and line ends. Change parts of a file with edit."
            .to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        // It ends early by itself as long as nothing is changed, and then says so.
        Capabilities {
            supports_cancel: false,
            ..files::capabilities()
        }
    }

    fn subject(&self, args: &WriteArgs) -> Result<Subject, ToolError> {
        Ok(Subject::write(files::path(&args.path)?.as_str()))
    }

    async fn preview(&self, context: &CallContext, args: &WriteArgs) -> Result<Option<Preview>, ToolError> {
        change::preview(context, args).await
    }

    async fn prepare(&self, context: &CallContext, args: &WriteArgs) -> Result<Option<Prepared>, ToolError> {
        change::prepare(context, args).await.map(Some)
    }

    async fn execute(
        &self,
        context: CallContext,
        args: WriteArgs,
        prepared: Option<Prepared>,
        _progress: ProgressSender,
    ) -> Result<Written, ToolError> {
        change::execute(context, args, prepared).await
    }

    async fn recover(
        &self,
        context: &CallContext,
        _args: &WriteArgs,
        mark: &Value,
    ) -> Result<Recovery, ToolError> {
        change::recover(context, mark).await
    }
}

#[cfg(test)]
mod tests;
