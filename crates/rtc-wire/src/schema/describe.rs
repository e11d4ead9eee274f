//! Reads a JSON Schema as the generator writes it: its fields, its variants, and its type in the words of TypeScript.

use serde_json::{Map, Value};

/// A field of an object.
pub(super) struct Field<'s> {
    pub(super) name: &'s str,
    pub(super) schema: &'s Value,
    pub(super) required: bool,
}

/// The fields of an object type, in the order in which they are declared; none for other types.
pub(super) fn fields<'s>(schema: &'s Value) -> Option<Vec<Field<'s>>> {
    if schema["type"] != "object" || variants(schema).is_some() {
        return None;
    }
    let Some(properties) = schema["properties"].as_object() else {
        // An object with any keys is a map; one without any is a type of ours that has no fields.
        return schema.get("additionalProperties").is_none().then(Vec::new);
    };
    let required: Vec<&str> = schema["required"]
        .as_array()
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let field = |(name, schema): (&'s String, &'s Value)| Field {
        name,
        schema,
        required: required.contains(&name.as_str()),
    };
    Some(properties.iter().map(field).collect())
}

/// The variants of a type that is one of several.
pub(super) fn variants(schema: &Value) -> Option<&Vec<Value>> {
    ["oneOf", "anyOf"].iter().find_map(|key| schema[*key].as_array())
}

/// What the type or the field is for; links of the program's own documentation become plain code.
pub(super) fn description(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    text.replace("[`", "`").replace("`]", "`")
}

/// The type in the words of TypeScript.
pub(super) fn type_of(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str() {
        return name.rsplit('/').next().unwrap_or(name).to_owned();
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    if let Some(values) = schema["enum"].as_array() {
        return union(values.iter().map(Value::to_string));
    }
    if let Some(variants) = variants(schema) {
        return union(variants.iter().map(type_of));
    }
    match &schema["type"] {
        Value::String(name) => named(name, schema),
        Value::Array(names) => union(
            names
                .iter()
                .filter_map(Value::as_str)
                .map(|name| named(name, schema)),
        ),
        _ => "unknown".to_owned(),
    }
}

fn union(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(" | ")
}

fn named(name: &str, schema: &Value) -> String {
    match name {
        "integer" | "number" => "number".to_owned(),
        "array" => match type_of(&schema["items"]) {
            items if items.contains(' ') => format!("({items})[]"),
            items => format!("{items}[]"),
        },
        "object" => match schema["properties"].as_object() {
            Some(properties) => object(properties, schema),
            None if schema.get("additionalProperties").is_some() => {
                format!("Record<string, {}>", type_of(&schema["additionalProperties"]))
            }
            None => "Record<string, never>".to_owned(),
        },
        other => other.to_owned(),
    }
}

fn object(properties: &Map<String, Value>, schema: &Value) -> String {
    let required = |name: &str| {
        schema["required"]
            .as_array()
            .is_some_and(|names| names.iter().any(|required| required == name))
    };
    let fields: Vec<String> = properties
        .iter()
        .map(|(name, field)| {
            let mark = if required(name) { "" } else { "?" };
            format!("{name}{mark}: {}", type_of(field))
        })
        .collect();
    format!("{{ {} }}", fields.join("; "))
}
