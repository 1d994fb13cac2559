//! What an error body says, whatever its shape.

use super::wait;
use crate::json;
use serde_json::Value;

/// The parts of an error body that mean something.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    pub message: String,
    /// The codes of the error: strings of the server's own.
    pub codes: Vec<String>,
    /// A numeric code that is an HTTP status, as llama.cpp and OpenRouter give it.
    pub status: Option<u16>,
    pub wait_ms: Option<u64>,
    /// The body is a web page: nothing in it is for the person.
    pub page: bool,
    /// There was no body.
    pub empty: bool,
}

impl Report {
    pub fn of_body(body: &[u8]) -> Self {
        let text = body.trim_ascii();
        if text.is_empty() {
            return Self { empty: true, ..Self::default() };
        }
        match json::read(text) {
            Ok(value) => Self::of_value(&value),
            Err(_) => Self::of_text(&String::from_utf8_lossy(&text[..text.len().min(8 << 10)])),
        }
    }

    fn of_text(text: &str) -> Self {
        Self { message: text.into(), wait_ms: wait::of_words(text), ..Self::default() }
    }

    /// Reads `{"error": {…}}`, `{"error": "…"}`, `{"object": "error", …}`, `[{"error": …}]`, `{"detail": …}` and their likes.
    pub fn of_value(value: &Value) -> Self {
        let outer = match value {
            Value::Array(items) => items.first().unwrap_or(value),
            _ => value,
        };
        let error = match &outer["error"] {
            Value::Null | Value::Bool(_) => outer,
            given => given,
        };
        let mut report = Self::of_text(&message(error, outer));
        report.read_codes(error);
        report.wait_ms = report.wait_ms.or_else(|| wait::of_details(error));
        report.page = looks_like_page(&report.message);
        report
    }

    fn read_codes(&mut self, error: &Value) {
        for key in ["code", "type", "status"] {
            match &error[key] {
                Value::String(text) => self.read_code(text),
                Value::Number(n) => self.status = self.status.or(n.as_u64().and_then(http_status)),
                _ => {}
            }
        }
        // Google's error model says the precise reason among the details.
        let reasons = error["details"].as_array().into_iter().flatten().filter_map(|d| d["reason"].as_str());
        reasons.for_each(|reason| self.codes.push(reason.to_ascii_lowercase()));
    }

    fn read_code(&mut self, text: &str) {
        match text.parse::<u64>() {
            Ok(number) => self.status = self.status.or(http_status(number)),
            Err(_) => self.codes.push(text.to_ascii_lowercase()),
        }
    }

    /// All words at once, in lower case, for patterns.
    pub fn words(&self) -> String {
        format!("{} {}", self.codes.join(" "), self.message).to_lowercase()
    }
}

fn http_status(number: u64) -> Option<u16> {
    u16::try_from(number).ok().filter(|s| (400..600).contains(s))
}

fn message(error: &Value, outer: &Value) -> String {
    let own = said(error).or_else(|| said(outer)).unwrap_or_default();
    // A router passes on what the server behind it said.
    let upstream = &error["metadata"]["raw"];
    let upstream = upstream
        .as_str()
        .and_then(|raw| serde_json::from_str(raw).ok().and_then(|v: Value| nested(&v)).or(Some(raw.into())));
    // What the model wrote instead of a call.
    let written = upstream.or_else(|| error["failed_generation"].as_str().map(Into::into));
    match written {
        Some(more) if !own.contains(&more) => format!("{own}: {more}"),
        _ => own,
    }
}

fn nested(value: &Value) -> Option<String> {
    said(&value["error"]).or_else(|| said(value))
}

/// The first text under one of the names that are in use.
fn said(value: &Value) -> Option<String> {
    if let Some(text) = value.as_str() {
        return Some(text.into());
    }
    ["message", "detail", "msg", "error_description"].iter().find_map(|key| match &value[*key] {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Array(items) => items.first().and_then(said),
        Value::Object(_) => said(&value[*key]),
        _ => None,
    })
}

fn looks_like_page(message: &str) -> bool {
    let start = message.trim_start().get(..9).unwrap_or("").to_ascii_lowercase();
    start.starts_with("<html") || start.starts_with("<!doctype")
}
