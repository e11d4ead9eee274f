//! Near misses that models make in arguments, mended by the tool's own schema; anything else is an error that names the
//! field.

use serde_json::{Map, Value};

/// Fits a value to a schema: numbers and booleans written as strings, `null` for absent. An error says which field, what
/// it must be and what it was. A required field is never filled in.
pub fn coerce(schema: &Value, value: Value) -> Result<Value, String> {
    let value = match value {
        // Some models send no arguments at all for a tool that needs none.
        Value::Null if accepts(schema, "object") => Value::Object(Map::new()),
        other => other,
    };
    fit(schema, value, "")
}

fn fit(schema: &Value, value: Value, at: &str) -> Result<Value, String> {
    let alternatives = ["anyOf", "oneOf"]
        .iter()
        .find_map(|key| schema.get(key)?.as_array());
    if let Some(alternatives) = alternatives {
        let mut wrong = None;
        for alternative in alternatives {
            match fit(alternative, value.clone(), at) {
                Ok(value) => return Ok(value),
                Err(error) => wrong = wrong.or(Some(error)),
            }
        }
        return match constants(alternatives) {
            Some(allowed) => Err(format!(
                "{} must be one of {allowed}, got {}",
                named(at),
                short(&value)
            )),
            None => Err(wrong.unwrap_or_else(|| format!("{} has no valid form", named(at)))),
        };
    }
    if let Some(wanted) = schema.get("const") {
        return if *wanted == value {
            Ok(value)
        } else {
            Err(format!("{} must be {wanted}", named(at)))
        };
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array) {
        return if allowed.contains(&value) {
            Ok(value)
        } else {
            let allowed: Vec<_> = allowed
                .iter()
                .filter(|v| !v.is_null())
                .map(Value::to_string)
                .collect();
            Err(format!(
                "{} must be one of {}, got {}",
                named(at),
                allowed.join(", "),
                short(&value)
            ))
        };
    }
    if value.is_null() && accepts(schema, "null") {
        return Ok(value);
    }
    match value {
        Value::Object(object) if accepts(schema, "object") => fit_object(schema, object, at),
        Value::Array(items) if accepts(schema, "array") => {
            let Some(inner) = schema.get("items") else {
                return Ok(Value::Array(items));
            };
            let fitted: Result<Vec<_>, _> = items
                .into_iter()
                .enumerate()
                .map(|(n, item)| fit(inner, item, &format!("{at}[{n}]")))
                .collect();
            Ok(Value::Array(fitted?))
        }
        Value::String(text) if accepts(schema, "string") => Ok(Value::String(text)),
        Value::String(text) => from_text(schema, &text).ok_or_else(|| {
            format!(
                "{} must be {}, got {}",
                named(at),
                kinds(schema),
                short(&Value::String(text))
            )
        }),
        Value::Number(number) if accepts(schema, "number") => Ok(Value::Number(number)),
        Value::Number(number) if accepts(schema, "integer") => match whole(&number) {
            Some(whole) if !below(schema, &whole) => Ok(whole),
            _ => Err(format!("{} must be {}, got {number}", named(at), kinds(schema))),
        },
        Value::Bool(truth) if accepts(schema, "boolean") => Ok(Value::Bool(truth)),
        other if schema.get("type").is_none() => Ok(other),
        other => Err(format!(
            "{} must be {}, got {}",
            named(at),
            kinds(schema),
            short(&other)
        )),
    }
}

fn fit_object(schema: &Value, object: Map<String, Value>, at: &str) -> Result<Value, String> {
    let none = Map::new();
    let fields = schema
        .get("properties")
        .and_then(Value::as_object)
        .unwrap_or(&none);
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    let mut fitted = Map::new();
    for (name, value) in object {
        let path = if at.is_empty() {
            name.clone()
        } else {
            format!("{at}.{name}")
        };
        match fields.get(&name) {
            Some(_) if value.is_null() && !required.contains(&name.as_str()) => {}
            Some(field) => {
                fitted.insert(name, fit(field, value, &path)?);
            }
            None if closed => {
                let known: Vec<_> = fields.keys().map(|key| format!("`{key}`")).collect();
                return Err(format!(
                    "{} is not a parameter; there are {}",
                    named(&path),
                    known.join(", ")
                ));
            }
            None => {
                fitted.insert(name, value);
            }
        }
    }
    if let Some(missing) = required.iter().find(|name| !fitted.contains_key(**name)) {
        let path = if at.is_empty() {
            (*missing).to_owned()
        } else {
            format!("{at}.{missing}")
        };
        return Err(format!("{} is required and missing", named(&path)));
    }
    Ok(Value::Object(fitted))
}

fn accepts(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(one)) => one == kind,
        Some(Value::Array(several)) => several.iter().any(|one| one == kind),
        _ => false,
    }
}

fn from_text(schema: &Value, text: &str) -> Option<Value> {
    let text = text.trim();
    if accepts(schema, "boolean") && matches!(text, "true" | "false") {
        return Some(Value::Bool(text == "true"));
    }
    let number = serde_json::from_str::<serde_json::Number>(text).ok()?;
    if accepts(schema, "integer") {
        return whole(&number).filter(|whole| !below(schema, whole));
    }
    accepts(schema, "number").then_some(Value::Number(number))
}

/// `2.0` is a whole number to a model.
fn whole(number: &serde_json::Number) -> Option<Value> {
    if number.is_i64() || number.is_u64() {
        return Some(Value::Number(number.clone()));
    }
    let float = number
        .as_f64()
        .filter(|float| float.fract() == 0.0 && float.abs() < 9e15)?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "checked to be whole and within 53 bits"
    )]
    let whole = float as i64;
    Some(Value::from(whole))
}

fn below(schema: &Value, value: &Value) -> bool {
    match (schema.get("minimum").and_then(Value::as_f64), value.as_f64()) {
        (Some(least), Some(value)) => value < least,
        _ => false,
    }
}

fn constants(alternatives: &[Value]) -> Option<String> {
    let all: Option<Vec<_>> = alternatives
        .iter()
        .filter(|one| !accepts(one, "null"))
        .map(|one| one.get("const").map(Value::to_string))
        .collect();
    Some(all?.join(", "))
}

fn kinds(schema: &Value) -> String {
    let words = |kind: &str| match kind {
        "integer" => match schema.get("minimum") {
            Some(least) => format!("a whole number from {least} on"),
            None => "a whole number".to_owned(),
        },
        "number" => "a number".to_owned(),
        "boolean" => "true or false".to_owned(),
        "array" => "a list".to_owned(),
        "object" => "an object".to_owned(),
        "string" => "a string".to_owned(),
        other => other.to_owned(),
    };
    match schema.get("type") {
        Some(Value::String(one)) => words(one),
        Some(Value::Array(several)) => {
            let all: Vec<_> = several
                .iter()
                .filter_map(Value::as_str)
                .filter(|one| *one != "null")
                .map(words)
                .collect();
            all.join(" or ")
        }
        _ => "something else".to_owned(),
    }
}

fn named(at: &str) -> String {
    if at.is_empty() {
        "the arguments".to_owned()
    } else {
        format!("`{at}`")
    }
}

/// The longest piece of a wrong value that an error repeats, in characters.
const SHOWN: usize = 60;

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only the schema is used")]
    struct Args {
        path: String,
        offset: Option<i64>,
        limit: Option<u32>,
        #[serde(default)]
        all: bool,
        mode: Option<Mode>,
    }

    /// Documented variants, so that the schema has `oneOf`.
    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    enum Mode {
        /// All of it.
        Overwrite,
        /// At the end.
        CreateNew,
    }

    fn check(args: Value) -> Result<Value, String> {
        let settings =
            schemars::generate::SchemaSettings::draft2020_12().with(|s| s.inline_subschemas = true);
        coerce(
            &settings
                .into_generator()
                .into_root_schema_for::<Args>()
                .to_value(),
            args,
        )
    }

    #[test]
    fn near_misses_are_mended() {
        for (given, meant) in [
            (
                json!({"path": "/a", "offset": "-3"}),
                json!({"path": "/a", "offset": -3}),
            ),
            (
                json!({"path": "/a", "limit": 2.0}),
                json!({"path": "/a", "limit": 2}),
            ),
            (
                json!({"path": "/a", "all": "true"}),
                json!({"path": "/a", "all": true}),
            ),
            (
                json!({"path": "/a", "offset": null, "all": null}),
                json!({"path": "/a"}),
            ),
            (
                json!({"path": "12", "mode": "create-new"}),
                json!({"path": "12", "mode": "create-new"}),
            ),
        ] {
            assert_eq!(check(given.clone()).as_ref(), Ok(&meant), "{given}");
            assert_eq!(check(meant.clone()), Ok(meant), "checking twice changes nothing");
        }
    }

    #[test]
    fn anything_else_is_an_error_that_names_the_field() {
        let told: Vec<_> = [
            json!(null),
            json!({}),
            json!({"path": null}),
            json!({"path": 5}),
            json!({"path": "/a", "offset": "many"}),
            json!({"path": "/a", "limit": -1}),
            json!({"path": "/a", "all": "yes"}),
            json!({"path": "/a", "mode": "replace"}),
            json!({"path": "/a", "content": "x"}),
            json!([1]),
        ]
        .into_iter()
        .map(|args| check(args).unwrap_err())
        .collect();
        insta::assert_snapshot!(told.join("\n"), @r#"
        `path` is required and missing
        `path` is required and missing
        `path` must be a string, got null
        `path` must be a string, got 5
        `offset` must be a whole number, got "many"
        `limit` must be a whole number from 0 on, got -1
        `all` must be true or false, got "yes"
        `mode` must be one of "overwrite", "create-new", got "replace"
        `content` is not a parameter; there are `path`, `offset`, `limit`, `all`, `mode`
        the arguments must be an object, got [1]
        "#);
    }
}
