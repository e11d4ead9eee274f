//! The app with the offline model, as a user sits before it.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use futures::StreamExt;
use rtc_app::{App, Options};
use rtc_engine::{Asked, Command, NewSession, Send};
use rtc_types::{ApprovalDecision, ClientId, ContentData, MessageRole, Mode, ProjectId, SessionId};
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// How long one request may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many conversations go on side by side.
const SIDE_BY_SIDE: usize = 8;

/// Runs checks side by side; gives what those that failed say.
pub(crate) async fn failures(
    checks: impl Iterator<Item = impl Future<Output = Result<(), String>>>,
) -> Vec<String> {
    let ended = futures::stream::iter(checks).buffer_unordered(SIDE_BY_SIDE);
    ended.filter_map(async |ended| ended.err()).collect().await
}

/// An open app with a data folder of its own.
pub(crate) struct Desk {
    app: App,
    _data: tempfile::TempDir,
}

/// A conversation in a folder.
pub(crate) struct Talk<'d> {
    desk: &'d Desk,
    session: SessionId,
    project: ProjectId,
    mode: Mode,
    /// What the user answers to the next questions.
    pub(crate) answers: VecDeque<String>,
    approvals: usize,
}

/// What came of the last request.
pub(crate) struct Ended {
    /// The calls since the conversation began: the tool's name and its pattern or else its path.
    pub(crate) calls: Vec<String>,
    /// How many calls the user was asked to approve, and did.
    pub(crate) approvals: usize,
    /// The last answer.
    pub(crate) answer: String,
}

impl Desk {
    /// Opens the app.
    pub(crate) async fn open() -> Desk {
        let data = tempfile::tempdir().expect("a temporary folder");
        let options = Options {
            data: Some(data.path().join("data")),
            model: Some(rtc_app::OFFLINE.to_owned()),
            script_worker: Some(rtc_tests::binary().to_owned()),
            ..Options::default()
        };
        let app = App::open(options).await.expect("the app opens");
        Desk { app, _data: data }
    }

    /// Begins a conversation in a folder.
    pub(crate) async fn talk(&self, root: &Path, mode: Mode) -> Talk<'_> {
        let project = self.app.open_project(root).await.expect("the folder opens").id;
        Talk {
            desk: self,
            session: SessionId::new(Uuid::now_v7()),
            project,
            mode,
            answers: VecDeque::new(),
            approvals: 0,
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.app.shut_down();
    }
}

impl Talk<'_> {
    /// Says something and waits for the end of the turn.
    pub(crate) async fn ask(&mut self, text: &str) -> Ended {
        let app = &self.desk.app;
        let id = |uuid: Uuid| ClientId::new(uuid.to_string()).expect("a UUID is a client id");
        let message = Send {
            client_id: id(Uuid::now_v7()),
            text: text.to_owned(),
            scenarios: Vec::new(),
            new_session: NewSession {
                id: self.session,
                client_id: id(self.session.uuid()),
                user: app.user(),
                device: app.device(),
                project: Some(self.project),
                mode: self.mode,
                agent_prompt: None,
                parent: None,
            },
        };
        app.engine().send(message).await.expect("the message is taken");
        match tokio::time::timeout(PATIENCE, self.finish()).await {
            Ok(()) => self.ended().await,
            Err(_) => panic!("{text:?} does not end; the calls: {:?}", self.ended().await.calls),
        }
    }

    /// Answers what is asked until the turn is over.
    async fn finish(&mut self) {
        let app = &self.desk.app;
        let mut position = app.engine().position();
        loop {
            position.borrow_and_update();
            let state = app.engine().wake(self.session).await.expect("the lane runs");
            if state.is_idle() {
                return;
            }
            let Some((call, asked)) = state.waits_for_user() else {
                position.changed().await.expect("the engine runs");
                continue;
            };
            let rtc = &call.stored.entity;
            match asked {
                Asked::Approval => {
                    let approve = Command::Approve {
                        rtc: rtc.id,
                        decision: ApprovalDecision::Once,
                        reason: None,
                        device: app.device(),
                    };
                    self.approvals += 1;
                    app.engine()
                        .tell(self.session, approve)
                        .await
                        .expect("the call is approved");
                }
                Asked::Question => {
                    let answer = self.answers.pop_front().expect("a question that is expected");
                    let questions = rtc.parameters["questions"].as_array().expect("questions");
                    let questions = questions
                        .iter()
                        .filter_map(|question| question["question"].as_str());
                    let answers: Map<String, Value> = questions
                        .map(|question| (question.to_owned(), json!(answer)))
                        .collect();
                    let answers = json!({ "answers": answers });
                    app.engine()
                        .answer(rtc.id, answers)
                        .await
                        .expect("the answer is taken");
                }
                Asked::Outcome => panic!("nobody knows how {} ended", rtc.tool_name),
            }
        }
    }

    async fn ended(&self) -> Ended {
        let engine = self.desk.app.engine();
        let calls = engine.rtcs(self.session).await.expect("calls");
        let calls = calls.iter().map(|stored| {
            let rtc = &stored.entity;
            let subject = rtc.parameters.get("pattern").or(rtc.parameters.get("path"));
            match subject.and_then(Value::as_str) {
                Some(subject) => format!("{} {subject}", rtc.tool_name),
                None => rtc.tool_name.clone(),
            }
        });
        let messages = engine.messages(self.session).await.expect("messages");
        let answer = messages
            .iter()
            .rev()
            .map(|stored| &stored.entity)
            .find_map(|message| match (message.role, message.content.parse()) {
                (MessageRole::Assistant, Some(ContentData::Markdown(text))) => Some(text),
                _ => None,
            });
        Ended {
            calls: calls.collect(),
            approvals: self.approvals,
            answer: answer.expect("an answer"),
        }
    }
}
