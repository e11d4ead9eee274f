use std::sync::atomic::Ordering;

use futures::FutureExt;
use rtc_fs::PreImageFolder;
use rtc_tool::handle;

use super::*;
use crate::testing::{Workplace, content, workplace, write};
use crate::{Edit, WriteMode};

fn calls(here: &Workplace) -> FileCalls {
    FileCalls::new(here.context.clone())
}

fn told(result: Result<Value, ToolError>) -> String {
    match result {
        Ok(value) => value.to_string(),
        Err(error) => format!("{:?}: {error}", error.kind),
    }
}

fn write_args(path: &str, content: &str) -> WriteArgs {
    WriteArgs {
        path: path.to_owned(),
        content: content.to_owned(),
        mode: WriteMode::Overwrite,
    }
}

#[tokio::test]
async fn what_a_program_reads_is_data() {
    let here = workplace(&[
        ("src/a.rs", "fn a() {}\nfn b() {}\n"),
        ("d/e/x", ""),
        ("notes.md", "one\r\ntwo"),
    ]);
    write(here.folder.path(), "latin.txt", b"caf\xE9\n");
    write(here.folder.path(), "bytes", b"\0\x01\xFF");
    let calls = calls(&here);
    let lines = |offset, limit| Lines { offset, limit };
    let mut all = vec![
        calls.list("/").await,
        calls.list("/d").await,
        calls.read("/notes.md", Lines::default()).await,
        calls.read("/notes.md", lines(Some(2), None)).await,
        calls.read("/notes.md", lines(None, Some(1))).await,
        calls.read("/notes.md", lines(Some(-1), Some(1))).await,
        calls.read("/notes.md", lines(Some(3), None)).await,
        calls.read("/d/e/x", Lines::default()).await,
        calls.read("/latin.txt", Lines::default()).await,
        calls.read("/bytes", Lines::default()).await,
        calls.read("/no", Lines::default()).await,
        calls.read("/../x", Lines::default()).await,
        calls.read("/d", Lines::default()).await,
    ];
    let grep = |args: Value| calls.grep(serde_json::from_value(args).unwrap());
    all.push(grep(json!({"pattern": "fn (a|b)"})).await);
    all.push(grep(json!({"pattern": "fn b", "-B": 1})).await);
    all.push(grep(json!({"pattern": "fn", "output_mode": "count"})).await);
    all.push(grep(json!({"pattern": "fn", "output_mode": "files_with_matches"})).await);
    all.push(grep(json!({"pattern": "fn", "head_limit": 1})).await);
    let find = |args: Value| calls.find(serde_json::from_value(args).unwrap());
    all.push(find(json!({"pattern": "*"})).await);
    all.push(find(json!({"pattern": "*", "head_limit": 1})).await);
    let text: Vec<String> = all.into_iter().map(told).collect();
    insta::assert_snapshot!(text.join("\n"), @r#"
    ["bytes","d/","latin.txt","notes.md","src/"]
    ["e/"]
    "one\r\ntwo"
    "two"
    "one\r\n"
    "two"
    InvalidArguments: line 3 of `/notes.md` was asked for, but its last line is 2
    ""
    "café\n"
    Execution: `/bytes` is not text (binary data, 3 bytes)
    NotFound: `/no` does not exist; the nearest folder that does is `/`
    InvalidArguments: the path `/../x` contains `..`; write it without: `/x`
    InvalidArguments: `/d` is a folder, not a file; list it, or name a file in it
    {"items":[{"path":"/src/a.rs","line":1,"text":"fn a() {}"},{"path":"/src/a.rs","line":2,"text":"fn b() {}"}],"note":null}
    {"items":[{"path":"/src/a.rs","line":1,"text":"fn a() {}","context":true},{"path":"/src/a.rs","line":2,"text":"fn b() {}"}],"note":null}
    {"items":[{"path":"/src/a.rs","count":2}],"note":null}
    {"items":["/src/a.rs"],"note":null}
    {"items":[{"path":"/src/a.rs","line":1,"text":"fn a() {}"}],"note":"the matches are cut off; go on with offset 1"}
    {"items":["/bytes","/d/","/d/e/","/d/e/x","/latin.txt","/notes.md","/src/","/src/a.rs"],"note":null}
    {"items":["/bytes"],"note":"the first 1 of 8 paths are given"}
    "#);
    assert_eq!(calls.read_bytes("/bytes").await.unwrap(), b"\0\x01\xFF");
    let stat = calls.stat("/notes.md").await.unwrap();
    assert_eq!((&stat["kind"], &stat["size"]), (&json!("file"), &json!(8)));
    assert_eq!(calls.changed(), Vec::<String>::new());
}

#[tokio::test]
async fn a_program_must_know_what_it_changes_like_everyone_else() {
    let here = workplace(&[("a", "1\n2\n3\n"), ("b", "old")]);
    let calls = calls(&here);
    let over = || calls.write(write_args("/a", "new"));
    let mut all = vec![over().await];
    calls
        .read(
            "/a",
            Lines {
                offset: Some(2),
                limit: None,
            },
        )
        .await
        .unwrap();
    all.push(over().await);
    calls
        .read(
            "/a",
            Lines {
                offset: None,
                limit: Some(1),
            },
        )
        .await
        .unwrap();
    all.push(over().await);
    calls.read_bytes("/b").await.unwrap();
    write(here.folder.path(), "b", b"other");
    all.push(calls.write(write_args("/b", "new")).await);
    let text: Vec<String> = all.into_iter().map(told).collect();
    insta::assert_snapshot!(text.join("\n"), @r#"
    Stale: `/a` has not been read yet in this session; read it first
    Stale: `/a` was only partly read (lines 2-3); read the rest before writing over it, or use edit
    {"path":"/a","bytes":3,"created":false,"encoding":"UTF-8"}
    Stale: `/b` has changed since this session read it; read it again. It now is:
         1	other
    "#);
    // What it wrote it knows, and so do the tools that the session uses later.
    let edited = here
        .text(
            &handle(Edit),
            json!({"path": "/a", "old_string": "new", "new_string": "newer"}),
        )
        .await;
    assert!(edited.contains("replaced: 1"), "{edited}");
    assert_eq!(calls.changed(), ["/a"]);
}

#[tokio::test]
async fn folders_are_made_and_files_moved_and_removed_with_an_undo() {
    let here = workplace(&[("a", "1"), ("d/x", "2"), ("d/y", "3")]);
    let calls = calls(&here);
    calls.read("/a", Lines::default()).await.unwrap();
    let all = vec![
        calls.make_folder("/new/place").await,
        calls.make_folder("/new").await,
        calls.rename("/a", "/new/place/b").await,
        calls.rename("/d/x", "/new/place/b").await,
        calls.remove("/d", false).await,
        calls.remove("/d", true).await,
        calls.remove("/d", true).await,
        // It is known from before the move.
        calls.write(write_args("/new/place/b", "one")).await,
    ];
    let text: Vec<String> = all.into_iter().map(told).collect();
    insta::assert_snapshot!(text.join("\n"), @r#"
    {"path":"/new/place","created":true}
    {"path":"/new","created":false}
    {"from":"/a","to":"/new/place/b"}
    Execution: `/new/place/b` already exists; use mode `overwrite`, or another path
    InvalidArguments: `/d` is a folder with something in it; `{recursive: true}` removes that as well
    {"path":"/d","removed":3}
    NotFound: `/d` does not exist; the nearest folder that does is `/`
    {"path":"/new/place/b","bytes":3,"created":false,"encoding":"UTF-8"}
    "#);
    assert_eq!(content(here.folder.path(), "new/place/b"), b"one");
    assert_eq!(
        calls.changed(),
        ["/a", "/d", "/d/x", "/d/y", "/new", "/new/place", "/new/place/b"]
    );
    let kept = here.context.extensions.get::<PreImageFolder>().unwrap();
    let paths: Vec<String> = kept
        .list(here.context.rtc)
        .unwrap()
        .into_iter()
        .map(|number| kept.load(here.context.rtc, number).unwrap().path.to_string())
        .collect();
    assert_eq!(
        paths,
        [
            "/new",
            "/new/place",
            "/new/place/b",
            "/a",
            "/d/y",
            "/d/x",
            "/d",
            "/new/place/b"
        ]
    );
}

#[tokio::test]
async fn every_path_needs_permission_also_one_that_is_only_below() {
    let here = workplace(&[("open/x", ""), ("d/shut/x", ""), ("a", "")]);
    *here.surroundings.refused.lock().unwrap() = vec!["/d/shut".to_owned()];
    let calls = calls(&here);
    let refused = [
        calls.read("/d/shut/x", Lines::default()).await,
        calls.read_bytes("/d/shut/x").await.map(Value::from),
        calls.stat("/d/shut/x").await,
        calls.write(write_args("/d/shut/x", "")).await,
        calls.make_folder("/d/shut/new").await,
        calls.rename("/d", "/e").await,
        calls.rename("/a", "/d/shut/a").await,
        calls.remove("/d", true).await,
    ];
    for result in refused {
        let told = told(result);
        assert!(told.starts_with("PermissionDenied: /d/shut"), "{told}");
    }
    assert_eq!(calls.changed(), Vec::<String>::new());
}

#[test]
fn parts_of_a_text() {
    let table: &[(&str, Option<i64>, Option<u64>, &str)] = &[
        ("", None, None, ""),
        ("", None, Some(5), ""),
        ("a", None, None, "a"),
        ("a\nb\n", None, None, "a\nb\n"),
        ("a\nb\n", Some(0), Some(1), "a\n"),
        ("a\nb\n", Some(2), Some(9), "b\n"),
        ("a\nb", Some(-1), None, "b"),
        ("a\nb", Some(-9), None, "a\nb"),
        ("a\nb", Some(1), Some(0), ""),
    ];
    for &(text, offset, limit, part) in table {
        let found = part_of(text, Lines { offset, limit })
            .ok()
            .map(|part| &text[part.bytes]);
        assert_eq!(found, Some(part), "{text:?} {offset:?} {limit:?}");
    }
    assert!(matches!(
        part_of(
            "a\nb\n",
            Lines {
                offset: Some(3),
                limit: None
            }
        ),
        Err((3, 2))
    ));
}

#[tokio::test]
async fn what_fails_half_way_has_changed_what_it_had_made() {
    let here = workplace(&[]);
    let calls = calls(&here);
    let too_long = "x".repeat(300);
    assert!(calls.make_folder(&format!("/made/{too_long}")).await.is_err());
    assert_eq!(calls.changed(), ["/made"]);
}

/// Neither what a script is told nor what an undo finds speaks of a change that was not made.
#[tokio::test]
async fn a_write_that_fails_before_its_effect_has_changed_nothing() {
    let here = workplace(&[("a", "old")]);
    let calls = calls(&here);
    here.call(&handle(crate::Read), serde_json::json!({"path": "/a"}))
        .await
        .unwrap();
    // Something else has the name that the temporary file would get.
    let tag = format!("{}\0/a", here.context.rtc);
    let hash = rtc_fs::Hash::of(tag.as_bytes()).to_string();
    write(here.folder.path(), &format!(".rtc-{}.tmp/x", &hash[..16]), b"");
    assert!(calls.write(write_args("/a", "new")).await.is_err());
    assert_eq!(calls.changed(), [""; 0]);
    let kept = here.context.extensions.get::<PreImageFolder>().unwrap();
    assert_eq!(kept.list(here.context.rtc).unwrap(), [0; 0]);
    calls.write(write_args("/b", "new")).await.unwrap();
    assert_eq!(calls.changed(), ["/b"]);
    assert_eq!(kept.list(here.context.rtc).unwrap(), [1]);
}

#[tokio::test]
async fn each_change_is_made_in_a_turn_of_its_own_and_a_look_in_none() {
    let here = workplace(&[("a", "one"), ("d/b", "two")]);
    let (calls, turns) = (calls(&here), &here.surroundings.turns);
    let taken = || turns.swap(0, Ordering::SeqCst);
    let edit = |new: &str| EditArgs {
        path: "/a".to_owned(),
        old_string: "one".to_owned(),
        new_string: new.to_owned(),
        replace_all: false,
    };
    calls.read("/a", Lines::default()).await.unwrap();
    calls.read_bytes("/d/b").await.unwrap();
    calls.list("/").await.unwrap();
    calls.stat("/a").await.unwrap();
    assert_eq!(taken(), 0);
    // Others come in between, so the first is over before the second is begun.
    calls.edit(edit("three")).await.unwrap();
    assert_eq!(taken(), 1);
    calls.write(write_args("/new", "x")).await.unwrap();
    assert_eq!(taken(), 1);
    calls.make_folder("/made").await.unwrap();
    assert_eq!(taken(), 1);
    calls.rename("/new", "/newer").await.unwrap();
    assert_eq!(taken(), 1);
    calls.remove("/d", true).await.unwrap();
    assert_eq!(taken(), 1);
}

#[tokio::test]
async fn a_program_that_is_ended_while_it_waits_for_its_turn_changes_nothing() {
    let here = workplace(&[]);
    let calls = calls(&here);
    let others = here.surroundings.turn.clone().lock_owned().await;
    let mut write = Box::pin(calls.write(write_args("/a", "x")));
    assert!((&mut write).now_or_never().is_none());
    // What only looks does not wait.
    calls.list("/").await.unwrap();
    here.context.cancel.cancel();
    assert_eq!(write.await.unwrap_err(), ToolError::cancelled());
    drop(others);
    assert!(!here.folder.path().join("a").exists());
}
