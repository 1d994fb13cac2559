//! The events of the wire by name, and what the end of an answer means.

use airlock::provider::FinishReason;

pub fn is_known(kind: &str) -> bool {
    matches!(
        kind,
        "message_start"
            | "content_block_start"
            | "content_block_delta"
            | "content_block_stop"
            | "message_delta"
            | "message_stop"
            | "ping"
    )
}

/// The reason that the loop can act upon. Source: the vendor's page "Handling stop reasons".
pub fn effective(said: Option<&str>, has_calls: bool) -> FinishReason {
    match (said.unwrap_or(""), has_calls) {
        // What the window cut is a part of an answer, as with any other limit.
        ("max_tokens" | "model_context_window_exceeded", _) => FinishReason::Length,
        ("refusal", _) => FinishReason::ContentFilter,
        (_, true) => FinishReason::ToolCalls,
        // A turn that promises calls and has none is over: going on would ask the same again for ever.
        ("end_turn" | "stop_sequence" | "tool_use", false) => FinishReason::Stop,
        ("pause_turn", false) => FinishReason::Pause,
        _ => FinishReason::Unknown,
    }
}
