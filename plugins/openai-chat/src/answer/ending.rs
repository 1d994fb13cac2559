//! What the end of an answer means, with a look at what is in it: servers often say the wrong word.

use airlock::provider::FailureKind::{self, ContextOverflow, MalformedToolCall, Overloaded, Server};
use airlock::provider::{FinishReason, ProviderFailure};
use codec::failure::{self, sentence};

/// The reason that the loop can act upon, or the failure that the server put into the reason.
pub fn effective(said: Option<&str>, has_calls: bool) -> Result<FinishReason, ProviderFailure> {
    let said = said.unwrap_or("");
    if let Some((kind, message)) = failed(said) {
        return Err(failure(kind, message, said));
    }
    Ok(match (named(said), has_calls) {
        (cut @ (FinishReason::Length | FinishReason::ContentFilter), _) => cut,
        // Some servers say `stop`, or nothing, after a call.
        (_, true) => FinishReason::ToolCalls,
        // A turn that promises calls and has none is over: going on would ask the same again for ever.
        (FinishReason::ToolCalls, false) => FinishReason::Stop,
        (other, false) => other,
    })
}

fn named(said: &str) -> FinishReason {
    match said.to_ascii_lowercase().as_str() {
        "stop" | "end_turn" | "eos" | "eos_token" | "stop_sequence" | "stop_token" | "completed" => FinishReason::Stop,
        "length" | "max_tokens" | "model_length" | "max_output_tokens" => FinishReason::Length,
        "tool_calls" | "tool_call" | "tool_use" | "function_call" => FinishReason::ToolCalls,
        "content_filter" | "safety" | "sensitive" | "prohibited_content" => FinishReason::ContentFilter,
        _ => FinishReason::Unknown,
    }
}

fn failed(said: &str) -> Option<(FailureKind, &'static str)> {
    let said = said.to_ascii_lowercase();
    // Gemini's compatible endpoint: `function_call_filter: MALFORMED_FUNCTION_CALL`, with no content and status 200.
    if said.contains("malformed_function_call") {
        return Some((MalformedToolCall, "The model wrote a tool call that its own server could not read"));
    }
    Some(match said.as_str() {
        "error" | "network_error" | "abort" => (Server, "The provider broke off the answer"),
        "insufficient_system_resource" => (Overloaded, "The provider broke off the answer for want of resources"),
        "model_context_window_exceeded" => (ContextOverflow, "The conversation does not fit into the model's window"),
        _ => return None,
    })
}

fn failure(kind: FailureKind, message: &str, said: &str) -> ProviderFailure {
    let retryable = kind != ContextOverflow;
    ProviderFailure {
        kind,
        message: failure::sentence(&format!("{message} ({})", sentence(said))),
        retryable,
        retry_after_ms: None,
    }
}
