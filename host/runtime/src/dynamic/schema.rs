//! Types as JSON Schema.

use super::shape::{Int, Shape};
use serde_json::{Map, Value, json};

/// The schema of a function's arguments, an object by the parameters' names.
pub fn of_parameters(parameters: &[(String, Shape)]) -> Value {
    object(parameters)
}

fn of(shape: &Shape) -> Value {
    match shape {
        Shape::Bool => json!({"type": "boolean"}),
        Shape::Int(int) => integer(*int),
        Shape::Float32 | Shape::Float64 => {
            json!({"anyOf": [{"type": "number"}, {"enum": ["NaN", "Infinity", "-Infinity"]}]})
        }
        Shape::Char => json!({"type": "string", "description": "exactly one character"}),
        Shape::Text => json!({"type": "string"}),
        Shape::List(item) => json!({"type": "array", "items": of(item)}),
        Shape::Array(item, len) => json!({"type": "array", "items": of(item), "minItems": len, "maxItems": len}),
        Shape::Map(key, value) => {
            let pair = object(&[("key".to_owned(), (**key).clone()), ("value".to_owned(), (**value).clone())]);
            json!({"type": "array", "items": pair})
        }
        Shape::Record(fields) => object(fields),
        Shape::Tuple(items) => {
            let len = items.len();
            json!({"type": "array", "prefixItems": items.iter().map(of).collect::<Vec<_>>(), "minItems": len, "maxItems": len})
        }
        Shape::Variant(cases) => {
            json!({"oneOf": cases.iter().map(|(tag, val)| case(tag, val.as_ref())).collect::<Vec<_>>()})
        }
        Shape::Enum(names) => json!({"type": "string", "enum": names}),
        Shape::Option(inner) => json!({"anyOf": [{"type": "null"}, of_some(inner)]}),
        Shape::Result(ok, err) => json!({"oneOf": [side("ok", ok.as_deref()), side("err", err.as_deref())]}),
        Shape::Flags(names) => flags(names),
    }
}

/// An option inside an option stands in an object: `null` would say too little.
fn of_some(inner: &Shape) -> Value {
    if inner.is_option() { single("some", of(inner)) } else { of(inner) }
}

/// Wide integers can be written as text, for writers whose numbers lose digits.
fn integer(int: Int) -> Value {
    if int.is_wide() {
        return json!({"type": ["integer", "string"], "pattern": "^-?[0-9]{1,20}$"});
    }
    let number = |n: i128| i64::try_from(n).map_or(Value::Null, Value::from);
    json!({"type": "integer", "minimum": number(int.least()), "maximum": number(int.greatest())})
}

fn object(fields: &[(String, Shape)]) -> Value {
    let properties: Map<String, Value> = fields.iter().map(|(name, shape)| (name.clone(), of(shape))).collect();
    let required: Vec<&str> = fields.iter().filter(|(_, s)| !s.is_option()).map(|(name, _)| name.as_str()).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn single(name: &str, value: Value) -> Value {
    json!({"type": "object", "properties": {name: value}, "required": [name], "additionalProperties": false})
}

fn case(tag: &str, val: Option<&Shape>) -> Value {
    let mut schema = single("tag", json!({"const": tag}));
    if let Some(val) = val {
        schema["properties"]["val"] = of(val);
        schema["required"] = if val.is_option() { json!(["tag"]) } else { json!(["tag", "val"]) };
    }
    schema
}

fn side(name: &str, shape: Option<&Shape>) -> Value {
    single(name, shape.map_or_else(|| json!({"type": "null"}), of))
}

/// Both shapes that are in use: an object of booleans and an array of names.
fn flags(names: &[String]) -> Value {
    let properties: Map<String, Value> = names.iter().map(|n| (n.clone(), json!({"type": "boolean"}))).collect();
    json!({"anyOf": [
        {"type": "array", "items": {"type": "string", "enum": names}, "uniqueItems": true},
        {"type": "object", "properties": properties, "additionalProperties": false},
    ]})
}
