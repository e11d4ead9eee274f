//! How a run ended: the result, the exit code, and a word where there was none.

use anyhow::Result;
use rtc_types::{ContentData, ErrorCategory, Message, SessionId, Turn as TurnEntity, TurnStatus};
use rtc_wire::rpc::SessionGet;
use serde_json::json;

use super::{Begun, Ended, Turn};
use crate::args::OutputForm;
use crate::ask::Asker;
use crate::console::Style;
use crate::exit::Exit;
use crate::json;

impl Turn<'_> {
    /// What was stopped does not go on by itself.
    pub(super) async fn tell_nothing_left(&self, begun: &Begun) -> Result<()> {
        let session = begun.view.session();
        let messages = self.desk.messages(session).await?;
        let turn = self.last_turn(session, &messages).await?;
        let told = match turn.map(|turn| turn.status) {
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
    pub(super) async fn tell_silence(&self, begun: &Begun) -> Result<()> {
        if self.args.output != OutputForm::Text || begun.text.ends_with_answer() {
            return Ok(());
        }
        let session = begun.view.session();
        let messages = self.desk.messages(session).await?;
        let turn = self.last_turn(session, &messages).await?;
        if turn.is_some_and(|turn| turn.status == TurnStatus::Completed) {
            let silent = "The model ended its turn without an answer.";
            self.console.styled(Style::Faint, silent);
        }
        Ok(())
    }

    pub(super) async fn report(
        &self,
        session_id: SessionId,
        ended: Ended,
        asker: &Asker<'_>,
    ) -> Result<Exit> {
        let messages = self.desk.messages(session_id).await?;
        let turn = self.last_turn(session_id, &messages).await?;
        let turn = turn.as_ref();
        let exit = match ended {
            Ended::Stopped => Exit::Stopped,
            Ended::Trouble => Exit::Failed,
            Ended::Idle => exit_of(turn, &messages, asker),
        };
        if self.args.output != OutputForm::Text {
            let rtcs = self.desk.rtcs(session_id).await?;
            let session = self.desk.call(SessionGet { session_id }).await?.item;
            let result = json::result(&session, turn, &messages, &rtcs);
            let line = match self.args.output {
                OutputForm::StreamJson => json!({ "result": result }),
                OutputForm::Text | OutputForm::Json => result,
            };
            self.console.result(&serde_json::to_string(&line)?);
        }
        Ok(exit)
    }

    /// The turn that spoke last; ids do not tell where the clock was set back.
    async fn last_turn(&self, session: SessionId, messages: &[Message]) -> Result<Option<TurnEntity>> {
        let last = messages.iter().rev().find_map(|message| message.turn_id);
        let turns = self.desk.turns(session).await?;
        Ok(turns.into_iter().find(|turn| Some(turn.id) == last))
    }
}

fn exit_of(turn: Option<&TurnEntity>, messages: &[Message], asker: &Asker<'_>) -> Exit {
    match turn.map(|turn| turn.status) {
        Some(TurnStatus::Failed) => match last_error(messages) {
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
    }
}

fn last_error(messages: &[Message]) -> Option<ErrorCategory> {
    let mut parsed = messages
        .iter()
        .rev()
        .filter_map(|message| message.content.parse());
    parsed.find_map(|content| match content {
        ContentData::Error(error) => Some(error.category),
        _ => None,
    })
}
