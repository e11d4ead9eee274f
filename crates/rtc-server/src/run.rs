//! `run`: one turn in the terminal. Whether the engine is in this process or in another one makes no difference to what
//! is shown; a connection that breaks off is made again, and the run goes on where it was.

mod follow;
mod report;

use std::future::Future;
use std::io;
use std::pin::Pin;

use anyhow::{Context as _, Result};
use rtc_realtime::Position;
use rtc_types::{ClientId, ProjectId, SessionId};
use rtc_wire::rpc::{ProjectRecent, SessionGet, SessionSetMode};
use tokio::sync::watch;
use uuid::Uuid;

use crate::args::{AppArgs, Ask, RunArgs};
use crate::ask::Asker;
use crate::console::{Console, Style};
use crate::desk::{Desk, Error, Live, NewMessage, Wanted};
use crate::exit::{Exit, UsageError};
use crate::live::LiveLines;
use crate::sessions;
use crate::show::Show;
use crate::view::View;

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
    let ask = args.ask.unwrap_or(if console.is_interactive() {
        Ask::Prompt
    } else {
        Ask::Deny
    });
    let wanted = Wanted {
        model: args.model.clone(),
        max_rounds: args.max_rounds,
        shared: ask == Ask::Wait,
    };
    let desk = Desk::open(app, wanted).await?;
    if let Some(hint) = desk.hint() {
        console.styled(Style::Faint, &hint);
    }
    let turn = Turn {
        desk: &desk,
        console,
        args: &args,
    };
    let exit = turn.run(prompt, Asker::new(console, ask)).await;
    desk.close();
    exit
}

struct Turn<'t> {
    desk: &'t Desk,
    console: &'t Console,
    args: &'t RunArgs,
}

/// How far a run is. What was done is not done again after a connection broke off.
struct Course<'c> {
    asker: Asker<'c>,
    interrupts: Interrupts,
    /// What is to be sent.
    message: Option<NewMessage>,
    /// What has begun, once it has.
    begun: Option<Begun>,
    ears: Option<Ears>,
    /// Where the stream stood before anything was done.
    start: Option<Position>,
    /// The user wants it to stop.
    is_stopping: bool,
    /// Something has gone on since this run began.
    went_on: bool,
    ended: Option<Ended>,
}

/// The session of a run, and what was seen of it.
struct Begun {
    view: View,
    /// What there was before this run began is known.
    is_looked_at: bool,
    /// Up to where updates were shown.
    cursor: Position,
    text: Show,
    live: LiveLines,
}

/// What wakes a run.
struct Ears {
    position: watch::Receiver<Position>,
    live: Live,
}

/// Why nothing is followed any longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Idle,
    Stopped,
    Trouble,
}

/// Ctrl-C. It is listened for once it was waited for, and from then on: what was pressed meanwhile is not missed.
struct Interrupts(Pin<Box<dyn Future<Output = io::Result<()>> + Send>>);

impl Interrupts {
    fn new() -> Self {
        Self(Box::pin(tokio::signal::ctrl_c()))
    }

    /// Waits until it is pressed.
    async fn pressed(&mut self) -> io::Result<()> {
        let pressed = self.0.as_mut().await;
        *self = Self::new();
        pressed
    }

    /// Whether it was pressed already.
    async fn is_pressed(&mut self) -> io::Result<bool> {
        tokio::select! {
            biased;
            pressed = self.pressed() => pressed.map(|()| true),
            () = std::future::ready(()) => Ok(false),
        }
    }
}

impl Turn<'_> {
    async fn run(&self, prompt: Option<String>, asker: Asker<'_>) -> Result<Exit> {
        let message = match prompt {
            Some(text) => Some(NewMessage {
                client_id: ClientId::new(Uuid::now_v7().to_string()).context("a UUID is a client id")?,
                text,
                session: None,
                project: None,
                mode: self.args.mode,
            }),
            None => None,
        };
        let mut course = Course {
            asker,
            interrupts: Interrupts::new(),
            went_on: message.is_some(),
            message,
            begun: None,
            ears: None,
            start: None,
            is_stopping: false,
            ended: None,
        };
        loop {
            match self.go_on(&mut course).await {
                Err(error) if Error::is_lost(&error) => self.come_back(&mut course).await?,
                ended => return ended,
            }
        }
    }

    /// Goes on from wherever the course is, to the end.
    async fn go_on(&self, course: &mut Course<'_>) -> Result<Exit> {
        let mut begun = match course.begun.take() {
            Some(begun) => begun,
            None => match self.begin(course).await? {
                Some(begun) => begun,
                None => return Ok(Exit::Stopped),
            },
        };
        let ended = self.to_the_end(course, &mut begun).await;
        let session = course.begun.insert(begun).view.session();
        let report = self.report(session, ended?, &course.asker);
        tokio::select! {
            report = report => report,
            // An engine that does not answer keeps nobody who wants to go.
            pressed = course.interrupts.pressed() => pressed.map(|()| Exit::Stopped).map_err(Into::into),
        }
    }

    async fn to_the_end(&self, course: &mut Course<'_>, begun: &mut Begun) -> Result<Ended> {
        if !begun.is_looked_at {
            begun.view.look(self.desk, course.went_on).await?;
            begun.is_looked_at = true;
        }
        if let Some(ended) = course.ended {
            return Ok(ended);
        }
        let ended = self.follow(course, begun).await?;
        if course.went_on && ended == Ended::Idle {
            self.tell_silence(begun).await?;
        }
        course.ended = Some(ended);
        Ok(ended)
    }

    /// Finds or makes the session and sends the message; nothing if the user stopped it before that.
    async fn begin(&self, course: &mut Course<'_>) -> Result<Option<Begun>> {
        let project = match &self.args.root {
            Some(root) => Some(self.desk.open_project(root).await?.id),
            None => None,
        };
        let known = self.known_session(project).await?;
        if known.is_none() && project.is_none() && !self.desk.is_shared() {
            self.console.styled(
                Style::Faint,
                "No folder is open (--root DIR): working in the scratch folder.",
            );
        }
        // Before anything is done, so that all that comes of it is heard.
        let ears = course.ears.get_or_insert_with(|| Ears::of(self.desk));
        let start = || ears.position.borrow().clone();
        let cursor = course.start.get_or_insert_with(start).clone();
        if let Some(session_id) = known {
            // First of all, so that what goes on goes on in this mode.
            if let Some(mode) = self.args.mode {
                self.desk.call(SessionSetMode { session_id, mode }).await?;
            }
        }
        if course.interrupts.is_pressed().await? {
            return Ok(None);
        }
        let session = match (&course.message, known) {
            (Some(message), known) => {
                let message = NewMessage {
                    session: known,
                    project,
                    ..message.clone()
                };
                self.desk.send(message).await?
            }
            (None, Some(known)) => {
                self.desk.wake(known).await?;
                known
            }
            (None, None) => return Err(UsageError("say what is to be done".into()).into()),
        };
        if known.is_none() && project.is_none() && self.desk.is_shared() {
            self.tell_folder(session).await?;
        }
        Ok(Some(Begun {
            view: View::new(self.desk, session).await?,
            is_looked_at: known.is_none(),
            cursor,
            text: Show::default(),
            live: LiveLines::default(),
        }))
    }

    /// Without a folder of its own a new session works where the running engine lets it.
    async fn tell_folder(&self, session_id: SessionId) -> Result<()> {
        let project = self.desk.call(SessionGet { session_id }).await?.item.project_id;
        let recent = ProjectRecent {
            limit: rtc_wire::rpc::Bounded::new(u64::from(rtc_wire::rpc::MAX_PAGE)),
        };
        let known = self.desk.call(recent).await?.items;
        let folder = known.into_iter().find(|known| Some(known.id) == project);
        let told = match folder {
            Some(folder) => format!(
                "No folder is named (--root DIR): working in {}, which the running engine serves.",
                folder.root
            ),
            None => "No folder is open (--root DIR): working in the scratch folder.".to_owned(),
        };
        self.console.styled(Style::Faint, &told);
        Ok(())
    }

    /// Looks for the engine again after the connection broke off.
    async fn come_back(&self, course: &mut Course<'_>) -> Result<()> {
        course.asker.give_up();
        self.console.styled(
            Style::Warning,
            "The connection to the running engine broke off; looking for it …",
        );
        tokio::select! {
            biased;
            pressed = course.interrupts.pressed() => {
                pressed?;
                return Err(Error::Gone.into());
            }
            found = self.desk.come_back() => found?,
        }
        self.console.styled(Style::Faint, "It is there again.");
        course.ears = Some(Ears::of(self.desk));
        if let Some(begun) = &mut course.begun {
            // What was told meanwhile is missed.
            begun.live.lost();
        }
        Ok(())
    }

    /// The session to go on with, if one is asked for.
    async fn known_session(&self, project: Option<ProjectId>) -> Result<Option<SessionId>> {
        let of_folder = |of: Option<ProjectId>| project.is_none() || of == project;
        if let Some(named) = &self.args.session {
            let session = sessions::find(self.desk, named).await?;
            if !of_folder(session.project_id) {
                return Err(UsageError(format!(
                    "the session {} works in another folder; leave out --root",
                    session.id
                ))
                .into());
            }
            return Ok(Some(session.id));
        }
        if !self.args.go_on {
            return Ok(None);
        }
        let sessions = self.desk.sessions().await?;
        match sessions.iter().find(|session| of_folder(session.project_id)) {
            Some(session) => Ok(Some(session.id)),
            None => Err(UsageError("there is no session to continue; begin one with a prompt".into()).into()),
        }
    }
}

impl Ears {
    fn of(desk: &Desk) -> Self {
        Self {
            position: desk.position(),
            live: desk.live(),
        }
    }
}
