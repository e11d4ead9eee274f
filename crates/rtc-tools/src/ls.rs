//! The tool `ls`.

use rtc_fs::{Entry, Kind, MAX_LISTED_ENTRIES};
use rtc_tool::{Access, CallContext, Capabilities, Prepared, ProgressSender, Subject, Tool, ToolError};
use rtc_types::Preview;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::files;

/// Lists a folder.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ls;

/// Arguments of [`Ls`].
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LsArgs {
    /// Folder to list.
    #[serde(default = "files::root")]
    pub path: String,
}

impl Tool for Ls {
    type Args = LsArgs;
    type Output = String;

    fn name(&self) -> &str {
        "ls"
    }

    fn description(&self) -> String {
        "Lists what is directly in a folder, sorted, one name a line: folders with a trailing `/`, links with \
         ` -> target`. Hidden files are listed too. Look for files at any depth with find."
            .to_owned()
    }

    fn capabilities(&self) -> Capabilities {
        files::capabilities()
    }

    fn subject(&self, args: &LsArgs) -> Result<Subject, ToolError> {
        Ok(Subject::read(files::path(&args.path)?.as_str()))
    }

    async fn preview(&self, context: &CallContext, args: &LsArgs) -> Result<Option<Preview>, ToolError> {
        files::real_path_preview(context, &args.path).await
    }

    async fn execute(
        &self,
        context: CallContext,
        args: LsArgs,
        _prepared: Option<Prepared>,
        _progress: ProgressSender,
    ) -> Result<String, ToolError> {
        let path = files::path(&args.path)?;
        let project = files::project(&context)?;
        let permit = context.permit.clone();
        files::blocking(&context, move |cancel| {
            let place = project.resolve(&path).map_err(files::tool_error)?;
            permit.check(Access::Read, place.path.as_str())?;
            let listing = project
                .list(&place.path, MAX_LISTED_ENTRIES, cancel)
                .map_err(files::tool_error)?;
            // What was really listed is what counts, should a link have taken the folder's place.
            if listing.path != place.path {
                permit.check(Access::Read, listing.path.as_str())?;
            }
            let mut lines: Vec<String> = listing.entries.into_iter().map(shown).collect();
            if lines.is_empty() {
                lines.push(format!("The folder `{}` is empty", listing.path));
            }
            if listing.total > MAX_LISTED_ENTRIES {
                lines.push(format!(
                    "[the first {MAX_LISTED_ENTRIES} of {} are shown; find what you need with find]",
                    listing.total
                ));
            }
            Ok(files::with_note(lines.join("\n"), place.note))
        })
        .await
    }
}

fn shown(entry: Entry) -> String {
    let Entry { name, kind, target } = entry;
    match (kind, target) {
        (Kind::Folder, _) => format!("{name}/"),
        (_, Some(target)) => format!("{name} -> {target}"),
        (_, None) => name,
    }
}

#[cfg(test)]
mod tests {
    use rtc_tool::handle;
    use serde_json::json;

    use super::*;
    use crate::testing::{workplace, write};

    #[tokio::test]
    async fn calls() {
        let here = workplace(&[("b.txt", ""), ("a/x", ""), (".hidden", ""), ("C", "")]);
        let ls = handle(Ls);
        #[cfg(unix)]
        std::os::unix::fs::symlink("b.txt", here.folder.path().join("link")).unwrap();
        insta::assert_snapshot!(here.text(&ls, json!(null)).await, @"
        .hidden
        C
        a/
        b.txt
        link -> b.txt
        ");
        insta::assert_snapshot!(here.text(&ls, json!({"path": "a"})).await, @"x");
        insta::assert_snapshot!(here.text(&ls, json!({"path": "/a/y/z"})).await, @"NotFound: `/a/y/z` does not exist; the nearest folder that does is `/a`");
        insta::assert_snapshot!(here.text(&ls, json!({"path": "/b.txt"})).await, @"InvalidArguments: `/b.txt` is not a folder");
        insta::assert_snapshot!(here.text(&ls, json!({"path": "/../x"})).await, @"InvalidArguments: the path `/../x` contains `..`; write it without: `/x`");
        insta::assert_snapshot!(here.text(&ls, json!({"folder": "/"})).await, @"InvalidArguments: `folder` is not a parameter; there are `path`");
    }

    #[tokio::test]
    async fn long_and_empty_folders_say_so() {
        let here = workplace(&[]);
        insta::assert_snapshot!(here.text(&handle(Ls), json!({})).await, @"The folder `/` is empty");
        for number in 0..=MAX_LISTED_ENTRIES {
            write(here.folder.path(), &format!("{number:04}"), b"");
        }
        let text = here.text(&handle(Ls), json!({})).await;
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            (lines.len(), lines[MAX_LISTED_ENTRIES - 1]),
            (MAX_LISTED_ENTRIES + 1, "0999")
        );
        insta::assert_snapshot!(lines[MAX_LISTED_ENTRIES], @"[the first 1000 of 1001 are shown; find what you need with find]");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn control_characters_of_names_are_escaped() {
        let here = workplace(&[("two\nlines/\r", ""), ("end \n", "")]);
        std::os::unix::fs::symlink("two\nlines", here.folder.path().join("\tlink")).unwrap();
        insta::assert_snapshot!(here.text(&handle(Ls), json!({})).await, @r"
        \u{9}link -> two\u{a}lines
        end \u{a}
        two\u{a}lines/
        ");
        insta::assert_snapshot!(here.text(&handle(Ls), json!({"path": r"/two\u{a}lines"})).await, @r"\u{d}");
        insta::assert_snapshot!(here.text(&handle(Ls), json!({"path": "/two\nlines/no/x"})).await, @r"NotFound: `/two\u{a}lines/no/x` does not exist; the nearest folder that does is `/two\u{a}lines`");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn the_real_path_is_what_is_permitted() {
        let here = workplace(&[("shut/x", ""), ("open/y", "")]);
        std::os::unix::fs::symlink("../shut", here.folder.path().join("open/link")).unwrap();
        *here.surroundings.refused.lock().unwrap() = vec!["/shut".to_owned()];
        assert_eq!(
            here.text(&handle(Ls), json!({"path": "/open/link"})).await,
            "PermissionDenied: /shut needs a Yes"
        );
        let preview = handle(Ls)
            .preview(&here.context, &json!({"path": "/open/link"}))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(preview.paths, ["/shut"]);
        assert_eq!(
            handle(Ls)
                .preview(&here.context, &json!({"path": "/open"}))
                .await
                .unwrap(),
            None
        );
    }
}
