//! What clients ask of the engine, and what it tells them.

use rtc_engine::{Command, Defaults, SessionState};
use rtc_realtime::{Caller, ConnectionId, Scopes, Source, Withheld};
use rtc_types::{DeviceId, Mode, UserId};
use rtc_wire::rpc::Request;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::bench::*;

pub(crate) fn caller(device: u128, approvals: bool) -> Caller {
    Caller {
        user: UserId::new(Uuid::from_u128(1)),
        device: DeviceId::new(Uuid::from_u128(device)),
        scopes: Scopes::all(),
        connection: ConnectionId::new(Uuid::from_u128(5)),
        approvals,
    }
}

impl Bench {
    pub(crate) async fn ask_as(&self, device: u128, method: &str, data: Value) -> Result<Value, String> {
        self.ask_by(&caller(device, true), method, data).await
    }

    pub(crate) async fn ask_by(&self, caller: &Caller, method: &str, data: Value) -> Result<Value, String> {
        let request = Request::parse(method, data).map_err(|error| error.to_string())?;
        let defaults = Defaults {
            project: None,
            open: vec![project()],
            mode: Mode::Manual,
        };
        let answer = self.engine.call(caller, request, defaults).await;
        answer
            .expect("the engine has this method")
            .map_err(|error| error.code.to_string())
    }

    pub(crate) async fn ask(&self, method: &str, data: Value) -> Result<Value, String> {
        self.ask_as(2, method, data).await
    }

    /// Of a method that must not fail: its result.
    pub(crate) async fn result(&self, method: &str, data: Value) -> Value {
        self.ask(method, data).await.unwrap()["result"].take()
    }
}

pub(crate) fn sending(client_id: &str, text: &str) -> Value {
    json!({"content_data": {"type": "text", "data": text}, "client_session_id": "s", "client_id": client_id})
}

#[tokio::test]
async fn a_message_makes_a_session_once_and_its_reply_has_the_update() {
    let bench = bench(vec![says("hi")]).await;
    let first = bench
        .ask("v1.message.send", sending("c1", "hello"))
        .await
        .unwrap();
    let session = first["result"]["session_id"].clone();
    assert_eq!(first["result"]["turn_id"], "");
    let update = &first["updates"][0];
    assert_eq!(update["offset"], 1);
    assert_eq!(update["data_list"][0]["id"], first["result"]["message_id"]);
    let again = bench
        .ask("v1.message.send", sending("c1", "hello"))
        .await
        .unwrap();
    assert_eq!(again["result"], first["result"]);
    assert_eq!(again.get("updates"), None);
    let taken = bench.ask("v1.message.send", sending("c1", "other")).await;
    assert_eq!(taken.unwrap_err(), "message.client_id_conflict");
    let listed = bench.result("v1.session.list", json!({})).await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    assert_eq!(listed["items"][0]["id"], session);
    let got = bench
        .result("v1.session.get", json!({"session_id": session}))
        .await;
    assert_eq!(got["item"], listed["items"][0]);
}

#[tokio::test]
async fn lists_come_in_pages() {
    let bench = bench((0..3).map(|n| says(&format!("answer {n}"))).collect()).await;
    for n in 0..3 {
        bench.send(&format!("c{n}"), "hello").await.unwrap();
        bench.until(1, SessionState::is_idle).await;
    }
    for (method, count) in [("v1.message.list", 6_usize), ("v1.turn.list", 3)] {
        let (mut all, mut cursor, mut pages) = (Vec::new(), Value::Null, 0_usize);
        loop {
            let ask = json!({"session_id": session(1), "limit": 2, "cursor": cursor});
            let page = bench.result(method, ask).await;
            all.extend(page["items"].as_array().unwrap().clone());
            pages += 1;
            match page.get("next_cursor") {
                Some(next) => cursor = next.clone(),
                None => break,
            }
        }
        assert_eq!((all.len(), pages), (count, count.div_ceil(2)), "{method}");
        let whole = bench.result(method, json!({"session_id": session(1)})).await;
        assert_eq!(whole["items"], Value::Array(all), "{method}");
    }
}

#[tokio::test]
async fn messages_come_from_either_end() {
    let bench = bench((0..3).map(|n| says(&format!("answer {n}"))).collect()).await;
    for n in 0..3 {
        bench.send(&format!("c{n}"), "hello").await.unwrap();
        bench.until(1, SessionState::is_idle).await;
    }
    let table: [(Value, &[u64], Option<u64>); 8] = [
        (json!({"order": "newest_first"}), &[6, 5], Some(5)),
        (json!({"order": "newest_first", "cursor": 5}), &[4, 3], Some(3)),
        (json!({"order": "newest_first", "cursor": 3}), &[2, 1], None),
        (json!({"order": "newest_first", "cursor": 1}), &[], None),
        (json!({"order": "newest_first", "cursor": 99}), &[6, 5], Some(5)),
        (json!({"order": "oldest_first", "cursor": 5}), &[6], None),
        (json!({"order": null}), &[1, 2], Some(2)),
        (json!({}), &[1, 2], Some(2)),
    ];
    for (mut ask, offsets, next) in table {
        ask["session_id"] = json!(session(1));
        ask["limit"] = json!(2);
        let page = bench.result("v1.message.list", ask.clone()).await;
        let items = page["items"].as_array().unwrap();
        let found: Vec<_> = items.iter().filter_map(|m| m["global_offset"].as_u64()).collect();
        assert_eq!(
            (found.as_slice(), page["next_cursor"].as_u64()),
            (offsets, next),
            "{ask}"
        );
    }
}

#[tokio::test]
async fn a_closed_session_takes_nothing_until_it_is_opened() {
    let bench = bench(vec![one_edit(), says("again")]).await;
    bench.send("c1", "edit x").await.unwrap();
    let rtc = bench.first_call().await;
    let of = json!({"session_id": session(1)});
    let closed = bench.ask("v1.session.close", of.clone()).await.unwrap();
    assert!(closed["updates"][0].to_string().contains("closed"));
    let ended = bench.engine.rtc(rtc).await.unwrap().unwrap().entity;
    assert!(ended.status.is_terminal(), "what went on is stopped");
    let got = bench.result("v1.session.get", of.clone()).await;
    assert_eq!(got["item"]["status"], "closed");
    assert!(got["item"]["closed_at"].is_string());
    let mut send = sending("c2", "more");
    send["server_session_id"] = json!(session(1));
    let mode = json!({"session_id": session(1), "mode": "edit"});
    let title = json!({"session_id": session(1), "title": "new"});
    for (method, ask) in [
        ("v1.message.send", send.clone()),
        ("v1.session.set_mode", mode),
        ("v1.session.update", title.clone()),
    ] {
        assert_eq!(
            bench.ask(method, ask).await.unwrap_err(),
            "session.closed",
            "{method}"
        );
    }
    // Twice is once, both ways.
    assert_eq!(
        bench
            .ask("v1.session.close", of.clone())
            .await
            .unwrap()
            .get("updates"),
        None
    );
    bench.ask("v1.session.open", of.clone()).await.unwrap();
    assert_eq!(
        bench
            .ask("v1.session.open", of.clone())
            .await
            .unwrap()
            .get("updates"),
        None
    );
    bench.ask("v1.session.update", title).await.unwrap();
    let got = bench.result("v1.session.get", of).await;
    assert_eq!(
        (&got["item"]["title"], &got["item"]["closed_at"]),
        (&json!("new"), &Value::Null)
    );
    bench.ask("v1.message.send", send).await.unwrap();
    bench.until(1, SessionState::is_idle).await;
    assert_eq!(bench.requests().len(), 2);
}

#[tokio::test]
async fn what_is_deleted_is_not_listed() {
    let bench = bench(vec![says("hi")]).await;
    bench.send("c1", "hello").await.unwrap();
    bench.until(1, SessionState::is_idle).await;
    let delete = json!({"session_id": session(1), "deleted_at": "2026-01-02T03:04:05Z"});
    let told = bench.ask("v1.session.update", delete).await.unwrap();
    assert_eq!(told["updates"][0]["items"][0]["action"], "updated");
    let listed = bench.result("v1.session.list", json!({})).await;
    assert_eq!(listed["items"], json!([]));
}

#[tokio::test]
async fn what_there_is_not_is_told_by_its_code() {
    let bench = bench(vec![]).await;
    let nobody = json!(Uuid::from_u128(99));
    for (method, field, code) in [
        ("v1.session.get", "session_id", "session.not_found"),
        ("v1.session.close", "session_id", "session.not_found"),
        ("v1.turn.stop", "session_id", "session.not_found"),
        ("v1.message.list", "session_id", "session.not_found"),
        ("v1.message.get", "message_id", "message.not_found"),
        ("v1.turn.get", "turn_id", "turn.not_found"),
        ("v1.rtc.get", "rtc_id", "rtc.not_found"),
        ("v1.rtc.preview", "rtc_id", "rtc.not_found"),
    ] {
        let told = bench.ask(method, json!({field: nobody})).await;
        assert_eq!(told.unwrap_err(), code, "{method}");
    }
}

#[tokio::test]
async fn a_call_is_handed_in_by_its_own_device_and_counts_once() {
    let bench = bench(vec![one_edit(), says("done")]).await;
    bench.send("c1", "edit x").await.unwrap();
    let rtc = bench.first_call().await;
    let submit = json!({"rtc_id": rtc, "success": true, "result": "edited"});
    let asked = |device, ask| bench.ask_as(device, "v1.rtc.submit_result", ask);
    assert_eq!(
        asked(3, submit.clone()).await.unwrap_err(),
        "auth.permission_denied"
    );
    assert_eq!(asked(2, submit.clone()).await.unwrap_err(), "approval.required");
    let approve = json!({"rtc_id": rtc, "decision": "once"});
    bench.ask_as(3, "v1.rtc.approve", approve.clone()).await.unwrap();
    let other = json!({"rtc_id": rtc, "decision": "reject"});
    assert_eq!(
        bench.ask("v1.rtc.approve", other).await.unwrap_err(),
        "approval.closed"
    );
    let approved = bench
        .engine
        .rtc(rtc)
        .await
        .unwrap()
        .unwrap()
        .entity
        .approval
        .unwrap();
    assert_eq!(
        approved.decided_by.unwrap(),
        DeviceId::new(Uuid::from_u128(3)),
        "who answered is told"
    );
    let wrong = json!({"rtc_id": rtc, "success": true, "result": "edited", "client_id": "other"});
    assert_eq!(asked(2, wrong).await.unwrap_err(), "rtc.client_id_mismatch");
    let nothing = json!({"rtc_id": rtc, "success": true});
    assert_eq!(asked(2, nothing).await.unwrap_err(), "rtc.invalid_result");
    let told = asked(2, submit.clone()).await.unwrap();
    let items = &told["updates"][0]["items"];
    assert_eq!(
        (&items[0]["entity"], &items[1]["entity"]),
        (&json!("message"), &json!("rtc"))
    );
    bench.until(1, SessionState::is_idle).await;
    // Whoever did not hear of it, and whoever did.
    assert_eq!(
        asked(3, submit.clone()).await.unwrap_err(),
        "auth.permission_denied",
        "whose call it is is looked at first, also when it has ended"
    );
    let healed = asked(2, submit).await.unwrap();
    assert_eq!(healed["updates"][0]["offset"], 0);
    assert_eq!(healed["updates"][0]["data_list"][0]["status"], "completed");
    let stored = bench.engine.rtc(rtc).await.unwrap().unwrap().entity;
    let known = json!({"rtc_id": rtc, "success": false, "client_id": stored.client_id});
    assert_eq!(asked(2, known).await.unwrap().get("updates"), None);
    assert_eq!(bench.requests().len(), 2, "the turn went on once");
}

#[tokio::test]
async fn a_device_says_how_far_a_call_is() {
    for last in ["timeout", "failed", "rejected"] {
        let bench = bench(vec![one_edit(), says("done")]).await;
        bench.send("c1", "edit x").await.unwrap();
        let rtc = bench.first_call().await;
        bench
            .ask("v1.rtc.approve", json!({"rtc_id": rtc, "decision": "once"}))
            .await
            .unwrap();
        let report =
            |status: &str| bench.ask("v1.rtc.update_status", json!({"rtc_id": rtc, "status": status}));
        for impossible in ["pending", "sent", "completed"] {
            let request = Request::parse(
                "v1.rtc.update_status",
                json!({"rtc_id": rtc, "status": impossible}),
            );
            assert_eq!(request.unwrap_err().code.to_string(), "rtc.invalid_status");
        }
        report("executing").await.unwrap();
        assert_eq!(report("executing").await.unwrap().get("updates"), None);
        report(last).await.unwrap();
        // A state that ends it lets the turn go on, once.
        bench.until(1, SessionState::is_idle).await;
        assert_eq!(report(last).await.unwrap().get("updates"), None, "{last}");
        for other in ["executing", "timeout", "failed", "rejected"] {
            if other != last {
                assert_eq!(
                    report(other).await.unwrap_err(),
                    "rtc.invalid_state",
                    "{last}, {other}"
                );
            }
        }
        assert_eq!(bench.requests().len(), 2, "{last}");
        let messages = bench.engine.messages(session(1)).await.unwrap();
        let is_output = |message: &&rtc_engine::StoredMessage| {
            message.entity.content.as_str().contains("toolcall_output")
        };
        assert_eq!(messages.iter().filter(is_output).count(), 1, "{last}");
    }
}

/// The items of each row that a caller sees.
async fn rows(bench: &Bench, approvals: bool) -> Vec<Result<Vec<String>, Withheld>> {
    let rows = bench.engine.updates_for(&caller(2, approvals)).await;
    let names = |update: rtc_types::Update| {
        let name = |item: &rtc_types::UpdateItem| json!(item.entity).as_str().unwrap().to_owned();
        update.items.iter().map(name).collect()
    };
    rows.into_iter().map(|row| row.update.map(names)).collect()
}

trait Rows {
    async fn updates_for(&self, caller: &Caller) -> Vec<rtc_realtime::Row>;
}

impl Rows for rtc_engine::Engine {
    async fn updates_for(&self, caller: &Caller) -> Vec<rtc_realtime::Row> {
        Source::updates(self, caller, 0, 100).await.unwrap()
    }
}

#[tokio::test]
async fn a_call_that_waits_for_a_yes_is_hidden_from_whoever_asks_for_none() {
    let bench = bench(vec![one_edit()]).await;
    bench.send("c1", "edit x").await.unwrap();
    let rtc = bench.first_call().await;
    let is_told = |rows: &[Result<Vec<String>, Withheld>]| {
        rows.iter()
            .any(|row| row.as_ref().is_ok_and(|items| items.contains(&"rtc".to_owned())))
    };
    let (with, without) = (rows(&bench, true).await, rows(&bench, false).await);
    assert!(is_told(&with));
    assert!(!is_told(&without));
    assert_eq!(with.len(), without.len(), "each offset is told to both");
    // Nor do they find it by asking.
    let blind = async |method: &str, data: Value| {
        let request = Request::parse(method, data).unwrap();
        let caller = caller(2, false);
        let answer = bench.engine.call(&caller, request, Defaults::default()).await;
        answer.unwrap().map_err(|error| error.code.to_string())
    };
    let list = json!({"session_id": session(1)});
    let calls = async || blind("v1.rtc.list", list.clone()).await.unwrap()["result"]["items"].take();
    assert_eq!(calls().await, json!([]));
    for method in ["v1.rtc.get", "v1.rtc.preview"] {
        let found = blind(method, json!({"rtc_id": rtc})).await;
        assert_eq!(found.unwrap_err(), "rtc.not_found");
    }
    let approve = Command::Approve {
        rtc,
        decision: rtc_types::ApprovalDecision::Once,
        reason: None,
        device: DeviceId::new(Uuid::from_u128(2)),
    };
    bench.engine.tell(session(1), approve).await.unwrap();
    assert!(is_told(&rows(&bench, false).await));
    assert_eq!(calls().await.as_array().unwrap().len(), 1);
}
