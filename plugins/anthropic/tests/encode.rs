//! Requests: tables of bodies, and a law that holds for every conversation.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use airlock::provider::{File, HttpRequest, Message, Part, Provider, Request, Role, ToolCall, ToolChoice};
use anthropic::{Codec, Growing};
use proptest::prelude::*;
use serde_json::{Value, json};
use testing::laws::{growing_changes_nothing, newest_files_stay};
use testing::talk::{assistant, call, conversation, decl, result, said, thought, tool, user};

#[path = "../../../tests/support/strict/anthropic.rs"]
mod strict;

const BASE: &str = "https://api.anthropic.com";
const OPAQUE: [Option<&str>; 4] = [None, Some(r#"{"signature":"s"}"#), Some(r#"{"redacted":"d"}"#), Some("[]")];

fn request(messages: Vec<Message>) -> Request {
    Request { messages, session_id: "ses_1".into(), ..Request::new("claude-sonnet-4-6", BASE) }
}

fn png(bytes: usize) -> File {
    File { mime: "image/png".into(), name: Some("a.png".into()), data: vec![1; bytes] }
}

fn sent(request: &Request) -> (HttpRequest, Value) {
    let http = Codec::encode(request).unwrap();
    let body: Value = serde_json::from_slice(&http.body).unwrap();
    if let Err(why) = strict::anthropic_request(&body) {
        panic!("{why}: {body:#}");
    }
    (http, body)
}

fn body(request: &Request) -> Value {
    sent(request).1
}

/// The messages without the marks for the cache.
fn messages(request: &Request) -> Value {
    let mut messages = body(request)["messages"].clone();
    for message in messages.as_array_mut().unwrap() {
        for block in message["content"].as_array_mut().unwrap() {
            block.as_object_mut().unwrap().remove("cache_control");
        }
    }
    messages
}

#[test]
fn a_request_has_its_place_its_version_and_its_key() {
    let mut r = request(vec![user("hi")]);
    for (base, url) in [
        (BASE, "https://api.anthropic.com/v1/messages"),
        ("http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1/messages"),
        ("https://x/anthropic", "https://x/anthropic/v1/messages"),
        ("https://x/v1?beta=true", "https://x/v1/messages?beta=true"),
    ] {
        r.base_url = base.into();
        assert_eq!(sent(&r).0.url, url);
    }
    r.secrets = vec!["anthropic".into()];
    r.options = Some(r#"{"betas":["a","b"]}"#.into());
    let http = sent(&r).0;
    let header = |name: &str| http.headers.iter().find(|h| h.name == name).map(|h| h.value.as_str());
    assert_eq!(header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(header("x-api-key"), Some("{{secret:anthropic}}"));
    assert_eq!(header("anthropic-beta"), Some("a,b"));
    assert!(!String::from_utf8(http.body).unwrap().contains("secret"));
}

#[test]
fn the_plain_parts_of_a_body() {
    let mut r = request(vec![user("hi")]);
    r.system = vec!["One.".into(), " ".into(), "Two.".into(), "Three.".into()];
    r.tools = vec![decl("read", r#"{"type":"object","properties":{}}"#)];
    (r.max_output_tokens, r.temperature) = (Some(100), Some(0.5));
    r.options = Some(r#"{"top_k":7,"temperature":null}"#.into());
    let marked = |text: &str| json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}});
    let expected = json!({
        "model": "claude-sonnet-4-6", "stream": true, "max_tokens": 100, "top_k": 7,
        "tools": [{"name": "read", "description": "d", "input_schema": {"type": "object", "properties": {}}}],
        "system": [marked("One."), marked("Two."), {"type": "text", "text": "Three."}],
        "messages": [{"role": "user", "content": [marked("hi")]}],
    });
    assert_eq!(body(&r), expected);
    for options in [r#"{"messages":[]}"#, r#"{"stream":false}"#, r#"{"system":""}"#, "[]", "no"] {
        r.options = Some(options.into());
        assert!(Codec::encode(&r).is_err(), "{options}");
    }
}

#[test]
fn a_model_gets_what_it_accepts() {
    let adaptive = json!({"type": "adaptive", "display": "summarized"});
    let forced = json!({"type": "any"});
    let none = Value::Null;
    for (model, choice, temperature, thinking, tool_choice) in [
        ("mock", ToolChoice::Required, json!(0.5), &none, &forced),
        ("claude-sonnet-4-6", ToolChoice::Auto, json!(0.5), &none, &none),
        ("claude-opus-4-8", ToolChoice::Required, none.clone(), &none, &forced),
        ("claude-sonnet-5", ToolChoice::Auto, none.clone(), &adaptive, &none),
        ("claude-sonnet-5", ToolChoice::Required, none.clone(), &json!({"type": "disabled"}), &forced),
        ("claude-opus-5-5", ToolChoice::Required, none.clone(), &adaptive, &none),
    ] {
        let mut r = request(vec![user("hi")]);
        (r.model, r.temperature, r.tool_choice) = (model.into(), Some(0.5), choice);
        r.tools = vec![decl("read", "{}")];
        let body = body(&r);
        assert_eq!((&body["temperature"], &body["thinking"]), (&temperature, thinking), "{model}");
        assert_eq!(&body["tool_choice"], tool_choice, "{model}");
    }
}

#[test]
fn how_much_it_thinks_is_said_in_the_providers_words() {
    for (model, word, expected) in [
        ("claude-opus-5-5", "low", json!([{"type": "adaptive", "display": "summarized"}, {"effort": "low"}])),
        ("claude-sonnet-4-6", "high", json!([{"type": "adaptive"}, {"effort": "high"}])),
        ("claude-opus-4-5", "max", json!([{"type": "enabled", "budget_tokens": 31_999}, null])),
        ("kimi-k2", "low", json!([{"type": "enabled", "budget_tokens": 4000}, null])),
    ] {
        let mut r = request(vec![user("hi")]);
        (r.model, r.options) = (model.into(), Some(json!({"reasoning_effort": word}).to_string()));
        let body = body(&r);
        assert_eq!(json!([body["thinking"], body["output_config"]]), expected, "{model} {word}");
        assert!(!body.to_string().contains("reasoning_effort"), "{model} {word}");
    }
    let mut r = request(vec![user("hi")]);
    (r.model, r.options) = ("claude-opus-4-5".into(), Some(r#"{"reasoning_effort":"low"}"#.into()));
    assert!(Codec::encode(&r).unwrap_err().contains("has no variant"));
}

#[test]
fn the_limit_of_an_answer_is_always_said() {
    for (model, asked, options, expected) in [
        ("claude-sonnet-4-6", Some(9), "{}", 9),
        ("claude-sonnet-4-6", None, "{}", 64_000),
        ("mock", None, "{}", 8192),
        ("mock", Some(0), "{}", 8192),
        // A budget for thoughts is part of it.
        ("mock", Some(2000), r#"{"thinking":{"type":"enabled","budget_tokens":4000}}"#, 6000),
    ] {
        let mut r = request(vec![user("hi")]);
        (r.model, r.max_output_tokens, r.options) = (model.into(), asked, Some(options.into()));
        assert_eq!(body(&r)["max_tokens"], expected, "{model} {asked:?}");
    }
}

#[test]
fn the_choice_of_a_tool() {
    for (choice, expected) in [
        (ToolChoice::Auto, Value::Null),
        (ToolChoice::None, json!({"type": "none"})),
        (ToolChoice::Required, json!({"type": "any"})),
        (ToolChoice::Named("read".into()), json!({"type": "tool", "name": "read"})),
    ] {
        let mut r = request(vec![user("hi")]);
        r.tool_choice = choice;
        assert_eq!(body(&r)["tool_choice"], Value::Null, "without tools there is no choice");
        r.tools = vec![decl("read", "{}")];
        assert_eq!(body(&r)["tool_choice"], expected);
    }
}

#[test]
fn a_last_step_without_tools_names_those_that_were_called() {
    let mut r = request(vec![user("x"), assistant(vec![call("a", "{}")]), tool(vec![result("a", "r", false, vec![])])]);
    r.tool_choice = ToolChoice::None;
    let body = body(&r);
    assert_eq!(body["tools"][0]["name"], "read");
    assert_eq!(body["tool_choice"], json!({"type": "none"}));
}

#[test]
fn a_schema_of_input_is_an_object_at_the_top() {
    for (given, expected) in [
        ("{}", json!({"type": "object", "properties": {}})),
        (
            r#"{"anyOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{}}}]}"#,
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}}),
        ),
        (
            r#"{"type":"object","properties":{"a":{}},"required":["a"],"allOf":[{"properties":{"b":{}},"required":["b","a"]}]}"#,
            json!({"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a", "b"]}),
        ),
    ] {
        let mut r = request(vec![user("hi")]);
        r.tools = vec![decl("read", given)];
        assert_eq!(body(&r)["tools"][0]["input_schema"], expected, "{given}");
    }
    for (name, schema) in [("a.b", "{}"), ("", "{}"), ("a", "[]"), ("a", "x")] {
        let mut r = request(vec![user("hi")]);
        r.tools = vec![decl(name, schema)];
        assert!(Codec::encode(&r).unwrap_err().contains(&format!("`{name}`")));
    }
}

#[test]
fn a_structured_answer_is_asked_for_as_the_model_understands() {
    let schema = r#"{"type":"object","properties":{"n":{"type":"integer","minimum":1},"type":{"type":"object","properties":{}}},"required":["n"]}"#;
    let mut r = request(vec![user("hi")]);
    r.response_schema = Some(schema.into());
    r.options = Some(r#"{"output_config":{"effort":"low"}}"#.into());
    let closed = json!({"type": "object", "required": ["n"], "additionalProperties": false,
        "properties": {"n": {"type": "integer"}, "type": {"type": "object", "properties": {}, "additionalProperties": false}}});
    let config = body(&r)["output_config"].clone();
    assert_eq!(config, json!({"effort": "low", "format": {"type": "json_schema", "schema": closed}}));
    r.model = "mock".into();
    let in_words = body(&r);
    assert!(in_words["system"][0]["text"].as_str().unwrap().contains(schema));
    assert_eq!(in_words["output_config"], json!({"effort": "low"}));
}

#[test]
fn calls_and_results_are_paired() {
    let history = vec![
        user("look"),
        assistant(vec![said("I look."), call("a", r#"{"p":1}"#), call("b", "")]),
        tool(vec![result("b", "", false, vec![]), result("a", "no such file", true, vec![png(3)])]),
        user("and?"),
        assistant(vec![call("toolu.1", r#"{"half"#)]),
        assistant(vec![said(" ")]),
    ];
    let text = |text: &str| json!({"type": "text", "text": text});
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AQEB"}});
    let sent = messages(&request(history));
    let made = sent[3]["content"][0]["id"].clone();
    assert!(made.as_str().unwrap().starts_with("call_"));
    let expected = json!([
        {"role": "user", "content": [text("look")]},
        {"role": "assistant", "content": [text("I look."),
            {"type": "tool_use", "id": "a", "name": "read", "input": {"p": 1}},
            {"type": "tool_use", "id": "b", "name": "read", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": [text("no such file")], "is_error": true},
            {"type": "tool_result", "tool_use_id": "b", "content": [text("(no output)")]},
            image, text("and?")]},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": made, "name": "read", "input": {"invalid_arguments": "{\"half"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": made, "content": [text("Error: the call was interrupted and has no result")], "is_error": true}]},
    ]);
    assert_eq!(sent, expected);
    assert!(Codec::encode(&request(vec![tool(vec![result("a", "x", false, vec![])])])).is_err());
}

#[test]
fn the_user_begins_and_is_answered() {
    let roles = |messages: Vec<Message>| {
        let sent = self::messages(&request(messages));
        let role = |m: &Value| m["role"].as_str().unwrap().chars().next().unwrap();
        sent.as_array().unwrap().iter().map(role).collect::<String>()
    };
    let speaks = || assistant(vec![said("a")]);
    let thinks = || assistant(vec![thought("t", Some(r#"{"signature":"s"}"#)), said("a")]);
    for (history, expected) in [
        (vec![], "u"),
        (vec![user("")], "u"),
        (vec![speaks()], "uau"),
        (vec![user("x"), user("y"), speaks(), speaks(), user("z")], "uau"),
        (vec![user("x"), speaks(), thinks(), user("z")], "uauau"),
        (vec![user("x"), assistant(vec![thought("t", Some(r#"{"signature":"s"}"#))]), user("z")], "u"),
    ] {
        assert_eq!(roles(history.clone()), expected, "{history:?}");
    }
}

#[test]
fn thoughts_go_back_as_they_came_or_in_words() {
    for (opaque, expected) in [
        (Some(r#"{"signature":"SIG"}"#), json!({"type": "thinking", "thinking": "hm", "signature": "SIG"})),
        (Some(r#"{"redacted":"BLOB"}"#), json!({"type": "redacted_thinking", "data": "BLOB"})),
        (Some(r#"{"id":"rs_1","encrypted_content":"x"}"#), json!({"type": "text", "text": "hm"})),
        (Some("no JSON"), json!({"type": "text", "text": "hm"})),
        (None, Value::Null),
    ] {
        let sent = messages(&request(vec![user("x"), assistant(vec![thought("hm", opaque), said("a")]), user("y")]));
        let content = sent[1]["content"].as_array().unwrap();
        assert_eq!(
            content.first().filter(|_| content.len() > 1),
            Some(&expected).filter(|e| !e.is_null()),
            "{opaque:?}"
        );
    }
}

#[test]
fn thinking_does_not_begin_in_the_middle_of_a_turn() {
    let options = r#"{"thinking":{"type":"enabled","budget_tokens":2000}}"#;
    let signed = thought("t", Some(r#"{"signature":"s"}"#));
    let goes_on = |first: Vec<Part>| {
        let mut parts = first;
        parts.push(call("a", "{}"));
        vec![user("x"), assistant(parts), tool(vec![result("a", "r", false, vec![])])]
    };
    for (history, thinks) in [
        (vec![user("x")], true),
        (goes_on(vec![signed]), true),
        (goes_on(vec![]), false),
        ([goes_on(vec![]), vec![assistant(vec![said("a")]), user("y")]].concat(), true),
    ] {
        let mut r = request(history);
        (r.options, r.temperature) = (Some(options.into()), Some(0.5));
        r.tools = vec![decl("read", "{}")];
        let sent = body(&r);
        assert_eq!((sent["thinking"].is_object(), sent["temperature"].is_null()), (thinks, thinks));
        r.tool_choice = ToolChoice::Required;
        assert!(body(&r)["thinking"].is_null(), "a tool cannot be forced on a model that thinks");
    }
}

#[test]
fn what_the_server_ran_goes_back_as_it_came() {
    let blocks = json!([{"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"encrypted_content": "E"}]}]);
    let ran = |opaque: Option<String>| {
        let call = ToolCall { id: "srvtoolu_1".into(), name: "web_search".into(), input: "{}".into(), opaque };
        let mine = vec![Part::ToolCall(call), result("srvtoolu_1", "found", false, vec![])];
        vec![user("x"), assistant(mine)]
    };
    let sent = messages(&request(ran(Some(json!({"server": blocks}).to_string()))));
    assert_eq!(sent[1], json!({"role": "assistant", "content": blocks}));
    assert_eq!(sent.as_array().unwrap().len(), 2, "the server goes on where it paused");
    // For another model it is a call like any other.
    let foreign = messages(&request(ran(None)));
    assert_eq!(
        (&foreign[1]["content"][0]["type"], &foreign[2]["content"][0]["type"]),
        (&json!("tool_use"), &json!("tool_result"))
    );
}

#[test]
fn a_pause_goes_back_as_it_came_and_another_speaker_ends_it() {
    let call = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []});
    let ran = |block: &Value| {
        let opaque = Some(json!({"server": [block]}).to_string());
        let id = "srvtoolu_1".to_owned();
        let call = Part::ToolCall(ToolCall { id, name: "web_search".into(), input: "{}".into(), opaque });
        vec![call, result("srvtoolu_1", "", false, vec![])]
    };
    let paused = || vec![user("x"), assistant(ran(&call))];
    assert_eq!(messages(&request(paused()))[1]["content"], json!([call]));
    assert_eq!(messages(&request(paused())).as_array().unwrap().len(), 2);
    let mut over = paused();
    over.push(assistant([ran(&found), vec![said("Found.")]].concat()));
    let sent = messages(&request(over));
    assert_eq!(sent[1]["content"], json!([call, found, {"type": "text", "text": "Found."}]));
    for more in [user("Stop."), assistant(vec![said("No.")])] {
        let sent = messages(&request([paused(), vec![more]].concat()));
        assert_eq!(sent[1]["content"][0]["type"], "text", "a call of the server without its result is refused");
    }
}

#[test]
fn files_go_as_they_are_in_words_or_not_at_all() {
    let file = |mime: &str, data: &[u8]| File { mime: mime.into(), name: Some("f".into()), data: data.to_vec() };
    for (file, kind, words) in [
        (file("image/jpg", b"x"), "image", ""),
        (file("application/pdf", b"x"), "document", ""),
        (file("text/plain", b"hello"), "text", "f:\nhello"),
        (file("image/svg+xml", b"<"), "text", "cannot be shown"),
        (png(4 << 20), "text", "larger than this model accepts"),
    ] {
        let sent = messages(&request(vec![Message { role: Role::User, parts: vec![Part::File(file)] }]));
        let block = &sent[0]["content"][0];
        assert_eq!(block["type"], kind);
        assert!(block["text"].as_str().unwrap_or("").contains(words), "{block}");
    }
    let many = vec![Message { role: Role::User, parts: (0..103).map(|_| Part::File(png(1))).collect() }];
    let sent = messages(&request(many));
    let kinds: Vec<&str> = sent[0]["content"].as_array().unwrap().iter().map(|b| b["type"].as_str().unwrap()).collect();
    assert_eq!((kinds[..3].concat(), kinds[3]), ("text".repeat(3), "image"), "the oldest are left out");
    let large = vec![Message { role: Role::User, parts: (0..9).map(|_| Part::File(png(3 << 20))).collect() }];
    let sent = messages(&request(large));
    let images = sent[0]["content"].as_array().unwrap().iter().filter(|b| b["type"] == "image").count();
    assert_eq!(images, 6);
}

#[test]
fn four_places_are_marked_at_most_and_the_rest_never_changes() {
    let unmarked = |r: &Request| body(r).to_string().replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    let mut r = request(vec![user("look")]);
    r.tools = vec![decl("read", "{}")];
    assert!(body(&r)["tools"][0]["cache_control"].is_object(), "without a system prompt the tools are the prefix");
    r.system = vec!["a".into(), "b".into(), "c".into()];
    assert!(body(&r)["tools"][0]["cache_control"].is_null());
    let mut before = unmarked(&r);
    for more in [
        assistant(vec![thought("", Some(r#"{"signature":"s"}"#)), call("", r#"{"p":1}"#)]),
        assistant(vec![call("x", "{}")]),
        user("on"),
    ] {
        r.messages.push(more);
        if let Some(Part::ToolCall(c)) = r.messages.last().and_then(|m| m.parts.last()).cloned() {
            r.messages.push(tool(vec![result(&c.id, "r", false, vec![png(2)])]));
        }
        let now = unmarked(&r);
        assert!(now.starts_with(before.strip_suffix("]}").expect("the messages come last").trim_end_matches("]}")));
        assert_eq!(body(&r).to_string().matches("cache_control").count(), 4);
        before = now;
    }
}

#[test]
fn the_catalogue_can_be_read() {
    let models = Codec::info().models;
    assert!(models.len() > 10 && models.iter().all(|m| m.context >= 200_000 && m.output > 0 && m.price.is_some()));
    for model in models {
        let metadata: Value = serde_json::from_str(model.metadata.as_deref().unwrap()).unwrap();
        for (name, options) in metadata["variants"].as_object().unwrap() {
            let mut r = request(vec![user("hi")]);
            (r.model, r.options) = (model.id.clone(), Some(options.to_string()));
            assert!(
                body(&r).get("output_config").is_some() || body(&r).get("thinking").is_some(),
                "{} {name}",
                model.id
            );
        }
    }
}

#[test]
fn files_give_way_to_newer_ones() {
    newest_files_stay::<Growing>(&request(vec![]), 100, r#""type":"image""#);
}

proptest! {
    #[test]
    fn growing_changes_nothing_of_the_bytes(messages in conversation(&OPAQUE), cuts in prop::collection::vec(0..8usize, 0..4), thinks in any::<bool>()) {
        growing_changes_nothing::<Growing>(&Request { options: thinks.then(|| r#"{"thinking":{"type":"enabled","budget_tokens":9000}}"#.into()), ..request(messages) }, &cuts);
    }

    #[test]
    fn a_strict_server_accepts_every_request(
        messages in conversation(&OPAQUE),
        model in prop::sample::select(vec!["mock", "claude-haiku-4-5", "claude-sonnet-5", "claude-opus-5-5"]),
        choice in prop::sample::select(vec![ToolChoice::Auto, ToolChoice::None, ToolChoice::Required]),
        options in prop::sample::select(vec!["{}", r#"{"thinking":{"type":"enabled","budget_tokens":9000}}"#, r#"{"thinking":{"type":"adaptive"}}"#]),
        tools in any::<bool>(),
    ) {
        let mut r = request(messages);
        (r.model, r.tool_choice, r.options, r.temperature) = (model.into(), choice, Some(options.into()), Some(0.7));
        r.system = vec!["s".into(), String::new()];
        if tools {
            r.tools = vec![decl("read", r#"{"type":"object","oneOf":[{"required":["a"]}]}"#)];
        }
        sent(&r);
    }
}
