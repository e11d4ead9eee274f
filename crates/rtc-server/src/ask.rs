//! Asking the user at the terminal.

use anyhow::Result;
use rtc_app::App;
use rtc_engine::{Asked, Call, Command, Resolution, SessionState};
use rtc_types::{ApprovalDecision, Preview, PreviewKind, SessionId};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::Ask;
use crate::console::{Console, Style, visible};
use crate::show;

/// Why nobody answered.
const NOBODY: &str = "nobody was there to ask (--ask deny)";

/// What the first open call of a session waits for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AskedFor {
    /// A Yes or a No.
    Approval(Box<Call>),
    /// The user's answers to its questions.
    Answers(Box<Call>),
    /// What to make of it: it was started, and nobody knows what came of it.
    Resolution(Box<Call>),
}

impl AskedFor {
    /// `None` where nothing waits for the user.
    pub(crate) fn of(state: &SessionState) -> Option<Self> {
        let (call, asked) = state.waits_for_user()?;
        let call = Box::new(call.clone());
        Some(match asked {
            Asked::Approval => Self::Approval(call),
            Asked::Question => Self::Answers(call),
            Asked::Outcome => Self::Resolution(call),
        })
    }
}

/// What came of asking.
#[derive(Debug)]
pub(crate) enum Answer {
    /// To an approval, with the reason of a No.
    Decided(ApprovalDecision, Option<String>),
    /// To questions, by their text.
    Answered(Map<String, Value>),
    /// Nobody answers the questions; why.
    Dismissed(&'static str),
    /// To a call whose outcome is unknown.
    Resolved(Resolution),
}

/// Who answers for a run, and what had nobody to answer it.
pub(crate) struct Asker<'c> {
    console: &'c Console,
    ask: Ask,
    lines: Option<mpsc::Receiver<String>>,
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
            denied: false,
            unanswered: false,
        }
    }

    /// A line of the user; `None` when there are no more.
    async fn line(&mut self, question: &str) -> Option<String> {
        self.console.ask(question);
        let console = self.console;
        let line = self.lines.get_or_insert_with(|| console.lines()).recv().await;
        self.console.answered(line.as_deref());
        line.map(|line| line.trim().to_owned())
    }

    /// Asks; waits for ever if nothing is asked for. Only reads, so it can be given up at any time.
    pub(crate) async fn ask(&mut self, asked_for: Option<&AskedFor>) -> Answer {
        match asked_for {
            None => std::future::pending().await,
            Some(AskedFor::Approval(call)) => {
                let (decision, reason) = match self.ask {
                    Ask::Prompt => self.ask_approval(call).await,
                    Ask::Deny => {
                        self.denied = true;
                        (ApprovalDecision::Reject, Some(NOBODY.to_owned()))
                    }
                };
                Answer::Decided(decision, reason)
            }
            Some(AskedFor::Answers(call)) => {
                let answers = match self.ask {
                    Ask::Prompt => self.ask_questions(&call.stored.entity.parameters).await,
                    Ask::Deny => None,
                };
                match answers {
                    Some(answers) if !answers.is_empty() => Answer::Answered(answers),
                    Some(_) => Answer::Dismissed("the user declined to answer"),
                    None => {
                        self.unanswered = true;
                        Answer::Dismissed(match self.ask {
                            Ask::Deny => NOBODY,
                            Ask::Prompt => "nobody was there to answer: the input ended",
                        })
                    }
                }
            }
            Some(AskedFor::Resolution(call)) => Answer::Resolved(match self.ask {
                Ask::Deny => Resolution::Tell,
                Ask::Prompt => self.ask_resolution(call).await,
            }),
        }
    }

    /// Hands an answer in.
    pub(crate) async fn hand_in(
        &self,
        app: &App,
        session: SessionId,
        asked_for: &AskedFor,
        answer: Answer,
    ) -> Result<()> {
        let (AskedFor::Approval(call) | AskedFor::Answers(call) | AskedFor::Resolution(call)) = asked_for;
        let rtc = call.stored.entity.id;
        let command = match answer {
            Answer::Answered(answers) => {
                return Ok(app.engine().answer(rtc, json!({ "answers": answers })).await?);
            }
            Answer::Dismissed(why) => return Ok(app.engine().dismiss(rtc, why).await?),
            Answer::Decided(decision, reason) => Command::Approve {
                rtc,
                decision,
                reason,
                device: app.device(),
            },
            Answer::Resolved(decision) => Command::Resolve { rtc, decision },
        };
        app.engine().tell(session, command).await?;
        Ok(())
    }

    async fn ask_approval(&mut self, call: &Call) -> (ApprovalDecision, Option<String>) {
        let (rtc, private) = (&call.stored.entity, &call.stored.private);
        let why = rtc
            .approval
            .as_ref()
            .map(|approval| approval.why.as_str())
            .unwrap_or_default();
        let line = format!("? {} {}", rtc.tool_name, show::target(&private.input));
        self.console.styled(Style::Strong, &visible(&line));
        self.console.note(&visible(&format!("  {why}.")));
        if let Some(preview) = &rtc.preview {
            show::whole(self.console, &preview.text);
            if let Some(params) = preview.program.as_ref().and_then(show::params) {
                self.console.note("  with the params");
                show::whole(self.console, &params);
            }
        }
        if let Some(args) = arguments_beside(rtc.preview.as_ref(), &private.input) {
            self.console.note("  with the arguments");
            show::whole(self.console, &args);
        }
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
                    return (
                        ApprovalDecision::Reject,
                        reason.filter(|reason| !reason.is_empty()),
                    );
                }
                Some(_) => continue,
                None => {
                    self.denied = true;
                    return (
                        ApprovalDecision::Reject,
                        Some("nobody was there to ask: the input ended".into()),
                    );
                }
            };
            return (decision, None);
        }
    }

    /// The answers by question, as many as were given; `None` when nobody is there.
    async fn ask_questions(&mut self, parameters: &Value) -> Option<Map<String, Value>> {
        let mut answers = Map::new();
        for question in parameters
            .get("questions")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let text = question
                .get("question")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let several = question
                .get("multiSelect")
                .and_then(Value::as_bool)
                .unwrap_or(false);
            let options = question
                .get("options")
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default();
            let word = |option: &Value, key: &str| {
                option
                    .get(key)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned()
            };
            self.console.styled(Style::Strong, &visible(&format!("? {text}")));
            for (number, option) in options.iter().enumerate() {
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
            let hint = if several {
                "Numbers (1,2), or your own words"
            } else {
                "A number, or your own words"
            };
            let labels: Vec<String> = options.iter().map(|option| word(option, "label")).collect();
            let answer = loop {
                let line = self.line(&format!("  {hint}; Enter skips:")).await?;
                match chosen(&line, &labels, several) {
                    Ok(answer) => break answer,
                    Err(wrong) => self.console.note(&format!("  {wrong}")),
                }
            };
            if !answer.is_empty() {
                answers.insert(text.to_owned(), Value::String(answer));
            }
        }
        Some(answers)
    }

    /// Asks what to make of a call that was started and whose outcome nobody knows.
    async fn ask_resolution(&mut self, call: &Call) -> Resolution {
        let rtc = &call.stored.entity;
        let line = format!("? {} {}", rtc.tool_name, show::target(&call.stored.private.input));
        self.console.styled(Style::Warning, &visible(&line));
        let evidence = rtc.error_message.as_deref().unwrap_or_default();
        self.console.note(&visible(&format!(
            "  It was running when the program ended. {evidence}"
        )));
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
