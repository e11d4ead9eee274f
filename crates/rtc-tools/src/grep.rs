//! The tool `grep`.

use rtc_fs::{DEFAULT_GREP_LIMIT, GrepOutput, GrepQuery, MAX_GREP_CONTEXT, VPath};
use rtc_tool::{Access, CallContext, Capabilities, Prepared, ProgressSender, Subject, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::files;

/// Searches file contents.
#[derive(Debug, Clone, Copy, Default)]
pub struct Grep;

/// Arguments of [`Grep`].
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrepArgs {
    /// Regular expression in the syntax of Rust's regex crate; a literal `(`, `{` or `.` needs a backslash.
    pub pattern: String,
    /// Folder or file to search. Hidden and ignored places are searched when named here.
    #[serde(default = "files::root")]
    pub path: String,
    /// Only files whose path matches this glob, such as `*.rs` or `src/**/*.ts`; with a leading `!`, only others.
    pub glob: Option<String>,
    /// Only files of this type, such as `rust`, `py`, `ts`, `md`.
    #[serde(rename = "type")]
    pub file_type: Option<String>,
    /// `content` shows matching lines, `files_with_matches` only paths, `count` the occurrences per file.
    #[serde(default)]
    pub output_mode: OutputMode,
    /// Whether upper and lower case differ.
    #[serde(default = "yes")]
    pub case_sensitive: bool,
    /// Ignore case; the same as `case_sensitive: false`.
    #[serde(rename = "-i", default)]
    pub ignore_case: bool,
    /// Lines to show after each match.
    #[serde(rename = "-A")]
    pub after: Option<usize>,
    /// Lines to show before each match.
    #[serde(rename = "-B")]
    pub before: Option<usize>,
    /// Lines to show before and after each match.
    #[serde(rename = "-C")]
    pub around: Option<usize>,
    /// The same as `-C`.
    pub context: Option<usize>,
    /// Line numbers are always shown; accepted for convenience.
    #[serde(rename = "-n", default = "yes")]
    pub line_numbers: bool,
    /// Let a match span lines; `.` then matches line ends too.
    #[serde(default)]
    pub multiline: bool,
    /// Show at most so many lines or files; 0 for as many as possible.
    #[serde(default = "default_limit")]
    pub head_limit: usize,
    /// Leave out so many lines or files at the beginning.
    #[serde(default)]
    pub offset: usize,
}

/// What a search shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputMode {
    /// Matching lines with their numbers.
    #[default]
    Content,
    /// Paths of files with a match.
    FilesWithMatches,
    /// Occurrences per file.
    Count,
}

fn yes() -> bool {
    true
}

fn default_limit() -> usize {
    DEFAULT_GREP_LIMIT
}

impl GrepArgs {
    pub(crate) fn query(&self) -> Result<GrepQuery, ToolError> {
        if self.pattern.is_empty() {
            return Err(ToolError::invalid(
                "`pattern` is empty: it would match every line; name what to look for",
            ));
        }
        let around = self.around.or(self.context).unwrap_or(0);
        let (before, after) = (self.before.unwrap_or(around), self.after.unwrap_or(around));
        if before.max(after) > MAX_GREP_CONTEXT {
            let asked = before.max(after);
            return Err(ToolError::invalid(format!(
                "{asked} lines of context are too many: at most {MAX_GREP_CONTEXT}; use read for more"
            )));
        }
        Ok(GrepQuery {
            pattern: self.pattern.clone(),
            path: files::path(&self.path)?,
            glob: self.glob.clone(),
            file_type: self.file_type.clone(),
            output: match self.output_mode {
                OutputMode::Content => GrepOutput::Content,
                OutputMode::FilesWithMatches => GrepOutput::FilesWithMatches,
                OutputMode::Count => GrepOutput::Count,
            },
            case_sensitive: self.case_sensitive && !self.ignore_case,
            before,
            after,
            multiline: self.multiline,
            head_limit: self.head_limit,
            offset: self.offset,
        })
    }
}

impl Tool for Grep {
    type Args = GrepArgs;
    type Output = String;

    fn name(&self) -> &str {
        "grep"
    }

    fn description(&self) -> String {
        "Searches the contents of files with a regular expression, as ripgrep does. Shows `path:line:text` of each \
         match, sorted by path; `output_mode` shows only paths or counts instead. Ignored files (.gitignore) and hidden \
         files are left out unless `path` names them. The search is case-sensitive unless `-i` is set. Longer results \
         come in pages: go on with `offset`. Look for files by name with find."
            .to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            streaming: true,
            ..files::capabilities()
        }
    }

    fn subject(&self, args: &GrepArgs) -> Result<Subject, ToolError> {
        Ok(Subject::read(args.query()?.path.as_str()))
    }

    async fn execute(
        &self,
        context: CallContext,
        args: GrepArgs,
        _prepared: Option<Prepared>,
        progress: ProgressSender,
    ) -> Result<String, ToolError> {
        let query = args.query()?;
        let project = files::project(&context)?;
        let permit = context.permit.clone();
        files::searching(&context, progress, move |cancel, told| {
            let place = project.resolve(&query.path).map_err(files::tool_error)?;
            permit.check(Access::Read, place.path.as_str())?;
            let permitted = |path: &VPath| permit.check(Access::Read, path.as_str()).is_ok();
            let result = rtc_fs::grep_telling(&project, &query, &permitted, told, cancel)
                .map_err(files::tool_error)?;
            Ok(files::with_note(result.render(), place.note))
        })
        .await
    }
}

#[cfg(test)]
mod tests;
