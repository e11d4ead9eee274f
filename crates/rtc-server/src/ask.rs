//! Asking the user at the terminal.

use anyhow::Result;
use rtc_types::{Approval, ApprovalDecision, ApprovalState, Preview, PreviewKind, RtcStatus};
use rtc_wire::rpc::{Resolution, RtcApprove, RtcGet, RtcResolve, RtcSubmitResult, Text};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::Ask;
use crate::console::{Console, Style, visible};
use crate::desk::Desk;
use crate::exit::UsageError;
use crate::show;
use crate::view::{Asked, AskedFor};

/// Why nobody answered.
const NOBODY: &str = "nobody was there to ask (--ask deny)";

/// What came of asking.
#[derive(Debug)]
pub(crate) enum Answer {
    /// To an approval, with the reason of a No.
    Decided(ApprovalDecision, Option<String>),
    /// To an approval: No, since nobody was there; why.
    Denied(&'static str),
    /// To questions, by their text.
    Answered(Map<String, Value>),
    /// The user does not answer the questions; why.
    Dismissed(&'static str),
    /// Nobody is there to answer the questions; why.
    Unanswered(&'static str),
    /// To a call whose outcome is unknown.
    Resolved(Resolution),
}

/// Who answers for a run, and what had nobody to answer it.
pub(crate) struct Asker<'c> {
    console: &'c Console,
    ask: Ask,
    lines: Option<mpsc::Receiver<String>>,
    /// A question stands at the end of the screen, and its answer would be typed behind it.
    is_line_open: bool,
    /// An approval was denied because nobody was there.
    pub(crate) denied: bool,
    /// A question was dismissed because nobody was there.
    pub(crate) unanswered: bool,
}

impl<'c> Asker<'c> {
    pub(crate) fn new(console: &'c Console, ask: Ask) -> Self {
        Self {
            console,
            ask,
            lines: None,
            is_line_open: false,
            denied: false,
            unanswered: false,
        }
    }

    /// A line of the user; `None` when there are no more.
    async fn line(&mut self, question: &str) -> Option<String> {
        self.console.ask(question);
        self.is_line_open = true;
        let console = self.console;
        let line = self.lines.get_or_insert_with(|| console.lines()).recv().await;
        self.is_line_open = false;
        self.console.answered(line.as_deref());
        line.map(|line| line.trim().to_owned())
    }

    /// Ends the line of a question that is asked no more. What was typed for it answers no other one.
    pub(crate) fn give_up(&mut self) {
        if !std::mem::take(&mut self.is_line_open) {
            return;
        }
        self.console.note("");
        if self.console.is_typed()
            && let Some(lines) = &mut self.lines
        {
            while lines.try_recv().is_ok() {}
        }
    }

    /// Asks; waits for ever if nothing is asked for, or somebody else is to answer. Only reads, so it can be given up at
    /// any time.
    pub(crate) async fn ask(&mut self, asked_for: Option<&AskedFor>) -> Answer {
        let Some(asked_for) = asked_for else {
            return std::future::pending().await;
        };
        match (asked_for.what, self.ask) {
            (Asked::Approval, Ask::Deny) => Answer::Denied(NOBODY),
            (Asked::Answers, Ask::Deny) => Answer::Unanswered(NOBODY),
            (Asked::Resolution, Ask::Deny) => Answer::Resolved(Resolution::Tell),
            (_, Ask::Wait) => self.wait(asked_for).await,
            (Asked::Approval, Ask::Prompt) => self.ask_approval(asked_for).await,
            (Asked::Answers, Ask::Prompt) => match self.ask_questions(&asked_for.rtc.parameters).await {
                Some(answers) if !answers.is_empty() => Answer::Answered(answers),
                Some(_) => Answer::Dismissed("the user declined to answer"),
                None => Answer::Unanswered("nobody was there to answer: the input ended"),
            },
            (Asked::Resolution, Ask::Prompt) => Answer::Resolved(self.ask_resolution(asked_for).await),
        }
    }

    /// Shows what is asked, and leaves it to other clients.
    async fn wait(&self, asked_for: &AskedFor) -> Answer {
        let what = match asked_for.what {
            Asked::Approval => {
                self.show_approval(asked_for);
                "a Yes or a No"
            }
            Asked::Answers => {
                for question in questions(&asked_for.rtc.parameters) {
                    self.show_question(question);
                }
                "the answer"
            }
            Asked::Resolution => {
                self.show_resolution(asked_for);
                "what to make of it"
            }
        };
        let told = format!("  Waiting for another client to say {what}; Ctrl-C stops the turn.");
        self.console.styled(Style::Strong, &told);
        std::future::pending().await
    }

    /// Says what became of a question that is asked no more, and by whom.
    pub(crate) async fn withdraw(&mut self, desk: &Desk, asked_for: &AskedFor) -> Result<()> {
        if self.ask == Ask::Deny {
            return Ok(());
        }
        self.give_up();
        let rtc_id = asked_for.rtc.id;
        let now = desk.call(RtcGet { rtc_id }).await?.item;
        let told = match (asked_for.what, &now.approval, now.status) {
            (Asked::Approval, Some(approval), _) => decided(desk, approval),
            (Asked::Answers, _, RtcStatus::Completed) => Some("Answered by another client.".to_owned()),
            (Asked::Answers, _, _) => {
                Some("Not answered: another client declined, or stopped the turn.".to_owned())
            }
            (Asked::Resolution, ..) => Some("Decided by another client.".to_owned()),
            (Asked::Approval, None, _) => None,
        };
        if let Some(told) = told {
            self.console.styled(Style::Strong, &visible(&format!("  {told}")));
        }
        Ok(())
    }

    /// Hands an answer in.
    pub(crate) async fn hand_in(&mut self, desk: &Desk, asked_for: &AskedFor, answer: Answer) -> Result<()> {
        let rtc_id = asked_for.rtc.id;
        let submit = |result: Result<Value, &str>| {
            let (success, result, error) = match result {
                Ok(result) => (true, Some(result), None),
                Err(why) => (false, None, Text::new(why).ok()),
            };
            desk.call(RtcSubmitResult {
                rtc_id,
                success,
                result,
                error,
                client_id: None,
                attempt: None,
            })
        };
        match answer {
            Answer::Answered(answers) => _ = submit(Ok(json!({ "answers": answers }))).await?,
            Answer::Dismissed(why) => _ = submit(Err(why)).await?,
            Answer::Unanswered(why) => {
                submit(Err(why)).await?;
                self.unanswered = true;
            }
            Answer::Decided(decision, reason) => {
                let reason = reason.map(Text::new).transpose();
                let reason =
                    reason.map_err(|why| UsageError(format!("the reason cannot be taken: {why}")))?;
                desk.call(RtcApprove {
                    rtc_id,
                    decision,
                    reason,
                })
                .await?;
            }
            Answer::Denied(why) => {
                desk.call(RtcApprove {
                    rtc_id,
                    decision: ApprovalDecision::Reject,
                    reason: Text::new(why).ok(),
                })
                .await?;
                self.denied = true;
            }
            Answer::Resolved(decision) => _ = desk.call(RtcResolve { rtc_id, decision }).await?,
        }
        Ok(())
    }

    fn show_approval(&self, asked_for: &AskedFor) {
        let (rtc, input) = (&asked_for.rtc, &asked_for.input);
        let why = rtc
            .approval
            .as_ref()
            .map(|approval| approval.why.as_str())
            .unwrap_or_default();
        let line = format!("? {} {}", rtc.tool_name, show::target(input));
        self.console.styled(Style::Strong, &visible(&line));
        self.console.note(&visible(&format!("  {why}.")));
        if let Some(preview) = &rtc.preview {
            show::whole(self.console, &preview.text);
            if let Some(params) = preview.program.as_ref().and_then(show::params) {
                self.console.note("  with the params");
                show::whole(self.console, &params);
            }
        }
        if let Some(args) = arguments_beside(rtc.preview.as_ref(), input) {
            self.console.note("  with the arguments");
            show::whole(self.console, &args);
        }
    }

    async fn ask_approval(&mut self, asked_for: &AskedFor) -> Answer {
        self.show_approval(asked_for);
        loop {
            let answer = self
                .line("  Run it? [y]es, [n]o, [s]ession, [p]roject, ne[v]er:")
                .await;
            let decision = match answer.as_deref().map(str::to_lowercase).as_deref() {
                Some("y" | "yes") => ApprovalDecision::Once,
                Some("s" | "session") => ApprovalDecision::Session,
                Some("p" | "project") => ApprovalDecision::Project,
                Some("v" | "never") => ApprovalDecision::Never,
                Some("n" | "no") => {
                    let reason = self
                        .line("  Why not? (the model reads it; Enter for no reason)")
                        .await;
                    let reason = reason.filter(|reason| !reason.is_empty());
                    return Answer::Decided(ApprovalDecision::Reject, reason);
                }
                Some(_) => continue,
                None => return Answer::Denied("nobody was there to ask: the input ended"),
            };
            return Answer::Decided(decision, None);
        }
    }

    fn show_question(&self, question: &Value) {
        let line = format!("? {}", word(question, "question"));
        self.console.styled(Style::Strong, &visible(&line));
        for (number, option) in options(question).enumerate() {
            let line = format!(
                "  {}. {} – {}",
                number + 1,
                word(option, "label"),
                word(option, "description")
            );
            self.console.note(&visible(&line));
            if let Some(preview) = option.get("preview").and_then(Value::as_str) {
                show::lines(self.console, &visible(preview), show::PREVIEW_LINES, Style::Faint);
            }
        }
    }

    /// The answers by question, as many as were given; `None` when nobody is there.
    async fn ask_questions(&mut self, parameters: &Value) -> Option<Map<String, Value>> {
        let mut answers = Map::new();
        for question in questions(parameters) {
            self.show_question(question);
            let several = question
                .get("multiSelect")
                .and_then(Value::as_bool)
                .unwrap_or(false);
            let hint = if several {
                "Numbers (1,2), or your own words"
            } else {
                "A number, or your own words"
            };
            let labels: Vec<String> = options(question).map(|option| word(option, "label")).collect();
            let answer = loop {
                let line = self.line(&format!("  {hint}; Enter skips:")).await?;
                match chosen(&line, &labels, several) {
                    Ok(answer) => break answer,
                    Err(wrong) => self.console.note(&format!("  {wrong}")),
                }
            };
            if !answer.is_empty() {
                answers.insert(word(question, "question"), Value::String(answer));
            }
        }
        Some(answers)
    }

    fn show_resolution(&self, asked_for: &AskedFor) {
        let rtc = &asked_for.rtc;
        let line = format!("? {} {}", rtc.tool_name, show::target(&asked_for.input));
        self.console.styled(Style::Warning, &visible(&line));
        let evidence = rtc.error_message.as_deref().unwrap_or_default();
        self.console.note(&visible(&format!(
            "  It was running when the program ended. {evidence}"
        )));
    }

    /// Asks what to make of a call that was started and whose outcome nobody knows.
    async fn ask_resolution(&mut self, asked_for: &AskedFor) -> Resolution {
        self.show_resolution(asked_for);
        loop {
            let answer = self
                .line("  [r]un it again, take it as [d]one, or [t]ell the model:")
                .await;
            match answer.as_deref().map(str::to_lowercase).as_deref() {
                Some("r" | "run") => return Resolution::Retry,
                Some("d" | "done") => return Resolution::Done,
                Some("t" | "tell") | None => return Resolution::Tell,
                Some(_) => {}
            }
        }
    }
}

/// The questions of a call that asks some.
fn questions(parameters: &Value) -> impl Iterator<Item = &Value> {
    list(parameters, "questions")
}

/// What a question offers.
fn options(question: &Value) -> impl Iterator<Item = &Value> {
    list(question, "options")
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> + use<'v> {
    value.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn word(value: &Value, key: &str) -> String {
    let found = value.get(key).and_then(Value::as_str);
    found.unwrap_or_default().to_owned()
}

/// What became of an approval that somebody else has answered, and who that was; nothing if it still stands.
fn decided(desk: &Desk, approval: &Approval) -> Option<String> {
    let who = match approval.decided_by {
        Some(device) if device == desk.device() => "another client of this device".to_owned(),
        Some(device) => format!("the device {device}"),
        None => "another client".to_owned(),
    };
    let reason = approval.reason.as_deref().unwrap_or_default();
    Some(match (approval.state, approval.decision) {
        (ApprovalState::Open, _) => return None,
        (ApprovalState::Withdrawn, _) => "Not asked any more: the turn was stopped.".to_owned(),
        (_, None) => "Not asked any more: the mode or a rule was changed.".to_owned(),
        (_, Some(ApprovalDecision::Once)) => format!("Answered by {who}: yes."),
        (_, Some(ApprovalDecision::Session)) => format!("Answered by {who}: yes, for this session."),
        (_, Some(ApprovalDecision::Project)) => format!("Answered by {who}: yes, for this project."),
        (_, Some(ApprovalDecision::Reject)) if reason.is_empty() => format!("Answered by {who}: no."),
        (_, Some(ApprovalDecision::Reject)) => format!("Answered by {who}: no ({reason})."),
        (_, Some(ApprovalDecision::Never)) => format!("Answered by {who}: no, never."),
    })
}

/// The arguments of a call, where its preview and its line leave some of it unseen: words are not what would be done, nor
/// is the beginning of a diff.
fn arguments_beside(preview: Option<&Preview>, input: &str) -> Option<String> {
    let is_whole = |preview: &Preview| preview.kind != PreviewKind::Text && !preview.text.is_empty();
    if preview.is_some_and(is_whole) {
        return None;
    }
    show::arguments(input)
}

/// Numbers are options; anything else is the user's own words, also what stands in quotation marks. A number that is no
/// option is an error, which says what would be right.
fn chosen(line: &str, labels: &[String], several: bool) -> Result<String, String> {
    let parts = || line.split([',', ' ']).filter(|part| !part.is_empty());
    let numbers = parts().all(|part| part.chars().all(|c| c.is_ascii_digit()));
    if line.is_empty() || !numbers {
        let quoted = line.strip_prefix('"').and_then(|line| line.strip_suffix('"'));
        return Ok(quoted.unwrap_or(line).to_owned());
    }
    let label = |part: &str| {
        part.parse::<usize>()
            .ok()?
            .checked_sub(1)
            .and_then(|index| labels.get(index))
    };
    if let Some(wrong) = parts().find(|part| label(part).is_none()) {
        return Err(format!(
            "There is no option {wrong}, only 1 to {}; put your own words in \"…\" if you mean the number itself.",
            labels.len()
        ));
    }
    let chosen: Vec<&str> = parts().filter_map(label).map(String::as_str).collect();
    if chosen.len() != 1 && !several {
        return Err("Choose one of them.".to_owned());
    }
    Ok(chosen.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_preview_does_not_hold_is_shown_beside_it() {
        let long = format!(r#"{{"path":"/a","content":"{}behind it"}}"#, " ".repeat(600));
        let preview = |kind, text: &str| Preview {
            kind,
            text: text.to_owned(),
            paths: Vec::new(),
            program: None,
        };
        for (preview, input, shown) in [
            (None, long.as_str(), true),
            (
                Some(preview(PreviewKind::Text, "`/a` does not exist")),
                &long,
                true,
            ),
            (Some(preview(PreviewKind::Diff, "")), &long, true),
            (Some(preview(PreviewKind::Diff, "--- /a")), &long, false),
            (Some(preview(PreviewKind::Code, "1")), &long, false),
            // The line has all of them.
            (Some(preview(PreviewKind::Text, "no")), r#"{"path":"/a"}"#, false),
        ] {
            let args = arguments_beside(preview.as_ref(), input);
            assert_eq!(args.is_some(), shown, "{preview:?}");
            assert!(args.is_none_or(|args| args.contains("behind it")));
        }
    }

    #[test]
    fn numbers_choose_options_and_anything_else_is_free_text() {
        let labels = ["SQLite".to_owned(), "Postgres".to_owned()];
        for (line, several, answer) in [
            ("1", false, "SQLite"),
            ("2,1", true, "Postgres, SQLite"),
            ("1 2", true, "SQLite, Postgres"),
            ("neither of both", true, "neither of both"),
            ("2nd", false, "2nd"),
            ("\"8080\"", false, "8080"),
            ("", false, ""),
        ] {
            assert_eq!(chosen(line, &labels, several).as_deref(), Ok(answer), "{line}");
        }
    }

    #[test]
    fn a_number_that_is_no_option_is_asked_for_again() {
        let labels = ["SQLite".to_owned(), "Postgres".to_owned()];
        for (line, several) in [
            ("3", false),
            ("0", true),
            ("1,3", true),
            ("1,2", false),
            ("99999999999999999999", false),
            (",", false),
        ] {
            assert!(chosen(line, &labels, several).is_err(), "{line}");
        }
    }
}
