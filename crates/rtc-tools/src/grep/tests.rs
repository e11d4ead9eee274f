use rtc_tool::{Kind, handle};
use serde_json::json;

use super::*;
use crate::testing::workplace;

#[tokio::test]
async fn a_call_in_each_mode() {
    let here = workplace(&[("a.txt", "one\nTwo\nthree\n"), ("b/c.rs", "two\n")]);
    let grep = handle(Grep);
    insta::assert_snapshot!(here.text(&grep, json!({"pattern": "two"})).await, @"/b/c.rs:1:two");
    insta::assert_snapshot!(here.text(&grep, json!({"pattern": "two", "-i": true, "-C": "1"})).await, @"
    /a.txt-1-one
    /a.txt:2:Two
    /a.txt-3-three
    --
    /b/c.rs:1:two
    ");
    insta::assert_snapshot!(here.text(&grep, json!({"pattern": "two", "case_sensitive": "false", "-A": 1, "context": 0})).await, @"
    /a.txt:2:Two
    /a.txt-3-three
    --
    /b/c.rs:1:two
    ");
    insta::assert_snapshot!(here.text(&grep, json!({"pattern": "t", "output_mode": "files_with_matches", "glob": "*.txt", "-n": true})).await, @"
    Found 1 file
    /a.txt
    ");
    insta::assert_snapshot!(here.text(&grep, json!({"pattern": "t", "output_mode": "count", "type": "rust", "path": null})).await, @"
    /b/c.rs:1

    Found 1 total occurrence across 1 file
    ");
    insta::assert_snapshot!(here.text(&grep, json!({"pattern": "e", "head_limit": 1, "offset": 1, "path": "a.txt"})).await, @"
    /a.txt:3:three
    [lines 2-2 of 2]
    ");
    insta::assert_snapshot!(here.text(&grep, json!({"pattern": "one.Two", "multiline": true})).await, @"
    /a.txt:1:one
    /a.txt:2:Two
    ");
}

#[tokio::test]
async fn wrong_arguments_are_told() {
    let here = workplace(&[]);
    let grep = handle(Grep);
    for (args, want) in [
        (json!({}), "InvalidArguments: `pattern` is required and missing"),
        (
            json!({"pattern": ""}),
            "InvalidArguments: `pattern` is empty: it would match every line; name what to look for",
        ),
        (
            json!({"pattern": "a", "output_mode": "lines"}),
            "InvalidArguments: `output_mode` must be one of \"content\", \"files_with_matches\", \"count\", got \"lines\"",
        ),
        (
            json!({"pattern": "a", "-C": 500}),
            "InvalidArguments: 500 lines of context are too many: at most 200; use read for more",
        ),
        (
            json!({"pattern": "a", "path": "/x/../y"}),
            "InvalidArguments: the path `/x/../y` contains `..`; write it without: `/y`",
        ),
        (
            json!({"pattern": "a", "path": "/x"}),
            "NotFound: `/x` does not exist; the nearest folder that does is `/`",
        ),
        (
            json!({"pattern": "a("}),
            "InvalidArguments: the pattern `a(` is not valid: at character 2 (`(`): unclosed group; a literal `(` is written `\\(`",
        ),
    ] {
        assert_eq!(here.text(&grep, args.clone()).await, want, "{args}");
    }
}

#[tokio::test]
async fn the_permit_decides_on_real_paths() {
    let here = workplace(&[("open/a", "needle\n"), ("shut/b", "needle\n")]);
    *here.surroundings.refused.lock().unwrap() = vec!["/shut".to_owned()];
    let grep = handle(Grep);
    insta::assert_snapshot!(here.text(&grep, json!({"pattern": "needle"})).await, @"
    /open/a:1:needle
    [1 file not searched: permission is needed]
    ");
    // What the call itself names fails instead of being skipped, also by another name.
    let named = "PermissionDenied: /shut/b needs a Yes";
    assert_eq!(
        here.text(&grep, json!({"pattern": "needle", "path": "/shut/b"}))
            .await,
        named
    );
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("shut/b", here.folder.path().join("alias")).unwrap();
        assert_eq!(
            here.text(&grep, json!({"pattern": "needle", "path": "/alias"}))
                .await,
            named
        );
    }
    let asked = here.surroundings.asked.lock().unwrap();
    assert!(asked.iter().all(|(access, _)| *access == Access::Read));
}

#[tokio::test]
async fn a_cancelled_call() {
    let here = workplace(&[("a", "needle\n")]);
    here.context.cancel.cancel();
    let text = here.text(&handle(Grep), json!({"pattern": "needle"})).await;
    assert_eq!(
        text,
        "Cancelled: the call was cancelled before it changed anything"
    );
}

#[test]
fn what_the_model_is_told() {
    let grep = handle(Grep);
    assert_eq!(
        (grep.kind(), grep.describe().name.as_str()),
        (Kind::Device, "grep")
    );
    let schema = &grep.describe().input_schema;
    assert_eq!(schema["required"], json!(["pattern"]));
    let names: Vec<&str> = schema["properties"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let want = "pattern path glob type output_mode case_sensitive -i -A -B -C context -n multiline head_limit offset";
    assert_eq!(names.join(" "), want);
    assert_eq!(schema["properties"]["head_limit"]["default"], 250);
    assert!(!schema.to_string().contains("$ref"));
    assert_eq!(
        grep.subject(&json!({"pattern": "a", "path": "src/"})).unwrap(),
        Subject::read("/src")
    );
}
