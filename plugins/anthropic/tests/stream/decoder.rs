//! The decoder against a recorded stream, against each known quirk, and against noise.

use airlock::provider::{FailureKind, FinishReason, StreamEvent, Usage};
use anthropic::Decoder;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::slice::from_ref;
use testing::{Folded, chunks, fold};

testing::reader!(Decoder);

const RECORDED: &[u8] = include_bytes!("../fixtures/messages-tool-call.response.sse");

fn stream(lines: &[Value]) -> Vec<u8> {
    let event = |e: &Value| format!("event: {}\ndata: {e}\n\n", e["type"].as_str().unwrap_or("x"));
    lines.iter().map(event).collect::<String>().into_bytes()
}

fn head() -> Value {
    json!({"type": "message_start", "message": {"id": "msg_1", "model": "m", "usage": {"input_tokens": 10, "output_tokens": 1}}})
}

fn start(at: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": at, "content_block": block})
}

fn delta(at: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": at, "delta": delta})
}

fn stop(at: u64) -> Value {
    json!({"type": "content_block_stop", "index": at})
}

fn tail(reason: &str) -> [Value; 2] {
    let said = json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}});
    [said, json!({"type": "message_stop"})]
}

fn text(at: u64, text: &str) -> Vec<Value> {
    vec![
        start(at, json!({"type": "text", "text": ""})),
        delta(at, json!({"type": "text_delta", "text": text})),
        stop(at),
    ]
}

fn call(at: u64, id: &str, name: &str, pieces: &[&str]) -> Vec<Value> {
    let mut all = vec![start(at, json!({"type": "tool_use", "id": id, "name": name, "input": {}}))];
    all.extend(pieces.iter().map(|p| delta(at, json!({"type": "input_json_delta", "partial_json": p}))));
    all.push(stop(at));
    all
}

/// The body of an answer with these blocks and this end.
fn answer(blocks: &[Vec<Value>], reason: &str) -> Vec<u8> {
    let mut all = vec![head()];
    all.extend(blocks.iter().flatten().cloned());
    all.extend(tail(reason));
    stream(&all)
}

fn folded(blocks: &[Vec<Value>], reason: &str) -> Folded {
    let body = answer(blocks, reason);
    let whole = events(&body);
    assert_eq!(decode("text/event-stream", &chunks(&body, &[1])), whole);
    fold(&whole)
}

#[test]
fn every_cut_of_a_recorded_stream_gives_the_same_events() {
    let whole = events(RECORDED);
    let got = fold(&whole);
    assert_eq!((got.calls[0].name.as_str(), got.calls[0].input.as_str()), ("read_file", r#"{"path": "notes.txt"}"#));
    assert_eq!(got.calls[0].id, "1RWBWTYC9TZlYjzNWNTSy472YhbbCg1A");
    assert_eq!(got.reason, Some(FinishReason::ToolCalls));
    assert_eq!(got.usage, Some(Usage { input: 1, output: 18, cache_read: 284, ..Usage::default() }));
    for at in 0..=RECORDED.len() {
        let (head, tail) = RECORDED.split_at(at);
        assert_eq!(decode("text/event-stream", &[head, tail]), whole, "cut at {at}");
    }
}

#[test]
fn thoughts_keep_what_has_to_go_back() {
    let thinking = |deltas: &[Value]| {
        let mut all = vec![start(0, json!({"type": "thinking", "thinking": "", "signature": ""}))];
        all.extend(deltas.iter().map(|d| delta(0, d.clone())));
        all.push(stop(0));
        all
    };
    let (said, signed) =
        (json!({"type": "thinking_delta", "thinking": "hm"}), json!({"type": "signature_delta", "signature": "SIG"}));
    let redacted = vec![start(1, json!({"type": "redacted_thinking", "data": "BLOB"})), stop(1)];
    let sig = Some(r#"{"signature":"SIG"}"#.to_owned());
    let blob = Some(r#"{"redacted":"BLOB"}"#.to_owned());
    type Thoughts = Vec<(&'static str, Option<String>)>;
    let table: &[(Vec<Vec<Value>>, Thoughts)] = &[
        (vec![thinking(&[said.clone(), signed.clone()])], vec![("hm", sig.clone())]),
        // Thoughts that are not shown have a signature all the same.
        (vec![thinking(from_ref(&signed))], vec![("", sig.clone())]),
        (vec![thinking(from_ref(&said))], vec![("hm", None)]),
        (vec![thinking(&[said, signed]), redacted.clone()], vec![("hm", sig), ("", blob.clone())]),
        (vec![redacted], vec![("", blob)]),
    ];
    for (blocks, expected) in table {
        let mut blocks = blocks.clone();
        blocks.push(text(2, "t"));
        let got = folded(&blocks, "end_turn");
        let thoughts: Vec<(&str, Option<String>)> = got.thoughts.iter().map(|(t, o)| (t.as_str(), o.clone())).collect();
        assert_eq!((&thoughts, got.text.as_str()), (expected, "t"));
    }
}

#[test]
fn the_reason_is_judged_by_what_came() {
    use FinishReason::*;
    let said = vec![text(0, "t")];
    let called = vec![call(0, "a", "x", &["{}"])];
    for (blocks, reason, expected) in [
        (&said, "end_turn", Stop),
        (&said, "stop_sequence", Stop),
        (&said, "tool_use", Stop),
        (&said, "max_tokens", Length),
        (&said, "model_context_window_exceeded", Length),
        (&said, "pause_turn", Pause),
        (&said, "refusal", ContentFilter),
        (&said, "brand_new", Unknown),
        (&called, "tool_use", ToolCalls),
        (&called, "end_turn", ToolCalls),
        (&called, "pause_turn", ToolCalls),
        (&called, "max_tokens", Length),
        (&called, "refusal", ContentFilter),
    ] {
        let got = folded(blocks, reason);
        assert_eq!(got.reason, Some(expected), "{reason}");
        let metadata: Value = serde_json::from_str(&got.metadata.unwrap()).unwrap();
        assert_eq!(metadata["finish_reason"], reason);
        assert_eq!(metadata["refusal"] == true, reason == "refusal");
    }
}

#[test]
fn a_call_is_whole_or_broken_but_never_guessed() {
    for (pieces, reason, expected) in [
        (&["{\"a\":", "1}"][..], "tool_use", "{\"a\":1}"),
        (&[""], "tool_use", "{}"),
        (&[], "tool_use", "{}"),
        (&["{\"a\": }"], "tool_use", "{\"a\": }"),
        (&["{\"path\":\"a"], "max_tokens", "{\"path\":\"a"),
        (&[], "max_tokens", ""),
        (&["[1]"], "tool_use", "[1]"),
    ] {
        let got = folded(&[call(0, "a", "x", pieces)], reason);
        assert_eq!(got.calls.len(), 1);
        assert_eq!(got.calls[0].input, expected, "{pieces:?} {reason}");
    }
}

/// Where in the stream each call was given out: the number of events that were pushed before.
fn given_at(lines: &[Value]) -> Vec<(String, usize)> {
    use airlock::provider::Decode;
    let mut decoder = Decoder::new("m", "text/event-stream");
    let mut out = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        for event in decoder.push(&stream(from_ref(line))) {
            if let StreamEvent::ToolCall(call) = event {
                out.push((call.id, at));
            }
        }
    }
    out
}

#[test]
fn a_whole_call_is_given_out_with_the_end_of_its_block_and_none_overtakes_another() {
    let lines = |calls: &[Vec<Value>]| {
        let mut all = vec![head()];
        all.extend(calls.iter().flatten().cloned());
        all.extend(tail("tool_use"));
        all
    };
    let id = |id: &str, at: usize| (id.to_owned(), at);
    let both = lines(&[call(0, "a", "x", &["{}"]), call(1, "b", "x", &["{}"])]);
    assert_eq!(given_at(&both), [id("a", 3), id("b", 6)]);
    // Nothing, or half an object, may be a cut: what follows waits with it.
    let held = lines(&[call(0, "a", "x", &[]), call(1, "b", "x", &["{}"])]);
    assert_eq!(given_at(&held), [id("a", 7), id("b", 7)]);
}

#[test]
fn odd_calls() {
    let whole_input = vec![start(0, json!({"type": "tool_use", "id": "a", "name": "x", "input": {"n": 1}})), stop(0)];
    assert_eq!(folded(&[whole_input], "tool_use").calls[0].input, r#"{"n":1}"#);
    let no_input = vec![start(0, json!({"type": "tool_use", "id": "a", "name": "x"})), stop(0)];
    assert_eq!(folded(&[no_input], "tool_use").calls[0].input, "{}");
    let nameless = folded(&[call(0, "a", "", &["{}"])], "tool_use");
    assert_eq!((nameless.calls.len(), nameless.reason), (0, Some(FinishReason::Stop)));
    let same = folded(&[call(0, "a", "x", &["{}"]), call(1, "a", "x", &["{}"]), call(2, "", "x", &["{}"])], "tool_use");
    let ids: std::collections::HashSet<&str> = same.calls.iter().map(|c| c.id.as_str()).collect();
    assert_eq!((ids.len(), ids.contains("")), (3, false));
    let unended = vec![start(0, json!({"type": "tool_use", "id": "a", "name": "x", "input": {}}))];
    assert_eq!(folded(&[unended], "tool_use").calls[0].input, "{}", "a block without its end");
}

#[test]
fn a_tool_of_the_server_comes_out_with_its_result_and_its_blocks() {
    let call = vec![
        start(0, json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}})),
        delta(0, json!({"type": "input_json_delta", "partial_json": "{\"query\":\"q\"}"})),
        stop(0),
    ];
    let result = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1",
        "content": [{"type": "web_search_result", "title": "T", "url": "http://u", "encrypted_content": "ENC"}]});
    let got = folded(&[call.clone(), vec![start(1, result.clone()), stop(1)], text(2, "t")], "end_turn");
    assert_eq!((got.calls.len(), got.results.len(), got.reason), (1, 1, Some(FinishReason::Stop)));
    assert_eq!((got.calls[0].input.as_str(), got.results[0].text.as_str()), (r#"{"query":"q"}"#, "T http://u"));
    let opaque: Value = serde_json::from_str(got.calls[0].opaque.as_deref().unwrap()).unwrap();
    assert_eq!(opaque["server"][0]["input"], json!({"query": "q"}));
    assert_eq!(opaque["server"][1], result);
    let paused = folded(&[call], "pause_turn");
    assert_eq!(
        (paused.calls.len(), paused.reason),
        (1, Some(FinishReason::Pause)),
        "it goes back as it came, and is no call of ours"
    );
    let opaque: Value = serde_json::from_str(paused.calls[0].opaque.as_deref().unwrap()).unwrap();
    assert_eq!((opaque["server"].as_array().unwrap().len(), paused.results.len()), (1, 1));
    // The turn that goes on begins with the result.
    let goes_on = folded(&[vec![start(0, result.clone()), stop(0)], text(1, "t")], "end_turn");
    let opaque: Value = serde_json::from_str(goes_on.calls[0].opaque.as_deref().unwrap()).unwrap();
    assert_eq!((&opaque["server"], goes_on.calls[0].name.as_str()), (&json!([result]), "web_search"));
    assert_eq!((goes_on.results.len(), goes_on.reason), (1, Some(FinishReason::Stop)));
}

#[test]
fn counts_come_in_pieces() {
    /// Input, output, thoughts, read from the cache, written to it.
    type Counts = (u64, u64, u64, u64, u64);
    let table: &[(Value, Value, Counts)] = &[
        (json!({"input_tokens": 10, "output_tokens": 1}), json!({"output_tokens": 9}), (10, 9, 0, 0, 0)),
        (
            json!({"input_tokens": 1, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 3}),
            json!({"output_tokens": 9, "input_tokens": 0}),
            (1, 9, 0, 2, 3),
        ),
        (json!({}), json!({"input_tokens": 7, "cache_read_input_tokens": 2, "output_tokens": 9}), (7, 9, 0, 2, 0)),
        (json!(null), json!({"output_tokens": 9, "output_tokens_details": {"thinking_tokens": 4}}), (0, 5, 4, 0, 0)),
        (json!({"input_tokens": null, "output_tokens": -3}), json!({"output_tokens": 9.0}), (0, 9, 0, 0, 0)),
    ];
    for (first, last, (input, output, reasoning, cache_read, cache_write)) in table {
        let head = json!({"type": "message_start", "message": {"usage": first}});
        let early = json!({"type": "message_delta", "delta": {"stop_reason": null}, "usage": {"output_tokens": 2}});
        let late = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": last});
        let got = fold(&events(&stream(&[head, early, late, json!({"type": "message_stop"})])));
        let expected = Usage {
            input: *input,
            output: *output,
            reasoning: *reasoning,
            cache_read: *cache_read,
            cache_write: *cache_write,
        };
        assert_eq!(got.usage, Some(expected), "{first} {last}");
    }
}

#[test]
fn a_failure_is_never_an_answer() {
    use FailureKind::*;
    let error = |kind: &str| json!({"type": "error", "error": {"type": kind, "message": "m"}});
    let called = || call(0, "a", "x", &["{\"half"]);
    let table: &[(&str, Vec<Value>, FailureKind, bool)] = &[
        ("overloaded", vec![head(), error("overloaded_error")], Overloaded, true),
        ("at once", vec![error("rate_limit_error")], RateLimit, true),
        ("server", vec![head(), error("api_error")], Server, true),
        ("invalid", vec![error("invalid_request_error")], InvalidRequest, false),
        ("after a call", [vec![head()], called(), vec![error("overloaded_error")]].concat(), Overloaded, true),
        ("cut in text", [vec![head()], text(0, "t")].concat(), Transport, true),
        ("cut in a call", [vec![head()], called()].concat(), Transport, true),
        ("nothing", vec![], Transport, true),
        ("only pings", vec![json!({"type": "ping"})], Transport, true),
        ("an end without a beginning", vec![json!({"type": "message_stop"})], Transport, true),
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
    let page = decode("text/html", &[b"<html>secret"]);
    assert_eq!(fold(&page).failure.unwrap().kind, Transport);
}

#[test]
fn what_is_said_after_the_end_is_nothing() {
    let mut body = answer(&[text(0, "t")], "end_turn");
    let whole = events(&body);
    body.extend(b"event: data\ndata: [DONE]\n\n");
    body.extend(stream(&[json!({"type": "error", "error": {"type": "api_error"}})]));
    assert_eq!(events(&body), whole);
    let ended = stream(&[vec![head()], text(0, "t"), vec![tail("end_turn")[0].clone()]].concat());
    assert_eq!(fold(&events(&ended)).reason, Some(FinishReason::Stop), "a reason is an end, too");
}

#[test]
fn a_whole_answer_is_read_where_none_is_streamed() {
    let body = json!({"id": "m", "type": "message", "role": "assistant", "model": "x", "stop_reason": "tool_use",
        "content": [{"type": "thinking", "thinking": "hm", "signature": "S"}, {"type": "text", "text": "hi"},
                    {"type": "tool_use", "id": "a", "name": "x", "input": {"n": 1}}],
        "usage": {"input_tokens": 3, "output_tokens": 4}})
    .to_string();
    for content_type in ["application/json", "text/plain"] {
        let whole = decode(content_type, &[body.as_bytes()]);
        let got = fold(&whole);
        assert_eq!(
            (got.text.as_str(), got.reasoning.as_str(), got.calls[0].input.as_str()),
            ("hi", "hm", r#"{"n":1}"#)
        );
        assert_eq!(got.usage, Some(Usage { input: 3, output: 4, ..Usage::default() }));
        assert_eq!(decode(content_type, &chunks(body.as_bytes(), &[1])), whole);
    }
}

#[test]
fn sizes_are_bounded() {
    let piece = "x".repeat(1 << 20);
    let pieces: Vec<&str> = (0..17).map(|_| piece.as_str()).collect();
    let long = fold(&events(&answer(&[call(0, "a", "x", &pieces)], "tool_use")));
    assert_eq!(long.failure.unwrap().kind, FailureKind::Transport);
    let many: Vec<Vec<Value>> = (0..300).map(|n| call(n, "", "x", &[])).collect();
    assert_eq!(fold(&events(&answer(&many, "tool_use"))).failure.unwrap().kind, FailureKind::Transport);
}

/// Every kind of event, in any order.
fn any_line() -> impl Strategy<Value = Value> {
    let at = 0..3u64;
    prop_oneof![
        Just(head()),
        (at.clone(), "[a€]{0,2}").prop_map(|(at, t)| delta(at, json!({"type": "text_delta", "text": t}))),
        (at.clone(), "[a€]{0,2}").prop_map(|(at, t)| delta(at, json!({"type": "thinking_delta", "thinking": t}))),
        at.clone().prop_map(|at| delta(at, json!({"type": "signature_delta", "signature": "s"}))),
        (at.clone(), "[{}\"a:1]{0,3}")
            .prop_map(|(at, t)| delta(at, json!({"type": "input_json_delta", "partial_json": t}))),
        (at.clone(), "[ab]?")
            .prop_map(|(at, id)| start(at, json!({"type": "tool_use", "id": id, "name": "x", "input": {}}))),
        (at.clone(), "[ab]").prop_map(|(at, id)| start(at, json!({"type": "server_tool_use", "id": id, "name": "x"}))),
        "[ab]".prop_map(|id| start(0, json!({"type": "web_search_tool_result", "tool_use_id": id, "content": []}))),
        at.clone().prop_map(|at| start(at, json!({"type": "text", "text": "t"}))),
        at.clone().prop_map(|at| start(at, json!({"type": "redacted_thinking", "data": "d"}))),
        at.prop_map(stop),
        Just(tail("tool_use")[0].clone()),
        Just(json!({"type": "message_stop"})),
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

    #[test]
    fn a_changed_byte_never_panics(at in 0..RECORDED.len(), byte in any::<u8>()) {
        let mut body = RECORDED.to_vec();
        body[at] = byte;
        fold(&events(&body));
    }
}
