use proptest::prelude::*;
use uuid::Uuid;

use super::*;

fn id(number: u128) -> RtcId {
    RtcId::new(Uuid::from_u128(number))
}

fn call() -> Call {
    Call {
        call_id: id(7),
        session_id: SessionId::new(Uuid::from_u128(1)),
        attempt: 2,
        tool: "echo".into(),
        arguments: json!({"text": "a\nb"}),
        deadline_ms: Some(30_000),
    }
}

#[test]
fn a_call_frame_by_frame() {
    let ask = HostCall {
        call_id: id(7),
        ordinal: 3,
        name: "fs.read".into(),
        arguments: json!({"path": "/a"}),
    };
    let text = |text: &str| Progress::Text { text: text.into() };
    let frames = [
        Frame::Call(call()),
        Frame::Progress(id(7), 0, text("half")),
        Frame::HostCall(ask),
        Frame::HostAnswer(id(7), 3, Ok(json!("content"))),
        Frame::HostAnswer(id(7), 4, Err(ToolError::denied("no"))),
        Frame::Cancel(id(7)),
        Frame::Terminal(id(7), Ok(Value::Null)),
    ];
    let lines: Vec<String> = frames
        .iter()
        .map(|frame| frame.encode().replace("00000000-0000-0000-0000-", "…"))
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {"jsonrpc":"2.0","id":"…000000000007","method":"tool.call","params":{"call_id":"…000000000007","session_id":"…000000000001","attempt":2,"tool":"echo","arguments":{"text":"a\nb"},"deadline_ms":30000}}
    {"jsonrpc":"2.0","method":"tool.progress","params":{"call_id":"…000000000007","seq":0,"progress":{"kind":"text","text":"half"}}}
    {"jsonrpc":"2.0","id":"…000000000007/3","method":"host.call","params":{"call_id":"…000000000007","ordinal":3,"name":"fs.read","arguments":{"path":"/a"}}}
    {"jsonrpc":"2.0","id":"…000000000007/3","result":"content"}
    {"jsonrpc":"2.0","id":"…000000000007/4","error":{"code":-32000,"message":"no","data":{"kind":"permission_denied","message":"no"}}}
    {"jsonrpc":"2.0","method":"tool.cancel","params":{"call_id":"…000000000007"}}
    {"jsonrpc":"2.0","id":"…000000000007","result":null}
    "#);
    for frame in frames {
        assert_eq!(Frame::decode(frame.encode().as_bytes()).unwrap(), frame);
    }
}

#[test]
fn what_is_no_frame_is_told() {
    let told: Vec<String> = [
        "",
        "{",
        "[]",
        r#"{"jsonrpc":"1.0","id":"x","result":1}"#,
        r#"{"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","id":"x","result":1}"#,
        r#"{"jsonrpc":"2.0","id":"00000000-0000-0000-0000-000000000007"}"#,
        r#"{"jsonrpc":"2.0","method":"tool.fly","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"tool.cancel"}"#,
    ]
    .iter()
    .map(|line| Frame::decode(line.as_bytes()).unwrap_err())
    .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    EOF while parsing a value at line 1 column 0
    EOF while parsing an object at line 1 column 1
    invalid length 0, expected struct Envelope with 6 elements at line 1 column 2
    it is not JSON-RPC 2.0
    it has neither a method nor an id
    the id "x" is none of ours
    a response has either a result or an error
    there is no method tool.fly
    tool.cancel: invalid type: null, expected struct OfCall
    "#);
}

#[test]
fn an_error_of_another_kind_of_peer_can_be_read() {
    let line = r#"{"jsonrpc":"2.0","id":"00000000-0000-0000-0000-000000000007",
        "error":{"code":-32016,"message":"busy","data":{"retryable":true}}}"#;
    let error = ToolError {
        details: Some(json!({"retryable": true})),
        ..ToolError::new(ErrorKind::Other("json_rpc_-32016".into()), "busy")
    };
    assert_eq!(
        Frame::decode(line.as_bytes()).unwrap(),
        Frame::Terminal(id(7), Err(error))
    );
}

fn kinds() -> impl Strategy<Value = ErrorKind> {
    prop_oneof![
        Just(ErrorKind::InvalidArguments),
        Just(ErrorKind::NotFound),
        Just(ErrorKind::PermissionDenied),
        Just(ErrorKind::Timeout),
        Just(ErrorKind::Cancelled),
        Just(ErrorKind::Stale),
        Just(ErrorKind::Full),
        Just(ErrorKind::Execution),
        "x_[a-z]{1,8}".prop_map(ErrorKind::Other),
    ]
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn every_outcome_survives_the_wire(kind in kinds(), message: String, details in prop::option::of(values()), value in values()) {
        // `null` says of details what their absence says.
        let details = details.filter(|details| !details.is_null());
        for outcome in [Ok(value), Err(ToolError { details, ..ToolError::new(kind, message) })] {
            let frame = Frame::Terminal(id(1), outcome);
            let line = frame.encode();
            prop_assert!(!line.contains('\n'));
            prop_assert_eq!(Frame::decode(line.as_bytes()).unwrap(), frame);
        }
    }
}
