//! What the protocol wants of schemas.

use serde_json::{Map, Value, json};

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
pub fn closed(mut schema: Value) -> Value {
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

/// The schema of a tool's input: an object at the top, without the unions that the server refuses there.
///
/// # Errors
/// Where it is no JSON object.
pub fn of_input(schema: &str) -> Result<Value, String> {
    let mut map: Map<String, Value> = serde_json::from_str(schema).map_err(|e| format!("no JSON object: {e}"))?;
    for union in ["anyOf", "oneOf", "allOf"] {
        let branches = map.shift_remove(union);
        branches
            .iter()
            .filter_map(Value::as_array)
            .flatten()
            .for_each(|branch| merge(&mut map, branch, union == "allOf"));
    }
    map.insert("type".into(), "object".into());
    map.entry("properties").or_insert_with(|| json!({}));
    Ok(map.into())
}

/// What one of several branches allows, the whole allows.
fn merge(map: &mut Map<String, Value>, branch: &Value, is_demanded: bool) {
    let properties = map.entry("properties").or_insert_with(|| json!({}));
    if let (Value::Object(all), Some(more)) = (properties, branch["properties"].as_object()) {
        for (name, schema) in more {
            all.entry(name.clone()).or_insert_with(|| schema.clone());
        }
    }
    if let (true, Some(more)) = (is_demanded, branch["required"].as_array()) {
        let required = map.entry("required").or_insert_with(|| json!([]));
        let known = required.as_array().cloned().unwrap_or_default();
        *required = known.iter().chain(more.iter().filter(|name| !known.contains(name))).cloned().collect();
    }
}
