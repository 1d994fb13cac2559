//! What the end of an answer means.

use airlock::provider::{FailureKind, FinishReason, ProviderFailure};
use codec::failure;
use serde_json::Value;

pub enum Ending {
    /// The reason, and the server's own word for it.
    Step(FinishReason, String),
    Failed(ProviderFailure),
}

/// `event`: what the event said of the status, which stands where the response itself does not say it.
pub fn of(response: &Value, event: &str) -> Ending {
    let said = |text: &str| text.chars().take(200).collect::<String>();
    match response["status"].as_str().unwrap_or(event) {
        "failed" => Ending::Failed(failed(response)),
        "cancelled" => Ending::Failed(broken_off("The provider broke off the answer (cancelled)")),
        "incomplete" => {
            let reason = response["incomplete_details"]["reason"].as_str().unwrap_or("");
            Ending::Step(cut(reason), said(if reason.is_empty() { "incomplete" } else { reason }))
        }
        _ if !response["error"].is_null() => Ending::Failed(failed(response)),
        "completed" | "" => Ending::Step(FinishReason::Stop, "completed".into()),
        other => Ending::Step(FinishReason::Unknown, said(other)),
    }
}

fn cut(reason: &str) -> FinishReason {
    match reason {
        "max_output_tokens" | "max_tokens" => FinishReason::Length,
        "content_filter" => FinishReason::ContentFilter,
        _ => FinishReason::Unknown,
    }
}

fn failed(response: &Value) -> ProviderFailure {
    match &response["error"] {
        Value::Null => broken_off("The provider failed to answer and did not say why"),
        error => failure::in_answer(error),
    }
}

fn broken_off(message: &str) -> ProviderFailure {
    ProviderFailure { kind: FailureKind::Server, message: message.into(), retryable: true, retry_after_ms: None }
}
