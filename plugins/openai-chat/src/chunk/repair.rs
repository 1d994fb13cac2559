//! The slow path: text that is not quite JSON, and chunks that are not quite of the shape.

use super::Unreadable;
use serde_json::Value;
use std::fmt::Write as _;

/// Gives back a chunk of the right shape, without what had another type.
pub fn mend(bytes: &[u8]) -> Result<String, Unreadable> {
    let text = text(bytes);
    let mut value: Value = serde_json::from_str(&text)
        .map_err(|e| if e.is_eof() { Unreadable::Incomplete } else { Unreadable::NotJson })?;
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

/// Text with U+FFFD for bytes that are no UTF-8 and for escapes of half a surrogate pair.
pub fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = escape(&rest[at..], &mut out);
    }
    out.push_str(rest);
    out
}

/// Copies the escape at the start of `rest` and gives what follows.
fn escape<'a>(rest: &'a str, out: &mut String) -> &'a str {
    let (Some(unit), low) = (unit(rest), rest.get(6..).and_then(unit)) else {
        // A backslash and the character after it belong together: `\\u` is no escape of a character.
        let end = rest.char_indices().nth(2).map_or(rest.len(), |(at, _)| at);
        out.push_str(&rest[..end]);
        return &rest[end..];
    };
    let length = match (unit, low) {
        (0xD800..=0xDBFF, Some(0xDC00..=0xDFFF)) => 12,
        (0xD800..=0xDFFF, _) => {
            out.push('\u{fffd}');
            return &rest[6..];
        }
        _ => 6,
    };
    let _ = out.write_str(&rest[..length]);
    &rest[length..]
}

fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|b| b.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
}
