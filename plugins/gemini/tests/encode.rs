//! Requests: tables of bodies, and a law that holds for every conversation.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use airlock::provider::{FailureKind, Header, HttpRequest, Message, Part, Provider, Request, Role, ToolChoice};
use gemini::{Codec, Growing};
use proptest::prelude::*;
use serde_json::{Value, json};
use testing::laws::growing_changes_nothing;
use testing::talk::{assistant, call_of, conversation, decl, file, result, says, thought, tool};

#[path = "../../../tests/support/strict/gemini.rs"]
mod strict;

const BASE: &str = "https://generativelanguage.googleapis.com";

const OPAQUE: [Option<&str>; 6] = [
    None,
    Some("other"),
    Some(r#"{"thoughtSignature":"S"}"#),
    Some(r#"{"thoughtSignature":"S","on":"text"}"#),
    Some(r#"{"thoughtSignature":"S","on":"nothing"}"#),
    Some(r#"{"id":"i","thoughtSignature":"S"}"#),
];

fn call(id: &str, name: &str, input: &str, opaque: Option<&str>) -> Part {
    call_of(name, id, input, opaque)
}

fn request(messages: Vec<Message>) -> Request {
    Request { messages, session_id: "ses_1".into(), ..Request::new("gemini-2.5-flash", BASE) }
}

fn sent(request: &Request) -> (HttpRequest, Value) {
    let http = Codec::encode(request).unwrap();
    let body: Value = serde_json::from_slice(&http.body).unwrap();
    if let Err(why) = strict::gemini_request(&body) {
        panic!("{why}: {body:#}");
    }
    (http, body)
}

fn body(request: &Request) -> Value {
    sent(request).1
}

fn contents(messages: Vec<Message>) -> Value {
    body(&request(messages))["contents"].clone()
}

fn third(messages: Vec<Message>) -> Value {
    body(&Request { model: "gemini-3-pro-preview".into(), ..request(messages) })["contents"].clone()
}

#[test]
fn a_request_has_its_place_and_its_key() {
    let mut r = request(vec![says(Role::User, "hi")]);
    let (http, _) = sent(&r);
    assert_eq!(http.method, "POST");
    assert!(!http.headers.iter().any(|h| h.value.contains("secret")), "no key, no header");
    r.secrets = vec!["gemini".into()];
    let keys: Vec<_> = sent(&r).0.headers.into_iter().filter(|h| h.value.contains("secret")).collect();
    assert_eq!(keys, [Header { name: "x-goog-api-key".into(), value: "{{secret:gemini}}".into() }]);
    assert!(!sent(&r).0.url.contains("secret"));

    let table = [
        (
            BASE,
            "gemini-2.5-flash",
            "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
        ),
        ("http://127.0.0.1:9/", "models/m", "http://127.0.0.1:9/v1beta/models/m:streamGenerateContent?alt=sse"),
        ("http://h/v1alpha", "tunedModels/t", "http://h/v1alpha/tunedModels/t:streamGenerateContent?alt=sse"),
        ("http://h/v1?x=1", "m", "http://h/v1/models/m:streamGenerateContent?alt=sse&x=1"),
    ];
    for (base, model, url) in table {
        (r.base_url, r.model) = (base.into(), model.into());
        assert_eq!(sent(&r).0.url, url);
    }
    for model in ["", "a b", "a?b", "a#b", "../../x", "a{{secret:gemini}}"] {
        r.model = model.into();
        assert!(Codec::encode(&r).is_err(), "{model}");
    }
}

#[test]
fn the_plain_parts_of_a_body() {
    let mut r = request(vec![says(Role::User, "hi")]);
    r.system = vec!["One.".into(), String::new(), "Two.".into()];
    r.tools = vec![decl("read", r#"{"type":"object","properties":{"p":{"type":"string"}}}"#), decl("now", "{}")];
    (r.max_output_tokens, r.temperature) = (Some(100), Some(0.5));
    r.options = Some(r#"{"topK":7,"safetySettings":[],"generationConfig":{"topP":0.5,"temperature":null}}"#.into());
    let expected = json!({
        "systemInstruction": {"parts": [{"text": "One."}, {"text": "Two."}]},
        "tools": [{"functionDeclarations": [
            {"name": "read", "description": "d", "parameters": {"type": "object", "properties": {"p": {"type": "string"}}}},
            {"name": "now", "description": "d"},
        ]}],
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "safetySettings": [],
        "generationConfig": {"maxOutputTokens": 100, "thinkingConfig": {"includeThoughts": true}, "topK": 7, "topP": 0.5},
    });
    assert_eq!(body(&r), expected);
    for options in [r#"{"contents":[]}"#, r#"{"tools":[]}"#, "[]", "no", r#"{"generationConfig":1}"#] {
        r.options = Some(options.into());
        assert!(Codec::encode(&r).is_err(), "{options}");
    }
}

#[test]
fn thinking_is_asked_for_where_there_is_some() {
    let table = [
        ("gemini-3-pro-preview", json!({"includeThoughts": true, "thinkingLevel": "high"})),
        ("gemini-2.5-pro", json!({"includeThoughts": true})),
        ("gemini-2.0-flash", Value::Null),
        ("mock", Value::Null),
    ];
    for (model, expected) in table {
        let r = Request { model: model.into(), ..request(vec![says(Role::User, "hi")]) };
        assert_eq!(body(&r)["generationConfig"]["thinkingConfig"], expected, "{model}");
    }
}

#[test]
fn how_much_it_thinks_is_said_in_the_providers_words() {
    for (model, word, expected) in [
        ("gemini-3.8-flash", "low", json!({"includeThoughts": true, "thinkingLevel": "low"})),
        ("gemini-3-pro-preview", "max", json!({"includeThoughts": true, "thinkingLevel": "high"})),
        ("gemini-2.5-flash-preview", "none", json!({"includeThoughts": true, "thinkingBudget": 0})),
        ("mock", "low", Value::Null),
    ] {
        let mut r = request(vec![says(Role::User, "hi")]);
        (r.model, r.options) = (model.into(), Some(json!({"reasoning_effort": word}).to_string()));
        let body = body(&r);
        assert_eq!(body["generationConfig"]["thinkingConfig"], expected, "{model} {word}");
        assert!(!body.to_string().contains("reasoning_effort"), "{model} {word}");
    }
}

#[test]
fn the_choice_of_a_tool() {
    let table = [
        (ToolChoice::Auto, Value::Null),
        (ToolChoice::None, json!({"mode": "NONE"})),
        (ToolChoice::Required, json!({"mode": "ANY"})),
        (ToolChoice::Named("read".into()), json!({"mode": "ANY", "allowedFunctionNames": ["read"]})),
    ];
    for (choice, expected) in table {
        let mut r = request(vec![says(Role::User, "hi")]);
        r.tool_choice = choice;
        assert!(body(&r).get("toolConfig").is_none(), "without tools there is no choice");
        r.tools = vec![decl("read", "{}")];
        assert_eq!(body(&r)["toolConfig"]["functionCallingConfig"], expected);
    }
}

#[test]
fn the_shape_of_an_answer_is_asked_for_as_far_as_the_model_can() {
    let mut r = request(vec![says(Role::User, "hi")]);
    r.response_schema =
        Some(r#"{"type":"object","properties":{"a":{"const":"x"}},"additionalProperties":false}"#.into());
    let asked = |r: &Request| body(r)["generationConfig"]["responseSchema"].clone();
    let expected = json!({"type": "object", "properties": {"a": {"enum": ["x"], "type": "string"}}});
    assert_eq!(asked(&r), expected);
    assert_eq!(body(&r)["generationConfig"]["responseMimeType"], "application/json");
    r.tools = vec![decl("read", "{}")];
    assert_eq!(asked(&r), Value::Null);
    assert!(body(&r)["systemInstruction"]["parts"][0]["text"].as_str().unwrap().contains(r#"{"a":{"const":"x"}}"#));
    r.model = "gemini-3-pro-preview".into();
    assert_eq!(asked(&r), expected);
}

#[test]
fn calls_and_results_are_paired_in_order() {
    let history = vec![
        says(Role::User, "look"),
        assistant(vec![
            Part::Text("I look.".into()),
            call("a", "read", r#"{"p":1}"#, None),
            call("b", "list", "", None),
        ]),
        tool(vec![result("b", "", false, vec![]), result("a", "no such file", true, vec![])]),
        assistant(vec![call("c", "read", r#"{"half"#, None)]),
        says(Role::User, "go on"),
        says(Role::User, ""),
        assistant(vec![]),
    ];
    let expected = json!([
        {"role": "user", "parts": [{"text": "look"}]},
        {"role": "model", "parts": [{"text": "I look."},
            {"functionCall": {"name": "read", "args": {"p": 1}}}, {"functionCall": {"name": "list", "args": {}}}]},
        {"role": "user", "parts": [
            {"functionResponse": {"name": "read", "response": {"error": "no such file"}}},
            {"functionResponse": {"name": "list", "response": {"output": ""}}}]},
        {"role": "model", "parts": [{"functionCall": {"name": "read", "args": {"invalid_arguments": "{\"half"}}}]},
        {"role": "user", "parts": [
            {"functionResponse": {"name": "read", "response": {"error": "Error: the call was interrupted and has no result"}}},
            {"text": "go on"}]},
    ]);
    assert_eq!(contents(history), expected);
    assert!(
        Codec::encode(&request(vec![tool(vec![result("a", "x", false, vec![])])]))
            .unwrap_err()
            .contains("answers no open call")
    );
    assert!(Codec::encode(&request(vec![says(Role::User, "")])).is_err(), "nothing to answer");
}

#[test]
fn a_user_begins_and_ends() {
    let both = contents(vec![assistant(vec![Part::Text("a".into())])]);
    let roles: Vec<&str> = both.as_array().unwrap().iter().map(|c| c["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "model", "user"]);
}

#[test]
fn signatures_go_back_on_what_they_stood_on() {
    let history = |parts| vec![says(Role::User, "x"), assistant(parts), says(Role::User, "y")];
    let parts = |parts| contents(history(parts))[1]["parts"].clone();
    let text = Part::Text("t".into());
    assert_eq!(
        parts(vec![thought("th", Some(r#"{"thoughtSignature":"A"}"#)), text.clone()]),
        json!([{"text": "th", "thought": true, "thoughtSignature": "A"}, {"text": "t"}])
    );
    assert_eq!(
        parts(vec![text.clone(), thought("", Some(r#"{"thoughtSignature":"A","on":"text"}"#))]),
        json!([{"text": "t", "thoughtSignature": "A"}])
    );
    assert_eq!(
        parts(vec![text.clone(), thought("", Some(r#"{"thoughtSignature":"A","on":"nothing"}"#))]),
        json!([{"text": "t"}, {"text": "", "thoughtSignature": "A"}])
    );
    assert_eq!(parts(vec![thought("unsigned", None), thought("x", Some("other")), text]), json!([{"text": "t"}]));

    let calls =
        vec![call("a", "read", "{}", Some(r#"{"id":"i","thoughtSignature":"S"}"#)), call("b", "read", "{}", None)];
    let history = vec![
        says(Role::User, "x"),
        assistant(calls),
        tool(vec![result("a", "r", false, vec![]), result("b", "r", false, vec![])]),
    ];
    let sent = contents(history);
    assert_eq!(
        sent[1]["parts"][0],
        json!({"functionCall": {"id": "i", "name": "read", "args": {}}, "thoughtSignature": "S"})
    );
    assert_eq!(sent[2]["parts"][0]["functionResponse"]["id"], "i");
    assert!(sent[2]["parts"][1]["functionResponse"].get("id").is_none(), "an id that was made up is not sent");
}

#[test]
fn the_third_generation_wants_its_first_call_signed() {
    let calls = || vec![call("a", "read", "{}", None), call("b", "read", "{}", None)];
    let history = || vec![says(Role::User, "x"), assistant(calls()), says(Role::User, "y")];
    let stand_in = "skip_thought_signature_validator";
    assert_eq!(third(history())[1]["parts"][0]["thoughtSignature"], stand_in);
    assert!(third(history())[1]["parts"][1].get("thoughtSignature").is_none());
    assert!(contents(history())[1]["parts"][0].get("thoughtSignature").is_none());
}

#[test]
fn files_go_where_the_protocol_has_a_place() {
    let png = || file("image/png", &[1, 2, 3]);
    let parts = vec![
        Part::File(png()),
        Part::File(file("text/plain", b"hello")),
        Part::File(file("application/zip", &[255])),
        Part::File(file("image/png", &[])),
    ];
    let sent = contents(vec![Message { role: Role::User, parts }]);
    let expected = json!([
        {"inlineData": {"mimeType": "image/png", "data": "AQID"}},
        {"text": "f:\nhello"},
        {"text": "[The file f (application/zip, 1 bytes) cannot be shown to this model]"},
        {"text": "[The file f (image/png, 0 bytes) cannot be shown to this model]"},
    ]);
    assert_eq!(sent[0]["parts"], expected);

    let history = || {
        vec![
            says(Role::User, "x"),
            assistant(vec![call("a", "read", "{}", None)]),
            tool(vec![result("a", "r", false, vec![png()])]),
        ]
    };
    let kinds = |sent: &Value| {
        sent[2]["parts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|p| p.as_object().unwrap().keys().next().unwrap().clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(kinds(&contents(history())), ["functionResponse", "text", "inlineData"]);
    let sent = third(history());
    assert_eq!(kinds(&sent), ["functionResponse"]);
    assert_eq!(sent[2]["parts"][0]["functionResponse"]["parts"][0]["inlineData"]["data"], "AQID");
}

#[test]
fn the_field_report_of_a_schema_passes() {
    let mut r = request(vec![says(Role::User, "hi")]);
    r.tools = vec![decl(
        "odd",
        r##"{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","additionalProperties":false,
        "properties":{"mode":{"const":"fast"},"n":{"type":["integer","null"],"exclusiveMinimum":0},"t":{"$ref":"#/$defs/tag"}},
        "required":["mode"],"$defs":{"tag":{"type":"string","minLength":1}}}"##,
    )];
    let text = body(&r)["tools"].to_string();
    for key in ["$schema", "additionalProperties", "const", "exclusiveMinimum", "$ref", "$defs"] {
        assert!(!text.contains(key), "{key}");
    }
    r.tools = vec![decl("bad", "[]")];
    assert!(Codec::encode(&r).unwrap_err().contains("`bad`"));
}

#[test]
fn the_next_step_begins_with_the_bytes_of_this_one() {
    let mut r = request(vec![says(Role::User, "look")]);
    r.system = vec!["s".into()];
    r.tools = vec![decl("read", "{}")];
    let step = |r: &Request| {
        let text = String::from_utf8(Codec::encode(r).unwrap().body).unwrap();
        text.split("],\"generationConfig\"").next().unwrap().to_owned()
    };
    let before = step(&r);
    r.messages.push(assistant(vec![call("", "read", r#"{"p":1}"#, None)]));
    r.messages.push(tool(vec![result("", "x", false, vec![])]));
    let after = step(&r);
    assert!(after.starts_with(&before), "{before}\n{after}");
}

#[test]
fn the_catalogue_can_be_read() {
    let models = Codec::info().models;
    assert!(models.len() > 4 && models.iter().all(|m| m.context > 0 && m.output > 0 && m.price.is_some()));
    let mut checked = 0;
    for model in &models {
        let metadata: Value = serde_json::from_str(model.metadata.as_deref().unwrap_or("{}")).unwrap();
        for (name, options) in metadata["variants"].as_object().into_iter().flatten() {
            let options_text = Some(options.to_string());
            let r = Request { model: model.id.clone(), options: options_text, ..request(vec![says(Role::User, "hi")]) };
            let asked = &body(&r)["generationConfig"]["thinkingConfig"];
            assert_eq!(asked, &options["thinkingConfig"], "{} {name}", model.id);
            assert!(asked.is_object(), "{} {name}", model.id);
            checked += 1;
        }
    }
    assert!(checked > 4);
}

#[test]
fn errors_of_the_service_have_a_kind() {
    use FailureKind::{Auth, ContextOverflow, InvalidRequest, Overloaded, Quota, RateLimit, Server};
    let error = |code: u16, status: &str, message: &str, details: Value| {
        json!({"error": {"code": code, "message": message, "status": status, "details": details}}).to_string()
    };
    let retry = || json!([{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}]);
    let table = [
        (
            400,
            error(
                400,
                "INVALID_ARGUMENT",
                "API key not valid. Please pass a valid API key.",
                json!([{"reason": "API_KEY_INVALID"}]),
            ),
            Auth,
            false,
            None,
        ),
        (400, error(400, "INVALID_ARGUMENT", "Invalid JSON payload received.", json!([])), InvalidRequest, false, None),
        (
            400,
            error(
                400,
                "INVALID_ARGUMENT",
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                json!([]),
            ),
            ContextOverflow,
            false,
            None,
        ),
        (
            400,
            error(400, "FAILED_PRECONDITION", "User location is not supported for the API use.", json!([])),
            InvalidRequest,
            false,
            None,
        ),
        (403, error(403, "PERMISSION_DENIED", "no", json!([])), Auth, false, None),
        (404, error(404, "NOT_FOUND", "models/x is not found", json!([])), InvalidRequest, false, None),
        (
            429,
            error(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota", retry()),
            RateLimit,
            true,
            Some(34_500),
        ),
        (
            429,
            error(
                429,
                "RESOURCE_EXHAUSTED",
                "You exceeded your current quota, please check your plan and billing details.",
                json!([]),
            ),
            Quota,
            false,
            None,
        ),
        (
            429,
            error(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota).", json!([])),
            RateLimit,
            true,
            None,
        ),
        (500, error(500, "INTERNAL", "An internal error has occurred.", json!([])), Server, true, None),
        (503, error(503, "UNAVAILABLE", "The model is overloaded.", json!([])), Overloaded, true, None),
        (
            504,
            error(504, "DEADLINE_EXCEEDED", "Deadline expired before operation could complete.", json!([])),
            Server,
            true,
            None,
        ),
    ];
    for (status, body, kind, retryable, wait) in table {
        let listed = format!("[{body}]");
        for body in [body, listed] {
            let failure = Codec::classify(status, &[], body.as_bytes());
            assert_eq!((failure.kind, failure.retryable, failure.retry_after_ms), (kind, retryable, wait), "{body}");
        }
    }
}

proptest! {
    #[test]
    fn growing_changes_nothing_of_the_bytes(messages in conversation(&OPAQUE), cuts in prop::collection::vec(0..8usize, 0..4), model in prop::sample::select(vec!["gemini-2.5-pro", "gemini-3-pro-preview"])) {
        growing_changes_nothing::<Growing>(&Request { model: model.into(), ..request(messages) }, &cuts);
    }

    #[test]
    fn a_strict_server_accepts_every_request(messages in conversation(&OPAQUE), model in prop::sample::select(vec!["gemini-2.5-pro", "gemini-3-pro-preview"])) {
        let request = Request { model: model.into(), ..request(messages) };
        match Codec::encode(&request) {
            Ok(_) => drop(sent(&request)),
            Err(why) => prop_assert!(why.contains("nothing in it"), "{}", why),
        }
    }
}
