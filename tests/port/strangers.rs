//! Another user, who is not let in, and another device of the user: each method of the table is refused by its code or is
//! one that any device may ask for, and nothing is changed.

use std::time::Duration;

use rtc_app::Installation;
use rtc_realtime::Scopes;
use rtc_tests::Workplace;
use rtc_tests::serving::{Serving, token};
use rtc_types::UserId;
use rtc_wire::rpc::{CallKind, Method};
use serde_json::{Value, json};

use crate::client::{Client, Heard, call};
use crate::follower::{Follower, message};

const ELSEWHERE: &str = "00000000-0000-4000-8000-00000000000c";
const STRANGER: &str = "00000000-0000-4000-8000-0000000000aa";

const NOTES: &str = "chalk\n";

/// A token of this data folder for another user: its command makes none.
fn of_a_stranger(place: &Workplace, serving: &Serving) -> String {
    let data = place.data();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let installation = runtime
        .block_on(Installation::open(Some(data)))
        .expect("the data folder is that of a running engine");
    assert_eq!(json!(installation.user), json!(serving.user()));
    let user: UserId = STRANGER.parse().expect("an id");
    let time = Duration::from_secs(600);
    (installation.tokens).make(user, installation.device, Scopes::all(), time)
}

/// What the user has.
struct Things {
    session: Value,
    message: Value,
    turn: Value,
    rtc: Value,
    project: Value,
}

/// What is asked, so that it would do something if it were allowed.
fn ask(method: Method, things: &Things, folder: &str) -> Value {
    let Things {
        session,
        message: first,
        turn,
        rtc,
        project,
    } = things;
    match method {
        Method::SessionList
        | Method::ProjectList
        | Method::ProjectRecent
        | Method::ToolsList
        | Method::ModelsList => json!({}),
        Method::SessionGet
        | Method::SessionOpen
        | Method::SessionClose
        | Method::HistoryClear
        | Method::MessageList
        | Method::TurnList
        | Method::TurnStop
        | Method::SessionChanges
        | Method::SessionUndo
        | Method::SessionRedo
        | Method::RtcList => json!({ "session_id": session }),
        Method::SessionUpdate => json!({"session_id": session, "title": "mine"}),
        Method::SessionSetMode => json!({"session_id": session, "mode": "bypass"}),
        Method::SessionFork => json!({
            "old_server_session_id": session, "old_server_message_id": first,
            "new_client_session_id": "copy", "new_client_message_id": "m9",
            "content_data": {"type": "text", "data": "again"},
        }),
        Method::MessageSend => {
            let mut send = message("m9", "list the files");
            send["server_session_id"] = session.clone();
            send
        }
        Method::MessageGet => json!({ "message_id": first }),
        Method::TurnGet => json!({ "turn_id": turn }),
        Method::RtcGet | Method::RtcPreview | Method::RtcClaim | Method::RtcRenew | Method::RtcRun => {
            json!({ "rtc_id": rtc })
        }
        Method::RtcUpdateStatus => json!({"rtc_id": rtc, "status": "failed"}),
        Method::RtcSubmitResult => json!({"rtc_id": rtc, "success": true, "result": "mine"}),
        Method::RtcApprove => json!({"rtc_id": rtc, "decision": "project"}),
        Method::RtcResolve => json!({"rtc_id": rtc, "decision": "done"}),
        Method::ProjectOpen => json!({ "path": folder }),
        Method::ProjectTrust => json!({"project_id": project, "trusted": false}),
        Method::ProjectClose => json!({ "project_id": project }),
        Method::FsList => json!({ "project_id": project }),
        Method::FsRead | Method::FsStat => json!({"project_id": project, "path": "/notes.txt"}),
        Method::FsFind => json!({"project_id": project, "pattern": "*"}),
        Method::FsWrite => json!({"project_id": project, "path": "/new.txt", "content": "mine"}),
    }
}

/// What another device of the user is told.
enum Elsewhere {
    /// What is there.
    Told,
    /// It may do that: what comes of it is shown where the engine is tested alone.
    MayDoThat,
    Refused(&'static str),
}

fn elsewhere(method: Method) -> Elsewhere {
    match method {
        Method::RtcUpdateStatus
        | Method::RtcSubmitResult
        | Method::RtcClaim
        | Method::RtcRenew
        | Method::RtcRun
        | Method::ProjectOpen
        | Method::FsList
        | Method::FsRead
        | Method::FsStat
        | Method::FsFind
        | Method::FsWrite
        | Method::SessionUndo
        | Method::SessionRedo => Elsewhere::Refused("auth.permission_denied"),
        Method::ProjectTrust | Method::ProjectClose => Elsewhere::Refused("project.not_found"),
        _ if method.kind() == CallKind::Query => Elsewhere::Told,
        _ => Elsewhere::MayDoThat,
    }
}

/// All that the user is told of it, and what is in the folder.
fn everything(owner: &mut Follower, place: &Workplace, session: &Value) -> Value {
    let of = json!({ "session_id": session });
    let mut all = json!({ "stands at": owner.stands_at() });
    for (method, data) in [
        ("v1.session.list", json!({})),
        ("v1.project.list", json!({})),
        ("v1.project.recent", json!({})),
        ("v1.message.list", of.clone()),
        ("v1.turn.list", of.clone()),
        ("v1.rtc.list", of),
    ] {
        all[method] = owner.rpc(method, data);
    }
    let mut names: Vec<String> = std::fs::read_dir(place.root())
        .expect("the folder is there")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    all["folder"] = json!(names);
    all["notes"] = json!(std::fs::read_to_string(place.root().join("notes.txt")).expect("the file is there"));
    all
}

#[test]
fn another_user_is_not_let_in() {
    let place = Workplace::empty();
    let serving = Serving::start(&place, &[]);
    let token = of_a_stranger(&place, &serving);
    let told = Client::open(serving.port()).connect(&token);
    assert_eq!(told, Heard::Closed(3500, "invalid token".to_owned()));
}

#[test]
fn nothing_is_done_on_this_device_for_another_one() {
    let place = Workplace::empty();
    std::fs::write(place.root().join("notes.txt"), NOTES).expect("a file");
    let second = place.path().join("second");
    std::fs::create_dir(&second).expect("a folder");
    let second = second.to_str().expect("a path that is text");
    let serving = Serving::start(&place, &[]);
    let mut owner = Follower::start(&serving, None);
    let sent = owner.rpc("v1.message.send", message("m1", "run this script: `1 + 1`"));
    let waits = |entity: &Value| entity["approval"]["state"] == "open" && entity["status"] == "sent";
    let call_there = owner.until(waits);
    let session = sent["session_id"].clone();
    owner.until(|entity| entity["id"] == session && entity["status"] != "active");
    let things = Things {
        message: sent["message_id"].clone(),
        turn: call_there["turn_id"].clone(),
        rtc: call_there["id"].clone(),
        project: owner.rpc("v1.project.list", json!({}))["items"][0]["id"].take(),
        session,
    };

    // It shows approvals: to others the call would not be there at all.
    let mut other = Client::open(serving.port());
    let connect = json!({"token": token(&place, &["--device", ELSEWHERE]), "data": {"approvals": true}});
    other.ask(json!({"id": 1, "connect": connect}));
    let before = everything(&mut owner, &place, &things.session);
    for &method in Method::ALL {
        let asked = ask(method, &things, second);
        let told = match elsewhere(method) {
            Elsewhere::MayDoThat => continue,
            Elsewhere::Told => call(&mut other, method.as_str(), asked)
                .map_err(|(code, _)| code)
                .err(),
            Elsewhere::Refused(wanted) => {
                let told = call(&mut other, method.as_str(), asked);
                let code = told.as_ref().err().map(|(code, _)| code.as_str());
                assert_eq!(code, Some(wanted), "{method}: {told:?}");
                None
            }
        };
        assert_eq!(told, None, "{method}");
        assert_eq!(
            everything(&mut owner, &place, &things.session),
            before,
            "{method}"
        );
    }
    // And what was there goes on.
    owner.rpc(
        "v1.rtc.approve",
        json!({"rtc_id": things.rtc, "decision": "once"}),
    );
    owner.turn_is("completed");
}
