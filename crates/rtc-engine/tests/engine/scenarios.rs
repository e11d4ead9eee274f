//! Scenarios that come with a message, as clients send and see them.

use rtc_engine::SessionState;
use rtc_model::Item;
use rtc_types::SessionId;
use serde_json::{Value, json};

use crate::bench::*;
use crate::rpc::sending;

fn content() -> Value {
    json!({"type": "user_message", "data": {"text": "Begin", "scenarios": [
        {"title": "Tidying", "filepath": "/scenarios/tidy.md", "file_content": "One drawer\r\nat a time.\t\u{0} \n"},
        {"title": "Nothing", "filepath": "/scenarios/nothing.md", "file_content": ""},
    ]}})
}

const READ: &str = "<scenarios>\n# Tidying\n\nOne drawer\r\nat a time.\t\u{0} \n\n</scenarios>\n\nBegin";

fn with_scenarios(client_id: &str) -> Value {
    let mut ask = sending(client_id, "");
    ask["content_data"] = content();
    ask
}

fn texts(bench: &Bench) -> Vec<String> {
    let items = bench.requests().pop().unwrap().items.into_iter();
    items
        .filter_map(|item| match item {
            Item::User { text } => Some(text),
            _ => None,
        })
        .collect()
}

async fn idle(bench: &Bench, session: &Value) {
    let id = SessionId::new(session.as_str().unwrap().parse().unwrap());
    let wait = async {
        while !bench.engine.wake(id).await.unwrap().is_idle() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(BOUND, wait).await.unwrap();
}

async fn messages(bench: &Bench, session: &Value) -> Vec<Value> {
    let listed = bench
        .result("v1.message.list", json!({"session_id": session}))
        .await;
    listed["items"].as_array().unwrap().clone()
}

fn said(message: &Value) -> Value {
    serde_json::from_str(message["content"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn they_are_stored_as_sent_and_read_before_the_text_also_after_a_restart() {
    let bench = bench(vec![says("a"), says("b"), says("c")]).await;
    let sent = bench.ask("v1.message.send", with_scenarios("c1")).await.unwrap();
    let items = &sent["updates"][0]["items"];
    for number in 0..2 {
        assert_eq!(items[number]["entity"], "message");
        assert_eq!(items[number]["action"], "created");
    }
    let told = &sent["updates"][0]["data_list"];
    assert_eq!((said(&told[0]), &told[0]["role"]), (content(), &json!("user")));
    let prompt = &told[1];
    assert_eq!(prompt["role"], "system");
    assert_eq!(prompt["parent_message_id"], sent["result"]["message_id"]);
    assert_eq!(
        said(prompt),
        json!({"type": "prompt", "data": {
            "name": "scenarios", "title": "Tidying", "body": "# Tidying\n\nOne drawer\r\nat a time.\t\u{0} \n",
        }})
    );
    let session = sent["result"]["session_id"].clone();
    idle(&bench, &session).await;
    assert_eq!(texts(&bench), [READ]);
    let before = messages(&bench, &session).await;
    assert_eq!(before.len(), 3);
    assert!(before[0]["turn_id"].is_string());
    assert_eq!(before[1]["turn_id"], before[0]["turn_id"]);
    assert_eq!(before[1]["streaming_status"], "completed");

    let bench = bench.again().await;
    assert_eq!(messages(&bench, &session).await, before);
    let again = bench.result("v1.message.send", with_scenarios("c1")).await;
    assert_eq!(again, sent["result"], "sending it again is sending it once");
    let mut other = with_scenarios("c1");
    other["content_data"]["data"]["scenarios"][0]["file_content"] = json!("Another.");
    let refused = bench.ask("v1.message.send", other).await.unwrap_err();
    assert_eq!(refused, "message.client_id_conflict");
    let mut later = sending("c2", "more");
    later["server_session_id"] = session.clone();
    bench.result("v1.message.send", later).await;
    idle(&bench, &session).await;
    assert_eq!(texts(&bench), [READ, "more"]);
}

#[tokio::test]
async fn a_message_that_is_written_anew_may_have_its_own() {
    let bench = bench(vec![says("a"), says("b"), says("c")]).await;
    bench.send("c1", "one").await.unwrap();
    bench.until(1, SessionState::is_idle).await;
    let second = bench.send("c2", "two").await.unwrap();
    bench.until(1, SessionState::is_idle).await;
    let ask = json!({
        "old_server_session_id": session(1), "old_server_message_id": second.id,
        "new_client_session_id": "fork", "new_client_message_id": "f1", "content_data": content(),
    });
    let forked = bench.result("v1.session.fork", ask.clone()).await;
    let new = forked["session_id"].clone();
    idle(&bench, &new).await;
    assert_eq!(texts(&bench), ["one", READ]);
    let all = messages(&bench, &new).await;
    assert_eq!(said(&all[2]), content());
    assert_eq!(forked["message_ids"][2], all[2]["id"], "the last is the new one");
    assert_eq!(said(&all[3])["type"], "prompt");
    assert_eq!(bench.result("v1.session.fork", ask.clone()).await, forked);
    let mut other = ask;
    other["content_data"]["data"]["scenarios"][0]["title"] = json!("Other");
    assert_eq!(
        bench.ask("v1.session.fork", other).await.unwrap_err(),
        "message.client_id_conflict"
    );
}
