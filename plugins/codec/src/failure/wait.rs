//! How long a server asks to wait, in milliseconds. A codec has no clock: what is given as a date is read against the answer's own date.

use super::header;
use airlock::provider::Header;
use serde_json::Value;
use std::time::Duration;

/// Nobody waits longer; a larger number is a mistake.
const LONGEST: f64 = 7.0 * 24.0 * 3600.0 * 1000.0;

pub fn of_headers(headers: &[Header]) -> Option<u64> {
    let milliseconds = header(headers, "retry-after-ms").and_then(|v| v.parse().ok()).and_then(bounded);
    milliseconds.or_else(|| retry_after(headers))
}

fn retry_after(headers: &[Header]) -> Option<u64> {
    let value = header(headers, "retry-after")?;
    if let Ok(seconds) = value.parse::<f64>() {
        return bounded(seconds * 1000.0);
    }
    let until = httpdate::parse_http_date(value).ok()?;
    let now = httpdate::parse_http_date(header(headers, "date")?).ok()?;
    let wait = until.duration_since(now).unwrap_or(Duration::ZERO);
    bounded(wait.as_secs_f64() * 1000.0)
}

/// `"retryDelay": "34s"` among the details of Google's error model.
pub fn of_details(error: &Value) -> Option<u64> {
    let details = error["details"].as_array()?;
    details.iter().find_map(|d| d["retryDelay"].as_str()).and_then(duration)
}

/// "Please try again in 1m2.5s."
pub fn of_words(message: &str) -> Option<u64> {
    let lower = message.to_ascii_lowercase();
    let words = ["try again in ", "retry after ", "retry in "].iter().find_map(|w| lower.split_once(w))?.1;
    duration(words)
}

/// Sums `1h`, `2m`, `3.5s`, `4ms` and `5 seconds` up to the first word that is none of them.
fn duration(text: &str) -> Option<u64> {
    let mut total = None;
    let mut rest = text.trim_start();
    while let Some((milliseconds, after)) = term(rest) {
        total = Some(total.unwrap_or(0.0) + milliseconds);
        rest = after;
    }
    bounded(total?)
}

fn term(text: &str) -> Option<(f64, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..digits].parse().ok()?;
    let rest = text[digits..].trim_start_matches(' ');
    let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    Some((number * unit(&rest[..letters])?, &rest[letters..]))
}

fn unit(name: &str) -> Option<f64> {
    Some(match name {
        "ms" | "milliseconds" => 1.0,
        "s" | "sec" | "second" | "seconds" => 1000.0,
        "m" | "min" | "minute" | "minutes" => 60_000.0,
        "h" | "hour" | "hours" => 3_600_000.0,
        _ => return None,
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
fn bounded(milliseconds: f64) -> Option<u64> {
    (0.0..=LONGEST).contains(&milliseconds).then(|| milliseconds.ceil() as u64)
}
