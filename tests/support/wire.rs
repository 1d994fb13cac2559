//! The wire formats that the mock model speaks, told apart by the path of a request.

use crate::reply::{Reply, event};
use crate::strict;
use serde_json::{Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    Chat,
    Anthropic,
    Responses,
    Gemini,
    Ollama,
}

impl Wire {
    #[must_use]
    pub fn of(path: &str) -> Self {
        match path.split('?').next().unwrap_or("").rsplit('/').next() {
            Some("messages") => Self::Anthropic,
            Some("responses") => Self::Responses,
            Some("chat") => Self::Ollama,
            Some(last) if last.ends_with(":streamGenerateContent") => Self::Gemini,
            _ => Self::Chat,
        }
    }

    /// The adapter that speaks it.
    #[must_use]
    pub fn adapter(self) -> &'static str {
        match self {
            Self::Chat => "openai-chat",
            Self::Anthropic => "anthropic",
            Self::Responses => "openai-responses",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// A text and tool calls, `(id, name, input)`, with the end that belongs to them.
    #[must_use]
    pub fn turn(self, text: Option<&str>, calls: &[(&str, &str, Value)]) -> Reply {
        match self {
            Self::Chat => Reply::turn(text, calls),
            Self::Anthropic => named(&anthropic(text, calls)),
            Self::Responses => named(&responses(text, calls)),
            Self::Gemini => Reply::sse(gemini(text, calls).iter().map(event).collect::<String>()),
            Self::Ollama => {
                let lines: String = ollama(text, calls).iter().map(|line| format!("{line}\n")).collect();
                Reply::http(200, "application/x-ndjson", lines)
            }
        }
    }

    /// What a strict server has against the body. The chat format is held to the laws.
    #[must_use]
    pub fn refusal(self, body: &Value) -> Option<String> {
        match self {
            Self::Chat => None,
            Self::Anthropic => strict::anthropic_request(body).err(),
            Self::Responses => strict::responses_request(body).err(),
            Self::Gemini => strict::gemini_request(body).err(),
            Self::Ollama => strict::ollama_request(body).err(),
        }
    }

    /// The messages or items of a body, without what may change from step to step.
    #[must_use]
    pub fn conversation(self, body: &Value) -> Value {
        match self {
            Self::Chat | Self::Ollama => body["messages"].clone(),
            Self::Gemini => parts(&body["contents"]),
            Self::Responses => body["input"].clone(),
            Self::Anthropic => {
                let mut messages = body["messages"].clone();
                let all = messages.as_array_mut().into_iter().flatten();
                let blocks = all.flat_map(|m| m["content"].as_array_mut().into_iter().flatten());
                for block in blocks.filter_map(Value::as_object_mut) {
                    block.remove("cache_control");
                }
                messages
            }
        }
    }
}

/// Events with their names.
fn named(events: &[Value]) -> Reply {
    let body: String =
        events.iter().map(|e| format!("event: {}\n{}", e["type"].as_str().unwrap_or(""), event(e))).collect();
    Reply::sse(body)
}

fn anthropic(text: Option<&str>, calls: &[(&str, &str, Value)]) -> Vec<Value> {
    let usage = json!({"input_tokens": 100, "output_tokens": 1});
    let message =
        json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "mock", "content": [], "usage": usage});
    let mut out = vec![json!({"type": "message_start", "message": message})];
    let said = text.map(|t| (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": t})));
    let called = calls.iter().map(|(id, name, input)| {
        let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
        (block, json!({"type": "input_json_delta", "partial_json": input.to_string()}))
    });
    for (index, (block, delta)) in said.into_iter().chain(called).enumerate() {
        out.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        out.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        out.push(json!({"type": "content_block_stop", "index": index}));
    }
    let reason = if calls.is_empty() { "end_turn" } else { "tool_use" };
    out.push(json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 10}}));
    out.push(json!({"type": "message_stop"}));
    out
}

fn responses(text: Option<&str>, calls: &[(&str, &str, Value)]) -> Vec<Value> {
    let mut out = vec![json!({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}})];
    let mut items: Vec<Value> = Vec::new();
    items.extend(text.map(|t| {
        let content = [json!({"type": "output_text", "text": t, "annotations": []})];
        json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content})
    }));
    items.extend(calls.iter().map(|(id, name, input)| {
        let arguments = input.to_string();
        json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name, "arguments": arguments, "status": "completed"})
    }));
    for (index, item) in items.iter().enumerate() {
        let mut begun = item.clone();
        begun["status"] = "in_progress".into();
        let (kind, delta) = if item["type"] == "message" {
            begun["content"] = json!([]);
            ("response.output_text.delta", item["content"][0]["text"].clone())
        } else {
            begun["arguments"] = "".into();
            ("response.function_call_arguments.delta", item["arguments"].clone())
        };
        out.push(json!({"type": "response.output_item.added", "output_index": index, "item": begun}));
        out.push(
            json!({"type": kind, "output_index": index, "item_id": item["id"], "content_index": 0, "delta": delta}),
        );
        out.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    }
    let usage = json!({"input_tokens": 100, "output_tokens": 10, "total_tokens": 110});
    let response = json!({"id": "resp_1", "status": "completed", "output": items, "usage": usage});
    out.push(json!({"type": "response.completed", "response": response}));
    out
}

/// Neighbours of one role are one content there, so a content may grow; a part does not.
fn parts(contents: &Value) -> Value {
    let of = |content: &Value| {
        let role = content["role"].clone();
        let parts = content["parts"].as_array().cloned().unwrap_or_default();
        parts.into_iter().map(move |part| json!({"role": role, "part": part}))
    };
    contents.as_array().into_iter().flatten().flat_map(of).collect()
}

fn gemini(text: Option<&str>, calls: &[(&str, &str, Value)]) -> Vec<Value> {
    let chunk = |parts: Value| json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}}], "modelVersion": "mock"});
    let said = text.map(|t| chunk(json!([{"text": t}])));
    let called = calls.iter().map(|(id, name, input)| json!({"functionCall": {"id": id, "name": name, "args": input}}));
    let called: Vec<Value> = called.collect();
    let called = (!called.is_empty()).then(|| chunk(called.into()));
    let usage = json!({"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110});
    let end = json!({"candidates": [{"index": 0, "finishReason": "STOP"}], "usageMetadata": usage});
    said.into_iter().chain(called).chain([end]).collect()
}

fn ollama(text: Option<&str>, calls: &[(&str, &str, Value)]) -> Vec<Value> {
    let line = |message: Value| json!({"model": "mock", "message": message, "done": false});
    let said = text.map(|t| line(json!({"role": "assistant", "content": t})));
    let called =
        calls.iter().map(|(id, name, input)| json!({"id": id, "function": {"name": name, "arguments": input}}));
    let called: Vec<Value> = called.collect();
    let called = (!called.is_empty()).then(|| line(json!({"role": "assistant", "content": "", "tool_calls": called})));
    let end = json!({"model": "mock", "message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop",
        "prompt_eval_count": 100, "eval_count": 10});
    said.into_iter().chain(called).chain([end]).collect()
}
