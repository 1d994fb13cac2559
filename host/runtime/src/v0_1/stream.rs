//! Stream events of version 0.1 as the host's. Texts are moved, not copied.

use super::bindings::codec::exports::airlock::plugin::provider as wit;
use super::tool::cut;
use model::budget::{CacheTokens, Tokens};
use model::id::CallId;
use model::message::FinishReason;
use model::provider::{FailureKind, InlineFile, ModelCall, ModelResult, ProviderFailure, StreamEvent};
use std::time::Duration;

/// Bytes of a failure's sentence.
const MESSAGE: usize = 4 << 10;

pub fn event(given: wit::StreamEvent) -> StreamEvent {
    use wit::StreamEvent as W;
    match given {
        W::StepStart => StreamEvent::StepStart,
        W::TextStart(id) => StreamEvent::TextStart { id },
        W::TextDelta(d) => StreamEvent::TextDelta { id: d.id, text: d.text },
        W::TextEnd(e) => StreamEvent::TextEnd { id: e.id, opaque: e.opaque },
        W::ReasoningStart(id) => StreamEvent::ReasoningStart { id },
        W::ReasoningDelta(d) => StreamEvent::ReasoningDelta { id: d.id, text: d.text },
        W::ReasoningEnd(e) => StreamEvent::ReasoningEnd { id: e.id, opaque: e.opaque },
        W::ToolInputStart(s) => StreamEvent::ToolInputStart { id: CallId::given(&s.id), name: s.name },
        W::ToolInputDelta(d) => StreamEvent::ToolInputDelta { id: CallId::given(&d.id), text: d.text },
        W::ToolInputEnd(id) => StreamEvent::ToolInputEnd { id: CallId::given(&id) },
        W::ToolCall(c) => StreamEvent::ToolCall(call(c)),
        W::ToolResult(r) => StreamEvent::ToolResult(result(r)),
        W::StepFinish(f) => finish(f),
        W::Failure(f) => StreamEvent::Failure(failure(f)),
    }
}

fn call(c: wit::ToolCall) -> ModelCall {
    ModelCall { id: CallId::given(&c.id), name: c.name, input: c.input, opaque: c.opaque }
}

fn result(r: wit::ToolResult) -> ModelResult {
    let files = r.files.into_iter().map(|f| InlineFile { mime: f.mime, name: f.name, data: f.data }).collect();
    ModelResult { call_id: CallId::given(&r.call_id), name: r.name, text: r.text, is_error: r.is_error, files }
}

fn finish(f: wit::StepFinish) -> StreamEvent {
    let reason = match f.reason {
        wit::FinishReason::Stop => FinishReason::Stop,
        wit::FinishReason::Length => FinishReason::Length,
        wit::FinishReason::ToolCalls => FinishReason::ToolCalls,
        wit::FinishReason::ContentFilter => FinishReason::ContentFilter,
        wit::FinishReason::Pause => FinishReason::Pause,
        wit::FinishReason::Error => FinishReason::Error,
        wit::FinishReason::Unknown => FinishReason::Unknown,
    };
    let metadata = f.metadata.and_then(|m| serde_json::from_str(&m).ok());
    StreamEvent::StepFinish { reason, usage: f.usage.map(usage), metadata }
}

fn usage(u: wit::Usage) -> Tokens {
    let cache = CacheTokens { read: u.cache_read, write: u.cache_write };
    Tokens { input: u.input, output: u.output, reasoning: u.reasoning, cache }
}

pub fn failure(f: wit::ProviderFailure) -> ProviderFailure {
    use wit::FailureKind as W;
    let kind = match f.kind {
        W::Auth => FailureKind::Auth,
        W::Quota => FailureKind::Quota,
        W::RateLimit => FailureKind::RateLimit,
        W::Overloaded => FailureKind::Overloaded,
        W::ContextOverflow => FailureKind::ContextOverflow,
        W::InvalidRequest => FailureKind::InvalidRequest,
        W::ContentFilter => FailureKind::ContentFilter,
        W::Server => FailureKind::Server,
        W::Transport => FailureKind::Transport,
        W::MalformedToolCall => FailureKind::MalformedToolCall,
        W::Unknown => FailureKind::Unknown,
    };
    let retry_after = f.retry_after_ms.map(Duration::from_millis);
    ProviderFailure { kind, message: cut(f.message, MESSAGE), retryable: f.retryable, retry_after }
}
