//! The decoder against each known quirk, and noise.

use airlock::provider::{FailureKind, FinishReason, StreamEvent, Usage};
use ollama::Decoder;
use proptest::prelude::*;
use serde_json::{Value, json};
use testing::{Folded, after_each_cr, chunks, fold};

testing::reader!(Decoder);

const TYPE: &str = "application/x-ndjson";

fn says(message: Value) -> String {
    format!("{}\n", json!({"model": "m", "message": message, "done": false}))
}

fn done(reason: &str) -> String {
    let line = json!({"model": "m", "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": reason,
        "prompt_eval_count": 9, "eval_count": 5});
    format!("{line}\n")
}

/// The events of this body, the same at every cut.
fn read(body: &str) -> Vec<StreamEvent> {
    let whole = decode(TYPE, &[body.as_bytes()]);
    for pieces in [chunks(body.as_bytes(), &[1]), chunks(body.as_bytes(), &[3]), after_each_cr(body.as_bytes())] {
        assert_eq!(decode(TYPE, &pieces), whole, "{body}");
    }
    whole
}

fn folded(lines: &[String]) -> Folded {
    fold(&read(&lines.concat()))
}

#[test]
fn texts_and_thoughts() {
    let got = folded(&[
        says(json!({"role": "assistant", "content": "", "thinking": "I think"})),
        says(json!({"content": "", "thinking": " so."})),
        says(json!({"content": "Hello €🦀"})),
        says(json!({"content": ""})),
        says(json!({"content": "\u{2028}!"})),
        done("stop"),
    ]);
    assert_eq!((got.reasoning.as_str(), got.text.as_str()), ("I think so.", "Hello €🦀\u{2028}!"));
    assert_eq!(
        (got.reason, got.usage),
        (Some(FinishReason::Stop), Some(Usage { input: 9, output: 5, ..Usage::default() }))
    );
    assert_eq!(got.metadata.as_deref(), Some(r#"{"finish_reason":"stop","model":"m"}"#));
}

#[test]
fn calls_are_whole_and_have_ids_of_their_own() {
    let call = |arguments: Value| json!({"function": {"name": "read", "arguments": arguments}});
    let got = folded(&[
        says(json!({"content": "", "tool_calls": [call(json!({"p": 1})), call(json!({"p": 1}))]})),
        says(
            json!({"content": "", "tool_calls": [call(json!({"p": 1})), call(json!("{\"p\":1}")), call(json!(null)), {"function": {"arguments": {}}}, 7]}),
        ),
        says(
            json!({"tool_calls": [{"id": "call_x", "function": {"name": "read"}}, {"id": "call_x", "function": {"name": "read"}}]}),
        ),
        done("stop"),
    ]);
    let ids: std::collections::HashSet<_> = got.calls.iter().map(|c| c.id.clone()).collect();
    assert_eq!((got.calls.len(), ids.len(), got.reason), (7, 7, Some(FinishReason::ToolCalls)));
    let inputs: Vec<&str> = got.calls.iter().map(|c| c.input.as_str()).collect();
    assert_eq!(inputs, [r#"{"p":1}"#, r#"{"p":1}"#, r#"{"p":1}"#, r#"{"p":1}"#, "{}", "{}", "{}"]);
    assert!(ids.contains("call_x"), "the server's own id stays");
}

#[test]
fn the_reason_is_judged_by_what_came() {
    use FinishReason::{Length, Stop, ToolCalls, Unknown};
    let call = says(json!({"tool_calls": [{"function": {"name": "x", "arguments": {}}}]}));
    let text = says(json!({"content": "t"}));
    for (said, with_text, with_call) in [
        ("stop", Stop, ToolCalls),
        ("length", Length, Length),
        ("load", Unknown, ToolCalls),
        ("new", Unknown, ToolCalls),
    ] {
        assert_eq!(folded(&[text.clone(), done(said)]).reason, Some(with_text), "{said}");
        assert_eq!(folded(&[call.clone(), done(said)]).reason, Some(with_call), "{said}");
    }
    assert_eq!(folded(&[text, "{\"done\":true}\n".into()]).reason, Some(Stop), "older servers give no reason");
}

#[test]
fn framing_is_what_servers_make_of_it() {
    let (a, b) = (says(json!({"content": "a"})), says(json!({"content": "b"})));
    let end = done("stop");
    let pretty = |line: &str| serde_json::to_string_pretty(&serde_json::from_str::<Value>(line).unwrap()).unwrap();
    let table = [
        ("plain", format!("{a}{b}{end}")),
        ("no line end at the end", format!("{a}{b}{}", end.trim_end())),
        ("blank lines", format!("\n\n{a}\n{b}\r\n\r\n{end}\n")),
        ("carriage returns", format!("{a}{b}{end}").replace('\n', "\r\n")),
        ("a byte order mark", format!("\u{feff}{a}{b}{end}")),
        ("framed as events", format!("data: {a}\ndata: {b}\n: ping\n\ndata: {end}\ndata: [DONE]\n\n")),
        ("over several lines", format!("{a}{b}{}\n", pretty(&end))),
        ("text after the end", format!("{a}{b}{end}{a}")),
    ];
    for (what, body) in table {
        for content_type in [TYPE, "application/json", "text/event-stream", ""] {
            let whole = decode(content_type, &[body.as_bytes()]);
            let got = fold(&whole);
            assert_eq!((got.text.as_str(), got.failure), ("ab", None), "{what}, {content_type:?}");
            assert_eq!(decode(content_type, &chunks(body.as_bytes(), &[1])), whole, "{what}");
        }
    }
}

#[test]
fn a_failure_is_never_an_answer() {
    use FailureKind::{ContextOverflow, MalformedToolCall, Server, Transport};
    let text = says(json!({"content": "t"}));
    let call = says(json!({"tool_calls": [{"function": {"name": "x", "arguments": {}}}]}));
    let error = |message: &str| format!("{}\n", json!({"error": message}));
    let table: &[(&str, String, FailureKind, bool)] = &[
        (
            "error in the stream",
            format!("{text}{}", error("an error was encountered while running the model")),
            Server,
            true,
        ),
        ("error after a call", format!("{call}{}", error("model runner has unexpectedly stopped")), Server, true),
        ("error alone, no line end", error("x").trim_end().into(), Server, true),
        (
            "a call that it could not read",
            format!("{text}{}", error("error parsing tool call: raw='{', err=unexpected end of JSON input")),
            MalformedToolCall,
            true,
        ),
        ("too long", error("the input length exceeds the context length"), ContextOverflow, false),
        ("cut in text", text.clone(), Transport, true),
        ("cut after a call", call, Transport, true),
        ("cut in a line", format!("{text}{{\"message\":{{\"con"), Transport, true),
        ("nothing", String::new(), Transport, true),
        ("only blanks", "\n\n".into(), Transport, true),
        ("not JSON", "nonsense\n".into(), Transport, true),
        ("no object", "[1]\n".into(), Transport, true),
        ("a page", "<html>Sign in</html>".into(), Transport, false),
    ];
    for (what, body, kind, retryable) in table {
        let got = fold(&read(body));
        let failure = got.failure.unwrap_or_else(|| panic!("{what}"));
        assert_eq!((failure.kind, failure.retryable), (*kind, *retryable), "{what}: {}", failure.message);
        assert!(got.calls.is_empty(), "{what}: no call is given out");
        assert!(!failure.message.contains("Sign in"));
    }
}

#[test]
fn sizes_are_bounded() {
    let failed = |body: &[u8]| fold(&decode(TYPE, &[body])).failure.unwrap().kind;
    assert_eq!(failed(&vec![b'{'; 9 << 20]), FailureKind::Transport);
    assert_eq!(failed("{\n".repeat(5 << 20).as_bytes()), FailureKind::Transport);
    assert_eq!(failed(format!("{{\"a\":{}\n", "[".repeat(100_000)).as_bytes()), FailureKind::Transport);
    let calls: Vec<Value> = (0..300).map(|_| json!({"function": {"name": "x"}})).collect();
    assert_eq!(failed(says(json!({"tool_calls": calls})).as_bytes()), FailureKind::Transport);
    assert_eq!(fold(&events(b"data: nonsense\n\n")).failure.unwrap().kind, FailureKind::Transport);
    let empty = format!("{}{}", "{}\n".repeat(100_000), done("stop"));
    assert_eq!(fold(&decode(TYPE, &[empty.as_bytes()])).reason, Some(FinishReason::Stop));
}

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z€🦀\\\\\" ]{0,6}".prop_map(|t| says(json!({"content": t}))),
        "[a-z]{0,3}".prop_map(|t| says(json!({"thinking": t}))),
        ("[xy]?", "[ab]?", 0..3u8).prop_map(|(name, id, n)| says(
            json!({"tool_calls": [{"id": id, "function": {"name": name, "arguments": {"n": n}}}]})
        )),
        prop::sample::select(vec!["stop", "length", "load"]).prop_map(done),
        Just("{\"error\":\"e\"}\n".to_owned()),
        Just("{\"message\":\r\n".to_owned()),
        Just("{\"content\":\"m\"}}\n".to_owned()),
        Just("data: {\"done\":true}\n\n".to_owned()),
        "[\\x00-\\x7f]{0,8}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_cut_gives_the_same_events(pieces in prop::collection::vec(piece(), 0..12), sizes in prop::collection::vec(1..40usize, 1..8)) {
        let body = pieces.concat().into_bytes();
        let whole = decode(TYPE, &[&body]);
        fold(&whole);
        prop_assert_eq!(&decode(TYPE, &chunks(&body, &sizes)), &whole);
        prop_assert_eq!(&decode(TYPE, &chunks(&body, &[1])), &whole);
    }

    #[test]
    fn a_broken_stream_ends_all_the_same(at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()) {
        let lines = [says(json!({"thinking": "th", "content": "t"})), says(json!({"tool_calls": [{"function": {"name": "x", "arguments": {"a": [1]}}}]})), done("stop")];
        let mut body = lines.concat().into_bytes();
        let at = at.index(body.len());
        body[at] = byte;
        fold(&decode(TYPE, &[&body]));
        body.truncate(cut.index(body.len()));
        let whole = decode(TYPE, &[&body]);
        fold(&whole);
        prop_assert_eq!(decode(TYPE, &chunks(&body, &[7, 1, 64])), whole);
    }

    #[test]
    fn noise_never_panics_and_ends_in_a_failure(body in prop::collection::vec(any::<u8>(), 0..2000), sizes in prop::collection::vec(1..100usize, 1..8)) {
        let whole = decode(TYPE, &[&body]);
        prop_assert!(fold(&whole).failure.is_some_and(|f| f.message.chars().count() < 700));
        prop_assert_eq!(decode(TYPE, &chunks(&body, &sizes)), whole);
    }
}
