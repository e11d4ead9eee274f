//! The documents made from the table of methods: JSON Schema, TypeScript and the protocol's page.
//!
//! The types are described once, by their JSON Schema; the other two are made from that, so the three never differ.

mod describe;
mod document;
mod markdown;
mod typescript;

use serde_json::Value;

use document::Document;

/// The JSON Schema of everything on the wire: `$defs` with all types, and `methods`, an index of the table.
pub fn json_schema() -> Value {
    Document::new().into_json()
}

/// All types as one TypeScript module, with `Methods`, which maps a method to its request, result and scope.
pub fn typescript() -> String {
    typescript::render(&Document::new())
}

/// The page for people: channels, updates, every method and every type.
pub fn protocol_markdown() -> String {
    markdown::render(&Document::new())
}

/// A file of the repository that holds one of the documents.
#[derive(Debug)]
pub struct DocumentFile {
    /// Its path from the root of the repository.
    pub path: &'static str,
    /// Makes its content.
    pub make: fn() -> String,
}

/// The files of the repository that hold the documents.
pub const FILES: &[DocumentFile] = &[
    DocumentFile {
        path: "docs/protocol.md",
        make: protocol_markdown,
    },
    DocumentFile {
        path: "docs/protocol.schema.json",
        make: json_schema_text,
    },
    DocumentFile {
        path: "ui/src/wire/generated.ts",
        make: typescript,
    },
];

fn json_schema_text() -> String {
    format!("{:#}\n", json_schema())
}
