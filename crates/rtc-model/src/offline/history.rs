//! What the conversation tells: the request at hand, and how the calls that were made for it ended.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use crate::{AssistantBlock, Item, SCENARIOS};

use super::parse;
use super::place::Context;
use super::plan::Plan;

/// How many earlier requests are looked at, for the meaning of `it` and for `continue`.
const MAX_EARLIER: usize = 12;

/// A request of the user (messages in a row are one) with the calls that were made for it.
pub(super) struct Request {
    /// What it asks for.
    pub(super) plan: Plan,
    /// The calls so far.
    pub(super) log: CallLog,
    /// The calls before the user's last message.
    pub(super) past: CallLog,
    /// Whether nothing has been done yet since the user's last message.
    pub(super) fresh: bool,
}

/// The requests that the user's last message may mean.
pub(super) struct Requests {
    /// The request at hand. If the user only wrote `continue`: the earlier requests, newest first.
    pub(super) candidates: Vec<Request>,
    /// Whether the user asked to go on with an earlier request.
    pub(super) continued: bool,
}

/// Messages in a row, and what follows them up to the next ones.
struct Group<'i> {
    messages: Vec<&'i str>,
    after: &'i [Item],
}

impl Group<'_> {
    fn asks(&self) -> Vec<&str> {
        self.messages
            .iter()
            .copied()
            .filter(|message| !parse::is_continue(message))
            .collect()
    }

    fn continues(&self) -> bool {
        self.messages.iter().any(|message| parse::is_continue(message))
    }
}

/// Reads the conversation.
pub(super) fn requests(items: &[Item]) -> Requests {
    let groups = groups(items);
    let first = groups.len().saturating_sub(MAX_EARLIER + 1);
    let groups = &groups[first..];
    let Some((newest, earlier)) = groups.split_last() else {
        return Requests {
            candidates: Vec::new(),
            continued: false,
        };
    };
    let mut context = Context::default();
    let mut contexts = Vec::new();
    for group in earlier {
        contexts.push(context.clone());
        let _ = parse::plan(&group.asks(), &mut context);
    }
    let fresh = !newest
        .after
        .iter()
        .any(|item| matches!(item, Item::ToolResult { .. }));
    let asks_more = newest.asks();
    if !newest.continues() || (!asks_more.is_empty() && earlier.iter().all(|group| group.asks().is_empty())) {
        let mut log = CallLog::default();
        log.add(newest.after, Attempt::Present);
        let plan = parse::plan(&asks_more, &mut context);
        let request = Request {
            plan,
            log,
            past: CallLog::default(),
            fresh,
        };
        return Requests {
            candidates: vec![request],
            continued: false,
        };
    }
    let mut candidates = Vec::new();
    for (index, group) in earlier.iter().enumerate().rev() {
        let mut asks = group.asks();
        if asks.is_empty() {
            continue;
        }
        let mut past = CallLog::default();
        past.add(group.after, Attempt::Past);
        for later in earlier[index + 1..]
            .iter()
            .filter(|later| later.asks().is_empty())
        {
            past.add(later.after, Attempt::Past);
        }
        let mut log = past.clone();
        log.add(newest.after, Attempt::Present);
        asks.extend(&asks_more);
        let plan = parse::plan(&asks, &mut contexts[index].clone());
        candidates.push(Request {
            plan,
            log,
            past,
            fresh,
        });
    }
    Requests {
        candidates,
        continued: true,
    }
}

fn groups(items: &[Item]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut index = 0;
    while index < items.len() {
        let mut messages = Vec::new();
        while let Some(Item::User { text }) = items.get(index) {
            messages.push(typed(text));
            index += 1;
        }
        let from = index;
        while index < items.len() && !matches!(items[index], Item::User { .. }) {
            index += 1;
        }
        if !messages.is_empty() {
            groups.push(Group {
                messages,
                after: &items[from..index],
            });
        }
    }
    groups
}

/// What the user typed: scenarios are for a language model.
fn typed(text: &str) -> &str {
    let (begin, end) = SCENARIOS;
    let scenarios = text.strip_prefix(begin);
    let after = scenarios.and_then(|scenarios| scenarios.rsplit_once(end));
    after.map_or(text, |(_, text)| text.trim_start_matches('\n'))
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It gave this result.
    Done(String),
    /// It gave none.
    Failed(Failure),
}

/// Why a call gave no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    /// What happened.
    pub(super) kind: FailureKind,
    /// The reason, as the tool or the user gave it.
    pub(super) reason: String,
}

/// What happened to a call that gave no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FailureKind {
    /// The tool refused or failed.
    Error,
    /// The user or a rule said no.
    Rejected,
    /// It ran out of time.
    Timeout,
    /// It was made, and nobody knows how it ended.
    Lost,
    /// It was not made, because an earlier step on the same file failed.
    Skipped,
}

/// Whether calls were made for the last message or for an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    Past,
    Present,
}

/// How the calls of a request ended, by tool and arguments, in their order.
#[derive(Debug, Clone, Default)]
pub(super) struct CallLog {
    outcomes: HashMap<String, Vec<Outcome>>,
}

impl CallLog {
    /// How the call number `index` (from 0) of this tool with these arguments ended, if it did.
    pub(super) fn outcome(&self, key: &str, index: usize) -> Option<&Outcome> {
        self.outcomes.get(key)?.get(index)
    }

    /// Takes the calls of these items. What was stopped, rejected or too slow in the past is left out, so that it is
    /// tried again, unless it may have had an effect.
    fn add(&mut self, items: &[Item], attempt: Attempt) {
        let results: HashMap<&str, Outcome> = items
            .iter()
            .filter_map(|item| match item {
                Item::ToolResult {
                    call_id,
                    tool_name,
                    text,
                    is_error,
                } => Some((call_id.as_str(), outcome(tool_name, text, *is_error))),
                Item::User { .. } | Item::Assistant { .. } => None,
            })
            .collect();
        let blocks = items.iter().flat_map(|item| match item {
            Item::Assistant { blocks } => blocks.as_slice(),
            Item::User { .. } | Item::ToolResult { .. } => &[],
        });
        for block in blocks {
            let AssistantBlock::ToolCall { id, name, arguments } = block else {
                continue;
            };
            let Ok(arguments) = serde_json::from_str::<Value>(arguments) else {
                continue;
            };
            let effect = matches!(name.as_str(), "write" | "edit" | "script");
            let outcome = match results.get(id.as_str()) {
                Some(Outcome::Failed(failure))
                    if attempt == Attempt::Past
                        && matches!(failure.kind, FailureKind::Rejected | FailureKind::Timeout)
                        && !(effect && may_have_happened(failure)) =>
                {
                    continue;
                }
                Some(outcome) => outcome.clone(),
                None if effect => Outcome::Failed(Failure {
                    kind: FailureKind::Lost,
                    reason: String::new(),
                }),
                None => continue,
            };
            self.outcomes
                .entry(key(name, &arguments))
                .or_default()
                .push(outcome);
        }
    }
}

/// What the engine says before a reason, in this order.
const SAID: [&str; 3] = ["failed:", "was rejected:", "the call was refused:"];

/// Whether a call that did not end well may have changed something.
fn may_have_happened(failure: &Failure) -> bool {
    let reason = failure.reason.to_lowercase();
    (reason.contains("applied") && !reason.contains("not applied")) || reason.contains("unknown")
}

fn outcome(tool: &str, text: &str, is_error: bool) -> Outcome {
    let tags = [
        ("[Tool Error]", FailureKind::Error),
        ("[Tool Rejected]", FailureKind::Rejected),
        ("[Tool Timeout]", FailureKind::Timeout),
    ];
    for (tag, kind) in tags {
        if let Some(rest) = text.strip_prefix(tag) {
            let rest = rest.trim();
            let rest = rest.strip_prefix(tool).map_or(rest, str::trim_start);
            // The answer says this itself, in its own words.
            let rest = SAID.iter().fold(rest, |rest, said| {
                rest.strip_prefix(said).unwrap_or(rest).trim_start()
            });
            return Outcome::Failed(Failure {
                kind,
                reason: rest.to_owned(),
            });
        }
    }
    if is_error {
        return Outcome::Failed(Failure {
            kind: FailureKind::Error,
            reason: text.trim().to_owned(),
        });
    }
    Outcome::Done(text.to_owned())
}

/// What tells two calls apart: the tool and its arguments, whatever the order of their fields.
pub(super) fn key(tool: &str, arguments: &Value) -> String {
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Object(fields) => {
                let fields: BTreeMap<_, _> =
                    fields.iter().map(|(name, value)| (name, sorted(value))).collect();
                fields
                    .into_iter()
                    .map(|(name, value)| (name.clone(), value))
                    .collect()
            }
            Value::Array(values) => values.iter().map(sorted).collect(),
            value => value.clone(),
        }
    }
    format!("{tool} {}", sorted(arguments))
}

/// The ids of all calls in the conversation.
pub(super) fn call_ids(items: &[Item]) -> BTreeSet<&str> {
    let mut ids = BTreeSet::new();
    for item in items {
        match item {
            Item::Assistant { blocks } => ids.extend(blocks.iter().filter_map(|block| match block {
                AssistantBlock::ToolCall { id, .. } => Some(id.as_str()),
                _ => None,
            })),
            Item::ToolResult { call_id, .. } => {
                ids.insert(call_id.as_str());
            }
            Item::User { .. } => {}
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_what_was_typed_and_no_scenario() {
        for (text, request) in [
            ("list the files", "list the files"),
            (
                "<scenarios>\nread a.txt\n</scenarios>\n\nlist the files",
                "list the files",
            ),
            ("<scenarios>\nread a.txt\n</scenarios>", ""),
            ("<scenarios>\nread a.txt", "<scenarios>\nread a.txt"),
        ] {
            assert_eq!(typed(text), request);
        }
    }
}
