//! Wrong requests: each has its exact error, and none stops the program.

use proptest::prelude::*;
use rtc_types::Code;
use rtc_wire::rpc::{MAX_FILE_CONTENT, MAX_MESSAGE, MAX_PATH, Method, Request};
use serde_json::{Value, json};

use crate::golden::golden;

const SESSION: &str = "0198c0de-0000-7000-8000-000000000001";

fn told(method: &str, data: Value) -> String {
    let error = Request::parse(method, data).unwrap_err();
    let field = error
        .details
        .as_ref()
        .map(|details| details["field"].as_str().unwrap().to_owned());
    if let Some(field) = field {
        assert!(error.message.starts_with(&format!("`{field}`: ")), "{error:?}");
    }
    error.to_string()
}

#[test]
fn each_wrong_request_has_its_error() {
    let send = |content: Value| json!({"content_data": content, "client_session_id": "c", "client_id": "m"});
    let text = |text: &str| send(json!({"type": "text", "data": text}));
    let table: Vec<(&str, Value)> = vec![
        ("v1.session.lst", json!({})),
        ("", json!({})),
        ("V1.SESSION.LIST", json!({})),
        ("v1.session.get", json!([SESSION])),
        ("v1.session.get", json!("x")),
        ("v1.session.get", json!(1)),
        ("v1.session.get", json!({})),
        ("v1.session.get", Value::Null),
        ("v1.session.get", json!({"session_id": null})),
        ("v1.session.get", json!({"session_id": ""})),
        ("v1.session.get", json!({"session_id": 7})),
        ("v1.session.get", json!({"session_id": "s-1"})),
        ("v1.session.list", json!({"limit": -1})),
        ("v1.session.list", json!({"limit": 1.5})),
        ("v1.session.list", json!({"limit": 1e300})),
        ("v1.session.list", json!({"limit": "NaN"})),
        ("v1.session.list", json!({"limit": true})),
        ("v1.session.list", json!({"cursor": "page-2"})),
        ("v1.message.list", json!({"session_id": SESSION, "cursor": "x"})),
        ("v1.message.list", json!({"session_id": SESSION, "cursor": -1})),
        (
            "v1.message.list",
            json!({"session_id": SESSION, "order": "best_first"}),
        ),
        (
            "v1.message.list",
            json!({"session_id": SESSION, "cursor": 4294967296u64}),
        ),
        ("v1.session.update", json!({"session_id": SESSION, "title": " "})),
        (
            "v1.session.update",
            json!({"session_id": SESSION, "deleted_at": "yesterday"}),
        ),
        (
            "v1.session.set_mode",
            json!({"session_id": SESSION, "mode": "yolo"}),
        ),
        (
            "v1.message.send",
            json!({"client_session_id": "c", "client_id": "m"}),
        ),
        ("v1.message.send", text("")),
        ("v1.message.send", text(" \n")),
        ("v1.message.send", send(json!("hello"))),
        ("v1.message.send", send(json!({"type": "markdown", "data": "x"}))),
        ("v1.message.send", send(json!({"type": "text", "data": 1}))),
        (
            "v1.message.send",
            send(json!({"type": "user_message", "data": {"files": []}})),
        ),
        (
            "v1.message.send",
            send(json!({"type": "user_message", "data": {"text": ""}})),
        ),
        (
            "v1.message.send",
            send(
                json!({"type": "user_message", "data": {"text": " ", "scenarios": [
                {"title": "t", "filepath": "/t", "file_content": "\n"}]}}),
            ),
        ),
        (
            "v1.message.send",
            send(json!({"type": "user_message", "data": {"text": "x", "scenarios": [{"title": "t"}]}})),
        ),
        (
            "v1.message.send",
            json!({"content_data": {"type": "text", "data": "x"}, "client_session_id": "", "client_id": "m"}),
        ),
        ("v1.rtc.update_status", json!({"rtc_id": SESSION})),
        (
            "v1.rtc.update_status",
            json!({"rtc_id": SESSION, "status": "completed"}),
        ),
        ("v1.rtc.update_status", json!({"rtc_id": SESSION, "status": 3})),
        (
            "v1.rtc.submit_result",
            json!({"rtc_id": SESSION, "success": "yes"}),
        ),
        ("v1.rtc.approve", json!({"rtc_id": SESSION, "decision": "maybe"})),
        ("v1.project.open", json!({"path": ""})),
        ("v1.fs.read", json!({"path": "/a", "offset": -1})),
        ("v1.fs.read", json!({"path": "/a", "format": "hex"})),
        ("v1.fs.write", json!({"path": "/a"})),
        (
            "v1.session.undo",
            json!({"session_id": SESSION, "hunks": vec![1; 1001]}),
        ),
    ];
    let all: Vec<String> = table
        .into_iter()
        .map(|(method, data)| told(method, data))
        .collect();
    insta::assert_snapshot!(all.join("\n"), @r#"
    rpc.method_not_found: there is no method `v1.session.lst`
    rpc.method_not_found: there is no method ``
    rpc.method_not_found: there is no method `V1.SESSION.LIST`
    rpc.invalid_request: the data of a request is an object with its fields
    rpc.invalid_request: the data of a request is an object with its fields
    rpc.invalid_request: the data of a request is an object with its fields
    rpc.invalid_argument: `session_id`: it is missing
    rpc.invalid_argument: `session_id`: it is missing
    rpc.invalid_argument: `session_id`: invalid type: null, expected a formatted UUID string
    rpc.invalid_argument: `session_id`: UUID parsing failed: invalid length: found 0
    rpc.invalid_argument: `session_id`: invalid type: integer `7`, expected a formatted UUID string
    rpc.invalid_argument: `session_id`: UUID parsing failed: invalid character: found `s` at 0
    rpc.invalid_argument: `limit`: invalid value: integer `-1`, expected u64
    rpc.invalid_argument: `limit`: invalid type: floating point `1.5`, expected u64
    rpc.invalid_argument: `limit`: invalid type: floating point `1e+300`, expected u64
    rpc.invalid_argument: `limit`: invalid type: string "NaN", expected u64
    rpc.invalid_argument: `limit`: invalid type: boolean `true`, expected u64
    rpc.invalid_argument: `cursor`: UUID parsing failed: invalid character: found `p` at 0
    message.invalid_cursor: `cursor`: it is not the offset of an entry, a whole number
    message.invalid_cursor: `cursor`: it is not the offset of an entry, a whole number
    rpc.invalid_argument: `order`: unknown variant `best_first`, expected `oldest_first` or `newest_first`
    message.invalid_cursor: `cursor`: it is not the offset of an entry, a whole number
    rpc.invalid_argument: `title`: it is empty
    rpc.invalid_argument: `deleted_at`: failed to parse four digit integer as year: invalid digit, expected 0-9 but got y
    rpc.invalid_argument: `mode`: unknown variant `yolo`, expected one of `manual`, `edit`, `plan`, `auto`, `bypass`
    rpc.invalid_argument: `content_data`: it is missing
    rpc.invalid_argument: `content_data`: the text is empty
    rpc.invalid_argument: `content_data`: the text is empty
    rpc.invalid_argument: `content_data`: invalid type: string "hello", expected an object with `type` and `data`
    rpc.invalid_argument: `content_data.type`: unknown variant `markdown`, expected `text` or `user_message`
    rpc.invalid_argument: `content_data.data`: invalid type: integer `1`, expected a string
    rpc.invalid_argument: `content_data.data.text`: it is missing
    rpc.invalid_argument: `content_data`: the text is empty
    rpc.invalid_argument: `content_data`: the text is empty
    rpc.invalid_argument: `content_data.data.scenarios[0].filepath`: it is missing
    rpc.invalid_argument: `client_session_id`: `` is not a valid ClientId: it is empty
    rpc.invalid_argument: `status`: it is missing
    rtc.invalid_status: `status`: unknown variant `completed`, expected one of `executing`, `failed`, `timeout`, `rejected`
    rtc.invalid_status: `status`: invalid type: integer `3`, expected string or map
    rpc.invalid_argument: `success`: invalid type: string "yes", expected a boolean
    rpc.invalid_argument: `decision`: unknown variant `maybe`, expected one of `once`, `session`, `project`, `reject`, `never`
    rpc.invalid_argument: `path`: it is empty
    rpc.invalid_argument: `offset`: invalid value: integer `-1`, expected u64
    rpc.invalid_argument: `format`: unknown variant `hex`, expected `text` or `base64`
    rpc.invalid_argument: `content`: it is missing
    rpc.invalid_argument: `hunks`: at most 1000 hunks can be named
    "#);
}

#[test]
fn what_is_too_long_is_refused_with_its_field() {
    let long = |length: usize| "x".repeat(length);
    for (method, field, data) in [
        (
            "v1.message.send",
            "content_data",
            json!({"content_data": {"type": "text", "data": long(MAX_MESSAGE + 1)}, "client_session_id": "c", "client_id": "m"}),
        ),
        (
            "v1.message.send",
            "content_data",
            json!({"content_data": {"type": "user_message", "data": {"text": "x", "scenarios": [
                {"title": "", "filepath": "", "file_content": long(MAX_MESSAGE / 2)},
                {"title": "t", "filepath": "", "file_content": long(MAX_MESSAGE / 2)},
            ]}}, "client_session_id": "c", "client_id": "m"}),
        ),
        ("v1.project.open", "path", json!({"path": long(MAX_PATH + 1)})),
        (
            "v1.fs.write",
            "content",
            json!({"path": "/a", "content": long(MAX_FILE_CONTENT + 1)}),
        ),
        (
            "v1.message.send",
            "client_id",
            json!({"content_data": {"type": "text", "data": "x"}, "client_session_id": "c", "client_id": long(257)}),
        ),
    ] {
        let error = Request::parse(method, data).unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument);
        assert_eq!(
            error.details,
            Some(json!({ "field": field })),
            "{}",
            error.message.len()
        );
        assert!(error.message.len() < 400, "{}", error.message.len());
    }
    assert!(Request::parse("v1.project.open", json!({"path": long(MAX_PATH)})).is_ok());
    assert!(
        Request::parse(
            "v1.fs.write",
            json!({"path": "/a", "content": long(MAX_FILE_CONTENT)})
        )
        .is_ok()
    );
}

#[test]
fn a_request_without_one_of_its_required_fields_names_it() {
    for &method in Method::ALL {
        let full = golden(method.as_str())["request"].clone();
        for field in full.as_object().unwrap().keys() {
            let mut data = full.clone();
            data.as_object_mut().unwrap().shift_remove(field);
            if let Err(error) = Request::parse(method.as_str(), data) {
                assert_eq!(
                    error.to_string(),
                    format!("rpc.invalid_argument: `{field}`: it is missing"),
                    "{method}"
                );
            }
        }
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        Just(Value::from(SESSION)),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z_]{0,8}", inner), 0..4)
                .prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_stops_the_program(method in ".{0,20}", data in any_json()) {
        let _ = Request::parse(&method, data);
    }

    /// Right requests with some fields replaced: read, or refused with the name of a field.
    #[test]
    fn a_changed_request_is_read_or_its_field_is_named(
        index in 0..Method::ALL.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any_json()), 1..3),
    ) {
        let method = Method::ALL[index];
        let mut data = golden(method.as_str())["request"].clone();
        let fields: Vec<String> = data.as_object().unwrap().keys().cloned().collect();
        for (field, value) in changes {
            if !fields.is_empty() {
                data[field.get(&fields).as_str()] = value;
            }
        }
        match Request::parse(method.as_str(), data) {
            Ok(request) => prop_assert_eq!(request.method(), method),
            Err(error) => {
                let field = error.details.as_ref().and_then(|details| details["field"].as_str()).unwrap_or_default();
                prop_assert!(fields.iter().any(|known| field == known || field.strip_prefix(known.as_str()).is_some_and(|rest| rest.starts_with(['.', '[']))), "{error:?}");
            }
        }
    }
}
