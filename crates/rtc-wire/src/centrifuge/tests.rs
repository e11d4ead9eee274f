use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use rtc_types::Code;
use serde_json::{Value, json};

use super::*;

const COMMANDS: &str = include_str!("../../tests/golden/centrifuge/commands.ndjson");
const REPLIES: &str = include_str!("../../tests/golden/centrifuge/replies.ndjson");

#[test]
fn golden_commands_are_read_and_written_to_the_letter() {
    let commands = decode(COMMANDS).unwrap();
    for (command, text) in commands.iter().zip(COMMANDS.lines()) {
        assert_eq!(encode_commands(std::slice::from_ref(command)), text);
    }
    assert_eq!(commands.len(), COMMANDS.lines().count());
    for name in Method::NAMES {
        let has =
            |command: &Command| matches!(command, Command::Call { method, .. } if method.name() == *name);
        assert!(commands.iter().any(has), "no golden command `{name}`");
    }
}

#[test]
fn golden_replies_are_read_and_written_to_the_letter() {
    let replies = decode_replies(REPLIES).unwrap();
    for (reply, text) in replies.iter().zip(REPLIES.lines()) {
        assert_eq!(encode(std::slice::from_ref(reply)), text);
    }
    assert_eq!(replies.len(), REPLIES.lines().count());
    for name in Outcome::NAMES {
        let has = |reply: &Reply| matches!(reply, Reply::Result { outcome, .. } if outcome.name() == *name);
        assert!(replies.iter().any(has), "no golden result `{name}`");
    }
    for name in PushEvent::NAMES {
        let has = |reply: &Reply| matches!(reply, Reply::Push(push) if push.event.name() == *name);
        assert!(replies.iter().any(has), "no golden push `{name}`");
    }
}

#[test]
fn what_is_read_is_what_was_written() {
    let since = StreamPosition {
        offset: 41,
        epoch: "e1".to_owned(),
    };
    let history = HistoryRequest {
        channel: "topic:u=u1".to_owned(),
        limit: 100,
        since: Some(since),
        reverse: false,
    };
    assert!(decode(COMMANDS).unwrap().contains(&Command::Call {
        id: 9,
        method: Method::History(history)
    }));
    let publication = Publication {
        offset: 42,
        data: json!({"type": "gap", "data": {}}),
        ..Publication::default()
    };
    let result = HistoryResult {
        publications: vec![publication],
        epoch: "e1".to_owned(),
        offset: 43,
    };
    assert!(decode_replies(REPLIES).unwrap().contains(&Reply::Result {
        id: 9,
        outcome: Outcome::History(result)
    }));
}

#[test]
fn what_other_clients_write_is_understood() {
    let same = [
        // Nulls, defaults, unknown fields, another order, spaces, empty lines, a carriage return.
        (r#"{"id":null,"connect":null}"#, "{}"),
        (r#"{"id":0}"#, "{}"),
        (
            r#" { "connect" : {"token":"","data":null,"later":[{}]}, "id":1, "later":{} } "#,
            r#"{"id":1,"connect":{}}"#,
        ),
        (
            "\n{\"id\":1,\"ping\":{}}\r\n\n{\"id\":2,\"ping\":{}}\n",
            "{\"id\":1,\"ping\":{}}\n{\"id\":2,\"ping\":{}}",
        ),
        (r#"{"id":3,"subscribe":null}"#, r#"{"id":3,"":{}}"#),
        (r#"{"id":3,"later":5,"also":6}"#, r#"{"id":3,"later":{}}"#),
        ("", ""),
    ];
    for (text, meaning) in same {
        assert_eq!(encode_commands(&decode(text).unwrap()), meaning, "{text}");
    }
}

#[test]
fn a_frame_that_is_none_says_why() {
    let deep = |levels: usize| {
        format!(
            r#"{{"id":1,"send":{{"data":{}1{}}}}}"#,
            "[".repeat(levels - 2),
            "]".repeat(levels - 2)
        )
    };
    assert!(decode(&deep(NESTING)).is_ok());
    assert_eq!(
        decode(&deep(NESTING + 1)).unwrap_err(),
        FrameError::TooDeep { line: 1 }
    );
    assert!(decode_replies(&format!("{{\"push\":{}", "[".repeat(1_000_000))).is_err());
    let brackets = format!(r#"{{"id":1,"send":{{"data":"\"{}"}}}}"#, "[".repeat(NESTING));
    assert!(decode(&brackets).is_ok(), "brackets in a text are no nesting");

    let many = "{}\n".repeat(COMMANDS_PER_FRAME);
    assert_eq!(decode(&many).unwrap().len(), COMMANDS_PER_FRAME);
    assert_eq!(decode(&format!("{many}{{}}")).unwrap_err(), FrameError::TooMany);

    let values = |count: usize| format!(r#"{{"id":1,"send":{{"data":[1{}]}}}}"#, ",1".repeat(count - 1));
    // The object, its id and method with their values, and the array.
    assert!(decode(&values(VALUES_PER_FRAME - 3)).is_ok());
    for frame in [
        values(VALUES_PER_FRAME),
        [values(VALUES_PER_FRAME / 2), values(VALUES_PER_FRAME / 2)].join("\n"),
    ] {
        assert_eq!(decode(&frame).unwrap_err(), FrameError::TooManyValues);
    }
    assert!(
        decode(&format!(
            r#"{{"send":{{"data":"{}"}}}}"#,
            ",[".repeat(VALUES_PER_FRAME)
        ))
        .is_ok()
    );

    let large = |bytes: usize| {
        let empty = r#"{"send":{"data":""}}"#;
        empty.replace("\"\"", &format!("\"{}\"", "x".repeat(bytes - empty.len())))
    };
    assert!(decode(&large(FRAME_BYTES)).is_ok());
    assert_eq!(
        decode(&large(FRAME_BYTES + 1)).unwrap_err(),
        FrameError::TooLarge(FRAME_BYTES + 1)
    );

    let told: Vec<String> = [
        "no",
        "[]",
        r#""text""#,
        "null",
        r#"{"id":1,"ping":{}} {"id":2,"ping":{}}"#,
        "{}\n{\"id\":4294967296,\"ping\":{}}",
        r#"{"id":-1,"ping":{}}"#,
        r#"{"id":"1","ping":{}}"#,
        r#"{"id":1,"ping":{},"send":{}}"#,
        r#"{"id":1,"subscribe":{"channel":5}}"#,
        r#"{"id":1,"subscribe":{"channel":"a","offset":-1}}"#,
    ]
    .iter()
    .map(|text| decode(text).unwrap_err().to_string())
    .collect();
    insta::assert_snapshot!(told.join("\n"), @r#"
    line 1: expected ident at line 1 column 2
    line 1: invalid type: sequence, expected a command: an object with an id and one method at line 1 column 0
    line 1: invalid type: string "text", expected a command: an object with an id and one method at line 1 column 6
    line 1: invalid type: null, expected a command: an object with an id and one method at line 1 column 4
    line 1: trailing characters at line 1 column 20
    line 2: invalid value: integer `4294967296`, expected u32 at line 1 column 16
    line 1: invalid value: integer `-1`, expected u32 at line 1 column 8
    line 1: invalid type: string "1", expected u32 at line 1 column 9
    line 1: more than one method at line 1 column 28
    line 1: invalid type: integer `5`, expected a string at line 1 column 32
    line 1: invalid value: integer `-1`, expected u64 at line 1 column 46
    "#);
}

#[test]
fn replies_that_are_none_are_refused() {
    for text in [
        r#"{"id":1}"#,
        r#"{"connect":{}}"#,
        r#"{"id":1,"connect":{},"error":{"code":1}}"#,
        r#"{"id":1,"connect":{},"ping":{}}"#,
        r#"{"id":1,"push":{"channel":"a","pub":{}}}"#,
        r#"{"push":{"channel":"a"}}"#,
        r#"{"push":{"channel":"a","pub":{},"join":{}}}"#,
    ] {
        assert!(decode_replies(text).is_err(), "{text}");
    }
}

#[test]
fn the_name_of_an_unknown_method_is_cut() {
    let text = format!(r#"{{"id":1,"{}":{{}}}}"#, "ж".repeat(UNKNOWN_NAME_CHARS + 1));
    let name = "ж".repeat(UNKNOWN_NAME_CHARS);
    assert_eq!(decode(&text).unwrap(), [Command::Unknown { id: 1, name }]);
}

#[test]
fn numbers_are_those_of_the_protocol() {
    let errors: Vec<String> = ErrorCode::ALL
        .iter()
        .map(|code| {
            let temporary = if code.is_temporary() { ", temporary" } else { "" };
            format!("{} {}{temporary}", code.number(), code.text())
        })
        .collect();
    insta::assert_snapshot!(errors.join("\n"), @"
    100 internal server error, temporary
    101 unauthorized
    102 unknown channel
    103 permission denied
    104 method not found
    105 already subscribed
    106 limit exceeded
    107 bad request
    108 not available
    109 token expired
    110 expired
    111 too many requests, temporary
    112 unrecoverable position
    ");
    let closes: Vec<String> = DisconnectCode::ALL
        .iter()
        .map(|code| {
            let then = if code.reconnects() { "reconnects" } else { "ends" };
            format!("{} {}: {then}", code.number(), code.text())
        })
        .collect();
    insta::assert_snapshot!(closes.join("\n"), @"
    1009 message size limit exceeded: ends
    3000 connection closed: reconnects
    3001 shutdown: reconnects
    3004 internal server error: reconnects
    3005 connection expired: reconnects
    3006 subscription expired: reconnects
    3008 slow: reconnects
    3009 write error: reconnects
    3010 insufficient state: reconnects
    3011 force reconnect: reconnects
    3012 no pong: reconnects
    3013 too many requests: reconnects
    3014 state invalidated: reconnects
    3500 invalid token: ends
    3501 bad request: ends
    3502 stale: ends
    3503 force disconnect: ends
    3504 connection limit: ends
    3505 channel limit: ends
    3506 inappropriate protocol: ends
    3507 permission denied: ends
    3508 not available: ends
    3509 too many errors: ends
    ");
    let ends: Vec<String> = UnsubscribeCode::ALL
        .iter()
        .map(|code| format!("{} {}", code.number(), code.text()))
        .collect();
    insta::assert_snapshot!(ends.join("\n"), @"
    2000 server unsubscribe
    2500 insufficient state
    2501 expired
    2502 state invalidated
    ");
    for code in ErrorCode::ALL {
        assert_eq!(ErrorCode::from_number(code.number()), Some(*code));
    }
    assert_eq!(DisconnectCode::from_number(1), None);
}

#[test]
fn errors_of_our_own_carry_their_code_in_the_text() {
    for code in Code::ALL {
        for details in [None, Some(json!({"path": "/a\nb", "line": 3}))] {
            let error = ReplyError::of_application(*code, "it is: not\nthere", details.as_ref());
            assert_eq!(error.code, APPLICATION_ERROR);
            assert_eq!(
                error.application(),
                Some((code.as_str(), "it is: not there", details))
            );
        }
    }
    let error = ReplyError::of_application(
        Code::SessionNotFound,
        "there is no session S1",
        Some(&json!({"id": "S1"})),
    );
    insta::assert_snapshot!(error.message, @r#"
    session.not_found: there is no session S1
    {"id":"S1"}
    "#);
    assert_eq!(ReplyError::from(ErrorCode::Internal).application(), None);
}

/// A changed byte here and there, a piece cut out or put elsewhere, two frames mixed.
fn mutated(random: &mut fastrand::Rng, frames: &[&str]) -> String {
    let mut bytes = frames[random.usize(..frames.len())].as_bytes().to_vec();
    for _ in 0..random.usize(1..6) {
        if bytes.is_empty() {
            break;
        }
        let at = random.usize(..bytes.len());
        let to = random.usize(at..=bytes.len());
        match random.u8(..6) {
            0 => bytes[at] = random.u8(..),
            1 => bytes[at] = br#"{}[]",:\0-e.n"#[random.usize(..13)],
            2 => drop(bytes.drain(at..to)),
            3 => {
                let piece = bytes[at..to].to_vec();
                let place = random.usize(..=bytes.len());
                bytes.splice(place..place, piece);
            }
            4 => {
                let other = frames[random.usize(..frames.len())].as_bytes();
                bytes.splice(at..at, other[random.usize(..other.len())..].iter().copied());
            }
            _ => bytes.truncate(at),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn damaged_golden_frames_do_no_harm() {
    let commands: Vec<&str> = COMMANDS.lines().collect();
    let replies: Vec<&str> = REPLIES.lines().collect();
    let mut random = fastrand::Rng::with_seed(5);
    let (mut read, mut refused) = (0, 0);
    for _ in 0..20_000 {
        let text = mutated(&mut random, &commands);
        match decode(&text) {
            Ok(decoded) => {
                // What was understood means the same when it is written again.
                assert_eq!(decode(&encode_commands(&decoded)).unwrap(), decoded, "{text}");
                read += 1;
            }
            Err(_) => refused += 1,
        }
        let text = mutated(&mut random, &replies);
        if let Ok(decoded) = decode_replies(&text) {
            assert_eq!(decode_replies(&encode(&decoded)).unwrap(), decoded, "{text}");
        }
    }
    assert!(read > 1_000 && refused > 1_000, "{read} read, {refused} refused");
}

/// Any JSON but a bare null, which is how an absent value is read.
fn data() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(prop_oneof![inner.clone(), Just(Value::Null)], 0..4).prop_map(Value::from),
            btree_map(".{0,6}", inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

fn maybe_data() -> impl Strategy<Value = Value> {
    prop_oneof![Just(Value::Null), data()]
}

fn publications() -> impl Strategy<Value = Vec<Publication>> {
    let publication =
        (any::<u64>(), maybe_data(), any::<bool>(), any::<i64>()).prop_map(|(offset, data, delta, time)| {
            Publication {
                offset,
                data,
                info: delta.then(Box::default),
                tags: BTreeMap::new(),
                delta,
                time,
                channel: String::new(),
            }
        });
    vec(publication, 0..4)
}

fn method() -> impl Strategy<Value = Method> {
    let channel = || ".{0,20}";
    prop_oneof![
        (
            channel(),
            maybe_data(),
            btree_map(".{0,5}", ".{0,5}", 0..3),
            any::<i64>()
        )
            .prop_map(
                |(token, data, headers, flag)| Method::Connect(Box::new(ConnectRequest {
                    token,
                    data,
                    headers,
                    flag,
                    ..ConnectRequest::default()
                }))
            ),
        (channel(), any::<bool>(), ".{0,9}", any::<u64>(), maybe_data()).prop_map(
            |(channel, recover, epoch, offset, data)| Method::Subscribe(Box::new(SubscribeRequest {
                channel,
                recover,
                epoch,
                offset,
                data,
                tf: recover.then(FilterNode::default),
                ..SubscribeRequest::default()
            }))
        ),
        channel().prop_map(|channel| Method::Unsubscribe(UnsubscribeRequest { channel })),
        (channel(), maybe_data())
            .prop_map(|(channel, data)| Method::Publish(PublishRequest { channel, data })),
        (channel(), any::<i32>(), any::<Option<u64>>(), any::<bool>()).prop_map(
            |(channel, limit, since, reverse)| Method::History(HistoryRequest {
                channel,
                limit,
                since: since.map(|offset| StreamPosition {
                    offset,
                    epoch: String::new()
                }),
                reverse,
            })
        ),
        (".{0,20}", maybe_data()).prop_map(|(method, data)| Method::Rpc(RpcRequest { method, data })),
        maybe_data().prop_map(|data| Method::Send(SendRequest { data })),
        channel().prop_map(|token| Method::Refresh(RefreshRequest { token })),
        Just(Method::Ping(PingRequest {})),
    ]
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        Just(Command::Pong),
        (any::<u32>(), method()).prop_map(|(id, method)| Command::Call { id, method }),
        (any::<u32>(), "x[a-z]{0,20}").prop_map(|(id, name)| Command::Unknown { id, name }),
    ]
}

fn reply() -> impl Strategy<Value = Reply> {
    let outcome = prop_oneof![
        (publications(), ".{0,9}", any::<u64>()).prop_map(|(publications, epoch, offset)| {
            Outcome::History(HistoryResult {
                publications,
                epoch,
                offset,
            })
        }),
        (publications(), any::<u64>(), any::<bool>()).prop_map(|(publications, offset, recovered)| {
            Outcome::Subscribe(Box::new(SubscribeResult {
                publications,
                offset,
                recovered,
                ..SubscribeResult::default()
            }))
        }),
        (".{0,9}", any::<u32>(), maybe_data()).prop_map(|(client, ttl, data)| {
            Outcome::Connect(Box::new(ConnectResult {
                client,
                ttl,
                data,
                ..ConnectResult::default()
            }))
        }),
        maybe_data().prop_map(|data| Outcome::Rpc(RpcResult { data })),
    ];
    let event = prop_oneof![
        (any::<u64>(), maybe_data()).prop_map(|(offset, data)| PushEvent::Publication(Publication {
            offset,
            data,
            ..Publication::default()
        })),
        (any::<u32>(), ".{0,9}")
            .prop_map(|(code, reason)| PushEvent::Unsubscribe(UnsubscribePush { code, reason })),
    ];
    prop_oneof![
        Just(Reply::Ping),
        (1u32.., outcome).prop_map(|(id, outcome)| Reply::Result { id, outcome }),
        (1u32.., any::<u32>(), ".{0,20}", any::<bool>()).prop_map(|(id, code, message, temporary)| {
            Reply::Error {
                id,
                error: ReplyError {
                    code,
                    message,
                    temporary,
                },
            }
        }),
        (".{0,9}", event).prop_map(|(channel, event)| Reply::Push(Push { channel, event })),
    ]
}

proptest! {
    #[test]
    fn commands_survive_the_way_over_the_wire(commands in vec(command(), 0..6)) {
        prop_assert_eq!(decode(&encode_commands(&commands)).unwrap(), commands);
    }

    #[test]
    fn replies_survive_the_way_over_the_wire(replies in vec(reply(), 0..6)) {
        let frame = encode(&replies);
        prop_assert_eq!(frame.lines().count(), replies.len());
        prop_assert_eq!(decode_replies(&frame).unwrap(), replies);
    }

    #[test]
    fn no_text_harms(text in any::<String>(), json in data()) {
        let _ = decode(&text);
        let _ = decode(&json.to_string());
        let _ = decode_replies(&text);
        let _ = decode_replies(&json.to_string());
    }
}
