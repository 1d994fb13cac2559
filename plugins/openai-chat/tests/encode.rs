//! Requests: a table of bodies, and a law that holds for every conversation.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use airlock::provider::{
    File, HttpRequest, Message, Part, Provider, Reasoning, Request, Role, ToolCall, ToolChoice, ToolDecl, ToolResult,
};
use openai_chat::{Codec, Growing};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::HashSet;
use testing::laws::{growing_changes_nothing, newest_files_stay};
use testing::talk::{assistant, call, conversation, says, tool};

const LOCAL: &str = "http://127.0.0.1:8080/v1";
const OPENAI: &str = "https://api.openai.com/v1";
const MISTRAL: &str = "https://api.mistral.ai/v1";

fn result(id: &str, text: &str, is_error: bool) -> Part {
    testing::talk::result(id, text, is_error, vec![])
}

fn png() -> File {
    File { name: Some("a.png".into()), ..testing::talk::png() }
}

fn request(base: &str, messages: Vec<Message>) -> Request {
    Request { messages, session_id: "ses_1".into(), ..Request::new("m", base) }
}

fn sent(request: &Request) -> (HttpRequest, Value) {
    let http = Codec::encode(request).unwrap();
    let body = serde_json::from_slice(&http.body).unwrap();
    (http, body)
}

fn body(request: &Request) -> Value {
    let body = sent(request).1;
    strict(&body);
    body
}

fn messages(request: &Request) -> Value {
    body(request)["messages"].clone()
}

/// What a strict server demands of the messages.
fn strict(body: &Value) {
    let (mut open, mut seen): (Vec<String>, HashSet<String>) = (Vec::new(), HashSet::new());
    for message in body["messages"].as_array().unwrap() {
        let calls = message["tool_calls"].as_array();
        match message["role"].as_str().unwrap() {
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap();
                let at = open.iter().position(|o| o == id).expect("a result answers an open call");
                open.remove(at);
            }
            _ => assert!(open.is_empty(), "a call is followed by its result"),
        }
        match &message["content"] {
            Value::String(text) => assert!(!text.is_empty(), "no empty message"),
            Value::Array(parts) => assert!(!parts.is_empty()),
            Value::Null => assert!(calls.is_some_and(|c| !c.is_empty()), "content or calls"),
            other => panic!("{other} is no content"),
        }
        for call in calls.into_iter().flatten() {
            let id = call["id"].as_str().expect("a string");
            assert!(!id.is_empty() && seen.insert(id.into()), "{id} is empty or used twice");
            let name = call["function"]["name"].as_str().unwrap();
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            assert!((1..=64).contains(&name.len()) && name.chars().all(plain), "{name:?} is no name");
            let arguments: Value = serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
            assert!(arguments.is_object());
            open.push(id.into());
        }
    }
    assert!(open.is_empty(), "every call has its result");
}

#[test]
fn a_request_has_its_place_and_its_key() {
    let mut r = request(LOCAL, vec![says(Role::User, "hi")]);
    let (http, _) = sent(&r);
    assert_eq!((http.method.as_str(), http.url.as_str()), ("POST", "http://127.0.0.1:8080/v1/chat/completions"));
    assert!(!http.headers.iter().any(|h| h.value.contains("secret")), "no key, no header");

    r.secrets = vec!["openai".into()];
    let keys: Vec<_> =
        sent(&r).0.headers.into_iter().filter(|h| h.value.contains("secret")).map(|h| (h.name, h.value)).collect();
    assert_eq!(keys, [("authorization".into(), "Bearer {{secret:openai}}".into())]);

    r.base_url = "https://x.openai.azure.com/openai/v1?api-version=1".into();
    let (http, _) = sent(&r);
    assert_eq!(http.url, "https://x.openai.azure.com/openai/v1/chat/completions?api-version=1");
    assert!(http.headers.iter().any(|h| h.name == "api-key" && h.value == "{{secret:openai}}"));
}

#[test]
fn the_plain_parts_of_a_body() {
    let mut r = request(LOCAL, vec![says(Role::User, "hi")]);
    r.system = vec!["One.".into(), String::new(), "Two.".into()];
    r.tools =
        vec![ToolDecl { name: "read".into(), description: "d".into(), input_schema: r#"{"type":"object"}"#.into() }];
    r.max_output_tokens = Some(100);
    r.temperature = Some(0.5);
    r.response_schema = Some(r#"{"type":"object"}"#.into());
    r.options = Some(r#"{"seed":7}"#.into());
    let expected = json!({
        "model": "m", "stream": true, "stream_options": {"include_usage": true}, "seed": 7,
        "tools": [{"type": "function", "function": {"name": "read", "description": "d", "parameters": {"type": "object"}}}],
        "messages": [{"role": "system", "content": "One.\n\nTwo."}, {"role": "user", "content": "hi"}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object"}}},
        "max_tokens": 100, "temperature": 0.5,
    });
    assert_eq!(body(&r), expected);
}

#[test]
fn a_server_gets_what_it_accepts() {
    let table = [
        (LOCAL, "qwen", json!({"max_tokens": 9, "temperature": 0.5, "stream_options": {"include_usage": true}})),
        (OPENAI, "gpt-4.1", json!({"max_tokens": 9, "temperature": 0.5, "store": false, "prompt_cache_key": "ses_1"})),
        (OPENAI, "gpt-5-mini", json!({"max_completion_tokens": 9, "max_tokens": null, "temperature": null})),
        (OPENAI, "o4-mini", json!({"max_completion_tokens": 9, "max_tokens": null, "temperature": null})),
        (OPENAI, "gpt-5-chat-latest", json!({"max_tokens": 9, "temperature": 0.5})),
        (MISTRAL, "codestral", json!({"max_tokens": 9, "stream_options": null, "prompt_cache_key": null})),
        ("https://api.x.ai/v1", "grok-4", json!({"max_tokens": 9, "prompt_cache_key": "ses_1", "store": null})),
        (
            "https://api.z.ai/api/paas/v4",
            "glm-4.6",
            json!({"max_tokens": 9, "thinking": {"type": "enabled", "clear_thinking": false}}),
        ),
        ("https://dashscope.aliyuncs.com/compatible-mode/v1", "qwen3-x-thinking", json!({"enable_thinking": true})),
        ("https://dashscope.aliyuncs.com/compatible-mode/v1", "qwen3-coder", json!({"enable_thinking": null})),
        ("https://api.groq.com/openai/v1", "m", json!({"max_tokens": 9, "prompt_cache_key": null, "thinking": null})),
        ("https://notopenai.com/v1", "gpt-5", json!({"max_tokens": 9, "prompt_cache_key": null})),
        ("https://evil.com/api.openai.com", "gpt-5", json!({"max_tokens": 9, "prompt_cache_key": null})),
    ];
    for (base, model, expected) in table {
        let mut r = request(base, vec![says(Role::User, "hi")]);
        (r.model, r.max_output_tokens, r.temperature) = (model.into(), Some(9), Some(0.5));
        let body = body(&r);
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(body[name], *value, "{base} {model} {name}");
        }
    }
}

#[test]
fn schemas_are_put_as_the_server_knows_them() {
    let odd = r##"{"type":"object","properties":{"a":{"const":"x"},"b":{"$ref":"#/$defs/d","description":"t"},"c":{"items":[{"type":"string"},{"type":"number"}]}},"$defs":{"d":{"type":"string"}}}"##;
    let table = [
        (LOCAL, serde_json::from_str::<Value>(odd).unwrap()["properties"].clone()),
        (
            OPENAI,
            json!({"a": {"enum": ["x"], "type": "string"}, "b": {"$ref": "#/$defs/d", "description": "t"},
                "c": {"items": [{"type": "string"}, {"type": "number"}], "type": "array"}}),
        ),
        (
            "https://api.moonshot.ai/v1",
            json!({"a": {"const": "x"}, "b": {"$ref": "#/$defs/d"}, "c": {"items": {"type": "string"}}}),
        ),
    ];
    for (base, expected) in table {
        let mut r = request(base, vec![says(Role::User, "hi")]);
        r.tools = vec![ToolDecl { name: "odd".into(), description: String::new(), input_schema: odd.into() }];
        assert_eq!(body(&r)["tools"][0]["function"]["parameters"]["properties"], expected, "{base}");
    }
}

#[test]
fn the_choice_of_a_tool() {
    let named = json!({"type": "function", "function": {"name": "read"}});
    let table = [
        (ToolChoice::Auto, Value::Null),
        (ToolChoice::None, json!("none")),
        (ToolChoice::Required, json!("required")),
        (ToolChoice::Named("read".into()), named),
    ];
    for (choice, expected) in table {
        let mut r = request(LOCAL, vec![says(Role::User, "hi")]);
        r.tool_choice = choice;
        assert_eq!(body(&r)["tool_choice"], Value::Null, "without tools there is no choice");
        r.tools = vec![ToolDecl { name: "read".into(), description: String::new(), input_schema: "{}".into() }];
        let body = body(&r);
        assert_eq!(body["tool_choice"], expected);
        assert_eq!(body["tools"][0]["function"]["parameters"], json!({"type": "object", "properties": {}}));
    }
}

#[test]
fn options_override_and_take_away_but_not_the_conversation() {
    let mut r = request(OPENAI, vec![says(Role::User, "hi")]);
    r.options = Some(r#"{"store":true,"stream_options":null,"max_tokens":5,"dialect":{"cache_key":false}}"#.into());
    r.max_output_tokens = Some(9);
    let body = body(&r);
    assert_eq!((&body["store"], &body["max_tokens"]), (&json!(true), &json!(5)));
    let gone = |name: &str| body.get(name).is_none();
    assert!(gone("stream_options") && gone("prompt_cache_key") && gone("dialect"));
    for options in [r#"{"messages":[]}"#, r#"{"stream":false}"#, r#"{"dialect":{"idz":"nine"}}"#, "[]", "no"] {
        r.options = Some(options.into());
        assert!(Codec::encode(&r).is_err(), "{options}");
    }
}

#[test]
fn calls_and_results_are_paired() {
    let history = vec![
        says(Role::User, "look"),
        assistant(vec![Part::Text("I look.".into()), call("a", r#"{"p":1}"#), call("b", "")]),
        tool(vec![result("b", "", false), result("a", "no such file", true)]),
        assistant(vec![call("c", r#"{"half"#)]),
        tool(vec![result("c", "Error: bad", true)]),
        says(Role::User, ""),
        assistant(vec![]),
    ];
    let expected = json!([
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": "I look.", "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "read", "arguments": "{\"p\":1}"}},
            {"id": "b", "type": "function", "function": {"name": "read", "arguments": "{}"}}]},
        {"role": "tool", "content": "Error: no such file", "tool_call_id": "a"},
        {"role": "tool", "content": "(no output)", "tool_call_id": "b"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{\"invalid_arguments\":\"{\\\"half\"}"}}]},
        {"role": "tool", "content": "Error: bad", "tool_call_id": "c"},
    ]);
    assert_eq!(messages(&request(LOCAL, history)), expected);
}

#[test]
fn a_call_without_its_result_gets_one_and_a_result_without_its_call_is_refused() {
    let open = vec![says(Role::User, "x"), assistant(vec![call("a", "{}")]), says(Role::User, "y")];
    let sent = messages(&request(LOCAL, open));
    assert_eq!((&sent[2]["role"], &sent[2]["tool_call_id"]), (&json!("tool"), &json!("a")));

    for orphan in [
        vec![tool(vec![result("a", "x", false)])],
        vec![assistant(vec![call("a", "{}")]), tool(vec![result("a", "x", false), result("a", "x", false)])],
        vec![assistant(vec![call("a", "{}")]), says(Role::User, "y"), tool(vec![result("a", "x", false)])],
    ] {
        assert!(Codec::encode(&request(LOCAL, orphan)).unwrap_err().contains("answers no open call"));
    }
}

#[test]
fn ids_are_what_the_server_accepts_and_never_shared() {
    let long = "x".repeat(60);
    let ids = ["chatcmpl-tool-0001", "chatcmpl-tool-0002", "abcdefghi", "", "", &long, "abcdefghi"];
    let history: Vec<Message> =
        ids.iter().flat_map(|id| [assistant(vec![call(id, "{}")]), tool(vec![result(id, "r", false)])]).collect();
    for (base, nine) in [(MISTRAL, true), (LOCAL, false)] {
        let sent = messages(&request(base, history.clone()));
        let calls: Vec<&str> =
            sent.as_array().unwrap().iter().filter_map(|m| m["tool_calls"][0]["id"].as_str()).collect();
        assert_eq!(calls.len(), ids.len());
        assert_eq!(calls[2], "abcdefghi", "an id that fits stays");
        for id in calls {
            assert!(
                id.len() <= 40 && (!nine || (id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric()))),
                "{id}"
            );
        }
    }
}

#[test]
fn files_go_where_the_protocol_has_a_place() {
    let text = File { mime: "text/plain".into(), name: Some("a.txt".into()), data: b"hello".to_vec() };
    let other = File { mime: "application/zip".into(), name: Some("a.zip".into()), data: vec![0xff] };
    let parts = vec![Part::Text("see".into()), Part::File(png()), Part::File(text), Part::File(other)];
    let sent = messages(&request(LOCAL, vec![Message { role: Role::User, parts }]));
    let expected = json!([{"role": "user", "content": [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AQID"}},
        {"type": "text", "text": "a.txt:\nhello"},
        {"type": "text", "text": "[The file a.zip (application/zip, 1 bytes) cannot be shown to this model]"},
    ]}]);
    assert_eq!(sent, expected);

    let with = |id: &str, files| {
        Part::ToolResult(ToolResult {
            call_id: id.into(),
            name: "read".into(),
            text: "r".into(),
            is_error: false,
            files,
        })
    };
    let history = vec![
        assistant(vec![call("a", "{}"), call("b", "{}")]),
        tool(vec![with("a", vec![png()])]),
        tool(vec![with("b", vec![])]),
    ];
    let roles = |sent: &Value| {
        sent.as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(roles(&messages(&request(LOCAL, history.clone()))), ["assistant", "tool", "tool", "user"]);
    assert_eq!(roles(&messages(&request(MISTRAL, history))), ["assistant", "tool", "tool", "assistant", "user"]);
}

#[test]
fn reasoning_goes_back_where_it_is_wanted() {
    let think = |text: &str, opaque: Option<&str>| {
        Part::Reasoning(Reasoning { text: text.into(), opaque: opaque.map(Into::into) })
    };
    let history = vec![
        assistant(vec![think("r1", Some(r#"[{"d":1}]"#)), think("r2", Some(r#"[{"d":2}]"#)), Part::Text("t".into())]),
        assistant(vec![Part::Text("u".into())]),
    ];
    let deepseek = messages(&request("https://api.deepseek.com/v1", history.clone()));
    assert_eq!((&deepseek[0]["reasoning_content"], &deepseek[1]["reasoning_content"]), (&json!("r1r2"), &json!("")));
    let router = messages(&request("https://openrouter.ai/api/v1", history.clone()));
    assert_eq!(router[0]["reasoning_details"], json!([{"d": 1}, {"d": 2}]));
    let local = messages(&request(LOCAL, history.clone()));
    assert_eq!(local[0], json!({"role": "assistant", "content": "t"}));
    let mut asked = request(LOCAL, history);
    asked.options = Some(r#"{"dialect":{"reasoning":"content"}}"#.into());
    assert_eq!(messages(&asked)[0]["reasoning_content"], json!("r1r2"));
}

#[test]
fn provider_data_of_a_call_goes_back_unchanged() {
    let opaque = Some(r#"{"google":{"thought_signature":"s"}}"#.into());
    let call = Part::ToolCall(ToolCall { id: "a".into(), name: "read".into(), input: "{}".into(), opaque });
    let sent = messages(&request(LOCAL, vec![assistant(vec![call])]));
    assert_eq!(sent[0]["tool_calls"][0]["extra_content"], json!({"google": {"thought_signature": "s"}}));
}

#[test]
fn the_next_step_begins_with_the_bytes_of_this_one() {
    let mut r = request(LOCAL, vec![says(Role::User, "look")]);
    r.system = vec!["s".into()];
    r.tools =
        vec![ToolDecl { name: "read".into(), description: "d".into(), input_schema: r#"{"type":"object"}"#.into() }];
    let before = Codec::encode(&r).unwrap().body;
    r.messages.push(assistant(vec![call("", r#"{"p":1}"#)]));
    r.messages.push(tool(vec![result("", "x", false)]));
    let middle = Codec::encode(&r).unwrap().body;
    r.messages.push(says(Role::User, "on"));
    r.max_output_tokens = Some(3);
    let after = Codec::encode(&r).unwrap().body;
    for (earlier, later) in [(before, &middle), (middle.clone(), &after)] {
        let shared = earlier.strip_suffix(b"]}").expect("the messages come last");
        assert!(later.starts_with(shared));
    }
}

#[test]
fn files_give_way_to_newer_ones() {
    newest_files_stay::<Growing>(&request(OPENAI, vec![]), 500, r#""type":"image_url""#);
}

proptest! {
    #[test]
    fn growing_changes_nothing_of_the_bytes(messages in conversation(&[None]), cuts in prop::collection::vec(0..8usize, 0..4)) {
        for base in [LOCAL, OPENAI, MISTRAL] {
            growing_changes_nothing::<Growing>(&request(base, messages.clone()), &cuts);
        }
    }

    #[test]
    fn a_strict_server_accepts_every_request(messages in conversation(&[None]), base in prop::sample::select(vec![LOCAL, OPENAI, MISTRAL])) {
        let request = request(base, messages);
        strict(&sent(&request).1);
    }
}
