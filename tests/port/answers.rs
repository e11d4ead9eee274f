//! Questions and approvals with several clients: open for all, answered once, and by whom.

use rtc_tests::Workplace;
use rtc_tests::model_server::{Answer, Last, ModelServer};
use rtc_tests::serving::{Serving, token};
use serde_json::{Value, json};

use crate::follower::{Follower, message};

const TABLET: &str = "00000000-0000-4000-8000-00000000000e";
const QUESTION: &str = "Which colour?";

fn question() -> Answer {
    let option = |label: &str| json!({"label": label, "description": "a colour"});
    let asked = json!({"questions": [
        {"question": QUESTION, "header": "Colour", "options": [option("Blue"), option("Red")]},
    ]});
    Answer::reply().call("q", "askUser", &asked.to_string())
}

fn is_open(entity: &Value) -> bool {
    entity["tool_name"] == "askUser" && entity["completed_at"].is_null()
}

fn answer(call: &Value, colour: &str) -> Value {
    let result = json!({"answers": {QUESTION: colour}});
    json!({"rtc_id": call["id"], "success": true, "result": result, "client_id": call["client_id"]})
}

/// A client of another device, which shows approvals too.
fn tablet(place: &Workplace, serving: &Serving, since: Option<(u64, String)>) -> Follower {
    let token = token(place, &["--device", TABLET]);
    Follower::connect(serving, &token, json!({"approvals": true}), since)
}

#[test]
fn a_question_is_open_everywhere_until_one_client_has_answered_it() {
    let place = Workplace::empty();
    let model = ModelServer::in_order([question(), Answer::text("So be it.")]);
    let serving = Serving::with_model(&place, &model, &[]);
    let (mut first, mut second) = (Follower::start(&serving, None), tablet(&place, &serving, None));
    first.rpc("v1.message.send", message("m1", "ask me"));
    let call = first.until(is_open);
    assert_eq!(second.until(is_open)["id"], call["id"]);
    // Also after a restart, for both.
    let positions = [first.position.clone(), second.position.clone()];
    assert_eq!(serving.stop().code, Some(0));
    let serving = Serving::with_model(&place, &model, &[]);
    let [one, two] = positions;
    let mut first = Follower::start(&serving, Some(one));
    let mut second = tablet(&place, &serving, Some(two));
    for follower in [&mut first, &mut second] {
        let got = follower.rpc("v1.rtc.get", json!({"rtc_id": call["id"]}));
        assert!(is_open(&got["item"]), "{got}");
    }
    second.action("v1.rtc.submit_result", answer(&call, "Blue"));
    let done = first.until(|entity| entity["id"] == call["id"] && entity["status"] == "completed");
    assert_eq!(done["answered_by"], TABLET, "the other one is told who answered");
    // Who comes late is told what became of it.
    let late = first.action("v1.rtc.submit_result", answer(&call, "Red"));
    let told = &late["updates"][0];
    assert_eq!(
        (
            &told["offset"],
            &told["data_list"][0]["answered_by"],
            &told["data_list"][0]["result"]
        ),
        (&json!(0), &json!(TABLET), &done["result"])
    );
    for follower in [&mut first, &mut second] {
        follower.turn_is("completed");
    }
    let Last::Results(results) = model.asked()[1].last() else {
        panic!("a result is told")
    };
    assert!(results.len() == 1 && results[0].1.contains("Blue"), "{results:?}");
}

#[test]
fn of_two_answers_at_once_the_first_counts() {
    let place = Workplace::empty();
    let model = ModelServer::in_order([question(), Answer::text("So be it.")]);
    let serving = Serving::with_model(&place, &model, &[]);
    let (mut first, mut second) = (Follower::start(&serving, None), tablet(&place, &serving, None));
    first.rpc("v1.message.send", message("m1", "ask me"));
    let call = first.until(is_open);
    second.until(is_open);
    let told = std::thread::scope(|scope| {
        let both = [(&mut first, "Blue"), (&mut second, "Red")].map(|(follower, colour)| {
            let answer = answer(&call, colour);
            scope.spawn(move || follower.action("v1.rtc.submit_result", answer))
        });
        both.map(|one| one.join().expect("it is answered"))
    });
    let mut ended = Vec::new();
    for follower in [&mut first, &mut second] {
        follower.turn_is("completed");
        ended.push(follower.until(|entity| entity["id"] == call["id"] && entity["status"] == "completed"));
    }
    assert_eq!(ended[0], ended[1]);
    let (won, colour) = match ended[0]["answered_by"] == TABLET {
        true => (1, "Red"),
        false => (0, "Blue"),
    };
    assert!(ended[0]["result"].to_string().contains(colour), "{}", ended[0]);
    for (who, reply) in told.iter().enumerate() {
        assert_eq!(reply["result"], json!({"success": true}));
        let update = &reply["updates"][0];
        assert_eq!(update["offset"] == 0, who != won, "{update}");
        let entities = update["data_list"].as_array().expect("entities");
        let heard = entities
            .iter()
            .find(|entity| entity["id"] == call["id"])
            .expect("the call");
        assert_eq!(heard["answered_by"], ended[0]["answered_by"]);
    }
}

#[test]
fn a_stop_withdraws_what_is_asked_from_every_client() {
    let script = || Answer::reply().call("s", "script", r#"{"title":"count","code":"1 + 1"}"#);
    for asks in [question(), script()] {
        let place = Workplace::empty();
        let model = ModelServer::in_order([asks]);
        let serving = Serving::with_model(&place, &model, &[]);
        let (mut first, mut second) = (Follower::start(&serving, None), tablet(&place, &serving, None));
        let sent = first.rpc("v1.message.send", message("m1", "ask me"));
        let is_call = |entity: &Value| entity.get("tool_name").is_some();
        let call = first.until(is_call);
        second.until(is_call);
        second.rpc("v1.turn.stop", json!({"session_id": sent["session_id"]}));
        for follower in [&mut first, &mut second] {
            follower.turn_is("cancelled");
            let ended = follower.until(|entity| entity["id"] == call["id"] && entity["status"] == "rejected");
            assert_eq!(ended.get("answered_by"), None);
            let approval = &ended["approval"]["state"];
            assert!(approval.is_null() || approval == "withdrawn", "{ended}");
        }
        let mut late = answer(&call, "Blue");
        late["client_id"] = Value::Null;
        let late = first.action("v1.rtc.submit_result", late);
        assert_eq!(late["updates"][0]["data_list"][0]["status"], "rejected");
        let yes = json!({"rtc_id": call["id"], "decision": "once"});
        assert_eq!(first.refused("v1.rtc.approve", yes), "approval.closed");
        assert_eq!(model.asked().len(), 1, "nothing goes on");
    }
}
