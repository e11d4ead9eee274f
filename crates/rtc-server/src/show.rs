//! Progress of a run, for people.

use std::collections::HashSet;

use rtc_types::{
    ContentData, Message, MessageId, MessageRole, RtcStatus, StreamingStatus, ToolCall, Update, UpdateEntity,
};
use serde_json::Value;

use crate::console::{Console, Style};

/// How many lines of a result are shown.
const LINES: usize = 14;
/// How many lines of a diff or of code are shown where the user decides on it.
pub(crate) const PREVIEW_LINES: usize = 200;
/// How much of a line is shown, in characters.
const WIDTH: usize = 160;

/// Shows each message once, when it is whole.
#[derive(Default)]
pub(crate) struct Show {
    shown: HashSet<MessageId>,
}

impl Show {
    /// The answers that became whole with this update; everything else is shown as progress.
    pub(crate) fn update(&mut self, console: &Console, update: &Update, quiet: bool) -> Vec<String> {
        let mut answers = Vec::new();
        for (item, data) in update.items.iter().zip(&update.data_list) {
            if item.entity != UpdateEntity::Message {
                continue;
            }
            let Ok(message) = serde_json::from_value::<Message>(data.clone()) else {
                continue;
            };
            let whole = message.streaming_status == StreamingStatus::Completed;
            if message.role == MessageRole::User || !whole || !self.shown.insert(message.id) {
                continue;
            }
            match message.content.parse() {
                Some(ContentData::Markdown(text)) => answers.push(text),
                _ if quiet => {}
                Some(ContentData::ToolcallInput(call)) => header(console, &call),
                Some(ContentData::ToolcallOutput(call)) => result(console, &call),
                Some(ContentData::Thinking(text)) if !text.is_empty() => {
                    lines(console, &text, LINES, Style::Faint)
                }
                Some(ContentData::Error(error)) => {
                    console.styled(Style::Warning, &format!("{}: {}", error.title, error.message));
                }
                _ => {}
            }
        }
        answers
    }
}

fn header(console: &Console, call: &ToolCall) {
    console.styled(
        Style::Strong,
        &format!("● {} {}", call.tool_name, target(&call.input)),
    );
}

/// What a call is about, in one line.
pub(crate) fn target(input: &str) -> String {
    let Ok(Value::Object(args)) = serde_json::from_str::<Value>(input) else {
        return clip(input);
    };
    let mut words = Vec::new();
    for (name, value) in &args {
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let text = clip(&text.replace('\n', "⏎"));
        if name == "path" {
            words.insert(0, text)
        } else {
            words.push(format!("{name}={text}"))
        }
    }
    clip(&words.join("  "))
}

fn result(console: &Console, call: &ToolCall) {
    let text = call.output.as_deref().unwrap_or_default();
    let style = if call.status == Some(RtcStatus::Completed) {
        Style::Faint
    } else {
        Style::Warning
    };
    lines(console, text, LINES, style);
}

/// The first lines of a text, indented; a diff in its colours.
pub(crate) fn lines(console: &Console, text: &str, most: usize, style: Style) {
    let diff = text.lines().any(|line| line.starts_with("@@ "));
    let count = text.lines().count();
    // One line more is shown rather than replaced by a line that says so.
    let shown = if count <= most + 1 { count } else { most };
    for line in text.lines().take(shown) {
        let style = match line.as_bytes().first() {
            Some(b'+') if diff => Style::Added,
            Some(b'-') if diff => Style::Removed,
            _ => style,
        };
        console.styled(style, &format!("    {}", clip(line)));
    }
    if shown < count {
        console.styled(Style::Faint, &format!("    … {} more lines", count - shown));
    }
}

fn clip(text: &str) -> String {
    match text.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_shown_in_one_line() {
        for (input, line) in [
            (
                r#"{"path":"/a.rs","old_string":"x\ny","replace_all":true}"#,
                "/a.rs  old_string=x⏎y  replace_all=true",
            ),
            ("{}", ""),
            ("not json", "not json"),
        ] {
            assert_eq!(target(input), line);
        }
    }
}
