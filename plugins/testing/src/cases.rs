//! Field reports as data: what servers really sent, and what has to come of it.

use crate::fold::{Folded, after_each_cr, chunks, fold};
use crate::laws::decode;
use airlock::provider::{FailureKind, FinishReason, Provider};
use serde_json::{Value, json};

/// Runs the `count` cases of a file through an adapter, at many cuts.
pub fn run_all<P: Provider>(file: &str, count: usize) {
    let file: Value = serde_json::from_str(file).unwrap();
    let cases = file["cases"].as_array().unwrap();
    assert_eq!(cases.len(), count);
    cases.iter().for_each(run::<P>);
}

fn run<P: Provider>(case: &Value) {
    let (id, body) = (case["id"].as_str().unwrap(), case["sse"].as_str().unwrap().as_bytes());
    let status = case["http"]["status"].as_u64().unwrap_or(200);
    let content_type = case["http"]["headers"]["content-type"].as_str().unwrap_or("text/event-stream");
    if status != 200 {
        let failure = P::classify(u16::try_from(status).unwrap(), &[], body);
        return check(id, &case["expect"], &Folded { failure: Some(failure), ..Folded::default() });
    }
    let whole = decode::<P::Decoder>("mock", content_type, &[body]);
    check(id, &case["expect"], &fold(&whole));
    for pieces in [chunks(body, &[1]), chunks(body, &[3]), after_each_cr(body)] {
        assert_eq!(decode::<P::Decoder>("mock", content_type, &pieces), whole, "{id}");
    }
}

fn check(id: &str, expect: &Value, got: &Folded) {
    for (key, expected) in expect.as_object().unwrap() {
        let actual = match key.as_str() {
            "text" => json!(got.text),
            "reasoning" => json!(got.reasoning),
            "reasoning_blocks" => {
                got.thoughts.iter().map(|(text, opaque)| json!({"text": text, "signed": opaque.is_some()})).collect()
            }
            "tool_calls" => calls(got),
            // Seen from here: none of the calls has arguments that a tool could be run with.
            "tool_calls_executed" => json!(got.calls.iter().filter(|c| object(&c.input).is_some()).count() == 0),
            // Seen by the tests of the whole program, which has a next request.
            "invalid_calls"
            | "next_request_has_error_result_for"
            | "next_request_contains"
            | "next_request_order"
            | "next_request_gemini" => {
                continue;
            }
            "finish" => json!(finish(got)),
            "error" => error(got),
            "usage" => usage(got),
            "max_provider_requests" => continue,
            other => panic!("{id}: {other} is not checked"),
        };
        let expected = if key == "tool_calls_executed" { &json!(true) } else { expected };
        if let Some(words) = expected["message_contains"].as_str() {
            assert!(actual["message"].as_str().is_some_and(|m| m.contains(words)), "{id}: {actual}");
        }
        assert!(fits(expected, &actual), "{id}: {key} is {actual}, expected {expected}");
    }
    assert!(got.results.len() <= got.calls.len(), "{id}: a result has its call");
    for call in expect["invalid_calls"].as_array().into_iter().flatten() {
        let found = got.calls.iter().find(|c| call["id"] == json!(c.id) && call["name"] == json!(c.name));
        assert!(
            found.is_some_and(|c| object(&c.input).is_none()),
            "{id}: {call} is given out, to be answered with an error"
        );
    }
}

/// Where a plain value is a list, any member is accepted; of an object only the listed members count.
fn fits(expected: &Value, actual: &Value) -> bool {
    match expected {
        Value::Array(any) if !actual.is_array() => any.contains(actual),
        Value::Array(each) => actual.as_array().is_some_and(|all| {
            all.len() == each.len() && each.iter().zip(all).all(|(expected, actual)| fits(expected, actual))
        }),
        // That ids are unique is checked for every stream.
        Value::Object(members) if members.contains_key("nonempty_unique") => {
            actual.as_str().is_some_and(|a| !a.is_empty())
        }
        Value::Object(members) => {
            members.iter().all(|(key, value)| key == "message_contains" || fits(value, &actual[key]))
        }
        _ => expected == actual,
    }
}

fn object(input: &str) -> Option<Value> {
    serde_json::from_str(input).ok().filter(Value::is_object)
}

fn calls(got: &Folded) -> Value {
    got.calls.iter().map(|c| json!({"id": c.id, "name": c.name, "input": object(&c.input)})).collect()
}

fn usage(got: &Folded) -> Value {
    let usage = got.usage.unwrap();
    json!({"input_total": usage.input + usage.cache_read + usage.cache_write, "output_total": usage.output + usage.reasoning,
        "reasoning": usage.reasoning, "cache_read": usage.cache_read, "cache_write": usage.cache_write})
}

fn finish(got: &Folded) -> &'static str {
    match got.reason {
        Some(FinishReason::Stop) => "stop",
        Some(FinishReason::Length) => "length",
        Some(FinishReason::ToolCalls) => "tool-calls",
        Some(FinishReason::ContentFilter) => "content-filter",
        Some(FinishReason::Pause) => "pause",
        Some(FinishReason::Unknown) => "unknown",
        Some(FinishReason::Error) | None => "error",
    }
}

fn error(got: &Folded) -> Value {
    let Some(failure) = &got.failure else { return Value::Null };
    let kind = match failure.kind {
        FailureKind::Transport => "transport",
        FailureKind::Server => "server",
        FailureKind::Overloaded => "overloaded",
        FailureKind::ContextOverflow => "context-overflow",
        FailureKind::RateLimit => "rate-limit",
        _ => "another",
    };
    json!({"kind": kind, "retryable": failure.retryable, "message": failure.message})
}
