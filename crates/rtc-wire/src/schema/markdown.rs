//! The page for people.

use serde_json::Value;

use super::describe::{description, fields, type_of, variants};
use super::document::{Described, Document, kind};
use crate::rpc::COMMON_ERRORS;
use rtc_types::Code;

const HEAD: &str = include_str!("head.md");

pub(super) fn render(document: &Document) -> String {
    let mut text = HEAD.to_owned();
    errors(&mut text);
    text.push_str("\n## Methods\n");
    for Described {
        method,
        request,
        result,
    } in &document.methods
    {
        text.push_str(&format!(
            "\n### `{method}`\n\n{}\n\n",
            words(method.description())
        ));
        let scopes: Vec<String> = method
            .scopes()
            .iter()
            .map(|scope| format!("`{}`", scope.as_str()))
            .collect();
        text.push_str(&format!(
            "{}, scope {}",
            capital(kind(*method)),
            scopes.join(" or ")
        ));
        if !method.errors().is_empty() {
            text.push_str(&format!(", errors {}", codes(method.errors())));
        }
        text.push_str(".\n\n");
        members(&mut text, "request", document.resolve(request));
        text.push_str(&format!("\nResult: `{}`\n\n", type_of(result)));
        members(&mut text, "result", document.resolve(result));
    }
    text.push_str("\n## Types\n");
    for (name, schema) in &document.types {
        if document
            .methods
            .iter()
            .any(|described| type_of(&described.request) == *name)
        {
            continue;
        }
        text.push_str(&format!("\n### {name}\n\n"));
        if !description(schema).is_empty() {
            text.push_str(&format!("{}\n\n", words(&description(schema))));
        }
        if name == "Code" {
            text.push_str("See the table of errors.\n");
        } else {
            members(&mut text, "field", schema);
        }
    }
    text
}

impl Document {
    /// The type that a reference names.
    fn resolve<'s>(&'s self, schema: &'s Value) -> &'s Value {
        self.types.get(&type_of(schema)).unwrap_or(schema)
    }
}

fn errors(text: &mut String) {
    text.push_str(&format!(
        "Every method may answer {}.\n\n| code | meaning |\n|---|---|\n",
        codes(COMMON_ERRORS)
    ));
    for code in Code::ALL {
        text.push_str(&format!("| `{code}` | {} |\n", cell(code.meaning())));
    }
}

fn members(text: &mut String, head: &str, schema: &Value) {
    if let Some(fields) = fields(schema) {
        if fields.is_empty() {
            text.push_str("No fields.\n");
            return;
        }
        text.push_str(&format!("| {head} | type | meaning |\n|---|---|---|\n"));
        for field in fields {
            let mark = if field.required { "" } else { "?" };
            text.push_str(&format!(
                "| `{}{mark}` | `{}` | {} |\n",
                field.name,
                cell(&type_of(field.schema)),
                meaning(field.schema)
            ));
        }
    } else if let Some(variants) = variants(schema) {
        text.push_str("| one of | meaning |\n|---|---|\n");
        for variant in variants {
            text.push_str(&format!(
                "| `{}` | {} |\n",
                cell(&type_of(variant)),
                cell(&description(variant))
            ));
        }
    } else {
        text.push_str(&format!("`{}`\n", type_of(schema)));
    }
}

fn meaning(schema: &Value) -> String {
    let mut text = cell(&description(schema));
    match schema.get("default") {
        Some(Value::Null) | None => {}
        Some(default) => text.push_str(&format!(" Default: `{default}`.")),
    }
    if let Some(most) = schema["x-most"].as_u64() {
        text.push_str(&format!(" More than {most} is taken for {most}."));
    }
    if let Some(most) = schema["maxLength"].as_u64() {
        text.push_str(&format!(" At most {most} bytes."));
    }
    text.trim_start().to_owned()
}

fn codes(codes: &[Code]) -> String {
    let codes: Vec<String> = codes.iter().map(|code| format!("`{code}`")).collect();
    codes.join(", ")
}

/// Text on one line.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Text in a cell of a table.
fn cell(text: &str) -> String {
    words(text).replace('|', "\\|")
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}
