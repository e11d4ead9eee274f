//! The tool `read`.

use std::fmt::Write as _;

use rtc_fs::{Encoding, Window};
use rtc_tool::{
    Access, BUDGET_BYTES, CallContext, Capabilities, Prepared, ProgressSender, Subject, Tool, ToolError,
};
use rtc_types::Preview;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::files;
use crate::known::Known;

/// Lines that a call reads unless it says otherwise.
const DEFAULT_LINES: u32 = 2000;

/// Bytes of the budget that are left for what is said about the lines, below them.
const NOTE_BYTES: usize = 1000;

/// Reads a text file.
#[derive(Debug, Clone, Copy, Default)]
pub struct Read;

/// Arguments of [`Read`].
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadArgs {
    /// File to read.
    pub path: String,
    /// First line, from 1; a negative number counts from the end, -1 is the last line.
    #[serde(default = "first_line")]
    pub offset: i64,
    /// Read at most so many lines.
    #[serde(default = "default_lines")]
    #[schemars(range(min = 1))]
    pub limit: u32,
}

fn first_line() -> i64 {
    1
}

fn default_lines() -> u32 {
    DEFAULT_LINES
}

impl Tool for Read {
    type Args = ReadArgs;
    type Output = String;

    fn name(&self) -> &str {
        "read"
    }

    fn description(&self) -> String {
        format!(
            "Reads a text file. Each line comes with its number and a tab, which are not part of the file. At most \
             {DEFAULT_LINES} lines unless `limit` says otherwise; go on with `offset`. A file must be read before it \
             can be edited or written over."
        )
    }

    fn capabilities(&self) -> Capabilities {
        files::capabilities()
    }

    fn subject(&self, args: &ReadArgs) -> Result<Subject, ToolError> {
        Ok(Subject::read(files::path(&args.path)?.as_str()))
    }

    async fn preview(&self, context: &CallContext, args: &ReadArgs) -> Result<Option<Preview>, ToolError> {
        files::real_path_preview(context, &args.path).await
    }

    async fn execute(
        &self,
        context: CallContext,
        args: ReadArgs,
        _prepared: Option<Prepared>,
        _progress: ProgressSender,
    ) -> Result<String, ToolError> {
        let path = files::path(&args.path)?;
        if args.limit == 0 {
            return Err(ToolError::invalid(
                "`limit` must be a whole number from 1 on, got 0",
            ));
        }
        let project = files::project(&context)?;
        let permit = context.permit.clone();
        let (offset, limit) = (args.offset, usize::try_from(args.limit).unwrap_or(usize::MAX));
        let (text, window) = files::blocking(&context, move |cancel| {
            let place = project.resolve(&path).map_err(files::tool_error)?;
            permit.check(Access::Read, place.path.as_str())?;
            let mut window = project
                .read_window(&place.path, offset, limit, cancel)
                .map_err(files::tool_error)?;
            if window.path != place.path {
                permit.check(Access::Read, window.path.as_str())?;
            }
            let text = shown(&mut window);
            Ok((files::with_note(text, place.note), window))
        })
        .await?;
        let before = Known::get(&context, &window.path).await?;
        Known::of_window(&window, before).note(&context, &window.path);
        Ok(text)
    }
}

/// The numbered lines of a window that fit the budget; the window is cut to them.
pub(crate) fn shown(window: &mut Window) -> String {
    if window.is_empty() {
        return "The file is empty".to_owned();
    }
    let mut text = String::new();
    let mut fitting = 0;
    for line in &window.lines {
        let mut numbered = format!("{:>6}\t{}", line.number, line.text);
        if let Some(length) = line.clipped {
            let shown = line.text.chars().count();
            // Writing to a String cannot fail.
            let _ = write!(
                numbered,
                "… [the line has {length} characters, columns 1-{shown} are shown]"
            );
        }
        if fitting > 0 && text.len() + numbered.len() > BUDGET_BYTES - NOTE_BYTES {
            break;
        }
        text.push_str(&numbered);
        text.push('\n');
        fitting += 1;
    }
    text.pop();
    window.truncate(fitting);
    let mut notes = Vec::new();
    if let Some(next) = window.next_offset {
        notes.push(match window.total_lines {
            Some(total) => format!("the file has {total} lines; go on with offset={next}"),
            None if window.numbered_from_end => {
                format!("lines are numbered from the end; go on with offset={next}")
            }
            None => format!(
                "the file goes on and has {} bytes; go on with offset={next}",
                window.size
            ),
        });
    } else if window.numbered_from_end {
        notes.push("lines are numbered from the end".to_owned());
    }
    match window.encoding {
        Encoding::Utf8 | Encoding::Utf8Bom => {}
        Encoding::DamagedUtf8 { .. } => notes.push(
            "the file is UTF-8 but for some bytes, each shown as U+FFFD; they stay as they are, and an edit cannot \
             replace them"
                .to_owned(),
        ),
        encoding => notes.push(format!("the file is encoded as {}", encoding.name())),
    }
    notes
        .into_iter()
        .fold(text, |text, note| files::with_note(text, Some(note)))
}

#[cfg(test)]
mod tests {
    use rtc_tool::handle;
    use serde_json::json;

    use super::*;
    use crate::testing::{workplace, write};

    #[tokio::test]
    async fn calls() {
        let here = workplace(&[("a.txt", "one\ntwo\r\nthree\n"), ("empty", ""), ("d/x", "")]);
        write(here.folder.path(), "latin.txt", b"caf\xE9 au lait\n");
        write(here.folder.path(), "image.png", b"\x89PNG\r\n\x1a\n\0\0\0\0");
        write(here.folder.path(), "long.txt", "x".repeat(2345).as_bytes());
        let read = handle(Read);
        insta::assert_snapshot!(here.text(&read, json!({"path": "a.txt"})).await, @"
        1	one
        2	two
        3	three
        ");
        insta::assert_snapshot!(here.text(&read, json!({"path": "/a.txt", "offset": "2", "limit": 1})).await, @"
             2	two
        [the file has 3 lines; go on with offset=3]
        ");
        insta::assert_snapshot!(here.text(&read, json!({"path": "/a.txt", "offset": -1})).await, @"     3	three");
        insta::assert_snapshot!(here.text(&read, json!({"path": "/a.txt", "offset": 9})).await, @"InvalidArguments: line 9 of `/a.txt` was asked for, but its last line is 3");
        insta::assert_snapshot!(here.text(&read, json!({"path": "/empty"})).await, @"The file is empty");
        insta::assert_snapshot!(here.text(&read, json!({"path": "/latin.txt"})).await, @"
             1	café au lait
        [the file is encoded as windows-1252]
        ");
        insta::assert_snapshot!(here.text(&read, json!({"path": "/image.png"})).await, @"Execution: `/image.png` is not text (PNG image, 12 bytes)");
        insta::assert_snapshot!(here.text(&read, json!({"path": "/long.txt"})).await.replace(&"x".repeat(2000), "x…x"), @"     1	x…x… [the line has 2345 characters, columns 1-2000 are shown]");
        insta::assert_snapshot!(here.text(&read, json!({"path": "/d"})).await, @"InvalidArguments: `/d` is a folder, not a file; list it, or name a file in it");
        insta::assert_snapshot!(here.text(&read, json!({"path": "/no"})).await, @"NotFound: `/no` does not exist; the nearest folder that does is `/`");
        insta::assert_snapshot!(here.text(&read, json!({})).await, @"InvalidArguments: `path` is required and missing");
        insta::assert_snapshot!(here.text(&read, json!({"path": "/a.txt", "limit": 0})).await, @"InvalidArguments: `limit` must be a whole number from 1 on, got 0");
    }

    #[tokio::test]
    async fn the_text_ends_at_a_line_end_within_the_budget() {
        let line = "y".repeat(99);
        let here = workplace(&[("a.txt", &format!("{line}\n").repeat(1000))]);
        let read = handle(Read);
        let text = here.text(&read, json!({"path": "/a.txt"})).await;
        assert!(
            text.len() <= BUDGET_BYTES && text.len() > BUDGET_BYTES - 2 * NOTE_BYTES,
            "{}",
            text.len()
        );
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[..lines.len() - 1]
                .iter()
                .all(|shown| shown.ends_with(&line))
        );
        insta::assert_snapshot!(lines[lines.len() - 1], @"[the file has 1000 lines; go on with offset=365]");
        let known = here.surroundings.known.lock().unwrap()["/a.txt"].clone();
        assert_eq!(
            (&known["complete"], &known["lines"]),
            (&json!(false), &json!([[1, lines.len() - 1]]))
        );
    }

    #[tokio::test]
    async fn what_was_read_is_noted_and_pieces_add_up() {
        let here = workplace(&[("a.txt", "1\n2\n3\n")]);
        let read = handle(Read);
        let complete = |here: &crate::testing::Workplace| {
            here.surroundings.known.lock().unwrap()["/a.txt"]["complete"].clone()
        };
        here.text(&read, json!({"path": "/a.txt", "limit": 1})).await;
        assert_eq!(complete(&here), json!(false));
        here.text(&read, json!({"path": "/a.txt", "offset": 3})).await;
        assert_eq!(complete(&here), json!(false));
        here.text(&read, json!({"path": "/a.txt", "offset": 2, "limit": 1}))
            .await;
        assert_eq!(complete(&here), json!(true));
        here.text(&read, json!({"path": "/a.txt", "limit": 1})).await;
        assert_eq!(
            complete(&here),
            json!(true),
            "reading a part again forgets nothing"
        );
        write(here.folder.path(), "a.txt", b"1\n2\n4\n");
        here.text(&read, json!({"path": "/a.txt", "limit": 1})).await;
        assert_eq!(
            complete(&here),
            json!(false),
            "other content is not known by what was read before"
        );
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn the_real_path_is_permitted_and_noted() {
        let here = workplace(&[("secret/key", "k"), ("plain", "p")]);
        std::os::unix::fs::symlink("secret/key", here.folder.path().join("link")).unwrap();
        let read = handle(Read);
        assert!(here.text(&read, json!({"path": "/link"})).await.contains("k"));
        assert!(
            here.surroundings
                .known
                .lock()
                .unwrap()
                .contains_key("/secret/key")
        );
        *here.surroundings.refused.lock().unwrap() = vec!["/secret".to_owned()];
        assert_eq!(
            here.text(&read, json!({"path": "/link"})).await,
            "PermissionDenied: /secret/key needs a Yes"
        );
    }
}
