//! The decoder against each known quirk, and against noise.

use airlock::provider::{Decode, FailureKind, FinishReason, StreamEvent, Usage};
use openai_responses::Decoder;
use proptest::prelude::*;
use serde_json::{Value, json};
use testing::{Folded, chunks, fold};

testing::reader!(Decoder);

fn stream(lines: &[Value]) -> Vec<u8> {
    let event = |e: &Value| format!("event: {}\ndata: {e}\n\n", e["type"].as_str().unwrap_or("x"));
    lines.iter().map(event).collect::<String>().into_bytes()
}

fn created() -> Value {
    json!({"type": "response.created", "response": {"id": "resp_1", "model": "m", "status": "in_progress"}})
}

fn added(at: u64, item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": at, "item": item})
}

fn done(at: u64, item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": at, "item": item})
}

fn end(output: Value) -> Value {
    let usage = json!({"input_tokens": 3, "output_tokens": 4, "total_tokens": 7});
    json!({"type": "response.completed", "response": {"id": "resp_1", "status": "completed", "output": output, "usage": usage}})
}

fn function(arguments: &str) -> Value {
    json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "x", "arguments": arguments})
}

fn completed(mut item: Value) -> Value {
    item["status"] = "completed".into();
    item
}

fn piece(kind: &str, at: u64, text: &str) -> Value {
    json!({"type": format!("response.{kind}.delta"), "output_index": at, "item_id": "i", "content_index": 0, "summary_index": 0, "delta": text})
}

fn folded(lines: &[Value]) -> Folded {
    let body = stream(lines);
    let whole = events(&body);
    assert_eq!(decode("text/event-stream", &chunks(&body, &[1])), whole);
    fold(&whole)
}

#[test]
fn an_answer_in_full() {
    let message = json!({"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "Hi."}]});
    let thought = json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}], "encrypted_content": "ENC"});
    let mut second = piece("reasoning_summary_text", 0, "b");
    second["summary_index"] = 1.into();
    let got = folded(&[
        created(),
        json!({"type": "response.in_progress", "response": {}}),
        added(0, json!({"type": "reasoning", "id": "rs_1", "summary": []})),
        piece("reasoning_summary_text", 0, "a"),
        second,
        done(0, thought.clone()),
        added(1, json!({"type": "message", "id": "msg_1", "content": []})),
        json!({"type": "response.content_part.added", "output_index": 1}),
        piece("output_text", 1, "H"),
        piece("output_text", 1, "i."),
        json!({"type": "response.output_text.done", "output_index": 1, "text": "Hi."}),
        done(1, message.clone()),
        added(2, function("")),
        piece("function_call_arguments", 2, "{\"n\":"),
        piece("function_call_arguments", 2, "1}"),
        done(2, completed(function("{\"n\":1}"))),
        end(json!([thought, message, completed(function("{\"n\":1}"))])),
    ]);
    assert_eq!((got.text.as_str(), got.reasoning.as_str()), ("Hi.", "a\n\nb"));
    let opaque: Value = serde_json::from_str(got.thoughts[0].1.as_deref().unwrap()).unwrap();
    assert_eq!((&opaque["id"], &opaque["encrypted_content"]), (&json!("rs_1"), &json!("ENC")));
    assert_eq!(got.calls.len(), 1);
    assert_eq!((got.calls[0].id.as_str(), got.calls[0].input.as_str()), ("call_1", "{\"n\":1}"));
    assert_eq!(got.calls[0].opaque.as_deref(), Some(r#"{"id":"fc_1"}"#));
    assert_eq!(
        (got.reason, got.usage),
        (Some(FinishReason::ToolCalls), Some(Usage { input: 3, output: 4, ..Usage::default() }))
    );
}

#[test]
fn what_was_not_streamed_comes_with_the_item_or_at_the_end() {
    let message = json!({"type": "message", "id": "m", "content": [{"type": "output_text", "text": "Hi."}, {"type": "refusal", "refusal": " No."}]});
    let table = [
        vec![created(), done(0, message.clone()), end(json!([message.clone()]))],
        vec![created(), end(json!([message.clone()]))],
        vec![created(), added(0, json!({"type": "message", "id": "m"})), end(json!([message.clone()]))],
        vec![created(), piece("output_text", 0, "Hi."), end(json!([message]))],
    ];
    for lines in table {
        let got = folded(&lines);
        assert_eq!((got.text.as_str(), got.reason), ("Hi. No.", Some(FinishReason::Stop)), "{lines:?}");
        assert!(got.metadata.unwrap().contains("\"refusal\":true"));
    }
}

#[test]
fn the_arguments_of_the_end_win() {
    for (lines, expected) in [
        (vec![added(0, function("")), end(json!([function("{\"n\":1}")]))], "{\"n\":1}"),
        (vec![end(json!([function("{\"n\":1}")]))], "{\"n\":1}"),
        (vec![added(0, function("{\"n\":1}")), end(json!([]))], "{}"),
        (vec![added(0, function("")), end(json!([]))], "{}"),
        (
            vec![
                added(0, function("")),
                json!({"type": "response.function_call_arguments.done", "output_index": 0, "arguments": "{\"n\":1}"}),
                end(json!([])),
            ],
            "{\"n\":1}",
        ),
        // The name comes with the whole item only.
        (
            vec![piece("function_call_arguments", 0, "{\"n\":1}"), done(0, function("{\"n\":1}")), end(json!([]))],
            "{\"n\":1}",
        ),
    ] {
        let got = folded(&lines);
        assert_eq!(got.calls.len(), 1, "{lines:?}");
        assert_eq!(got.calls[0].input, expected, "{lines:?}");
    }
}

#[test]
fn events_are_routed_by_place_then_by_id_then_to_what_is_open() {
    let bare = |kind: &str, id: Option<&str>, text: &str| {
        let mut event = json!({"type": format!("response.{kind}.delta"), "delta": text});
        id.into_iter().for_each(|id| event["item_id"] = id.into());
        event
    };
    let call = |n: u64| json!({"type": "function_call", "id": format!("fc_{n}"), "call_id": format!("call_{n}"), "name": "x", "arguments": ""});
    let unplaced = |n: u64| json!({"type": "response.output_item.added", "item": call(n)});
    let whole = |n: u64| {
        let mut item = call(n);
        item["arguments"] = format!("{{\"n\":{n}}}").into();
        item
    };
    for lines in [
        // Another id with each event, as one gateway sends them.
        vec![
            added(0, call(1)),
            piece("function_call_arguments", 0, "{\"n\":1}"),
            added(1, call(2)),
            piece("function_call_arguments", 1, "{\"n\":2}"),
            end(json!([])),
        ],
        vec![
            unplaced(1),
            unplaced(2),
            bare("function_call_arguments", Some("fc_1"), "{\"n\":1}"),
            bare("function_call_arguments", Some("fc_2"), "{\"n\":2}"),
            end(json!([])),
        ],
        vec![
            unplaced(1),
            bare("function_call_arguments", None, "{\"n\":1}"),
            json!({"type": "response.output_item.done", "item": whole(1)}),
            unplaced(2),
            bare("function_call_arguments", None, "{\"n\":2}"),
            json!({"type": "response.output_item.done", "item": whole(2)}),
            end(json!([whole(1), whole(2)])),
        ],
    ] {
        let got = folded(&lines);
        let calls: Vec<(&str, &str)> = got.calls.iter().map(|c| (c.id.as_str(), c.input.as_str())).collect();
        assert_eq!(calls, [("call_1", "{\"n\":1}"), ("call_2", "{\"n\":2}")], "{lines:?}");
    }
}

/// Where in the stream each call was given out.
fn given_at(lines: &[Value]) -> Vec<usize> {
    let mut decoder = Decoder::new("m", "text/event-stream");
    let calls = |(at, line): (usize, &Value)| {
        let events = decoder.push(&stream(std::slice::from_ref(line)));
        vec![at; events.iter().filter(|e| matches!(e, StreamEvent::ToolCall(_))).count()]
    };
    lines.iter().enumerate().flat_map(calls).collect()
}

#[test]
fn a_completed_call_is_given_out_and_none_overtakes_another() {
    let second = || {
        let mut item = completed(function("{}"));
        (item["id"], item["call_id"]) = ("fc_2".into(), "call_2".into());
        item
    };
    let both = [created(), done(0, completed(function("{}"))), done(1, second()), end(json!([]))];
    assert_eq!(given_at(&both), [1, 2]);
    let held = [created(), done(0, function("{}")), done(1, second()), end(json!([]))];
    assert_eq!(given_at(&held), [3, 3], "without its status a call may be cut");
    let taken_back = [created(), done(0, completed(function("{}"))), end(json!([completed(function("{\"n\":1}"))]))];
    let body = stream(&taken_back);
    assert_eq!(fold(&events(&body)).failure.map(|f| f.retryable), Some(true));
}

#[test]
fn the_end_is_what_the_server_says() {
    use FinishReason::*;
    let incomplete = |reason: &str| json!({"type": "response.incomplete", "response": {"status": "incomplete", "incomplete_details": {"reason": reason}}});
    for (last, expected) in [
        (incomplete("max_output_tokens"), Length),
        (incomplete("content_filter"), ContentFilter),
        (incomplete("brand_new"), Unknown),
        (json!({"type": "response.incomplete", "response": {"incomplete_details": null}}), Unknown),
        (end(json!([])), Stop),
    ] {
        let got = folded(&[created(), piece("output_text", 0, "t"), last.clone()]);
        assert_eq!((got.reason, got.text.as_str()), (Some(expected), "t"), "{last}");
    }
    let half = [
        created(),
        added(0, function("")),
        piece("function_call_arguments", 0, "{\"half"),
        incomplete("max_output_tokens"),
    ];
    let got = folded(&half);
    assert_eq!((got.reason, got.calls[0].input.as_str()), (Some(Length), "{\"half"), "the host sees that it is cut");
    let bare = folded(&[created(), added(0, function("")), incomplete("max_output_tokens")]);
    assert_eq!(bare.calls[0].input, "");
}

#[test]
fn a_failure_is_never_an_answer() {
    use FailureKind::*;
    let failed = |code: &str| json!({"type": "response.failed", "response": {"status": "failed", "error": {"code": code, "message": "m"}}});
    let table: &[(&str, Vec<Value>, FailureKind, bool)] = &[
        ("rate limit", vec![created(), failed("rate_limit_exceeded")], RateLimit, true),
        ("server", vec![failed("server_error")], Server, true),
        ("overloaded", vec![failed("server_is_overloaded")], Overloaded, true),
        ("quota", vec![failed("insufficient_quota")], Quota, false),
        ("window", vec![failed("context_length_exceeded")], ContextOverflow, false),
        ("prompt", vec![failed("invalid_prompt")], InvalidRequest, false),
        (
            "not said",
            vec![json!({"type": "response.failed", "response": {"status": "failed", "error": null}})],
            Server,
            true,
        ),
        ("not even that", vec![json!({"type": "response.failed"})], Server, true),
        ("cancelled", vec![json!({"type": "response.cancelled", "response": {"status": "cancelled"}})], Server, true),
        (
            "event",
            vec![created(), json!({"type": "error", "code": "rate_limit_exceeded", "message": "m", "param": null})],
            RateLimit,
            true,
        ),
        ("nested", vec![json!({"type": "error", "error": {"type": "server_error", "message": "m"}})], Server, true),
        ("after a call", vec![created(), added(0, function("")), failed("server_error")], Server, true),
        ("cut in text", vec![created(), piece("output_text", 0, "t")], Transport, true),
        ("cut before the end", vec![created(), done(0, function("{}"))], Transport, true),
        ("nothing", vec![], Transport, true),
    ];
    for (what, lines, kind, retryable) in table {
        let body = stream(lines);
        let whole = events(&body);
        let got = fold(&whole);
        let failure = got.failure.unwrap_or_else(|| panic!("{what}"));
        assert_eq!((failure.kind, failure.retryable), (*kind, *retryable), "{what}: {}", failure.message);
        assert!(got.calls.is_empty(), "{what}: no call is given out");
        assert_eq!(decode("text/event-stream", &chunks(&body, &[1])), whole, "{what}");
    }
    let wait = json!({"type": "response.failed", "response": {"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "Please try again in 1.5s."}}});
    assert_eq!(fold(&events(&stream(&[wait]))).failure.unwrap().retry_after_ms, Some(1500));
    let done_word = [stream(&[created(), piece("output_text", 0, "t")]), b"data: [DONE]\n\n".to_vec()].concat();
    assert_eq!(fold(&events(&done_word)).failure.unwrap().kind, Transport);
}

#[test]
fn a_tool_of_the_server_comes_out_with_its_result_and_its_item() {
    let item = json!({"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}});
    let got = folded(&[
        created(),
        added(0, json!({"type": "web_search_call", "id": "ws_1"})),
        done(0, item.clone()),
        end(json!([item])),
    ]);
    assert_eq!((got.calls.len(), got.results.len(), got.reason), (1, 1, Some(FinishReason::Stop)));
    assert_eq!(
        (got.calls[0].name.as_str(), got.calls[0].input.as_str()),
        ("web_search", r#"{"type":"search","query":"q"}"#)
    );
    let opaque: Value = serde_json::from_str(got.calls[0].opaque.as_deref().unwrap()).unwrap();
    assert_eq!(opaque["item"], item);
}

#[test]
fn counts_are_read_from_every_end() {
    let usage = json!({"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1},
        "output_tokens": 9, "output_tokens_details": {"reasoning_tokens": 5}});
    for (kind, status) in [("completed", "completed"), ("incomplete", "incomplete")] {
        let last = json!({"type": format!("response.{kind}"), "response": {"status": status, "usage": usage}});
        let expected = Usage { input: 5, output: 4, reasoning: 5, cache_read: 4, cache_write: 1 };
        assert_eq!(folded(&[created(), last]).usage, Some(expected));
    }
}

#[test]
fn a_whole_answer_is_read_where_none_is_streamed() {
    let body = json!({"object": "response", "id": "r", "status": "completed", "error": null, "model": "m",
        "output": [{"type": "message", "id": "m", "content": [{"type": "output_text", "text": "hi"}]}, function("{\"n\":1}")],
        "usage": {"input_tokens": 3, "output_tokens": 4}})
    .to_string();
    let whole = decode("application/json", &[body.as_bytes()]);
    let got = fold(&whole);
    assert_eq!(
        (got.text.as_str(), got.calls[0].input.as_str(), got.reason),
        ("hi", "{\"n\":1}", Some(FinishReason::ToolCalls))
    );
    assert_eq!(decode("application/json", &chunks(body.as_bytes(), &[1])), whole);
}

#[test]
fn sizes_are_bounded() {
    let text = "x".repeat(1 << 20);
    let mut lines = vec![created(), added(0, function(""))];
    lines.extend((0..17).map(|_| piece("function_call_arguments", 0, &text)));
    assert_eq!(fold(&events(&stream(&lines))).failure.unwrap().kind, FailureKind::Transport);
    let many: Vec<Value> = (0..300).map(|n| added(n, function(""))).collect();
    assert_eq!(fold(&events(&stream(&many))).failure.unwrap().kind, FailureKind::Transport);
}

/// Every kind of event, in any order, with and without places and ids.
fn any_line() -> impl Strategy<Value = Value> {
    let item = prop::sample::select(vec![
        json!({"type": "message", "id": "i", "content": [{"type": "output_text", "text": "t"}]}),
        json!({"type": "reasoning", "id": "i", "summary": [{"text": "s"}], "encrypted_content": "e"}),
        json!({"type": "function_call", "id": "fc", "call_id": "c", "name": "x"}),
        json!({"type": "function_call", "id": "fc", "call_id": "c", "name": "", "status": "completed"}),
        json!({"type": "web_search_call", "id": "w"}),
        json!({"type": "future"}),
    ]);
    let kind = prop::sample::select(vec![
        "output_text",
        "refusal",
        "reasoning_summary_text",
        "reasoning_text",
        "function_call_arguments",
    ]);
    let place = prop::option::of(0..3u64);
    let placed = |mut event: Value, place: Option<u64>| {
        place.into_iter().for_each(|p| event["output_index"] = p.into());
        event
    };
    prop_oneof![
        Just(created()),
        (item.clone(), place.clone())
            .prop_map(move |(i, p)| placed(json!({"type": "response.output_item.added", "item": i}), p)),
        (item.clone(), place.clone())
            .prop_map(move |(i, p)| placed(json!({"type": "response.output_item.done", "item": i}), p)),
        (kind, place, "[{}a€]{0,2}", prop::option::of("[ic]")).prop_map(move |(k, p, t, id)| {
            placed(json!({"type": format!("response.{k}.delta"), "delta": t, "item_id": id}), p)
        }),
        prop::collection::vec(item, 0..3).prop_map(|items| end(items.into())),
    ]
}

proptest! {
    #[test]
    fn any_cut_of_any_order_gives_the_same_sane_events(lines in prop::collection::vec(any_line(), 0..12), sizes in prop::collection::vec(1..40usize, 1..6)) {
        let body = stream(&lines);
        let whole = events(&body);
        fold(&whole);
        prop_assert_eq!(decode("text/event-stream", &chunks(&body, &sizes)), whole);
    }

    #[test]
    fn noise_never_panics_and_ends_in_a_failure(body in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assert!(fold(&events(&body)).failure.is_some());
    }
}
