//! Golden JSON: read and written again it is the same.

use std::path::PathBuf;

use rtc_types::{Answer, ContentData, Message, Project, Rtc, Rule, Session, Turn, Update};
use rtc_wire::rpc::{Call, CallVisitor, Method, Reply, Request, RpcError, Success};
use rtc_wire::{Gone, LiveEvent, TopicEvent};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A golden file, by its name without `.json`.
pub(crate) fn golden(name: &str) -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The other spellings of a request that are accepted.
pub(crate) fn accepted(file: &Value) -> Vec<Value> {
    file["accepted"].as_array().cloned().unwrap_or_default()
}

fn same_again<T: Serialize + DeserializeOwned>(what: &str, json: &Value) {
    let read: T =
        serde_json::from_value(json.clone()).unwrap_or_else(|error| panic!("{what}: {error}\n{json}"));
    let written = serde_json::to_string_pretty(&read).unwrap();
    assert_eq!(written, serde_json::to_string_pretty(json).unwrap(), "{what}");
}

#[test]
fn entities_events_and_errors() {
    let all = golden("entities");
    let all = all.as_object().unwrap();
    for (name, examples) in all {
        for json in examples.as_array().unwrap() {
            match name.as_str() {
                "Session" => same_again::<Session>(name, json),
                "Turn" => same_again::<Turn>(name, json),
                "Message" => same_again::<Message>(name, json),
                "Rtc" => same_again::<Rtc>(name, json),
                "Project" => same_again::<Project>(name, json),
                "Rule" => same_again::<Rule>(name, json),
                "ContentData" => same_again::<ContentData>(name, json),
                "Answer" => same_again::<Answer>(name, json),
                "Update" => same_again::<Update>(name, json),
                "Gone" => same_again::<Gone>(name, json),
                "TopicEvent" => same_again::<TopicEvent>(name, json),
                "LiveEvent" => same_again::<LiveEvent>(name, json),
                "RpcError" => same_again::<RpcError>(name, json),
                "ReplyOfSuccess" => same_again::<Reply<Success>>(name, json),
                other => panic!("no type for {other}"),
            }
        }
    }
}

struct Goldens(Vec<Method>);

impl CallVisitor for Goldens {
    fn visit<C: Call>(&mut self) {
        let name = C::METHOD.as_str();
        let file = golden(name);
        same_again::<C>(name, &file["request"]);
        same_again::<C::Result>(name, &file["result"]);
        let request = Request::parse(name, file["request"].clone()).unwrap();
        assert_eq!(request.method(), C::METHOD);
        for json in accepted(&file) {
            let request =
                Request::parse(name, json.clone()).unwrap_or_else(|error| panic!("{name}: {error}\n{json}"));
            assert_eq!(request.method(), C::METHOD);
        }
        self.0.push(C::METHOD);
    }
}

#[test]
fn every_request_and_every_result() {
    let mut goldens = Goldens(Vec::new());
    Request::visit_all(&mut goldens);
    assert_eq!(goldens.0, Method::ALL);
}

/// An update is not taken for a message of ours, nor the reverse.
#[test]
fn the_kinds_of_events_are_told_apart() {
    let all = golden("entities");
    let topic: Vec<TopicEvent> = serde_json::from_value(all["TopicEvent"].clone()).unwrap();
    assert!(matches!(&topic[..], [TopicEvent::Gap {}, TopicEvent::Update(_)]));
    let live: Vec<LiveEvent> = serde_json::from_value(all["LiveEvent"].clone()).unwrap();
    assert!(matches!(live.first(), Some(LiveEvent::Delta(_))));
    assert!(matches!(live.last(), Some(LiveEvent::Update(_))));
}

#[test]
fn a_limit_is_drawn_into_its_bounds_and_an_empty_cursor_is_none() {
    let parse = |json: Value| match Request::parse("v1.session.list", json) {
        Ok(Request::SessionList(list)) => (list.cursor.is_some(), list.limit.get()),
        other => panic!("{other:?}"),
    };
    assert_eq!(parse(serde_json::json!({})), (false, 20));
    assert_eq!(parse(Value::Null), (false, 20));
    assert_eq!(
        parse(serde_json::json!({"limit": null, "cursor": ""})),
        (false, 20)
    );
    assert_eq!(parse(serde_json::json!({"limit": 0})), (false, 1));
    assert_eq!(parse(serde_json::json!({"limit": 1_000})), (false, 1_000));
    assert_eq!(parse(serde_json::json!({"limit": u64::MAX})), (false, 1_000));
}

#[test]
fn names_scopes_and_errors_of_the_table() {
    let mut names: Vec<&str> = Method::ALL.iter().map(|method| method.as_str()).collect();
    for &method in Method::ALL {
        assert_eq!(Method::named(method.as_str()), Some(method));
        assert!(method.description().ends_with('.'), "{method}");
        assert!(!method.scopes().is_empty(), "{method}");
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Method::ALL.len());
}
