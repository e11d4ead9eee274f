//! Fields that nothing here knows: kept, and sent back where they came from.

use serde_json::{Map, Value, json};

/// The name under which a provider block keeps such fields: of the block after it, or of the whole message.
const FIELDS: &str = "fields";

/// Adds what one more event says of a field: text and lists go on, objects are merged, anything else is replaced.
pub(crate) fn join(fields: &mut Map<String, Value>, name: &str, value: &Value) {
    match (fields.get_mut(name), value) {
        (_, Value::Null) => {}
        (Some(Value::String(text)), Value::String(piece)) if text == piece => {}
        (Some(Value::String(text)), Value::String(piece)) => text.push_str(piece),
        (Some(Value::Array(list)), Value::Array(more)) => list.extend(more.iter().cloned()),
        (Some(Value::Object(object)), Value::Object(more)) => {
            for (name, value) in more {
                join(object, name, value);
            }
        }
        _ => {
            fields.insert(name.to_owned(), value.clone());
        }
    }
}

/// Whether a field says nothing.
pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(object) => object.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The value of a provider block that keeps these fields, if there are any.
pub(crate) fn kept(fields: Map<String, Value>) -> Option<Value> {
    (!fields.is_empty()).then(|| json!({ FIELDS: fields }))
}

/// The fields that the value of a provider block keeps.
pub(crate) fn fields(value: &Value) -> Option<&Map<String, Value>> {
    value
        .as_object()
        .filter(|object| object.len() == 1)?
        .get(FIELDS)?
        .as_object()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_joined_by_what_they_are() {
        let table = [
            (json!("a"), json!("b"), json!("ab")),
            (json!("same"), json!("same"), json!("same")),
            (json!([1]), json!([2]), json!([1, 2])),
            (
                json!({"a": "x", "b": 1}),
                json!({"a": "y", "c": [1]}),
                json!({"a": "xy", "b": 1, "c": [1]}),
            ),
            (json!(1), json!(2), json!(2)),
            (json!("a"), json!(null), json!("a")),
        ];
        for (first, second, joined) in table {
            let mut fields = Map::new();
            join(&mut fields, "x", &first);
            join(&mut fields, "x", &second);
            assert_eq!(fields["x"], joined);
        }
    }

    #[test]
    fn only_fields_that_are_there_are_kept() {
        assert_eq!(kept(Map::new()), None);
        let some = Map::from_iter([("a".to_owned(), json!(1))]);
        let value = kept(some.clone()).unwrap();
        assert_eq!(fields(&value), Some(&some));
        assert_eq!(fields(&json!({"type": "thinking", "fields": {}})), None);
    }
}
