//! Whole turns over the port: what one client asks, what every client hears, what is there after a restart.

use rtc_tests::Workplace;
use rtc_tests::dialogue::run;
use rtc_tests::model_server::{Answer, ModelServer};
use rtc_tests::serving::Serving;
use serde_json::{Value, json};

use crate::follower::{Follower, message};

#[test]
fn a_turn_is_heard_by_every_client_and_by_whoever_comes_later() {
    let place = Workplace::empty();
    std::fs::write(place.root().join("notes.txt"), "buy chalk\n").expect("a file");
    let serving = Serving::start(&place, &[]);
    let mut sender = Follower::start(&serving, None);
    let mut watcher = Follower::start(&serving, None);
    let sent = sender.rpc("v1.message.send", message("m1", "read notes.txt"));
    for follower in [&mut sender, &mut watcher] {
        follower.turn_is("completed");
        let call = follower.until(|entity| entity["tool_name"] == "read" && entity["status"] == "completed");
        assert_eq!(call["session_id"], sent["session_id"]);
    }
    let list = json!({"session_id": sent["session_id"]});
    let messages = watcher.rpc("v1.message.list", list.clone());
    assert!(messages.to_string().contains("buy chalk"), "{messages}");
    let calls = watcher.rpc("v1.rtc.list", list);
    assert_eq!(calls["items"][0]["tool_name"], "read");

    // Missed: half of it, and a restart.
    let (offset, epoch) = sender.position.clone();
    assert_eq!(serving.stop().code, Some(0));
    let serving = Serving::start(&place, &[]);
    let late = Follower::start(&serving, Some((offset / 2, epoch)));
    assert_eq!(late.position, sender.position);
    for (id, entity) in &late.entities {
        assert_eq!(Some(entity), sender.entities.get(id), "{id}");
    }
}

#[test]
fn an_approval_is_answered_by_any_client_once() {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let mut asker = Follower::start(&serving, None);
    let sent = asker.rpc("v1.message.send", message("m1", "run this script: `1 + 1`"));
    let waits = |entity: &Value| entity["approval"]["state"] == "open";
    let call = asker.until(waits);
    assert!(
        call["preview"]["text"]
            .as_str()
            .is_some_and(|code| code.contains("1 + 1"))
    );
    // It is still there for whoever comes now, also after a restart.
    assert_eq!(serving.stop().code, Some(0));
    let serving = Serving::start(&place, &[]);
    let mut other = Follower::start(&serving, Some((0, asker.position.1.clone())));
    let mut third = Follower::start(&serving, Some(asker.position.clone()));
    let call = other.until(waits);
    let answer = json!({"rtc_id": call["id"], "decision": "once"});
    other.rpc("v1.rtc.approve", answer.clone());
    for follower in [&mut other, &mut third] {
        let id = call["id"].clone();
        let done = follower.until(|entity| entity["id"] == id && entity["status"] == "completed");
        assert_eq!(done["approval"]["state"], "approved");
        assert!(done["approval"]["decided_by"].is_string(), "who answered is told");
    }
    let no = json!({"rpc": {"method": "v1.rtc.approve", "data": {"rtc_id": call["id"], "decision": "reject"}}, "id": 99});
    let late = third.client.ask(no);
    let told = late["error"]["message"].as_str().expect("a refusal");
    assert!(told.starts_with("approval.closed"), "{told}");
    third.turn_is("completed");
    let got = third.rpc("v1.session.get", json!({"session_id": sent["session_id"]}));
    assert_eq!(got["item"]["status"], "idle");
}

#[test]
fn scenarios_are_told_as_sent_and_stand_before_the_text_in_every_request() {
    let place = Workplace::empty();
    let model = ModelServer::in_order(["One.", "Two.", "Three."].map(Answer::text));
    let serving = Serving::with_model(&place, &model, &[]);
    let mut sender = Follower::start(&serving, None);
    let mut watcher = Follower::start(&serving, None);
    let content = json!({"type": "user_message", "data": {"text": "Begin", "scenarios": [
        {"title": "Tidying", "filepath": "/scenarios/tidy.md", "file_content": "One drawer\r\nat a \"time\".\n"},
        {"title": "Counting", "filepath": "/scenarios/count.md", "file_content": "両方。"},
    ]}});
    let mut first = message("m1", "");
    first["content_data"] = content.clone();
    let sent = sender.rpc("v1.message.send", first.clone());
    let said = |message: &Value| -> Value {
        serde_json::from_str(message["content"].as_str().expect("a text")).expect("JSON")
    };
    for follower in [&mut sender, &mut watcher] {
        follower.turn_is("completed");
        let message = follower.until(|entity| entity["id"] == sent["message_id"]);
        assert_eq!(said(&message), content);
        let prompt = follower.until(|entity| entity["parent_message_id"] == sent["message_id"]);
        assert_eq!(
            (&prompt["role"], &prompt["turn_id"]),
            (&json!("system"), &message["turn_id"])
        );
        assert_eq!(said(&prompt)["data"]["title"], "Tidying, Counting");
    }

    assert_eq!(serving.stop().code, Some(0));
    let serving = Serving::with_model(&place, &model, &[]);
    let mut late = Follower::start(&serving, Some((0, sender.position.1.clone())));
    assert_eq!(late.entities, sender.entities, "the same after a restart");
    assert_eq!(late.rpc("v1.message.send", first), sent);
    let mut second = message("m2", "And now?");
    second["server_session_id"] = sent["session_id"].clone();
    late.rpc("v1.message.send", second);
    late.until(|entity| {
        entity["content"]
            .as_str()
            .is_some_and(|text| text.contains("Two."))
    });
    let asked = model.wait_for(2);
    let read = "<scenarios>\n# Tidying\n\nOne drawer\r\nat a \"time\".\n\n\n# Counting\n\n両方。\n</scenarios>\n\nBegin";
    assert_eq!(
        asked[0].messages()[1..],
        [json!({"role": "user", "content": read})]
    );
    let (before, after) = (asked[0].messages(), asked[1].messages());
    assert_eq!(
        after[..2],
        before[..],
        "one request is the one before it, and more"
    );
    assert_eq!(after[3], json!({"role": "user", "content": "And now?"}));

    // A cleared history has none.
    late.rpc("v1.history.clear", json!({"session_id": sent["session_id"]}));
    let mut third = message("m3", "Anew");
    third["server_session_id"] = sent["session_id"].clone();
    late.rpc("v1.message.send", third);
    let asked = model.wait_for(3);
    assert_eq!(
        asked[2].messages()[1..],
        [json!({"role": "user", "content": "Anew"})]
    );
    assert_eq!(serving.stop().code, Some(0));
    let id = sent["session_id"].as_str().expect("an id");
    let shown = run(place.command(&["sessions", "show", id]), b"");
    assert!(
        shown
            .stdout
            .contains("\n> Begin\n(with scenarios: Tidying, Counting)\nOne.\n"),
        "{}{}",
        shown.stdout,
        shown.stderr
    );
}

#[test]
fn what_two_clients_send_in_the_same_moment_is_answered_once_in_one_order() {
    const ROUNDS: usize = 10;
    let place = Workplace::empty();
    let model = ModelServer::start(|_| Answer::text("Heard."));
    let serving = Serving::with_model(&place, &model, &[]);
    let mut clients = [Follower::start(&serving, None), Follower::start(&serving, None)];
    let session = clients[0].rpc("v1.message.send", message("m0", "the first"))["session_id"].take();
    let moment = std::sync::Barrier::new(clients.len());
    std::thread::scope(|scope| {
        for (number, client) in clients.iter_mut().enumerate() {
            let (session, moment) = (&session, &moment);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let mut further =
                        message(&format!("m-{number}-{round}"), &format!("word {number} {round}."));
                    further["server_session_id"] = session.clone();
                    moment.wait();
                    client.rpc("v1.message.send", further);
                }
            });
        }
    });
    let is_idle = |entity: &Value| entity["id"] == session && entity["status"] == "idle";
    let list = json!({"session_id": session, "limit": 200});
    let heard = clients.each_mut().map(|client| {
        loop {
            client.until(is_idle);
            let messages = client.rpc("v1.message.list", list.clone());
            let messages = messages["items"].as_array().expect("a list").clone();
            // A session is idle also between two turns.
            if messages.iter().all(|message| message["turn_id"].is_string()) {
                return messages;
            }
            client.follow();
        }
    });
    let order = |messages: &[Value]| -> Vec<(u64, String)> {
        let said = messages.iter().filter(|message| message["role"] == "user");
        said.map(|message| {
            let place = message["global_offset"].as_u64().expect("a place");
            (place, message["content"].to_string())
        })
        .collect()
    };
    assert_eq!(order(&heard[0]), order(&heard[1]), "both have it in one order");
    assert_eq!(order(&heard[0]).len(), 1 + 2 * ROUNDS);
    assert!(order(&heard[0]).is_sorted_by(|one, next| one.0 < next.0));
    // As each was told of it, and not only as it is listed: the same updates at the same places.
    let end = clients[0].stands_at();
    let [one, other] = clients.each_mut().map(|client| -> Vec<Value> {
        client.reach(end);
        // An entity is as it was when it was told of, which may be later for one of them.
        let told = client.updates.iter();
        told.map(|update| json!([update["offset"], update["data"]["id"], update["data"]["items"]]))
            .collect()
    });
    assert!(one.len() > 1 + 2 * ROUNDS, "{} updates", one.len());
    assert_eq!(one, other);
    // One at a time: a request begins when the reply to the one before it is part of the conversation.
    let asked = model.asked();
    for (number, asked) in asked.iter().enumerate() {
        let replies = asked.json().to_string().matches("Heard.").count();
        assert_eq!(replies, number, "request {number}");
    }
    let last = asked.last().expect("a request").json().to_string();
    for number in 0..2 {
        let mut places = Vec::new();
        for round in 0..ROUNDS {
            let word = format!("word {number} {round}.");
            assert_eq!(last.matches(&word).count(), 1, "{word} is read once");
            places.push(last.find(&word));
        }
        assert!(places.is_sorted(), "a client's own messages stay in their order");
    }
}
