//! Lists in pages, whatever becomes of the entry that a page ended with, and updates of what is no more.

use rtc_engine::{Command, Keys, SessionState};
use rtc_realtime::{Source, Withheld};
use rtc_store::{Batch, Store};
use rtc_types::{Mode, UserId};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::bench::*;
use crate::rpc::{caller, sending};

/// The items of a list by pages of two.
async fn by_pages(bench: &Bench, method: &str, of: Value) -> Vec<Vec<Value>> {
    let (mut pages, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let mut ask = of.clone();
        ask["limit"] = json!(2);
        ask["cursor"] = cursor;
        let page = bench.result(method, ask).await;
        pages.push(page["items"].as_array().unwrap().clone());
        match page.get("next_cursor") {
            Some(next) => cursor = next.clone(),
            None => return pages,
        }
    }
}

fn ids<'v>(items: impl IntoIterator<Item = &'v Value>) -> Vec<Value> {
    items.into_iter().map(|item| item["id"].clone()).collect()
}

async fn five_sessions() -> Bench {
    let bench = bench(Vec::new()).await;
    for n in 0..5 {
        bench
            .ask("v1.message.send", sending(&format!("c{n}"), "hello"))
            .await
            .unwrap();
    }
    bench
}

#[tokio::test]
async fn sessions_come_in_pages_of_which_none_is_left_out() {
    let bench = five_sessions().await;
    let whole = bench.result("v1.session.list", json!({})).await;
    let pages = by_pages(&bench, "v1.session.list", json!({})).await;
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 1]);
    assert_eq!(
        ids(pages.iter().flatten()),
        ids(whole["items"].as_array().unwrap())
    );
    // The newest first, and of the same age by id.
    let order: Vec<(&str, &str)> = pages
        .iter()
        .flatten()
        .map(|item| (item["updated_at"].as_str().unwrap(), item["id"].as_str().unwrap()))
        .collect();
    assert!(order.is_sorted_by(|a, b| a > b), "{order:?}");
}

#[tokio::test]
async fn a_page_goes_on_after_a_session_that_was_deleted_since() {
    let bench = five_sessions().await;
    let all = ids(bench.result("v1.session.list", json!({})).await["items"]
        .as_array()
        .unwrap());
    let first = bench.result("v1.session.list", json!({"limit": 2})).await;
    assert_eq!(first["next_cursor"], all[1]);
    let delete = json!({"session_id": all[1], "deleted_at": "2026-01-02T03:04:05Z"});
    bench.ask("v1.session.update", delete).await.unwrap();
    let next = json!({"limit": 2, "cursor": all[1]});
    let second = bench.result("v1.session.list", next).await;
    assert_eq!(ids(second["items"].as_array().unwrap()), all[2..4]);
    let next = json!({"limit": 2, "cursor": second["next_cursor"]});
    let third = bench.result("v1.session.list", next).await;
    assert_eq!(ids(third["items"].as_array().unwrap()), all[4..]);
    assert_eq!(third.get("next_cursor"), None);
    let unknown = json!({"cursor": Uuid::from_u128(99)});
    assert_eq!(
        bench.ask("v1.session.list", unknown).await.unwrap_err(),
        "session.not_found"
    );
}

#[tokio::test]
async fn calls_come_in_pages() {
    let names = ["a", "b", "c", "d", "e"];
    let reply: Vec<_> = names
        .iter()
        .map(|id| (*id, "edit", "{\"path\":\"/x\"}"))
        .collect();
    let bench = bench(vec![calls(&reply)]).await;
    bench.send("c1", "edit x").await.unwrap();
    bench.first_call().await;
    let of = json!({"session_id": session(1)});
    let whole = bench.result("v1.rtc.list", of.clone()).await;
    let pages = by_pages(&bench, "v1.rtc.list", of).await;
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 1]);
    let offsets: Vec<u64> = pages
        .iter()
        .flatten()
        .map(|rtc| rtc["offset"].as_u64().unwrap())
        .collect();
    assert_eq!(offsets, [1, 2, 3, 4, 5]);
    assert_eq!(whole["items"], Value::Array(pages.concat()));
}

#[tokio::test]
async fn a_cursor_of_another_session_is_none() {
    let bench = bench(vec![one_edit(), one_edit()]).await;
    for number in [1, 2] {
        let sent = message(number, &format!("c{number}"), "edit x", Mode::Manual);
        bench.engine.send(sent).await.unwrap();
        bench.until(number, |state| !state.calls.is_empty()).await;
    }
    for (method, code) in [
        ("v1.turn.list", "turn.not_found"),
        ("v1.rtc.list", "rtc.not_found"),
    ] {
        let own = bench.result(method, json!({"session_id": session(1)})).await;
        let cursor = own["items"][0]["id"].clone();
        let rest = json!({"session_id": session(1), "cursor": cursor});
        assert_eq!(bench.result(method, rest).await["items"], json!([]), "{method}");
        let others = json!({"session_id": session(2), "cursor": cursor});
        assert_eq!(bench.ask(method, others).await.unwrap_err(), code, "{method}");
    }
}

#[tokio::test]
async fn a_deleted_session_takes_nothing_more() {
    let bench = bench(vec![says("hi"), says("never")]).await;
    bench.send("c1", "hello").await.unwrap();
    bench.until(1, SessionState::is_idle).await;
    let message = bench
        .result("v1.message.list", json!({"session_id": session(1)}))
        .await;
    let delete = json!({"session_id": session(1), "deleted_at": "2026-01-02T03:04:05Z"});
    bench.ask("v1.session.update", delete.clone()).await.unwrap();
    let mut send = sending("c2", "more");
    send["server_session_id"] = json!(session(1));
    let of = json!({"session_id": session(1)});
    let fork = json!({
        "old_server_session_id": session(1), "old_server_message_id": message["items"][0]["id"],
        "new_client_session_id": "s2", "new_client_message_id": "c3",
        "content_data": {"type": "text", "data": "again"},
    });
    let before = bench.engine.position().borrow().offset;
    for (method, ask) in [
        ("v1.message.send", send),
        (
            "v1.session.set_mode",
            json!({"session_id": session(1), "mode": "edit"}),
        ),
        (
            "v1.session.update",
            json!({"session_id": session(1), "title": "new"}),
        ),
        ("v1.session.update", delete),
        ("v1.session.open", of.clone()),
        ("v1.session.close", of.clone()),
        ("v1.history.clear", of.clone()),
        ("v1.session.fork", fork),
    ] {
        assert_eq!(
            bench.ask(method, ask).await.unwrap_err(),
            "session.not_found",
            "{method}"
        );
    }
    // Also by whoever speaks to the engine itself.
    let told = bench
        .engine
        .send(crate::bench::message(1, "c4", "more", Mode::Manual))
        .await;
    assert_eq!(refusal(told), rtc_types::Code::SessionNotFound);
    assert_eq!(
        bench.engine.position().borrow().offset,
        before,
        "nothing was changed"
    );
    assert_eq!(bench.requests().len(), 1, "no turn was begun");
    // What was said is still there for a look back.
    let got = bench.result("v1.session.get", of).await;
    assert_eq!(got["item"]["deleted_at"], "2026-01-02T03:04:05Z");
}

#[tokio::test]
async fn what_is_no_more_is_told_as_gone_and_what_cannot_be_read_is_withheld() {
    let bench = bench(vec![says("hi")]).await;
    bench.send("c1", "hello").await.unwrap();
    bench.until(1, SessionState::is_idle).await;
    let before = bench.engine.position().borrow().offset;
    let mut batch = Batch::new();
    let topic = Keys::new(UserId::new(Uuid::from_u128(1))).topic();
    let ids = [50, 51, 52, 53, 54].map(Uuid::from_u128);
    let kinds = ["session", "turn", "message", "rtc"];
    let items: Vec<Value> = kinds
        .iter()
        .zip(ids)
        .map(|(kind, id)| json!({"entity": kind, "action": "updated", "entity_id": id}))
        .collect();
    batch.append(topic.clone(), json!({"id": ids[4], "items": items}).to_string());
    batch.append(topic, "torn");
    bench.store.commit(batch).await.unwrap();
    bench
        .engine
        .tell(session(1), Command::SetMode(Mode::Edit))
        .await
        .unwrap();
    let rows = Source::updates(&bench.engine, &caller(2, true), before, 10)
        .await
        .unwrap();
    let offsets: Vec<u64> = rows.iter().map(|row| row.offset).collect();
    assert_eq!(offsets, [before + 1, before + 2, before + 3], "none is skipped");
    let gone = rows[0].update.as_ref().unwrap();
    for (data, id) in gone.data_list.iter().zip(ids) {
        assert_eq!(*data, json!({"id": id, "deleted_at": "1970-01-01T00:00:00Z"}));
    }
    assert_eq!(gone.data_list.len(), kinds.len());
    assert_eq!(rows[1].update, Err(Withheld::Unreadable));
    assert!(rows[2].update.is_ok(), "the stream goes on behind it");
}
