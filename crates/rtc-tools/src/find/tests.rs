use rtc_tool::handle;
use serde_json::json;

use super::*;
use crate::testing::workplace;

#[tokio::test]
async fn calls() {
    let here = workplace(&[
        ("a.md", ""),
        ("docs/b.md", ""),
        ("docs/deep/c.txt", ""),
        (".rtc/scripts/run.ts", ""),
    ]);
    let find = handle(Find);
    insta::assert_snapshot!(here.text(&find, json!({"pattern": "*.md"})).await, @"
    /a.md
    /docs/b.md
    ");
    insta::assert_snapshot!(here.text(&find, json!({"pattern": "**", "path": "docs", "head_limit": "2"})).await, @"
    /docs/b.md
    /docs/deep/
    [2 of 3 shown; narrow the pattern or the path]
    ");
    insta::assert_snapshot!(here.text(&find, json!({"pattern": "*.ts", "path": "/.rtc"})).await, @"/.rtc/scripts/run.ts");
    insta::assert_snapshot!(here.text(&find, json!({"pattern": "*.rs"})).await, @"No files found");
    insta::assert_snapshot!(here.text(&find, json!({"pattern": "{a"})).await, @"InvalidArguments: the pattern `{a` is not valid: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)");
    insta::assert_snapshot!(here.text(&find, json!({"pattern": "a", "name": "b"})).await, @"InvalidArguments: `name` is not a parameter; there are `pattern`, `path`, `head_limit`");
    insta::assert_snapshot!(here.text(&find, json!({"pattern": ""})).await, @"InvalidArguments: `pattern` is empty; `**` finds everything");
}

#[tokio::test]
async fn refused_paths_are_counted_and_a_refused_start_fails() {
    let here = workplace(&[("a.md", ""), ("shut/b.md", "")]);
    *here.surroundings.refused.lock().unwrap() = vec!["/shut".to_owned()];
    let find = handle(Find);
    insta::assert_snapshot!(here.text(&find, json!({"pattern": "*.md"})).await, @"
    /a.md
    [1 path not shown: permission is needed]
    ");
    let named = here
        .text(&find, json!({"pattern": "*.md", "path": "/shut"}))
        .await;
    assert_eq!(named, "PermissionDenied: /shut needs a Yes");
}

#[tokio::test]
async fn a_session_without_a_folder() {
    let mut here = workplace(&[]);
    here.context.extensions = rtc_tool::Extensions::default();
    let text = here.text(&handle(Find), json!({"pattern": "*"})).await;
    assert_eq!(
        text,
        "Execution: no folder is open in this session, so there are no files to work on"
    );
}

#[test]
fn what_the_model_is_told() {
    let find = handle(Find);
    let schema = &find.describe().input_schema;
    assert_eq!(schema["required"], json!(["pattern"]));
    assert_eq!(schema["properties"]["head_limit"]["default"], 1000);
    assert_eq!(schema["properties"]["path"]["default"], "/");
}
