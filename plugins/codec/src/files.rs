//! Files and results in words, where a protocol has no place for them.

use airlock::provider::{File, ToolResult};
use std::borrow::Cow;

/// The text of a file that is text; of any other a line that says what cannot be shown.
#[must_use]
pub fn as_text(file: &File) -> String {
    let (name, mime) = (file.name.as_deref().unwrap_or("file"), file.mime.as_str());
    let is_text = mime.starts_with("text/") || mime == "application/json";
    match std::str::from_utf8(&file.data) {
        Ok(text) if is_text => format!("{name}:\n{text}"),
        _ => format!("[The file {name} ({mime}, {} bytes) cannot be shown to this model]", file.data.len()),
    }
}

/// The text of a result for a protocol without a mark for failed calls: the failure is said in words, once.
#[must_use]
pub fn result_text(result: &ToolResult) -> Cow<'_, str> {
    let text = result.text.as_str();
    let says_so = text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error"));
    match (result.is_error, text.trim().is_empty()) {
        (true, true) => Cow::Borrowed("Error: the call failed without a word"),
        (false, true) => Cow::Borrowed("(no output)"),
        (true, false) if !says_so => Cow::Owned(format!("Error: {text}")),
        _ => Cow::Borrowed(text),
    }
}

/// Asks for an answer of this shape where the protocol cannot ask for it together with tools. The host checks the answer all the same.
#[must_use]
pub fn schema_in_words(schema: &str) -> String {
    format!("Give your final answer as JSON alone, without any other text, valid against this JSON Schema:\n{schema}")
}
