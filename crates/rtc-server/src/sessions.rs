//! `sessions list` and `sessions show`.

use anyhow::Result;
use rtc_app::{App, Options};
use rtc_types::{ContentData, MessageRole, Session, SessionId};
use serde_json::json;

use crate::args::{AppArgs, ListForm, SessionsCommand};
use crate::console::Console;
use crate::exit::{Exit, UsageError};
use crate::show;

pub(crate) async fn run(app: &AppArgs, command: SessionsCommand, console: &Console) -> Result<Exit> {
    let options = Options {
        data: app.data.clone(),
        config: app.config.clone(),
        model: None,
        ..Options::default()
    };
    let app = App::open(options).await?;
    match command {
        SessionsCommand::List { output } => list(&app, output, console).await?,
        SessionsCommand::Show { id, output } => show(&app, id, output, console).await?,
    }
    app.shut_down();
    Ok(Exit::Completed)
}

async fn list(app: &App, output: ListForm, console: &Console) -> Result<()> {
    let sessions = app.engine().sessions().await?;
    match output {
        ListForm::Json => console.result(&serde_json::to_string(&sessions)?),
        ListForm::Text if sessions.is_empty() => console.note("There are no sessions yet."),
        ListForm::Text => {
            for session in &sessions {
                console.result(&line(session));
            }
        }
    }
    Ok(())
}

fn line(session: &Session) -> String {
    format!(
        "{}  {}  {}",
        session.id,
        session.updated_at.strftime("%Y-%m-%d %H:%M"),
        session.title
    )
}

async fn show(app: &App, id: SessionId, output: ListForm, console: &Console) -> Result<()> {
    let engine = app.engine();
    let session = engine.session(id).await?.ok_or_else(|| UsageError(unknown(id)))?;
    let messages = engine.messages(id).await?;
    if output == ListForm::Json {
        let turns = engine.turns(id).await?;
        let rtcs = engine.rtcs(id).await?;
        let whole = json!({
            "session": session.entity,
            "turns": turns.iter().map(|stored| &stored.entity).collect::<Vec<_>>(),
            "messages": messages.iter().map(|stored| &stored.entity).collect::<Vec<_>>(),
            "rtcs": rtcs.iter().map(|stored| &stored.entity).collect::<Vec<_>>(),
        });
        console.result(&serde_json::to_string(&whole)?);
        return Ok(());
    }
    console.result(&line(&session.entity));
    for message in &messages {
        let text = match message.entity.content.parse() {
            Some(ContentData::Text(text)) => format!("> {}", text.replace('\n', "\n> ")),
            Some(ContentData::Markdown(text)) => text,
            Some(ContentData::Thinking(text)) if !text.is_empty() => format!("(thinking) {text}"),
            Some(ContentData::ToolcallInput(call)) => {
                format!("● {} {}", call.tool_name, show::target(&call.input))
            }
            Some(ContentData::ToolcallOutput(call)) => indent(call.output.as_deref().unwrap_or_default()),
            Some(ContentData::Error(error)) => format!("! {}: {}", error.title, error.message),
            _ => continue,
        };
        if message.entity.role == MessageRole::User {
            console.result("");
        }
        console.result(&text);
    }
    Ok(())
}

pub(crate) fn unknown(id: SessionId) -> String {
    format!("there is no session {id}; `rtc-headless sessions list` shows those there are")
}

fn indent(text: &str) -> String {
    text.lines()
        .map(|line| format!("    {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}
