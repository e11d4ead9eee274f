//! The limits of questions, checked as soon as a call arrives.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{AskUserArgs, Question};

/// Characters of a header at most.
const MAX_HEADER_CHARS: usize = 12;

/// How many questions a call may have.
const QUESTIONS: std::ops::RangeInclusive<usize> = 1..=4;

/// How many options a question may have.
const OPTIONS: std::ops::RangeInclusive<usize> = 2..=4;

/// The option that every client adds by itself.
const FREE_TEXT: &str = "other";

/// Questions as the model wrote them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Unchecked {
    /// One to four questions.
    #[schemars(length(min = 1, max = 4))]
    questions: Vec<Question>,
}

impl TryFrom<Unchecked> for AskUserArgs {
    type Error = String;

    fn try_from(Unchecked { questions }: Unchecked) -> Result<Self, String> {
        if !QUESTIONS.contains(&questions.len()) {
            return Err(format!(
                "`questions` must be 1 to 4 questions, got {}",
                questions.len()
            ));
        }
        for (number, question) in questions.iter().enumerate() {
            check(question).map_err(|reason| format!("`questions[{number}]`: {reason}"))?;
            if questions[..number]
                .iter()
                .any(|earlier| earlier.question == question.question)
            {
                return Err(format!("`questions[{number}]` asks the same as an earlier one"));
            }
        }
        Ok(Self { questions })
    }
}

fn check(question: &Question) -> Result<(), String> {
    if question.question.trim().is_empty() {
        return Err("`question` is empty".to_owned());
    }
    let header = question.header.chars().count();
    if question.header.trim().is_empty() || header > MAX_HEADER_CHARS {
        return Err(format!(
            "`header` must have 1 to {MAX_HEADER_CHARS} characters, got {header}"
        ));
    }
    if !OPTIONS.contains(&question.options.len()) {
        return Err(format!(
            "`options` must be 2 to 4 options, got {}",
            question.options.len()
        ));
    }
    for (number, option) in question.options.iter().enumerate() {
        let label = option.label.trim();
        if label.is_empty() {
            return Err(format!("`options[{number}].label` is empty"));
        }
        if label.to_lowercase() == FREE_TEXT {
            return Err(format!(
                "`options[{number}]`: leave out `{label}`; the user can always write their own answer"
            ));
        }
        if question.options[..number]
            .iter()
            .any(|earlier| earlier.label.trim() == label)
        {
            return Err(format!("`options[{number}]`: `{label}` is there twice"));
        }
        if question.multi_select && option.preview.is_some() {
            return Err(format!(
                "`options[{number}].preview` goes only with `multiSelect: false`"
            ));
        }
    }
    Ok(())
}
