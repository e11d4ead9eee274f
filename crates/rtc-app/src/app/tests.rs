//! A turn over a store that fails at each commit: whatever had been committed, after a restart the turn ends as if
//! nothing had happened.

#![allow(clippy::disallowed_methods, reason = "tests make and look at files")]

use std::collections::BTreeMap;
use std::time::Duration;

use rtc_engine::{NewSession, Send};
use rtc_realtime::{Caller, ConnectionId, Scopes};
use rtc_store::{Fault, MemoryStore};
use rtc_types::{ClientId, Code, ContentData, Mode, ProjectId, SessionId};
use serde_json::{Value, json};
use uuid::Uuid;

use super::*;

/// Far more than a turn on three small files takes.
const BOUND: Duration = Duration::from_secs(60);
/// How long a turn over a failing store may be silent before it is taken for crashed.
const CRASH: Duration = Duration::from_millis(300);
const REQUEST: &str = "list the files, find *.txt, then replace `a` by `aa` everywhere";

struct Place {
    folder: tempfile::TempDir,
    identity: Identity,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        data::make(&root).unwrap();
        for (name, text) in [
            ("one.txt", "a b a\n"),
            ("two.txt", "x\r\na\r\n"),
            ("none.md", "b\n"),
        ] {
            std::fs::write(root.join(name), text).unwrap();
        }
        let data = folder.path().join("data");
        data::make(&data).unwrap();
        let identity = data::identity(&data).unwrap();
        Self { folder, identity }
    }

    async fn open(&self, store: Arc<MemoryStore>) -> App {
        self.open_asking(store, false).await
    }

    async fn open_asking(&self, store: Arc<MemoryStore>, asks_trust: bool) -> App {
        let data = self.folder.path().join("data");
        let answering = Answering {
            client_approves: false,
            model: models::choose(&Config::default(), None).unwrap(),
            name: None,
            max_rounds: None,
            patience: Duration::ZERO,
            asks_trust,
        };
        // No script runs here.
        let workers = Workers::new(PathBuf::new());
        App::assemble(
            store,
            self.identity,
            &data,
            Config::default(),
            answering,
            workers,
            None,
        )
        .await
        .unwrap()
    }

    fn files(&self) -> BTreeMap<String, String> {
        std::fs::read_dir(self.folder.path().join("project"))
            .unwrap()
            .map(|entry| {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                (name, std::fs::read_to_string(path).unwrap())
            })
            .collect()
    }
}

fn session() -> SessionId {
    SessionId::new(Uuid::from_u128(7))
}

/// Sends the request (which is the same however often it is sent) and waits until the session is idle or the store
/// is gone, for which it waits no longer than `patience`.
async fn drive(place: &Place, app: &App, patience: Duration) -> Result<(), String> {
    let project = app
        .open_project(&place.folder.path().join("project"))
        .await
        .map_err(|error| error.to_string())?;
    let engine = app.engine();
    let mut position = engine.position();
    let mut live = engine.live();
    let send = Send {
        client_id: ClientId::new("message-1").unwrap(),
        text: REQUEST.into(),
        scenarios: Vec::new(),
        new_session: NewSession {
            id: session(),
            client_id: ClientId::new("session-1").unwrap(),
            user: app.user(),
            device: app.device(),
            project: Some(project.id),
            mode: Mode::Bypass,
            agent_prompt: None,
            parent: None,
        },
    };
    engine.send(send).await.map_err(|error| error.to_string())?;
    loop {
        position.borrow_and_update();
        if engine
            .wake(session())
            .await
            .map_err(|error| error.to_string())?
            .is_idle()
        {
            return Ok(());
        }
        tokio::select! {
            changed = position.changed() => changed.map_err(|error| error.to_string())?,
            trouble = live.recv() => if let Ok(rtc_engine::Live::Trouble { message, .. }) = trouble {
                return Err(message);
            },
            // The executor offers a result again after a second; that is after the crash.
            () = tokio::time::sleep(patience) => return Err("the store is gone".into()),
        }
    }
}

/// Lets go on what a crash left, and waits until nothing is left. Gives whether there is a session at all.
async fn go_on(app: &App) -> bool {
    let engine = app.engine();
    let mut position = engine.position();
    app.go_on().await;
    loop {
        position.borrow_and_update();
        if engine.unfinished().await.unwrap().is_empty() {
            return engine.session(session()).await.unwrap().is_some();
        }
        position.changed().await.unwrap();
    }
}

/// The conversation without ids and times, text that broke off left out.
async fn conversation(app: &App) -> Vec<String> {
    let messages = app.engine().messages(session()).await.unwrap();
    let whole = messages
        .iter()
        .filter(|message| message.entity.streaming_status == rtc_types::StreamingStatus::Completed);
    whole
        .map(|message| match message.entity.content.parse().unwrap() {
            ContentData::ToolcallInput(call) => format!("call {} {} {}", call.id, call.tool_name, call.input),
            ContentData::ToolcallOutput(call) => {
                format!(
                    "result {} {:?} {}",
                    call.id,
                    call.status,
                    call.output.unwrap_or_default()
                )
            }
            other => format!("{other:?}"),
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_whose_store_fails_at_any_commit_ends_as_if_nothing_had_happened() {
    let reference = {
        let place = Place::new();
        let store = Arc::new(MemoryStore::new());
        let app = place.open(store.clone()).await;
        tokio::time::timeout(BOUND, drive(&place, &app, BOUND))
            .await
            .unwrap()
            .unwrap();
        (store.commits(), place.files(), conversation(&app).await)
    };
    let (commits, files, said) = reference;
    assert_eq!(files["one.txt"], "aa b aa\n");
    assert!(commits > 15, "{commits}");
    for nth in 1..=commits {
        for fault in [Fault::BeforeApply, Fault::AfterApply] {
            let place = Place::new();
            let store = Arc::new(MemoryStore::new());
            store.fail_commit(nth, fault);
            let app = place.open(store.clone()).await;
            // Cut short by a slow machine it is one more crash.
            let _ = tokio::time::timeout(BOUND, drive(&place, &app, CRASH))
                .await
                .unwrap();
            app.shut_down();
            let after = Arc::new(store.crash(0));
            let app = place.open(after).await;
            // Of what had been taken nothing has to be asked for again.
            if tokio::time::timeout(BOUND, go_on(&app)).await.unwrap() {
                assert_eq!(conversation(&app).await, said, "commit {nth}, {fault:?}");
            }
            let ended = tokio::time::timeout(BOUND, drive(&place, &app, BOUND))
                .await
                .unwrap();
            assert_eq!(ended, Ok(()), "commit {nth}, {fault:?}");
            assert_eq!(place.files(), files, "commit {nth}, {fault:?}");
            assert_eq!(conversation(&app).await, said, "commit {nth}, {fault:?}");
        }
    }
}

/// What a client of this device is answered.
async fn call(app: &App, method: &str, data: Value) -> Result<Value, Code> {
    let caller = Caller {
        user: app.user(),
        device: app.device(),
        scopes: Scopes::all(),
        connection: ConnectionId::new(Uuid::nil()),
        approvals: true,
    };
    let answer = app.rpc().call(&caller, method, data).await;
    answer.map_err(|error| error.code)
}

fn message(id: &str, session: &str, project: Option<ProjectId>) -> Value {
    json!({
        "content_data": {"type": "text", "data": "hello"},
        "client_id": id,
        "client_session_id": session,
        "project_id": project,
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_begun_in_a_folder_that_is_not_trusted() {
    let place = Place::new();
    let app = place.open_asking(Arc::new(MemoryStore::new()), true).await;
    let send = "v1.message.send";
    // In the scratch folder there is nothing to trust.
    call(&app, send, message("m-0", "s-0", None)).await.unwrap();
    let project = app
        .open_project(&place.folder.path().join("project"))
        .await
        .unwrap()
        .id;
    for named in [Some(project), None] {
        let answer = call(&app, send, message("m-1", "s-1", named)).await;
        assert_eq!(answer.unwrap_err(), Code::PermissionDenied, "{named:?}");
    }
    assert_eq!(
        app.engine().sessions().await.unwrap().len(),
        1,
        "nothing was begun"
    );
    let trust = |trusted| json!({"project_id": project, "trusted": trusted});
    call(&app, "v1.project.trust", trust(true)).await.unwrap();
    let sent = call(&app, send, message("m-1", "s-1", Some(project)))
        .await
        .unwrap();
    let begun = &sent["result"]["session_id"];
    call(&app, "v1.project.trust", trust(false)).await.unwrap();
    let mut further = message("m-2", "s-1", None);
    further["server_session_id"] = begun.clone();
    let answer = call(&app, send, further).await;
    assert_eq!(
        answer.unwrap_err(),
        Code::PermissionDenied,
        "also not in what was begun before"
    );
}

#[cfg(unix)]
#[test]
fn what_pages_keep_is_for_its_user_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = tempfile::tempdir().unwrap();
    let options = Options {
        data: Some(place.path().join("data")),
        ..Options::default()
    };
    let pages = App::pages_folder(&options).unwrap();
    assert_eq!(
        std::fs::metadata(&pages).unwrap().permissions().mode() & 0o777,
        0o700
    );
    assert_eq!(App::pages_folder(&options).unwrap(), pages);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_was_set_aside_is_told_to_every_page() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    std::fs::create_dir_all(data.join("store")).unwrap();
    std::fs::write(data.join("store/store.json"), "{").unwrap();
    let options = Options {
        data: Some(data.clone()),
        script_worker: Some(folder.path().join("none")),
        ..Options::default()
    };
    let app = App::open(options).await.unwrap();
    let told = app.notice().unwrap().to_owned();
    let entries = std::fs::read_dir(&data).unwrap();
    let mut names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let aside = data.join(names.find(|name| name.starts_with("store.damaged-")).unwrap());
    assert!(told.contains(&aside.display().to_string()), "{told}");
    assert_eq!(std::fs::read(aside.join("store.json")).unwrap(), b"{");
    let mut live = app.engine().live();
    for _ in 0..2 {
        call(&app, "v1.models.list", json!({})).await.unwrap();
        let event = live.recv().await.unwrap();
        assert!(
            matches!(&event, rtc_engine::Live::Trouble { code: Code::StoreDamaged, message, .. } if *message == told),
            "{event:?}"
        );
    }
    app.shut_down();
}
