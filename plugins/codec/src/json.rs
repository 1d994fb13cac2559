//! Text that is not quite JSON.

use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::fmt::Write as _;

/// Why bytes are no JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// They end inside a JSON text.
    Incomplete,
    NotJson,
}

impl From<serde_json::Error> for Unreadable {
    fn from(error: serde_json::Error) -> Self {
        if error.is_eof() { Self::Incomplete } else { Self::NotJson }
    }
}

/// Reads any JSON, with tolerance for broken text in its strings.
///
/// # Errors
/// [`Unreadable`].
pub fn read(bytes: &[u8]) -> Result<Value, Unreadable> {
    serde_json::from_slice(bytes).or_else(|_| Ok(serde_json::from_str(&text(bytes))?))
}

/// A value that borrows its texts: most of a stream's events are read once and kept nowhere.
pub use serde_json_borrow::Value as Lean;

/// As [`read`], without a copy of each text.
///
/// # Errors
/// [`Unreadable`].
pub fn with<T>(bytes: &[u8], then: impl FnOnce(&Lean<'_>) -> T) -> Result<T, Unreadable> {
    if let Ok(value) = serde_json::from_slice(bytes) {
        return Ok(then(&value));
    }
    let mended = text(bytes);
    let value = serde_json::from_str(&mended)?;
    Ok(then(&value))
}

/// Servers parse the arguments of earlier calls again, and fail the whole request where they are no object.
#[must_use]
pub fn arguments(input: &str) -> Cow<'_, str> {
    if serde_json::from_str::<Map<String, Value>>(input).is_ok() {
        return Cow::Borrowed(input);
    }
    if input.trim().is_empty() {
        return Cow::Borrowed("{}");
    }
    Cow::Owned(json!({"invalid_arguments": input}).to_string())
}

/// As [`arguments`], for a protocol that knows them as objects.
#[must_use]
pub fn object(input: &str) -> Value {
    match serde_json::from_str::<Map<String, Value>>(input) {
        Ok(object) => object.into(),
        Err(_) if input.trim().is_empty() => json!({}),
        Err(_) => json!({"invalid_arguments": input}),
    }
}

/// Text with U+FFFD for bytes that are no UTF-8 and for escapes of half a surrogate pair.
#[must_use]
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
