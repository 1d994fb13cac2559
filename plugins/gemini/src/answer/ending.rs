//! What the end of an answer means (ai.google.dev/api/generate-content#FinishReason).

use airlock::provider::FailureKind::{self, ContentFilter, InvalidRequest, MalformedToolCall, Server};
use airlock::provider::{FinishReason, ProviderFailure};
use codec::failure::sentence;

/// The reason that the loop can act upon, or the failure that the server put into the reason.
pub fn effective(said: &str, message: &str, has_calls: bool) -> Result<FinishReason, ProviderFailure> {
    if let Some((kind, retryable, sentence)) = failed(said) {
        return Err(failure(kind, retryable, sentence, said, message));
    }
    Ok(match (named(said), has_calls) {
        (cut @ (FinishReason::Length | FinishReason::ContentFilter), _) => cut,
        // The server says STOP after a call.
        (_, true) => FinishReason::ToolCalls,
        (other, false) => other,
    })
}

/// The prompt itself was refused; the same one will be again.
pub fn blocked(why: &str) -> ProviderFailure {
    failure(ContentFilter, false, "The provider blocked the prompt", why, "")
}

fn named(said: &str) -> FinishReason {
    match said {
        "STOP" => FinishReason::Stop,
        "MAX_TOKENS" => FinishReason::Length,
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "MODEL_ARMOR"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => FinishReason::ContentFilter,
        _ => FinishReason::Unknown,
    }
}

fn failed(said: &str) -> Option<(FailureKind, bool, &'static str)> {
    Some(match said {
        "MALFORMED_FUNCTION_CALL" => {
            (MalformedToolCall, true, "The model wrote a tool call that its own server could not read")
        }
        "UNEXPECTED_TOOL_CALL" => (MalformedToolCall, true, "The model called a tool that it was not given"),
        "TOO_MANY_TOOL_CALLS" => (MalformedToolCall, true, "The model called too many tools at once"),
        "MALFORMED_RESPONSE" => (Server, true, "The model wrote an answer that its own server could not read"),
        "MISSING_THOUGHT_SIGNATURE" => {
            (InvalidRequest, false, "The provider misses the signature of an earlier thought")
        }
        _ => return None,
    })
}

fn failure(kind: FailureKind, retryable: bool, text: &str, said: &str, message: &str) -> ProviderFailure {
    let colon = if message.is_empty() { "" } else { ": " };
    let message = sentence(&format!("{text} ({said}){colon}{message}"));
    ProviderFailure { kind, message, retryable, retry_after_ms: None }
}
