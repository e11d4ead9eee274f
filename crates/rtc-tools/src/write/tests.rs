use rtc_fs::PreImageFolder;
use rtc_tool::{ErrorKind, handle};
use serde_json::json;

use super::*;
use crate::Read;
use crate::testing::{content, workplace, write};

#[tokio::test]
async fn calls() {
    let here = workplace(&[("old.txt", "a\r\nb\r\n")]);
    let tool = handle(Write);
    insta::assert_snapshot!(here.text(&tool, json!({"path": "src/new.txt", "content": "x\n"})).await, @"
    path: /src/new.txt
    bytes: 2
    created: true
    encoding: UTF-8
    ");
    insta::assert_snapshot!(here.text(&tool, json!({"path": "/src/new.txt", "content": "y\n"})).await, @"
    path: /src/new.txt
    bytes: 2
    created: false
    encoding: UTF-8
    ");
    insta::assert_snapshot!(here.text(&tool, json!({"path": "/src/new.txt", "content": "z\n", "mode": "append"})).await, @"
    path: /src/new.txt
    bytes: 4
    created: false
    encoding: UTF-8
    ");
    insta::assert_snapshot!(here.text(&tool, json!({"path": "/src/new.txt", "content": "z", "mode": "create-new"})).await, @"Execution: `/src/new.txt` already exists; use mode `overwrite`, or another path");
    insta::assert_snapshot!(here.text(&tool, json!({"path": "/old.txt", "content": "c\n"})).await, @"Stale: `/old.txt` has not been read yet in this session; read it first");
    here.text(&handle(Read), json!({"path": "/old.txt"})).await;
    insta::assert_snapshot!(here.text(&tool, json!({"path": "/old.txt", "content": "c\n"})).await, @"
    path: /old.txt
    bytes: 3
    created: false
    encoding: UTF-8
    ");
    insta::assert_snapshot!(here.text(&tool, json!({"path": "/"  , "content": "c\n"})).await, @"InvalidArguments: `/` is a folder, not a file; list it, or name a file in it");
    insta::assert_snapshot!(here.text(&tool, json!({"path": "/old.txt", "content": "c", "mode": "replace"})).await, @r#"InvalidArguments: `mode` must be one of "overwrite", "append", "create-new", got "replace""#);
    assert_eq!(content(here.folder.path(), "src/new.txt"), b"y\nz\n");
    assert_eq!(content(here.folder.path(), "old.txt"), b"c\r\n");
}

#[tokio::test]
async fn missing_content_is_an_error_and_the_file_stays() {
    let here = workplace(&[("a.txt", "keep")]);
    here.text(&handle(Read), json!({"path": "/a.txt"})).await;
    insta::assert_snapshot!(here.text(&handle(Write), json!({"path": "/a.txt"})).await, @"InvalidArguments: `content` is required and missing");
    insta::assert_snapshot!(here.text(&handle(Write), json!({"path": "/a.txt", "content": null})).await, @"InvalidArguments: `content` must be a string, got null");
    assert_eq!(content(here.folder.path(), "a.txt"), b"keep");
}

#[tokio::test]
async fn writing_over_a_file_needs_all_of_it() {
    let here = workplace(&[("a.txt", "1\n2\n3\n")]);
    let (read, tool) = (handle(Read), handle(Write));
    here.text(&read, json!({"path": "/a.txt", "limit": 2})).await;
    insta::assert_snapshot!(here.text(&tool, json!({"path": "/a.txt", "content": "x"})).await, @"Stale: `/a.txt` was only partly read (lines 1-2); read the rest before writing over it, or use edit");
    assert_eq!(
        here.call(
            &tool,
            json!({"path": "/a.txt", "content": "4\n", "mode": "append"})
        )
        .await
        .unwrap()["bytes"],
        8
    );
    let partly = here
        .call(&tool, json!({"path": "/a.txt", "content": "x"}))
        .await
        .unwrap_err();
    assert_eq!(partly.kind, ErrorKind::Stale);
    here.text(&read, json!({"path": "/a.txt"})).await;
    here.call(&tool, json!({"path": "/a.txt", "content": "x"}))
        .await
        .unwrap();
    write(here.folder.path(), "a.txt", b"theirs\n");
    insta::assert_snapshot!(here.text(&tool, json!({"path": "/a.txt", "content": "y"})).await, @"
    Stale: `/a.txt` has changed since this session read it; read it again. It now is:
         1	theirs
    ");
    assert_eq!(content(here.folder.path(), "a.txt"), b"theirs\n");
}

#[tokio::test]
async fn the_old_content_is_kept_for_an_undo() {
    let here = workplace(&[]);
    let tool = handle(Write);
    here.call(&tool, json!({"path": "/a.txt", "content": "one"}))
        .await
        .unwrap();
    here.call(&tool, json!({"path": "/a.txt", "content": "two"}))
        .await
        .unwrap();
    let kept = here.context.extensions.get::<PreImageFolder>().unwrap();
    assert_eq!(kept.list(here.context.rtc).unwrap(), [1, 2]);
    let before = |number: u32, after: &[u8]| {
        kept.load(here.context.rtc, number)
            .unwrap()
            .before(after)
            .unwrap()
    };
    assert_eq!(before(1, b"one"), None);
    assert_eq!(before(2, b"two"), Some(b"one".to_vec()));
}

#[tokio::test]
async fn a_call_that_was_cut_off_is_told_apart() {
    let here = workplace(&[]);
    let tool = handle(Write);
    let args = json!({"path": "/a.txt", "content": "one"});
    let prepared = tool.prepare(&here.context, &args).await.unwrap().unwrap();
    let mark = prepared.mark.clone();
    assert_eq!(
        tool.recover(&here.context, &args, &mark).await.unwrap(),
        Recovery::NotApplied
    );
    let result = rtc_tool::terminal_of(tool.execute(here.context.clone(), args.clone(), Some(prepared)))
        .await
        .unwrap();
    here.surroundings.known.lock().unwrap().clear();
    assert_eq!(
        tool.recover(&here.context, &args, &mark).await.unwrap(),
        Recovery::Applied(result)
    );
    here.call(
        &tool,
        json!({"path": "/a.txt", "content": "the session knows what it wrote"}),
    )
    .await
    .unwrap();
    let Recovery::Neither(evidence) = tool.recover(&here.context, &args, &mark).await.unwrap() else {
        panic!()
    };
    insta::assert_snapshot!(evidence, @"`/a.txt` has neither the content that it had before nor the one that it should get.");
}

#[tokio::test]
async fn a_preview_is_the_diff_and_changes_nothing() {
    let here = workplace(&[("a.txt", "old\n")]);
    let preview = handle(Write)
        .preview(&here.context, &json!({"path": "a.txt", "content": "new\n"}))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(preview.paths, ["/a.txt"]);
    insta::assert_snapshot!(preview.text, @"
    --- /a.txt
    +++ /a.txt
    @@ -1 +1 @@
    -old
    +new
    ");
    assert_eq!(content(here.folder.path(), "a.txt"), b"old\n");
}

#[tokio::test]
async fn a_cancelled_call_changes_nothing() {
    let here = workplace(&[]);
    let tool = handle(Write);
    let args = json!({"path": "/a.txt", "content": "one"});
    let prepared = tool.prepare(&here.context, &args).await.unwrap();
    here.context.cancel.cancel();
    let ended = rtc_tool::terminal_of(tool.execute(here.context.clone(), args, prepared)).await;
    assert_eq!(ended.unwrap_err().kind, ErrorKind::Cancelled);
    assert!(!here.folder.path().join("a.txt").exists());
    assert!(here.surroundings.known.lock().unwrap().is_empty());
}
