//! The slow path: text that is not quite JSON, and chunks that are not quite of the shape.

use codec::{Unreadable, json};
use serde_json::Value;

/// Gives back a chunk of the right shape, without what had another type.
pub fn mend(bytes: &[u8]) -> Result<String, Unreadable> {
    let mut value = json::read(bytes)?;
    // Some gateways put an error into a list of one.
    if let Value::Array(items) = &mut value {
        value = if items.is_empty() { Value::Null } else { items.swap_remove(0) };
    }
    if !value.is_object() {
        return Err(Unreadable::NotJson);
    }
    shape(&mut value);
    Ok(value.to_string())
}

fn shape(chunk: &mut Value) {
    keep(chunk, "usage", Value::is_object);
    keep(chunk, "x_groq", Value::is_object);
    keep(chunk, "choices", Value::is_array);
    for usage in ["prompt_tokens_details", "completion_tokens_details"] {
        keep(&mut chunk["usage"], usage, Value::is_object);
    }
    for choice in items(chunk, "choices") {
        for key in ["delta", "message"] {
            keep(choice, key, Value::is_object);
            shape_delta(&mut choice[key]);
        }
    }
}

fn shape_delta(delta: &mut Value) {
    if let Some(one @ Value::Object(_)) = delta.get_mut("tool_calls") {
        *one = Value::Array(vec![one.take()]);
    }
    keep(delta, "tool_calls", Value::is_array);
    keep(delta, "function_call", Value::is_object);
    for call in items(delta, "tool_calls") {
        keep(call, "function", Value::is_object);
    }
}

/// Removes a member of the wrong type. Indexing a missing member made it null before, which is no object either.
fn keep(value: &mut Value, key: &str, right: fn(&Value) -> bool) {
    let Some(object) = value.as_object_mut() else { return };
    if object.get(key).is_some_and(|v| !right(v)) {
        object.shift_remove(key);
    }
}

/// The objects of a list; what is none of them goes.
fn items<'a>(value: &'a mut Value, key: &str) -> impl Iterator<Item = &'a mut Value> {
    let list = value.get_mut(key).and_then(Value::as_array_mut);
    list.into_iter().flat_map(|list| {
        list.retain(Value::is_object);
        list.iter_mut()
    })
}
