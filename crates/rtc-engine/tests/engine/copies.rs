//! Forks and cleared histories, as clients ask for them.

use rtc_engine::{Command, SessionState};
use rtc_model::Item;
use rtc_types::{Mode, SessionId};
use serde_json::{Value, json};

use crate::bench::*;

async fn conversation() -> Bench {
    let bench = bench((0..6).map(|n| says(&format!("answer {n}"))).collect()).await;
    for n in 0..3 {
        bench.send(&format!("c{n}"), &format!("say {n}")).await.unwrap();
        bench.until(1, SessionState::is_idle).await;
    }
    bench
}

/// What the model read last.
fn read(bench: &Bench) -> Vec<String> {
    let last = bench.requests().pop().unwrap();
    let text = |item: Item| match item {
        Item::User { text } => text,
        other => serde_json::to_value(other).unwrap().to_string(),
    };
    last.items.into_iter().map(text).collect()
}

async fn message_ids(bench: &Bench, of: &Value) -> Vec<Value> {
    let listed = bench.result("v1.message.list", json!({"session_id": of})).await;
    let items = listed["items"].as_array().unwrap();
    items.iter().map(|message| message["id"].clone()).collect()
}

fn forking(message: &Value, text: &str) -> Value {
    json!({
        "old_server_session_id": session(1), "old_server_message_id": message,
        "new_client_session_id": "fork", "new_client_message_id": "f1",
        "content_data": {"type": "text", "data": text},
    })
}

/// Waits until nothing goes on in a copy, and gives its id.
async fn until_idle(bench: &Bench, copy: &Value) -> SessionId {
    let id = SessionId::new(copy.as_str().unwrap().parse().unwrap());
    let wait = async {
        while !bench.engine.wake(id).await.unwrap().is_idle() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(BOUND, wait).await.unwrap();
    id
}

#[tokio::test]
async fn a_copy_keeps_the_instructions_of_its_session() {
    const INSTRUCTIONS: &str = "Speak in rhymes.";
    let bench = bench(vec![says("one"), says("two")]).await;
    let mut first = message(1, "c1", "say", Mode::Manual);
    first.new_session.agent_prompt = Some(INSTRUCTIONS.into());
    let sent = bench.engine.send(first).await.unwrap();
    bench.until(1, SessionState::is_idle).await;
    let ask = forking(&json!(sent.id), "say it otherwise");
    let forked = bench.ask("v1.session.fork", ask).await.unwrap();
    let copy = until_idle(&bench, &forked["result"]["session_id"]).await;
    let stored = bench.engine.session(copy).await.unwrap().unwrap();
    assert_eq!(stored.entity.agent_prompt.as_deref(), Some(INSTRUCTIONS));
    let systems: Vec<String> = bench
        .requests()
        .into_iter()
        .map(|request| request.system)
        .collect();
    assert_eq!(
        systems, [INSTRUCTIONS; 2],
        "the model reads them in the copy as well"
    );
}

#[tokio::test]
async fn a_fork_is_made_once_and_answers() {
    let bench = conversation().await;
    let old = message_ids(&bench, &json!(session(1))).await;
    let ask = forking(&old[2], "say it otherwise");
    let forked = bench.ask_as(9, "v1.session.fork", ask.clone()).await.unwrap();
    let result = &forked["result"];
    let new = result["session_id"].clone();
    assert_eq!(result["turn_id"], "");
    assert_eq!(result["message_ids"].as_array().unwrap().len(), 3);
    assert_eq!(
        forked["updates"][0]["data_list"].as_array().unwrap().len(),
        5,
        "messages, turn, session"
    );
    let got = bench.result("v1.session.get", json!({"session_id": new})).await;
    let item = &got["item"];
    assert_eq!(item["client_id"], "fork");
    assert_eq!(item["title"], "say 0");
    assert_eq!(
        item["device_id"].as_str().unwrap(),
        uuid::Uuid::from_u128(9).to_string(),
        "of the device that asks"
    );
    assert_eq!(item["project_id"], Value::Null, "which has not that folder");

    until_idle(&bench, &new).await;
    assert_eq!(read(&bench).len(), 3);
    assert_eq!(
        (&*read(&bench)[0], &*read(&bench)[2]),
        ("say 0", "say it otherwise")
    );
    let all = message_ids(&bench, &new).await;
    assert_eq!(all[..3], *result["message_ids"].as_array().unwrap());
    assert_eq!(
        message_ids(&bench, &json!(session(1))).await,
        old,
        "the old one is as it was"
    );

    // Asked again, also after a restart.
    let bench = bench.again().await;
    let again = bench.ask_as(9, "v1.session.fork", ask.clone()).await.unwrap();
    assert_eq!(again["result"], *result);
    assert_eq!(again.get("updates"), None);
    assert_eq!(
        bench.result("v1.session.list", json!({})).await["items"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    for (field, other) in [
        ("old_server_message_id", &old[0]),
        ("new_client_session_id", &json!("other")),
        ("content_data", &json!({"type": "text", "data": "another"})),
        ("new_client_message_id", &json!("c1")),
    ] {
        let mut ask = ask.clone();
        ask[field] = other.clone();
        let refused = bench.ask("v1.session.fork", ask).await.unwrap_err();
        assert_eq!(refused, "message.client_id_conflict", "{field}");
    }
}

#[tokio::test]
async fn the_same_fork_asked_for_at_once_is_one() {
    let bench = conversation().await;
    let old = message_ids(&bench, &json!(session(1))).await;
    let ask = || bench.ask("v1.session.fork", forking(&old[4], "again"));
    let (one, two) = futures::join!(ask(), ask());
    assert_eq!(one.unwrap()["result"], two.unwrap()["result"]);
    assert_eq!(
        bench.result("v1.session.list", json!({})).await["items"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
}

#[tokio::test]
async fn what_cannot_be_forked_is_told() {
    let bench = conversation().await;
    let old = message_ids(&bench, &json!(session(1))).await;
    let of_another = message(2, "c9", "elsewhere", Mode::Edit);
    let elsewhere = bench.engine.send(of_another).await.unwrap();
    let mut no_session = forking(&old[2], "x");
    no_session["old_server_session_id"] = json!(session(88));
    let mut with_files = forking(&old[2], "x");
    with_files["content_data"] =
        json!({"type": "user_message", "data": {"text": "x", "files": [{"mimetype": "a/b", "fileid": "f"}]}});
    for (ask, code) in [
        (no_session, "session.not_found"),
        (forking(&json!(session(88)), "x"), "message.not_found"),
        (forking(&json!(elsewhere.id), "x"), "message.not_found"),
        (forking(&old[1], "x"), "fork.error"),
        (with_files, "rpc.invalid_argument"),
    ] {
        assert_eq!(
            bench.ask("v1.session.fork", ask.clone()).await.unwrap_err(),
            code,
            "{ask}"
        );
    }
    // A closed session can still be copied.
    bench
        .ask("v1.session.close", json!({"session_id": session(1)}))
        .await
        .unwrap();
    bench.ask("v1.session.fork", forking(&old[2], "x")).await.unwrap();
}

#[tokio::test]
async fn a_cleared_history_is_gone_from_requests_also_after_a_restart() {
    let bench = conversation().await;
    let of = json!({"session_id": session(1)});
    let before = bench.engine.position().borrow().epoch.clone();
    let cleared = bench.ask("v1.history.clear", of.clone()).await.unwrap();
    assert_eq!(cleared["updates"][0]["data_list"][0]["cleared_offset"], 6);
    let epoch = bench.engine.position().borrow().epoch.clone();
    assert_ne!(epoch, before, "whoever follows the stream loads it anew");
    bench.ask("v1.history.clear", of.clone()).await.unwrap();
    assert_eq!(
        bench.engine.position().borrow().epoch,
        epoch,
        "there was nothing to clear"
    );
    let messages = message_ids(&bench, &json!(session(1))).await;
    let bench = bench.again().await;
    assert_eq!(
        bench.engine.position().borrow().epoch,
        epoch,
        "also after a restart"
    );
    bench.send("c5", "after").await.unwrap();
    bench.until(1, SessionState::is_idle).await;
    assert_eq!(read(&bench), ["after"]);
    assert_eq!(
        message_ids(&bench, &json!(session(1))).await[..6],
        messages,
        "the messages stay"
    );
    for (ask, code) in [
        (json!({"session_id": session(88)}), "session.not_found"),
        (of.clone(), "session.closed"),
    ] {
        bench.ask("v1.session.close", of.clone()).await.unwrap();
        assert_eq!(bench.ask("v1.history.clear", ask).await.unwrap_err(), code);
    }
}

#[tokio::test]
async fn a_session_keeps_the_instructions_that_it_began_with() {
    let bench = bench(vec![says("a"), says("b")]).await;
    let mut ask = crate::rpc::sending("c1", "hello");
    ask["agent_prompt"] = json!("Use tabs.");
    let sent = bench.result("v1.message.send", ask).await;
    let of = json!({"session_id": sent["session_id"]});
    assert_eq!(
        bench.result("v1.session.get", of.clone()).await["item"]["agent_prompt"],
        "Use tabs."
    );
    let mut later = crate::rpc::sending("c2", "more");
    later["server_session_id"] = sent["session_id"].clone();
    later["agent_prompt"] = json!("Use spaces.");
    bench.result("v1.message.send", later).await;
    let got = bench.result("v1.session.get", of).await;
    assert_eq!(
        got["item"]["agent_prompt"], "Use tabs.",
        "it is settled when the session begins"
    );
}

/// Texts that are not kept apart from their records, as many as wait for one turn at most.
async fn say_much(bench: &Bench, turn: usize) -> rtc_types::Message {
    let text = "much ".repeat(12_000);
    let first = bench.send(&format!("m-{turn}"), "a word").await.unwrap();
    bench.until(1, |state| state.turn.is_some()).await;
    for number in 0..256 {
        bench.send(&format!("m-{turn}-{number}"), &text).await.unwrap();
    }
    assert_eq!(
        refusal(bench.send(&format!("m-{turn}-more"), &text).await),
        rtc_types::Code::InvalidArgument
    );
    bench.engine.tell(session(1), Command::Stop).await.unwrap();
    bench.until(1, SessionState::is_idle).await;
    first
}

#[tokio::test]
async fn a_long_conversation_is_copied_whole_and_one_that_is_too_long_is_refused_with_words() {
    let bench = bench(Vec::new()).await;
    say_much(&bench, 1).await;
    let second = say_much(&bench, 2).await;
    say_much(&bench, 3).await;
    let fourth = bench.send("m-4", "the last").await.unwrap();
    bench.until(1, |state| state.turn.is_some()).await;

    let forked = bench
        .ask("v1.session.fork", forking(&json!(second.id), "again"))
        .await
        .unwrap();
    let copied = forked["result"]["message_ids"].as_array().unwrap().len();
    assert_eq!(copied, 257 + 1);
    let mut ask = forking(&json!(fourth.id), "again");
    ask["new_client_session_id"] = json!("other");
    ask["new_client_message_id"] = json!("another");
    assert_eq!(bench.ask("v1.session.fork", ask).await.unwrap_err(), "fork.error");
}
