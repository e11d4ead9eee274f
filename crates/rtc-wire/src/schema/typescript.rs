//! The types as a TypeScript module.

use super::describe::{description, fields, type_of, variants};
use super::document::{Described, Document, kind};

const HEAD: &str = "\
// Made from the table of methods in crates/rtc-wire by `cargo xtask protocol`. Changes here are lost.

";

pub(super) fn render(document: &Document) -> String {
    let mut text = HEAD.to_owned();
    for (name, schema) in &document.types {
        // The envelope of replies is generic in what it holds.
        let generic = if name == "Reply" { "<Result = unknown>" } else { "" };
        comment(&mut text, "", &description(schema));
        if let Some(fields) = fields(schema).filter(|fields| !fields.is_empty()) {
            text.push_str(&format!("export interface {name}{generic} {{\n"));
            for field in fields {
                let mark = if field.required { "" } else { "?" };
                let its_type = if name == "Reply" && field.name == "result" {
                    "Result".to_owned()
                } else {
                    type_of(field.schema)
                };
                comment(&mut text, "  ", &description(field.schema));
                text.push_str(&format!("  {}{mark}: {its_type};\n", field.name));
            }
            text.push_str("}\n\n");
        } else if let Some(variants) = variants(schema) {
            text.push_str(&format!("export type {name} =\n"));
            for variant in variants {
                comment(&mut text, "  ", &description(variant));
                text.push_str(&format!("  | {}\n", type_of(variant)));
            }
            // The last line end goes behind the semicolon.
            text.pop();
            text.push_str(";\n\n");
        } else if let Some(values) = schema["enum"].as_array() {
            let values: Vec<String> = values.iter().map(|value| format!("\n  | {value}")).collect();
            text.push_str(&format!("export type {name} ={};\n\n", values.concat()));
        } else {
            text.push_str(&format!("export type {name} = {};\n\n", type_of(schema)));
        }
    }
    text.push_str("/** Every method: what it is asked, what it gives, and what a connection must be allowed to do (one of the scopes). */\n");
    text.push_str("export interface Methods {\n");
    for Described {
        method,
        request,
        result,
    } in &document.methods
    {
        let scopes: Vec<String> = method
            .scopes()
            .iter()
            .map(|scope| format!("\"{}\"", scope.as_str()))
            .collect();
        comment(&mut text, "  ", method.description());
        text.push_str(&format!(
            "  \"{method}\": {{ request: {}; result: {}; kind: \"{}\"; scope: {} }};\n",
            type_of(request),
            type_of(result),
            kind(*method),
            scopes.join(" | "),
        ));
    }
    text.push_str("}\n\n/** The name of a method. */\nexport type Method = keyof Methods;\n");
    text
}

fn comment(text: &mut String, indent: &str, words: &str) {
    let lines: Vec<&str> = words.lines().map(str::trim).collect();
    match lines[..] {
        [] => {}
        [line] => text.push_str(&format!("{indent}/** {line} */\n")),
        _ => {
            text.push_str(&format!("{indent}/**\n"));
            for line in lines {
                text.push_str(format!("{indent} * {line}").trim_end());
                text.push('\n');
            }
            text.push_str(&format!("{indent} */\n"));
        }
    }
}
