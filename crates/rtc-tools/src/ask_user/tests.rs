use rtc_tool::{ErrorKind, handle};
use serde_json::json;

use super::*;
use crate::testing::workplace;

fn option(label: &str) -> Value {
    json!({"label": label, "description": "what it means"})
}

fn question(text: &str, labels: &[&str]) -> Value {
    let options: Vec<Value> = labels.iter().map(|label| option(label)).collect();
    json!({"question": text, "header": "Choice", "options": options})
}

fn two() -> Value {
    let mut second = question("Which parts?", &["Search", "Export", "Import"]);
    second["multiSelect"] = json!("true");
    json!({"questions": [question("Which store?", &["Files", "Memory"]), second]})
}

fn answered(args: Value, answer: Value) -> Result<Value, ToolError> {
    let tool = handle(AskUser);
    tool.answer(&tool.check(args).unwrap(), answer)
}

#[test]
fn answers_become_a_sentence_in_the_order_of_the_questions() {
    let text = |answer: Value| rtc_tool::model_text(&answered(two(), answer).unwrap());
    insta::assert_snapshot!(text(json!({"answers": {"Which parts?": "Search, Export", "Which store?": "Files"}})), @r#"The user answered: "Which store?"="Files", "Which parts?"="Search, Export". Go on with these answers in mind."#);
    insta::assert_snapshot!(text(json!({"answers": {"Which parts?": ["Search", "something of my own"], "Which store?": null}})), @r#"The user answered: "Which parts?"="Search, something of my own". Go on with these answers in mind."#);
    insta::assert_snapshot!(text(json!({
        "answers": {"Which store?": " a \"plain\" file \n"},
        "annotations": {"Which store?": {"notes": "for now", "preview": "a | b"}, "Which parts?": {"notes": "unused"}},
        "metadata": {"source": "a client"},
    })), @r#"The user answered: "Which store?"="a "plain" file" [preview: a | b] [notes: for now]. Go on with these answers in mind."#);
    insta::assert_snapshot!(text(json!({"answers": {}})), @"The user answered none of the questions. Go on with what you know, or ask again in another way.");
    assert_eq!(
        text(json!({"answers": {"Which store?": ""}})),
        text(json!({"answers": {}}))
    );
    insta::assert_snapshot!(text(json!("Files, and nothing else")), @"The user answered: Files, and nothing else");
    let one = json!({"questions": [question("Which store?", &["Files", "Memory"])]});
    assert_eq!(
        answered(one.clone(), json!("Files")).unwrap(),
        answered(one, json!({"answers": {"Which store?": "Files"}})).unwrap()
    );
}

#[test]
fn answers_that_are_refused() {
    let error = |answer: Value| {
        let error = answered(two(), answer).unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidArguments);
        error.message
    };
    insta::assert_snapshot!(error(json!({"answers": {"Which colour?": "red"}})), @"`Which colour?` was not asked; answers go by the text of the question");
    insta::assert_snapshot!(error(json!({"answers": {"Which store?": 5}})), @"the answer to `Which store?` must be a text or a list of texts");
    insta::assert_snapshot!(error(json!({"answers": {"Which store?": ["a", 5]}})), @"the answer to `Which store?` must be a text or a list of texts");
    insta::assert_snapshot!(error(json!({"answer": "Files"})), @r#"the answer must be {"answers": {question: answer}}: missing field `answers`"#);
    insta::assert_snapshot!(error(json!({"answers": {"Which store?": "x".repeat(MAX_ANSWER_CHARS + 1)}})), @"the answer to `Which store?` has over 10000 characters; shorten it");
    assert!(
        answered(
            two(),
            json!({"answers": {"Which store?": "é".repeat(MAX_ANSWER_CHARS)}})
        )
        .is_ok()
    );
    insta::assert_snapshot!(error(json!(["Files"])), @r#"the answer must be {"answers": {question: answer}}: invalid type: string "Files", expected a map"#);
}

#[test]
fn limits_of_questions() {
    let fine = || question("Which?", &["a", "b"]);
    let with = |field: &str, value: Value| {
        let mut changed = fine();
        changed[field] = value;
        json!({"questions": [changed]})
    };
    let many = |number: usize| -> Value {
        (0..number)
            .map(|n| question(&format!("Which {n}?"), &["a", "b"]))
            .collect()
    };
    let labels = |labels: &[&str]| with("options", labels.iter().map(|label| option(label)).collect());
    let mut preview = fine();
    preview["options"][0]["preview"] = json!("x");
    let single = preview.clone();
    preview["multiSelect"] = json!(true);
    let tool = handle(AskUser);
    for args in [
        json!({"questions": many(1)}),
        json!({"questions": many(4)}),
        with("header", json!("十二個字的標題也可以的呀")),
        labels(&["a", "b", "c", "d"]),
        json!({"questions": [single]}),
    ] {
        let checked = tool.check(args.clone());
        assert!(checked.is_ok(), "{args}: {checked:?}");
        assert_eq!(tool.check(checked.clone().unwrap()), checked);
    }
    let refused: Vec<String> = [
        json!({}),
        json!({"questions": []}),
        json!({"questions": many(5)}),
        json!({"questions": [fine(), fine()]}),
        with("question", json!(" ")),
        with("header", json!("")),
        with("header", json!("thirteen char")),
        labels(&["a"]),
        labels(&["a", "b", "c", "d", "e"]),
        labels(&["a", " "]),
        labels(&["a", "a"]),
        labels(&["a", "Other"]),
        with("answer", json!("a")),
        json!({"questions": [preview]}),
    ]
    .into_iter()
    .map(|args| tool.check(args).unwrap_err().to_string())
    .collect();
    insta::assert_snapshot!(refused.join("\n"), @"
    `questions` is required and missing
    the arguments do not fit: `questions` must be 1 to 4 questions, got 0
    the arguments do not fit: `questions` must be 1 to 4 questions, got 5
    the arguments do not fit: `questions[1]` asks the same as an earlier one
    the arguments do not fit: `questions[0]`: `question` is empty
    the arguments do not fit: `questions[0]`: `header` must have 1 to 12 characters, got 0
    the arguments do not fit: `questions[0]`: `header` must have 1 to 12 characters, got 13
    the arguments do not fit: `questions[0]`: `options` must be 2 to 4 options, got 1
    the arguments do not fit: `questions[0]`: `options` must be 2 to 4 options, got 5
    the arguments do not fit: `questions[0]`: `options[1].label` is empty
    the arguments do not fit: `questions[0]`: `options[1]`: `a` is there twice
    the arguments do not fit: `questions[0]`: `options[1]`: leave out `Other`; the user can always write their own answer
    `questions[0].answer` is not a parameter; there are `question`, `header`, `options`, `multiSelect`
    the arguments do not fit: `questions[0]`: `options[0].preview` goes only with `multiSelect: false`
    ");
}

#[tokio::test]
async fn it_is_the_users_to_answer() {
    let tool = handle(AskUser);
    assert_eq!(tool.kind(), Kind::User);
    assert!(
        tool.subject(&tool.check(two()).unwrap())
            .unwrap()
            .paths
            .is_empty()
    );
    let here = workplace(&[]);
    insta::assert_snapshot!(here.text(&tool, two()).await, @"Execution: askUser is answered by the user, not run by a device");
}

#[test]
fn what_the_model_is_told() {
    let tool = handle(AskUser);
    let schema = &tool.describe().input_schema;
    let question = &schema["properties"]["questions"]["items"];
    assert_eq!(schema["properties"]["questions"]["maxItems"], 4);
    assert_eq!(question["properties"]["header"]["maxLength"], 12);
    assert_eq!(question["properties"]["options"]["minItems"], 2);
    assert_eq!(question["required"], json!(["question", "header", "options"]));
    assert!(!schema.to_string().contains("$ref"));
}
