//! The tool `askUser`: questions that the user answers on any client.

mod limits;

use std::collections::BTreeMap;

use rtc_tool::{Access, CallContext, Kind, Prepared, ProgressSender, Subject, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Longest answer to one question that is accepted, in characters.
pub const MAX_ANSWER_CHARS: usize = 10_000;

/// What the model reads when the user sent the questions back without an answer.
const NO_ANSWERS: &str =
    "The user answered none of the questions. Go on with what you know, or ask again in another way.";

/// Asks the user.
#[derive(Debug, Clone, Copy, Default)]
pub struct AskUser;

/// Arguments of [`AskUser`]; they keep the limits that the schema tells.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(try_from = "limits::Unchecked")]
pub struct AskUserArgs {
    /// One to four questions.
    pub questions: Vec<Question>,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Question {
    /// The question in full. No two questions of a call have the same text.
    pub question: String,
    /// A label of at most 12 characters.
    #[schemars(length(min = 1, max = 12))]
    pub header: String,
    /// Two to four answers to choose from. Do not add one for free text: the user can always write their own.
    #[schemars(length(min = 2, max = 4))]
    pub options: Vec<Choice>,
    /// Whether several options may be chosen.
    #[serde(default)]
    pub multi_select: bool,
}

/// An answer to choose.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// What is chosen, in one to five words.
    pub label: String,
    /// What it means or leads to.
    pub description: String,
    /// Something to look at while choosing, such as a sketch or code; not with `multiSelect`.
    pub preview: Option<String>,
}

/// What a client submits.
#[derive(Debug, Deserialize)]
struct Submission {
    answers: Map<String, Value>,
    #[serde(default)]
    annotations: BTreeMap<String, Annotation>,
}

/// What a client adds to an answer.
#[derive(Debug, Default, Deserialize)]
struct Annotation {
    preview: Option<String>,
    notes: Option<String>,
}

impl Tool for AskUser {
    type Args = AskUserArgs;
    type Output = String;

    fn name(&self) -> &str {
        "askUser"
    }

    fn kind(&self) -> Kind {
        Kind::User
    }

    fn description(&self) -> String {
        "Asks the user one to four questions with two to four options each, and waits for the answer. Use it when a \
         decision is the user's to take and cannot be found out otherwise. The user can always answer in their own \
         words, so add no option such as \"Other\". Put the option that you recommend first."
            .to_owned()
    }

    fn subject(&self, _args: &AskUserArgs) -> Result<Subject, ToolError> {
        Ok(Subject {
            access: Access::Read,
            paths: Vec::new(),
            digest: None,
        })
    }

    async fn execute(
        &self,
        _context: CallContext,
        _args: AskUserArgs,
        _prepared: Option<Prepared>,
        _progress: ProgressSender,
    ) -> Result<String, ToolError> {
        Err(ToolError::execution(
            "askUser is answered by the user, not run by a device",
        ))
    }

    /// Checks `{answers: {question: answer}, annotations?: {question: {preview?, notes?}}}`, or a bare text. Gives the
    /// sentence that the model reads, the answers in the order of the questions.
    fn answer(&self, args: &AskUserArgs, answer: Value) -> Result<String, ToolError> {
        let submission = match (answer, args.questions.as_slice()) {
            (Value::String(text), [only]) => Submission::to(only, text),
            (Value::String(text), _) => return free_text(&text),
            (answer, _) => submission(answer)?,
        };
        let questions = || args.questions.iter().map(|question| question.question.as_str());
        let unknown = submission.answers.keys().chain(submission.annotations.keys());
        if let Some(unknown) = unknown
            .into_iter()
            .find(|asked| questions().all(|question| question != *asked))
        {
            return Err(ToolError::invalid(format!(
                "`{unknown}` was not asked; answers go by the text of the question"
            )));
        }
        let mut pairs = Vec::new();
        for question in questions() {
            let Some(text) = submission
                .answers
                .get(question)
                .map(|answer| text_of(question, answer))
                .transpose()?
            else {
                continue;
            };
            if text.is_empty() {
                continue;
            }
            let mut pair = format!("\"{question}\"=\"{text}\"");
            if let Some(annotation) = submission.annotations.get(question) {
                for (name, value) in [("preview", &annotation.preview), ("notes", &annotation.notes)] {
                    if let Some(value) = value
                        .as_deref()
                        .map(|value| bounded(question, value))
                        .transpose()?
                    {
                        pair.push_str(&format!(" [{name}: {value}]"));
                    }
                }
            }
            pairs.push(pair);
        }
        if pairs.is_empty() {
            return Ok(NO_ANSWERS.to_owned());
        }
        Ok(format!(
            "The user answered: {}. Go on with these answers in mind.",
            pairs.join(", ")
        ))
    }
}

impl Submission {
    /// The answer to the only question of a call.
    fn to(question: &Question, text: String) -> Self {
        let answers = Map::from_iter([(question.question.clone(), Value::String(text))]);
        Self {
            answers,
            annotations: BTreeMap::new(),
        }
    }
}

fn submission(answer: Value) -> Result<Submission, ToolError> {
    serde_json::from_value(answer).map_err(|error| {
        ToolError::invalid(format!(
            "the answer must be {{\"answers\": {{question: answer}}}}: {error}"
        ))
    })
}

/// An answer that does not say to which of several questions.
fn free_text(text: &str) -> Result<String, ToolError> {
    let text = bounded("the questions", text)?;
    Ok(if text.is_empty() {
        NO_ANSWERS.to_owned()
    } else {
        format!("The user answered: {text}")
    })
}

/// The answer to a question: a text, or several labels.
fn text_of(question: &str, answer: &Value) -> Result<String, ToolError> {
    let wrong = || {
        ToolError::invalid(format!(
            "the answer to `{question}` must be a text or a list of texts"
        ))
    };
    match answer {
        Value::Null => Ok(String::new()),
        Value::String(text) => bounded(question, text),
        Value::Array(labels) => {
            let labels: Option<Vec<&str>> = labels.iter().map(Value::as_str).collect();
            bounded(question, &labels.ok_or_else(wrong)?.join(", "))
        }
        _ => Err(wrong()),
    }
}

fn bounded(question: &str, text: &str) -> Result<String, ToolError> {
    if text.chars().count() > MAX_ANSWER_CHARS {
        let message =
            format!("the answer to `{question}` has over {MAX_ANSWER_CHARS} characters; shorten it");
        return Err(ToolError::invalid(message));
    }
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests;
