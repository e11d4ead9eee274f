//! `run`: one turn in the terminal.

use anyhow::{Context as _, Result};
use rtc_app::{App, Models, Options};
use rtc_engine::{Command, Live, NewSession, Send, StoredTurn};
use rtc_types::{ClientId, ContentData, ErrorCategory, Mode, ProjectId, SessionId, TurnStatus};
use serde_json::json;
use tokio::sync::broadcast::error::RecvError;
use uuid::Uuid;

use crate::args::{AppArgs, Ask, OutputForm, RunArgs};
use crate::ask::{AskedFor, Asker};
use crate::console::{Console, Style};
use crate::exit::{Exit, UsageError};
use crate::live::LiveLines;
use crate::show::Show;
use crate::{json, sessions};

/// How many updates are read at a time.
const PAGE: usize = 200;

pub(crate) async fn run(app: &AppArgs, mut args: RunArgs, console: &Console) -> Result<Exit> {
    let prompt = match args.prompt.take() {
        Some(text) if text == "-" => Some(
            console
                .all()
                .await
                .map_err(|error| UsageError(format!("the prompt on stdin cannot be read: {error}")))?,
        ),
        other => other,
    };
    if prompt.as_ref().is_some_and(|prompt| prompt.trim().is_empty()) {
        return Err(UsageError("the prompt is empty; say what is to be done".into()).into());
    }
    if prompt.is_none() && !args.go_on && args.session.is_none() {
        return Err(UsageError("say what is to be done, or --continue".into()).into());
    }
    let options = Options {
        data: app.data.clone(),
        config: app.config.clone(),
        model: args.model.clone(),
        max_rounds: args.max_rounds,
        ..Options::default()
    };
    let app = App::open(options).await?;
    if let Some(hint) = Models::of(app.config()).hint(args.model.as_deref()) {
        console.styled(Style::Faint, &hint);
    }
    let exit = Turn {
        app: &app,
        console,
        args: &args,
    }
    .run(prompt)
    .await;
    app.shut_down();
    exit
}

/// What is shown of a turn, as text and as lines of JSON.
#[derive(Default)]
struct Shown {
    text: Show,
    live: LiveLines,
}

struct Turn<'t> {
    app: &'t App,
    console: &'t Console,
    args: &'t RunArgs,
}

/// Why the loop over updates ended.
enum Ended {
    Idle,
    Stopped,
    Trouble,
}

impl Turn<'_> {
    async fn run(&self, prompt: Option<String>) -> Result<Exit> {
        let project = match &self.args.root {
            Some(root) => Some(self.app.open_project(root).await?.id),
            None => None,
        };
        let known = self.known_session(project).await?;
        if known.is_none() && project.is_none() {
            self.console.styled(
                Style::Faint,
                "No folder is open (--root DIR): working in the scratch folder.",
            );
        }
        let engine = self.app.engine();
        let mut position = engine.position();
        let mut cursor = rtc_engine::Offset(position.borrow_and_update().offset);
        let mut live = engine.live();
        let session = known.unwrap_or_else(|| SessionId::new(Uuid::now_v7()));
        if known.is_some() {
            // First of all, so that what goes on goes on in this mode.
            if let Some(mode) = self.args.mode {
                engine.tell(session, Command::SetMode(mode)).await?;
            }
        }
        // One for the whole turn: a second one would miss what was pressed before it was made. It listens once it was
        // polled, which is before there is anything to stop.
        let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
        tokio::select! {
            biased;
            stopped = &mut interrupt => {
                stopped?;
                return Ok(Exit::Stopped);
            }
            () = std::future::ready(()) => {}
        }
        if let Some(text) = prompt {
            engine.send(self.message(session, project, text)?).await?;
        }
        let ask = self.args.ask.unwrap_or(if self.console.is_interactive() {
            Ask::Prompt
        } else {
            Ask::Deny
        });
        let mut asker = Asker::new(self.console, ask);
        let mut show = Shown::default();
        let mut begun = false;
        let ended = 'turn: loop {
            // Before the state is looked at: what is committed after this line wakes the loop again.
            position.borrow_and_update();
            let state = engine.wake(session).await?;
            // After the state, so that all that led to a question stands above it.
            cursor = self.show_updates(&mut show, cursor).await?;
            if state.is_idle() {
                if !begun {
                    self.tell_nothing_left(session).await?;
                }
                break Ended::Idle;
            }
            begun = true;
            let asked_for = AskedFor::of(&state);
            let answer = {
                let mut answer = std::pin::pin!(asker.ask(asked_for.as_ref()));
                loop {
                    tokio::select! {
                        biased;
                        stopped = &mut interrupt => {
                            stopped?;
                            self.stop(session, &mut show, cursor).await?;
                            break 'turn Ended::Stopped;
                        }
                        answer = &mut answer => break answer,
                        changed = position.changed() => {
                            changed?;
                            cursor = self.show_updates(&mut show, cursor).await?;
                            // A question that still stands goes on being asked.
                            let now = AskedFor::of(&engine.wake(session).await?);
                            if asked_for.is_none() || now != asked_for {
                                continue 'turn;
                            }
                        }
                        () = show.live.due() => {
                            for update in show.live.take_due() {
                                self.console.result(&serde_json::to_string(&update)?);
                            }
                        }
                        trouble = live.recv() => match trouble {
                            Ok(Live::Trouble { session: other, message, .. }) if other == session => {
                                self.console.styled(Style::Warning, &message);
                                break 'turn Ended::Trouble;
                            }
                            Ok(live) => self.show_live(&mut show, &live),
                            Err(RecvError::Lagged(_)) => show.live.lost(),
                            Err(RecvError::Closed) => break 'turn Ended::Trouble,
                        },
                    }
                }
            };
            let Some(asked_for) = &asked_for else { continue };
            // Handed in to the end, whatever happens meanwhile: an answer that was given is not given twice.
            match asker.hand_in(self.app, session, asked_for, answer).await {
                Ok(()) => {}
                // Not a possible answer, or somebody else's was first: look what there is to ask now.
                Err(error) if is_refusal(&error) => {
                    self.console.styled(Style::Warning, &format!("{error:#}"));
                }
                Err(error) => return Err(error),
            }
        };
        if begun
            && matches!(ended, Ended::Idle)
            && self.args.output == OutputForm::Text
            && !show.text.ends_with_answer()
        {
            self.tell_silence(session).await?;
        }
        self.report(session, ended, &asker).await
    }

    fn message(&self, session: SessionId, project: Option<ProjectId>, text: String) -> Result<Send> {
        let id = |uuid: Uuid| ClientId::new(uuid.to_string()).context("a UUID is a client id");
        let mode: Mode = self.args.mode.or(self.app.config().mode).unwrap_or_default();
        Ok(Send {
            client_id: id(Uuid::now_v7())?,
            text,
            new_session: NewSession {
                id: session,
                client_id: id(session.uuid())?,
                user: self.app.user(),
                device: self.app.device(),
                project,
                mode,
                agent_prompt: None,
            },
        })
    }

    /// The session to go on with, if one is asked for.
    async fn known_session(&self, project: Option<ProjectId>) -> Result<Option<SessionId>> {
        let sessions = if self.args.go_on || self.args.session.is_some() {
            self.app.engine().sessions().await?
        } else {
            return Ok(None);
        };
        let of_folder = |of: Option<ProjectId>| project.is_none() || of == project;
        match &self.args.session {
            Some(named) => {
                let id = sessions::find(self.app, named).await?;
                match sessions.iter().find(|session| session.id == id) {
                    Some(session) if !of_folder(session.project_id) => Err(UsageError(format!(
                        "the session {id} works in another folder; leave out --root"
                    ))
                    .into()),
                    _ => Ok(Some(id)),
                }
            }
            None => match sessions.iter().find(|session| of_folder(session.project_id)) {
                Some(session) => Ok(Some(session.id)),
                None => {
                    Err(UsageError("there is no session to continue; begin one with a prompt".into()).into())
                }
            },
        }
    }

    /// Shows what has been committed since the cursor; durable, so nothing is missed however slow the terminal is.
    async fn show_updates(
        &self,
        show: &mut Shown,
        mut cursor: rtc_engine::Offset,
    ) -> Result<rtc_engine::Offset> {
        let text = self.args.output == OutputForm::Text;
        loop {
            let updates = self.app.engine().updates(cursor, PAGE).await?;
            let Some(last) = updates.last() else {
                return Ok(cursor);
            };
            cursor = rtc_engine::Offset(last.offset);
            for update in &updates {
                let answers = show.text.update(self.console, update, !text);
                match self.args.output {
                    OutputForm::Text => answers
                        .iter()
                        .for_each(|answer| self.console.result(&show.text.set_off(answer))),
                    OutputForm::StreamJson => {
                        show.live.update(update);
                        self.console.result(&serde_json::to_string(update)?);
                    }
                    OutputForm::Json => {}
                }
            }
        }
    }

    /// Shows what is not durable.
    fn show_live(&self, show: &mut Shown, live: &Live) {
        match (self.args.output, live) {
            (OutputForm::Text, live) => {
                if let Some((rtc, text)) = live.told() {
                    show.text.told(self.console, rtc, text);
                }
            }
            (
                OutputForm::StreamJson,
                Live::Text {
                    message,
                    thinking,
                    delta,
                    ..
                },
            ) => show.live.piece(*message, *thinking, delta),
            (OutputForm::StreamJson | OutputForm::Json, _) => {}
        }
    }

    async fn stop(&self, session: SessionId, show: &mut Shown, mut cursor: rtc_engine::Offset) -> Result<()> {
        let engine = self.app.engine();
        self.console.styled(Style::Warning, "Stopping …");
        let mut position = engine.position();
        let mut again = std::pin::pin!(tokio::signal::ctrl_c());
        engine.tell(session, Command::Stop).await?;
        loop {
            position.borrow_and_update();
            let idle = engine.wake(session).await?.is_idle();
            // After the state, so that all that led to the end is shown: also what became of a call meanwhile.
            cursor = self.show_updates(show, cursor).await?;
            if idle {
                return Ok(());
            }
            tokio::select! {
                changed = position.changed() => changed?,
                // Whoever presses it twice does not want to wait.
                _ = &mut again => return Ok(()),
            }
        }
    }

    /// What was stopped does not go on by itself.
    async fn tell_nothing_left(&self, session: SessionId) -> Result<()> {
        let turn = self.last_turn(session).await?;
        let told = match turn.map(|turn| turn.entity.status) {
            Some(TurnStatus::Cancelled) => {
                "The last turn was stopped, and does not go on by itself. Say what is to be done: \
                 rtc-headless run \"continue\" --continue"
            }
            _ => "Nothing was left to do in this session.",
        };
        self.console.styled(Style::Faint, told);
        Ok(())
    }

    /// A turn that ends without a word would look as if something was lost.
    async fn tell_silence(&self, session: SessionId) -> Result<()> {
        let turn = self.last_turn(session).await?;
        if turn.is_some_and(|turn| turn.entity.status == TurnStatus::Completed) {
            let silent = "The model ended its turn without an answer.";
            self.console.styled(Style::Faint, silent);
        }
        Ok(())
    }

    async fn report(&self, session: SessionId, ended: Ended, asker: &Asker<'_>) -> Result<Exit> {
        let engine = self.app.engine();
        let turn = self.last_turn(session).await?;
        let turn = turn.as_ref();
        let exit = match ended {
            Ended::Stopped => Exit::Stopped,
            Ended::Trouble => Exit::Failed,
            Ended::Idle => self.exit_of(session, turn, asker).await?,
        };
        if self.args.output != OutputForm::Text {
            let messages = engine.messages(session).await?;
            let rtcs = engine.rtcs(session).await?;
            let stored = engine.session(session).await?.context("the session is stored")?;
            let result = json::result(&stored.entity, turn, &messages, &rtcs);
            let line = match self.args.output {
                OutputForm::StreamJson => json!({ "result": result }),
                OutputForm::Text | OutputForm::Json => result,
            };
            self.console.result(&serde_json::to_string(&line)?);
        }
        Ok(exit)
    }

    /// The turn that spoke last; ids do not tell where the clock was set back.
    async fn last_turn(&self, session: SessionId) -> Result<Option<StoredTurn>> {
        let engine = self.app.engine();
        let last = engine
            .messages(session)
            .await?
            .into_iter()
            .rev()
            .find_map(|message| message.entity.turn_id);
        Ok(engine
            .turns(session)
            .await?
            .into_iter()
            .find(|turn| Some(turn.entity.id) == last))
    }

    async fn exit_of(
        &self,
        session: SessionId,
        turn: Option<&StoredTurn>,
        asker: &Asker<'_>,
    ) -> Result<Exit> {
        Ok(match turn.map(|turn| turn.entity.status) {
            Some(TurnStatus::Failed) => match self.last_error(session).await? {
                Some(ErrorCategory::Budget) => Exit::Budget,
                Some(
                    ErrorCategory::Api
                    | ErrorCategory::Network
                    | ErrorCategory::Permission
                    | ErrorCategory::Stream,
                ) => Exit::Model,
                _ => Exit::Failed,
            },
            Some(TurnStatus::Cancelled) => Exit::Stopped,
            _ if asker.denied => Exit::Denied,
            _ if asker.unanswered => Exit::Unanswered,
            _ => Exit::Completed,
        })
    }

    async fn last_error(&self, session: SessionId) -> Result<Option<ErrorCategory>> {
        let messages = self.app.engine().messages(session).await?;
        Ok(messages
            .iter()
            .rev()
            .find_map(|message| match message.entity.content.parse() {
                Some(ContentData::Error(error)) => Some(error.category),
                _ => None,
            }))
    }
}

/// Whether the engine did not take an answer, rather than failed at it.
fn is_refusal(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(rtc_engine::Error::Refused { .. }))
}
