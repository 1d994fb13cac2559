//! Requests: tables of bodies, and a law that holds for every conversation.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use airlock::provider::{HttpRequest, Message, Part, Provider, Request, Role, ToolChoice};
use openai_responses::{Codec, Growing};
use proptest::prelude::*;
use serde_json::{Value, json};
use testing::laws::{growing_changes_nothing, newest_files_stay};
use testing::talk::{assistant, call_of, conversation, decl, file, result, said, thought, tool, user};

#[path = "../../../tests/support/strict/responses.rs"]
mod strict;

const OPENAI: &str = "https://api.openai.com/v1";
const LOCAL: &str = "http://127.0.0.1:8080/v1";
const THOUGHT: &str = r#"{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"ENC"}"#;

const OPAQUE: [Option<&str>; 6] =
    [None, Some(THOUGHT), Some(r#"{"signature":"s"}"#), Some(r#"{"id":"fc_1"}"#), Some(r#"{"id":"x"}"#), Some("no")];

fn call(id: &str, input: &str, opaque: Option<&str>) -> Part {
    call_of("read", id, input, opaque)
}

fn request(messages: Vec<Message>) -> Request {
    Request { messages, session_id: "ses_1".into(), ..Request::new("gpt-6-sol", OPENAI) }
}

fn sent(request: &Request) -> (HttpRequest, Value) {
    let http = Codec::encode(request).unwrap();
    let body: Value = serde_json::from_slice(&http.body).unwrap();
    if let Err(why) = strict::responses_request(&body) {
        panic!("{why}: {body:#}");
    }
    (http, body)
}

fn body(request: &Request) -> Value {
    sent(request).1
}

fn input(messages: Vec<Message>) -> Value {
    body(&request(messages))["input"].clone()
}

#[test]
fn a_request_has_its_place_and_its_key() {
    let mut r = request(vec![user("hi")]);
    assert!(!sent(&r).0.headers.iter().any(|h| h.value.contains("secret")), "no key, no header");
    r.secrets = vec!["openai".into()];
    for (base, url, name, value) in [
        (OPENAI, "https://api.openai.com/v1/responses", "authorization", "Bearer {{secret:openai}}"),
        (
            "https://x.openai.azure.com/openai/v1?api-version=1",
            "https://x.openai.azure.com/openai/v1/responses?api-version=1",
            "api-key",
            "{{secret:openai}}",
        ),
    ] {
        r.base_url = base.into();
        let http = sent(&r).0;
        assert_eq!(http.url, url);
        assert!(http.headers.iter().any(|h| h.name == name && h.value == value), "{:?}", http.headers);
    }
}

#[test]
fn the_plain_parts_of_a_body() {
    let mut r = request(vec![user("hi")]);
    r.system = vec!["One.".into(), " ".into(), "Two.".into()];
    r.tools = vec![decl("read", r#"{"type":"object"}"#)];
    (r.max_output_tokens, r.temperature) = (Some(5), Some(0.5));
    r.response_schema = Some(r#"{"type":"object"}"#.into());
    r.options = Some(r#"{"reasoning":{"effort":"low"},"text":{"verbosity":"low"},"prompt_cache_key":null}"#.into());
    let expected = json!({
        "model": "gpt-6-sol", "stream": true, "store": false, "include": ["reasoning.encrypted_content"],
        "text": {"verbosity": "low", "format": {"type": "json_schema", "name": "answer", "schema": {"type": "object"}, "strict": false}},
        "max_output_tokens": 16, "reasoning": {"effort": "low"}, "instructions": "One.\n\nTwo.",
        "tools": [{"type": "function", "name": "read", "description": "d", "parameters": {"type": "object", "properties": {}}, "strict": false}],
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}],
    });
    assert_eq!(body(&r), expected);
    for options in [r#"{"input":[]}"#, r#"{"stream":false}"#, "[]", "no"] {
        r.options = Some(options.into());
        assert!(Codec::encode(&r).is_err(), "{options}");
    }
}

#[test]
fn a_server_gets_what_it_accepts() {
    let include = json!(["reasoning.encrypted_content"]);
    for (base, model, temperature, includes) in [
        (OPENAI, "gpt-6-sol", Value::Null, &include),
        (OPENAI, "gpt-4.1", json!(0.5), &Value::Null),
        (LOCAL, "qwen", json!(0.5), &include),
    ] {
        let mut r = request(vec![user("hi")]);
        (r.base_url, r.model, r.temperature) = (base.into(), model.into(), Some(0.5));
        let body = body(&r);
        assert_eq!((&body["temperature"], &body["include"]), (&temperature, includes), "{base} {model}");
        assert_eq!((&body["store"], &body["prompt_cache_key"]), (&json!(false), &json!("ses_1")));
    }
}

#[test]
fn how_much_it_thinks_is_said_in_the_providers_words() {
    for (model, word, expected) in
        [("gpt-6-sol", "high", json!({"effort": "high"})), ("local", "low", json!({"effort": "low"}))]
    {
        let mut r = request(vec![user("hi")]);
        (r.model, r.options) = (model.into(), Some(json!({"reasoning_effort": word}).to_string()));
        let body = body(&r);
        assert_eq!(body["reasoning"], expected, "{model} {word}");
        assert!(!body.to_string().contains("reasoning_effort"), "{model} {word}");
    }
    let mut r = request(vec![user("hi")]);
    (r.model, r.options) = ("gpt-6-sol".into(), Some(r#"{"reasoning_effort":"minimal"}"#.into()));
    assert!(Codec::encode(&r).unwrap_err().contains("has no variant"));
}

#[test]
fn the_choice_of_a_tool() {
    for (choice, expected) in [
        (ToolChoice::Auto, Value::Null),
        (ToolChoice::None, json!("none")),
        (ToolChoice::Required, json!("required")),
        (ToolChoice::Named("read".into()), json!({"type": "function", "name": "read"})),
    ] {
        let mut r = request(vec![user("hi")]);
        r.tool_choice = choice;
        assert_eq!(body(&r)["tool_choice"], Value::Null, "without tools there is no choice");
        r.tools = vec![decl("read", r#"{"anyOf":[{"properties":{"a":{"const":1}}}]}"#)];
        let body = body(&r);
        assert_eq!(body["tool_choice"], expected);
        assert_eq!(body["tools"][0]["parameters"]["properties"]["a"]["enum"], json!([1]));
    }
}

#[test]
fn calls_and_outputs_are_paired() {
    let history = vec![
        user("look"),
        assistant(vec![said("I look."), call("a", r#"{"p":1}"#, None), call("b", "", None)]),
        tool(vec![
            result("b", "", false, vec![file("image/png", b"x"), file("application/zip", b"y")]),
            result("a", "none", true, vec![]),
        ]),
        assistant(vec![call("a", r#"{"half"#, Some(r#"{"id":"fc_9"}"#))]),
        user(" "),
    ];
    let sent = input(history);
    let made = sent[6]["call_id"].clone();
    let expected = json!([
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "look"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look.", "annotations": []}]},
        {"type": "function_call", "call_id": "a", "name": "read", "arguments": "{\"p\":1}"},
        {"type": "function_call", "call_id": "b", "name": "read", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "Error: none"},
        {"type": "function_call_output", "call_id": "b", "output": [
            {"type": "input_text", "text": "(no output)"},
            {"type": "input_image", "image_url": "data:image/png;base64,eA==", "detail": "auto"},
            {"type": "input_text", "text": "[The file f (application/zip, 1 bytes) cannot be shown to this model]"}]},
        {"type": "function_call", "call_id": made, "name": "read", "arguments": "{\"invalid_arguments\":\"{\\\"half\"}"},
        {"type": "function_call_output", "call_id": made, "output": "Error: the call was interrupted and has no result"},
    ]);
    assert_eq!(sent, expected);
    assert!(made.as_str().unwrap().starts_with("call_") && made != "a");
    assert!(Codec::encode(&request(vec![tool(vec![result("a", "x", false, vec![])])])).is_err());
}

#[test]
fn thoughts_go_back_in_order_with_what_came_of_them() {
    let fc = Some(r#"{"id":"fc_1"}"#);
    let kinds = |parts: Vec<Part>| {
        let sent = input(vec![user("x"), assistant(parts)]);
        let kind = |i: &Value| {
            format!("{}{}", i["type"].as_str().unwrap(), i["id"].as_str().map_or(String::new(), |id| format!(":{id}")))
        };
        sent.as_array().unwrap()[1..].iter().map(kind).collect::<Vec<_>>().join(" ")
    };
    for (parts, expected) in [
        (
            vec![thought("", Some(THOUGHT)), call("a", "{}", fc)],
            "reasoning:rs_1 function_call:fc_1 function_call_output",
        ),
        (vec![thought("", Some(THOUGHT)), said("t")], "reasoning:rs_1 message"),
        (vec![said("t"), thought("", Some(THOUGHT))], "message"),
        // Without its thought a call goes without its id.
        (vec![call("a", "{}", fc)], "function_call function_call_output"),
        (vec![thought("t", None), call("a", "{}", fc)], "function_call function_call_output"),
        (vec![thought("t", Some(r#"{"signature":"s"}"#)), said("u")], "message message"),
        (vec![thought("t", Some(r#"{"type":"reasoning","id":"rs_1","summary":[]}"#)), said("u")], "message message"),
    ] {
        assert_eq!(kinds(parts.clone()), expected, "{parts:?}");
    }
    let sent = input(vec![user("x"), assistant(vec![thought("", Some(THOUGHT)), said("t")])]);
    assert_eq!(sent[1], serde_json::from_str::<Value>(THOUGHT).unwrap());
}

#[test]
fn what_the_server_ran_goes_back_as_it_came() {
    let item = json!({"type": "web_search_call", "id": "ws_1", "status": "completed"});
    let opaque = json!({"item": item}).to_string();
    let sent = input(vec![
        user("x"),
        assistant(vec![call("ws_1", "{}", Some(&opaque)), result("ws_1", "r", false, vec![]), said("t")]),
    ]);
    assert_eq!((&sent[1], &sent[2]["type"]), (&item, &json!("message")));
    let foreign = input(vec![user("x"), assistant(vec![call("ws_1", "{}", None), result("ws_1", "r", false, vec![])])]);
    assert_eq!(foreign[2]["output"], "r");
}

#[test]
fn files_go_as_they_are_in_words_or_not_at_all() {
    for (given, kind) in [
        (file("image/jpg", b"x"), "input_image"),
        (file("application/pdf", b"x"), "input_file"),
        (file("text/plain", b"hello"), "input_text"),
        (file("image/bmp", b"x"), "input_text"),
        (file("image/png", b""), "input_text"),
    ] {
        let sent = input(vec![Message { role: Role::User, parts: vec![Part::File(given)] }]);
        assert_eq!(sent[0]["content"][0]["type"], kind);
    }
    let many = (0..502).map(|_| Part::File(file("image/png", b"x"))).collect();
    let sent = input(vec![Message { role: Role::User, parts: many }]);
    let kinds: Vec<&Value> = sent[0]["content"].as_array().unwrap().iter().map(|p| &p["type"]).collect();
    assert_eq!((kinds[1], kinds[2]), (&json!("input_text"), &json!("input_image")), "the oldest are left out");
}

#[test]
fn the_next_step_begins_with_the_bytes_of_this_one() {
    let mut r = request(vec![user("look")]);
    (r.system, r.tools) = (vec!["s".into()], vec![decl("read", "{}")]);
    let mut before = Codec::encode(&r).unwrap().body;
    for more in [
        vec![
            assistant(vec![thought("", Some(THOUGHT)), call("", "{}", None)]),
            tool(vec![result("", "x", false, vec![])]),
        ],
        vec![user("on")],
    ] {
        r.messages.extend(more);
        let now = Codec::encode(&r).unwrap().body;
        assert!(now.starts_with(before.strip_suffix(b"]}").expect("the input comes last")));
        before = now;
    }
}

#[test]
fn the_catalogue_can_be_read() {
    let models = Codec::info().models;
    assert!(models.len() > 10 && models.iter().all(|m| m.context >= 400_000 && m.output > 0 && m.price.is_some()));
    for model in models.iter().filter(|m| m.reasoning) {
        let metadata: Value = serde_json::from_str(model.metadata.as_deref().unwrap()).unwrap();
        for (name, options) in metadata["variants"].as_object().unwrap() {
            let mut r = request(vec![user("hi")]);
            (r.model, r.options) = (model.id.clone(), Some(options.to_string()));
            assert_eq!(body(&r)["reasoning"]["effort"], **name, "{}", model.id);
        }
    }
}

/// The ids of a server are its own and come once.
fn without_repeats(mut messages: Vec<Message>) -> Vec<Message> {
    let mut n = 0;
    for part in messages.iter_mut().flat_map(|m| &mut m.parts) {
        let opaque = match part {
            Part::Reasoning(thought) => &mut thought.opaque,
            Part::ToolCall(call) => &mut call.opaque,
            _ => continue,
        };
        n += 1;
        *opaque = opaque.take().map(|o| o.replace("_1", &format!("_{n}")));
    }
    messages
}

#[test]
fn files_give_way_to_newer_ones() {
    newest_files_stay::<Growing>(&request(vec![]), 500, r#""type":"input_image""#);
}

proptest! {
    #[test]
    fn growing_changes_nothing_of_the_bytes(messages in conversation(&OPAQUE), cuts in prop::collection::vec(0..8usize, 0..4)) {
        growing_changes_nothing::<Growing>(&request(messages), &cuts);
    }

    #[test]
    fn a_strict_server_accepts_every_request(
        messages in conversation(&OPAQUE).prop_map(without_repeats),
        base in prop::sample::select(vec![OPENAI, LOCAL]),
        choice in prop::sample::select(vec![ToolChoice::Auto, ToolChoice::None, ToolChoice::Required]),
        tools in any::<bool>(),
    ) {
        let mut r = request(messages);
        (r.base_url, r.tool_choice) = (base.into(), choice);
        r.system = vec!["s".into(), String::new()];
        if tools {
            r.tools = vec![decl("read", r#"{"type":"object","oneOf":[{"required":["a"]}]}"#)];
        }
        sent(&r);
    }
}
