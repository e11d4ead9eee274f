//! `changes`, `undo` and `redo`.

use std::fmt::Write as _;

use anyhow::Result;
use rtc_types::{Code, RtcId, SessionId, TurnId};
use rtc_wire::rpc::{
    Bounded, FileChange, FileChangeKind, MAX_PATH, RefusedFile, RpcError, SessionChanges, SessionRedo,
    SessionUndo, Text, TurnChanges, Undone,
};
use serde_json::json;

use crate::args::{AppArgs, ChangesArgs, ListForm, RedoArgs, UndoArgs};
use crate::console::Console;
use crate::desk::{Desk, Error, Wanted};
use crate::exit::{Exit, UsageError};
use crate::sessions;

/// Shows what the calls of a session changed.
pub(crate) async fn changes(app: &AppArgs, args: ChangesArgs, console: &Console) -> Result<Exit> {
    let desk = Desk::open(app, Wanted::default()).await?;
    let shown = async {
        let session = sessions::find(&desk, &args.session).await?.id;
        let turn = match &args.turn {
            Some(named) => Some(turn_named(&desk, session, named).await?),
            None => None,
        };
        let mut turns = desk.changes(session, turn, path(args.file.as_deref())?).await?;
        // The last one stands where one looks first.
        turns.reverse();
        Ok::<_, anyhow::Error>(turns)
    };
    let turns = shown.await;
    desk.close();
    let turns = turns?;
    match args.output {
        ListForm::Json => console.result(&serde_json::to_string(&turns)?),
        ListForm::Text if turns.is_empty() => console.note("No changes of this session are known."),
        ListForm::Text => console.result(text(&turns).trim_end()),
    }
    Ok(Exit::Completed)
}

/// Undoes what calls of a session changed.
pub(crate) async fn undo(app: &AppArgs, args: UndoArgs, console: &Console) -> Result<Exit> {
    let desk = Desk::open(app, Wanted::default()).await?;
    let done = async {
        let session_id = sessions::find(&desk, &args.session).await?.id;
        let rtc_id = match &args.call {
            Some(named) => Some(call_named(&desk, session_id, named).await?),
            None => None,
        };
        let turn_id = match &args.turn {
            Some(named) => Some(turn_named(&desk, session_id, named).await?),
            None => None,
        };
        let ask = SessionUndo {
            session_id,
            rtc_id,
            turn_id,
            path: path(args.file.as_deref())?,
            hunks: args.hunk.clone(),
        };
        desk.call(ask).await
    };
    let done = done.await;
    desk.close();
    tell(done, args.output, console)
}

/// Takes the last undo back.
pub(crate) async fn redo(app: &AppArgs, args: RedoArgs, console: &Console) -> Result<Exit> {
    let desk = Desk::open(app, Wanted::default()).await?;
    let done = async {
        let session_id = sessions::find(&desk, &args.session).await?.id;
        desk.call(SessionRedo { session_id }).await
    };
    let done = done.await;
    desk.close();
    tell(done, args.output, console)
}

fn tell(done: Result<Undone>, output: ListForm, console: &Console) -> Result<Exit> {
    let done = match done {
        Ok(done) => done,
        Err(error) => {
            if let Some(Error::Refused(refused)) = error.downcast_ref()
                && refused.code == Code::FileConflict
            {
                match output {
                    ListForm::Json => console.result(&json!({ "error": refused }).to_string()),
                    ListForm::Text => console.note(three_ways(refused).trim_end()),
                }
            }
            return Err(error);
        }
    };
    match output {
        ListForm::Json => console.result(&serde_json::to_string(&done)?),
        ListForm::Text if done.files.is_empty() => console.note("Everything was as it was before already."),
        ListForm::Text => {
            for file in &done.files {
                console.result(&format!("{:<9} {}", word(file.kind), file.path));
            }
        }
    }
    Ok(Exit::Completed)
}

fn path(named: Option<&str>) -> Result<Option<Text<MAX_PATH>>> {
    let path = named.map(Text::new).transpose();
    path.map_err(|error| UsageError(format!("--file: {error}")).into())
}

async fn turn_named(desk: &Desk, session: SessionId, named: &str) -> Result<TurnId> {
    let turns = desk.turns(session).await?;
    one(turns.iter().map(|turn| turn.id), "turn", named)
}

async fn call_named(desk: &Desk, session: SessionId, named: &str) -> Result<RtcId> {
    let rtcs = desk.rtcs(session).await?;
    one(rtcs.iter().map(|rtc| rtc.id), "call", named)
}

/// The one id with this beginning or, since ids that were made together differ at their end only, this end.
fn one<I: ToString>(ids: impl Iterator<Item = I>, what: &str, named: &str) -> Result<I> {
    let given = named.to_lowercase();
    let fits = |id: &I| {
        let id = id.to_string();
        !given.is_empty() && (id.starts_with(&given) || id.ends_with(&given))
    };
    let mut found: Vec<I> = ids.filter(fits).collect();
    let told = match (found.len(), found.pop()) {
        (1, Some(only)) => return Ok(only),
        (0, _) => format!("the session has no {what} {named}; `rtc-headless changes` shows those there are"),
        (several, _) => {
            format!("{several} ids of a {what} begin or end with `{named}`; write more of the id")
        }
    };
    Err(UsageError(told).into())
}

fn word(kind: FileChangeKind) -> &'static str {
    match kind {
        FileChangeKind::Created => "created",
        FileChangeKind::Changed => "changed",
        FileChangeKind::Removed => "removed",
        FileChangeKind::FolderCreated => "new folder",
        FileChangeKind::FolderRemoved => "no folder",
        FileChangeKind::Unchanged => "unchanged",
    }
}

fn text(turns: &[TurnChanges]) -> String {
    let mut text = String::new();
    for turn in turns {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "turn {}", turn.turn_id);
        for file in &turn.files {
            add_file(&mut text, file);
        }
        if turn.more > 0 {
            let _ = writeln!(text, "  and {} files more", turn.more);
        }
    }
    text
}

fn add_file(text: &mut String, file: &FileChange) {
    let counts = match (file.added, file.removed) {
        (Some(added), Some(removed)) => format!("  +{added} -{removed}"),
        _ => String::new(),
    };
    let undone = if file.undone { "  (undone)" } else { "" };
    let _ = writeln!(text, "  {:<9} {}{counts}{undone}", word(file.kind), file.path);
    for call in &file.calls {
        let hunks = call
            .undone_hunks
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>();
        let undone = match (call.undone, file.undone) {
            (true, false) => "  (undone)".to_owned(),
            (false, _) if !hunks.is_empty() => format!("  (hunks undone: {})", hunks.join(", ")),
            _ => String::new(),
        };
        let _ = writeln!(text, "    {} {}{undone}", call.tool_name, call.rtc_id);
        add_diff(text, call.diff.as_deref());
    }
    if file.calls.len() == 1 {
        add_diff(text, file.diff.as_deref());
    }
}

/// The lines of a diff without those that name the file.
fn add_diff(text: &mut String, diff: Option<&str>) {
    for line in diff.unwrap_or_default().lines().skip(2) {
        let _ = writeln!(text, "      {line}");
    }
}

/// What a person needs to decide where files were changed since.
fn three_ways(refused: &RpcError) -> String {
    let files = refused.details.as_ref().map(|details| details["files"].clone());
    let files: Vec<RefusedFile> = files
        .and_then(|files| serde_json::from_value(files).ok())
        .unwrap_or_default();
    let mut text = String::new();
    for file in files {
        let parts = [
            ("what the calls did", &file.changed),
            ("what was done since", &file.since),
        ];
        for (what, diff) in parts {
            match diff {
                Some(diff) => {
                    let _ = writeln!(text, "{}: {what}", file.path);
                    add_diff(&mut text, Some(diff));
                }
                None => {
                    let _ = writeln!(text, "{}: {what} cannot be shown as text", file.path);
                }
            }
        }
        if !file.free_hunks.is_empty() {
            let hunks = file
                .free_hunks
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>();
            let _ = writeln!(
                text,
                "Of what the calls did, these hunks can be put back all the same: {}",
                hunks.join(", ")
            );
        }
    }
    text
}

impl Desk {
    /// What the calls of a session changed, the last turn first.
    async fn changes(
        &self,
        session_id: SessionId,
        turn_id: Option<TurnId>,
        path: Option<Text<MAX_PATH>>,
    ) -> Result<Vec<TurnChanges>> {
        self.all(|cursor, limit| SessionChanges {
            session_id,
            turn_id,
            path: path.clone(),
            cursor,
            limit: Bounded::new(limit),
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_named_by_its_beginning_or_its_end() {
        let ids = ["0189-aaaa-01", "0189-aaaa-02", "0190-bbbb-03"];
        let told = |named: &str| match one(ids.iter(), "call", named) {
            Ok(id) => (*id).to_owned(),
            Err(error) => error.to_string(),
        };
        let told: Vec<String> = ["0190", "02", "-01", "0189", "", "04"].map(told).to_vec();
        insta::assert_snapshot!(told.join("\n"), @"
        0190-bbbb-03
        0189-aaaa-02
        0189-aaaa-01
        2 ids of a call begin or end with `0189`; write more of the id
        the session has no call ; `rtc-headless changes` shows those there are
        the session has no call 04; `rtc-headless changes` shows those there are
        ");
    }
}
