//! The arguments of a call, as a request carries them.

use serde_json::{Map, Value, json};

/// The name under which arguments go back that are no object: the model sees what it wrote.
const NOT_JSON: &str = "INVALID_JSON";

/// Arguments as the model wrote them, in the one form in which they go back: an object. Providers refuse everything
/// else, and with it the whole conversation.
pub(crate) fn as_object(written: &str) -> Value {
    if written.trim().is_empty() {
        return Value::Object(Map::new());
    }
    match serde_json::from_str(written) {
        Ok(Value::Object(object)) => Value::Object(object),
        _ => json!({ NOT_JSON: written }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_go_back_as_an_object() {
        let table = [
            ("", "{}"),
            (" \n", "{}"),
            ("{ \"b\": 1,\n\"a\": \"\\u00e9\" }", "{\"b\":1,\"a\":\"é\"}"),
            ("{\"path\":\"/a", "{\"INVALID_JSON\":\"{\\\"path\\\":\\\"/a\"}"),
            ("[1]", "{\"INVALID_JSON\":\"[1]\"}"),
            ("null", "{\"INVALID_JSON\":\"null\"}"),
        ];
        for (written, sent) in table {
            let once = as_object(written).to_string();
            assert_eq!(once, sent);
            assert_eq!(as_object(&once).to_string(), once, "it is the same for ever");
        }
    }
}
