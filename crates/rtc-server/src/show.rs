//! Progress of a run, for people.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use rtc_types::{
    ContentData, Message, MessageId, MessageRole, Program, Rtc, RtcId, RtcStatus, StreamingStatus, ToolCall,
    Update, UpdateEntity,
};
use serde_json::Value;

use crate::console::{Console, Style, visible};

/// How many lines of a result are shown.
const LINES: usize = 10;
/// How many lines of a result with a diff are shown.
const DIFF_LINES: usize = 24;
/// How many lines of what an option of a question would look like are shown.
pub(crate) const PREVIEW_LINES: usize = 200;
/// How much of a line is shown, in characters.
const WIDTH: usize = 160;
/// How much of a line that tells of a failure is shown, in characters: it has the reason, or the evidence.
const FAILED_WIDTH: usize = 2_000;

/// Shows each message once, when it is whole, and each call together with its result.
#[derive(Default)]
pub(crate) struct Show {
    shown: HashSet<MessageId>,
    answered: bool,
    ends_with_answer: bool,
    /// Calls without a result, by the message that made them; whether their line is on the screen.
    open: HashMap<MessageId, (ToolCall, bool)>,
    /// Calls that run: the message that made each, and how many lines it has told so far.
    running: HashMap<RtcId, (MessageId, usize)>,
}

impl Show {
    /// An answer as it is printed: set off from the one before.
    pub(crate) fn set_off(&mut self, answer: &str) -> String {
        let before = if std::mem::replace(&mut self.answered, true) {
            "\n"
        } else {
            ""
        };
        format!("{before}{answer}")
    }

    /// Whether the last word was an answer.
    pub(crate) fn ends_with_answer(&self) -> bool {
        self.ends_with_answer
    }

    /// The answers that became whole with this update; everything else is shown as progress.
    pub(crate) fn update(&mut self, console: &Console, update: &Update, quiet: bool) -> Vec<String> {
        let mut answers = Vec::new();
        for (item, data) in update.items.iter().zip(&update.data_list) {
            match item.entity {
                UpdateEntity::Message => {
                    if let Ok(message) = serde_json::from_value(data.clone()) {
                        answers.extend(self.message(console, message, quiet));
                    }
                }
                UpdateEntity::Rtc if !quiet => self.running(console, data),
                _ => {}
            }
        }
        answers
    }

    fn message(&mut self, console: &Console, message: Message, quiet: bool) -> Option<String> {
        let whole = message.streaming_status == StreamingStatus::Completed;
        if message.role == MessageRole::User || !whole || !self.shown.insert(message.id) {
            return None;
        }
        match message.content.parse()? {
            ContentData::Markdown(text) => {
                self.ends_with_answer = true;
                return Some(text);
            }
            _ if quiet => {}
            ContentData::ToolcallInput(call) => {
                self.open.insert(message.id, (call, false));
            }
            ContentData::ToolcallOutput(output) => {
                self.ends_with_answer = false;
                let parent = message.parent_message_id;
                self.running.retain(|_, (made_by, _)| Some(*made_by) != parent);
                let open = parent.and_then(|parent| self.open.remove(&parent));
                if open.is_none_or(|(_, shown)| !shown) {
                    header(console, &output);
                }
                result(console, &output);
            }
            ContentData::Thinking(text) => lines(console, &text, LINES, Style::Faint),
            ContentData::Error(error) => {
                console.styled(Style::Warning, &format!("{}: {}", error.title, error.message));
            }
            ContentData::Text(_) | ContentData::UserMessage(_) | ContentData::Prompt(_) => {}
        }
        None
    }

    /// A call that takes a while has its line before its result.
    fn running(&mut self, console: &Console, data: &Value) {
        let Ok(rtc) = serde_json::from_value::<Rtc>(data.clone()) else {
            return;
        };
        if rtc.status == RtcStatus::Executing
            && let Some((call, shown)) = self.open.get_mut(&rtc.message_id)
            && !std::mem::replace(shown, true)
        {
            header(console, call);
            self.running.insert(rtc.id, (rtc.message_id, 0));
        }
    }

    /// The first lines of what a running call tells; its result has them all.
    pub(crate) fn told(&mut self, console: &Console, rtc: RtcId, text: &str) {
        let Some((_, told)) = self.running.get_mut(&rtc) else {
            return;
        };
        for line in text.lines() {
            *told += 1;
            match (*told).cmp(&(LINES + 1)) {
                Ordering::Less => console.styled(Style::Faint, &format!("    {}", clip(line))),
                Ordering::Equal => console.styled(Style::Faint, "    …"),
                Ordering::Greater => return,
            }
        }
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

/// What a user decides on: all of it, however much it is. The terminal wraps its lines.
pub(crate) fn whole(console: &Console, text: &str) {
    let text = visible(text);
    let diff = is_diff(&text);
    for line in text.lines() {
        console.styled(style_of(line, diff, Style::Plain), &format!("    {line}"));
    }
}

/// What a program is given, if that is anything.
pub(crate) fn params(program: &Program) -> Option<String> {
    let given = program.params.as_object().is_none_or(|fields| !fields.is_empty());
    given.then(|| format!("{:#}", program.params))
}

/// The arguments of a call in full, if [`target`] has left some of them out.
pub(crate) fn arguments(input: &str) -> Option<String> {
    let parsed = serde_json::from_str::<Value>(input);
    target(input)
        .contains('…')
        .then(|| parsed.map_or_else(|_| input.to_owned(), |args| format!("{args:#}")))
}

fn is_diff(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("@@ "))
}

fn style_of(line: &str, diff: bool, otherwise: Style) -> Style {
    match line.as_bytes().first() {
        Some(b'+') if diff => Style::Added,
        Some(b'-') if diff => Style::Removed,
        _ => otherwise,
    }
}

/// The first lines of a text, indented; a diff in its colours.
pub(crate) fn lines(console: &Console, text: &str, most: usize, style: Style) {
    let diff = is_diff(text);
    // What is changed matters more than what is read.
    let most = if diff { most.max(DIFF_LINES) } else { most };
    let count = text.lines().count();
    // One line more is shown rather than replaced by a line that says so.
    let shown = if count <= most + 1 { count } else { most };
    for line in text.lines().take(shown) {
        let style = style_of(line, diff, style);
        let width = if style == Style::Warning {
            FAILED_WIDTH
        } else {
            WIDTH
        };
        console.styled(style, &format!("    {}", clip_to(line, width)));
    }
    if shown < count {
        console.styled(Style::Faint, &format!("    … {} more lines", count - shown));
    }
}

fn clip(text: &str) -> String {
    clip_to(text, WIDTH)
}

fn clip_to(text: &str, width: usize) -> String {
    match text.char_indices().nth(width) {
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

    #[test]
    fn what_is_decided_on_is_shown_in_full() {
        let program = |params| Program {
            digest: String::new(),
            params,
        };
        assert_eq!(params(&program(serde_json::json!({}))), None);
        let given = params(&program(serde_json::json!({"c": "x".repeat(1000)}))).unwrap();
        assert!(given.contains(&"x".repeat(1000)));
        assert_eq!(arguments(r#"{"path":"/a"}"#), None);
        let long = "y".repeat(1000);
        let shown = arguments(&format!(r#"{{"path":"/a","deep":["{long}"]}}"#)).unwrap();
        assert!(shown.contains(&long));
    }
}
