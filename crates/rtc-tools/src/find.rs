//! The tool `find`.

use rtc_fs::{DEFAULT_FIND_LIMIT, FindQuery, VPath};
use rtc_tool::{Access, CallContext, Capabilities, Prepared, ProgressSender, Subject, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::files;

/// Finds files and folders by name.
#[derive(Debug, Clone, Copy, Default)]
pub struct Find;

/// Arguments of [`Find`].
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FindArgs {
    /// Glob. `*.md` matches names at any depth, `src/*.rs` paths below `path`, `**` any number of folders; `{a,b}` and
    /// `[x]` work; `docs/` matches folders only.
    pub pattern: String,
    /// Folder to search. Hidden and ignored folders are searched when named here.
    #[serde(default = "files::root")]
    pub path: String,
    /// Show at most so many paths; 0 for as many as possible.
    #[serde(default = "default_limit")]
    pub head_limit: usize,
}

fn default_limit() -> usize {
    DEFAULT_FIND_LIMIT
}

impl FindArgs {
    pub(crate) fn query(&self) -> Result<FindQuery, ToolError> {
        if self.pattern.is_empty() {
            return Err(ToolError::invalid("`pattern` is empty; `**` finds everything"));
        }
        Ok(FindQuery {
            pattern: self.pattern.clone(),
            path: files::path(&self.path)?,
            head_limit: self.head_limit,
        })
    }
}

impl Tool for Find {
    type Args = FindArgs;
    type Output = String;

    fn name(&self) -> &str {
        "find"
    }

    fn description(&self) -> String {
        "Finds files and folders by a glob over their names. Gives absolute paths, sorted, one a line, folders with a \
         trailing `/`. Ignored files (.gitignore) and hidden files are left out unless `path` names their folder. Search \
         contents with grep."
            .to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            streaming: true,
            ..files::capabilities()
        }
    }

    fn subject(&self, args: &FindArgs) -> Result<Subject, ToolError> {
        Ok(Subject::read(args.query()?.path.as_str()))
    }

    async fn execute(
        &self,
        context: CallContext,
        args: FindArgs,
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
            let result = rtc_fs::find_telling(&project, &query, &permitted, told, cancel)
                .map_err(files::tool_error)?;
            Ok(files::with_note(result.render(), place.note))
        })
        .await
    }
}

#[cfg(test)]
mod tests;
