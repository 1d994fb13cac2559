//! What the protocol wants of the schema of a structured answer.

use serde_json::{Map, Value};

/// Keywords that say what the grammar of structured answers cannot hold. The host checks the answer against the whole schema.
const UNBOUND: [&str; 12] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "maxItems",
    "minProperties",
    "maxProperties",
    "uniqueItems",
    "$schema",
];

/// The schema of a structured answer: each object says that it has no other members, as the server demands.
pub fn schema(mut schema: Value) -> Value {
    close(&mut schema);
    schema
}

fn close(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            UNBOUND.iter().for_each(|key| drop(map.shift_remove(*key)));
            if map.get("minItems").and_then(Value::as_u64).is_some_and(|n| n > 1) {
                map.shift_remove("minItems");
            }
            if map.contains_key("properties") || map.get("type") == Some(&"object".into()) {
                map.insert("additionalProperties".into(), false.into());
            }
            close_members(map);
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// Names of properties are no keywords.
fn close_members(map: &mut Map<String, Value>) {
    for (key, value) in map.iter_mut() {
        match (key.as_str(), value) {
            ("properties" | "$defs" | "definitions", Value::Object(named)) => named.values_mut().for_each(close),
            ("enum" | "const" | "default" | "examples" | "required", _) => {}
            (_, value) => close(value),
        }
    }
}
