use std::sync::Arc;

use rtc_tool::{ErrorKind, handle};
use rtc_types::{Approval, ApprovalDecision, ApprovalState, PreviewKind};
use serde_json::json;

use super::*;
use crate::testing::{content, workplace, write};
use crate::{Read, Write};

#[tokio::test]
async fn calls() {
    let here = workplace(&[("a.txt", "one\ntwo\nthree\ntwo\n")]);
    let edit = handle(Edit);
    let args = |old: &str, new: &str, all: bool| json!({"path": "/a.txt", "old_string": old, "new_string": new, "replace_all": all});
    insta::assert_snapshot!(here.text(&edit, args("one", "1", false)).await, @"Stale: `/a.txt` has not been read yet in this session; read it first");
    here.text(&handle(Read), json!({"path": "/a.txt", "limit": 1}))
        .await;
    insta::assert_snapshot!(here.text(&edit, args("one", "1", false)).await, @"
    path: /a.txt
    replaced: 1
    diff:
    --- /a.txt
    +++ /a.txt
    @@ -1,4 +1,4 @@
    -one
    +1
     two
     three
     two
    ");
    insta::assert_snapshot!(here.text(&edit, args("two", "2", true)).await, @"
    path: /a.txt
    replaced: 2
    diff:
    --- /a.txt
    +++ /a.txt
    @@ -1,4 +1,4 @@
     1
    -two
    +2
     three
    -two
    +2
    ");
    insta::assert_snapshot!(here.text(&edit, args("2", "3", false)).await, @"Execution: `old_string` occurs 2 times in `/a.txt` (lines 2, 4); add lines around it until it is unique, or set `replace_all`");
    insta::assert_snapshot!(here.text(&edit, args("Three", "3", false)).await, @"NotFound: `old_string` does not occur in `/a.txt`; the nearest text is on line 3: `three` (at column 1 the file has `t`, `old_string` has `T`)");
    insta::assert_snapshot!(here.text(&edit, args("", "3", true)).await, @"InvalidArguments: `old_string` is empty, but `/a.txt` is not; name the text to replace, or use write");
    insta::assert_snapshot!(here.text(&edit, args("2", "2", false)).await, @"InvalidArguments: `old_string` and `new_string` are the same; nothing would change in `/a.txt`");
    insta::assert_snapshot!(here.text(&edit, json!({"path": "/a.txt", "old_string": "2"})).await, @"InvalidArguments: `new_string` is required and missing");
    insta::assert_snapshot!(here.text(&edit, json!({"path": "/b/c.txt", "old_string": "2", "new_string": "3"})).await, @"NotFound: `/b/c.txt` does not exist; the nearest folder that does is `/`");
    assert_eq!(content(here.folder.path(), "a.txt"), b"1\n2\nthree\n2\n");
}

#[tokio::test]
async fn a_file_that_changed_since_it_was_read_is_shown_as_it_is_now() {
    let here = workplace(&[("a.txt", "one\ntwo\n")]);
    let edit = handle(Edit);
    here.text(&handle(Read), json!({"path": "/a.txt"})).await;
    write(here.folder.path(), "a.txt", b"one\ntwo\nand theirs\n");
    insta::assert_snapshot!(here.text(&edit, json!({"path": "/a.txt", "old_string": "two", "new_string": "2"})).await, @"
    Stale: `/a.txt` has changed since this session read it; read it again. It now is:
         1	one
         2	two
         3	and theirs
    ");
    // Also where the text is not there any more: that the file changed is the reason.
    let gone = here
        .call(
            &edit,
            json!({"path": "/a.txt", "old_string": "2", "new_string": "3"}),
        )
        .await
        .unwrap_err();
    assert_eq!(gone.kind, ErrorKind::Stale);
    assert_eq!(content(here.folder.path(), "a.txt"), b"one\ntwo\nand theirs\n");
}

#[tokio::test]
async fn the_same_bytes_written_again_are_no_change() {
    let here = workplace(&[("a.txt", "one\n")]);
    here.text(&handle(Read), json!({"path": "/a.txt"})).await;
    write(here.folder.path(), "a.txt", b"one\n");
    here.call(
        &handle(Edit),
        json!({"path": "/a.txt", "old_string": "one", "new_string": "1"}),
    )
    .await
    .unwrap();
    assert_eq!(content(here.folder.path(), "a.txt"), b"1\n");
}

#[tokio::test]
async fn a_session_knows_what_it_changed() {
    let here = workplace(&[]);
    let edit = handle(Edit);
    here.call(&handle(Write), json!({"path": "/a.txt", "content": "one\ntwo\n"}))
        .await
        .unwrap();
    for (old, new) in [("one", "1"), ("two", "2")] {
        here.call(
            &edit,
            json!({"path": "/a.txt", "old_string": old, "new_string": new}),
        )
        .await
        .unwrap();
    }
    here.call(
        &handle(Write),
        json!({"path": "/a.txt", "content": "over all of it"}),
    )
    .await
    .unwrap();
    assert_eq!(content(here.folder.path(), "a.txt"), b"over all of it");
}

#[tokio::test]
async fn a_refused_path_is_not_even_read() {
    let here = workplace(&[("shut/a.txt", "one")]);
    *here.surroundings.refused.lock().unwrap() = vec!["/shut".to_owned()];
    let text = here
        .text(
            &handle(Edit),
            json!({"path": "/shut/a.txt", "old_string": "x", "new_string": "y"}),
        )
        .await;
    assert_eq!(text, "PermissionDenied: /shut/a.txt needs a Yes");
}

#[tokio::test]
async fn a_preview_tells_also_why_there_is_no_diff() {
    let here = workplace(&[("a.txt", "one\n")]);
    let edit = handle(Edit);
    let preview = |old: &str| json!({"path": "/a.txt", "old_string": old, "new_string": "1"});
    let shown = edit
        .preview(&here.context, &preview("one"))
        .await
        .unwrap()
        .unwrap();
    insta::assert_snapshot!(shown.text, @"
    --- /a.txt
    +++ /a.txt
    @@ -1 +1 @@
    -one
    +1
    ");
    let shown = edit
        .preview(&here.context, &preview("zwei"))
        .await
        .unwrap()
        .unwrap();
    insta::assert_snapshot!(shown.text, @"`old_string` does not occur in `/a.txt`; read the file again and copy the text exactly");
}

#[cfg(unix)]
#[tokio::test]
async fn through_a_link_out_of_the_project_nothing_is_read_or_written() {
    let outside = workplace(&[("secret.txt", "secret\n")]);
    let here = workplace(&[]);
    std::os::unix::fs::symlink(outside.folder.path(), here.folder.path().join("out")).unwrap();
    for (tool, args) in [
        (handle(crate::Ls), json!({"path": "/out"})),
        (handle(Read), json!({"path": "/out/secret.txt"})),
        (handle(Write), json!({"path": "/out/secret.txt", "content": "x"})),
        (handle(Write), json!({"path": "/out/new.txt", "content": "x"})),
        (
            handle(Edit),
            json!({"path": "/out/secret.txt", "old_string": "secret", "new_string": "x"}),
        ),
        (handle(crate::Grep), json!({"path": "/out", "pattern": "secret"})),
        (handle(crate::Find), json!({"path": "/out", "pattern": "*"})),
    ] {
        let error = here.call(&tool, args).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::PermissionDenied, "{error}");
        assert_eq!(error.details.unwrap()["code"], "fs.outside");
    }
    assert_eq!(content(outside.folder.path(), "secret.txt"), b"secret\n");
    assert!(!outside.folder.path().join("new.txt").exists());
}

async fn shown(here: &crate::testing::Workplace, args: &Value) -> Preview {
    let shown = handle(Edit).preview(&here.context, args).await;
    shown.unwrap().unwrap()
}

#[tokio::test]
async fn a_preview_is_whole_or_no_diff() {
    let here = workplace(&[("a.txt", "one\n")]);
    let args = |new: &str| json!({"path": "/a.txt", "old_string": "one", "new_string": new});
    let long = format!("{}end of the line", " ".repeat(600));
    let preview = shown(&here, &args(&long)).await;
    assert_eq!(preview.kind, PreviewKind::Diff);
    assert!(preview.text.contains(&format!("\n+{long}\n")), "{}", preview.text);
    let many: String = (0..100_000).map(|number| format!("line {number}\n")).collect();
    let preview = shown(&here, &args(&many)).await;
    assert_eq!(preview.kind, PreviewKind::Diff);
    assert!(preview.text.contains("\n+line 99999\n"));
    // The result that the model reads stays short.
    here.text(&handle(Read), json!({"path": "/a.txt"})).await;
    let result = here.text(&handle(Edit), args(&many)).await;
    assert!(result.len() < 40_000, "{}", result.len());
    let here = workplace(&[("a.txt", "one\n")]);
    let preview = shown(&here, &args(&many.repeat(3))).await;
    assert_eq!(preview.kind, PreviewKind::Text);
    assert!(preview.text.contains("more lines of the diff are not shown"));
}

#[tokio::test]
async fn what_was_approved_is_what_is_changed() {
    let args = json!({"path": "/a.txt", "old_string": "old", "new_string": "new", "replace_all": true});
    for (now, decision, changed) in [
        ("one\nold\n", ApprovalDecision::Once, true),
        // It has moved, and what is around it has changed.
        ("zero\n1\n\nold\nmore\n", ApprovalDecision::Once, true),
        // It is at another place as well, or is only a part of its line by now.
        ("one\nold\nold\n", ApprovalDecision::Once, false),
        ("one\nold age\n", ApprovalDecision::Once, false),
        // The Yes was to more than this.
        ("one\nold\nold\n", ApprovalDecision::Session, true),
    ] {
        let mut here = workplace(&[("a.txt", "one\nold\n")]);
        let approval = Approval {
            state: ApprovalState::Approved,
            why: String::new(),
            decision: Some(decision),
            reason: None,
            decided_at: None,
            decided_by: None,
        };
        let preview = shown(&here, &args).await;
        here.context.extensions = here
            .context
            .extensions
            .clone()
            .with(Arc::new(preview))
            .with(Arc::new(approval));
        write(here.folder.path(), "a.txt", now.as_bytes());
        here.text(&handle(Read), json!({"path": "/a.txt"})).await;
        let text = here.text(&handle(Edit), args.clone()).await;
        let left = String::from_utf8(content(here.folder.path(), "a.txt")).unwrap();
        if changed {
            assert_eq!(left, now.replace("old", "new"), "{text}");
        } else {
            assert_eq!(left, now);
            assert_eq!(
                text,
                "Stale: `/a.txt` has changed since the user was asked, so the call would change something else than what \
                 was approved; nothing was changed. Look at the file and call again"
            );
        }
    }
}
