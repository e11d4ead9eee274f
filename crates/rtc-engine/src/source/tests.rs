//! What a reply tells clients that show no approvals.

use rtc_realtime::{ConnectionId, Scopes};
use rtc_types::{DeviceId, UserId};
use serde_json::json;
use uuid::Uuid;

use super::*;

fn caller(approvals: bool) -> Caller {
    Caller {
        user: UserId::new(Uuid::from_u128(1)),
        device: DeviceId::new(Uuid::from_u128(2)),
        scopes: Scopes::all(),
        connection: ConnectionId::new(Uuid::from_u128(3)),
        approvals,
    }
}

/// An update of these entities, each with the state of its approval.
fn update(entities: &[(&str, &str)]) -> Value {
    let id = Uuid::from_u128(7);
    let item = |(entity, _): &(&str, &str)| json!({"entity": entity, "action": "updated", "entity_id": id});
    let data = |(_, state): &(&str, &str)| json!({"id": id, "approval": {"state": state}});
    json!({
        "id": id,
        "items": entities.iter().map(item).collect::<Vec<_>>(),
        "data_list": entities.iter().map(data).collect::<Vec<_>>(),
        "offset": 3,
    })
}

#[test]
fn a_reply_hides_calls_that_wait_for_a_yes_as_the_stream_does() {
    let all = json!({
        "result": {"success": true},
        "updates": [
            update(&[("rtc", "open"), ("turn", "open"), ("rtc", "approved")]),
            update(&[("rtc", "open")]),
            update(&[("rtc", "rejected")]),
        ],
    });
    assert_eq!(reply_for_caller(all.clone(), &caller(true), false), all);
    let seen = json!({
        "result": {"success": true},
        "updates": [update(&[("turn", "open"), ("rtc", "approved")]), update(&[("rtc", "rejected")])],
    });
    assert_eq!(reply_for_caller(all, &caller(false), false), seen);
    for without in [json!({"result": 1}), json!({"updates": null})] {
        assert_eq!(reply_for_caller(without.clone(), &caller(false), false), without);
    }
}
