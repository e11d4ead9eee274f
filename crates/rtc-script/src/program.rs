//! What a script is known by: its code together with what it is given.

use serde_json::{Map, Value, json};

/// The digest of code that runs with these parameters: a Yes to it is none to other ones, nor to the same ones in another
/// order, which the code can see.
pub(crate) fn digest(code: &str, params: &Map<String, Value>) -> String {
    hash(&json!({"code": code, "params": params}))
}

/// The digest of keeping code at a path: a Yes to it is none to running it.
pub(crate) fn digest_of_save(path: &str, code: &str) -> String {
    hash(&json!({"save": path, "code": code}))
}

fn hash(value: &Value) -> String {
    blake3::hash(value.to_string().as_bytes()).to_hex().to_string()
}

/// Whether something in the value is nested in more than `most` objects and lists. What was read from JSON is shallow
/// enough to be looked through.
pub(crate) fn is_deeper(value: &Value, most: usize) -> bool {
    let mut inner: Box<dyn Iterator<Item = &Value>> = match value {
        Value::Array(items) => Box::new(items.iter()),
        Value::Object(fields) => Box::new(fields.values()),
        _ => return false,
    };
    most == 0 || inner.any(|value| is_deeper(value, most - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_of_the_code_and_what_it_is_given() {
        let of = |code: &str, params: &str| digest(code, &serde_json::from_str(params).unwrap());
        let one = of("eval(params.c)", r#"{"c": "1", "d": {"x": 1, "y": [1, 2]}}"#);
        assert_eq!(
            one,
            of("eval(params.c)", r#"{ "c": "1", "d": {"x": 1, "y": [1, 2]}}"#)
        );
        for (code, params) in [
            ("eval(params.c)", r#"{"c": "2", "d": {"x": 1, "y": [1, 2]}}"#),
            ("eval(params.c)", r#"{"c": "1", "d": {"x": 1, "y": [2, 1]}}"#),
            ("eval(params.c)", r#"{"d": {"x": 1, "y": [1, 2]}, "c": "1"}"#),
            ("eval(params.c)", r#"{"c": "1", "d": {"y": [1, 2], "x": 1}}"#),
            ("eval(params.c) ", r#"{"c": "1", "d": {"x": 1, "y": [1, 2]}}"#),
            ("eval(params.c)", "{}"),
        ] {
            assert_ne!(one, of(code, params), "{code} {params}");
        }
        assert_ne!(of("1", "{}"), digest_of_save("/a", "1"));
        assert_ne!(digest_of_save("/b", "1"), digest_of_save("/a", "1"));
    }

    #[test]
    fn depth_is_counted_at_the_bound() {
        for (json, depth) in [("1", 0), ("[]", 1), ("[1, {}]", 2), (r#"{"a": [[1]]}"#, 3)] {
            let value: Value = serde_json::from_str(json).unwrap();
            assert!(!is_deeper(&value, depth), "{json}");
            assert!(depth == 0 || is_deeper(&value, depth - 1), "{json}");
        }
    }
}
