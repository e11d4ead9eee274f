//! `sessions list` and `sessions show`.

use std::collections::HashMap;

use anyhow::Result;
use rtc_app::{App, Options};
use rtc_types::{
    Code, ContentData, Message, MessageId, MessageRole, Session, SessionId, TurnId, UserMessage,
};
use rtc_wire::rpc::SessionGet;
use serde_json::json;

use crate::args::{AppArgs, ListForm, SessionsCommand};
use crate::console::{Console, printable};
use crate::desk::{Desk, Error, Wanted};
use crate::exit::{Exit, UsageError};
use crate::show;

pub(crate) async fn run(app: &AppArgs, command: SessionsCommand, console: &Console) -> Result<Exit> {
    let options = Options {
        data: app.data.clone(),
        config: app.config.clone(),
        ..Options::default()
    };
    // Whoever only looks makes no data folder.
    if !App::has_data(&options).await? {
        return match command {
            SessionsCommand::List { output } => list(&[], output, console),
            SessionsCommand::Show { id, .. } => Err(UsageError(unknown(&id)).into()),
        };
    }
    let desk = Desk::open(app, Wanted::default()).await?;
    let exit = match command {
        SessionsCommand::List { output } => list(&desk.sessions().await?, output, console),
        SessionsCommand::Show { id, output } => {
            let session = find(&desk, &id).await?;
            show(&desk, &session, output, console).await
        }
    };
    desk.close();
    exit
}

fn list(sessions: &[Session], output: ListForm, console: &Console) -> Result<Exit> {
    match output {
        ListForm::Json => console.result(&serde_json::to_string(sessions)?),
        ListForm::Text if sessions.is_empty() => console.note("There are no sessions yet."),
        ListForm::Text => {
            for session in sessions {
                console.result(&line(session));
            }
        }
    }
    Ok(Exit::Completed)
}

/// The session with this id, or the one whose id begins so.
pub(crate) async fn find(desk: &Desk, named: &str) -> Result<Session> {
    let session_id = match named.parse::<SessionId>() {
        Ok(id) => id,
        Err(_) => {
            let sessions = desk.sessions().await?;
            let ids: Vec<SessionId> = sessions.iter().map(|session| session.id).collect();
            beginning(&ids, named)?
        }
    };
    match desk.call(SessionGet { session_id }).await {
        Ok(found) => Ok(found.item),
        Err(error) => Err(match error.downcast_ref() {
            Some(Error::Refused(refused)) if refused.code == Code::SessionNotFound => {
                UsageError(unknown(named)).into()
            }
            _ => error,
        }),
    }
}

/// The one id that begins so.
fn beginning(ids: &[SessionId], named: &str) -> Result<SessionId> {
    let begin = named.to_lowercase();
    let found: Vec<&SessionId> = ids
        .iter()
        .filter(|id| id.to_string().starts_with(&begin))
        .collect();
    match found.as_slice() {
        _ if begin.is_empty() => Err(UsageError(unknown(named)).into()),
        [] => Err(UsageError(unknown(named)).into()),
        [only] => Ok(**only),
        several => Err(UsageError(format!(
            "{} sessions begin with `{named}`; write more of the id, as `rtc-headless sessions list` shows it",
            several.len()
        ))
        .into()),
    }
}

fn line(session: &Session) -> String {
    format!(
        "{}  {}  {}",
        session.id,
        session.updated_at.strftime("%Y-%m-%d %H:%M"),
        // One line, which steers no terminal, also where it goes through a pipe first.
        printable(&session.title.replace('\n', " "))
    )
}

async fn show(desk: &Desk, session: &Session, output: ListForm, console: &Console) -> Result<Exit> {
    let messages = desk.messages(session.id).await?;
    if output == ListForm::Json {
        let whole = json!({
            "session": session,
            "turns": desk.turns(session.id).await?,
            "messages": messages,
            "rtcs": desk.rtcs(session.id).await?,
        });
        console.result(&serde_json::to_string(&whole)?);
        return Ok(Exit::Completed);
    }
    console.result(&line(session));
    for message in in_order(messages) {
        let text = match message.content.parse() {
            Some(ContentData::Text(text)) => quoted(&text),
            Some(ContentData::UserMessage(message)) => with_scenarios(&message),
            Some(ContentData::Markdown(text)) => text,
            Some(ContentData::Thinking(text)) if !text.is_empty() => format!("(thinking) {text}"),
            Some(ContentData::ToolcallInput(call)) => {
                format!("● {} {}", call.tool_name, show::target(&call.input))
            }
            Some(ContentData::ToolcallOutput(call)) => indent(call.output.as_deref().unwrap_or_default()),
            Some(ContentData::Error(error)) => format!("! {}: {}", error.title, error.message),
            _ => continue,
        };
        if message.role == MessageRole::User {
            console.result("");
        }
        console.result(&text);
        if message.role == MessageRole::User && message.turn_id.is_none() {
            console.result("(waits for the next turn)");
        }
    }
    Ok(Exit::Completed)
}

/// Messages as one reads them: turns in the order in which they took over what the user said, a result after its call,
/// and last what still waits for a turn.
fn in_order(messages: Vec<Message>) -> Vec<Message> {
    let mut begins: HashMap<TurnId, u32> = HashMap::new();
    for message in &messages {
        if let (Some(turn), MessageRole::User) = (message.turn_id, message.role) {
            let first = begins.entry(turn).or_insert(message.global_offset);
            *first = message.global_offset.min(*first);
        }
    }
    let calls: HashMap<MessageId, (u32, u32)> = messages
        .iter()
        .map(|message| (message.id, (message.turn_offset, message.global_offset)))
        .collect();
    let place = |message: &Message| {
        let own = (message.turn_offset, message.global_offset);
        let begins = message.turn_id.and_then(|turn| begins.get(&turn).copied());
        let is_result = matches!(message.content.parse(), Some(ContentData::ToolcallOutput(_)));
        let call = message.parent_message_id.filter(|_| is_result);
        let after = call.and_then(|call| calls.get(&call).copied()).unwrap_or(own);
        (begins.unwrap_or(message.global_offset), after, own)
    };
    let mut placed: Vec<_> = messages
        .into_iter()
        .map(|message| (place(&message), message))
        .collect();
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, message)| message).collect()
}

fn quoted(text: &str) -> String {
    format!("> {}", text.replace('\n', "\n> "))
}

/// What the user typed, if anything, and the titles of what came with it.
fn with_scenarios(message: &UserMessage) -> String {
    let mut lines = Vec::new();
    if !message.text.is_empty() {
        lines.push(quoted(&message.text));
    }
    let scenarios = message.scenarios.iter();
    let titles: Vec<String> = scenarios
        .map(|scenario| scenario.title.replace('\n', " "))
        .collect();
    if !titles.is_empty() {
        lines.push(format!("(with scenarios: {})", titles.join(", ")));
    }
    lines.join("\n")
}

fn unknown(named: &str) -> String {
    format!("there is no session {named}; `rtc-headless sessions list` shows those there are")
}

fn indent(text: &str) -> String {
    text.lines()
        .map(|line| format!("    {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_beginning_of_an_id_is_enough_where_it_is_one_session_s() {
        let ids: Vec<SessionId> = [
            "01890000-0000-7000-8000-00000000000a",
            "01890000-0000-7000-8000-00000000000b",
            "01990000-0000-7000-8000-000000000000",
        ]
        .map(|id| id.parse().unwrap())
        .to_vec();
        let told = |named: &str| match beginning(&ids, named) {
            Ok(id) => id.to_string(),
            Err(error) => error.to_string(),
        };
        let named = [
            "0199",
            "01890000-0000-7000-8000-00000000000B",
            "0189",
            "02",
            "",
            "the-last-one",
        ];
        let told: Vec<String> = named
            .iter()
            .map(|named| format!("{named}: {}", told(named)))
            .collect();
        insta::assert_snapshot!(told.join("\n"), @"
        0199: 01990000-0000-7000-8000-000000000000
        01890000-0000-7000-8000-00000000000B: 01890000-0000-7000-8000-00000000000b
        0189: 2 sessions begin with `0189`; write more of the id, as `rtc-headless sessions list` shows it
        02: there is no session 02; `rtc-headless sessions list` shows those there are
        : there is no session ; `rtc-headless sessions list` shows those there are
        the-last-one: there is no session the-last-one; `rtc-headless sessions list` shows those there are
        ");
    }

    /// A message: its id, who speaks, its content, the turn that took it, its place there and in the session, its call.
    fn message(
        id: u8,
        role: &str,
        content: &Value,
        (turn, turn_offset, global_offset): (Option<u8>, u32, u32),
        call: Option<u8>,
    ) -> Message {
        let uuid = |number: u8| format!("01890000-0000-7000-8000-{number:012}");
        serde_json::from_value(json!({
            "id": uuid(id), "client_id": null, "session_id": uuid(0), "turn_id": turn.map(uuid),
            "parent_message_id": call.map(uuid), "global_offset": global_offset, "turn_offset": turn_offset,
            "role": role, "content": content.to_string(), "streaming_status": "completed", "creator_kind": "user",
            "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
        }))
        .unwrap()
    }

    #[test]
    fn answers_stand_beneath_what_they_answer() {
        let said = |text: &str| json!({"type": "text", "data": text});
        let call = |id: &str| json!({"type": "toolcall_input", "data": {"id": id, "tool_name": "read", "input": "{}"}});
        let result = |id: &str| {
            let data =
                json!({"id": id, "tool_name": "read", "input": "{}", "output": id, "status": "completed"});
            json!({"type": "toolcall_output", "data": data})
        };
        // Said while the first turn ran, which then went on; the third one still waits.
        let messages = vec![
            message(1, "user", &said("one"), (Some(101), 0, 1), None),
            message(2, "assistant", &call("a"), (Some(101), 1, 2), None),
            message(3, "assistant", &call("b"), (Some(101), 2, 3), None),
            message(4, "user", &said("two"), (Some(102), 0, 4), None),
            message(5, "user", &said("three"), (None, 0, 5), None),
            message(6, "tool", &result("b"), (Some(101), 3, 6), Some(3)),
            message(7, "tool", &result("a"), (Some(101), 4, 7), Some(2)),
            message(8, "assistant", &said("done one"), (Some(101), 5, 8), None),
            message(9, "assistant", &said("done two"), (Some(102), 1, 9), None),
        ];
        let order: Vec<u32> = in_order(messages)
            .iter()
            .map(|message| message.global_offset)
            .collect();
        assert_eq!(order, [1, 2, 7, 3, 6, 8, 4, 9, 5]);
    }

    #[test]
    fn scenarios_are_named_beneath_the_text() {
        let message = |text: &str| -> UserMessage {
            let scenario =
                |title: &str| json!({"title": title, "filepath": "/scenarios/a.md", "file_content": "x"});
            serde_json::from_value(json!({"text": text, "scenarios": [scenario("A"), scenario("B\nC")]}))
                .unwrap()
        };
        assert_eq!(
            with_scenarios(&message("a\nb")),
            "> a\n> b\n(with scenarios: A, B C)"
        );
        assert_eq!(with_scenarios(&message("")), "(with scenarios: A, B C)");
    }

    #[test]
    fn a_title_is_one_line_that_steers_nothing() {
        let title = "a\u{1b}[2J\0b\nc\r\u{9b}d";
        assert_eq!(
            printable(&title.replace('\n', " ")),
            "a\u{fffd}[2J\u{fffd}b c\u{fffd}\u{fffd}d"
        );
    }
}
