use airlock::provider::{FailureKind, FinishReason, StreamEvent, Usage};
use gemini::Decoder;
use proptest::prelude::*;
use serde_json::{Value, json};
use testing::{Folded, after_each_cr, chunks, fold};

testing::reader!(Decoder);

fn stream(chunks: &[Value]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\r\n\r\n")).collect()
}

fn chunk(parts: Value) -> Value {
    json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}}], "modelVersion": "mock", "responseId": "r"})
}

fn end(reason: &str) -> Value {
    json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": []}, "finishReason": reason}]})
}

/// The events of these chunks, the same at every cut.
fn read(body: &str) -> Vec<StreamEvent> {
    let whole = events(body.as_bytes());
    for pieces in [chunks(body.as_bytes(), &[1]), chunks(body.as_bytes(), &[3]), after_each_cr(body.as_bytes())] {
        assert_eq!(decode("text/event-stream", &pieces), whole, "{body}");
    }
    whole
}

fn folded(chunks: &[Value]) -> Folded {
    fold(&read(&stream(chunks)))
}

#[test]
fn texts_and_thoughts() {
    let got = folded(&[
        chunk(json!([{"text": "I think", "thought": true}])),
        chunk(json!([{"text": " so.", "thought": true}, {"text": "Hel"}])),
        json!({"candidates": [{"index": 0}]}),
        chunk(json!([])),
        chunk(json!([{"text": ""}, {"text": "lo €🦀\u{2028}"}])),
        json!({"candidates": [{"index": 1, "content": {"parts": [{"text": "another candidate"}]}}]}),
        json!({"candidates": [], "usageMetadata": {"promptTokenCount": 5, "totalTokenCount": 5}}),
        end("STOP"),
    ]);
    assert_eq!((got.reasoning.as_str(), got.text.as_str()), ("I think so.", "Hello €🦀\u{2028}"));
    assert_eq!((got.reason, got.failure), (Some(FinishReason::Stop), None));
    assert!(got.metadata.unwrap().contains(r#""finish_reason":"STOP","id":"r","model":"mock""#));
}

#[test]
fn calls_are_whole_and_have_ids_of_their_own() {
    let call = |name: &str, p: &str| json!({"functionCall": {"name": name, "args": {"p": p}}});
    let got =
        folded(&[chunk(json!([call("read", "1"), call("read", "1")])), chunk(json!([call("read", "1")])), end("STOP")]);
    let ids: std::collections::HashSet<_> = got.calls.iter().map(|c| c.id.clone()).collect();
    assert_eq!((got.calls.len(), ids.len(), got.reason), (3, 3, Some(FinishReason::ToolCalls)));
    assert!(got.calls.iter().all(|c| c.name == "read" && c.input == r#"{"p":"1"}"#));

    let other = folded(&[chunk(json!([call("read", "1"), call("read", "1")])), end("STOP")]);
    let later = json!({"candidates": [{"content": {"parts": [call("read", "1")]}, "finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 9}});
    assert!(
        !folded(&[later]).calls.iter().any(|c| other.calls.iter().any(|o| o.id == c.id)),
        "another answer, other ids"
    );
}

#[test]
fn what_has_to_go_back_is_kept_with_what_it_stood_on() {
    let got = folded(&[
        chunk(json!([{"text": "th", "thought": true, "thoughtSignature": "A"}])),
        chunk(json!([{"functionCall": {"id": "fc-1", "name": "x", "args": {}}, "thoughtSignature": "B"}])),
        chunk(json!([{"functionCall": {"id": "fc-1", "name": "y"}}])),
        end("STOP"),
    ]);
    assert_eq!(got.thoughts, [("th".to_owned(), Some(r#"{"thoughtSignature":"A"}"#.to_owned()))]);
    assert_eq!(
        (got.calls[0].id.as_str(), got.calls[0].opaque.as_deref()),
        ("fc-1", Some(r#"{"id":"fc-1","thoughtSignature":"B"}"#))
    );
    assert_ne!(got.calls[1].id, "fc-1", "an id that is used twice");
    assert_eq!(got.calls[1].input, "{}");

    for (part, on) in [
        (json!({"text": "t", "thoughtSignature": "C"}), "text"),
        (json!({"text": "", "thoughtSignature": "C"}), "nothing"),
        (json!({"thoughtSignature": "C"}), "nothing"),
    ] {
        let got = folded(&[chunk(json!([{"text": "s"}])), chunk(json!([part])), end("STOP")]);
        let kept = format!(r#"{{"thoughtSignature":"C","on":"{on}"}}"#);
        assert_eq!(got.thoughts, [(String::new(), Some(kept))], "{part}");
    }
}

#[test]
fn a_call_without_a_name_continues_the_one_before() {
    let call = |call: Value| chunk(json!([{"functionCall": call}]));
    let got =
        folded(&[call(json!({"name": "list", "args": {}})), call(json!({"args": {"path": "docs"}})), end("STOP")]);
    assert_eq!(
        got.calls.iter().map(|c| (c.name.as_str(), c.input.as_str())).collect::<Vec<_>>(),
        [("list", r#"{"path":"docs"}"#)]
    );
    let got = folded(&[call(json!({"name": "", "args": {"path": "docs"}})), end("STOP")]);
    assert_eq!((got.calls.len(), got.reason), (0, Some(FinishReason::Stop)));
}

#[test]
fn the_reason_is_judged_by_what_came() {
    use FinishReason::{ContentFilter, Length, Stop, ToolCalls, Unknown};
    let call = json!({"functionCall": {"name": "x", "args": {}}});
    let table = [
        ("STOP", Stop, ToolCalls),
        ("MAX_TOKENS", Length, Length),
        ("SAFETY", ContentFilter, ContentFilter),
        ("RECITATION", ContentFilter, ContentFilter),
        ("LANGUAGE", ContentFilter, ContentFilter),
        ("BLOCKLIST", ContentFilter, ContentFilter),
        ("PROHIBITED_CONTENT", ContentFilter, ContentFilter),
        ("SPII", ContentFilter, ContentFilter),
        ("IMAGE_SAFETY", ContentFilter, ContentFilter),
        ("OTHER", Unknown, ToolCalls),
        ("FINISH_REASON_UNSPECIFIED", Unknown, ToolCalls),
        ("SOMETHING_NEW", Unknown, ToolCalls),
    ];
    for (said, with_text, with_call) in table {
        assert_eq!(folded(&[chunk(json!([{"text": "t"}])), end(said)]).reason, Some(with_text), "{said}");
        assert_eq!(folded(&[chunk(json!([call])), end(said)]).reason, Some(with_call), "{said}");
    }
    let early = folded(&[end("STOP"), chunk(json!([{"text": "after its own end"}]))]);
    assert_eq!((early.text.as_str(), early.reason), ("after its own end", Some(Stop)));
}

#[test]
fn usage_is_the_last_report_counted_once() {
    let table = [
        (json!({"promptTokenCount": 9, "candidatesTokenCount": 5, "totalTokenCount": 14}), (9, 5, 0, 0)),
        (json!({"promptTokenCount": 9, "cachedContentTokenCount": 4, "candidatesTokenCount": 5}), (5, 5, 0, 4)),
        (
            json!({"promptTokenCount": 9, "candidatesTokenCount": 5, "thoughtsTokenCount": 3, "totalTokenCount": 17}),
            (9, 5, 3, 0),
        ),
        (
            json!({"promptTokenCount": 9, "candidatesTokenCount": 5, "thoughtsTokenCount": 3, "totalTokenCount": 14}),
            (9, 2, 3, 0),
        ),
        (json!({"promptTokenCount": 9, "toolUsePromptTokenCount": 2, "candidatesTokenCount": 5}), (11, 5, 0, 0)),
        (json!({"candidatesTokenCount": 5}), (1, 5, 0, 0)),
        (json!({"promptTokenCount": -3, "candidatesTokenCount": "x"}), (1, 1, 0, 0)),
    ];
    for (given, (input, output, reasoning, cache_read)) in table {
        let early = json!({"usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1}});
        let got = folded(&[early, chunk(json!([{"text": "t"}])), end("STOP"), json!({"usageMetadata": given})]);
        assert_eq!(got.usage, Some(Usage { input, output, reasoning, cache_read, cache_write: 0 }), "{given}");
    }
    assert_eq!(folded(&[end("STOP")]).usage, None);
}

#[test]
fn a_failure_is_never_an_answer() {
    use FailureKind::*;
    let call = stream(&[chunk(json!([{"functionCall": {"name": "x", "args": {}}}]))]);
    let text = stream(&[chunk(json!([{"text": "t"}]))]);
    let error = |code: u32, status: &str| json!({"error": {"code": code, "message": "m", "status": status}});
    let table: &[(&str, String, FailureKind, bool)] = &[
        ("malformed call", stream(&[end("MALFORMED_FUNCTION_CALL")]), MalformedToolCall, true),
        (
            "malformed call after a good one",
            format!("{call}{}", stream(&[end("MALFORMED_FUNCTION_CALL")])),
            MalformedToolCall,
            true,
        ),
        ("a tool that is none", stream(&[end("UNEXPECTED_TOOL_CALL")]), MalformedToolCall, true),
        ("no signature", stream(&[end("MISSING_THOUGHT_SIGNATURE")]), InvalidRequest, false),
        ("blocked prompt", stream(&[json!({"promptFeedback": {"blockReason": "SAFETY"}})]), ContentFilter, false),
        ("error in the stream", format!("{text}{}", stream(&[error(503, "UNAVAILABLE")])), Overloaded, true),
        ("rate limit in the stream", stream(&[error(429, "RESOURCE_EXHAUSTED")]), RateLimit, true),
        ("internal error after a call", format!("{call}{}", stream(&[error(500, "INTERNAL")])), Server, true),
        ("bare error, in a list", format!("[{}]", error(400, "INVALID_ARGUMENT")), InvalidRequest, false),
        (
            "a list that ends in an error",
            format!("[{},{}]", chunk(json!([{"text": "t"}])), error(503, "UNAVAILABLE")),
            Overloaded,
            true,
        ),
        ("cut in text", text.clone(), Transport, true),
        ("cut after a call", call.clone(), Transport, true),
        ("cut in a chunk", format!("{text}data: {{\"candidates\":[{{"), Transport, true),
        ("nothing", String::new(), Transport, true),
        ("not JSON", "data: {candidates}\n\n".into(), Transport, true),
        ("no object", "data: 7\n\n".into(), Transport, true),
        ("a page", "<html>no</html>".into(), Transport, false),
    ];
    for (what, body, kind, retryable) in table {
        for content_type in ["text/event-stream", "application/json", ""] {
            if *what == "a page" && content_type == "text/event-stream" {
                continue;
            }
            let whole = decode(content_type, &[body.as_bytes()]);
            assert_eq!(decode(content_type, &chunks(body.as_bytes(), &[1])), whole, "{what}");
            let got = fold(&whole);
            let failure = got.failure.unwrap_or_else(|| panic!("{what}"));
            assert_eq!((failure.kind, failure.retryable), (*kind, *retryable), "{what}: {}", failure.message);
            assert!(got.calls.is_empty(), "{what}: no call is given out");
        }
    }
}

#[test]
fn without_events_a_list_of_chunks_is_read() {
    let body = json!([chunk(json!([{"text": "a"}])), chunk(json!([{"text": "b"}])), end("STOP")]).to_string();
    for content_type in ["application/json; charset=UTF-8", "text/plain", "text/event-stream"] {
        let got = fold(&decode(content_type, &[body.as_bytes()]));
        assert_eq!((got.text.as_str(), got.reason), ("ab", Some(FinishReason::Stop)), "{content_type}");
    }
}

#[test]
fn sizes_are_bounded() {
    let mut line = b"data: ".to_vec();
    line.extend(vec![b'x'; 9 << 20]);
    assert_eq!(fold(&events(&line)).failure.unwrap().kind, FailureKind::Transport);
    let deep = format!("data: {}\n\n", "[".repeat(100_000));
    assert_eq!(fold(&events(deep.as_bytes())).failure.unwrap().kind, FailureKind::Transport);
    let calls = chunk((0..300).map(|n| json!({"functionCall": {"name": "x", "args": {"n": n}}})).collect());
    assert_eq!(fold(&events(stream(&[calls, end("STOP")]).as_bytes())).failure.unwrap().kind, FailureKind::Transport);
    let empty = format!("{}{}", "data: {}\n\n".repeat(100_000), stream(&[end("STOP")]));
    assert_eq!(fold(&events(empty.as_bytes())).reason, Some(FinishReason::Stop));
}

/// Pieces that servers send, in any order.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z€🦀\\\\\" ]{0,6}".prop_map(|t| stream(&[chunk(json!([{"text": t}]))])),
        ("[a-z]{0,2}", any::<bool>(), "[ab]?").prop_map(|(text, thought, signature)| {
            stream(&[chunk(json!([{"text": text, "thought": thought, "thoughtSignature": signature}]))])
        }),
        ("[xy]?", "[ab]?", 0..3u8).prop_map(|(name, id, n)| {
            stream(&[chunk(json!([{"functionCall": {"name": name, "id": id, "args": {"n": n}}}]))])
        }),
        prop::sample::select(vec!["STOP", "MAX_TOKENS", "OTHER", "MALFORMED_FUNCTION_CALL"])
            .prop_map(|r| stream(&[end(r)])),
        Just("data: {\"error\":{\"code\":503}}\n\n".to_owned()),
        Just("{\"error\":\n".to_owned()),
        Just("{\"message\":\"m\"}}\n\n".to_owned()),
        Just("data: {\"candidates\":\n".to_owned()),
        Just("data: []}\n".to_owned()),
        Just(": comment\n".to_owned()),
        "[\\x00-\\x7f]{0,8}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_cut_gives_the_same_events(pieces in prop::collection::vec(piece(), 0..12), sizes in prop::collection::vec(1..40usize, 1..8)) {
        let body = pieces.concat().into_bytes();
        for content_type in ["text/event-stream", ""] {
            let whole = decode(content_type, &[&body]);
            fold(&whole);
            prop_assert_eq!(&decode(content_type, &chunks(&body, &sizes)), &whole);
            prop_assert_eq!(&decode(content_type, &chunks(&body, &[1])), &whole);
        }
    }

    #[test]
    fn noise_never_panics_and_ends_in_a_failure(body in prop::collection::vec(any::<u8>(), 0..2000), sizes in prop::collection::vec(1..100usize, 1..8)) {
        let whole = decode("text/event-stream", &[&body]);
        prop_assert!(fold(&whole).failure.is_some_and(|f| f.message.chars().count() < 700));
        prop_assert_eq!(decode("text/event-stream", &chunks(&body, &sizes)), whole);
    }

    #[test]
    fn a_broken_stream_ends_all_the_same(at in 0..400usize, byte in any::<u8>(), cut in 0..400usize) {
        let mut body = stream(&[chunk(json!([{"text": "th", "thought": true}, {"text": "t"}])),
            chunk(json!([{"functionCall": {"name": "x", "args": {"a": [1, {"b": "c"}]}}, "thoughtSignature": "s"}])), end("STOP")]).into_bytes();
        let last = body.len() - 1;
        body[at.min(last)] = byte;
        fold(&events(&body));
        body.truncate(cut.min(last));
        fold(&events(&body));
    }
}
