//! One conversation through each adapter: a call, its result, an answer.

use serde_json::{Value, json};
use support::home::{adapter_config, finish};
use support::{Home, ModelServer, Wire};

const KEY: &str = "sk-canary-3Gm8tq";

fn converse(wire: Wire, header: (&str, &str), shown: fn(&Value) -> bool) {
    let calls = [("call_1", "read", json!({"filePath": "a.txt"})), ("call_2", "glob", json!({"pattern": "*.txt"}))];
    let script = [wire.turn(Some("I look."), &calls), wire.turn(Some("It says hello."), &[])];
    let server = ModelServer::start(script).secrets(&[KEY]);
    let home = Home::new();
    // Ollama's own protocol lies beside the compatible one.
    let base = server.base_url();
    let base = if matches!(wire, Wire::Ollama) { base.trim_end_matches("/v1") } else { &base };
    let config = adapter_config(wire.adapter(), base);
    home.config(&config.replace("base_url", "key = { env = \"MOCK_KEY\" }\nbase_url"));
    home.file("a.txt", "hello from the file\n");
    let mut command = home.command(&["run", "--format", "json", "What does a.txt say?"]);
    command.env("MOCK_KEY", KEY);
    let run = finish(command, b"").exits(0);
    let texts: Vec<Value> = run.of("text").into_iter().map(|l| l["part"]["text"].clone()).collect();
    assert_eq!(texts, ["I look.", "It says hello."], "{run:?}");
    let requests = server.finish();
    assert_eq!(requests.len(), 2);
    assert!(requests.iter().all(|r| r.header(header.0) == Some(header.1)), "{requests:?}");
    let asked = requests[1].body.to_string();
    assert!(asked.contains("hello from the file") && asked.contains("call_2") && shown(&requests[1].body), "{asked}");
}

#[test]
fn through_openai_chat() {
    let results = |body: &Value| {
        body["messages"].as_array().is_some_and(|m| m.iter().filter(|m| m["role"] == "tool").count() == 2)
    };
    converse(Wire::Chat, ("authorization", &format!("Bearer {KEY}")), results);
}

#[test]
fn through_anthropic() {
    let results = |body: &Value| {
        let last = body["messages"].as_array().and_then(|m| m.last()).map(|m| m["content"].clone()).unwrap_or_default();
        last.as_array().is_some_and(|blocks| blocks.len() == 2 && blocks.iter().all(|b| b["type"] == "tool_result"))
            && body["system"][0]["cache_control"]["type"] == "ephemeral"
    };
    converse(Wire::Anthropic, ("x-api-key", KEY), results);
}

#[test]
fn through_openai_responses() {
    let outputs = |body: &Value| {
        let items =
            body["input"].as_array().map_or(0, |i| i.iter().filter(|i| i["type"] == "function_call_output").count());
        items == 2 && body["store"] == false && body["prompt_cache_key"].as_str().is_some_and(|k| k.starts_with("ses_"))
    };
    converse(Wire::Responses, ("authorization", &format!("Bearer {KEY}")), outputs);
}

#[test]
fn through_gemini() {
    let responses = |body: &Value| {
        let last = body["contents"].as_array().and_then(|c| c.last()).map(|c| c["parts"].clone()).unwrap_or_default();
        last.as_array().is_some_and(|parts| parts.len() == 2 && parts.iter().all(|p| p["functionResponse"].is_object()))
    };
    converse(Wire::Gemini, ("x-goog-api-key", KEY), responses);
}

#[test]
fn through_ollama() {
    let results = |body: &Value| {
        body["messages"].as_array().is_some_and(|m| m.iter().filter(|m| m["role"] == "tool").count() == 2)
    };
    converse(Wire::Ollama, ("authorization", &format!("Bearer {KEY}")), results);
}
