//! The documents made from the table: up to date, complete, and true of the golden files.

use std::path::Path;

use rtc_wire::rpc::Method;
use rtc_wire::schema::{DocumentFile, FILES, json_schema, protocol_markdown, typescript};
use serde_json::{Value, json};

use crate::golden::golden;

#[test]
fn the_documents_are_as_they_are_made() {
    for DocumentFile { path, make } in FILES {
        let full = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
        let there = std::fs::read_to_string(&full).unwrap_or_default();
        assert!(
            there == make(),
            "{path} is not up to date: run `cargo xtask protocol`"
        );
    }
}

#[test]
fn every_method_is_in_each_document() {
    let (schema, types, page) = (json_schema(), typescript(), protocol_markdown());
    for method in Method::ALL {
        assert!(schema["methods"][method.as_str()].is_object(), "{method}");
        assert!(
            types.contains(&format!("  \"{method}\": {{ request: ")),
            "{method}"
        );
        assert!(page.contains(&format!("\n### `{method}`\n")), "{method}");
    }
}

#[test]
fn every_type_and_every_field_says_what_it_is() {
    let schema = json_schema();
    for (name, its) in schema["$defs"].as_object().unwrap() {
        assert!(its["description"].is_string(), "{name}");
        for (field, its) in its["properties"].as_object().into_iter().flatten() {
            assert!(its["description"].is_string(), "{name}.{field}");
        }
    }
}

#[test]
fn the_golden_files_are_as_the_schema_says() {
    let schema = json_schema();
    for method in Method::ALL {
        let file = golden(method.as_str());
        for part in ["request", "result"] {
            check(&schema, &schema["methods"][method.as_str()][part], &file[part])
                .unwrap_or_else(|wrong| panic!("{method} {part}: {wrong}"));
        }
    }
    for (name, examples) in golden("entities").as_object().unwrap() {
        let name = if name == "ReplyOfSuccess" { "Reply" } else { name };
        let reference = json!({ "$ref": format!("#/$defs/{name}") });
        for example in examples.as_array().unwrap() {
            check(&schema, &reference, example).unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
        }
    }
}

/// The check itself finds what is wrong.
#[test]
fn what_is_not_as_the_schema_says_is_found() {
    let schema = json_schema();
    let request = |method: &str| schema["methods"][method]["request"].clone();
    for (method, wrong) in [
        ("v1.session.get", json!({})),
        ("v1.session.get", json!({"session_id": 1})),
        ("v1.session.list", json!({"limit": "many"})),
        ("v1.session.list", json!({"limit": -1})),
        ("v1.session.set_mode", json!({"session_id": "x", "mode": "yolo"})),
        ("v1.project.open", json!({"path": ""})),
    ] {
        assert!(
            check(&schema, &request(method), &wrong).is_err(),
            "{method} {wrong}"
        );
    }
}

/// Validates by those keywords of JSON Schema that the documents use; any other one is an error.
fn check(root: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    let Some(keywords) = schema.as_object() else {
        return if schema == &Value::Bool(true) {
            Ok(())
        } else {
            Err("nothing is allowed".into())
        };
    };
    let wrong = |what: &str| Err(format!("{what}: {value} is not {schema}"));
    for (keyword, its) in keywords {
        match keyword.as_str() {
            "$ref" => {
                let path = its.as_str().unwrap().strip_prefix('#').unwrap();
                check(
                    root,
                    root.pointer(path).ok_or_else(|| format!("no {path}"))?,
                    value,
                )?;
            }
            "type" => {
                let names: Vec<&Value> = its
                    .as_array()
                    .map_or_else(|| vec![its], |names| names.iter().collect());
                let is = |name: &&Value| match name.as_str().unwrap() {
                    "null" => value.is_null(),
                    "boolean" => value.is_boolean(),
                    "integer" => value.is_u64() || value.is_i64(),
                    "number" => value.is_number(),
                    "string" => value.is_string(),
                    "array" => value.is_array(),
                    "object" => value.is_object(),
                    other => panic!("no type {other}"),
                };
                if !names.iter().any(is) {
                    return wrong("type");
                }
            }
            "const" if its != value => return wrong("const"),
            "enum" if !its.as_array().unwrap().contains(value) => return wrong("enum"),
            "anyOf" | "oneOf" => {
                let fitting = its
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter(|one| check(root, one, value).is_ok())
                    .count();
                if fitting == 0 || (keyword == "oneOf" && fitting > 1) {
                    return wrong(keyword);
                }
            }
            "required" => {
                for name in its.as_array().unwrap() {
                    if value.is_object() && value.get(name.as_str().unwrap()).is_none() {
                        return wrong(&format!("required {name}"));
                    }
                }
            }
            "properties" => {
                for (name, its) in its.as_object().unwrap() {
                    if let Some(field) = value.get(name) {
                        check(root, its, field).map_err(|wrong| format!("{name}: {wrong}"))?;
                    }
                }
            }
            "items" => {
                for item in value.as_array().into_iter().flatten() {
                    check(root, its, item)?;
                }
            }
            "minimum"
                if value
                    .as_f64()
                    .is_some_and(|number| number < its.as_f64().unwrap()) =>
            {
                return wrong("minimum");
            }
            "maximum"
                if value
                    .as_f64()
                    .is_some_and(|number| number > its.as_f64().unwrap()) =>
            {
                return wrong("maximum");
            }
            "minLength" | "maxLength" => {
                let length = value.as_str().map(|text| text.chars().count() as u64);
                let bound = its.as_u64().unwrap();
                if length
                    .is_some_and(|length| (keyword == "minLength") == (length < bound) && length != bound)
                {
                    return wrong(keyword);
                }
            }
            "maxItems"
                if value
                    .as_array()
                    .is_some_and(|items| items.len() as u64 > its.as_u64().unwrap()) =>
            {
                return Err("maxItems".into());
            }
            "maxItems" => {}
            "additionalProperties" if its == &Value::Bool(false) => {
                let known = &keywords["properties"];
                if value
                    .as_object()
                    .is_some_and(|fields| fields.keys().any(|name| known.get(name).is_none()))
                {
                    return wrong(keyword);
                }
            }
            "additionalProperties" if its != &Value::Bool(true) => return Err("additionalProperties".into()),
            "const" | "enum" | "minimum" | "maximum" | "additionalProperties" => {}
            "description" | "default" | "format" | "x-most" => {}
            other => return Err(format!("the keyword {other} is not known here")),
        }
    }
    Ok(())
}

/// What a reader of the page sees of one method, and a program of its types.
#[test]
fn a_method_in_each_document() {
    let page = protocol_markdown();
    let begin = page.find("### `v1.session.list`").unwrap();
    let end = page.find("### `v1.session.get`").unwrap();
    insta::assert_snapshot!(&page[begin..end], @r"
    ### `v1.session.list`

    The sessions, the one that changed last first; deleted ones are left out. The cursor's session may have been deleted since; one that has changed since makes the page repeat others and leaves none out.

    Query, scope `view`, errors `session.not_found`.

    | request | type | meaning |
    |---|---|---|
    | `cursor?` | `SessionId \| null` | The last session of the page before. |
    | `limit?` | `number \| null` | How many sessions to give. Default: `20`. More than 1000 is taken for 1000. |

    Result: `PageOfSession`

    | result | type | meaning |
    |---|---|---|
    | `items` | `Session[]` | The entries. |
    | `next_cursor?` | `SessionId \| null` | The cursor of the next page; absent at the end. |
    ");
    let types = typescript();
    let line = |start: &str| {
        types
            .lines()
            .find(|line| line.trim_start().starts_with(start))
            .unwrap()
            .to_owned()
    };
    insta::assert_snapshot!(
        line("\"v1.rtc.submit_result\""),
        @r#"  "v1.rtc.submit_result": { request: RtcSubmitResult; result: Success; kind: "action"; scope: "execute" | "approve" };"#
    );
    insta::assert_snapshot!(
        json_schema()["methods"]["v1.session.get"],
        @r##"{"description":"One session.","kind":"query","scopes":["view"],"errors":["session.not_found"],"request":{"$ref":"#/$defs/SessionGet"},"result":{"$ref":"#/$defs/ItemOfSession"}}"##
    );
}
