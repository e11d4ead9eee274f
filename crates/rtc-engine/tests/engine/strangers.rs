//! Whoever asks for what is not theirs, or answers too late: each method of the table tells so by its code, and changes
//! nothing.

use std::sync::Arc;

use rtc_engine::{Command, Keys, SessionState};
use rtc_realtime::Caller;
use rtc_store::{Entry, Key, Position, Store as _};
use rtc_types::{Mode, RtcId, UserId};
use rtc_wire::rpc::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::bench::*;
use crate::rpc::{caller, sending};

/// Another device of the user than that of the session.
const ELSEWHERE: u128 = 9;
/// Another user.
const STRANGER: u128 = 8;
/// The device of the session; it runs its calls itself.
const REMOTE: u128 = 3;

/// One of each kind that somebody has.
pub(crate) struct Things {
    session: Value,
    message: Value,
    turn: Value,
    rtc: RtcId,
}

impl Bench {
    /// What there is, once nothing goes on any more but a call of this device.
    pub(crate) async fn things(&self) -> Things {
        let rtc = self.first_call().await;
        let turns = self.engine.turns(session(1)).await.unwrap();
        let messages = self.engine.messages(session(1)).await.unwrap();
        Things {
            session: json!(session(1)),
            message: json!(messages[0].entity.id),
            turn: json!(turns[0].entity.id),
            rtc,
        }
    }

    /// Every key with its value and commit, how often a commit was asked for, and where the users' streams stand.
    async fn everything(&self) -> (Vec<(Key, Entry)>, u64, Vec<Position>) {
        let all = self
            .store
            .scan(&Key::from(Vec::new()), None, 10_000)
            .await
            .unwrap();
        let mut positions = Vec::new();
        for user in [1, STRANGER] {
            let topic = Keys::new(UserId::new(Uuid::from_u128(user))).topic();
            positions.push(self.store.position(&topic).await.unwrap());
        }
        (all, self.store.commits(), positions)
    }
}

/// A session of the remote device with an open call, about which the user is asked in mode `manual`.
async fn with_things(mode: Mode) -> (Bench, Things) {
    let bench = bench(vec![one_edit(), says("done")]).await;
    let mut first = message(1, "c1", "edit x", mode);
    first.new_session.device = caller(REMOTE, true).device;
    bench.engine.send(first).await.unwrap();
    let things = bench.things().await;
    (bench, things)
}

/// What is asked of the engine by this method, about these things; nothing, if the engine does not have it.
pub(crate) fn ask(method: Method, things: &Things) -> Option<Value> {
    let Things {
        session,
        message,
        turn,
        rtc,
    } = things;
    Some(match method {
        Method::SessionList => json!({}),
        Method::SessionGet
        | Method::SessionOpen
        | Method::SessionClose
        | Method::HistoryClear
        | Method::MessageList
        | Method::TurnList
        | Method::TurnStop
        | Method::RtcList => json!({ "session_id": session }),
        Method::SessionUpdate => json!({"session_id": session, "title": "mine"}),
        Method::SessionSetMode => json!({"session_id": session, "mode": "bypass"}),
        Method::SessionFork => json!({
            "old_server_session_id": session, "old_server_message_id": message,
            "new_client_session_id": "copy", "new_client_message_id": "c9",
            "content_data": {"type": "text", "data": "again"},
        }),
        Method::MessageSend => {
            let mut send = sending("c9", "more");
            send["server_session_id"] = session.clone();
            send
        }
        Method::MessageGet => json!({ "message_id": message }),
        Method::TurnGet => json!({ "turn_id": turn }),
        Method::RtcGet | Method::RtcPreview | Method::RtcClaim | Method::RtcRenew => json!({ "rtc_id": rtc }),
        Method::RtcUpdateStatus => json!({"rtc_id": rtc, "status": "failed"}),
        Method::RtcSubmitResult => json!({"rtc_id": rtc, "success": true, "result": "mine"}),
        Method::RtcApprove => json!({"rtc_id": rtc, "decision": "project"}),
        Method::RtcResolve => json!({"rtc_id": rtc, "decision": "done"}),
        // The app has these; tests/port asks for them.
        Method::SessionChanges
        | Method::SessionUndo
        | Method::SessionRedo
        | Method::RtcRun
        | Method::ProjectOpen
        | Method::ProjectList
        | Method::ProjectRecent
        | Method::ProjectTrust
        | Method::ProjectClose
        | Method::FsList
        | Method::FsRead
        | Method::FsStat
        | Method::FsFind
        | Method::FsWrite
        | Method::ToolsList
        | Method::ModelsList => return None,
    })
}

/// Whether a method says what became of a call: its device alone does.
fn is_of_its_device(method: Method) -> bool {
    matches!(
        method,
        Method::RtcUpdateStatus | Method::RtcSubmitResult | Method::RtcClaim | Method::RtcRenew
    )
}

/// How far the call is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stands {
    WaitsForYes,
    MayRun,
    Claimed,
    InDoubt,
    Over,
}

impl Stands {
    const ALL: [Self; 5] = [
        Self::WaitsForYes,
        Self::MayRun,
        Self::Claimed,
        Self::InDoubt,
        Self::Over,
    ];
}

/// The things, with their call so far.
async fn standing(stands: Stands) -> (Bench, Things) {
    let mode = match stands {
        Stands::WaitsForYes => Mode::Manual,
        _ => Mode::Bypass,
    };
    let (bench, things) = with_things(mode).await;
    let rtc = things.rtc;
    match stands {
        Stands::WaitsForYes | Stands::MayRun => {}
        Stands::Claimed => {
            bench
                .ask_as(REMOTE, "v1.rtc.claim", json!({ "rtc_id": rtc }))
                .await
                .unwrap();
        }
        Stands::InDoubt => {
            let unknown = Command::OutcomeUnknown {
                rtc,
                evidence: "nobody knows".into(),
            };
            bench.engine.tell(session(1), unknown).await.unwrap();
        }
        Stands::Over => {
            let submit = json!({"rtc_id": rtc, "success": true, "result": "edited"});
            bench
                .ask_as(REMOTE, "v1.rtc.submit_result", submit)
                .await
                .unwrap();
            bench.until(1, SessionState::is_idle).await;
        }
    }
    (bench, things)
}

#[tokio::test]
async fn another_user_finds_nothing_and_changes_nothing() {
    for stands in Stands::ALL {
        let (bench, things) = standing(stands).await;
        let theirs = Bench {
            engine: engine_of(STRANGER, bench.store.clone(), Arc::default(), Arc::default()).await,
            store: bench.store.clone(),
            script: Arc::default(),
        };
        // Of the same device, and of another one.
        for device in [REMOTE, ELSEWHERE] {
            let stranger = Caller {
                user: UserId::new(Uuid::from_u128(STRANGER)),
                ..caller(device, true)
            };
            for &method in Method::ALL {
                let Some(ask) = ask(method, &things) else { continue };
                let before = bench.everything().await;
                let told = theirs.ask_by(&stranger, method.as_str(), ask).await;
                let wanted = match method {
                    Method::SessionList => Ok(json!({"result": {"items": []}})),
                    Method::MessageGet => Err("message.not_found".to_owned()),
                    Method::TurnGet => Err("turn.not_found".to_owned()),
                    _ if method.as_str().starts_with("v1.rtc.") && method != Method::RtcList => {
                        Err("rtc.not_found".to_owned())
                    }
                    _ => Err("session.not_found".to_owned()),
                };
                assert_eq!(told, wanted, "{stands:?}, {method}");
                assert!(
                    bench.everything().await == before,
                    "{stands:?}, {method} changed something"
                );
            }
        }
    }
}

#[tokio::test]
async fn another_device_of_the_user_may_do_all_but_say_what_became_of_a_call() {
    for stands in Stands::ALL {
        let (refuses, things) = standing(stands).await;
        for &method in Method::ALL {
            let Some(asked) = ask(method, &things) else {
                continue;
            };
            if is_of_its_device(method) {
                let before = refuses.everything().await;
                let told = refuses.ask_as(ELSEWHERE, method.as_str(), asked).await;
                assert_eq!(
                    told.unwrap_err(),
                    "auth.permission_denied",
                    "{stands:?}, {method}"
                );
                assert!(
                    refuses.everything().await == before,
                    "{stands:?}, {method} changed something"
                );
                continue;
            }
            // What is allowed changes something: each in a world of its own.
            let (bench, things) = standing(stands).await;
            let asked = ask(method, &things).unwrap();
            let told = bench.ask_as(ELSEWHERE, method.as_str(), asked).await.err();
            let wanted = match (method, stands) {
                (Method::RtcApprove, Stands::WaitsForYes) | (Method::RtcResolve, Stands::InDoubt) => None,
                (Method::RtcApprove, Stands::Over) => Some("approval.closed"),
                (Method::RtcApprove | Method::RtcResolve, _) => Some("rtc.invalid_state"),
                _ => None,
            };
            assert_eq!(told.as_deref(), wanted, "{stands:?}, {method}");
        }
    }
}

/// Why there is nothing to answer any more.
#[derive(Debug, Clone, Copy, PartialEq)]
enum TooLate {
    NeverAsked,
    SaidYes,
    SaidNo,
    HandedIn,
    Stopped,
    Closed,
    Deleted,
    NoSuchCall,
}

async fn too_late(why: TooLate) -> (Bench, Things) {
    let mode = match why {
        TooLate::NeverAsked | TooLate::HandedIn => Mode::Bypass,
        _ => Mode::Manual,
    };
    let (bench, mut things) = with_things(mode).await;
    let (rtc, session) = (things.rtc, json!({"session_id": things.session}));
    let (method, asked) = match why {
        TooLate::NeverAsked => return (bench, things),
        TooLate::NoSuchCall => {
            things.rtc = RtcId::new(Uuid::from_u128(77));
            return (bench, things);
        }
        TooLate::SaidYes => ("v1.rtc.approve", json!({"rtc_id": rtc, "decision": "once"})),
        TooLate::SaidNo => ("v1.rtc.approve", json!({"rtc_id": rtc, "decision": "reject"})),
        TooLate::HandedIn => (
            "v1.rtc.submit_result",
            json!({"rtc_id": rtc, "success": true, "result": "edited"}),
        ),
        TooLate::Stopped => ("v1.turn.stop", session),
        TooLate::Closed => ("v1.session.close", session),
        TooLate::Deleted => {
            let mut deleted = session;
            deleted["deleted_at"] = json!("2026-01-02T03:04:05Z");
            ("v1.session.update", deleted)
        }
    };
    bench.ask_as(REMOTE, method, asked).await.unwrap();
    if why != TooLate::SaidYes {
        bench.until(1, SessionState::is_idle).await;
    }
    (bench, things)
}

#[tokio::test]
async fn an_answer_that_comes_too_late_is_told_so_and_changes_nothing() {
    let all = [
        TooLate::NeverAsked,
        TooLate::SaidYes,
        TooLate::SaidNo,
        TooLate::HandedIn,
        TooLate::Stopped,
        TooLate::Closed,
        TooLate::Deleted,
        TooLate::NoSuchCall,
    ];
    for why in all {
        let (bench, things) = too_late(why).await;
        let rtc = things.rtc;
        let approve = |decision: &str| ("v1.rtc.approve", json!({"rtc_id": rtc, "decision": decision}));
        let mut asks = ["once", "session", "project", "reject", "never"]
            .map(approve)
            .to_vec();
        asks.extend(
            ["retry", "done", "tell"]
                .map(|decision| ("v1.rtc.resolve", json!({"rtc_id": rtc, "decision": decision}))),
        );
        // Of a call that has ended nothing is to be said by those who run it either.
        if !matches!(why, TooLate::NeverAsked | TooLate::SaidYes) {
            for status in ["executing", "timeout"] {
                asks.push(("v1.rtc.update_status", json!({"rtc_id": rtc, "status": status})));
            }
            asks.push((
                "v1.rtc.submit_result",
                json!({"rtc_id": rtc, "success": true, "result": "other"}),
            ));
            for method in ["v1.rtc.claim", "v1.rtc.renew"] {
                asks.push((method, json!({ "rtc_id": rtc })));
            }
        }
        let before = bench.everything().await;
        for (method, asked) in asks {
            let told = bench.ask_as(REMOTE, method, asked.clone()).await;
            let wanted = match (method, why) {
                (_, TooLate::NoSuchCall) => Some("rtc.not_found"),
                ("v1.rtc.approve", TooLate::NeverAsked) => Some("rtc.invalid_state"),
                // The answer that was given: it is as it was asked for.
                ("v1.rtc.approve", TooLate::SaidYes) if asked["decision"] == "once" => None,
                ("v1.rtc.approve", _) => Some("approval.closed"),
                // How it ended is told instead.
                ("v1.rtc.submit_result", _) => None,
                _ => Some("rtc.invalid_state"),
            };
            assert_eq!(
                told.as_ref().err().map(String::as_str),
                wanted,
                "{why:?}, {method} {asked}"
            );
            if method == "v1.rtc.submit_result"
                && let Ok(told) = told
            {
                let call = &told["updates"][0]["data_list"][0];
                assert_eq!(
                    (&call["id"], told["updates"][0]["offset"].as_u64()),
                    (&json!(rtc), Some(0))
                );
                assert_ne!(call["result"], "other");
            }
            assert!(
                bench.everything().await == before,
                "{why:?}, {method} {asked} changed something"
            );
        }
    }
}
