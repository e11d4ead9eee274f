//! Which device is told of a call, takes it, and says how it ended.

use rtc_engine::SessionState;
use rtc_realtime::{Caller, Scope, Source};
use rtc_types::{Mode, RtcId, RtcStatus};
use serde_json::{Value, json};

use crate::bench::*;
use crate::rpc::{caller, sending};

/// A device that runs its calls itself.
const REMOTE: u128 = 3;

/// An engine with a session of this device, whose model replied with this.
async fn of_device(
    device: u128,
    reply: rtc_model::Reply,
    mode: Mode,
) -> (Bench, rtc_types::SessionId, RtcId) {
    let bench = bench(vec![reply, says("done")]).await;
    let mut send = sending("c1", "edit x");
    send["mode"] = json!(mode);
    let sent = bench.ask_as(device, "v1.message.send", send).await.unwrap();
    let session: rtc_types::SessionId = serde_json::from_value(sent["result"]["session_id"].clone()).unwrap();
    let mut position = bench.engine.position();
    let wait = async {
        loop {
            position.borrow_and_update();
            let state = bench.engine.wake(session).await.unwrap();
            if let Some(call) = state.calls.first() {
                return call.stored.entity.id;
            }
            position.changed().await.unwrap();
        }
    };
    let rtc = tokio::time::timeout(BOUND, wait).await.expect("it happens");
    (bench, session, rtc)
}

impl Bench {
    fn deliver_all(&self, caller: &Caller) {
        let last = self.engine.position().borrow().offset;
        Source::delivered(&self.engine, caller, 1..=last);
    }

    /// The state of a call as every client reads it.
    async fn status(&self, rtc: RtcId) -> RtcStatus {
        self.engine.rtc(rtc).await.unwrap().unwrap().entity.status
    }

    async fn until_status(&self, rtc: RtcId, status: RtcStatus) {
        let look = async {
            while self.status(rtc).await != status {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(BOUND, look).await.expect("it happens");
    }

    async fn until_all_is_quiet(&self) {
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn a_call_is_sent_once_its_device_has_taken_it_and_every_client_is_told() {
    for device in [REMOTE, 2] {
        // On the device whose calls run here, too, as long as the user is asked.
        let (bench, _, rtc) = of_device(device, one_edit(), Mode::Manual).await;
        let before = bench.engine.position().borrow().offset;
        let only_looks = Caller {
            scopes: [Scope::View, Scope::Approve].into_iter().collect(),
            ..caller(device, true)
        };
        for nobody in [caller(9, true), caller(device, false), only_looks] {
            bench.deliver_all(&nobody);
            bench.until_all_is_quiet().await;
            assert_eq!(bench.status(rtc).await, RtcStatus::Pending, "{nobody:?}");
        }
        assert_eq!(bench.engine.position().borrow().offset, before);
        bench.deliver_all(&caller(device, true));
        bench.until_status(rtc, RtcStatus::Sent).await;
        let rows = Source::updates(&bench.engine, &caller(9, true), before, 10)
            .await
            .unwrap();
        let told = rows[0].update.as_ref().unwrap();
        assert_eq!(
            (rows.len(), &told.data_list[0]["id"], &told.data_list[0]["status"]),
            (1, &json!(rtc), &json!("sent"))
        );
        // Once is enough.
        bench.deliver_all(&caller(device, true));
        bench.until_all_is_quiet().await;
        assert_eq!(bench.engine.position().borrow().offset, before + 1);
    }
}

#[tokio::test]
async fn that_a_call_was_sent_which_runs_here_costs_no_commit() {
    let (bench, session, rtc) = of_device(2, one_edit(), Mode::Bypass).await;
    let (commits, before) = (bench.store.commits(), bench.engine.position().borrow().offset);
    bench.deliver_all(&caller(2, true));
    let look = async {
        loop {
            let state = bench.engine.wake(session).await.unwrap();
            if state.call(rtc).unwrap().stored.entity.status == RtcStatus::Sent {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(BOUND, look).await.expect("it happens");
    assert_eq!(
        bench.status(rtc).await,
        RtcStatus::Pending,
        "it joins the next commit"
    );
    assert_eq!(
        (bench.store.commits(), bench.engine.position().borrow().offset),
        (commits, before)
    );
}

#[tokio::test]
async fn no_result_is_the_value_null_unless_the_call_runs_here() {
    for result in [json!({}), json!({"result": null})] {
        let (bench, session, rtc) = of_device(REMOTE, one_edit(), Mode::Bypass).await;
        let mut submit = result.clone();
        submit["rtc_id"] = json!(rtc);
        submit["success"] = json!(true);
        bench
            .ask_as(REMOTE, "v1.rtc.submit_result", submit.clone())
            .await
            .unwrap();
        let entity = bench.engine.rtc(rtc).await.unwrap().unwrap().entity;
        assert_eq!(
            (entity.status, entity.result.unwrap_or_default()),
            (RtcStatus::Completed, Value::Null)
        );
        assert!(
            bench.engine.wake(session).await.unwrap().calls.is_empty(),
            "the turn goes on"
        );

        let (bench, _, rtc) = of_device(2, one_edit(), Mode::Bypass).await;
        submit["rtc_id"] = json!(rtc);
        let told = bench.ask("v1.rtc.submit_result", submit).await;
        assert_eq!(told.unwrap_err(), "rtc.invalid_result");
    }
}

#[tokio::test]
async fn a_call_that_waits_for_a_yes_is_not_begun_and_not_shown_to_whoever_asks_for_none() {
    let (bench, _, rtc) = of_device(REMOTE, one_edit(), Mode::Manual).await;
    let before = bench.engine.position().borrow().offset;
    let of = json!({ "rtc_id": rtc });
    let executing = json!({"rtc_id": rtc, "status": "executing"});
    let failed = json!({"rtc_id": rtc, "status": "failed"});
    let submit = json!({"rtc_id": rtc, "success": true, "result": 1});
    let resolve = json!({"rtc_id": rtc, "decision": "done"});
    for (method, ask, shown) in [
        ("v1.rtc.get", &of, None),
        ("v1.rtc.preview", &of, None),
        ("v1.rtc.update_status", &executing, Some("approval.required")),
        ("v1.rtc.update_status", &failed, Some("approval.required")),
        ("v1.rtc.submit_result", &submit, Some("approval.required")),
        ("v1.rtc.claim", &of, Some("approval.required")),
        ("v1.rtc.renew", &of, Some("rtc.invalid_state")),
        ("v1.rtc.resolve", &resolve, Some("rtc.invalid_state")),
    ] {
        let hidden = bench.ask_by(&caller(REMOTE, false), method, ask.clone()).await;
        assert_eq!(hidden.unwrap_err(), "rtc.not_found", "{method}");
        let told = bench.ask_as(REMOTE, method, ask.clone()).await;
        assert_eq!(told.err().as_deref(), shown, "{method}");
    }
    assert_eq!(
        bench.engine.position().borrow().offset,
        before,
        "nothing was changed"
    );
    let yes = json!({"rtc_id": rtc, "decision": "once"});
    let blind = bench
        .ask_by(&caller(REMOTE, false), "v1.rtc.approve", yes.clone())
        .await;
    assert_eq!(blind.unwrap_err(), "rtc.not_found");
    bench.ask("v1.rtc.approve", yes).await.unwrap();
    bench
        .ask_by(&caller(REMOTE, false), "v1.rtc.update_status", executing)
        .await
        .unwrap();
    assert_eq!(bench.status(rtc).await, RtcStatus::Executing);
}

#[tokio::test]
async fn a_device_that_asks_its_user_itself_is_told_of_its_own_calls_at_once() {
    let own = caller(ASKS_ITSELF, false);
    for (method, ask, state, status) in [
        (
            "v1.rtc.submit_result",
            json!({"success": true, "result": "edited"}),
            "approved",
            RtcStatus::Completed,
        ),
        (
            "v1.rtc.submit_result",
            json!({"success": false, "error": "no"}),
            "withdrawn",
            RtcStatus::Failed,
        ),
        (
            "v1.rtc.update_status",
            json!({"status": "rejected"}),
            "withdrawn",
            RtcStatus::Rejected,
        ),
        (
            "v1.rtc.update_status",
            json!({"status": "executing"}),
            "approved",
            RtcStatus::Executing,
        ),
    ] {
        let (bench, _, rtc) = of_device(ASKS_ITSELF, one_edit(), Mode::Manual).await;
        let rows = Source::updates(&bench.engine, &own, 0, 100).await.unwrap();
        let told = rows.iter().filter_map(|row| row.update.as_ref().ok());
        assert!(
            { told }.any(|update| update.data_list.iter().any(|data| data["id"] == json!(rtc))),
            "it is told of it"
        );
        bench.deliver_all(&own);
        bench.until_status(rtc, RtcStatus::Sent).await;
        bench
            .ask_by(&own, "v1.rtc.get", json!({"rtc_id": rtc}))
            .await
            .unwrap();
        // Others that show no approvals are not told, and say nothing.
        let other = bench
            .ask_by(&caller(9, false), "v1.rtc.get", json!({"rtc_id": rtc}))
            .await;
        assert_eq!(other.unwrap_err(), "rtc.not_found");
        let mut ask = ask;
        ask["rtc_id"] = json!(rtc);
        bench.ask_by(&own, method, ask).await.unwrap();
        let entity = bench.engine.rtc(rtc).await.unwrap().unwrap().entity;
        let approval = entity.approval.unwrap();
        assert_eq!(
            (json!(approval.state), entity.status),
            (json!(state), status),
            "{method}"
        );
        assert_eq!(approval.decided_by, Some(own.device));
    }
    // Its own calls alone.
    let (bench, _, rtc) = of_device(2, one_edit(), Mode::Manual).await;
    let told = bench.ask_by(&own, "v1.rtc.get", json!({"rtc_id": rtc})).await;
    assert_eq!(told.unwrap_err(), "rtc.not_found");
}

#[tokio::test]
async fn a_question_says_who_answered_it_and_the_first_one_counts() {
    let question = calls(&[("a", "ask", "{\"path\":\"/x\"}")]);
    let (bench, session, rtc) = of_device(2, question, Mode::Manual).await;
    let client_id = bench.engine.rtc(rtc).await.unwrap().unwrap().entity.client_id;
    let answer = |text: &str| json!({"rtc_id": rtc, "success": true, "result": text, "client_id": client_id});
    for none in [
        json!({"rtc_id": rtc, "success": true}),
        answer("x")
            .as_object()
            .map(|_| json!({"rtc_id": rtc, "success": true, "result": 7}))
            .unwrap(),
    ] {
        let told = bench.ask("v1.rtc.submit_result", none).await;
        assert_eq!(told.unwrap_err(), "rtc.invalid_result");
    }
    let (first, second) = tokio::join!(
        bench.ask_as(4, "v1.rtc.submit_result", answer("blue")),
        bench.ask_as(5, "v1.rtc.submit_result", answer("red")),
    );
    let entity = bench.engine.rtc(rtc).await.unwrap().unwrap().entity;
    let won = entity.answered_by.unwrap();
    let (device, text) = if won == caller(4, true).device {
        (4, "blue")
    } else {
        (5, "red")
    };
    assert_eq!(
        (won, entity.result),
        (caller(device, true).device, Some(json!(text)))
    );
    // Both are told how it ended, and the one who was late outside of the stream.
    for (answered, told) in [(4, first.unwrap()), (5, second.unwrap())] {
        let update = &told["updates"][0];
        assert_eq!(update["offset"] == 0, answered != device, "{update}");
        let items = update["data_list"].as_array().unwrap();
        let call = items.iter().find(|data| data["id"] == json!(rtc)).unwrap();
        assert_eq!(
            (&call["answered_by"], &call["result"]),
            (&json!(won), &json!(text))
        );
    }
    let late = bench
        .ask_as(6, "v1.rtc.submit_result", answer("green"))
        .await
        .unwrap();
    assert_eq!(late["updates"][0]["data_list"][0]["answered_by"], json!(won));
    assert!(bench.engine.wake(session).await.unwrap().calls.is_empty());
}

#[tokio::test]
async fn a_question_that_is_stopped_was_answered_by_nobody() {
    let question = calls(&[("a", "ask", "{\"path\":\"/x\"}")]);
    let (bench, session, rtc) = of_device(2, question, Mode::Manual).await;
    bench
        .ask("v1.turn.stop", json!({"session_id": session}))
        .await
        .unwrap();
    let late = json!({"rtc_id": rtc, "success": true, "result": "blue"});
    let told = bench.ask_as(4, "v1.rtc.submit_result", late).await.unwrap();
    let call = &told["updates"][0]["data_list"][0];
    assert_eq!(
        (&call["status"], call.get("answered_by")),
        (&json!("rejected"), None)
    );
    let state: SessionState = bench.engine.wake(session).await.unwrap();
    assert!(state.is_idle());
}

#[tokio::test]
async fn a_new_session_works_in_an_open_folder_of_its_device() {
    let bench = bench(Vec::new()).await;
    let mut send = sending("c1", "hello");
    send["project_id"] = json!(project());
    let sent = bench.ask("v1.message.send", send.clone()).await.unwrap();
    let of = json!({"session_id": sent["result"]["session_id"]});
    let made = bench.result("v1.session.get", of).await;
    assert_eq!(made["item"]["project_id"], json!(project()));
    send["client_id"] = json!("c2");
    send["project_id"] = json!(session(9));
    let told = bench.ask("v1.message.send", send.clone()).await;
    assert_eq!(told.unwrap_err(), "project.not_found");
    // Sent again, it is the message that is there, also where the folder is not open any more.
    send["client_id"] = json!("c1");
    let again = bench.ask("v1.message.send", send).await.unwrap();
    assert_eq!(again["result"], sent["result"]);
}
