//! The text that a model reads of a result.

use serde_json::Value;

/// What of a result a model reads, in bytes (10,000 tokens). The whole result stays in the store.
pub const BUDGET_BYTES: usize = 40_000;

/// The plain text of a result: a string unquoted, a list one entry a line, an object as `key: value` lines with its
/// `diff` last.
pub fn model_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) if items.is_empty() => "(nothing)".to_owned(),
        Value::Array(items) => items.iter().map(inline).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => {
            let mut lines: Vec<String> = fields
                .iter()
                .filter(|(key, value)| *key != "diff" && !value.is_null())
                .map(|(key, value)| format!("{key}: {}", inline(value)))
                .collect();
            if let Some(diff) = fields
                .get("diff")
                .and_then(Value::as_str)
                .filter(|diff| !diff.is_empty())
            {
                lines.push(format!("diff:\n{diff}"));
            }
            lines.join("\n")
        }
        other => other.to_string(),
    }
}

fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Cuts a text to the budget: the first 60 %, a line that says what is missing, the last 20 %, on character boundaries.
pub fn budget(text: &str) -> std::borrow::Cow<'_, str> {
    if text.len() <= BUDGET_BYTES {
        return text.into();
    }
    let head = floor(text, BUDGET_BYTES * 6 / 10);
    let tail = ceil(text, text.len() - BUDGET_BYTES * 2 / 10);
    format!(
        "{}\n[… {} of {} bytes are left out here; ask for a part of it: a narrower path, pattern or range …]\n{}",
        &text[..head],
        tail - head,
        text.len(),
        &text[tail..]
    )
    .into()
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn ceil(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn results_become_plain_text() {
        for (value, text) in [
            (json!("a\nb"), "a\nb"),
            (json!(["a.rs", "src/"]), "a.rs\nsrc/"),
            (json!([]), "(nothing)"),
            (
                json!({"path": "/a", "diff": "-x\n+y", "replaced": 2}),
                "path: /a\nreplaced: 2\ndiff:\n-x\n+y",
            ),
            (json!({"path": "/a", "diff": ""}), "path: /a"),
            (json!(true), "true"),
        ] {
            assert_eq!(model_text(&value), text);
        }
    }

    proptest! {
        #[test]
        fn a_budgeted_text_is_within_the_budget_and_keeps_both_ends(text in "(é|x|漢){0,30000}") {
            let cut = budget(&text);
            prop_assert!(cut.len() <= BUDGET_BYTES + 200);
            prop_assert!(cut.chars().next() == text.chars().next());
            prop_assert!(cut.chars().last() == text.chars().last());
            if text.len() <= BUDGET_BYTES {
                prop_assert_eq!(&*cut, &text);
            }
        }
    }
}
