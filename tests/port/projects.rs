//! Projects, models and pages of sessions, as clients ask for them.

use std::collections::BTreeSet;

use rtc_tests::Workplace;
use rtc_tests::serving::{Serving, token};
use serde_json::{Value, json};

use crate::client::{Client, code, result};
use crate::follower::message;

const OTHER: &str = "00000000-0000-4000-8000-00000000000c";

fn ids(list: &Value) -> Vec<Value> {
    let items = list["items"].as_array().expect("items");
    items.iter().map(|item| item["id"].clone()).collect()
}

#[test]
fn projects_are_opened_trusted_and_closed_by_their_own_device() {
    let place = Workplace::empty();
    let second = place.path().join("second");
    std::fs::create_dir(&second).expect("a folder is made");
    let serving = Serving::start(&place, &[]);
    let mut client = Client::connected(serving.port(), serving.token());
    let own = &mut client;
    let elsewhere = token(&place, &["--device", OTHER]);
    let mut other = Client::connected(serving.port(), &elsewhere);

    let first = ids(&result(own, "v1.project.list", json!({})))[0].clone();
    let opened = result(own, "v1.project.open", json!({ "path": second }))["item"].take();
    let second_id = opened["id"].clone();
    assert_eq!(opened["trusted"], true, "whoever names a folder trusts it");
    assert_eq!(
        ids(&result(own, "v1.project.list", json!({}))),
        [first.clone(), second_id.clone()]
    );
    let recent = |client: &mut Client, limit: u64| {
        ids(&result(client, "v1.project.recent", json!({ "limit": limit })))
    };
    assert_eq!(recent(own, 10), [second_id.clone(), first.clone()]);
    // An old one that is opened again comes to the front; the last one stays there.
    for _ in 0..2 {
        let again = result(own, "v1.project.open", json!({"path": place.root()}))["item"].take();
        assert_eq!(again["id"], first);
        assert_eq!(recent(own, 10), [first.clone(), second_id.clone()]);
    }
    assert_eq!(recent(own, 1), std::slice::from_ref(&first));

    for trusted in [false, true] {
        let trust = json!({"project_id": second_id, "trusted": trusted});
        assert_eq!(result(own, "v1.project.trust", trust)["item"]["trusted"], trusted);
    }
    let unknown = json!({"project_id": OTHER, "trusted": true});
    assert_eq!(code(own, "v1.project.trust", unknown), "project.not_found");

    // Neither its folders nor their end are another device's.
    let of = json!({ "project_id": second_id });
    assert_eq!(
        code(&mut other, "v1.project.close", of.clone()),
        "project.not_found"
    );
    let mut send = message("m1", "list the files");
    send["project_id"] = second_id.clone();
    assert_eq!(
        code(&mut other, "v1.message.send", send.clone()),
        "project.not_found"
    );
    let sent = result(own, "v1.message.send", send.clone());
    let got = result(own, "v1.session.get", json!({"session_id": sent["session_id"]}));
    assert_eq!(got["item"]["project_id"], second_id);

    assert_eq!(
        result(own, "v1.project.close", of.clone()),
        json!({"success": true})
    );
    assert_eq!(
        ids(&result(own, "v1.project.list", json!({}))),
        std::slice::from_ref(&first)
    );
    assert_eq!(recent(own, 10).len(), 2, "it was opened once");
    send["client_id"] = json!("m2");
    assert_eq!(code(own, "v1.message.send", send.clone()), "project.not_found");
    // Its sessions stay, and take what is said in them.
    send["server_session_id"] = sent["session_id"].clone();
    assert_eq!(
        result(own, "v1.message.send", send)["session_id"],
        sent["session_id"]
    );
}

#[test]
fn models_are_listed_with_the_one_that_answers() {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let mut client = Client::connected(serving.port(), serving.token());
    let models = result(&mut client, "v1.models.list", json!({}));
    let items = models["items"].as_array().expect("models");
    let offline = items.iter().find(|model| model["name"] == "offline");
    assert!(offline.is_some(), "{models}");
}

#[test]
fn no_session_is_left_out_of_the_pages_whatever_is_deleted_meanwhile() {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let mut client = Client::connected(serving.port(), serving.token());
    for n in 0..5 {
        let mut send = message(&format!("m{n}"), "hello");
        send["client_session_id"] = json!(format!("s{n}"));
        result(&mut client, "v1.message.send", send);
    }
    // Until nothing goes on, so that none moves up any more.
    loop {
        let list = result(&mut client, "v1.session.list", json!({}));
        if list["items"]
            .as_array()
            .expect("items")
            .iter()
            .all(|item| item["status"] == "idle")
        {
            break;
        }
    }
    let all = ids(&result(&mut client, "v1.session.list", json!({})));
    assert_eq!(all.len(), 5);
    let (mut seen, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let page = result(
            &mut client,
            "v1.session.list",
            json!({"limit": 2, "cursor": cursor}),
        );
        seen.extend(ids(&page));
        let Some(next) = page.get("next_cursor") else {
            break;
        };
        cursor = next.clone();
    }
    assert_eq!(seen, all, "each once, in order");

    let first = result(&mut client, "v1.session.list", json!({"limit": 2}));
    let gone = first["next_cursor"].clone();
    let delete = json!({"session_id": gone, "deleted_at": "2026-01-02T03:04:05Z"});
    result(&mut client, "v1.session.update", delete);
    let mut rest = BTreeSet::new();
    let mut cursor = gone.clone();
    loop {
        let page = result(
            &mut client,
            "v1.session.list",
            json!({"limit": 2, "cursor": cursor}),
        );
        rest.extend(ids(&page).iter().map(Value::to_string));
        let Some(next) = page.get("next_cursor") else {
            break;
        };
        cursor = next.clone();
    }
    assert!(
        all[2..].iter().all(|id| rest.contains(&id.to_string())),
        "{rest:?}"
    );
    assert!(!rest.contains(&gone.to_string()));
    let mut more = message("late", "hello");
    more["server_session_id"] = gone.clone();
    assert_eq!(code(&mut client, "v1.message.send", more), "session.not_found");
    assert_eq!(
        code(&mut client, "v1.session.list", json!({"cursor": OTHER})),
        "session.not_found"
    );
}
