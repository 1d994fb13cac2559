//! From what an error says to its kind. The server's own code is the surest witness, then its words, then the status.

use super::report::Report;
use airlock::provider::FailureKind::{self, *};

/// The kind, and whether the same request may succeed later.
pub fn of(status: Option<u16>, report: &Report) -> (FailureKind, bool) {
    let kind = kind(status, report);
    (kind, may_pass(kind) && !is_final(status))
}

fn may_pass(kind: FailureKind) -> bool {
    matches!(kind, RateLimit | Overloaded | Server | Transport | MalformedToolCall)
}

/// 501 says that the server cannot, 3xx that it is elsewhere.
fn is_final(status: Option<u16>) -> bool {
    status.is_some_and(|s| s == 501 || s < 400)
}

fn kind(status: Option<u16>, report: &Report) -> FailureKind {
    let words = report.words();
    by_code(&SURE_CODES, report)
        .or_else(|| by_words(status, report, &words))
        .or_else(|| status.or(report.status).and_then(by_status))
        .or_else(|| by_code(&BROAD_CODES, report))
        .unwrap_or(Server)
}

/// Codes that settle the matter.
const SURE_CODES: [(&str, FailureKind); 30] = [
    ("context_length_exceeded", ContextOverflow),
    ("exceed_context_size_error", ContextOverflow),
    ("model_context_window_exceeded", ContextOverflow),
    ("request_too_large", ContextOverflow),
    ("insufficient_quota", Quota),
    ("billing_hard_limit_reached", Quota),
    ("billing_not_active", Quota),
    ("insufficient_balance", Quota),
    ("usage_not_included", Quota),
    ("billing_error", Quota),
    ("exceeded_current_quota_error", Quota),
    ("invalid_api_key", Auth),
    ("authentication_error", Auth),
    ("invalid_authentication_error", Auth),
    ("permission_error", Auth),
    ("unauthenticated", Auth),
    ("rate_limit_exceeded", RateLimit),
    ("rate_limit_error", RateLimit),
    ("rate_limit_reached_error", RateLimit),
    ("too_many_requests", RateLimit),
    ("api_key_invalid", Auth),
    ("server_is_overloaded", Overloaded),
    ("overloaded_error", Overloaded),
    ("engine_overloaded_error", Overloaded),
    ("slow_down", Overloaded),
    ("content_filter", ContentFilter),
    ("content_policy_violation", ContentFilter),
    ("data_inspection_failed", ContentFilter),
    ("tool_use_failed", MalformedToolCall),
    ("malformed_function_call", MalformedToolCall),
];

/// Codes that servers use for many things.
const BROAD_CODES: [(&str, FailureKind); 15] = [
    ("resource_exhausted", RateLimit),
    ("invalid_prompt", InvalidRequest),
    ("invalid_request_error", InvalidRequest),
    ("invalid_argument", InvalidRequest),
    ("badrequesterror", InvalidRequest),
    ("not_supported_error", InvalidRequest),
    ("not_found_error", InvalidRequest),
    ("model_not_found", InvalidRequest),
    ("permission_denied", Auth),
    ("unavailable_error", Overloaded),
    ("unavailable", Overloaded),
    ("timeout", Transport),
    ("timeout_error", Transport),
    ("server_error", Server),
    ("api_error", Server),
];

fn by_code(table: &[(&str, FailureKind)], report: &Report) -> Option<FailureKind> {
    report.codes.iter().find_map(|code| table.iter().find(|(name, _)| name == code).map(|(_, kind)| *kind))
}

fn by_words(status: Option<u16>, report: &Report, words: &str) -> Option<FailureKind> {
    let throttled = status == Some(429) || any(&THROTTLED, words);
    if !throttled && (any(&OVERFLOW, words) || is_bare(status, report)) {
        return Some(ContextOverflow);
    }
    // A free tier's quota that comes back by itself is a rate limit: it says when.
    if any(&QUOTA, words) && report.wait_ms.is_none() {
        return Some(Quota);
    }
    let refused = matches!(status, Some(400 | 403)) && any(&FLAGGED, words);
    // Ollama, llama.cpp: their own parser gave up on what the model wrote.
    let garbled = words.contains("error parsing tool call") || words.contains("failed to parse tool call");
    refused.then_some(ContentFilter).or(garbled.then_some(MalformedToolCall))
}

/// Some servers answer a request that is too long with a status and nothing else.
fn is_bare(status: Option<u16>, report: &Report) -> bool {
    report.empty && matches!(status, Some(400 | 413))
}

fn by_status(status: u16) -> Option<FailureKind> {
    Some(match status {
        401 | 403 | 407 => Auth,
        402 => Quota,
        413 => ContextOverflow,
        408 | 425 => Transport,
        409 => Server,
        429 => RateLimit,
        498 | 503 | 529 => Overloaded,
        501 => InvalidRequest,
        400..=499 => InvalidRequest,
        500..=599 => Server,
        300..=399 => Transport,
        _ => return None,
    })
}

/// Not an overflow, whatever else is said.
const THROTTLED: [&str; 7] = [
    "throttl",
    "service unavailable",
    "rate limit",
    "too many requests",
    "tokens per min",
    "please wait",
    "try again in",
];

/// `*` stands for anything between. One line a wording; the servers known to use it are named where it is not plain.
const OVERFLOW: [&str; 32] = [
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "input too long",
    "request_too_large",
    "exceeds the context window",
    "exceed*context length",
    // Anthropic: the input and `max_tokens` together
    "exceed context limit",
    // Gemini
    "input token count*exceeds the maximum",
    "tokens in request more than max",
    // xAI
    "maximum prompt length is",
    // Groq
    "reduce the length of the messages",
    // OpenAI, OpenRouter, DeepSeek, vLLM
    "maximum context length is",
    "maximum allowed input length",
    "longer than the model's context length",
    // Copilot
    "token*exceeds the limit of",
    // llama.cpp
    "exceeds the available context size",
    "context size has been exceeded",
    // LM Studio
    "greater than the context length",
    // MiniMax
    "context window exceeds limit",
    // Kimi
    "exceeded model token limit",
    "context_length_exceeded",
    "model_context_window_exceeded",
    "request entity too large",
    "context length is only",
    "exceeded max context",
    "too large for model with*maximum",
    "prompt has*tokens*configured",
    "too many tokens",
    "token limit exceeded",
    "too many images",
    "image count*exceed",
];

const QUOTA: [&str; 7] = [
    "exceeded your current quota",
    "insufficient balance",
    "insufficient credit",
    "credit balance is too low",
    "requires more credits",
    "billing hard limit",
    "reached your specified api usage limits",
];

const FLAGGED: [&str; 4] = ["flagged", "requires moderation", "content management policy", "content policy"];

fn any(patterns: &[&str], words: &str) -> bool {
    patterns.iter().any(|p| like(p, words))
}

/// The pieces between the stars occur in this order.
fn like(pattern: &str, words: &str) -> bool {
    let mut rest = words;
    pattern.split('*').all(|piece| match rest.find(piece) {
        Some(at) => {
            rest = &rest[at + piece.len()..];
            true
        }
        None => false,
    })
}
