//! Requests: tables of bodies, and a law that holds for every conversation.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use airlock::provider::{FailureKind, File, HttpRequest, Message, Part, Provider, Request, Role, ToolChoice};
use ollama::{Codec, Growing};
use proptest::prelude::*;
use serde_json::{Value, json};
use testing::laws::growing_changes_nothing;
use testing::talk::{assistant, call_of, conversation, decl, png, result, says, thought, tool};

#[path = "../../../tests/support/strict/ollama.rs"]
mod strict;

fn call(id: &str, name: &str, input: &str) -> Part {
    call_of(name, id, input, None)
}

fn request(messages: Vec<Message>) -> Request {
    Request { messages, ..Request::new("qwen3", "http://127.0.0.1:11434") }
}

fn sent(request: &Request) -> (HttpRequest, Value) {
    let http = Codec::encode(request).unwrap();
    let body: Value = serde_json::from_slice(&http.body).unwrap();
    if let Err(why) = strict::ollama_request(&body) {
        panic!("{why}: {body:#}");
    }
    (http, body)
}

fn body(request: &Request) -> Value {
    sent(request).1
}

#[test]
fn a_request_has_its_place_and_its_key() {
    let mut r = request(vec![says(Role::User, "hi")]);
    for (base, url) in [
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434/api/chat"),
        ("https://ollama.com/api/", "https://ollama.com/api/chat"),
        ("http://h/x?k=1", "http://h/x/api/chat?k=1"),
    ] {
        r.base_url = base.into();
        assert_eq!(sent(&r).0.url, url);
    }
    r.base_url = "http://127.0.0.1:11434/v1".into();
    let refused = Codec::encode(&r).unwrap_err();
    assert!(refused.contains("set base_url to http://127.0.0.1:11434,"), "{refused}");
    r.base_url = "http://127.0.0.1:11434".into();
    assert!(!sent(&r).0.headers.iter().any(|h| h.value.contains("secret")), "no key, no header");
    r.secrets = vec!["ollama".into()];
    assert!(sent(&r).0.headers.iter().any(|h| h.name == "authorization" && h.value == "Bearer {{secret:ollama}}"));
}

#[test]
fn the_plain_parts_of_a_body() {
    let mut r = request(vec![says(Role::User, "hi")]);
    r.system = vec!["One.".into(), String::new(), "Two.".into()];
    r.tools =
        vec![decl("read", r##"{"properties":{"p":{"$ref":"#/$defs/p"},"any":true},"$defs":{"p":{"const":"x"}}}"##)];
    (r.max_output_tokens, r.temperature) = (Some(100), Some(0.5));
    r.options = Some(r#"{"num_ctx":32768,"think":true,"temperature":null,"options":{"top_k":7}}"#.into());
    let parameters =
        json!({"type": "object", "properties": {"p": {"enum": ["x"], "type": "string"}, "any": {"type": "string"}}});
    let expected = json!({
        "model": "qwen3", "stream": true,
        "tools": [{"type": "function", "function": {"name": "read", "description": "d", "parameters": parameters}}],
        "messages": [{"role": "system", "content": "One.\n\nTwo."}, {"role": "user", "content": "hi"}],
        "think": true,
        "options": {"num_predict": 100, "num_ctx": 32768, "top_k": 7},
    });
    assert_eq!(body(&r), expected);
    for options in [r#"{"messages":[]}"#, r#"{"stream":false}"#, "[]", "no", r#"{"options":1}"#] {
        r.options = Some(options.into());
        assert!(Codec::encode(&r).is_err(), "{options}");
    }
}

#[test]
fn how_much_it_thinks_is_said_in_the_providers_words() {
    for (model, word, expected) in [
        ("qwen3", "high", json!(true)),
        ("qwen3", "none", json!(false)),
        ("gpt-oss:20b", "medium", json!("medium")),
        ("gpt-oss:20b", "max", json!("high")),
    ] {
        let mut r = request(vec![says(Role::User, "hi")]);
        (r.model, r.options) = (model.into(), Some(json!({"reasoning_effort": word}).to_string()));
        let body = body(&r);
        assert_eq!(body["think"], expected, "{model} {word}");
        assert!(!body.to_string().contains("reasoning_effort"), "{model} {word}");
    }
}

#[test]
fn only_tools_that_may_be_called_are_offered() {
    let table =
        [(ToolChoice::Auto, 2), (ToolChoice::Required, 2), (ToolChoice::Named("b".into()), 1), (ToolChoice::None, 0)];
    for (choice, count) in table {
        let mut r = request(vec![says(Role::User, "hi")]);
        r.tools = vec![decl("a", "{}"), decl("b", "{}")];
        r.tool_choice = choice;
        assert_eq!(body(&r)["tools"].as_array().map_or(0, Vec::len), count);
    }
}

#[test]
fn the_shape_of_an_answer_binds_every_token_or_is_asked_for_in_words() {
    let mut r = request(vec![says(Role::User, "hi")]);
    r.response_schema = Some(r#"{"type":"object"}"#.into());
    assert_eq!(body(&r)["format"], json!({"type": "object"}));
    r.tools = vec![decl("a", "{}")];
    assert!(body(&r).get("format").is_none());
    assert!(body(&r)["messages"][0]["content"].as_str().unwrap().contains(r#"{"type":"object"}"#));
}

#[test]
fn calls_and_results_are_paired_in_order() {
    let history = vec![
        says(Role::User, "look"),
        assistant(vec![
            thought("hm", None),
            Part::Text("I look.".into()),
            call("a", "read", r#"{"p":1}"#),
            call("b", "list", ""),
        ]),
        tool(vec![result("b", "", false, vec![]), result("a", "no such file", true, vec![png()])]),
        assistant(vec![call("c", "read", r#"{"half"#)]),
        says(Role::User, ""),
        assistant(vec![thought("alone", None)]),
    ];
    let expected = json!([
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": "I look.", "thinking": "hm", "tool_calls": [
            {"id": "a", "function": {"name": "read", "arguments": {"p": 1}}}, {"id": "b", "function": {"name": "list", "arguments": {}}}]},
        {"role": "tool", "content": "Error: no such file", "tool_name": "read", "tool_call_id": "a"},
        {"role": "tool", "content": "(no output)", "tool_name": "list", "tool_call_id": "b"},
        {"role": "user", "content": "The files that the tools gave:", "images": ["AQID"]},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "function": {"name": "read", "arguments": {"invalid_arguments": "{\"half"}}}]},
        {"role": "tool", "content": "Error: the call was interrupted and has no result", "tool_name": "read", "tool_call_id": "c"},
    ]);
    assert_eq!(body(&request(history))["messages"], expected);
    assert!(
        Codec::encode(&request(vec![tool(vec![result("a", "x", false, vec![])])]))
            .unwrap_err()
            .contains("answers no open call")
    );
}

#[test]
fn files_go_where_the_protocol_has_a_place() {
    let text = File { mime: "text/plain".into(), name: Some("a.txt".into()), data: b"hello".to_vec() };
    let other = File { mime: "application/pdf".into(), name: Some("a.pdf".into()), data: vec![255] };
    let parts = vec![Part::Text("see".into()), Part::File(png()), Part::File(text), Part::File(other)];
    let expected = json!([{"role": "user", "images": ["AQID"],
        "content": "see\n\na.txt:\nhello\n\n[The file a.pdf (application/pdf, 1 bytes) cannot be shown to this model]"}]);
    assert_eq!(body(&request(vec![Message { role: Role::User, parts }]))["messages"], expected);
}

#[test]
fn the_next_step_begins_with_the_bytes_of_this_one() {
    let mut r = request(vec![says(Role::User, "look")]);
    r.tools = vec![decl("read", "{}")];
    let before = Codec::encode(&r).unwrap().body;
    r.messages.push(assistant(vec![call("a", "read", r#"{"p":1}"#)]));
    r.messages.push(tool(vec![result("a", "x", false, vec![])]));
    let after = Codec::encode(&r).unwrap().body;
    assert!(after.starts_with(before.strip_suffix(b"]}").unwrap()));
}

#[test]
fn errors_of_the_server_have_a_kind() {
    use FailureKind::{Auth, ContextOverflow, InvalidRequest, MalformedToolCall, Overloaded, Server};
    let table = [
        (404, "model 'x' not found", InvalidRequest, false),
        (400, "registry.ollama.ai/library/gemma:2b does not support tools", InvalidRequest, false),
        (400, "the input length exceeds the context length", ContextOverflow, false),
        (401, "unauthorized", Auth, false),
        (500, "model requires more system memory (9 GiB) than is available (4 GiB)", Server, true),
        (500, "error parsing tool call: raw='{', err=unexpected end of JSON input", MalformedToolCall, true),
        (503, "server busy, please try again.  maximum pending requests exceeded", Overloaded, true),
    ];
    for (status, message, kind, retryable) in table {
        let failure = Codec::classify(status, &[], json!({"error": message}).to_string().as_bytes());
        assert_eq!((failure.kind, failure.retryable), (kind, retryable), "{message}");
        assert!(failure.message.contains(message.split_whitespace().next().unwrap()));
    }
}

proptest! {
    #[test]
    fn growing_changes_nothing_of_the_bytes(messages in conversation(&[None]), cuts in prop::collection::vec(0..8usize, 0..4)) {
        growing_changes_nothing::<Growing>(&request(messages), &cuts);
    }

    #[test]
    fn a_strict_server_accepts_every_request(messages in conversation(&[None])) {
        sent(&request(messages));
    }
}
