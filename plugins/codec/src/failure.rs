//! What an error means, in whatever protocol: the same reading for an answer outside 2xx and for an error inside a stream.

use airlock::provider::{FailureKind, Header, ProviderFailure};
use serde_json::Value;

mod meaning;
mod report;
mod wait;

use report::Report;

/// Characters of a message. The rest of an error body helps nobody.
const LONGEST: usize = 500;

/// An answer outside 2xx.
#[must_use]
pub fn classify(status: u16, headers: &[Header], body: &[u8]) -> ProviderFailure {
    let content_type = header(headers, "content-type").unwrap_or("");
    let report =
        if is_page(content_type, body) { Report { page: true, ..Report::default() } } else { Report::of_body(body) };
    let (kind, mut retryable) = meaning::of(Some(status), &report);
    match header(headers, "x-should-retry") {
        Some("true") => retryable = true,
        Some("false") => retryable = false,
        _ => {}
    }
    let retry_after_ms = wait::of_headers(headers).or(report.wait_ms);
    ProviderFailure { kind, message: http_message(status, content_type, &report), retryable, retry_after_ms }
}

/// An error object inside a 2xx answer.
#[must_use]
pub fn in_answer(error: &Value) -> ProviderFailure {
    let report = Report::of_value(error);
    let (kind, retryable) = meaning::of(report.status, &report);
    let message = if report.message.is_empty() { error.to_string() } else { report.message.clone() };
    ProviderFailure { kind, message: sentence(&message), retryable, retry_after_ms: report.wait_ms }
}

/// The connection or the body is not what an answer looks like.
#[must_use]
pub fn transport(message: &str, retryable: bool) -> ProviderFailure {
    ProviderFailure { kind: FailureKind::Transport, message: message.into(), retryable, retry_after_ms: None }
}

/// The body ended before the server said that it was complete.
#[must_use]
pub fn cut(has_begun: bool) -> ProviderFailure {
    let message = if has_begun {
        "The connection closed before the model's answer was complete"
    } else {
        "The server closed the connection without an answer"
    };
    transport(message, true)
}

/// A 2xx answer of a type that is none of this protocol.
#[must_use]
pub fn wrong_type(content_type: &str) -> ProviderFailure {
    let named = if content_type.is_empty() { "without a content type" } else { content_type };
    let message = format!(
        "The server answered HTTP 200 with a web page ({named}), not with a model's answer: check the base URL and any proxy"
    );
    transport(&sentence(&message), false)
}

fn http_message(status: u16, content_type: &str, report: &Report) -> String {
    if report.page {
        let hint = if matches!(status, 401 | 403) { "; it may want a sign-in" } else { "" };
        let page = format!(
            "HTTP {status} with a web page ({content_type}) from a gateway or proxy, not from the model server{hint}"
        );
        return sentence(&page);
    }
    if report.message.is_empty() {
        return format!("HTTP {status} without an explanation");
    }
    format!("{} (HTTP {status})", sentence(&report.message))
}

fn is_page(content_type: &str, body: &[u8]) -> bool {
    let start = body.trim_ascii_start();
    content_type.to_ascii_lowercase().contains("html") || start.first() == Some(&b'<')
}

/// One line of bounded length.
#[must_use]
pub fn sentence(text: &str) -> String {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty()).collect();
    let line = words.join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn header<'a>(headers: &'a [Header], name: &str) -> Option<&'a str> {
    headers.iter().find(|h| h.name.eq_ignore_ascii_case(name)).map(|h| h.value.trim())
}

#[cfg(test)]
mod tests;
