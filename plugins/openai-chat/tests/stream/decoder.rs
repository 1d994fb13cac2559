//! The decoder against recorded streams, against each known quirk, and against noise.

use airlock::provider::{FailureKind, FinishReason, StreamEvent, Usage};
use openai_chat::Decoder;
use proptest::prelude::*;
use testing::{Folded, chunks, fold};

testing::reader!(Decoder);

const FIXTURES: [&[u8]; 4] = [
    include_bytes!("../fixtures/plain-text.response.sse"),
    include_bytes!("../fixtures/tool-call-auto.response.sse"),
    include_bytes!("../fixtures/tool-call-truncated.response.sse"),
    include_bytes!("../fixtures/tool-result-answer.response.sse"),
];

#[test]
fn every_cut_of_a_recorded_stream_gives_the_same_events() {
    for fixture in FIXTURES {
        let whole = events(fixture);
        assert!(fold(&whole).failure.is_none());
        for at in 0..=fixture.len() {
            let (head, tail) = fixture.split_at(at);
            assert_eq!(decode("text/event-stream", &[head, tail]), whole, "cut at {at}");
        }
        assert_eq!(decode("text/event-stream", &chunks(fixture, &[1])), whole);
    }
}

#[test]
fn a_recorded_call_is_read() {
    let got = fold(&events(FIXTURES[1]));
    assert_eq!(got.calls.len(), 1);
    assert_eq!(
        (got.calls[0].id.as_str(), got.calls[0].name.as_str()),
        ("7CQSYtGgNJp6p6UC9MhsgCLbIxCjq1pq", "read_file")
    );
    assert_eq!(got.calls[0].input, "{\"path\": \"notes.txt\"}");
    assert_eq!(got.reason, Some(FinishReason::ToolCalls));
    // 285 prompt tokens of which 269 came from the cache, 18 completion tokens.
    assert_eq!(got.usage, Some(Usage { input: 16, output: 18, cache_read: 269, ..Usage::default() }));
}

#[test]
fn a_recorded_cut_call_keeps_its_half_and_says_length() {
    let got = fold(&events(FIXTURES[2]));
    assert_eq!(got.reason, Some(FinishReason::Length));
    assert!(serde_json::from_str::<serde_json::Value>(&got.calls[0].input).is_err());
}

fn stream(deltas: &[&str]) -> Vec<u8> {
    let mut out = String::new();
    for delta in deltas {
        out += &format!("data: {delta}\n\n");
    }
    out.into_bytes()
}

fn delta(json: &str) -> String {
    format!(r#"{{"id":"c1","choices":[{{"index":0,"delta":{json},"finish_reason":null}}]}}"#)
}

fn end(reason: &str) -> String {
    format!(r#"{{"id":"c1","choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#)
}

/// Deltas, the reason at the end, and what has to come of it.
fn folded(deltas: &[&str], reason: &str) -> Folded {
    let deltas: Vec<String> = deltas.iter().map(|d| delta(d)).collect();
    let last = end(reason);
    let mut lines: Vec<&str> = deltas.iter().map(String::as_str).collect();
    lines.extend([last.as_str(), "[DONE]"]);
    let body = stream(&lines);
    let whole = events(&body);
    assert_eq!(decode("text/event-stream", &chunks(&body, &[1])), whole);
    fold(&whole)
}

#[test]
fn text_and_reasoning_come_in_many_shapes() {
    let table: &[(&[&str], &str, &str)] = &[
        (&[r#"{"role":"assistant","content":null}"#, r#"{"content":""}"#, r#"{"content":"a"}"#], "a", ""),
        (&[r#"{"content":"a \u20ac \ud83e\udd80 \"\\"}"#], "a € 🦀 \"\\", ""),
        (&["{\"content\":\"a\u{2028}b\u{85}c\"}"], "a\u{2028}b\u{85}c", ""),
        (
            &[r#"{"content":"half \ud83e"}"#, r#"{"content":"\udd80 other \\ud83e"}"#],
            "half \u{fffd}\u{fffd} other \\ud83e",
            "",
        ),
        (&[r#"{"refusal":"No."}"#, r#"{"refusal":null}"#], "No.", ""),
        (&[r#"{"reasoning_content":"r"}"#, r#"{"content":"t","reasoning_content":null}"#], "t", "r"),
        (&[r#"{"reasoning":"r"}"#, r#"{"content":"t"}"#], "t", "r"),
        (&[r#"{"reasoning":"r","reasoning_content":"r"}"#], "", "r"),
        (&[r#"{"reasoning":"","reasoning_content":"r"}"#, r#"{"reasoning":"s","reasoning_content":""}"#], "", "rs"),
        (
            &[
                r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"r"}]},{"type":"text","text":"t"}]}"#,
            ],
            "t",
            "r",
        ),
        (&[r#"{"content":[{"type":"thinking","thinking":"r"}]}"#], "", "r"),
        (&[r#"{"content":7,"refusal":[],"reasoning":{}}"#, r#"{"content":"a","content":"b"}"#], "b", ""),
        (&[r#""no object""#, r#"{"content":"a","tool_calls":"none"}"#, r#"{"tool_calls":null}"#], "a", ""),
    ];
    for (deltas, text, reasoning) in table {
        let got = folded(deltas, "stop");
        assert_eq!((got.text.as_str(), got.reasoning.as_str()), (*text, *reasoning), "{deltas:?}");
        assert_eq!((got.reason, got.failure), (Some(FinishReason::Stop), None), "{deltas:?}");
    }
}

/// Row 52 of the list of quirks: tags in the content, cut anywhere, from models that are known for it.
#[test]
fn thoughts_in_tags_are_reasoning_for_the_models_that_write_them() {
    let call = r#"{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"{}"}}]}"#;
    let table: &[(&str, &[&str], &str, &str, usize)] = &[
        ("qwen3:8b", &["<think>Hm", ".</think>\\n\\nYes."], "Yes.", "Hm.", 0),
        ("qwen3:8b", &["<th", "ink>Hm.</", "think>Yes."], "Yes.", "Hm.", 0),
        ("qwen3:8b", &["<think>Hm.</think>", call], "", "Hm.", 1),
        ("qwen3:8b", &["<thi", call], "<thi", "", 1),
        ("qwen3:8b", &["<think>cut"], "", "cut", 0),
        ("gpt-4o", &["<think>Hm.</think>Yes."], "<think>Hm.</think>Yes.", "", 0),
    ];
    for (model, deltas, text, reasoning, calls) in table {
        let delta_of = |d: &&str| if d.starts_with('{') { delta(d) } else { delta(&format!(r#"{{"content":"{d}"}}"#)) };
        let lines: Vec<String> = deltas.iter().map(delta_of).chain([end("stop")]).collect();
        let body = stream(&lines.iter().map(String::as_str).collect::<Vec<_>>());
        let got = fold(&testing::laws::decode::<Decoder>(model, "text/event-stream", &[&body]));
        assert_eq!(
            (got.text.as_str(), got.reasoning.as_str(), got.calls.len()),
            (*text, *reasoning, *calls),
            "{deltas:?}"
        );
        assert_eq!(got.failure, None);
    }
}

#[test]
fn an_empty_string_does_not_split_reasoning() {
    let body = stream(&[
        &delta(r#"{"reasoning":"a"}"#),
        &delta(r#"{"content":""}"#),
        &delta(r#"{"reasoning":"b"}"#),
        &end("stop"),
    ]);
    let starts = events(&body).iter().filter(|e| matches!(e, StreamEvent::ReasoningStart { .. })).count();
    assert_eq!(starts, 1);
}

#[test]
fn a_refusal_is_marked() {
    assert!(folded(&[r#"{"refusal":"No."}"#], "stop").metadata.unwrap().contains("\"refusal\":true"));
}

#[test]
fn the_reason_is_judged_by_what_came() {
    use FinishReason::*;
    let call = r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}]}"#;
    let table: &[(&[&str], &str, FinishReason)] = &[
        (&[r#"{"content":"t"}"#], "stop", Stop),
        (&[r#"{"content":"t"}"#], "tool_calls", Stop),
        (&[r#"{"content":"t"}"#], "length", Length),
        (&[r#"{"content":"t"}"#], "content_filter", ContentFilter),
        (&[r#"{"content":"t"}"#], "flux_state", Unknown),
        (&[call], "tool_calls", ToolCalls),
        (&[call], "function_call", ToolCalls),
        (&[call], "stop", ToolCalls),
        (&[call], "flux_state", ToolCalls),
        (&[call], "length", Length),
        (&[call], "content_filter", ContentFilter),
    ];
    for (deltas, said, expected) in table {
        let got = folded(deltas, said);
        assert_eq!(got.reason, Some(*expected), "{deltas:?} {said}");
        assert!(got.metadata.unwrap().contains(said));
    }
}

#[test]
fn a_reason_may_be_a_failure() {
    let table = [
        ("function_call_filter: MALFORMED_FUNCTION_CALL", FailureKind::MalformedToolCall, true),
        ("error", FailureKind::Server, true),
        ("insufficient_system_resource", FailureKind::Overloaded, true),
        ("model_context_window_exceeded", FailureKind::ContextOverflow, false),
    ];
    for (said, kind, retryable) in table {
        let failure = folded(&[r#"{"content":"t"}"#], said).failure.unwrap();
        assert_eq!((failure.kind, failure.retryable), (kind, retryable), "{said}");
    }
}

#[test]
fn calls_carry_what_has_to_go_back() {
    let got = folded(
        &[
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"extra_content":{"google":{"thought_signature":"s"}}}]}"#,
        ],
        "stop",
    );
    assert_eq!(got.calls[0].opaque.as_deref(), Some(r#"{"google":{"thought_signature":"s"}}"#));
}

#[test]
fn reasoning_details_are_kept_whole_and_in_order() {
    let body = stream(&[
        &delta(r#"{"reasoning":"a","reasoning_details":[{"type":"reasoning.text","index":0,"text":"a"}]}"#),
        &delta(
            r#"{"reasoning":"b","reasoning_details":[{"type":"reasoning.text","index":0,"text":"b","signature":"s"}]}"#,
        ),
        &delta(r#"{"content":"t"}"#),
        &delta(r#"{"reasoning_details":[{"type":"reasoning.encrypted","index":1,"data":"x"}]}"#),
        &end("stop"),
    ]);
    let opaque: Vec<_> = events(&body)
        .into_iter()
        .filter_map(|e| if let StreamEvent::ReasoningEnd { opaque, .. } = e { opaque } else { None })
        .collect();
    let expected = [
        r#"[{"type":"reasoning.text","index":0,"text":"ab","signature":"s"}]"#,
        r#"[{"type":"reasoning.encrypted","index":1,"data":"x"}]"#,
    ];
    assert_eq!(opaque, expected);
}

#[test]
fn a_call_without_an_id_gets_one_of_its_own() {
    let call = r#"{"tool_calls":[{"function":{"name":"x","arguments":{"n":18446744073709551616}}}]}"#;
    let got = folded(&[call, call], "tool_calls");
    assert_eq!(got.calls.len(), 2);
    assert_ne!(got.calls[0].id, got.calls[1].id);
    assert_eq!(got.calls[0].input, r#"{"n":18446744073709551616}"#);
}

#[test]
fn odd_chunks_are_legal() {
    let a = delta(r#"{"content":"a"}"#);
    let stop = end("stop");
    let table: &[(&str, Vec<&str>)] = &[
        (
            "filter results first, no delta, late",
            vec![
                r#"{"id":"","model":"","choices":[],"prompt_filter_results":[{}]}"#,
                &a,
                &stop,
                r#"{"id":"","choices":[{"index":0,"content_filter_results":{},"finish_reason":null}]}"#,
            ],
        ),
        ("no choices at all", vec![r#"{"choices":null}"#, "{}", &a, &stop, r#"{"usage":null}"#]),
        ("choices of another type", vec![r#"{"choices":{},"usage":[]}"#, r#"{"choices":["x"]}"#, &a, &stop]),
        ("another choice", vec![r#"{"choices":[{"index":1,"delta":{"content":"no"}}]}"#, &a, &stop]),
        ("no error", vec![r#"{"error":null,"choices":[]}"#, r#"{"error":{}}"#, &a, &stop]),
        ("unknown members", vec![r#"{"obfuscation":"xyz","tool_call_generating":true,"choices":[]}"#, &a, &stop]),
        ("the reason before the text", vec![&stop, &a]),
    ];
    for (what, lines) in table {
        let got = fold(&events(&stream(lines)));
        assert_eq!((got.text.as_str(), got.failure, got.reason), ("a", None, Some(FinishReason::Stop)), "{what}");
    }
}

#[test]
fn framing_is_what_servers_make_of_it() {
    let (a, b, stop) = (delta(r#"{"content":"a"}"#), delta(r#"{"content":"b"}"#), end("stop"));
    let pretty = a.replacen('{', "{\ndata: ", 1);
    let table: &[(&str, String)] = &[
        ("no space", format!("data:{a}\n\ndata:{b}\n\ndata:{stop}\n\ndata:[DONE]\n\n")),
        (
            "comments and other fields",
            format!(": PROCESSING\n\nid: 1\nretry: 5\nevent: message\ndata: {a}\n\n:\n\ndata: {b}\n\ndata: {stop}\n\n"),
        ),
        ("no blank lines", format!("data: {a}\ndata: {b}\ndata: {stop}\ndata: [DONE]\n")),
        ("no line end at the end", format!("data: {a}\n\ndata: {b}\n\ndata: {stop}")),
        ("an event of several lines", format!("data: {pretty}\n\ndata: {b}\n\ndata: {stop}\n\n")),
        (
            "text after the end",
            format!(
                "data: {a}\n\ndata: {b}\n\ndata: {stop}\n\ndata: [DONE]\n\nevent: data\ndata: [DONE]\n\ndata: {a}\n\n{{\"error\":1}}\n"
            ),
        ),
        ("a byte order mark", format!("\u{feff}data: {a}\r\n\r\ndata: {b}\r\n\r\ndata: {stop}\r\n\r\n")),
        ("words that are no field", format!("hello\ndata: {a}\n\ndata: {b}\n\ndata: {stop}\n\n")),
        ("empty data", format!("data:\n\ndata: {a}\n\ndata: {b}\n\ndata: {stop}\n\n")),
    ];
    for (what, body) in table {
        for content_type in ["text/event-stream", "text/event-stream; charset=utf-8", "application/octet-stream", ""] {
            let whole = decode(content_type, &[body.as_bytes()]);
            let got = fold(&whole);
            assert_eq!((got.text.as_str(), got.failure), ("ab", None), "{what}, {content_type:?}");
            assert_eq!(decode(content_type, &chunks(body.as_bytes(), &[1])), whole, "{what}");
        }
    }
}

#[test]
fn a_whole_answer_is_read_where_none_is_streamed() {
    let body = r#"

        {"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi","reasoning_content":"r",
        "tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":"{\"n\":1}"}}]},"finish_reason":"tool_calls"}],
        "usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4},
        "completion_tokens_details":{"reasoning_tokens":2}}}"#;
    for content_type in ["application/json", "application/json; charset=utf-8", "text/plain", "text/event-stream"] {
        let whole = decode(content_type, &[body.as_bytes()]);
        let got = fold(&whole);
        assert_eq!((got.text.as_str(), got.reasoning.as_str(), got.calls.len()), ("hi", "r", 1), "{content_type}");
        assert_eq!(got.usage, Some(Usage { input: 6, output: 3, reasoning: 2, cache_read: 4, cache_write: 0 }));
        assert_eq!(decode(content_type, &chunks(body.as_bytes(), &[1])), whole);
    }
}

#[test]
fn a_failure_is_never_an_answer() {
    use FailureKind::*;
    let a = delta(r#"{"content":"a"}"#);
    let table: &[(&str, String, FailureKind, bool)] = &[
        (
            "error chunk",
            format!("data: {a}\n\ndata: {{\"error\":{{\"code\":500,\"message\":\"m\"}}}}\n\n"),
            Server,
            true,
        ),
        (
            "error beside choices",
            "data: {\"choices\":[],\"error\":{\"code\":429,\"message\":\"m\"}}\n\n".into(),
            RateLimit,
            true,
        ),
        (
            "the other shape",
            "data: {\"object\":\"error\",\"message\":\"m\",\"code\":400}\n\n".into(),
            InvalidRequest,
            false,
        ),
        ("named", "event: error\ndata: {\"message\":\"m\"}\n\n".into(), Server, true),
        ("named, as text", "event: error\ndata: it broke\n\n".into(), Server, true),
        ("bare line", format!("data: {a}\n\n{{\"error\":{{\"code\":503,\"message\":\"m\"}}}}\n"), Overloaded, true),
        ("bare, pretty", "{\n  \"error\": {\n    \"code\": 401,\n    \"message\": \"m\"\n  }\n}\n".into(), Auth, false),
        ("bare, in a list", "[{\"error\":{\"code\":400,\"message\":\"m\"}}]".into(), InvalidRequest, false),
        ("not JSON", "data: {\"choices\":nonsense}\n\n".into(), Transport, true),
        ("JSON, but no object", "data: 7\n\n".into(), Transport, true),
        ("nothing", String::new(), Transport, true),
        ("only the end", "data: [DONE]\n\n".into(), Transport, true),
        ("only comments", ": keep-alive\n\n: keep-alive\n\n".into(), Transport, true),
        ("cut in text", format!("data: {a}\n\n"), Transport, true),
        ("cut in a chunk", format!("data: {a}\n\ndata: {{\"choices\":[{{\"del"), Transport, true),
        (
            "a call and then an error",
            format!(
                "data: {}\n\ndata: {{\"error\":{{\"code\":500,\"message\":\"grammar\"}}}}\n\n",
                delta(r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}]}"#)
            ),
            Server,
            true,
        ),
    ];
    for (what, body, kind, retryable) in table {
        let whole = events(body.as_bytes());
        let got = fold(&whole);
        let failure = got.failure.unwrap_or_else(|| panic!("{what}"));
        assert_eq!((failure.kind, failure.retryable), (*kind, *retryable), "{what}: {}", failure.message);
        assert!(got.calls.is_empty(), "{what}: no call is given out");
        assert_eq!(decode("text/event-stream", &chunks(body.as_bytes(), &[1])), whole, "{what}");
    }
}

#[test]
fn a_page_names_its_type_and_shows_no_text() {
    let page = b"<!doctype html><title>Sign in</title>";
    for content_type in ["text/html; charset=utf-8", "application/xhtml+xml", "text/plain", ""] {
        let failure = fold(&decode(content_type, &[page])).failure.unwrap();
        assert_eq!(failure.kind, FailureKind::Transport);
        assert!(failure.message.contains("200") && failure.message.contains(content_type), "{}", failure.message);
        assert!(!failure.message.contains("Sign in"));
        assert_eq!(fold(&decode(content_type, &chunks(page, &[1]))).failure, Some(failure));
    }
}

#[test]
fn usage_is_the_last_report_counted_once() {
    let table = [
        (r#"{"prompt_tokens":9,"completion_tokens":5}"#, (9, 5, 0, 0, 0)),
        (
            r#"{"prompt_tokens":9,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":2}}"#,
            (3, 5, 0, 4, 2),
        ),
        (
            r#"{"prompt_tokens":9,"completion_tokens":5,"completion_tokens_details":{"reasoning_tokens":3}}"#,
            (9, 2, 3, 0, 0),
        ),
        (
            r#"{"prompt_tokens":9,"completion_tokens":5,"total_tokens":17,"completion_tokens_details":{"reasoning_tokens":3}}"#,
            (9, 5, 3, 0, 0),
        ),
        (
            r#"{"prompt_tokens":9,"completion_tokens":5,"prompt_cache_hit_tokens":4,"prompt_cache_miss_tokens":5}"#,
            (5, 5, 0, 4, 0),
        ),
        (r#"{"prompt_tokens":9.0,"completion_tokens":"5","prompt_tokens_details":null}"#, (9, 5, 0, 0, 0)),
        (r#"{"prompt_tokens":-9,"completion_tokens":null,"prompt_tokens_details":7}"#, (0, 0, 0, 0, 0)),
        (r#"{"prompt_tokens":1,"prompt_tokens_details":{"cached_tokens":4}}"#, (0, 0, 0, 4, 0)),
    ];
    for (json, (input, output, reasoning, cache_read, cache_write)) in table {
        let chunk = format!(r#"{{"choices":[],"usage":{json}}}"#);
        let early = r#"{"choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":1000}}"#;
        let got = fold(&events(&stream(&[early, &end("stop"), &chunk, "[DONE]"])));
        assert_eq!(got.usage, Some(Usage { input, output, reasoning, cache_read, cache_write }), "{json}");
    }
    assert_eq!(fold(&events(&stream(&[&end("stop"), "[DONE]"]))).usage, None);
    let groq = r#"{"choices":[],"x_groq":{"usage":{"prompt_tokens":2,"completion_tokens":3}}}"#;
    assert_eq!(
        fold(&events(&stream(&[&end("stop"), groq]))).usage,
        Some(Usage { input: 2, output: 3, ..Usage::default() })
    );
}

#[test]
fn sizes_are_bounded() {
    let flood = vec![b'x'; 9 << 20];
    let mut data = b"data: ".to_vec();
    data.extend(&flood);
    assert_eq!(fold(&events(&data)).failure.unwrap().kind, FailureKind::Transport);
    let mut json = b"{\"id\":\"".to_vec();
    (0..4).for_each(|_| json.extend(&flood));
    assert_eq!(fold(&decode("application/json", &[&json])).failure.unwrap().kind, FailureKind::Transport);
    let deep = format!("data: {{\"choices\":{}\n\n", "[".repeat(100_000));
    assert_eq!(fold(&events(deep.as_bytes())).failure.unwrap().kind, FailureKind::Transport);
    let deep = delta(&format!("{{\"content\":{}1{}}}", "[".repeat(1000), "]".repeat(1000)));
    assert_eq!(fold(&events(&stream(&[&deep]))).failure.unwrap().kind, FailureKind::Transport);
}

/// Pieces that servers send, in any order.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z€🦀\\\\\" ]{0,6}"
            .prop_map(|t| format!("data: {}\n\n", delta(&format!("{{\"content\":{}}}", serde_json::json!(t))))),
        (0..3u8, "[ab]?", "[xy]?", "[{}\"1a]{0,3}").prop_map(|(index, id, name, arguments)| {
            let call =
                serde_json::json!([{"index": index, "id": id, "function": {"name": name, "arguments": arguments}}]);
            format!("data: {}\r\n\r\n", delta(&format!("{{\"tool_calls\":{call}}}")))
        }),
        Just(format!("data:{}\r\r", end("stop"))),
        Just("data: [DONE]\n\n".to_owned()),
        Just(": comment\n".to_owned()),
        Just("event: error\n".to_owned()),
        Just("{\"error\":\n".to_owned()),
        Just("{\"message\":\"m\"}}\n\n".to_owned()),
        Just("data: {\"choices\":\n".to_owned()),
        Just("data: []}\n".to_owned()),
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
    fn a_broken_recording_ends_all_the_same(which in 0..4usize, at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()) {
        let mut body = FIXTURES[which].to_vec();
        let at = at.index(body.len());
        body[at] = byte;
        fold(&events(&body));
        body.truncate(cut.index(body.len()));
        let whole = events(&body);
        fold(&whole);
        prop_assert_eq!(decode("text/event-stream", &chunks(&body, &[7, 1, 64])), whole);
    }

    #[test]
    fn noise_never_panics_and_ends_in_a_failure(body in prop::collection::vec(any::<u8>(), 0..2000), sizes in prop::collection::vec(1..100usize, 1..8)) {
        let whole = decode("text/event-stream", &[&body]);
        let got = fold(&whole);
        prop_assert!(got.failure.is_some_and(|f| f.message.chars().count() < 700));
        prop_assert_eq!(decode("text/event-stream", &chunks(&body, &sizes)), whole);
        openai_chat_classifies(&body);
    }
}

fn openai_chat_classifies(body: &[u8]) {
    use airlock::provider::Provider;
    let failure = openai_chat::Codec::classify(500, &[], body);
    assert!(failure.message.chars().count() < 700);
}
